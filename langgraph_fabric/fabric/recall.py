"""Recall: what the memory holds on a query, and why each note is in the answer.

Two legs search the eligible notes of the scope, live and valid at the asked instant: the vector leg
by cosine, the lexical leg by BM25. Each leg's scores are scaled to 0..1 over the candidates and
blended with the embedder's weight. The best `top_k` are the answer; notes one link away follow.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypedDict, cast

from langgraph.store.base import SearchItem, SearchOp

from langgraph_fabric import _time
from langgraph_fabric._blend import blended
from langgraph_fabric._flow import Flow, batch
from langgraph_fabric._ops import StoreOp, TextSearchOp
from langgraph_fabric.fabric.memory import Memory, rows_by_id
from langgraph_fabric.fabric.query import Leg, Query, checked
from langgraph_fabric.memory.rows import Row, decode, eligible_filter
from langgraph_fabric.notes import Kind, Note, StoredKind

LEG_LIMIT = 100
"""Candidates a leg contributes (retrieval design): deep enough that a note one leg ranks low can be
lifted by the other."""
_LINK_LIMIT = 32


class Explain(TypedDict, total=False):
    """Why one hit is in the answer; JSON, and without any text of the note."""

    id: str
    kind: Kind
    score: float
    """The blend that ranked it, 0 to 1."""
    similarity: float | None
    """Cosine with the query; None if the vector leg did not find it."""
    vector_rank: int | None
    """Its place in the vector leg, from 1."""
    lexical: float | None
    """BM25 scaled to 0..1 over the candidates; None if the lexical leg did not find it."""
    lexical_rank: int | None
    importance: float
    """The stored importance, when there is one."""
    link: bool
    """It came along a link from a hit, not by its own rank."""
    valid: bool


class Coverage(TypedDict):
    """What was searched and what was not."""

    kinds: list[str]
    as_of: str
    legs: list[str]
    candidates: int
    """Distinct eligible notes that the legs found."""
    not_searched: dict[str, str]
    """Asked-for kinds that recall does not hold, and where they live (S209)."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A recalled note."""

    note: Note
    score: float
    link: bool = False

    @property
    def id(self) -> str:
        """The note's id."""
        return self.note.id

    @property
    def kind(self) -> Kind:
        """The note's kind."""
        return self.note.kind

    @property
    def content(self) -> str:
        """The note's text."""
        return self.note.content


@dataclass(frozen=True, slots=True)
class Recall:
    """The answer to a query."""

    hits: tuple[Hit, ...]
    explain: tuple[Explain, ...]
    """One row for each hit, in the same order."""
    coverage: Coverage


@dataclass(slots=True)
class _Candidate:
    """What the legs say of one note."""

    row: Row
    similarity: float | None = None
    vector_rank: int | None = None
    bm25: float | None = None
    lexical: float | None = None
    lexical_rank: int | None = None
    score: float = 0.0


def recall(memory: Memory, text: str, options: Mapping[str, Any]) -> Flow[Recall]:
    """Answer a query from the notes of the scope that are valid at the asked instant.

    Args:
        memory: Whose notes.
        text: The query, not blank.
        options: See `RecallOptions`.

    Raises:
        MemoryValidationError: The query or an option is malformed.
        MemoryLimitError: `top_k` or `budget` is outside its limit.
    """
    query = checked(memory, text, options)
    candidates = yield from _search(memory, query)
    ranked = _blend(candidates, memory.profile.vector_weight)
    primary = ranked[: query.top_k]
    linked = yield from _linked(memory, query, primary, {c.row.note.id: c for c in ranked})
    hits = [(candidate, False) for candidate in primary] + [(found, True) for found in linked]
    kept = _within(query.budget, hits)
    return Recall(
        hits=tuple(Hit(found.row.note, found.score, link) for found, link in kept),
        explain=tuple(_explain(found, link=link) for found, link in kept),
        coverage=_coverage(query, len(candidates)),
    )


def _search(memory: Memory, query: Query) -> Flow[dict[str, _Candidate]]:
    """Ask every leg; widen while a store returned a full window of which too few were eligible."""
    limit = LEG_LIMIT
    while True:
        searches: list[tuple[Leg, StoredKind]] = [
            (leg, kind) for leg in query.legs for kind in query.stored_kinds
        ]
        ops = [_search_op(memory, query, leg, kind, limit) for leg, kind in searches]
        answers = cast("list[list[SearchItem]]", (yield from batch(ops)))
        candidates = _collect(query, zip(searches, answers, strict=True))
        full = any(len(answer) == limit for answer in answers)
        if not full or len(candidates) >= min(query.top_k, LEG_LIMIT):
            return candidates
        limit *= 4


