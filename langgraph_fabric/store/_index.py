"""The index: Chroma, for searches over more vectors than one wants to score one by one.

Chroma holds ids and vectors, no text. It is derived from the records: what it lacks is in the
outbox, and when it is missing, unreadable or does not add up, it is built anew from the stored
vectors, in a folder of a new name, since a folder that once failed to open stays broken for its
process. One process at a time owns the index of a folder; the others search exactly without it.
"""

import contextlib
import os
import shutil
import sqlite3
import threading
from pathlib import Path
from uuid import uuid4

from langgraph_fabric.store._collection import Collection, Row, open_collection
from langgraph_fabric.store._records import Records, by_ids, fact, set_fact

PORTION = 64
"""Vectors handed to Chroma at once, so that a query in between does not wait long."""
_REBUILD_PORTION = 1_000
_MOST_PENDING = 1_024
"""Vectors not yet indexed that a search still scores one by one before it has them indexed."""


class Index:
    """The Chroma side of a store. Nothing is opened before the first use."""

    def __init__(self, records: Records, folder: Path | None) -> None:
        self._records = records
        self._folder = folder
        self._lock = threading.RLock()
        self._lock_file: int | None = None
        self._collection: Collection | None = None

    @property
    def is_open(self) -> bool:
        """Whether Chroma is in use."""
        return self._collection is not None

    def pending(self) -> int:
        """Return how many vectors the index does not know yet, or knows and should not."""
        with self._records.reading() as connection:
            return int(connection.execute("SELECT COUNT(*) FROM outbox").fetchone()[0])

    def flush(self) -> bool:
        """Bring the index up to date; False if another process owns it, or Chroma fails."""
        with self._lock:
            collection = self._opened()
            if collection is None:
                return False
            try:
                while self._apply_portion(collection):
                    pass
            except RuntimeError:
                self._let_go()
                return False
            return True

    def nearest(self, query: bytes, count: int) -> list[int] | None:
        """Return the ids of about the `count` nearest vectors; None if the index cannot be used."""
        with self._lock:
            if self.pending() > _MOST_PENDING:
                self.flush()
            collection = self._opened()
            if collection is None:
                return None
            try:
                return collection.nearest(query, count)
            except RuntimeError:
                self._let_go()
                return None

    def known(self) -> set[int] | None:
        """Return the ids the index holds; None if it was never built or cannot be read."""
        with self._lock:
            with self._records.reading() as connection:
                built = fact(connection, "index") is not None
            collection = self._opened() if built else None
            return None if collection is None else collection.ids()

    def rebuild(self) -> bool:
        """Build the index anew, which also erases what was removed from it."""
        with self._lock:
            return self._rebuilt() is not None

    def close(self) -> None:
        """Close Chroma and let another process own the index."""
        with self._lock:
            self._let_go()
            if self._lock_file is not None:
                os.close(self._lock_file)
                self._lock_file = None

    def _opened(self) -> Collection | None:
        if self._collection is None and self._owned():
            with self._records.reading() as connection:
                name = fact(connection, "index")
                wanted = _should_hold(connection)
            self._collection = self._existing(name, wanted) if name else None
            if self._collection is None:
                return self._rebuilt()
        return self._collection

    def _existing(self, name: str, wanted: int) -> Collection | None:
        """Return the collection kept under `name`, or None if it cannot be relied on."""
        if self._folder is None or not (self._folder / name / "chroma.sqlite3").is_file():
            return None
        try:
            collection = open_collection(self._folder / name, name, create=False)
            if collection.count() >= wanted:
                return collection
            collection.close()
        except RuntimeError:
            pass
        return None

    def _rebuilt(self) -> Collection | None:
        if not self._owned():
            return None
        self._let_go()
        name = f"index-{uuid4().hex[:8]}"
        try:
            collection = open_collection(self._folder and self._folder / name, name, create=True)
            last = self._fill(collection)
        except RuntimeError:
            return None
        with self._records.writing() as connection:
            set_fact(connection, "index", name)
            connection.execute(
                "DELETE FROM outbox WHERE vector <= ? AND vector IN (SELECT id FROM vectors)",
                (last,),
            )
        self._remove_others(name)
        self._collection = collection
        return collection

    def _fill(self, collection: Collection) -> int:
        """Add every stored vector, and return the id of the last."""
        last = 0
        while True:
            with self._records.reading() as connection:
                rows: list[Row] = connection.execute(
                    "SELECT id, vector FROM vectors WHERE id > ? ORDER BY id LIMIT ?",
                    (last, _REBUILD_PORTION),
                ).fetchall()
            if not rows:
                return last
            collection.add(rows)
            last = rows[-1][0]

    def _remove_others(self, name: str) -> None:
        """Remove the folders of earlier indexes, also of ones that a crash left half built."""
        if self._folder is not None:
            for folder in self._folder.glob("index-*"):
                if folder.name != name:
                    shutil.rmtree(folder, ignore_errors=True)

    def _owned(self) -> bool:
        if self._folder is None or self._lock_file is not None:
            return True
        import fcntl  # noqa: PLC0415 - where there is none, only the index is out of reach

        lock_file = os.open(self._folder / "index.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC)
        try:
            fcntl.flock(lock_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock_file)
            return False
        self._lock_file = lock_file
        return True

    def _let_go(self) -> None:
        if self._collection is not None:
            with contextlib.suppress(RuntimeError):
                self._collection.close()
            self._collection = None

    def _apply_portion(self, collection: Collection) -> bool:
        """Apply some of the outbox; tell whether there was anything.

        An entry leaves the outbox after Chroma has it, so that a crash in between repeats it.
        """
        with self._records.reading() as connection:
            pending: list[tuple[int, bytes | None]] = connection.execute(
                "SELECT o.vector, v.vector FROM outbox o LEFT JOIN vectors v ON v.id = o.vector"
                " ORDER BY o.vector LIMIT ?",
                (PORTION,),
            ).fetchall()
        added = [(i, vector) for i, vector in pending if vector is not None]
        gone = [i for i, vector in pending if vector is None]
        collection.add(added)
        collection.remove(gone)
        with self._records.writing() as connection:
            known = (
                "DELETE FROM outbox WHERE vector IN ({ids}) AND vector IN (SELECT id FROM vectors)"
            )
            by_ids(connection, known, [i for i, _ in added])
            by_ids(connection, "DELETE FROM outbox WHERE vector IN ({ids})", gone)
        return bool(pending)


def outbox(connection: sqlite3.Connection) -> list[int]:
    """Return the items whose vectors the index does not know yet."""
    rows = connection.execute("SELECT v.item FROM outbox o JOIN vectors v ON v.id = o.vector")
    return [item for (item,) in rows]


def _should_hold(connection: sqlite3.Connection) -> int:
    """Return how many vectors a sound index has at least."""
    counted = "SELECT COUNT(*) FROM vectors WHERE id NOT IN (SELECT vector FROM outbox)"
    return int(connection.execute(counted).fetchone()[0])
