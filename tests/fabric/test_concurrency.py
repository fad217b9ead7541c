"""Many writers of one scope: nothing is lost, nothing is there twice."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest
from langgraph.store.base import BaseStore

from langgraph_fabric.testing import FrozenClock

WRITERS, EACH = 8, 10


async def everywhere(door, work, awork):
    """Run a job by 8 writers, 10 times each, in threads or in tasks of one loop."""
    jobs = [(writer, turn) for writer in range(WRITERS) for turn in range(EACH)]
    if door == "tasks":
        return await asyncio.gather(*(awork(*job) for job in jobs))
    with ThreadPoolExecutor(WRITERS) as pool:
        return await asyncio.to_thread(lambda: list(pool.map(lambda job: work(*job), jobs)))


doors = pytest.mark.parametrize("door", ["threads", "tasks"])


@doors
async def test_the_same_fact_from_everywhere_is_one_note_with_all_sources(fabric, door):
    def fact(writer, turn):
        source = f"m{writer}.{turn}"
        return {"kind": "fact", "content": "Anna likes tea", "source_entry_ids": [source]}

    kept = await everywhere(
        door,
        lambda *job: fabric.remember(**fact(*job)),
        lambda *job: fabric.aremember(**fact(*job)),
    )
    assert len({k.id for k in kept}) == 1
    assert [k.action for k in kept].count("insert") == 1
    assert len(fabric.recall("tea", top_k=32).hits) == 1
    assert len(fabric.get(kept[0].id).source_entry_ids) == WRITERS * EACH


@doors
async def test_no_line_of_a_block_is_lost(fabric, door):
    def line(writer, turn):
        text = f"line {writer}.{turn}"
        return {"kind": "working", "block": "log", "content": text, "append": True}

    await everywhere(
        door,
        lambda *job: fabric.remember(**line(*job)),
        lambda *job: fabric.aremember(**line(*job)),
    )
    (block,) = fabric.blocks()
    assert len(block.content.splitlines()) == WRITERS * EACH
    assert len(set(block.content.splitlines())) == WRITERS * EACH


@doors
async def test_a_slot_written_from_everywhere_has_one_current_note(fabric, door):
    def home(writer, turn):
        return {
            "kind": "fact",
            "content": f"House {writer}.{turn}",
            "subject": "Anna",
            "attribute": "home",
        }

    kept = await everywhere(
        door,
        lambda *job: fabric.remember(**home(*job)),
        lambda *job: fabric.aremember(**home(*job)),
    )
    assert len(fabric.recall("House", top_k=32).hits) == 1
    assert [k.action for k in kept].count("insert") == 1
    sequences = [fabric.get(k.id).sequence for k in kept]
    assert len(set(sequences)) == WRITERS * EACH


@doors
async def test_writers_and_readers_do_not_disturb_each_other(fabric, door):
    def work(writer, turn):
        if writer % 2:
            return len(fabric.recall("parcel", top_k=32).hits)
        return fabric.remember(kind="fact", content=f"Parcel {writer}.{turn} came").id

    async def awork(writer, turn):
        if writer % 2:
            return len((await fabric.arecall("parcel", top_k=32)).hits)
        return (await fabric.aremember(kind="fact", content=f"Parcel {writer}.{turn} came")).id

    await everywhere(door, work, awork)
    answer = fabric.recall("parcel", top_k=32)
    assert answer.coverage["candidates"] == WRITERS * EACH // 2


class Counting(BaseStore):
    """A store that notes of each batch whether it read or wrote."""

    def __init__(self, store):
        self.store, self.seen = store, []
        self.fabric_ops = getattr(store, "fabric_ops", frozenset())
        self.embeddings = store.embeddings

    def batch(self, ops):
        ops = list(ops)
        self.seen.append("write" if any("Put" in type(op).__name__ for op in ops) else "read")
        return self.store.batch(ops)

    async def abatch(self, ops):
        return self.batch(ops)


@pytest.fixture
def counted(make_store, make):
    # The emulated compare-and-set reads once more, inside its lock; the native one shows the verb.
    store = Counting(make_store())
    if not store.fabric_ops:
        pytest.skip("the adapter's own reads would be counted")
    return store, make(store).at(user_id="ann")


def test_a_remember_reads_three_times_at_most_and_writes_once(counted):
    store, fabric = counted
    first = fabric.remember(kind="fact", content="Anna lives in Oslo")
    for note in (
        {"content": "Anna lives in Bern"},
        {"content": "anna lives in bern"},
        {"content": "Anna plays chess", "links": [{"id": first.id}]},
        {"content": "Home is far", "subject": "Anna", "attribute": "home"},
    ):
        store.seen.clear()
        fabric.remember(kind="fact", **note)
        assert store.seen.count("read") <= 3
        assert store.seen.count("write") == 1


def test_a_recall_reads_four_times_at_most_and_writes_nothing(counted):
    store, fabric = counted
    first = fabric.remember(kind="fact", content="Anna lives in Oslo")
    fabric.remember(kind="fact", content="Zebras sleep", links=[{"id": first.id}])
    store.seen.clear()
    assert len(fabric.recall("where does Anna live", top_k=1).hits) == 2
    assert store.seen == ["read"] * len(store.seen)
    assert len(store.seen) <= 4


def test_a_clock_that_stands_still_orders_a_thousand_writes_b43(make, store):
    fabric = make(store, clock=FrozenClock(), consolidate=False).at(user_id="ann")
    notes = [fabric.remember(kind="fact", content=f"Parcel {n}").note for n in range(1_000)]
    sequences = [note.sequence for note in notes]
    assert sequences == sorted(set(sequences))
    assert len({note.id for note in notes}) == 1_000
