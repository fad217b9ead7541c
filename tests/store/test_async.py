import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from langchain_core.embeddings import Embeddings
from langgraph.store.base import GetOp, PutOp, SearchOp
from langgraph.store.base.batch import AsyncBatchedBaseStore

from langgraph_fabric.embeddings import HashEmbeddings
from langgraph_fabric.store import ChromaStore

NS = ("t",)


class Waiting(Embeddings):
    """Hash embeddings whose async methods wait until they are let go."""

    def __init__(self):
        self._hash = HashEmbeddings(32)
        self.asked = asyncio.Event()
        self.go = asyncio.Event()

    def embed_documents(self, texts):  # noqa: ARG002 - the interface's
        raise AssertionError("the async door asks the async methods")

    embed_query = embed_documents

    async def aembed_documents(self, texts):
        self.asked.set()
        await self.go.wait()
        return self._hash.embed_documents(texts)

    async def aembed_query(self, text):
        return (await self.aembed_documents([text]))[0]


async def test_b19_a_cancelled_call_harms_no_other(make):
    embedder = Waiting()
    store = make(index={"embed": embedder, "fields": ["text"]})
    store.put(NS, "k", {"n": 1})
    for call in (store.asearch(NS, query="word"), store.aput(NS, "lost", {"text": "word"})):
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(call, 0.01)
    items = await asyncio.wait_for(asyncio.gather(*[store.aget(NS, "k") for _ in range(20)]), 2)
    assert [item.value["n"] for item in items] == [1] * 20
    assert await store.aget(NS, "lost") is None
    embedder.go.set()
    await store.aput(NS, "later", {"text": "word"})
    assert (await store.asearch(NS, query="word"))[0].key == "later"


async def test_b19_a_put_cancelled_at_any_moment_is_whole_or_not_there(store):
    for i in range(60):
        batch = [PutOp((f"{i}",), key, {"text": f"word {i}"}) for key in "ab"]
        task = asyncio.create_task(store.abatch(batch))
        for _ in range(i % 12):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    await store.aput(NS, "k", {"text": "after"})
    for i in range(60):
        assert len(await store.asearch((f"{i}",))) in (0, 2)


async def test_b20_while_an_embedder_waits_others_are_served(make):
    embedder = Waiting()
    store = make(index={"embed": embedder, "fields": ["text"]})
    slow = asyncio.create_task(store.aput(NS, "slow", {"text": "word"}))
    await embedder.asked.wait()
    await store.aput(NS, "quick", {"n": 1})
    assert (await store.aget(NS, "quick")).value == {"n": 1}
    store.put(NS, "sync", {"n": 2})  # by the sync door, on the loop
    embedder.go.set()
    await slow
    assert len(await store.asearch(NS)) == 3


def test_b20_the_sync_door_works_inside_and_beside_a_running_loop(store):
    async def inside():
        store.put(NS, "inside", {"text": "word"})
        await asyncio.to_thread(store.put, NS, "beside", {"text": "word"})
        return store.search(NS, query="word")

    assert len(asyncio.run(inside())) == 2


def test_one_store_serves_many_loops_and_threads(make):
    store = make(search="chroma")

    async def work(name):
        for i in range(10):
            await store.aput((name,), str(i), {"text": f"word {i}"})
            await asyncio.gather(
                store.aget((name,), str(i)), store.asearch((name,), query=f"word {i}")
            )
        return len(await store.asearch((name,), query="word", limit=50))

    def plain(name):
        for i in range(10):
            store.put((name,), str(i), {"text": f"word {i}"})
            store.search((), query=f"word {i}")
            store.list_namespaces()
        return len(store.search((name,), limit=50))

    with ThreadPoolExecutor(8) as pool:
        loops = [pool.submit(asyncio.run, work(f"loop{i}")) for i in range(4)]
        threads = [pool.submit(plain, f"thread{i}") for i in range(4)]
        assert [job.result() for job in loops + threads] == [10] * 8
    assert len(store.list_namespaces()) == 8


