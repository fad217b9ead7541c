"""Remember: write one note, after meeting the notes that are already there.

A write reads what it must know (the write head, the notes with the same words, slot or path, the
nearest by cosine, the notes it links to), decides what becomes of it (`consolidate`), and lands in
one batch: rows, edges, look-ups and the head together, or nothing.
"""

from dataclasses import dataclass
from typing import Literal, cast

from langgraph.store.base import Item, SearchItem, SearchOp

from langgraph_fabric._flow import Flow, batch
from langgraph_fabric._ids import memory_id
from langgraph_fabric._ops import StoreOp
from langgraph_fabric._time import to_micros, to_text
from langgraph_fabric.errors import MemoryValidationError
from langgraph_fabric.fabric import blocks, lookups, timeline, writing
from langgraph_fabric.fabric.consolidate import (
    MOST_CANDIDATES,
    Candidate,
    Decision,
    Found,
    GuardRule,
    Incoming,
    SimilarityRule,
    comparable,
    decide,
    ends,
)
from langgraph_fabric.fabric.drafts import Draft
from langgraph_fabric.fabric.memory import Memory, read_head, rows_by_id, with_retries
from langgraph_fabric.fabric.writing import Known
from langgraph_fabric.memory.rows import Row, decode, open_filter
from langgraph_fabric.notes import Link, Note, StoredKind

Action = Literal["insert", "fold", "supersede"]


@dataclass(frozen=True, slots=True)
class Remembered:
    """What became of a note."""

    note: Note
    """The note as it is stored now; a fold returns the older note, enriched."""
    action: Action
    """`insert`: a new note. `fold`: already known. `supersede`: it took an older note's place."""
    reason: str
    """What decided it, in one word."""
    superseded: Note | None = None
    """The older note, closed at the instant the new one begins."""

    @property
    def id(self) -> str:
        """The note's id."""
        return self.note.id


def remember(memory: Memory, draft: Draft) -> Flow[Remembered]:
    """Write `draft` and return what became of it.

    Raises:
        MemoryValidationError: The content is too long, or it names notes that are not there.
        MemoryLimitError: A working value would grow over its limit.
        MemoryConflictError: Other writers won every race.
    """
    cap = memory.settings.limits.max_entry_text_chars
    if draft.content is not None and len(draft.content) > cap:
        raise MemoryValidationError(
            "content", f"{len(draft.content):,} characters", f"Give up to {cap:,} characters"
        )
    if draft.kind == "working":
        note, new = yield from blocks.write(memory, draft)
        return Remembered(note, "insert" if new else "fold", "block")
    return (yield from with_retries(memory, lambda: _write_row(memory, draft)))


def _write_row(memory: Memory, draft: Draft) -> Flow[Remembered]:
    new = _new_note(memory, draft)
    known = yield from _read(memory, draft, new)
    _check_references(draft, new, known)
    decision = _decide(memory, draft, new, known)
    rivals = _rivals(memory, draft, new, known)
    new = timeline.ended_before_later(new, rivals)
    if decision.action == "insert" and rivals:
        new = timeline.opened(new)
    target = known.rows[decision.target] if decision.target else None
    replaced = known.rows.get(new.id)
    plan = writing.plan(writing.stamped(new, known, replaced), decision, target)
    changes = writing.changes(memory.place, plan, known, replaced=replaced)
    if changes:
        yield from batch([known.head.advanced, *changes])
    return Remembered(plan.note, decision.action, decision.reason, plan.closed)


def _new_note(memory: Memory, draft: Draft) -> Note:
    now = memory.now()
    content = draft.content if draft.content is not None else cast("str", draft.path)
    minted = memory_id("fabric", draft.kind, content, to_text(to_micros(now)), memory.nonce())
    return Note(
        id=draft.id or minted,
        kind=draft.kind,
        content=content,
        ingested_at=now,
        valid_from=draft.valid_from,
        valid_to=draft.valid_to,
        t_ref=draft.t_ref,
        keywords=draft.keywords,
        tags=draft.tags,
        context=draft.context,
        links=tuple(Link(link.id, link.relation, link.weight) for link in draft.links),
        source_entry_ids=draft.source_entry_ids,
        subject=draft.subject,
        attribute=draft.attribute,
        supersedes=draft.supersedes,
        path=draft.path,
        importance=draft.importance,
    )


def _consolidates(memory: Memory, draft: Draft) -> bool:
    """Tell whether the note may meet others: not when the caller said which it is (S177)."""
    chosen = draft.id is not None or draft.supersedes is not None
    return memory.settings.consolidate.enabled and not chosen


