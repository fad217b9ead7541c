"""The index: Chroma, for searches over more vectors than one wants to score one by one.

Chroma holds ids and vectors, no text. It is derived from the records: what it lacks is in the
outbox. Its files are not written atomically, so a seal over them is kept in the records: taken when
the index is closed, broken before it is first changed. An index that is missing, unsealed or does
not add up is built anew from the stored vectors, in a folder of a new name, since a folder that
once failed to open stays broken for the process. One process at a time owns the index of a folder;
the others, and everyone while it cannot be used, search exactly without it.
"""

import contextlib
import os
import shutil
import sqlite3
import threading
from collections.abc import Generator, Sequence
from pathlib import Path

from langgraph_fabric.store._chroma_client import Client, ClientFailedError, LocalClient
from langgraph_fabric.store._chroma_process import ProcessClient
from langgraph_fabric.store._records import Records, by_ids, fact, set_fact
from langgraph_fabric.store._seal import OwnerLock, seal_of

PORTION = 64
"""Vectors handed to Chroma at once, so that a query in between does not wait long."""
_REBUILD_PORTION = 1_000
_MOST_PENDING = 2_000
"""Vectors not yet indexed up to which a search joins them; of more, scoring all is no slower."""
_MOST_DEAD = 1_000
"""Vectors deleted from the index, beyond half of those it holds, at which it is built anew: what
Chroma deletes it only hides."""
_MOST_FAILURES = 3
"""Failures after which a store does without Chroma until it is opened again."""


