"""Flows: domain logic that asks for input and output instead of performing it.

A flow is a generator. It yields an effect, is sent the answer, and returns a result; it sees no
store, event loop or thread. `run` and `arun` drive it, and they are the only place where `await`
and its absence differ, so that every rule is written once and can be tested by hand.
"""

import asyncio
from collections.abc import Callable, Coroutine, Generator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar, cast

from langgraph.store.base import GetOp, Item, PutOp

from langgraph_fabric import _turns
from langgraph_fabric._ops import PutIfOp, StoreOp

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Batch:
    """Run store operations in one round trip; answered by their results in order."""

    ops: tuple[StoreOp, ...]

    @property
    def writes(self) -> bool:
        """Whether it changes the store."""
        return any(isinstance(op, PutOp | PutIfOp) for op in self.ops)


@dataclass(frozen=True, slots=True)
class Call:
    """Call a host function that may block, such as a file write; answered by what it returns."""

    function: Callable[[], Any]
    finishes: bool = False
    """It ends a change that has begun, and so is called even when the flow is being cancelled."""


@dataclass(frozen=True, slots=True)
class Turn:
    """Wait until no other writer of this process has the key; answered by what ends the turn."""

    key: tuple[str, ...]


Effect = Batch | Call | Turn
Flow = Generator[Effect, Any, T]


class Store(Protocol):
    """What the drivers need of a store."""

    def batch(self, ops: Sequence[StoreOp]) -> list[Any]:
        """Run `ops` and return their results in order."""
        ...

    def abatch(self, ops: Sequence[StoreOp]) -> Coroutine[Any, Any, list[Any]]:
        """Run `ops` without blocking the event loop."""
        ...


def run(flow: Flow[T], store: Store) -> T:
    """Drive `flow` to its end, blocking."""
    step = partial(next, flow)
    while True:
        try:
            effect = step()
        except StopIteration as done:
            return cast("T", done.value)
        try:
            reply = _performed(effect, store)
        except BaseException as exc:  # noqa: BLE001 - a flow cleans up after interrupts too
            step = partial(flow.throw, exc)
        else:
            step = partial(flow.send, reply)


async def arun(flow: Flow[T], store: Store) -> T:
    """Drive `flow` to its end without blocking the event loop.

    A read that is cancelled ends at once. A write or a call that has begun is waited for, since it
    may be on its way in a thread; the cancellation then reaches the flow in place of its next
    effect, unless that one finishes the change.
    """
    step = partial(next, flow)
    cancelled: asyncio.CancelledError | None = None
    while True:
        try:
            effect = step()
        except StopIteration as done:
            if cancelled is not None:
                raise cancelled from None
            return cast("T", done.value)
        if cancelled is not None and not (isinstance(effect, Call) and effect.finishes):
            step, cancelled = partial(flow.throw, cancelled), None
            continue
        try:
            if isinstance(effect, Turn):
                reply = await _turns.await_(effect.key)
            elif isinstance(effect, Batch) and not effect.writes:
                reply = await store.abatch(effect.ops)
            else:
                done, stopped = await _to_its_end(_begun(effect, store))
                cancelled = cancelled or stopped
                reply = done.result()
        except BaseException as exc:  # noqa: BLE001 - a flow cleans up after cancellation too
            step = partial(flow.throw, exc)
        else:
            step = partial(flow.send, reply)


def _performed(effect: Effect, store: Store) -> Any:
    match effect:
        case Batch(ops):
            return store.batch(ops)
        case Call(function):
            return function()
        case Turn(key):
            return _turns.wait(key)


def _begun(effect: Batch | Call, store: Store) -> Coroutine[Any, Any, Any]:
    if isinstance(effect, Batch):
        return store.abatch(effect.ops)
    return asyncio.to_thread(effect.function)


async def _to_its_end(
    work: Coroutine[Any, Any, Any],
) -> tuple[asyncio.Task[Any], asyncio.CancelledError | None]:
    """Wait for `work` whatever happens; return it, and how the waiting was cancelled if it was."""
    task, cancelled = asyncio.create_task(work), None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as exc:
            cancelled = exc
    return task, cancelled


def batch(ops: Sequence[StoreOp]) -> Flow[list[Any]]:
    """Run `ops`; nothing to run asks nothing."""
    if not ops:
        return []
    return (yield Batch(tuple(ops)))


def get(namespace: tuple[str, ...], key: str) -> Flow[Item | None]:
    """Read one item."""
    (item,) = yield Batch((GetOp(namespace, key),))
    return item


def call(function: Callable[[], T], *, finishes: bool = False) -> Flow[T]:
    """Call a host function; see `Call`."""
    return (yield Call(function, finishes))


def turn(key: tuple[str, ...]) -> Flow[Callable[[], None]]:
    """Wait for the turn to write below `key`; call the answer to end it."""
    return (yield Turn(key))
