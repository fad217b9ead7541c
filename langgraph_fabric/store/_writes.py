"""Writes: one put or delete inside a transaction, with everything that hangs on it.

A write that needs vectors it was not given says which, before it has changed anything; the caller
embeds them and tries again. So the embedder is asked outside of transactions, and only for texts
that changed.
"""

import hashlib
import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from langgraph.store.base import PutOp, get_text_at_path

from langgraph_fabric._ops import PutIfOp
from langgraph_fabric._text import search_terms
from langgraph_fabric.errors import MemoryConflictError, MemoryValidationError
from langgraph_fabric.store._embedder import Path, Vector, tokenized
from langgraph_fabric.store._lexical import indexed_words, scope_words
from langgraph_fabric.store._records import fact
from langgraph_fabric.store._values import check_key, encode_namespace, encode_value

if TYPE_CHECKING:
    from numpy.typing import NDArray

MINUTE = 60_000_000
"""Microseconds; a time to live is given in minutes."""
_MOST_MINUTES = 5_256_000_000
"""Ten thousand years: an instant stays a number that SQLite can hold."""


class MissingVectors(Exception):  # noqa: N818 - a request, not an error
    """A write needs the vectors of these texts first."""

    def __init__(self, texts: Sequence[str]) -> None:
        super().__init__(len(texts))
        self.texts = tuple(texts)


@dataclass(frozen=True, slots=True)
class Write:
    """One put or delete, ready to be applied."""

    ns: bytes
    key: str
    value: str | None
    """JSON text; None deletes."""
    texts: tuple[tuple[str, str], ...]
    """What is indexed: the path, numbered where it has several texts, and the text."""
    ttl: float | None
    """Minutes; None for ever."""
    expected: int | None
    """The version the stored item must have; None for any."""


def planned(op: PutOp | PutIfOp, fields: Sequence[tuple[str, Path]]) -> Write:
    """Return the write of an operation; pure, and the place where bad values are refused."""
    guarded = isinstance(op, PutIfOp)
    value = None if op.value is None else encode_value(op.value)
    return Write(
        ns=encode_namespace(op.namespace),
        key=check_key(op.key),
        value=value,
        texts=() if value is None else _texts(json.loads(value), op, fields),
        ttl=None if guarded else _checked_ttl(op.ttl),
        expected=op.expected if guarded else None,
    )


def _checked_ttl(ttl: Any) -> float | None:
    if ttl is None:
        return None
    if isinstance(ttl, bool) or not isinstance(ttl, int | float) or not 0 <= ttl <= _MOST_MINUTES:
        raise MemoryValidationError("ttl", "not a number of minutes", "Give 0 to 5,256,000,000")
    return float(ttl)


def _texts(
    value: Any, op: PutOp | PutIfOp, fields: Sequence[tuple[str, Path]]
) -> tuple[tuple[str, str], ...]:
    if op.index is False:
        return ()
    chosen = fields if op.index is None else tokenized(op.index)
    found: list[tuple[str, str]] = []
    for name, path in chosen:
        texts = get_text_at_path(value, path)
        named = [name] if len(texts) == 1 else [f"{name}#{i}" for i in range(len(texts))]
        found += [(n, text) for n, text in zip(named, texts, strict=True) if text.strip()]
    return tuple(found)


