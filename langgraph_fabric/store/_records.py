"""Records: the items, their vectors and words, in SQLite; the truth the index is derived from.

One connection serves one folder and is used by one thread at a time. A batch is one transaction,
which also moves the version of every namespace it touches, and leaves in the outbox which vectors
the index does not know yet. SQL is built of constants only; every value is bound.
"""

import contextlib
import os
import sqlite3
import threading
from collections.abc import Generator, Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

from langgraph_fabric.errors import StoreUnavailableError

Durability = Literal["full", "process"]
"""`full`: an acknowledged write survives a power cut. `process`: it survives a killed process."""

FILE = "records.db"
"""The database's name in a store's folder."""
_BUSY_SECONDS = 30.0
_SCRUB_MILLISECONDS = 1_000
"""Reads end within milliseconds; who reads longer may be at it for hours."""
_MANY = 500
"""Ids bound in one statement; SQLite takes 32,766, and short statements stay in its cache."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS items (
    id INTEGER PRIMARY KEY AUTOINCREMENT, ns BLOB NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL,
    created INTEGER NOT NULL, updated INTEGER NOT NULL, ttl REAL, expires INTEGER,
    texts BLOB, terms INTEGER NOT NULL DEFAULT 0, version INTEGER NOT NULL, UNIQUE (ns, key));
CREATE INDEX IF NOT EXISTS items_by_time ON items (ns, updated DESC, id DESC);
CREATE INDEX IF NOT EXISTS items_by_version ON items (ns, version);
CREATE INDEX IF NOT EXISTS items_by_expiry ON items (expires) WHERE expires IS NOT NULL;
CREATE TABLE IF NOT EXISTS vectors (
    id INTEGER PRIMARY KEY AUTOINCREMENT, item INTEGER NOT NULL, path TEXT NOT NULL,
    hash BLOB NOT NULL, vector BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS vectors_by_item ON vectors (item);
CREATE TABLE IF NOT EXISTS outbox (vector INTEGER PRIMARY KEY);
CREATE TABLE IF NOT EXISTS namespaces (
    ns BLOB PRIMARY KEY, version INTEGER NOT NULL, items INTEGER NOT NULL,
    vectors INTEGER NOT NULL, texts INTEGER NOT NULL, terms INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5 (scope, terms, tokenize = 'ascii');
"""
"""`texts` is a hash of what is indexed, so that an unchanged text is neither embedded nor indexed
again; `version` is its namespace's when it last changed. `outbox` has ids of vectors that were
added or removed since the index was last brought up to date. `namespaces` has one row for each
namespace that holds items, with what it holds."""


class Records:
    """The SQLite side of a store. Nothing is opened before the first use."""

    def __init__(self, folder: Path | None, durability: Durability) -> None:
        self._folder = folder
        self._durability = durability
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._closed = False
        self._process = os.getpid()
        self._parents: list[Any] = []

    @property
    def is_open(self) -> bool:
        """Whether the database is in use."""
        return self._connection is not None

    @contextlib.contextmanager
    def reading(self) -> Generator[sqlite3.Connection]:
        """Give the connection inside a transaction that sees one state and writes nothing."""
        with self._transaction("BEGIN") as connection:
            yield connection

    @contextlib.contextmanager
    def writing(self) -> Generator[sqlite3.Connection]:
        """Give the connection inside a transaction that is committed whole, or not at all."""
        with self._transaction("BEGIN IMMEDIATE") as connection:
            yield connection

    def scrub(self) -> bool:
        """Leave no trace of deleted text in the files: not in free pages, words or the log.

        Returns False if someone reads on in an old state, which the log must keep until then.
        """
        with self._mine(), translated():
            connection = self._opened()
            connection.execute("INSERT INTO words (words) VALUES ('optimize')")
            connection.execute(f"PRAGMA busy_timeout = {_SCRUB_MILLISECONDS}")
            try:
                row = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            finally:
                connection.execute(f"PRAGMA busy_timeout = {int(_BUSY_SECONDS * 1000)}")
            return row[0] == 0

    def copy_to(self, target: sqlite3.Connection) -> None:
        """Copy the whole database, as it is at one moment, into another connection."""
        with self._lock, translated():
            self._opened().backup(target)

    def close(self) -> None:
        """Close the connection; later use is refused."""
        with self._mine():
            self._closed = True
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _mine(self) -> threading.RLock:
        """Return the lock; a forked process neither uses nor closes its parent's connection."""
        if self._process != os.getpid():
            self._process = os.getpid()
            self._lock = threading.RLock()
            if self._folder is not None:
                self._parents.append(self._connection)
                self._connection = None
        return self._lock

    @contextlib.contextmanager
    def _transaction(self, begin: str) -> Generator[sqlite3.Connection]:
        with self._mine(), translated():
            connection = self._opened()
            try:
                connection.execute(begin)
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def _opened(self) -> sqlite3.Connection:
        if self._closed:
            raise StoreUnavailableError("store", "closed", "Open it again")
        if self._connection is None:
            self._connection = self._open()
        return self._connection

    def _open(self) -> sqlite3.Connection:
        if self._folder is not None:
            self._folder.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(
            ":memory:" if self._folder is None else self._folder / FILE,
            timeout=_BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            connection.execute("PRAGMA secure_delete = ON")
            connection.execute("PRAGMA journal_mode = WAL")
            mode = "FULL" if self._durability == "full" else "NORMAL"
            connection.execute(f"PRAGMA synchronous = {mode}")
            connection.execute("PRAGMA cache_size = -65536")
            connection.executescript(_SCHEMA)
        except BaseException:
            connection.close()
            raise
        return connection


@contextlib.contextmanager
def translated() -> Generator[None]:
    """Turn what SQLite and the disk say into our own error, without their paths."""
    try:
        yield
    except (sqlite3.Error, OSError) as exc:
        raise StoreUnavailableError(
            "store",
            f"cannot be used ({type(exc).__name__})",
            "Check that its folder can be written, has space, and is no other program's",
        ) from None


def fact(connection: sqlite3.Connection, name: str) -> Any:
    """Return one of the store's own facts, or None."""
    row = connection.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
    return None if row is None else row[0]


def set_fact(connection: sqlite3.Connection, name: str, value: Any) -> None:
    """Write one of the store's own facts."""
    connection.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))


def by_ids(
    connection: sqlite3.Connection, sql: str, ids: Iterable[int], *more: Any
) -> list[tuple[Any, ...]]:
    """Run a query whose `{ids}` stands for any number of ids, in portions."""
    wanted = list(ids)
    rows: list[tuple[Any, ...]] = []
    for start in range(0, len(wanted), _MANY):
        part: Sequence[int] = wanted[start : start + _MANY]
        marks = ",".join("?" * len(part))
        rows += connection.execute(sql.replace("{ids}", marks), (*part, *more)).fetchall()
    return rows
