"""Matrices: the vectors and values of whole namespaces in memory, for exact search.

An entry is valid as long as its namespace has the version it was read at; the versions come from
the same transaction as the search, so a search never sees an old state. Entries are dropped, least
recently used first, when together they take more bytes than allowed.
"""

import json
import sqlite3
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_BYTES = 256 * 2**20
"""What all entries may take together, about 170,000 vectors of 384 numbers."""

_PARSED_FACTOR = 4
"""Bytes a parsed value takes for each byte of its text, roughly."""


@dataclass(slots=True)
class Entry:
    """One namespace: the items with vectors, and the vectors, grouped by item."""

    version: int
    items: list[int]
    starts: list[int]
    """Where each item's vectors begin."""
    matrix: "NDArray[Any]"
    """One normalised float32 row a vector."""
    values: list[Mapping[str, Any]] | None = field(default=None)
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

    def entry(
        self, connection: sqlite3.Connection, ns: bytes, version: int, *, values: bool
    ) -> Entry:
        """Return the entry of a namespace at `version`, read now if need be."""
        found = self._entries.get(ns)
        if found is None or found.version != version:
            found = _read(connection, ns, version)
        if values and found.values is None:
            _add_values(connection, ns, found)
        self._keep(ns, found)
        return found

    def _keep(self, ns: bytes, entry: Entry) -> None:
        old = self._entries.pop(ns, None)
        self._entries[ns] = entry
        self._bytes = (
            sum(kept.size for kept in self._entries.values()) if old is not entry else self._bytes
        )
        while self._bytes > self._max_bytes and len(self._entries) > 1:
            _, dropped = self._entries.popitem(last=False)
            self._bytes -= dropped.size


def _read(connection: sqlite3.Connection, ns: bytes, version: int) -> Entry:
    import numpy as np  # noqa: PLC0415 - loaded on first use, not at import

    rows = connection.execute(
        "SELECT v.item, v.vector FROM items i JOIN vectors v ON v.item = i.id WHERE i.ns = ?"
        " ORDER BY v.item, v.id",
        (ns,),
    ).fetchall()
    starts = [i for i, row in enumerate(rows) if i == 0 or rows[i - 1][0] != row[0]]
    matrix = np.frombuffer(b"".join(vector for _, vector in rows), dtype=np.float32)
    matrix = matrix.reshape(len(rows), -1) if rows else matrix.reshape(0, 0)
    return Entry(version, [rows[i][0] for i in starts], starts, matrix, size=matrix.nbytes)


def _add_values(connection: sqlite3.Connection, ns: bytes, entry: Entry) -> None:
    rows = connection.execute(
        "SELECT id, value FROM items WHERE ns = ? AND id IN (SELECT item FROM vectors) ORDER BY id",
        (ns,),
    ).fetchall()
    entry.values = [json.loads(value) for _, value in rows]
    entry.size += _PARSED_FACTOR * sum(len(value) for _, value in rows)


def best_first(
    entries: Sequence[Entry],
    query: "NDArray[Any]",
    test: Callable[[Mapping[str, Any]], bool] | None,
) -> list[tuple[int, float]]:
    """Return the items that pass `test` and their scores, best first; ties newest item first."""
    found: list[tuple[int, float]] = []
    for entry in entries:
        if not entry.items:
            continue
        pairs = zip(entry.items, entry.scores(query).tolist(), strict=True)
        if test is None:
            found += pairs
        else:
            checked = zip(pairs, entry.values or (), strict=True)
            found += [pair for pair, value in checked if test(value)]
    return sorted(found, key=lambda pair: (-pair[1], -pair[0]))
