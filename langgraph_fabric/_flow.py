"""Flows: domain logic that asks for input and output instead of performing it.

A flow is a generator. It yields an effect, is sent the answer, and returns a result; it sees no
store, event loop or thread. `run` and `arun` drive it, and they are the only place where `await`
and its absence differ, so that every rule is written once and can be tested by hand.
"""

import asyncio
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar, cast

from langgraph.store.base import GetOp, Item

from langgraph_fabric._ops import StoreOp

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Batch:
    """Run store operations in one round trip; answered by their results in order."""

    ops: tuple[StoreOp, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """Call a host function that may block, such as a file write; answered by what it returns."""

    function: Callable[[], Any]


Effect = Batch | Call
Flow = Generator[Effect, Any, T]


class Store(Protocol):
    """What the drivers need of a store."""

    def batch(self, ops: Sequence[StoreOp]) -> list[Any]:
        """Run `ops` and return their results in order."""
        ...

    async def abatch(self, ops: Sequence[StoreOp]) -> list[Any]:
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
            reply = store.batch(effect.ops) if isinstance(effect, Batch) else effect.function()
        except BaseException as exc:  # noqa: BLE001 - a flow cleans up after interrupts too
            step = partial(flow.throw, exc)
        else:
            step = partial(flow.send, reply)


async def arun(flow: Flow[T], store: Store) -> T:
    """Drive `flow` to its end without blocking the event loop."""
    step = partial(next, flow)
    while True:
        try:
            effect = step()
        except StopIteration as done:
            return cast("T", done.value)
        try:
            reply = await (
                store.abatch(effect.ops)
                if isinstance(effect, Batch)
                else asyncio.to_thread(effect.function)
            )
        except BaseException as exc:  # noqa: BLE001 - a flow cleans up after cancellation too
            step = partial(flow.throw, exc)
        else:
            step = partial(flow.send, reply)


def batch(ops: Sequence[StoreOp]) -> Flow[list[Any]]:
    """Run `ops`; nothing to run asks nothing."""
    if not ops:
        return []
    return (yield Batch(tuple(ops)))


def get(namespace: tuple[str, ...], key: str) -> Flow[Item | None]:
    """Read one item."""
    (item,) = yield Batch((GetOp(namespace, key),))
    return item


def call(function: Callable[[], T]) -> Flow[T]:
    """Call a host function."""
    return (yield Call(function))
