"""Plans: a batch of operations, checked and made ready before anything is read or written."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from langgraph.store.base import (
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    PutOp,
    SearchOp,
)

from langgraph_fabric._ops import PutIfOp, StoreOp, TextSearchOp
from langgraph_fabric.errors import MemoryValidationError
from langgraph_fabric.store._embedder import Path
from langgraph_fabric.store._filters import Predicate, compile_filter
from langgraph_fabric.store._values import encode_namespace
from langgraph_fabric.store._writes import Write, planned

_Write = PutOp | PutIfOp


@dataclass(frozen=True, slots=True)
class Search:
    """A search, ready to run."""

    op: SearchOp | TextSearchOp
    prefix: bytes
    test: Predicate | None
    query: str | None
    """What to rank by; None for the newest first."""

    @property
    def semantic(self) -> bool:
        """Whether the query's vector ranks, and not its words."""
        return self.query is not None and isinstance(self.op, SearchOp)


@dataclass(frozen=True, slots=True)
class Plan:
    """A batch, ready to run."""

    ops: Sequence[StoreOp]
    searches: dict[int, Search] = field(default_factory=dict[int, Search])
    """By the operation's place in the batch."""
    writes: list[Write] = field(default_factory=list[Write])
    """In order, the last one of each item only."""

    @property
    def queries(self) -> list[str]:
        """The texts whose vectors searches rank by."""
        semantic = (s.query for s in self.searches.values() if s.semantic)
        return list(dict.fromkeys(query for query in semantic if query))


def plan(ops: Iterable[StoreOp], fields: Sequence[tuple[str, Path]], *, semantic: bool) -> Plan:
    """Return the plan of a batch.

    Raises:
        InvalidNamespaceError: A namespace is not allowed.
        MemoryValidationError: A value, filter, limit or offset is not.
    """
    made = Plan(list(ops))
    last: dict[tuple[tuple[str, ...], str], _Write] = {}
    for place, op in enumerate(made.ops):
        _check(op)
        if isinstance(op, SearchOp | TextSearchOp):
            made.searches[place] = _search(op, semantic=semantic)
        elif isinstance(op, PutOp | PutIfOp):
            key = (tuple(op.namespace), op.key)
            if isinstance(op, PutIfOp) and key in last:
                raise MemoryValidationError(
                    "ops", "two writes of one item, one with a condition", "Put it once a batch"
                )
            last.pop(key, None)
            last[key] = op
    made.writes.extend(planned(op, fields) for op in last.values())
    return made


def _search(op: SearchOp | TextSearchOp, *, semantic: bool) -> Search:
    by_words = isinstance(op, TextSearchOp)
    return Search(
        op=op,
        prefix=encode_namespace(op.namespace_prefix),
        test=compile_filter(op.filter),
        query=op.query if by_words or (semantic and op.query) else None,
    )


def _check(op: Any) -> None:
    if isinstance(op, PutOp | PutIfOp):
        _check_target(op.namespace)
    for namespace in _namespaces(op):
        for label in namespace:
            if not isinstance(label, str) or not label or "." in label or "\0" in label:
                raise InvalidNamespaceError(
                    "Namespace labels must be non-empty strings without '.' and NUL."
                )
    for name in ("limit", "offset"):
        number = getattr(op, name, 0)
        if isinstance(number, bool) or not isinstance(number, int) or number < 0:
            raise MemoryValidationError(name, "not a whole number from 0", "Give 0 or more")


def _check_target(namespace: Sequence[str]) -> None:
    if not namespace:
        raise InvalidNamespaceError("Namespace cannot be empty.")
    if namespace[0] == "langgraph":
        raise InvalidNamespaceError("Root label for namespace cannot be 'langgraph'.")


def _namespaces(op: Any) -> list[Sequence[Any]]:
    if isinstance(op, GetOp | PutOp | PutIfOp):
        return [op.namespace]
    if isinstance(op, SearchOp | TextSearchOp):
        return [op.namespace_prefix]
    if isinstance(op, ListNamespacesOp):
        return [condition.path for condition in op.match_conditions or ()]
    raise MemoryValidationError("ops", f"unknown operation {type(op).__name__}", "Leave it out")
