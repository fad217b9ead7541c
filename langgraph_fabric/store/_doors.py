"""Doors: drive a generator that asks for things, in each colour of function.

Only here do the two differ. A step of the generator may block, so the async door takes it in a
worker thread, and cancelling one caller leaves every other alone.
"""

import asyncio
from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass
from typing import Generic, TypeVar, cast

_Asked = TypeVar("_Asked")
_Answer = TypeVar("_Answer")
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class _Wants(Generic[_Asked]):
    asked: _Asked


@dataclass(frozen=True, slots=True)
class _Done(Generic[_Result]):
    result: _Result


def run(work: Generator[_Asked, _Answer, _Result], answer: Callable[[_Asked], _Answer]) -> _Result:
    """Drive `work` to its end, answering what it asks for."""
    step = _step(work, None)
    while isinstance(step, _Wants):
        step = _step(work, answer(step.asked))
    return step.result


async def arun(
    work: Generator[_Asked, _Answer, _Result], answer: Callable[[_Asked], Awaitable[_Answer]]
) -> _Result:
    """Like `run`, without blocking the loop."""
    step = await asyncio.to_thread(_step, work, None)
    while isinstance(step, _Wants):
        step = await asyncio.to_thread(_step, work, await answer(step.asked))
    return step.result


def _step(
    work: Generator[_Asked, _Answer, _Result], reply: _Answer | None
) -> _Wants[_Asked] | _Done[_Result]:
    """Go on with `work`; an end is returned, since no thread can hand on a `StopIteration`."""
    try:
        return _Wants(next(work) if reply is None else work.send(reply))
    except StopIteration as done:
        return _Done(cast("_Result", done.value))