def test_flushes_and_rebuilds_beside_writes_lose_nothing(make):
    store = make(search="chroma")
    store.batch([PutOp(NS, f"old {i}", {"text": f"word {i}"}) for i in range(1_100)])
    done = threading.Event()

    def tend():
        while not done.is_set():
            store.flush()
            store.vacuum()

    with ThreadPoolExecutor(2) as pool:
        tending = pool.submit(tend)
        for i in range(60):
            store.put(NS, f"new {i}", {"text": f"fresh {i}"})
            store.delete(NS, f"old {i}")
        done.set()
        tending.result()
    store.flush()
    assert store._index.pending(1) == 0
    hits = store.search(NS, query="fresh", limit=2_000)
    assert {hit.key for hit in hits} == {f"old {i}" for i in range(60, 1_100)} | {
        f"new {i}" for i in range(60)
    }
    assert store._index._client.count() == len(hits)


async def test_closing_beside_readers_ends_them_with_our_error_or_an_answer(store):
    store.put(NS, "k", {"text": "word"})
    calls = [asyncio.create_task(store.asearch(NS, query="word")) for _ in range(20)]
    await asyncio.sleep(0)
    await asyncio.to_thread(store.close)
    for result in await asyncio.gather(*calls, return_exceptions=True):
        assert isinstance(result, list) or "closed" in str(result)


async def test_the_loop_is_not_blocked_by_a_lock_that_is_held(store):
    store.put(NS, "k", {"n": 1})
    with store._records.writing():
        reading = asyncio.create_task(asyncio.to_thread(lambda: asyncio.run(store.aget(NS, "k"))))
        started = time.monotonic()
        await asyncio.sleep(0)
        assert time.monotonic() - started < 1
    assert (await reading).value == {"n": 1}


async def test_langgraphs_own_batching_wrapper_can_stand_before_it(store):
    class Batched(AsyncBatchedBaseStore):
        supports_ttl = True

        async def abatch(self, ops):
            return await store.abatch(ops)

        def batch(self, ops):
            return store.batch(ops)

    batched = Batched()
    await asyncio.gather(*[batched.aput(NS, str(i), {"text": f"word {i}"}) for i in range(50)])
    await batched.aput(NS, "short", {"text": "word"}, ttl=1)
    found = await asyncio.gather(*[batched.aget(NS, str(i)) for i in range(50)])
    assert [item.value["text"] for item in found] == [f"word {i}" for i in range(50)]
    assert len(await batched.asearch(NS, query="word", limit=100)) == 51


async def test_a_large_async_batch_answers_in_order(store):
    ops = []
    for i in range(1_000):
        ops += [
            PutOp((f"n{i % 10}",), str(i), {"text": f"word {i}"}),
            GetOp((f"n{i % 10}",), str(i)),
            SearchOp((f"n{i % 10}",), limit=1),
        ]
    assert await store.abatch(ops) == [None, None, []] * 1_000
    again = await store.abatch(ops)
    assert [item.key for item in again[1::3]] == [str(i) for i in range(1_000)]


def test_two_stores_of_one_folder_in_one_process_agree(opened):
    one, two = opened(search="chroma"), opened(search="chroma")
    for i in range(20):
        (one if i % 2 else two).put(NS, str(i), {"text": f"word {i}"})
        keys = [{hit.key for hit in s.search(NS, query="word", limit=50)} for s in (one, two)]
        assert keys[0] == keys[1] == {str(j) for j in range(i + 1)}
    assert one._index.is_open != two._index.is_open


def test_stores_in_memory_do_not_share(clock):
    with ChromaStore.in_memory(clock=clock) as one, ChromaStore.in_memory(clock=clock) as two:
        one.put(NS, "k", {"text": "word"})
        assert two.search((), query="word") == []
