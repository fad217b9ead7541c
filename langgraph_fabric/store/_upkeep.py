"""Upkeep: what a store does for its own sake, beside LangGraph's contract.

Bringing the index up to date, sweeping, examining, copying, and moving to another embedder.
"""

from concurrent.futures import Future
from pathlib import Path
from typing import Any

from langchain_core.embeddings import Embeddings
from langgraph.store.base import TTLConfig, ensure_embeddings
from langgraph.store.base.embed import AEmbeddingsFunc, EmbeddingsFunc

from langgraph_fabric.store import _care
from langgraph_fabric.store._batches import Batches
from langgraph_fabric.store._care import Examination
from langgraph_fabric.store._doors import arun, run
from langgraph_fabric.store._embedder import EmbedRequest, StoreEmbedder
from langgraph_fabric.store._index import Index
from langgraph_fabric.store._records import Records
from langgraph_fabric.store._reindex import Progress, Reindexing, reindexing
from langgraph_fabric.store._sweeper import Sweeper
from langgraph_fabric.store._writes import Writer

_INDEX_FROM = 1_000
"""Vectors not yet indexed from which it is worth starting Chroma for them."""


class Upkeep:
    """The verbs of a `ChromaStore` that look after it."""

    __slots__ = ()
    ttl_config: TTLConfig | None
    _records: Records
    _index: Index
    _batches: Batches
    _sweeper: Sweeper

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

    def sweep_ttl(self) -> int:
        """Like `sweep`, by the name that LangGraph's SQL stores give it."""
        return self.sweep()

    def start_ttl_sweeper(self, sweep_interval_minutes: float | None = None) -> Future[None]:
        """Begin to sweep in a thread of its own; without a TTL configuration it does nothing.

        It is never begun by itself, and ended by `stop_ttl_sweeper` or `close`.

        Args:
            sweep_interval_minutes: Minutes between sweeps; by default the configuration's, or 5.

        Returns:
            A future that is done when the sweeper has ended; cancelling it ends the sweeper.

        Raises:
            MemoryValidationError: The minutes are not positive.
        """
        if self.ttl_config is None:
            idle = Future[None]()
            idle.set_result(None)
            return idle
        configured = self.ttl_config.get("sweep_interval_minutes")
        minutes = configured if sweep_interval_minutes is None else sweep_interval_minutes
        return self._sweeper.start(minutes)

    def stop_ttl_sweeper(self, timeout: float | None = None) -> bool:
        """End the sweeper; False if it has not ended within `timeout` seconds."""
        return self._sweeper.stop(timeout)

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

    def reindex(
        self,
        *,
        embeddings: Embeddings | EmbeddingsFunc | AEmbeddingsFunc | str,
        dims: int | None = None,
        progress: Progress | None = None,
    ) -> int:
        """Move the store to another embedder, or to vectors of another length, while it is in use.

        It serves reads and writes with the old vectors until all new ones are made, and changes in
        one transaction. Killed in between, the next call goes on where this one was. Other
        processes on the folder must then be opened with the new embedder.

        Args:
            embeddings: The new embedder, in any form that LangGraph's `embed` takes.
            dims: The length of its vectors, to be checked.
            progress: Called with how many vectors are made, and how many there are to make.

        Returns:
            How many vectors the store has.

        Raises:
            EmbedderMismatchError: The new embedder returns something else than vectors.
            MemoryConflictError: Another move of the store was begun meanwhile.
        """
        return run(self._reindexing(embeddings, dims, progress), EmbedRequest.answered)

    async def areindex(
        self,
        *,
        embeddings: Embeddings | EmbeddingsFunc | AEmbeddingsFunc | str,
        dims: int | None = None,
        progress: Progress | None = None,
    ) -> int:
        """Like `reindex`, with the embedder's async methods; `progress` is called in a thread."""
        return await arun(self._reindexing(embeddings, dims, progress), EmbedRequest.aanswered)

    def _reindexing(
        self, embeddings: Any, dims: int | None, progress: Progress | None
    ) -> Reindexing:
        embedder = StoreEmbedder(ensure_embeddings(embeddings), dims)
        return reindexing(self._records, self._index, self._batches, embedder, progress)

    @staticmethod
    def restore(backup: str | Path, path: str | Path) -> None:
        """Make the store of a new folder from a backup; then open it with `from_path`.

        Raises:
            MemoryValidationError: There is no backup, or the folder holds a store already.
            StoreUnavailableError: The backup cannot be read, or the folder not be written.
        """
        _care.restore(Path(backup), Path(path))

    def _wants_index(self) -> bool:
        return self._index.exists() or self._index.pending(_INDEX_FROM) >= _INDEX_FROM

    def _now(self) -> int:
        raise NotImplementedError