def _read(memory: Memory, draft: Draft, new: Note) -> Flow[Known]:
    head = yield from read_head(memory)
    keys = lookups.keys_of(new)
    ops: list[StoreOp] = [*lookups.reads(memory.place, keys)]
    kind = cast("StoredKind", new.kind)
    searches = _consolidates(memory, draft) and new.kind != "file"
    if searches:
        ops.append(_nearest(memory, new, kind))
    found = yield from batch(ops)
    items = cast("list[SearchItem]", found[len(keys)]) if searches else []
    entries = cast("list[Item | None]", found[: len(keys)])
    ids = {key: lookups.ids_in(entry) for key, entry in zip(keys, entries, strict=True)}
    named = [new.id] if draft.id else []
    named += [link.id for link in new.links] + ([new.supersedes] if new.supersedes else [])
    rows = yield from rows_by_id(memory, [*named, *(i for listed in ids.values() for i in listed)])
    nearest = [
        (row, item.score)
        for item in items
        if item.score is not None and (row := decode(item, kind)) and row.state == "live"
    ]
    return Known(head, ids, {**{row.note.id: row for row, _ in nearest}, **rows}, nearest)


def _nearest(memory: Memory, new: Note, kind: StoredKind) -> SearchOp:
    """Search the notes that have not ended when the new one begins, later ones included."""
    conditions = open_filter(timeline.begins(new))
    return SearchOp(
        memory.place.notes(kind), conditions, limit=2 * MOST_CANDIDATES, query=new.content
    )


def _check_references(draft: Draft, new: Note, known: Known) -> None:
    """Refuse links and supersessions that lead nowhere, and writes over a held note."""
    for field, note_id in [
        *(("links", link.id) for link in new.links),
        *([("supersedes", new.supersedes)] if new.supersedes else []),
    ]:
        row = known.rows.get(note_id)
        if note_id == new.id or row is None or row.state != "live":
            raise MemoryValidationError(
                field, "names a note that is not here, or itself", "Give ids of this memory's notes"
            )
    own = known.rows.get(new.id) if draft.id else None
    if own is not None and own.state == "held":
        raise MemoryValidationError("id", "under a legal hold", "Write a new note instead")


def _decide(memory: Memory, draft: Draft, new: Note, known: Known) -> Decision:
    if new.supersedes is not None:
        return Decision(action="supersede", reason="named", target=new.supersedes)
    if not _consolidates(memory, draft):
        return Decision(action="insert", reason="named" if draft.id else "not-consolidated")
    start = timeline.begins(new)

    def holding(kind: lookups.LookupKind) -> list[Row]:
        return [row for row in known.listed(kind) if row.note.valid_at(start)]

    slot = next(iter(holding("slot")), None)
    path = next(iter(known.listed("path")), None)
    nearest = [(row, cosine) for row, cosine in known.nearest if row.note.valid_at(start)]
    return decide(
        _incoming(new),
        Found(
            slot=_candidate(slot) if slot else None,
            same_path=_candidate(path) if path else None,
            same_tokens=tuple(_candidate(row) for row in holding("tokens")),
            nearest=tuple(_candidate(row, cosine) for row, cosine in nearest),
        ),
        _rule(memory),
    )


def _rivals(memory: Memory, draft: Draft, new: Note, known: Known) -> list[Note]:
    """Return the known notes that cannot hold at the same time as `new`."""
    if new.kind == "file" or not _consolidates(memory, draft):
        return []
    incoming, rule = _incoming(new), _rule(memory)
    repeated = [row for row in known.listed("tokens") if comparable(incoming, _candidate(row))]
    later = [
        row
        for row, cosine in known.nearest
        if timeline.is_later(row.note, new) and ends(_candidate(row, cosine), incoming, rule)
    ]
    return [row.note for row in (*known.listed("slot"), *repeated, *later)]


def _incoming(new: Note) -> Incoming:
    return Incoming(
        content=new.content,
        kind=cast("StoredKind", new.kind),
        subject=new.subject,
        attribute=new.attribute,
    )


def _candidate(row: Row, similarity: float = 0.0) -> Candidate:
    note = row.note
    return Candidate(
        id=note.id,
        content=note.content,
        similarity=similarity,
        subject=note.subject,
        attribute=note.attribute,
    )


def _rule(memory: Memory) -> GuardRule | SimilarityRule:
    chosen = memory.settings.consolidate
    if chosen.guard == "similarity":
        return SimilarityRule(threshold=chosen.threshold)
    return GuardRule(gate=memory.profile.candidate_gate)
