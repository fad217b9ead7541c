"""The two store operations that LangGraph's contract lacks and this package needs.

They stand beside `GetOp`, `PutOp`, `SearchOp` and `ListNamespacesOp` in a batch. A store that
understands them says so in a class attribute `fabric_ops`, a frozenset of their types; on any other
store the fabric's adapter emulates them.
"""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from langgraph.store.base import Op


class PutIfOp(NamedTuple):
    """Put an item only if its version is the expected one (compare-and-set).

    The version of an item is the integer under `value["version"]`; a missing item, or one without
    that key, has version 0. If any `PutIfOp` of a batch fails, the whole batch is refused with
    `MemoryConflictError` and nothing is written. The new value carries its own next version.
    """

    namespace: tuple[str, ...]
    key: str
    value: Mapping[str, Any] | None
    """The new value, or None to delete."""
    expected: int
    """The version the stored item must have."""
    index: Literal[False] | list[str] | None = None  # pyright: ignore[reportIncompatibleMethodOverride] # the name PutOp has
    """As in `PutOp`: paths to embed, False for none, None for the store's configuration."""


class TextSearchOp(NamedTuple):
    """Rank items below a prefix by BM25 over their indexed text; answers like `SearchOp`.

    Only items that share at least one term with the query are returned, best first. Scores are
    raw BM25 (k1 1.0, b 0.4), comparable within one answer only.
    """

    namespace_prefix: tuple[str, ...]
    query: str
    filter: dict[str, Any] | None = None
    limit: int = 10
    offset: int = 0


StoreOp = Op | PutIfOp | TextSearchOp
