"""What foreign stores lack: compare-and-set and the lexical search, emulated as well as can be.

A store that understands `PutIfOp` and `TextSearchOp` is used as it is. On any other, a compare-and-
set holds a process-wide lock around read, check and put, so it guards threads but not processes;
and the lexical search ranks a window of the newest items. `Capabilities` says which it is.

It is also where what a store or its embedder raises becomes a `FabricError`.
"""

import asyncio
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

from langgraph.store.base import BaseStore, GetOp, Item, PutOp, SearchItem, SearchOp
from langgraph.store.memory import InMemoryStore

from langgraph_fabric._bm25 import bm25
from langgraph_fabric._ops import PutIfOp, StoreOp, TextSearchOp
from langgraph_fabric._text import search_terms
from langgraph_fabric._turns import runs_a_loop
from langgraph_fabric.errors import FabricError, MemoryConflictError, StoreUnavailableError

LEXICAL_WINDOW = 1_000
"""Items a foreign store is asked for, newest first as it sees it, to be ranked by their words."""

_LOOP_PATIENCE = 1.0
"""Seconds; a write of another thread takes a hundredth of that."""

_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What the store under a fabric can promise."""

    atomic: bool
    """A write is one transaction, and a lost race is always noticed, also between processes."""
    lexical_window: int | None
    """How many items the lexical leg can see; None for all."""
    semantic: bool
    """The store embeds texts, so that recall has its vector leg."""


class StoreAdapter:
    """A LangGraph store as the fabric uses it."""

    def __init__(self, store: BaseStore) -> None:
        self._store = store
        native: frozenset[type] = getattr(store, "fabric_ops", frozenset[type]())
        self._native = {PutIfOp, TextSearchOp} <= native
        self._shared = not isinstance(store, InMemoryStore)
        """Threads may use the store at once; LangGraph's own in memory walks over dicts that other
        threads write to, so there the lock is held for reads too."""
        self.embeddings: Any = getattr(store, "embeddings", None)

    @property
    def capabilities(self) -> Capabilities:
        """What this store can promise."""
        return Capabilities(
            atomic=self._native,
            lexical_window=None if self._native else LEXICAL_WINDOW,
            semantic=self.embeddings is not None,
        )

    def batch(self, ops: Sequence[StoreOp]) -> list[Any]:
        """Run `ops`; a failed compare-and-set refuses them all."""
        with _translated():
            return self._batch(ops)

    async def abatch(self, ops: Sequence[StoreOp]) -> list[Any]:
        """Run `ops` with the store's own async method."""
        with _translated():
            return await self._abatch(ops)

    def _batch(self, ops: Sequence[StoreOp]) -> list[Any]:
        if self._native:
            return self._store.batch(cast("Any", ops))
        plain = [_plain(op) for op in ops]
        guards = _guards(ops)
        if not guards and (self._shared or runs_a_loop()):
            return _ranked(ops, self._store.batch(plain))
        with _alone():
            reads = [GetOp(op.namespace, op.key) for op in guards]
            _refuse_changed(guards, self._store.batch(reads))
            return _ranked(ops, self._store.batch(plain))

    async def _abatch(self, ops: Sequence[StoreOp]) -> list[Any]:
        if self._native:
            return await self._store.abatch(cast("Any", ops))
        plain = [_plain(op) for op in ops]
        guards = _guards(ops)
        if not guards and self._shared:
            return _ranked(ops, await self._store.abatch(plain))
        # Polled, because a thread that waits for the lock cannot be cancelled and would keep it.
        while not _lock.acquire(blocking=False):  # noqa: ASYNC110 - threads hold it too
            await asyncio.sleep(0.001)
        with _released(_lock):
            reads = [GetOp(op.namespace, op.key) for op in guards]
            _refuse_changed(guards, await self._store.abatch(reads))
            return _ranked(ops, await self._store.abatch(plain))


@contextmanager
def _alone() -> Generator[None]:
    """Hold the lock; wait only shortly on a thread whose event loop its holder may need."""
    if not _lock.acquire(timeout=_LOOP_PATIENCE if runs_a_loop() else -1):
        raise StoreUnavailableError(
            "store",
            "busy with an async write that waits for this event loop",
            "Await the verb's async twin, such as aremember, inside a running loop",
        )
    with _released(_lock):
        yield


@contextmanager
def _translated() -> Generator[None]:
    """Raise what a store or its embedder raises as ours; their message may hold text or a path."""
    try:
        yield
    except FabricError:
        raise
    except Exception as exc:
        raise StoreUnavailableError(
            "store",
            f"it or its embedder raised {type(exc).__name__}",
            "See the cause of this error, then retry",
        ) from exc


@contextmanager
def _released(lock: threading.Lock) -> Generator[None]:
    try:
        yield
    finally:
        lock.release()


def _guards(ops: Sequence[StoreOp]) -> list[PutIfOp]:
    return [op for op in ops if isinstance(op, PutIfOp)]


def _plain(op: StoreOp) -> Any:
    if isinstance(op, PutIfOp):
        return PutOp(op.namespace, op.key, cast("Any", op.value), op.index)
    if isinstance(op, TextSearchOp):
        return SearchOp(op.namespace_prefix, op.filter, limit=LEXICAL_WINDOW)
    return op


def _refuse_changed(guards: Sequence[PutIfOp], found: Sequence[Any]) -> None:
    for op, item in zip(guards, cast("Sequence[Item | None]", found), strict=True):
        if (item.value.get("version", 0) if item is not None else 0) != op.expected:
            raise MemoryConflictError(
                "version", "changed since it was read", "Read it again and retry"
            )


def _ranked(ops: Sequence[StoreOp], results: Sequence[Any]) -> list[Any]:
    return [
        _by_words(op, cast("list[SearchItem]", result)) if isinstance(op, TextSearchOp) else result
        for op, result in zip(ops, results, strict=True)
    ]


def _by_words(op: TextSearchOp, items: Sequence[SearchItem]) -> list[SearchItem]:
    texts = [search_terms(str(item.value.get("text", ""))) for item in items]
    average = sum(map(len, texts)) / (len(texts) or 1)
    scores = bm25(search_terms(op.query), texts, size=len(texts), average_length=average)
    order = sorted((i for i, score in enumerate(scores) if score > 0), key=lambda i: -scores[i])
    page = order[op.offset : op.offset + op.limit]
    return [_scored(items[i], scores[i]) for i in page]


def _scored(item: SearchItem, score: float) -> SearchItem:
    return SearchItem(
        namespace=item.namespace,
        key=item.key,
        value=item.value,
        created_at=item.created_at,
        updated_at=item.updated_at,
        score=score,
    )
