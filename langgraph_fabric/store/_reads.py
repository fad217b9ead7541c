"""Reads: get, search and the list of namespaces, inside one transaction each.

Every way of ranking ends in the same walk: take candidates best first, fetch their rows, leave out
what has expired or does not match, and stop when the page is full. So a page is never short while
there are matches left, whatever stood before them.
"""

import json
import sqlite3
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

from langgraph.store.base import GetOp, Item, ListNamespacesOp, MatchCondition, SearchItem, SearchOp

from langgraph_fabric import _time
from langgraph_fabric._ops import TextSearchOp
from langgraph_fabric.store._filters import Predicate
from langgraph_fabric.store._records import by_ids
from langgraph_fabric.store._values import (
    after_prefix,
    check_key,
    decode_namespace,
    encode_namespace,
)

_COLUMNS = "id, ns, key, value, created, updated, ttl"
_T = TypeVar("_T")
_LEAST_FETCHED, _MOST_FETCHED = 16, 500
"""Candidates fetched at once on the walk, from a page's worth upwards."""


@dataclass(frozen=True, slots=True)
class Found:
    """An item that was read."""

    item: Item
    row: int
    ttl: float | None
    """Minutes it lives on from a read that refreshes it."""


def get(connection: sqlite3.Connection, op: GetOp, now: int) -> list[Found]:
    """Return one live item, or nothing."""
    row = connection.execute(
        f"SELECT {_COLUMNS} FROM items WHERE ns = ? AND key = ?"  # noqa: S608 - constants only
        " AND (expires IS NULL OR expires > ?)",
        (encode_namespace(op.namespace), check_key(op.key), now),
    ).fetchone()
    if row is None:
        return []
    fields = _fields(row)
    return [Found(Item(value=json.loads(row[3]), **fields), row[0], row[6])]


def newest(
    connection: sqlite3.Connection, prefix: bytes, *, unindexed: bool = False
) -> Iterator[tuple[int, None]]:
    """Yield the items below a prefix, last updated first; on request those without vectors only."""
    only = " AND NOT EXISTS (SELECT 1 FROM vectors v WHERE v.item = i.id)" if unindexed else ""
    rows = connection.execute(
        f"SELECT id FROM items i WHERE ns >= ? AND ns < ?{only}"  # noqa: S608 - constants only
        " ORDER BY updated DESC, id DESC",
        (prefix, after_prefix(prefix)),
    )
    return ((item, None) for (item,) in rows)


def newest_live(
    connection: sqlite3.Connection, prefix: bytes, now: int, *, skip: int
) -> Iterator[tuple[int, None]]:
    """Yield the live items below a prefix after the first `skip`, which are never read.

    So a deep page costs little more than the first.
    """
    rows = connection.execute(
        "SELECT id FROM items WHERE ns >= ? AND ns < ? AND (expires IS NULL OR expires > ?)"
        " ORDER BY updated DESC, id DESC LIMIT -1 OFFSET ?",
        (prefix, after_prefix(prefix), now, min(skip, sys.maxsize)),
    )
    return ((item, None) for (item,) in rows)


def walked(
    connection: sqlite3.Connection,
    ranked: Iterable[tuple[int, float | None]],
    test: Predicate | None,
    now: int,
    *,
    portion: int,
) -> Iterator[Found]:
    """Yield the live, matching items of a ranking, in its order, fetched in growing portions."""
    ranking = iter(ranked)
    size = max(_LEAST_FETCHED, min(portion, _MOST_FETCHED))
    while fetched := list(islice(ranking, size)):
        rows = by_ids(
            connection,
            f"SELECT {_COLUMNS} FROM items WHERE id IN ({{ids}})"  # noqa: S608 - constants only
            " AND (expires IS NULL OR expires > ?)",
            [item for item, _ in fetched],
            now,
        )
        by_item = {row[0]: row for row in rows}
        for item, score in fetched:
            if item in by_item and (found := _matching(by_item[item], score, test)):
                yield found
        size = min(2 * size, _MOST_FETCHED)


def page(found: Iterator[Found], op: SearchOp | TextSearchOp) -> list[Found]:
    """Return the page of a search that it asks for."""
    return list(_cut(found, op))


def namespaces(
    connection: sqlite3.Connection, op: ListNamespacesOp, now: int
) -> list[tuple[str, ...]]:
    """Return the namespaces that hold live items, as the operation wants them."""
    prefix = _literal_prefix(op.match_conditions or ())
    rows = connection.execute(
        "SELECT ns FROM namespaces n WHERE ns >= ? AND ns < ? AND EXISTS (SELECT 1 FROM items i"
        " WHERE i.ns = n.ns AND (i.expires IS NULL OR i.expires > ?)) ORDER BY ns",
        (prefix, after_prefix(prefix), now),
    )
    labels = (decode_namespace(ns) for (ns,) in rows)
    matching = (ns for ns in labels if all(_matches(ns, c) for c in op.match_conditions or ()))
    cut = dict.fromkeys(ns if op.max_depth is None else ns[: op.max_depth] for ns in matching)
    return list(_cut(cut, op))


def _cut(found: Iterable[_T], op: SearchOp | TextSearchOp | ListNamespacesOp) -> Iterator[_T]:
    start, stop = op.offset, op.offset + op.limit
    return islice(found, min(start, sys.maxsize), min(stop, sys.maxsize))


def _literal_prefix(conditions: Sequence[MatchCondition]) -> bytes:
    """Return the longest prefix without wildcards that all matches share."""
    prefixes = [tuple(c.path) for c in conditions if c.match_type == "prefix"]
    literal = [path[: path.index("*")] if "*" in path else path for path in prefixes]
    return encode_namespace(max(literal, key=len, default=()))


def _matches(namespace: tuple[str, ...], condition: MatchCondition) -> bool:
    path = tuple(condition.path)
    if len(path) > len(namespace):
        return False
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[-len(path) :]
    return not path or all(want in ("*", label) for want, label in zip(path, part, strict=True))


def _matching(row: tuple[Any, ...], score: float | None, test: Predicate | None) -> Found | None:
    value = json.loads(row[3])
    if test is not None and not test(value):
        return None
    return Found(SearchItem(value=value, score=score, **_fields(row)), row[0], row[6])


def _fields(row: tuple[Any, ...]) -> dict[str, Any]:
    _, ns, key, _, created, updated, *_ = row
    return {
        "namespace": decode_namespace(ns),
        "key": key,
        "created_at": _time.to_datetime(created),
        "updated_at": _time.to_datetime(updated),
    }
