"""The index: Chroma, for searches over more vectors than one wants to score one by one.

Chroma holds ids and vectors, no text. It is derived from the records: what it lacks is in the
outbox, and when it is missing, unreadable or does not add up, it is built anew from the stored
vectors in a folder of a new name, since a folder that once failed to open stays broken for the
process. One process at a time owns the index of a folder; the others search exactly without it.
"""

import contextlib
import fcntl
import os
import shutil
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

from langgraph_fabric.store._records import Records, by_ids, fact, set_fact

PORTION = 64
"""Vectors handed to Chroma at once; it holds the interpreter lock for as long as they take."""
_REBUILD_PORTION = 1_000

_CONFIGURATION = {
    "hnsw": {"space": "cosine", "max_neighbors": 32, "ef_construction": 200, "ef_search": 400}
}
"""Chroma's defaults find 56 of 100 nearest random vectors among 10,000; these 99, at 2.7 times the
building time."""


class Index:
    """The Chroma side of a store. Nothing is opened before the first use."""

    def __init__(self, records: Records, folder: Path | None) -> None:
        self._records = records
        self._folder = folder
        self._lock_file: int | None = None
        self._client: Any = None
        self._collection: Any = None

    @property
    def is_open(self) -> bool:
        """Whether Chroma is in use."""
        return self._collection is not None

    def pending(self) -> int:
        """Return how many vectors the index does not know yet."""
        with self._records.reading() as connection:
            return int(connection.execute("SELECT COUNT(*) FROM outbox").fetchone()[0])

    def flush(self) -> bool:
        """Bring the index up to date; False if another process owns it."""
        if not self._open():
            return False
        while self._apply_portion():
            pass
        return True

    def nearest(self, query: Sequence[float], count: int) -> list[int] | None:
        """Return the ids of about the `count` nearest vectors; None if the index cannot be used."""
        if not self._open():
            return None
        try:
            found = self._collection.query(
                query_embeddings=[list(query)], n_results=count, include=[]
            )
        except Exception:  # noqa: BLE001 - any failure of the index means to do without it
            self._collection = None
            return None
        return [int(i) for i in found["ids"][0]]

    def rebuild(self) -> bool:
        """Build the index anew, which also erases what was removed from it."""
        if not self._owned():
            return False
        self._close_client()
        name = f"index-{uuid4().hex[:8]}"
        collection = self._create(name)
        last = 0
        while True:
            with self._records.reading() as connection:
                rows = connection.execute(
                    "SELECT id, vector FROM vectors WHERE id > ? ORDER BY id LIMIT ?",
                    (last, _REBUILD_PORTION),
                ).fetchall()
            if not rows:
                break
            _add(collection, rows)
            last = rows[-1][0]
        with self._records.writing() as connection:
            old = fact(connection, "index")
            set_fact(connection, "index", name)
            connection.execute("DELETE FROM outbox WHERE vector <= ?", (last,))
        self._collection = collection
        if old and self._folder is not None:
            shutil.rmtree(self._folder / old, ignore_errors=True)
        return True

    def close(self) -> None:
        """Close Chroma and let another process own the index."""
        self._close_client()
        if self._lock_file is not None:
            os.close(self._lock_file)
            self._lock_file = None

    def _open(self) -> bool:
        if self._collection is not None:
            return True
        if not self._owned():
            return False
        with self._records.reading() as connection:
            name = fact(connection, "index")
            (stored,) = connection.execute("SELECT COUNT(*) FROM vectors").fetchone()
            (missing,) = connection.execute(
                "SELECT COUNT(*) FROM outbox o JOIN vectors v ON v.id = o.vector"
            ).fetchone()
        collection = self._existing(name) if name else None
        if collection is None or not 0 <= stored - missing <= _size(collection):
            return self.rebuild()
        self._collection = collection
        return True

    def _owned(self) -> bool:
        if self._folder is None or self._lock_file is not None:
            return True
        lock_file = os.open(self._folder / "index.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC)
        try:
            fcntl.flock(lock_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock_file)
            return False
        self._lock_file = lock_file
        return True

    def _existing(self, name: str) -> Any:
        """Return the collection kept under `name`, or None if it cannot be read."""
        if self._folder is None or not (self._folder / name / "chroma.sqlite3").is_file():
            return None
        try:
            self._client = _client(self._folder / name)
            return self._client.get_collection(name, embedding_function=None)
        except Exception:  # noqa: BLE001 - unreadable in whatever way: it is built anew
            self._close_client()
            return None

    def _create(self, name: str) -> Any:
        self._client = _client(None if self._folder is None else self._folder / name)
        return self._client.create_collection(
            name, embedding_function=None, configuration=_CONFIGURATION
        )

    def _close_client(self) -> None:
        if self._client is not None:
            with contextlib.suppress(Exception):
                if self._folder is None and self._collection is not None:
                    self._client.delete_collection(self._collection.name)
                self._client.close()
        self._client = self._collection = None

    def _apply_portion(self) -> bool:
        """Apply some of the outbox; tell whether there was anything."""
        with self._records.reading() as connection:
            pending = connection.execute(
                "SELECT o.vector, v.vector FROM outbox o LEFT JOIN vectors v ON v.id = o.vector"
                " ORDER BY o.vector LIMIT ?",
                (PORTION,),
            ).fetchall()
        if not pending:
            return False
        gone = [str(i) for i, vector in pending if vector is None]
        _add(self._collection, [row for row in pending if row[1] is not None])
        if gone:
            self._collection.delete(ids=gone)
        with self._records.writing() as connection:
            by_ids(
                connection,
                "DELETE FROM outbox WHERE vector IN ({ids})",
                [i for i, vector in pending if vector is not None],
            )
            by_ids(
                connection,
                "DELETE FROM outbox WHERE vector IN ({ids})"
                " AND vector NOT IN (SELECT id FROM vectors)",
                [i for i, vector in pending if vector is None],
            )
        return True


def outbox(connection: sqlite3.Connection) -> list[int]:
    """Return the items whose vectors the index does not know yet."""
    rows = connection.execute("SELECT v.item FROM outbox o JOIN vectors v ON v.id = o.vector")
    return [item for (item,) in rows]


def _size(collection: Any) -> int:
    try:
        return int(collection.count())
    except Exception:  # noqa: BLE001 - unreadable in whatever way: it is built anew
        return -1


def _add(collection: Any, rows: Sequence[tuple[int, bytes]]) -> None:
    import numpy as np  # noqa: PLC0415 - loaded on first use, not at import

    if rows:
        vectors = np.stack([np.frombuffer(vector, dtype=np.float32) for _, vector in rows])
        collection.upsert(ids=[str(i) for i, _ in rows], embeddings=vectors)


def _client(folder: Path | None) -> Any:
    import chromadb  # noqa: PLC0415 - loaded on first use, not at import
    from chromadb.config import Settings  # noqa: PLC0415 - the same

    settings = Settings(anonymized_telemetry=False)
    if folder is None:
        return chromadb.EphemeralClient(settings)
    return chromadb.PersistentClient(os.path.realpath(folder), settings)
