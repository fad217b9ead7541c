"""Search: which items rank best for a vector, exactly, whichever path finds the candidates.

Small sets are scored whole. For large ones the index names more vectors than asked for; they are
joined by those it does not know yet, scored anew from the stored vectors, and walked like any other
ranking. A page that stays short asks for more, and in the end everything is scored.
"""

import math
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, cast

from langgraph.store.base import SearchItem

from langgraph_fabric._ops import TextSearchOp
from langgraph_fabric.store import _lexical, _reads
from langgraph_fabric.store._embedder import Vector
from langgraph_fabric.store._filters import Predicate
from langgraph_fabric.store._index import outbox
from langgraph_fabric.store._matrices import Matrices, Space, best_first
from langgraph_fabric.store._plan import Search
from langgraph_fabric.store._records import by_ids
from langgraph_fabric.store._values import after_prefix
from langgraph_fabric.store._writes import unit

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
        search = asked.search
        if isinstance(search.op, TextSearchOp):
            ranking = _lexical.ranked(connection, search.prefix, search.query or "")
            return _page(connection, asked, ranking, search.test)
        if asked.vector is None:
            return _newest(connection, asked)
        spaces = _spaces(connection, search.prefix)
        if sum(space.vectors for space in spaces) > self._switch_over:
            found = _by_index(connection, asked, asked.vector)
            if found is not None:
                return found
        return self._exactly(connection, asked, asked.vector, spaces)

    def _exactly(
        self,
        connection: sqlite3.Connection,
        asked: Asked,
        query: Vector,
        spaces: Sequence[Space],
    ) -> list[_reads.Found]:
        """Return the page from all items: those with vectors by score, then the others."""
        test = asked.search.test
        entries = [
            self._matrices.entry(connection, space, values=test is not None)
            for space in spaces
            if space.vectors
        ]
        ranking: Iterator[tuple[int, float | None]] = best_first(entries, unit(query), test)
        if sum(len(entry.items) for entry in entries) < sum(space.items for space in spaces):
            others = _reads.newest(connection, asked.search.prefix, unindexed=True)
            ranking = chain(ranking, others)
        # Values were tested by the ranking, but for the others, and twice does no harm.
        return _page(connection, asked, ranking, test)


def _newest(connection: sqlite3.Connection, asked: Asked) -> list[_reads.Found]:
    search, op = asked.search, asked.search.op
    if search.test is not None:
        return _page(connection, asked, _reads.newest(connection, search.prefix), search.test)
    rest = _reads.newest_live(connection, search.prefix, asked.now, skip=op.offset)
    found = _reads.walked(connection, rest, None, asked.now, portion=op.limit)
    return _reads.page(found, op._replace(offset=0))


def _page(
    connection: sqlite3.Connection,
    asked: Asked,
    ranking: Iterable[tuple[int, float | None]],
    test: Predicate | None,
) -> list[_reads.Found]:
    op = asked.search.op
    portion = op.offset + op.limit
    return _reads.page(_reads.walked(connection, ranking, test, asked.now, portion=portion), op)


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
    ranking, least = _rescored(connection, search.prefix, query, nearest.vectors)
    found = _page(connection, asked, ranking, search.test)
    if len(found) == op.limit and _reaches(found, least):
        return found
    if nearest.asked >= _MOST_ASKED or len(nearest.vectors) < nearest.asked:
        return None
    raise MissingNearest(asked.place, query, min(nearest.asked * _WIDER, _MOST_ASKED))


def _reaches(found: Sequence[_reads.Found], least: float) -> bool:
    """Tell whether a page ends no lower than what the index named.

    An unindexed item further away must not take the place of an indexed one not named yet.
    """
    last = cast("SearchItem", found[-1].item).score if found else None
    return last is None or last >= least


def _spaces(connection: sqlite3.Connection, prefix: bytes) -> list[Space]:
    rows = connection.execute(
        "SELECT ns, version, items, vectors FROM namespaces WHERE ns >= ? AND ns < ?",
        (prefix, after_prefix(prefix)),
    )
    return [Space(*row) for row in rows]


def _rescored(
    connection: sqlite3.Connection, prefix: bytes, query: Vector, vectors: Sequence[int]
) -> tuple[list[tuple[int, float]], float]:
    """Return the items of these vectors and of unindexed ones by exact scores, best first.

    With them comes the least score of the vectors named, wherever they are: no vector left unnamed
    is nearer.
    """
    rows = by_ids(connection, "SELECT item FROM vectors WHERE id IN ({ids})", vectors)
    items = {item for (item,) in rows} | set(outbox(connection))
    stored = by_ids(
        connection,
        "SELECT v.id, v.item, i.ns, v.vector FROM vectors v JOIN items i ON i.id = v.item"
        " WHERE v.item IN ({ids})",
        items,
    )
    target, named, end = unit(query), set(vectors), after_prefix(prefix)
    best: dict[int, float] = {}
    least = math.inf
    for vector, item, ns, packed in stored:
        score = float(_unpacked(packed) @ target)
        if vector in named:
            least = min(least, score)
        if prefix <= ns < end:
            best[item] = max(score, best.get(item, score))
    return sorted(best.items(), key=lambda pair: (-pair[1], -pair[0])), least


def _unpacked(vector: bytes) -> Any:
    import numpy as np  # noqa: PLC0415 - loaded on first use, not at import

    return np.frombuffer(vector, dtype=np.float32)
