"""Turns: one queue for threads and tasks, which no cancelled waiter can block."""

import asyncio
import threading

import pytest

from langgraph_fabric import _turns


async def test_tasks_and_threads_take_turns_in_order():
    first = await _turns.await_("k")
    order = []

    def in_a_thread():
        leave = _turns.wait("k")
        order.append("thread")
        leave()

    async def in_a_task():
        leave = await _turns.await_("k")
        order.append("task")
        leave()

    thread = asyncio.create_task(asyncio.to_thread(in_a_thread))
    while len(_turns._queues["k"]) < 2:  # noqa: ASYNC110 - the thread enters when it likes
        await asyncio.sleep(0)
    task = asyncio.create_task(in_a_task())
    await asyncio.sleep(0)
    assert order == []
    first()
    await asyncio.gather(thread, task)
    assert order == ["thread", "task"]
    assert "k" not in _turns._queues


async def test_a_cancelled_waiter_does_not_keep_the_turn():
    first = await _turns.await_("k")
    waiting = [asyncio.create_task(_turns.await_("k")) for _ in range(3)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    first()
    waiting[1].cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting[0]
    with pytest.raises(asyncio.CancelledError):
        await waiting[1]
    (await waiting[2])()
    assert "k" not in _turns._queues


async def test_a_sync_writer_on_an_event_loop_does_not_wait_for_it_b20():
    first = await _turns.await_("k")
    _turns.wait("k")()
    first()
    assert "k" not in _turns._queues


def test_two_keys_do_not_wait_for_each_other():
    leave = _turns.wait("one")
    done = threading.Event()
    thread = threading.Thread(target=lambda: (_turns.wait("two")(), done.set()))
    thread.start()
    assert done.wait(5)
    thread.join()
    leave()
