"""Writing: what a decided note changes in the store; pure, from what the write has read."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

from langgraph.store.base import PutOp

from langgraph_fabric._ops import StoreOp
from langgraph_fabric.fabric import lookups, timeline
from langgraph_fabric.fabric.consolidate import Decision
from langgraph_fabric.fabric.memory import Head
from langgraph_fabric.memory.rows import Place, Row, edges_from, write, write_edges
from langgraph_fabric.notes import LABELS_CAP, SOURCES_CAP, Link, Note, StoredKind


@dataclass(frozen=True, slots=True)
class Known:
    """What a write has read."""

    head: Head
    entries: dict[lookups.Lookup, list[str]]
    """The look-ups of the new note, and the ids they list."""
    rows: dict[str, Row]
    """Every row that was named or found."""
    nearest: list[tuple[Row, float]]
    """Live notes that have not ended when the new one begins, by cosine."""

    def listed(self, kind: lookups.LookupKind) -> list[Row]:
        """Return the live rows a look-up lists, newest first, checked to have its key still."""
        return [
            row
            for key, ids in self.entries.items()
            if key.kind == kind
            for note_id in ids
            if (row := self.rows.get(note_id)) is not None
            and row.state == "live"
            and key in lookups.keys_of(row.note)
        ]


@dataclass(frozen=True, slots=True)
class Plan:
    """What the notes are to be after the write."""

    note: Note
    """The written note."""
    target: Row | None = None
    """The row it folds into or supersedes, as it was read."""
    closed: Note | None = None
    """The superseded note with its end."""
    folds: bool = False


def plan(new: Note, decision: Decision, target: Row | None) -> Plan:
    """Return what `decision` makes of the new note and its target."""
    decided = replace(new, decision=f"{decision.action}: {decision.reason}")
    if target is None:
        return Plan(_with_related(decided, decision))
    rewritten = target.note.version + 1
    if decision.action == "fold":
        folded = merged(target.note, decided)
        changed = folded != target.note
        return Plan(replace(folded, version=rewritten) if changed else folded, target, folds=True)
    closed, opened = timeline.succeed(target.note, decided)
    return Plan(opened, target, replace(closed, version=rewritten))


def merged(old: Note, new: Note) -> Note:
    """Return `old` enriched by a note that says the same (S188, S189).

    Lists are united, older first; of two links to one note the new one wins; single values are the
    new note's, else the old one's. What is said again holds again: the end is the new note's. It
    has held since it was said first: of two stated starts the earlier stays.
    """
    starts = [start for start in (old.valid_from, new.valid_from) if start is not None]
    links = {link.id: link for link in (*old.links, *new.links)}
    return replace(
        old,
        content=new.content,
        valid_from=min(starts, default=None),
        valid_to=new.valid_to,
        t_ref=new.t_ref or old.t_ref,
        keywords=_united(old.keywords, new.keywords, LABELS_CAP),
        tags=_united(old.tags, new.tags, LABELS_CAP),
        context=new.context or old.context,
        links=tuple(links.values())[:LABELS_CAP],
        source_entry_ids=_united(old.source_entry_ids, new.source_entry_ids, SOURCES_CAP),
        subject=new.subject or old.subject,
        attribute=new.attribute or old.attribute,
        supersedes=new.supersedes or old.supersedes,
        importance=old.importance if new.importance is None else new.importance,
    )


def changes(place: Place, planned: Plan, known: Known, *, replaced: Row | None) -> list[StoreOp]:
    """Return the operations that carry out a plan, besides the write head; none if nothing changes.

    Args:
        place: Where the scope's items lie.
        planned: The plan.
        known: What the write has read.
        replaced: The row a caller's id names, which the note overwrites in full.
    """
    if planned.folds and planned.target is not None:
        if planned.note == planned.target.note:
            return []
        return [
            write(place, planned.note, replaces=planned.target),
            *write_edges(place, planned.note),
            *_listed(place, planned.note, known),
        ]
    closing: list[StoreOp] = []
    if planned.closed is not None:
        closing.append(write(place, planned.closed, replaces=planned.target))
    return [
        *closing,
        *([] if replaced is None else _overwriting(place, planned.note, replaced)),
        write(place, planned.note, replaces=_same_row(planned.note, replaced)),
        *write_edges(place, planned.note),
        *_listed(place, planned.note, known),
    ]


def stamped(new: Note, known: Known, replaced: Row | None) -> Note:
    """Return a new note with the sequence and the version its row will have."""
    row = _same_row(new, replaced)
    return replace(
        new, sequence=known.head.sequence, version=1 if row is None else row.note.version + 1
    )


def _same_row(note: Note, replaced: Row | None) -> Row | None:
    """Return the replaced row if the note lies where it lay; each kind has its own place."""
    return replaced if replaced is not None and replaced.note.kind == note.kind else None


def _overwriting(place: Place, note: Note, replaced: Row) -> Sequence[PutOp]:
    """Return the removal of what an overwritten row leaves behind."""
    stale = [PutOp(namespace, note.id, None) for namespace in edges_from(place, replaced.note)]
    if replaced.note.kind != note.kind:
        kind = cast("StoredKind", replaced.note.kind)
        stale.append(PutOp(place.notes(kind), note.id, None))
    return stale


def _listed(place: Place, note: Note, known: Known) -> list[PutOp]:
    return [
        lookups.adding(place, key, ids, note.id)
        for key, ids in known.entries.items()
        if key in lookups.keys_of(note) and ids[:1] != [note.id]
    ]


def _with_related(note: Note, decision: Decision) -> Note:
    """Link a kept note to the ones so near that a person should see them side by side."""
    linked = {link.id for link in note.links}
    near = tuple(Link(i, "related") for i in decision.related if i not in linked)
    return replace(note, links=(*note.links, *near)[:LABELS_CAP])


def _united(old: tuple[str, ...], new: tuple[str, ...], cap: int) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*old, *new)))[:cap]
