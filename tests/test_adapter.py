"""What the adapter adds to a store that knows neither compare-and-set nor lexical search."""

import asyncio

import pytest
from langgraph.store.base import GetOp, PutOp
from langgraph.store.memory import InMemoryStore

from langgraph_fabric import MemoryConflictError, StoreUnavailableError
from langgraph_fabric._adapter import LEXICAL_WINDOW, StoreAdapter
from langgraph_fabric._ops import PutIfOp, TextSearchOp
from langgraph_fabric.store import ChromaStore

NS = ("fabric", "notes")


@pytest.fixture
def adapter(store):
    return StoreAdapter(store)


@pytest.fixture(params=["sync", "async"])
def ask(request, adapter):
    async def batch(*ops):
        return adapter.batch(ops) if request.param == "sync" else await adapter.abatch(ops)

    return batch


async def test_a_put_needs_the_version_it_expects(ask, store):
    await ask(PutIfOp(NS, "k", {"version": 1}, 0))
    await ask(PutIfOp(NS, "k", {"version": 2}, 1))
    assert store.get(NS, "k").value == {"version": 2}


@pytest.mark.parametrize("expected", [0, 1, 3])
async def test_a_conflict_refuses_the_whole_batch(ask, store, expected):
    await ask(PutIfOp(NS, "k", {"version": 2}, 0))
    with pytest.raises(MemoryConflictError):
        await ask(
            PutOp(NS, "other", {"n": 1}),
            PutIfOp(NS, "new", {"version": 1}, 0),
            PutIfOp(NS, "k", {"version": 9}, expected),
        )
    assert [item.key for item in store.search(NS)] == ["k"]
    assert store.get(NS, "k").value == {"version": 2}


async def test_a_conditional_delete_is_one_too(ask, store):
    await ask(PutIfOp(NS, "k", {"version": 1}, 0))
    with pytest.raises(MemoryConflictError):
        await ask(PutIfOp(NS, "k", None, 2))
    await ask(PutIfOp(NS, "k", None, 1))
    assert store.get(NS, "k") is None


async def test_an_item_without_a_version_has_version_0(ask, store):
    store.put(NS, "k", {"n": 1})
    await ask(PutIfOp(NS, "k", {"version": 1}, 0))
    assert store.get(NS, "k").value == {"version": 1}


async def test_the_lexical_search_ranks_matching_items_only(ask, store):
    texts = {"a": "tea in the garden", "b": "coffee", "c": "tea tea tea", "d": "the of and"}
    for key, text in texts.items():
        store.put(NS, key, {"text": text, "live": key != "c"}, index=["text"])
    every, live, page = await ask(
        TextSearchOp(NS, "Teas!"),
        TextSearchOp(NS, "tea", {"live": True}),
        TextSearchOp(NS, "tea", None, 1, 1),
    )
    assert [item.key for item in every] == ["c", "a"]
    assert every[0].score > every[1].score > 0
    assert [item.key for item in live] == ["a"]
    assert [item.key for item in page] == ["a"]


async def test_the_answers_keep_the_order_of_the_questions(ask, store):
    store.put(NS, "k", {"text": "tea"}, index=["text"])
    missing, put, found, item = await ask(
        GetOp(NS, "x"), PutIfOp(NS, "n", {"version": 1}, 0), TextSearchOp(NS, "tea"), GetOp(NS, "k")
    )
    assert (missing, put) == (None, None)
    assert [hit.key for hit in found] == ["k"]
    assert item.key == "k"


def test_it_says_what_a_store_can_promise():
    foreign = StoreAdapter(InMemoryStore()).capabilities
    assert (foreign.atomic, foreign.lexical_window, foreign.semantic) == (
        False,
        LEXICAL_WINDOW,
        False,
    )
    with ChromaStore.in_memory() as store:
        own = StoreAdapter(store).capabilities
    assert (own.atomic, own.lexical_window, own.semantic) == (True, None, True)


class Slow(InMemoryStore):
    """A store whose async door waits, with the adapter's lock held, until it is let go."""

    def __init__(self):
        super().__init__()
        self.inside, self.go = asyncio.Event(), asyncio.Event()

    async def abatch(self, ops):
        self.inside.set()
        await self.go.wait()
        return await super().abatch(ops)


async def test_a_sync_write_on_a_busy_loop_is_refused_instead_of_hanging_b20():
    store = Slow()
    adapter = StoreAdapter(store)
    task = asyncio.create_task(adapter.abatch([PutIfOp(NS, "k", {"version": 1}, 0)]))
    await store.inside.wait()
    with pytest.raises(StoreUnavailableError, match="async twin"):
        adapter.batch([PutIfOp(NS, "k", {"version": 1}, 0)])
    store.go.set()
    await task
    assert store.get(NS, "k").value == {"version": 1}


async def test_a_cancelled_async_write_lets_the_next_one_through_b19():
    store = Slow()
    adapter = StoreAdapter(store)
    task = asyncio.create_task(adapter.abatch([PutIfOp(NS, "k", {"version": 1}, 0)]))
    await store.inside.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    store.go.set()
    await asyncio.wait_for(adapter.abatch([PutIfOp(NS, "k", {"version": 1}, 0)]), 2)
