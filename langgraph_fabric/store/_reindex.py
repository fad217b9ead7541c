"""Reindex: move a store to another embedder, while it is in use.

The new vectors are staged beside the old ones, a portion at a time, by the ids of the old: a vector
is never changed, so a staged one stays right until the old one is deleted, and then it is deleted
with it. What is written meanwhile gets vectors of the old kind and its turn like the rest. When
nothing is left, one transaction puts the new vectors in the place of the old. Killed at any moment,
the store is of the old kind or of the new, and the next call goes on with what is staged.
"""

import sqlite3
from collections.abc import Callable, Generator
from contextlib import suppress
from dataclasses import dataclass
from json import loads
from typing import Any
from uuid import uuid4

from langgraph.store.base import get_text_at_path

from langgraph_fabric.errors import MemoryConflictError
from langgraph_fabric.store._batches import Batches
from langgraph_fabric.store._embedder import (
    EmbedRequest,
    StoreEmbedder,
    Vector,
    fingerprint,
    tokenized,
)
from langgraph_fabric.store._index import Index
from langgraph_fabric.store._records import Records, fact, set_fact
from langgraph_fabric.store._writes import packed, text_hash

Progress = Callable[[int, int], object]
"""Told how many vectors are made, and how many there are to make."""
Reindexing = Generator[EmbedRequest, list[Vector], int]

_PORTION = 256
"""Texts embedded between two commits: a kill costs at most so many calls to the embedder."""
_PROBE = "How long is a vector?"

_BEGIN = """
CREATE TABLE staged (of INTEGER PRIMARY KEY, vector BLOB)
;
CREATE TRIGGER staged_too AFTER DELETE ON vectors BEGIN DELETE FROM staged WHERE of = old.id; END
"""
"""The trigger: what is deleted leaves no vector behind, be the move ever finished or not."""
_CLEAR = """
DROP TRIGGER IF EXISTS staged_too
;
DROP TABLE IF EXISTS staged
"""
_LEFT = (
    "FROM vectors v JOIN items i ON i.id = v.item"
    " WHERE v.id > ? AND NOT EXISTS (SELECT 1 FROM staged s WHERE s.of = v.id)"
)
_KEEP = (
    "INSERT INTO vectors (item, path, hash, vector)"
    " SELECT v.item, v.path, v.hash, s.vector FROM vectors v JOIN staged s ON s.of = v.id"
    " WHERE s.vector IS NOT NULL ORDER BY v.id"
)
_FORGET = """
DELETE FROM outbox
;
INSERT INTO outbox SELECT id FROM vectors
;
DELETE FROM facts WHERE name IN ('index', 'seal', 'dead', 'reindexing')
;
INSERT INTO facts VALUES ('moves', 1) ON CONFLICT (name) DO UPDATE SET value = value + 1
;
UPDATE facts SET value = value + 1 WHERE name = 'version'
;
UPDATE items SET version = (SELECT value FROM facts WHERE name = 'version')
;
UPDATE namespaces SET version = (SELECT value FROM facts WHERE name = 'version'), vectors =
    (SELECT COUNT(*) FROM items i JOIN vectors v ON v.item = i.id WHERE i.ns = namespaces.ns)
"""
"""Nothing that was derived from the old vectors holds: no index, and no cache of any version."""


@dataclass(frozen=True, slots=True)
class _Move:
    target: str
    """The fingerprint of the new vectors."""
    mark: str
    """What the store says while this move is under way; an embedder without a name cannot be told
    from another one, so its move is of its own and is not resumed."""


def reindexing(
    records: Records,
    index: Index,
    batches: Batches,
    embedder: StoreEmbedder,
    progress: Progress | None,
) -> Reindexing:
    """Give every stored vector's text a vector of `embedder`, and return how many there are.

    Raises:
        MemoryConflictError: Another move of the same store was begun meanwhile.
    """
    (probe,) = yield EmbedRequest(embedder, (_PROBE,), "document")
    move = _move(embedder, probe)
    had_index = index.exists()
    last = 0
    is_open = _begin(records, move)
    while is_open:
        portion = _portion(records, last)
        if portion:
            last = portion[-1][0]
            found = yield from _embedded(embedder, portion)
            is_open = _stage(records, move, found, progress)
        else:
            is_open = not _switch(records, index, batches, embedder, move)
    _adopt(batches, embedder)
    if had_index:
        index.flush()
    with records.reading() as connection:
        return int(connection.execute("SELECT COUNT(*) FROM vectors").fetchone()[0])


def _move(embedder: StoreEmbedder, probe: Vector) -> _Move:
    target = fingerprint(embedder, probe)
    return _Move(target, target if embedder.profile.id else f"{target} {uuid4().hex}")