class Writer:
    """Applies writes inside one transaction."""

    def __init__(
        self, connection: sqlite3.Connection, vectors: Mapping[str, Vector] | None, now: int
    ) -> None:
        self._connection = connection
        self._vectors = vectors
        """Vectors known so far by text; None if the store has no embedder."""
        self._now = now
        self._touched: dict[bytes, list[int]] = {}
        self._version = 0

    def apply(self, writes: Sequence[Write]) -> None:
        """Apply all of `writes`.

        Raises:
            MemoryConflictError: An item's version is not the expected one.
            MissingVectors: Texts must be embedded first; nothing has been changed.
        """
        for write in writes:
            self._check_version(write)
        self._require_vectors(writes)
        for write in writes:
            self._apply(write)
        self.finish()

    def _check_version(self, write: Write) -> None:
        if write.expected is None:
            return
        row = self._connection.execute(
            "SELECT value FROM items WHERE ns = ? AND key = ? AND (expires IS NULL OR expires > ?)",
            (write.ns, write.key, self._now),
        ).fetchone()
        if (json.loads(row[0]).get("version", 0) if row else 0) != write.expected:
            raise MemoryConflictError(
                "version", "changed since it was read", "Read it again and retry"
            )

    def _require_vectors(self, writes: Sequence[Write]) -> None:
        if self._vectors is None:
            return
        missing: dict[str, None] = {}
        for write in writes:
            if write.texts:
                kept = self._kept_vectors(write)
                fresh = (t for path, t in write.texts if (path, text_hash(t)) not in kept)
                missing.update((text, None) for text in fresh if text not in self._vectors)
        if missing:
            raise MissingVectors(list(missing))

    def _kept_vectors(self, write: Write) -> dict[tuple[str, bytes], int]:
        rows = self._connection.execute(
            "SELECT v.path, v.hash, v.id FROM vectors v JOIN items i ON i.id = v.item"
            " WHERE i.ns = ? AND i.key = ? AND (i.expires IS NULL OR i.expires > ?)",
            (write.ns, write.key, self._now),
        )
        return {(path, digest): vector for path, digest, vector in rows}

    def _apply(self, write: Write) -> None:
        row = self._connection.execute(
            "SELECT id, updated, expires, texts, terms FROM items WHERE ns = ? AND key = ?",
            (write.ns, write.key),
        ).fetchone()
        is_expired = row is not None and row[2] is not None and row[2] <= self._now
        if row is not None and (write.value is None or is_expired):
            self.delete(row[0])
            row = None
        if write.value is not None:
            self._put(write, row)

    def _put(self, write: Write, row: tuple[Any, ...] | None) -> None:
        expires = None if write.ttl is None else self._now + int(write.ttl * MINUTE)
        if row is None:
            cursor = self._connection.execute(
                "INSERT INTO items (ns, key, value, created, updated, ttl, expires, version)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    *(write.ns, write.key, write.value, self._now, self._now),
                    *(write.ttl, expires, self._this_version()),
                ),
            )
            item, texts, terms = cursor.lastrowid or 0, None, 0
            self._count(write.ns, items=1)
        else:
            item, updated, _, texts, terms = row
            self._connection.execute(
                "UPDATE items SET value = ?, updated = ?, ttl = ?, expires = ?, version = ?"
                " WHERE id = ?",
                (
                    *(write.value, max(self._now, updated), write.ttl, expires),
                    *(self._this_version(), item),
                ),
            )
            self._count(write.ns)
        digest = text_hash(json.dumps(write.texts)) if write.texts else None
        if digest != texts:
            self._index_words(write, item, digest, terms if texts else None)
        self._index_vectors(write, item)

    def _index_words(self, write: Write, item: int, digest: bytes | None, old: int | None) -> None:
        terms = [term for _, text in write.texts for term in search_terms(text)]
        if old is not None:
            self._connection.execute("DELETE FROM words WHERE rowid = ?", (item,))
            self._count(write.ns, texts=-1, terms=-old)
        if write.texts:
            self._connection.execute(
                "INSERT INTO words (rowid, scope, terms) VALUES (?, ?, ?)",
                (item, scope_words(write.ns), indexed_words(terms)),
            )
            self._count(write.ns, texts=1, terms=len(terms))
        self._connection.execute(
            "UPDATE items SET texts = ?, terms = ? WHERE id = ?", (digest, len(terms), item)
        )

    def _index_vectors(self, write: Write, item: int) -> None:
        kept = self._kept_vectors(write)
        wanted = {(path, text_hash(text)): text for path, text in write.texts}
        if self._vectors is None:
            wanted = {}
        self._drop_vectors(write.ns, [kept[key] for key in kept if key not in wanted])
        for (path, digest), text in wanted.items():
            if (path, digest) not in kept and self._vectors is not None:
                cursor = self._connection.execute(
                    "INSERT INTO vectors (item, path, hash, vector) VALUES (?, ?, ?, ?)",
                    (item, path, digest, packed(self._vectors[text])),
                )
                self._connection.execute("INSERT INTO outbox VALUES (?)", (cursor.lastrowid,))
                self._count(write.ns, vectors=1)

    def delete(self, item: int) -> None:
        """Delete an item with its vectors and words."""
        ns, texts, terms = self._connection.execute(
            "SELECT ns, texts, terms FROM items WHERE id = ?", (item,)
        ).fetchone()
        vectors = self._connection.execute("SELECT id FROM vectors WHERE item = ?", (item,))
        self._drop_vectors(ns, [vector for (vector,) in vectors])
        self._connection.execute("DELETE FROM words WHERE rowid = ?", (item,))
        self._connection.execute("DELETE FROM items WHERE id = ?", (item,))
        self._count(ns, items=-1, texts=-1 if texts else 0, terms=-terms)

    def _drop_vectors(self, ns: bytes, ids: Sequence[int]) -> None:
        for vector in ids:
            self._connection.execute("DELETE FROM vectors WHERE id = ?", (vector,))
            self._connection.execute("INSERT OR IGNORE INTO outbox VALUES (?)", (vector,))
        self._count(ns, vectors=-len(ids))

    def _count(
        self, ns: bytes, *, items: int = 0, vectors: int = 0, texts: int = 0, terms: int = 0
    ) -> None:
        counts = self._touched.setdefault(ns, [0, 0, 0, 0])
        for i, change in enumerate((items, vectors, texts, terms)):
            counts[i] += change

    def finish(self) -> None:
        """Move the version of every touched namespace, and drop the ones left empty."""
        for ns, counts in self._touched.items():
            self._connection.execute(
                "INSERT INTO namespaces VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (ns) DO UPDATE SET"
                " version = excluded.version, items = items + excluded.items,"
                " vectors = vectors + excluded.vectors, texts = texts + excluded.texts,"
                " terms = terms + excluded.terms",
                (ns, self._this_version(), *counts),
            )
            self._connection.execute("DELETE FROM namespaces WHERE ns = ? AND items <= 0", (ns,))

    def _this_version(self) -> int:
        """Return this transaction's number, never given before: no cache mistakes two states."""
        if not self._version:
            self._connection.execute(
                "INSERT INTO facts VALUES ('version', 1)"
                " ON CONFLICT (name) DO UPDATE SET value = value + 1"
            )
            self._version = int(fact(self._connection, "version"))
        return self._version


def unit(vector: Vector) -> "NDArray[Any]":
    """Return a vector as float32 numbers, of length one unless it is zero."""
    import numpy as np  # noqa: PLC0415 - loaded on first use, not at import

    array = np.asarray(vector, dtype=np.float64)
    if largest := float(np.abs(array).max(initial=0)):
        array = array / largest  # squares of very large or small numbers would not fit
        array = array / np.linalg.norm(array)
    return array.astype(np.float32)


def packed(vector: Vector) -> bytes:
    """Return a vector as the bytes of its unit vector."""
    return unit(vector).tobytes()


def text_hash(text: str) -> bytes:
    """Return the hash by which an unchanged text is known."""
    return hashlib.sha256(text.encode()).digest()[:16]
