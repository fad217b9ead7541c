"""The drivers: what a flow yields, how both doors answer it, what a cancellation may not break."""

import asyncio
import threading

import pytest
from langgraph.store.base import GetOp, PutOp

from langgraph_fabric._flow import Batch, Call, arun, batch, call, get, run

READ = GetOp(("a",), "k")
WRITE = PutOp(("a",), "k", {"n": 1})


class Memo:
    """A store that notes what it was asked; its async door waits until it is let go."""

    def __init__(self):
        self.asked = []
        self.go = asyncio.Event()
        self.begun = asyncio.Event()

    def batch(self, ops):
        self.asked.append(tuple(ops))
        return [None] * len(ops)

    async def abatch(self, ops):
        self.begun.set()
        await self.go.wait()
        return self.batch(ops)


def steps(said):
    """A flow with a read, a write and a call, and something to clean up."""
    try:
        yield from get(("a",), "k")
        yield from batch([WRITE])
        yield from call(lambda: said.append("called"))
    except BaseException:
        yield from call(lambda: said.append("cleaned"))
        raise
    return "done"


def test_a_flow_can_be_driven_by_hand():
    flow = steps([])
    assert next(flow) == Batch((READ,))
    assert flow.send([None]) == Batch((WRITE,))
    effect = flow.send([None])
    assert isinstance(effect, Call)
    with pytest.raises(StopIteration) as end:
        flow.send(None)
    assert end.value.value == "done"


def test_a_batch_knows_whether_it_writes():
    assert not Batch((READ,)).writes
    assert Batch((READ, WRITE)).writes


def test_nothing_to_run_asks_nothing():
    with pytest.raises(StopIteration) as end:
        next(batch([]))
    assert end.value.value == []


async def test_both_doors_answer_alike():
    one, two = Memo(), Memo()
    two.go.set()
    said = []
    assert run(steps(said), one) == await arun(steps(said), two) == "done"
    assert one.asked == two.asked == [(READ,), (WRITE,)]
    assert said == ["called", "called"]


class Failing(Memo):
    def batch(self, ops):
        if ops[0] == WRITE:
            raise ConnectionError
        return super().batch(ops)


@pytest.mark.parametrize("door", ["sync", "async"])
async def test_an_error_reaches_the_flow_which_cleans_up(door):
    store, said = Failing(), []
    store.go.set()
    drive = {"sync": asyncio.to_thread(run, steps(said), store), "async": arun(steps(said), store)}
    chosen = drive.pop(door)
    next(iter(drive.values())).close()
    with pytest.raises(ConnectionError):
        await chosen
    assert said == ["cleaned"]


async def test_a_call_leaves_the_event_loop_to_others():
    def flow():
        return (yield from call(threading.get_ident))

    assert await arun(flow(), Memo()) != threading.get_ident()


async def cancelled(flow, store):
    """Start a flow and cancel it once its store is asked something."""
    task = asyncio.create_task(arun(flow, store))
    await store.begun.wait()
    task.cancel()
    return task


async def test_a_cancelled_read_ends_at_once_and_cleans_up():
    store, said = Memo(), []
    task = await cancelled(steps(said), store)
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (store.asked, said) == ([], ["cleaned"])


def writing(said, *, finishes):
    try:
        yield from batch([WRITE])
        yield from call(lambda: said.append("called"), finishes=finishes)
    except BaseException:
        yield from call(lambda: said.append("cleaned"))
        raise


@pytest.mark.parametrize(("finishes", "expected"), [(True, ["called"]), (False, ["cleaned"])])
async def test_a_cancelled_write_is_waited_for_and_then_finished_or_cleaned_up(finishes, expected):
    store, said = Memo(), []
    task = await cancelled(writing(said, finishes=finishes), store)
    await asyncio.sleep(0)
    assert not task.done()
    task.cancel()
    await asyncio.sleep(0)
    assert not task.done()
    store.go.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert store.asked == [(WRITE,)]
    assert said == expected


async def test_a_write_that_fails_while_cancelled_ends_cancelled():
    store = Failing()

    def retrying():
        while True:
            try:
                return (yield from batch([WRITE]))
            except ConnectionError:
                continue

    task = await cancelled(retrying(), store)
    store.go.set()
    with pytest.raises(asyncio.CancelledError):
        await task
