"""The items of the benchmark: the same for every store, made anew from their number.

Clustered vectors are what embedded texts look like: many close neighbours, few far ones. Random
ones are the worst case of an approximate index. No embedder is timed: `Lookup` answers with vectors
made before the clock starts.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from langchain_core.embeddings import Embeddings
from numpy.typing import NDArray

Layout = Literal["one", "many", "random"]
"""`one`: all items in one namespace. `many`: 1,000 items a namespace. `random`: `one`, with random
vectors."""

DIMS = 384
BLOCK = 1_000
"""Items made at once, and items of a small namespace."""
QUERIES = 100
NOW_MS = 1_800_000_000_000
FILTER: dict[str, Any] = {
    "state": "live",
    "valid_from_ms": {"$lte": NOW_MS},
    "valid_to_ms": {"$gte": NOW_MS},
}
"""What the fabric asks a store for: notes that are live and valid now."""

_EVER = 4_000_000_000_000
_CLUSTER = 100
"""Items near one centre, on average."""
_SPREAD = 0.7
"""Length of the noise beside a centre of length one: neighbours then have a cosine around .7."""
_WORDS = (
    "she",
    "prefers",
    "moved",
    "Bergen",
    "the",
    "red",
    "canoe",
    "cello",
    "meeting",
    "on",
    "Friday",
    "tea",
    "coffee",
    "budget",
)

Matrix = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Record:
    """One item as every store gets it."""

    number: int
    space: str
    """The namespace's label."""
    key: str
    value: dict[str, Any]
    """In the form the fabric writes notes in."""


@dataclass(frozen=True)
class Data:
    """All items of one run; those from `size` on are for writing while it is measured."""

    size: int
    layout: Layout

    @cached_property
    def queries(self) -> Matrix:
        """Vectors to search by, which no item has."""
        return self._made(np.random.default_rng((1, self.size)), QUERIES)

    def vectors(self, block: int) -> Matrix:
        """Return the vectors of a block of items, of length one."""
        return self._made(np.random.default_rng((2, block)), BLOCK)

    def records(self, start: int, count: int) -> list[Record]:
        """Return `count` items from the one of number `start`."""
        return [self._record(number) for number in range(start, start + count)]

    def space(self, number: int) -> str:
        """Return the label of the namespace an item, or the answer of a query, is in."""
        return f"s{number // BLOCK % self.spaces}" if self.layout == "many" else "s0"

    def query_space(self, query: int) -> str:
        """Return the namespace a query asks in."""
        return self.space(query * BLOCK)

    @property
    def spaces(self) -> int:
        """How many namespaces the items are in."""
        return max(1, self.size // BLOCK) if self.layout == "many" else 1

    @cached_property
    def _centres(self) -> Matrix:
        count = max(1, self.size // _CLUSTER)
        return _unit(np.random.default_rng(0).normal(size=(count, DIMS)))

    def _made(self, rng: np.random.Generator, count: int) -> Matrix:
        noise = _unit(rng.normal(size=(count, DIMS)))
        if self.layout == "random":
            return noise
        chosen = rng.integers(len(self._centres), size=count)
        return _unit(self._centres[chosen] + _SPREAD * noise)

    def _record(self, number: int) -> Record:
        words = random.Random(number).choices(_WORDS, k=18)  # noqa: S311 - test data
        value = {
            "text": f"{number} {' '.join(words)}",
            "fabric": {"v": 1, "kind": "fact", "source_entry_ids": [f"t{number}"]},
            "state": "live" if number % 10 else "held",
            "valid_from_ms": 0 if number % 11 else _EVER,
            "valid_to_ms": _EVER if number % 7 else 0,
            "sequence": number,
            "version": 1,
        }
        return Record(number, self.space(number), f"k{number}", value)


def passes(value: dict[str, Any]) -> bool:
    """Tell whether a value passes `FILTER`."""
    return (
        value["state"] == "live"
        and value["valid_from_ms"] <= NOW_MS
        and value["valid_to_ms"] >= NOW_MS
    )


def exact(data: Data, count: int, *, filtered: bool) -> list[list[str]]:
    """Return the keys of the `count` items that are truly nearest to each query."""
    scores: list[Matrix] = []
    allowed: list[NDArray[np.bool_]] = []
    for block in range(-(-data.size // BLOCK)):
        rows = min(BLOCK, data.size - block * BLOCK)
        scores.append(data.queries @ data.vectors(block)[:rows].T)
        records = data.records(block * BLOCK, rows) if filtered else []
        allowed.append(
            np.array([passes(r.value) for r in records]) if filtered else np.ones(rows, dtype=bool)
        )
    table, open_to = np.concatenate(scores, axis=1), np.concatenate(allowed)
    spaces = np.array([data.space(number) for number in range(data.size)])
    found: list[list[str]] = []
    for query in range(QUERIES):
        here = np.flatnonzero(open_to & (spaces == data.query_space(query)))
        best = here[np.argsort(-table[query, here])[:count]]
        found.append([f"k{number}" for number in best])
    return found


class Lookup(Embeddings):
    """An embedder that only looks up: a text begins with its item's number, a query with `q`."""

    def __init__(self, data: Data) -> None:
        self._data = data
        self._blocks: dict[int, list[list[float]]] = {}
        self._queries: list[list[float]] = data.queries.tolist()

    def prepare(self, start: int, count: int) -> None:
        """Make the vectors of these items, and forget those of others."""
        wanted = range(start // BLOCK, (start + count - 1) // BLOCK + 1)
        self._blocks = {
            block: self._blocks.get(block) or self._data.vectors(block).tolist() for block in wanted
        }

    def vector(self, number: int) -> list[float]:
        """Return the vector of an item that was prepared."""
        return self._blocks[number // BLOCK][number % BLOCK]

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:  # type: ignore[override]
        """Return the vectors of items by their texts, or of queries: some stores ask so."""
        return [
            self.embed_query(text) if text[0] == "q" else self.vector(int(text.partition(" ")[0]))
            for text in texts
        ]

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a query by its text."""
        return self._queries[int(text[1:])]


def _unit(rows: Any) -> Matrix:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