def _search_op(memory: Memory, query: Query, leg: Leg, kind: StoredKind, limit: int) -> StoreOp:
    namespace = memory.place.notes(kind)
    conditions = eligible_filter(query.as_of)
    if leg == "lexical":
        return TextSearchOp(namespace, query.text, conditions, limit)
    return SearchOp(namespace, conditions, limit, query=query.text)


def _collect(
    query: Query, answers: Iterable[tuple[tuple[Leg, StoredKind], list[SearchItem]]]
) -> dict[str, _Candidate]:
    """Merge the legs by note; each leg is ranked over all kinds together."""
    found: dict[Leg, list[tuple[float, Row]]] = {leg: [] for leg in query.legs}
    for (leg, kind), items in answers:
        for item in items:
            row = decode(item, kind)
            if row and item.score is not None and eligible(row, query.as_of):
                found[leg].append((item.score, row))
    candidates: dict[str, _Candidate] = {}
    for leg, scored in found.items():
        scored.sort(key=lambda pair: (-pair[0], pair[1].note.sequence, pair[1].note.id))
        for rank, (score, row) in enumerate(scored[:LEG_LIMIT], 1):
            candidate = candidates.setdefault(row.note.id, _Candidate(row))
            if leg == "vector":
                candidate.similarity, candidate.vector_rank = score, rank
            else:
                candidate.bm25, candidate.lexical_rank = score, rank
    return candidates


def eligible(row: Row, moment: datetime) -> bool:
    """Tell whether a row may be shown at `moment`; the check behind every store filter."""
    return row.state == "live" and row.note.valid_at(moment)


def _blend(candidates: Mapping[str, _Candidate], vector_weight: float) -> list[_Candidate]:
    """Score and order the candidates; ties by sequence, then id (S62)."""
    found = list(candidates.values())
    blends = blended([c.similarity for c in found], [c.bm25 for c in found], vector_weight)
    for candidate, blend in zip(found, blends, strict=True):
        candidate.score, candidate.lexical = blend.score, blend.lexical
    return sorted(found, key=lambda c: (-c.score, c.row.note.sequence, c.row.note.id))


def _linked(
    memory: Memory, query: Query, primary: Sequence[_Candidate], known: Mapping[str, _Candidate]
) -> Flow[list[_Candidate]]:
    """Return eligible notes one link away from the hits, in discovery order, at most `top_k`.

    Links are followed in both directions (S203), and a note outside the window is fetched (S217).
    """
    if not primary:
        return []
    back_ops = [
        SearchOp(memory.place.refs("link", c.row.note.id), limit=_LINK_LIMIT) for c in primary
    ]
    back = cast("list[list[SearchItem]]", (yield from batch(back_ops)))
    chosen = {c.row.note.id for c in primary}
    order: dict[str, None] = {}
    for candidate, edges in zip(primary, back, strict=True):
        forward = [link.id for link in candidate.row.note.links]
        order.update(dict.fromkeys(forward + sorted(edge.key for edge in edges)))
    wanted = [note_id for note_id in order if note_id not in chosen]
    fetched = yield from rows_by_id(memory, [i for i in wanted if i not in known])
    found = [
        known[i] if i in known else _Candidate(fetched[i])
        for i in wanted
        if i in known or i in fetched
    ]
    fitting = [c for c in found if c.row.note.kind in query.kinds and eligible(c.row, query.as_of)]
    return fitting[: query.top_k]


def _within(
    budget: int | None, hits: list[tuple[_Candidate, bool]]
) -> list[tuple[_Candidate, bool]]:
    """Cut the answer at its token budget; the first hit always stays (S219)."""
    if budget is None:
        return hits
    spent = 0
    for count, (candidate, _) in enumerate(hits):
        spent += candidate.row.note.token_count
        if count and spent > budget:
            return hits[:count]
    return hits


def _explain(candidate: _Candidate, *, link: bool) -> Explain:
    note = candidate.row.note
    row = Explain(
        id=note.id,
        kind=note.kind,
        score=round(candidate.score, 6),
        similarity=candidate.similarity,
        vector_rank=candidate.vector_rank,
        lexical=candidate.lexical,
        lexical_rank=candidate.lexical_rank,
        link=link,
        valid=True,
    )
    if note.importance is not None:
        row["importance"] = note.importance
    return row


_ELSEWHERE: dict[str, str] = {
    "working": "always in view as blocks; read them with blocks()",
    "episode": "in the thread's own ledger",
}


def _coverage(query: Query, candidates: int) -> Coverage:
    return Coverage(
        kinds=list(query.stored_kinds),
        as_of=_time.to_text(_time.to_micros(query.as_of)),
        legs=list(query.legs),
        candidates=candidates,
        not_searched={kind: _ELSEWHERE[kind] for kind in query.kinds if kind in _ELSEWHERE},
    )
