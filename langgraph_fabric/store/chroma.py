"""`ChromaStore`: a LangGraph store with SQL for its truth and Chroma for its index.

A batch goes through three steps: plan (pure, refuses what is malformed), embed (the one step that
asks another system), and one transaction. The steps are written once, as a generator that yields
what it wants embedded; the doors for each colour of function differ in how they answer it.
"""

import asyncio
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Literal, Self, cast

from langchain_core.embeddings import Embeddings
from langgraph.store.base import BaseStore, IndexConfig, TTLConfig

from langgraph_fabric import _time
from langgraph_fabric._ops import PutIfOp, StoreOp, TextSearchOp
from langgraph_fabric.embeddings import EmbedderProfile
from langgraph_fabric.errors import MemoryValidationError
from langgraph_fabric.store import _care
from langgraph_fabric.store._batches import Batches, Work
from langgraph_fabric.store._care import Examination
from langgraph_fabric.store._embedder import (
    EmbedRequest,
    StoreEmbedder,
    Vector,
    configured,
    paths_of,
)
from langgraph_fabric.store._index import Index
from langgraph_fabric.store._records import Durability, Records
from langgraph_fabric.store._search import Searcher
from langgraph_fabric.store._writes import Writer

SearchPath = Literal["auto", "exact", "chroma"]

SWITCH_OVER = 25_000
"""Vectors up to which scoring all of them is faster than asking Chroma (store spike)."""
_INDEX_FROM = 1_000
"""Vectors not yet indexed from which it is worth starting Chroma for them."""


