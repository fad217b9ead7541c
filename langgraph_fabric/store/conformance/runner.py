"""The runner: gives each promise a fresh store, and says what became of it."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from typing import Any, Literal

from langgraph.store.base import BaseStore

from langgraph_fabric._ops import PutIfOp, TextSearchOp
from langgraph_fabric.store.conformance.promises import PROMISES, Broken, Promise

Verdict = Literal["kept", "broken", "not offered"]
Door = Literal["sync", "async"]

Factory = Callable[[], Any]
"""Gives an empty store: the store itself, or a (plain or async) context manager of one."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one promise."""

    promise: Promise
    verdict: Verdict
    detail: str = ""
    """What was seen instead, for a broken promise."""


@dataclass(frozen=True, slots=True)
class Report:
    """What became of all promises, through one door."""

    door: Door
    outcomes: tuple[Outcome, ...]

    @property
    def broken(self) -> tuple[Outcome, ...]:
        """The promises that were broken."""
        return tuple(outcome for outcome in self.outcomes if outcome.verdict == "broken")

    def markdown(self) -> str:
        """Return the report as a Markdown table."""
        rows = [
            f"| {o.promise.id} | {o.promise.sentence} | {o.verdict} | {o.detail} |"
            for o in self.outcomes
        ]
        return "\n".join(["| id | promise | verdict | seen |", "|---|---|---|---|", *rows])


def check(factory: Factory, *, door: Door = "sync") -> Report:
    """Run every promise against stores from `factory`, through one door.

    Args:
        factory: Gives an empty store with each call; with an index over the field `text` if it
            offers one.
        door: `sync` uses the plain methods, `async` their twins.
    """
    outcomes = [asyncio.run(_outcome(factory, promise, door)) for promise in PROMISES]
    return Report(door, tuple(outcomes))


async def _outcome(factory: Factory, promise: Promise, door: Door) -> Outcome:
    try:
        async with _opened(factory) as store:
            if promise.needs is not None and promise.needs not in offered(store):
                return Outcome(promise, "not offered")
            await promise.check(_Sync(store) if door == "sync" else store)
    except NotImplementedError:
        return Outcome(promise, "not offered")
    except Broken as exc:
        return Outcome(promise, "broken", str(exc))
    except Exception as exc:  # noqa: BLE001 - whatever a store raises breaks the promise
        return Outcome(promise, "broken", f"raised {type(exc).__name__}")
    return Outcome(promise, "kept")


def offered(store: BaseStore) -> frozenset[str]:
    """Return what a store offers beyond puts, gets and plain searches."""
    found: set[str] = set()
    if getattr(store, "embeddings", None) is not None:
        found.add("embeddings")
    if store.supports_ttl:
        found.add("ttl")
    native: frozenset[type] = getattr(store, "fabric_ops", frozenset[type]())
    if {PutIfOp, TextSearchOp} <= native:
        found.add("operations")
    return frozenset(found)


@contextlib.asynccontextmanager
async def _opened(factory: Factory) -> AsyncGenerator[BaseStore]:
    made = factory()
    if hasattr(made, "__aenter__"):
        async with made as store:
            yield store
    elif hasattr(made, "__enter__"):
        with made as store:
            yield store
    else:
        yield made


class _Sync:
    """A store's plain methods under the names of their async twins."""

    def __init__(self, store: BaseStore) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._store, name.removeprefix("a"))

        async def call(*args: Any, **options: Any) -> Any:
            return method(*args, **options)

        return call
