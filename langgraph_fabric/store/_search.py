"""Search: which items rank best for a vector, exactly, whichever path finds the candidates.

Small sets are scored whole. For large ones the index names more vectors than asked for; they are
joined by those it does not know yet, scored anew from the stored vectors, and walked like any other
ranking. A page that stays short asks for more, and in the end for all.
"""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langgraph_fabric._ops import TextSearchOp
from langgraph_fabric.store import _lexical, _reads
from langgraph_fabric.store._embedder import Vector
from langgraph_fabric.store._index import outbox
from langgraph_fabric.store._matrices import Matrices, best_first
from langgraph_fabric.store._plan import Search
from langgraph_fabric.store._records import by_ids
from langgraph_fabric.store._values import after_prefix
from langgraph_fabric.store._writes import packed

_FIRST_ASKED = 200
"""Vectors asked of the index at least: over-fetching makes up for what filters take away."""
_WIDER = 4
_MOST_ASKED = 20_000
"""Beyond it scoring everything is cheaper than asking, and Chroma's own limits begin."""


@dataclass(frozen=True, slots=True)
class Nearest:
    """What the index answered."""

    asked: int
    vectors: list[int] | None
    """Ids of vectors, nearest first; None if the index cannot be used."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A search with what its transaction was given for it."""

    search: Search
    vector: Vector | None
    """The query's vector; None to rank otherwise."""
    place: int
    """The operation's place in its batch."""
    nearest: Nearest | None
    """What the index answered, if it was asked."""
    now: int


class MissingNearest(Exception):  # noqa: N818 - a request, not an error
    """A search needs the index asked first, outside of the transaction."""

    def __init__(self, place: int, query: Vector, count: int) -> None:
        super().__init__(place, count)
        self.place, self.query, self.count = place, query, count


class Searcher:
    """Runs searches inside a transaction."""

    def __init__(self, switch_over: float) -> None:
        self._switch_over = switch_over
        self._matrices = Matrices()

    def search(self, connection: sqlite3.Connection, asked: Asked) -> list[_reads.Found]:
        """Return the page a search asks for.

        Raises:
            MissingNearest: The index must be asked first.
        """
        search, now = asked.search, asked.now
        if isinstance(search.op, TextSearchOp):
            ranking = _lexical.ranked(connection, search.prefix, search.query or "")
            return _reads.page(_reads.walked(connection, ranking, search.test, now), search.op)
        if asked.vector is None:
            found = _reads.newest(connection, search.prefix, search.test, now)
            return _reads.page(found, search.op)
        spaces = _namespaces(connection, search.prefix)
        if sum(vectors for _, _, vectors in spaces) > self._switch_over:
            found = _by_index(connection, asked, asked.vector)
            if found is not None:
                return found
        return self._exactly(connection, asked, asked.vector, spaces)

    def _exactly(
        self,
        connection: sqlite3.Connection,
        asked: Asked,
        query: Vector,
        spaces: Sequence[tuple[bytes, int, int]],
    ) -> list[_reads.Found]:
        test = asked.search.test
        entries = [
            self._matrices.entry(connection, ns, version, values=test is not None)
            for ns, version, vectors in spaces
            if vectors
        ]
        ranking = best_first(entries, _array(query), test)
        return _reads.page(_reads.walked(connection, ranking, None, asked.now), asked.search.op)


def _by_index(
    connection: sqlite3.Connection, asked: Asked, query: Vector
) -> list[_reads.Found] | None:
    """Return the page from what the index named, or None where scoring everything is better."""
    search, nearest = asked.search, asked.nearest
    op = search.op
    if nearest is None:
        count = max(_FIRST_ASKED, _WIDER * (op.offset + op.limit))
        raise MissingNearest(asked.place, query, min(count, _MOST_ASKED))
    if nearest.vectors is None:
        return None
    ranking = _rescored(connection, search.prefix, query, nearest.vectors)
    found = _reads.page(_reads.walked(connection, ranking, search.test, asked.now), op)
    if len(found) == op.limit or len(nearest.vectors) < nearest.asked:
        return found
    if nearest.asked >= _MOST_ASKED:
        return None
    raise MissingNearest(asked.place, query, min(nearest.asked * _WIDER, _MOST_ASKED))


def _namespaces(connection: sqlite3.Connection, prefix: bytes) -> list[tuple[bytes, int, int]]:
    return connection.execute(
        "SELECT ns, version, vectors FROM namespaces WHERE ns >= ? AND ns < ?",
        (prefix, after_prefix(prefix)),
    ).fetchall()


def _rescored(
    connection: sqlite3.Connection, prefix: bytes, query: Vector, vectors: Sequence[int]
) -> list[tuple[int, float]]:
    """Return the items of these vectors and of unindexed ones, by their exact scores."""
    rows = by_ids(connection, "SELECT item FROM vectors WHERE id IN ({ids})", vectors)
    items = {item for (item,) in rows} | set(outbox(connection))
    stored = by_ids(
        connection,
        "SELECT v.item, v.vector FROM vectors v JOIN items i ON i.id = v.item"
        " WHERE v.item IN ({ids}) AND i.ns >= ? AND i.ns < ?",
        items,
        prefix,
        after_prefix(prefix),
    )
    target = _array(query)
    best: dict[int, float] = {}
    for item, vector in stored:
        score = float(_unpacked(vector) @ target)
        best[item] = max(score, best.get(item, score))
    return sorted(best.items(), key=lambda pair: (-pair[1], -pair[0]))


def _array(query: Vector) -> Any:
    return _unpacked(packed(query))


def _unpacked(vector: bytes) -> Any:
    import numpy as np  # noqa: PLC0415 - loaded on first use, not at import

    return np.frombuffer(vector, dtype=np.float32)
