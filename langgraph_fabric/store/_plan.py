"""Plans: a batch of operations, checked and made ready before anything is read or written."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

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
        check(op)
        if isinstance(op, SearchOp | TextSearchOp):
            made.searches[place] = _search(op, semantic=semantic)
        elif isinstance(op, PutOp | PutIfOp):
            key = (tuple(op.namespace), op.key)
            if key in last and PutIfOp in (type(op), type(last[key])):
                raise MemoryValidationError(
                    "ops", "two writes of one item, one with a condition", "Put it once a batch"
                )
            last.pop(key, None)
            last[key] = op
    made.writes.extend(planned(op, fields) for op in last.values())
    return made


def _search(op: SearchOp | TextSearchOp, *, semantic: bool) -> Search:
    by_words = isinstance(op, TextSearchOp)
    query: object = op.query
    if query is not None and not isinstance(query, str):
        raise MemoryValidationError("query", "not a string", "Give text")
    return Search(
        op=op,
        prefix=encode_namespace(op.namespace_prefix),
        test=compile_filter(op.filter),
        query=_unicode(query) if query and (by_words or semantic) else None,
    )


def _unicode(query: str) -> str:
    """Return a query without halves of surrogate pairs, at which tokenisers written in C fail."""
    return query.encode(errors="replace").decode()


def check(op: Any) -> None:
    """Refuse an operation whose namespace or numbers are malformed."""
    if isinstance(op, PutOp | PutIfOp):
        _check_target(op.namespace)
    for namespace in _namespaces(op):
        _check_labels(namespace)
    if isinstance(op, ListNamespacesOp):
        _check_listing(op)
    if isinstance(op, PutIfOp):
        _check_number("expected", op.expected, at_least=0)
    for name in ("limit", "offset"):
        _check_number(name, getattr(op, name, 0), at_least=0)


def _check_target(namespace: Sequence[str]) -> None:
    if not namespace:
        raise InvalidNamespaceError("Namespace cannot be empty.")
    if namespace[0] == "langgraph":
        raise InvalidNamespaceError("Root label for namespace cannot be 'langgraph'.")


def _check_labels(namespace: Any) -> None:
    if not isinstance(namespace, tuple | list):
        raise InvalidNamespaceError("A namespace must be a tuple of labels.")
    for label in cast("Sequence[Any]", namespace):
        if not isinstance(label, str) or not label or "." in label or "\0" in label:
            raise InvalidNamespaceError(
                "Namespace labels must be non-empty strings without '.' and NUL."
            )
    encode_namespace(cast("Sequence[str]", namespace))


def _check_listing(op: ListNamespacesOp) -> None:
    if any(c.match_type not in ("prefix", "suffix") for c in op.match_conditions or ()):
        raise MemoryValidationError(
            "match_conditions", "unknown match type", "Match by prefix or suffix"
        )
    if op.max_depth is not None:
        _check_number("max_depth", op.max_depth, at_least=1)


def _check_number(name: str, number: Any, *, at_least: int) -> None:
    if isinstance(number, bool) or not isinstance(number, int) or number < at_least:
        raise MemoryValidationError(
            name, f"not a whole number from {at_least}", f"Give {at_least} or more"
        )


def _namespaces(op: Any) -> list[Sequence[Any]]:
    if isinstance(op, GetOp | PutOp | PutIfOp):
        return [op.namespace]
    if isinstance(op, SearchOp | TextSearchOp):
        return [op.namespace_prefix]
    if isinstance(op, ListNamespacesOp):
        return [condition.path for condition in op.match_conditions or ()]
    raise MemoryValidationError("ops", f"unknown operation {type(op).__name__}", "Leave it out")
