"""Modes of search: by vectors, by words, or by both, blended.

A mode is a way of asking for two things a batch can do already, in one transaction: so a search by
both sees one state. Filters and expiry are the batch's.
"""

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, Literal, cast

from langgraph.store.base import GetOp, SearchItem, SearchOp

from langgraph_fabric._blend import blended
from langgraph_fabric._ops import StoreOp, TextSearchOp
from langgraph_fabric.errors import MemoryValidationError
from langgraph_fabric.store._plan import check

Mode = Literal["vector", "lexical", "hybrid"]
MODES: tuple[Mode, ...] = ("vector", "lexical", "hybrid")
Searching = Generator[list[StoreOp], list[Any], list[SearchItem]]

_WINDOW = 100
"""Candidates a leg contributes: deep enough that what one leg ranks low the other can lift."""
_WIDER = 4


@dataclass(frozen=True, slots=True)
class Asked:
    """A search by a mode."""

    mode: Mode
    op: SearchOp
    vector_weight: float
    """The cosine's share in the blend."""


def searching(asked: Asked) -> Searching:
    """Yield the batches a search needs, and return its page.

    Raises:
        MemoryValidationError: The mode is unknown, or a limit, offset or filter is malformed.
    """
    op = asked.op
    if asked.mode not in MODES:
        raise MemoryValidationError("mode", "unknown", f"Give one of {', '.join(MODES)}")
    if asked.mode == "vector" or not op.query:
        (page,) = yield [op]
        return cast("list[SearchItem]", page)
    if asked.mode == "lexical":
        words = TextSearchOp(op.namespace_prefix, op.query, op.filter, op.limit, op.offset)
        (page,) = yield [words]
    else:
        page = yield from _by_both(asked, op.query)
    if op.refresh_ttl and page:
        yield [GetOp(item.namespace, item.key, refresh_ttl=True) for item in page]
    return cast("list[SearchItem]", page)


def _by_both(asked: Asked, query: str) -> Searching:
    """Blend the best of both legs.

    The window grows in great steps only, so that pages up to its depth are of one ranking.
    """
    op = asked.op
    check(op)
    window = _WINDOW
    while window < op.offset + op.limit:
        window *= _WIDER
    vectors, words = yield [
        op._replace(limit=window, offset=0, refresh_ttl=False),
        TextSearchOp(op.namespace_prefix, query, op.filter, window),
    ]
    return _blend(vectors, words, asked.vector_weight)[op.offset : op.offset + op.limit]


def _blend(
    vectors: list[SearchItem], words: list[SearchItem], vector_weight: float
) -> list[SearchItem]:
    """Return what either leg ranks, best first; ties in the order of the vector leg."""
    ranked = [item for item in vectors if item.score is not None]
    found = {(item.namespace, item.key): item for item in [*words, *ranked]}
    cosines = {(item.namespace, item.key): item.score for item in ranked}
    bm25 = {(item.namespace, item.key): item.score for item in words}
    order = list(dict.fromkeys([*cosines, *bm25]))
    blends = blended([cosines.get(i) for i in order], [bm25.get(i) for i in order], vector_weight)
    for key, blend in zip(order, blends, strict=True):
        found[key].score = blend.score
    return sorted((found[key] for key in order), key=lambda item: -(item.score or 0.0))
