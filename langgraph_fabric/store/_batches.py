"""Batches: plan, embed, and one transaction; written once for both colours of function.

`work` is a generator. It yields what it wants embedded and is sent the vectors; the rest it does
itself, blocking. A transaction that finds it lacks something (vectors, the index's candidates) ends
without a change, and is tried again when it has it.
"""

import sqlite3
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from typing import Any, cast

from langgraph.store.base import GetOp, ListNamespacesOp

from langgraph_fabric._ops import StoreOp
from langgraph_fabric.errors import EmbedderMismatchError
from langgraph_fabric.store import _reads
from langgraph_fabric.store._embedder import EmbedRequest, Path, StoreEmbedder, Vector, fingerprint
from langgraph_fabric.store._index import Index
from langgraph_fabric.store._plan import Plan, plan
from langgraph_fabric.store._records import Records, fact, set_fact
from langgraph_fabric.store._search import Asked, MissingNearest, Nearest, Searcher
from langgraph_fabric.store._writes import MINUTE, MissingVectors, Writer, unit

Work = Generator[EmbedRequest, list[Vector], list[Any]]


@dataclass(frozen=True, slots=True)
class _Given:
    """What a transaction has been given so far."""

    embedder: StoreEmbedder | None
    """Who made the vectors."""
    queries: dict[str, Vector]
    vectors: dict[str, Vector]
    nearest: dict[int, Nearest]


class _MovedError(Exception):
    """The store was moved to another embedder since the vectors were made."""


class Batches:
    """Runs batches of operations for a store."""

    def __init__(
        self,
        records: Records,
        index: Index,
        searcher: Searcher,
        embedder: StoreEmbedder | None,
        fields: list[tuple[str, Path]],
        *,
        now: Callable[[], int],
    ) -> None:
        self._records = records
        self._index = index
        self._searcher = searcher
        self.embedder = embedder
        """Replaced, inside the transaction that replaces the vectors, when the store is moved."""
        self._fields = fields
        self._now = now

    def work(self, ops: Iterable[StoreOp]) -> Work:
        """Run a batch; see the module."""
        planned = plan(ops, self._fields, semantic=self.embedder is not None)
        while True:
            try:
                return (yield from self._tried(planned, _Given(self.embedder, {}, {}, {})))
            except _MovedError:
                continue

    def _tried(self, planned: Plan, given: _Given) -> Work:
        if queries := planned.queries:
            request = EmbedRequest(_there(given.embedder), tuple(queries), "query")
            given.queries.update(zip(queries, (yield request), strict=True))
        while True:
            try:
                return self._transact(planned, given)
            except MissingVectors as wanted:
                request = EmbedRequest(_there(given.embedder), wanted.texts, "document")
                given.vectors.update(zip(wanted.texts, (yield request), strict=True))
            except MissingNearest as wanted:
                ids = self._index.nearest(unit(wanted.query).tolist(), wanted.count)
                given.nearest[wanted.place] = Nearest(wanted.count, ids)

    def _transact(self, planned: Plan, given: _Given) -> list[Any]:
        now = self._now()
        read: list[_reads.Found] = []
        transaction = self._records.writing if planned.writes else self._records.reading
        with transaction() as connection:
            if given.embedder is not self.embedder:
                raise _MovedError
            self._check_fingerprint(connection, given)
            results: list[Any] = []
            for place, op in enumerate(planned.ops):
                search = planned.searches.get(place)
                if isinstance(op, ListNamespacesOp):
                    results.append(_reads.namespaces(connection, op, now))
                elif isinstance(op, GetOp):
                    found = _reads.get(connection, op, now)
                    read += found if op.refresh_ttl else []
                    results.append(found[0].item if found else None)
                elif search is not None:
                    vector = given.queries.get(search.query or "") if search.semantic else None
                    asked = Asked(search, vector, place, given.nearest.get(place), now)
                    found = self._searcher.search(connection, asked)
                    read += found if getattr(op, "refresh_ttl", False) else []
                    results.append([hit.item for hit in found])
                else:
                    results.append(None)
            if planned.writes:
                vectors = None if given.embedder is None else given.vectors
                Writer(connection, vectors, now).apply(planned.writes)
        self._refresh(read, now)
        return results

    def _refresh(self, read: list[_reads.Found], now: int) -> None:
        """Let what was read live on from now; what has expired meanwhile stays expired.

        The time to live is the stored one, since a write may have changed it meanwhile.
        """
        living = [(now, found.row, now) for found in read if found.ttl is not None]
        if living:
            with self._records.writing() as connection:
                connection.executemany(
                    f"UPDATE items SET expires = ? + CAST(ttl * {MINUTE} AS INTEGER)"  # noqa: S608 - a constant
                    " WHERE id = ? AND expires > ?",
                    living,
                )

    def _check_fingerprint(self, connection: sqlite3.Connection, given: _Given) -> None:
        """Refuse vectors of another size or embedder than the stored ones (S49)."""
        vector = next(iter([*given.queries.values(), *given.vectors.values()]), None)
        if vector is None or given.embedder is None:
            return
        name, ours = given.embedder.profile.id, fingerprint(given.embedder, vector)
        stored = cast("str | None", fact(connection, "fingerprint"))
        if stored is not None and _holds_vectors(connection):
            known, _, dims = stored.rpartition("@")
            if int(dims) != len(vector) or (name and known and name != known):
                raise EmbedderMismatchError(
                    "embeddings",
                    f"{name or 'unnamed'}@{len(vector)} does not fit the stored {stored}",
                    "Open the store with the embedder it was written with, or move it to another"
                    " one by store.reindex(embeddings=...)",
                )
        elif given.vectors:
            set_fact(connection, "fingerprint", ours)


def _there(embedder: StoreEmbedder | None) -> StoreEmbedder:
    """Return the embedder; vectors are asked for only where there is one."""
    return cast("StoreEmbedder", embedder)


def _holds_vectors(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM vectors LIMIT 1").fetchone() is not None
