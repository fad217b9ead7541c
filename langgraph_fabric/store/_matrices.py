"""Matrices: the vectors and values of whole namespaces in memory, for exact search.

An entry is valid as long as its namespace has the version it was read at; the versions come from
the same transaction as the search, so a search never sees an old state. An entry that has fallen
behind reads only the items that changed since. Entries are dropped,
least recently used first, when together they take more bytes than allowed.
"""

import json
import sqlite3
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_BYTES = 256 * 2**20
"""What all entries may take together, about 170,000 vectors of 384 numbers."""

_VALUE_BYTES = 3_000
"""What a parsed value of some 700 characters takes; the bound needs no more than the order."""
_SORTED_FIRST = 1_000
"""Best items sorted at first; a page and its filter seldom need more."""
_MOST_CHANGED = 200
"""Changed items up to which an entry is brought up to date instead of read anew."""


@dataclass(frozen=True, slots=True)
class Space:
    """A namespace as a transaction sees it."""

    ns: bytes
    version: int
    items: int
    vectors: int


@dataclass(slots=True)
class Entry:
    """One namespace: its vectors, grouped by item, and those items' values."""

    version: int
    rows: "NDArray[Any]"
    """The item of each vector, ascending."""
    matrix: "NDArray[Any]"
    """One normalised float32 row a vector."""
    items: "NDArray[Any]"
    """Each item once."""
    starts: "NDArray[Any]"
    """Where each item's vectors begin."""
    values: dict[int, Mapping[str, Any]] | None = None
    """The items' values; read when a filter first asks for them."""
    size: int = 0

    def scores(self, query: "NDArray[Any]") -> "NDArray[Any]":
        """Return the cosine of each item with the query: the best of its vectors."""
        import numpy as np  # noqa: PLC0415 - loaded on first use, not at import

        cosines = self.matrix @ query
        if len(self.starts) == len(cosines):
            return cosines
        return np.maximum.reduceat(cosines, self.starts)


