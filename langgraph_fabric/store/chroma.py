"""`ChromaStore`: a LangGraph store with SQL for its truth and Chroma for its index.

A batch goes through three steps: plan (pure, refuses what is malformed), embed (the one step that
asks another system), and one transaction. The steps are written once, as a generator that yields
what it wants embedded; the doors for each colour of function differ in how they answer it.
"""

import asyncio
import math
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Literal, Self

from langchain_core.embeddings import Embeddings
from langgraph.store.base import BaseStore, IndexConfig, SearchItem, SearchOp, TTLConfig

from langgraph_fabric import _time
from langgraph_fabric._ops import PutIfOp, StoreOp, TextSearchOp
from langgraph_fabric.embeddings import EmbedderProfile
from langgraph_fabric.errors import MemoryValidationError
from langgraph_fabric.store._batches import Batches
from langgraph_fabric.store._doors import arun, run
from langgraph_fabric.store._embedder import EmbedRequest, configured, paths_of
from langgraph_fabric.store._index import Index
from langgraph_fabric.store._modes import Asked, Mode, searching
from langgraph_fabric.store._records import Durability, Records
from langgraph_fabric.store._search import Searcher
from langgraph_fabric.store._sweeper import Sweeper
from langgraph_fabric.store._upkeep import Upkeep

SearchPath = Literal["auto", "exact", "chroma"]

SWITCH_OVER = 25_000
"""Vectors up to which scoring all of them is faster than asking Chroma (store spike)."""


class ChromaStore(Upkeep, BaseStore):
    """A durable LangGraph store in one folder.

    Make it with `from_path` or `in_memory`; both are context managers, sync and async. Nothing is
    opened before the first use. It may be shared by threads and event loops, and a folder by
    processes; one process at a time then uses Chroma, the others search exactly without it.
    """

    supports_ttl = True
    fabric_ops: ClassVar[frozenset[type]] = frozenset({PutIfOp, TextSearchOp})
    """The operations beyond LangGraph's that `batch` understands."""

    __slots__ = ("_batches", "_clock", "_index", "_records", "_sweeper", "ttl_config")

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
        self._records = Records(folder, durability)
        self._index = Index(self._records, folder, eager=search == "chroma")
        self._batches = Batches(
            self._records,
            self._index,
            Searcher(_switch_over(search)),
            configured(index),
            paths_of(index),
            now=self._now,
        )
        self._sweeper = Sweeper(self.sweep)

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
        embedder = self._batches.embedder
        return None if embedder is None else embedder.embeddings

    @property
    def profile(self) -> EmbedderProfile | None:
        """What is known of the embedder, or None."""
        embedder = self._batches.embedder
        return None if embedder is None else embedder.profile

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
        return run(self._batches.work(ops), EmbedRequest.answered)

    async def abatch(self, ops: Iterable[StoreOp]) -> list[Any]:
        """Like `batch`, with the embedder's async methods, and blocking a thread, not the loop."""
        return await arun(self._batches.work(ops), EmbedRequest.aanswered)

    def search(
        self,
        namespace_prefix: tuple[str, ...],
        /,
        *,
        query: str | None = None,
        filter: dict[str, Any] | None = None,
        limit: int = 10,
        offset: int = 0,
        refresh_ttl: bool | None = None,
        mode: Mode = "vector",
    ) -> list[SearchItem]:
        """Search as any LangGraph store; with `mode`, by words or by both.

        Args:
            namespace_prefix: Below which namespace.
            query: What to rank by; without it the newest come first, in every mode.
            filter: Conditions on the value.
            limit: Items on the page.
            offset: Items before it.
            refresh_ttl: Whether what is found lives on; None for the store's configuration.
            mode: `lexical` ranks by BM25, and returns what shares a word with the query. `hybrid`
                blends both by the embedder's profile, and returns what either ranks; its scores are
                comparable within one answer only.

        Raises:
            MemoryValidationError: The mode, filter or a number is not allowed.
        """
        refresh = self._refreshes() if refresh_ttl is None else refresh_ttl
        op = SearchOp(namespace_prefix, filter, limit, offset, query, refresh)
        return run(searching(self._asked(mode, op)), self.batch)

    async def asearch(
        self,
        namespace_prefix: tuple[str, ...],
        /,
        *,
        query: str | None = None,
        filter: dict[str, Any] | None = None,
        limit: int = 10,
        offset: int = 0,
        refresh_ttl: bool | None = None,
        mode: Mode = "vector",
    ) -> list[SearchItem]:
        """Like `search`, without blocking."""
        refresh = self._refreshes() if refresh_ttl is None else refresh_ttl
        op = SearchOp(namespace_prefix, filter, limit, offset, query, refresh)
        return await arun(searching(self._asked(mode, op)), self.abatch)

    def _refreshes(self) -> bool:
        return (self.ttl_config or {}).get("refresh_on_read", True)

    def _asked(self, mode: Mode, op: SearchOp) -> Asked:
        profile = self.profile
        return Asked(mode, op, 0.0 if profile is None else profile.vector_weight)

    def close(self) -> None:
        """Close the store; closing twice is fine."""
        self.stop_ttl_sweeper()
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

    def _now(self) -> int:
        return _time.to_micros(self._clock())


def _switch_over(search: SearchPath) -> float:
    """Return how many vectors are scored one by one before the index is asked."""
    paths: dict[str, float] = {"auto": SWITCH_OVER, "exact": math.inf, "chroma": -1}
    if search not in paths:
        raise MemoryValidationError("search", "unknown", f"Give one of {', '.join(paths)}")
    return paths[search]
