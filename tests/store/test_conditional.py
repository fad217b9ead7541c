import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from langgraph.store.base import GetOp, PutOp

from langgraph_fabric._ops import PutIfOp
from langgraph_fabric.errors import MemoryConflictError, MemoryValidationError
from langgraph_fabric.store import ChromaStore

NS = ("t",)


def _value(version, **more):
    return {"version": version, "text": "word", **more}


def test_a_missing_item_has_version_0(store, do):
    do(store, "batch", [PutIfOp(NS, "k", _value(1), 0)])
    with pytest.raises(MemoryConflictError):
        do(store, "batch", [PutIfOp(NS, "k", _value(1, late=True), 0)])
    do(store, "batch", [PutIfOp(NS, "k", _value(2), 1)])
    assert store.get(NS, "k").value == _value(2)


def test_an_item_without_a_version_has_version_0(store):
    store.put(NS, "k", {"text": "word"})
    store.batch([PutIfOp(NS, "k", _value(1), 0)])
    assert store.get(NS, "k").value == _value(1)


def test_one_conflict_refuses_the_whole_batch(store, do):
    store.put(NS, "old", _value(3))
    with pytest.raises(MemoryConflictError):
        do(
            store,
            "batch",
            [
                PutOp(NS, "a", {"text": "word"}),
                PutIfOp(NS, "b", _value(1), 0),
                PutOp(NS, "old", None),
                PutIfOp(NS, "c", _value(1), 7),
            ],
        )
    assert [item.key for item in store.search(())] == ["old"]


def test_a_delete_may_have_a_condition(store):
    store.put(NS, "k", _value(2))
    with pytest.raises(MemoryConflictError):
        store.batch([PutIfOp(NS, "k", None, 1)])
    store.batch([PutIfOp(NS, "k", None, 2)])
    assert store.get(NS, "k") is None
    store.batch([PutIfOp(NS, "k", None, 0)])


@pytest.mark.parametrize(
    "ops",
    [
        [PutOp(NS, "k", {}), PutIfOp(NS, "k", {}, 0)],
        [PutIfOp(NS, "k", {}, 0), PutOp(NS, "k", {})],
        [PutIfOp(NS, "k", {}, 0), PutIfOp(NS, "k", {}, 1)],
    ],
    ids=["put, put_if", "put_if, put", "two put_ifs"],
)
def test_no_condition_is_lost_to_another_write_of_the_batch(store, ops):
    with pytest.raises(MemoryValidationError, match="two writes"):
        store.batch(ops)
    assert store.search(()) == []


@pytest.mark.parametrize("expected", [None, "1", True, 1.5, -1])
def test_a_version_is_a_whole_number_from_0(store, expected):
    with pytest.raises(MemoryValidationError, match="expected"):
        store.batch([PutIfOp(NS, "k", {}, expected)])


def test_a_conflict_says_neither_key_nor_value(store):
    store.put(NS, "secret-key", {"version": 1, "text": "secret text"})
    with pytest.raises(MemoryConflictError) as caught:
        store.batch([PutIfOp(NS, "secret-key", {}, 0)])
    assert "secret" not in str(caught.value)


def _add_one(store):
    while True:
        item = store.get(NS, "count")
        value = item.value if item else {"version": 0, "n": 0}
        new = {"version": value["version"] + 1, "n": value["n"] + 1, "text": f"n {value['n']}"}
        try:
            return store.batch([PutIfOp(NS, "count", new, value["version"])])
        except MemoryConflictError:
            continue


def test_no_update_is_lost_between_threads(store):
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: _add_one(store), range(80)))
    assert store.get(NS, "count").value["n"] == 80


def test_no_update_is_lost_between_two_stores_of_one_folder(opened):
    stores = [opened(), opened()]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda i: _add_one(stores[i % 2]), range(60)))
    assert stores[0].get(NS, "count").value["n"] == stores[1].get(NS, "count").value["n"] == 60


async def test_of_many_async_writers_one_wins(store):
    writers = [store.abatch([PutIfOp(NS, "k", _value(1, by=i), 0)]) for i in range(20)]
    results = await asyncio.gather(*writers, return_exceptions=True)
    assert sum(isinstance(result, MemoryConflictError) for result in results) == 19
    winner = list(results).index([None])
    assert store.get(NS, "k").value["by"] == winner


def test_a_batch_is_seen_whole_or_not_at_all(store):
    torn, done = [], threading.Event()

    def watch():
        while not done.is_set():
            a, b = store.batch([GetOp(NS, "a"), GetOp(NS, "b")])
            if (a and a.value) != (b and b.value):
                torn.append((a, b))

    with ThreadPoolExecutor(2) as pool:
        pool.submit(watch)
        for i in range(100):
            store.batch([PutOp(NS, "a", {"i": i}), PutOp(NS, "b", {"i": i})])
        done.set()
    assert torn == []


def test_a_store_without_vectors_compares_too():
    with ChromaStore.in_memory(index=False) as store:
        store.batch([PutIfOp(NS, "k", _value(1), 0)])
        with pytest.raises(MemoryConflictError):
            store.batch([PutIfOp(NS, "k", _value(1), 0)])