class Matrices:
    """The cache of entries. Used under the store's lock."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._entries: OrderedDict[bytes, Entry] = OrderedDict()
        self._bytes = 0

    def entry(self, connection: sqlite3.Connection, space: Space, *, values: bool) -> Entry:
        """Return the entry of a namespace, read or brought up to date now if need be."""
        found = self._entries.pop(space.ns, None)
        self._bytes -= found.size if found is not None else 0
        if found is not None and found.version != space.version:
            found = _caught_up(connection, space, found)
        if found is None:
            found = _entry(space.version, *_rows(connection, _ALL, (space.ns,)))
        if values and found.values is None:
            _add_values(connection, space.ns, found)
        self._keep(space.ns, found)
        return found

    def _keep(self, ns: bytes, entry: Entry) -> None:
        self._entries[ns] = entry
        self._bytes += entry.size
        while self._bytes > self._max_bytes and len(self._entries) > 1:
            _, dropped = self._entries.popitem(last=False)
            self._bytes -= dropped.size


_ALL = (
    "SELECT v.item, v.vector FROM items i JOIN vectors v ON v.item = i.id WHERE i.ns = ?"
    " ORDER BY v.item, v.id"
)
_ALL_VALUES = "SELECT id, value FROM items WHERE ns = ? AND id IN (SELECT item FROM vectors)"
_SINCE = "SELECT id, value FROM items WHERE ns = ? AND version > ? LIMIT ?"
_IDS = "SELECT id FROM items WHERE ns = ?"
_OF_CHANGED = (
    "SELECT v.item, v.vector FROM items i JOIN vectors v ON v.item = i.id"
    " WHERE i.ns = ? AND i.version > ? ORDER BY v.item, v.id"
)


def _rows(
    connection: sqlite3.Connection, sql: str, bound: tuple[Any, ...]
) -> "tuple[NDArray[Any], NDArray[Any]]":
    import numpy as np  # noqa: PLC0415 - loaded on first use, not at import

    rows = connection.execute(sql, bound).fetchall()
    matrix = np.frombuffer(b"".join(vector for _, vector in rows), dtype=np.float32)
    items = np.fromiter((item for item, _ in rows), dtype=np.int64, count=len(rows))
    return items, matrix.reshape(len(rows), -1) if rows else matrix.reshape(0, 0)


def _entry(version: int, rows: "NDArray[Any]", matrix: "NDArray[Any]") -> Entry:
    import numpy as np  # noqa: PLC0415 - loaded on first use, not at import

    items, starts = np.unique(rows, return_index=True)
    return Entry(version, rows, matrix, items, starts, size=matrix.nbytes)


def _caught_up(connection: sqlite3.Connection, space: Space, old: Entry) -> Entry | None:
    """Return an entry brought up to date, or None if it must be read anew."""
    import numpy as np  # noqa: PLC0415 - loaded on first use, not at import

    since = (space.ns, old.version)
    changed = connection.execute(_SINCE, (*since, _MOST_CHANGED + 1)).fetchall()
    if len(changed) > _MOST_CHANGED:
        return None
    kept = ~np.isin(old.rows, [item for item, _ in changed])
    rows, matrix = _rows(connection, _OF_CHANGED, since)
    if kept.sum() + len(rows) != space.vectors:  # an item was deleted
        live = connection.execute(_IDS, (space.ns,)).fetchall()
        kept &= np.isin(old.rows, live)
    old_rows = (old.rows, old.matrix) if kept.all() else (old.rows[kept], old.matrix[kept])
    new = _entry(space.version, *_merged(old_rows, (rows, matrix)))
    if old.values is not None:
        _set_values(new, old.values, changed)
    return new


def _merged(
    old: "tuple[NDArray[Any], NDArray[Any]]", new: "tuple[NDArray[Any], NDArray[Any]]"
) -> "tuple[NDArray[Any], NDArray[Any]]":
    import numpy as np  # noqa: PLC0415 - loaded on first use, not at import

    if not len(old[0]) or not len(new[0]):
        return old if len(old[0]) else new
    rows, matrix = np.concatenate([old[0], new[0]]), np.concatenate([old[1], new[1]])
    if old[0][-1] < new[0][0]:
        return rows, matrix
    order = np.argsort(rows, kind="stable")
    return rows[order], matrix[order]


def _set_values(
    entry: Entry, known: Mapping[int, Mapping[str, Any]], changed: Sequence[tuple[int, str]]
) -> None:
    """Give an entry its items' values, and no others: what was deleted shall not linger."""
    values = {**known, **{item: json.loads(value) for item, value in changed}}
    entry.values = {item: values[item] for item in entry.items.tolist()}
    entry.size += _VALUE_BYTES * len(entry.values)


def _add_values(connection: sqlite3.Connection, ns: bytes, entry: Entry) -> None:
    rows = connection.execute(_ALL_VALUES, (ns,)).fetchall()
    entry.values = {item: json.loads(value) for item, value in rows}
    entry.size += _VALUE_BYTES * len(rows)


def best_first(
    entries: Sequence[Entry],
    query: "NDArray[Any]",
    test: Callable[[Mapping[str, Any]], bool] | None,
) -> Iterator[tuple[int, float]]:
    """Yield the items that pass `test` and their scores, best first; ties newest item first."""
    import numpy as np  # noqa: PLC0415 - loaded on first use, not at import

    entries = [entry for entry in entries if len(entry.items)]
    if not entries:
        return
    items = np.concatenate([entry.items for entry in entries])
    scores = np.concatenate([entry.scores(query) for entry in entries])
    owners = np.repeat(np.arange(len(entries)), [len(entry.items) for entry in entries])
    for place in _ordered(items, scores):
        item = int(items[place])
        values = entries[int(owners[place])].values
        if test is None or (values is not None and test(values[item])):
            yield item, float(scores[place])


def _ordered(items: "NDArray[Any]", scores: "NDArray[Any]") -> Iterator[Any]:
    """Yield the places of the best scores first; the many others are sorted only if asked for."""
    import numpy as np  # noqa: PLC0415 - loaded on first use, not at import

    least = -np.inf
    if len(scores) > _SORTED_FIRST:
        least = np.partition(scores, -_SORTED_FIRST)[-_SORTED_FIRST]
    for chosen in (scores >= least, scores < least):
        places = np.flatnonzero(chosen)
        yield from places[np.lexsort((-items[places], -scores[places]))]