class ChromaStore(BaseStore):
    """A durable LangGraph store in one folder.

    Make it with `from_path` or `in_memory`; both are context managers, sync and async. Nothing is
    opened before the first use. It may be shared by threads and event loops, and a folder by
    processes; one process at a time then uses Chroma, the others search exactly without it.
    """

    supports_ttl = True
    fabric_ops: ClassVar[frozenset[type]] = frozenset({PutIfOp, TextSearchOp})
    """The operations beyond LangGraph's that `batch` understands."""

    __slots__ = ("_batches", "_clock", "_embedder", "_index", "_records", "ttl_config")

    def __init__(
        self,
        folder: Path | None,
        *,
        index: IndexConfig | Literal[False] | None = None,
        ttl: TTLConfig | None = None,
        durability: Durability = "full",
        search: SearchPath = "auto",
        clock: _time.Clock = _time.system_clock,
    ) -> None:
        self.ttl_config = ttl
        self._clock = clock
        self._embedder = configured(index)
        self._records = Records(folder, durability)
        self._index = Index(self._records, folder, eager=search == "chroma")
        self._batches = Batches(
            self._records,
            self._index,
            Searcher(_switch_over(search)),
            self._embedder,
            paths_of(index),
            now=self._now,
        )

    @classmethod
    def from_path(
        cls,
        path: str | Path,
        *,
        index: IndexConfig | Literal[False] | None = None,
        ttl: TTLConfig | None = None,
        durability: Durability = "full",
        search: SearchPath = "auto",
        clock: _time.Clock = _time.system_clock,
    ) -> Self:
        """Return the store kept in a folder, which is made on first use.

        Args:
            path: The folder.
            index: LangGraph's index configuration; None for the default embeddings over whole
                values; False for a store without vectors.
            ttl: LangGraph's TTL configuration, in minutes.
            durability: `full`: an acknowledged write survives a power cut. `process`: it survives
                a killed process, and is several times faster.
            search: `exact` scores every vector, `chroma` always asks the index, `auto` does what
                is faster.
            clock: Gives the time, for tests.

        Raises:
            MemoryValidationError: `search` is unknown.
        """
        folder = Path(path).absolute()  # a later change of directory must not part the two
        return cls(folder, index=index, ttl=ttl, durability=durability, search=search, clock=clock)

    @classmethod
    def in_memory(
        cls,
        *,
        index: IndexConfig | Literal[False] | None = None,
        ttl: TTLConfig | None = None,
        search: SearchPath = "auto",
        clock: _time.Clock = _time.system_clock,
    ) -> Self:
        """Return a store that lasts as long as the object; arguments as in `from_path`."""
        return cls(None, index=index, ttl=ttl, search=search, clock=clock)

    @property
    def embeddings(self) -> Embeddings | None:
        """The embedder in use, or None."""
        return None if self._embedder is None else self._embedder.embeddings

    @property
    def profile(self) -> EmbedderProfile | None:
        """What is known of the embedder, or None."""
        return None if self._embedder is None else self._embedder.profile

    def batch(self, ops: Iterable[StoreOp]) -> list[Any]:
        """Run operations as one transaction and return their results in order.

        Reads see the state before the batch; of several puts of one item the last counts. Besides
        LangGraph's operations it takes `PutIfOp` and `TextSearchOp`.

        Raises:
            InvalidNamespaceError: A namespace is not allowed; nothing was written.
            MemoryValidationError: A value, filter or number is not; nothing was written.
            MemoryConflictError: A `PutIfOp` found another version; nothing was written.
            EmbedderMismatchError: The embedder does not fit what is stored; nothing was written.
            StoreUnavailableError: The store's folder cannot be used.
        """
        work = self._batches.work(ops)
        reply: list[Vector] | None = None
        while True:
            step = _step(work, reply)
            if isinstance(step, _Done):
                return step.results
            reply = self._embedded().embed(step)

    async def abatch(self, ops: Iterable[StoreOp]) -> list[Any]:
        """Like `batch`, with the embedder's async methods, and blocking a thread, not the loop."""
        work = self._batches.work(ops)
        reply: list[Vector] | None = None
        while True:
            step = await asyncio.to_thread(_step, work, reply)
            if isinstance(step, _Done):
                return step.results
            reply = await self._embedded().aembed(step)

    def flush(self) -> bool:
        """Bring the index up to date, and leave no trace of deleted text in the store's files.

        A store too small for an index gets none. Deleted vectors may stay in the index's files,
        see `vacuum`.

        Returns:
            Whether no trace is left; False while another process still reads an old state.
        """
        if self._wants_index():
            self._index.flush()
        return self._records.scrub()

    def vacuum(self) -> bool:
        """Like `flush`, with the index built anew, so that no deleted vector is left either.

        Returns:
            Whether no trace is left; False while another process owns the index, or reads.
        """
        is_anew = not self._wants_index() or self._index.rebuild()
        return self.flush() and is_anew

    def sweep(self) -> int:
        """Delete what has expired, and return how many items that were."""
        now = self._now()
        with self._records.writing() as connection:
            expired = connection.execute("SELECT id FROM items WHERE expires <= ?", (now,))
            ids = [item for (item,) in expired.fetchall()]
            writer = Writer(connection, None, now)
            for item in ids:
                writer.delete(item)
            writer.finish()
        return len(ids)

    def doctor(self, *, repair: bool = False) -> Examination:
        """Return what is wrong with the store; with `repair`, make anew what can be.

        Compares the records with themselves and with the index, if this process can own it.
        """
        return _care.doctor(self._records, self._index, repair=repair)

    def backup(self, path: str | Path) -> None:
        """Copy the store into a new file, while it is in use; see `restore`.

        Raises:
            MemoryValidationError: The file exists.
            StoreUnavailableError: It cannot be written.
        """
        _care.back_up(self._records, Path(path))

    @staticmethod
    def restore(backup: str | Path, path: str | Path) -> None:
        """Make the store of a new folder from a backup; then open it with `from_path`.

        Raises:
            MemoryValidationError: There is no backup, or the folder holds a store already.
            StoreUnavailableError: The backup cannot be read, or the folder not be written.
        """
        _care.restore(Path(backup), Path(path))

    def close(self) -> None:
        """Close the store; closing twice is fine."""
        try:
            if self._records.is_open:
                self.flush()
        finally:
            try:
                self._index.close()
            finally:
                self._records.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await asyncio.to_thread(self.close)

    def _wants_index(self) -> bool:
        return self._index.exists() or self._index.pending(_INDEX_FROM) >= _INDEX_FROM

    def _embedded(self) -> StoreEmbedder:
        """Return the embedder; a batch asks for vectors only where there is one."""
        return cast("StoreEmbedder", self._embedder)

    def _now(self) -> int:
        return _time.to_micros(self._clock())


@dataclass(frozen=True, slots=True)
class _Done:
    results: list[Any]


def _step(work: Work, reply: list[Vector] | None) -> EmbedRequest | _Done:
    """Go on with a batch; an end is returned, since no thread can hand on a `StopIteration`."""
    try:
        return next(work) if reply is None else work.send(reply)
    except StopIteration as done:
        return _Done(cast("list[Any]", done.value))


def _switch_over(search: SearchPath) -> float:
    """Return how many vectors are scored one by one before the index is asked."""
    paths: dict[str, float] = {"auto": SWITCH_OVER, "exact": math.inf, "chroma": -1}
    if search not in paths:
        raise MemoryValidationError("search", "unknown", f"Give one of {', '.join(paths)}")
    return paths[search]