class Index:
    """The Chroma side of a store. Nothing is opened before the first use."""

    def __init__(self, records: Records, folder: Path | None, *, eager: bool) -> None:
        self._records = records
        self._folder = folder
        self._eager = eager
        """Whether a search brings the index up to date, and does not only use it as it is."""
        self._lock = threading.RLock()
        self._owner = OwnerLock(None if folder is None else folder / "index.lock")
        self._client: Client | None = None
        self._sealed = False
        self._failures = 0
        self._process = os.getpid()

    @property
    def is_open(self) -> bool:
        """Whether Chroma is in use."""
        return self._client is not None

    def pending(self, most: int) -> int:
        """Return how many vectors the index does not know yet, counted up to `most`."""
        with self._records.reading() as connection:
            count = "SELECT COUNT(*) FROM (SELECT 1 FROM outbox LIMIT ?)"
            return int(connection.execute(count, (most,)).fetchone()[0])

    def exists(self) -> bool:
        """Tell whether there is an index, be it up to date, or cut off in the making."""
        if self._folder is not None and any(self._folder.glob("index-*")):
            return True
        with self._records.reading() as connection:
            return fact(connection, "index") is not None

    def flush(self) -> bool:
        """Bring the index up to date; False if it cannot be used, or another process owns it."""
        with self._used():
            for _ in range(2):
                try:
                    if not self._open(build=True):
                        return False
                    while self._apply_portion():
                        pass
                    return not self._is_worn() or self._rebuild()
                except ClientFailedError:
                    self._discard()
            return False

    def nearest(self, query: Sequence[float], count: int) -> list[int] | None:
        """Return the ids of about the `count` nearest vectors; None if the index cannot be used."""
        with self._used(wait=self._eager) as is_mine:
            if not is_mine or not self._is_ready() or not self._fits(query):
                return None
            try:
                return self._client.nearest(query, count) if self._client is not None else None
            except ClientFailedError:
                self._discard()
                return None

    def known(self) -> set[int] | None:
        """Return the ids the index holds; None if there is none that this process can read."""
        with self._used():
            try:
                is_open = self.exists() and self._open(build=False)
                return self._client.ids() if is_open and self._client is not None else None
            except ClientFailedError:
                self._discard()
                return None

    def rebuild(self) -> bool:
        """Build the index anew, which also erases what was removed from it."""
        with self._used():
            try:
                return self._may_use() and self._rebuild()
            except ClientFailedError:
                self._discard()
                return False

    @contextlib.contextmanager
    def retired(self) -> Generator[None]:
        """Keep the index still while its vectors are replaced; then what it holds is of no use."""
        with self._used():
            try:
                yield
            finally:
                if not self._is_current():
                    self._close_client()

    def close(self) -> None:
        """Close Chroma, seal its files and let another process own them."""
        with self._used():
            name = self._client.name if self._client is not None else None
            self._close_client()
            try:
                if name is not None and self._folder is not None:
                    with self._records.writing() as connection:
                        set_fact(connection, "seal", seal_of(self._folder / name))
            finally:
                self._owner.release()

    @contextlib.contextmanager
    def _used(self, *, wait: bool = True) -> Generator[bool]:
        """Hold the index for one thread; a forked process starts without the parent's."""
        if self._process != os.getpid():
            self._process = os.getpid()
            self._lock = threading.RLock()
            self._client = None
            self._owner.forget()
        lock = self._lock
        is_mine = lock.acquire(blocking=wait)
        try:
            yield is_mine
        finally:
            if is_mine:
                lock.release()

    def _may_use(self) -> bool:
        return self._failures < _MOST_FAILURES and self._owner.acquire()

    def _is_ready(self) -> bool:
        if self._eager:
            return self.flush()
        return self.pending(_MOST_PENDING + 1) <= _MOST_PENDING and self._open(build=False)

    def _fits(self, query: Sequence[float]) -> bool:
        """Tell whether a query is as long as the vectors: they may just have been replaced."""
        with self._records.reading() as connection:
            row = connection.execute("SELECT LENGTH(vector) FROM vectors LIMIT 1").fetchone()
        return row is None or row[0] == 4 * len(query)

    def _is_current(self) -> bool:
        """Tell whether the open index is the one the records name, of their present vectors."""
        with self._records.reading() as connection:
            return self._client is not None and fact(connection, "index") == self._client.name

    def _open(self, *, build: bool) -> bool:
        if self._client is not None:
            if self._is_current():
                return True
            self._close_client()
        if not self._may_use():
            return False
        if self._failures == 0 and self._reopened():
            return True
        return build and self._rebuild()

    def _reopened(self) -> bool:
        """Open the index that is there, if it is whole."""
        with self._records.reading() as connection:
            name, seal = fact(connection, "index"), fact(connection, "seal")
            (known,) = connection.execute(
                "SELECT COUNT(*) FROM vectors WHERE id NOT IN (SELECT vector FROM outbox)"
            ).fetchone()
        if name is None or self._folder is None or seal != seal_of(self._folder / name):
            return False
        try:
            client = ProcessClient.opened(self._folder / name, name)
            if client.count() < known:
                client.close()
                return False
        except ClientFailedError:
            return False
        self._client, self._sealed = client, True
        return True

    def _rebuild(self) -> bool:
        self._close_client()
        name = f"index-{os.urandom(4).hex()}"
        client = self._created(name)
        try:
            is_current = self._build(client)
        except BaseException:
            client.close()
            raise
        if not is_current:
            client.close()
            return self._rebuild()
        self._client, self._sealed = client, False
        self._remove_others(name)
        return True

    def _build(self, client: Client) -> bool:
        """Fill a new index; False if another process replaced the vectors meanwhile."""
        last, moves = 0, self._moves()
        while rows := self._vectors_after(last):
            client.add(rows)
            last = rows[-1][0]
        with self._records.writing() as connection:
            if fact(connection, "moves") != moves:
                return False
            set_fact(connection, "index", client.name)
            set_fact(connection, "seal", None)
            set_fact(connection, "dead", 0)
            # What was deleted meanwhile stays in the outbox: it may have been added before.
            connection.execute(
                "DELETE FROM outbox WHERE vector <= ? AND vector IN (SELECT id FROM vectors)",
                (last,),
            )
        return True

    def _moves(self) -> int | None:
        """Return how often all vectors were replaced."""
        with self._records.reading() as connection:
            return fact(connection, "moves")

    def _created(self, name: str) -> Client:
        if self._folder is None:
            return LocalClient.created(None, name)
        return ProcessClient.created(self._folder / name, name)

    def _vectors_after(self, last: int) -> list[tuple[int, bytes]]:
        with self._records.reading() as connection:
            return connection.execute(
                "SELECT id, vector FROM vectors WHERE id > ? ORDER BY id LIMIT ?",
                (last, _REBUILD_PORTION),
            ).fetchall()

    def _remove_others(self, name: str) -> None:
        """Remove the folders of former indexes, and of builds that a crash cut off."""
        if self._folder is not None:
            for other in self._folder.glob("index-*"):
                if other.name != name:
                    shutil.rmtree(other, ignore_errors=True)

    def _apply_portion(self) -> bool:
        """Apply some of the outbox; tell whether there was anything."""
        with self._records.reading() as connection:
            pending = connection.execute(
                "SELECT o.vector, v.vector FROM outbox o LEFT JOIN vectors v ON v.id = o.vector"
                " ORDER BY o.vector LIMIT ?",
                (PORTION,),
            ).fetchall()
        if not pending or self._client is None:
            return False
        self._break_seal()
        gone = [i for i, vector in pending if vector is None]
        added = [row for row in pending if row[1] is not None]
        self._client.add(added)
        self._client.delete(gone)
        with self._records.writing() as connection:
            applied = "DELETE FROM outbox WHERE vector IN ({ids})"
            by_ids(connection, applied, gone)
            still = " AND vector IN (SELECT id FROM vectors)"  # else deleted since it was read
            by_ids(connection, applied + still, [i for i, _ in added])
            set_fact(connection, "dead", int(fact(connection, "dead") or 0) + len(gone))
        return True

    def _is_worn(self) -> bool:
        with self._records.reading() as connection:
            dead = int(fact(connection, "dead") or 0)
            (live,) = connection.execute("SELECT COUNT(*) FROM vectors").fetchone()
        return dead > _MOST_DEAD + live // 2

    def _break_seal(self) -> None:
        if self._sealed:
            with self._records.writing() as connection:
                set_fact(connection, "seal", None)
            self._sealed = False

    def _discard(self) -> None:
        self._failures += 1
        self._close_client()

    def _close_client(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None


def outbox(connection: sqlite3.Connection) -> list[int]:
    """Return the items whose vectors the index does not know yet."""
    rows = connection.execute("SELECT v.item FROM outbox o JOIN vectors v ON v.id = o.vector")
    return [item for (item,) in rows]
