"""Turns: writers of one memory queue up within a process, instead of racing each other.

A turn is a courtesy, not a lock: what a write decided on is guarded by compare-and-set in the
store. But writers that only race try again and again, each round one of them winning, and many of
them would need many rounds. Threads and tasks of any event loop wait in one queue.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from functools import partial

Leave = Callable[[], None]

_queues: dict[Hashable, deque[Future[None]]] = {}
_mutex = threading.Lock()


def wait(key: Hashable) -> Leave:
    """Wait for the turn of this thread; return what ends it.

    A thread that runs an event loop does not wait: whoever has the turn may need that loop.
    """
    ticket = _enter(key)
    leave = partial(_leave, key, ticket)
    try:
        if not runs_a_loop():
            ticket.result()
    except BaseException:
        leave()
        raise
    return leave


async def await_(key: Hashable) -> Leave:
    """Wait for the turn of this task; return what ends it."""
    ticket = _enter(key)
    leave = partial(_leave, key, ticket)
    try:
        await asyncio.wrap_future(ticket)
    except BaseException:
        leave()
        raise
    return leave


def runs_a_loop() -> bool:
    """Tell whether an event loop runs on this thread, so that blocking it is no way to wait."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _enter(key: Hashable) -> Future[None]:
    ticket: Future[None] = Future()
    with _mutex:
        queue = _queues.setdefault(key, deque())
        queue.append(ticket)
        if queue[0] is ticket:
            ticket.set_result(None)
    return ticket


def _leave(key: Hashable, ticket: Future[None]) -> None:
    """Take a ticket out of its queue, and call the next one if it was its turn."""
    with _mutex:
        queue = _queues[key]
        was_first = queue[0] is ticket
        queue.remove(ticket)
        if not queue:
            del _queues[key]
        elif was_first and queue[0].set_running_or_notify_cancel():
            queue[0].set_result(None)  # a cancelled one calls the next when it leaves