def _begin(records: Records, move: _Move) -> bool:
    """Begin the move or go on with it; False if the store has arrived already."""
    with records.writing() as connection:
        if fact(connection, "reindexing") == move.mark:
            return True
        _execute(connection, _CLEAR)
        has_arrived = move.mark == fact(connection, "fingerprint")
        if not has_arrived:
            _execute(connection, _BEGIN)
        set_fact(connection, "reindexing", None if has_arrived else move.mark)
        return not has_arrived


def _portion(records: Records, last: int) -> list[tuple[int, str | None]]:
    """Return ids of vectors that are still to be made anew, and their texts."""
    with records.reading() as connection:
        rows = connection.execute(
            f"SELECT v.id, v.path, v.hash, i.value {_LEFT} ORDER BY v.id LIMIT ?",
            (last, _PORTION),
        ).fetchall()
    return [(vector, text_of(loads(value), path, digest)) for vector, path, digest, value in rows]


def text_of(value: Any, path: str, digest: bytes) -> str | None:
    """Return the text of a value that was indexed under a path, if the value has it.

    A path with several texts is numbered, as in `tags[*]#2`; the digest tells a numbered path from
    a field with such a name.
    """
    name, _, number = path.rpartition("#")
    for field, place in [(path, 0)] + (
        [(name, int(number))] if name and number.isdecimal() else []
    ):
        with suppress(IndexError):
            text = get_text_at_path(value, tokenized([field])[0][1])[place]
            if text_hash(text) == digest:
                return text
    return None


def _embedded(
    embedder: StoreEmbedder, portion: list[tuple[int, str | None]]
) -> Generator[EmbedRequest, list[Vector], list[tuple[int, bytes | None]]]:
    texts = tuple(dict.fromkeys(text for _, text in portion if text is not None))
    vectors: dict[str | None, bytes] = {}
    if texts:
        found = yield EmbedRequest(embedder, texts, "document")
        vectors.update(zip(texts, map(packed, found), strict=True))
    return [(vector, vectors.get(text)) for vector, text in portion]


def _stage(
    records: Records,
    move: _Move,
    made: list[tuple[int, bytes | None]],
    progress: Progress | None,
) -> bool:
    """Keep new vectors of old ones that are still there; False if the store has arrived."""
    with records.writing() as connection:
        if not _is_under_way(connection, move):
            return False
        connection.executemany(
            "INSERT OR IGNORE INTO staged SELECT id, ? FROM vectors WHERE id = ?",
            [(vector, old) for old, vector in made],
        )
        counts = "SELECT (SELECT COUNT(*) FROM staged), (SELECT COUNT(*) FROM vectors)"
        done, total = connection.execute(counts).fetchone()
    if progress is not None:
        progress(done, total)
    return True


def _switch(
    records: Records, index: Index, batches: Batches, embedder: StoreEmbedder, move: _Move
) -> bool:
    """Put the new vectors in the place of the old; False if some are still to be made."""
    before = batches.embedder
    try:
        with index.retired(), records.writing() as connection:
            if not _is_under_way(connection, move):
                return True
            if connection.execute(f"SELECT 1 {_LEFT} LIMIT 1", (0,)).fetchone():
                return False
            (last,) = connection.execute("SELECT COALESCE(MAX(id), 0) FROM vectors").fetchone()
            connection.execute(_KEEP)
            _execute(connection, _CLEAR)
            connection.execute("DELETE FROM vectors WHERE id <= ?", (last,))
            _execute(connection, _FORGET)
            set_fact(connection, "fingerprint", move.target)
            _adopt(batches, embedder)  # here, so that no batch meets one without the other
    except BaseException:
        batches.embedder = before
        raise
    return True


def _adopt(batches: Batches, embedder: StoreEmbedder) -> None:
    """Let the store go on with the new embedder, unless it was opened to go without one."""
    if batches.embedder is not None:
        batches.embedder = embedder


def _is_under_way(connection: sqlite3.Connection, move: _Move) -> bool:
    """Tell whether the move is still to be done, and nobody else's has taken its place."""
    mark = fact(connection, "reindexing")
    if mark is None and fact(connection, "fingerprint") == move.target:
        return False
    if mark != move.mark:
        raise MemoryConflictError(
            "reindex", "another one was begun meanwhile", "Let one of them finish"
        )
    return True


def _execute(connection: sqlite3.Connection, statements: str) -> None:
    """Run statements inside the transaction, which `executescript` would commit."""
    for statement in statements.split("\n;\n"):
        connection.execute(statement)
