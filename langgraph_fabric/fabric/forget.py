"""Forget: take a note or a block out of the memory, or hold it for a court.

Forgetting deletes the row, its edges and its look-ups in one batch, and leaves a mark that holds no
content. Holding deletes nothing: the row stays, shown to nobody, and a later forget leaves it.
"""

from dataclasses import dataclass
from typing import Any, cast

from langgraph.store.base import PutOp, SearchItem, SearchOp

from langgraph_fabric import _time
from langgraph_fabric._flow import Flow, batch
from langgraph_fabric._ops import PutIfOp
from langgraph_fabric.errors import MemoryValidationError
from langgraph_fabric.fabric import blocks, lookups
from langgraph_fabric.fabric.drafts import check_label
from langgraph_fabric.fabric.memory import Memory, read_head, rows_by_id, with_retries
from langgraph_fabric.memory.rows import EDGES, Row, edges_from, write
from langgraph_fabric.notes import check_id

_EDGE_LIMIT = 1_000


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What a forget did."""

    deleted: int
    """Notes or blocks that are gone now; 0 when there was nothing, or when it is held."""
    held: bool
    """The note is kept for a legal hold and shown to nobody."""
    id: str | None = None
    block: str | None = None


def forget(
    memory: Memory, note_id: str | None, block: str | None, *, hold: bool
) -> Flow[Forgotten]:
    """Forget one note by id or one block by label (S233).

    Raises:
        MemoryValidationError: Not exactly one of them is given, the id is malformed, or a hold is
            asked for a block.
    """
    if (note_id is None) == (block is None):
        raise MemoryValidationError("id", "not exactly one of id and block", "Give one of them")
    if not isinstance(hold, bool):
        raise MemoryValidationError("hold", "not a bool", "Give True or False")
    if block is not None:
        if hold:
            raise MemoryValidationError("hold", "not possible for a block", "Hold notes by id")
        cleared = yield from blocks.forget(memory, check_label(block))
        return Forgotten(deleted=int(cleared), held=False, block=block)
    checked = check_id(note_id)
    return (yield from with_retries(memory, lambda: _forget_row(memory, checked, hold=hold)))


def _forget_row(memory: Memory, note_id: str, *, hold: bool) -> Flow[Forgotten]:
    row = (yield from rows_by_id(memory, [note_id])).get(note_id)
    if row is None:
        return Forgotten(deleted=0, held=False, id=note_id)
    if row.state == "held":
        return Forgotten(deleted=0, held=True, id=note_id)
    if hold:
        held = write(memory.place, row.note, replaces=row, state="held")
        yield from batch([held, _mark(memory, note_id, "legal_hold")])
        return Forgotten(deleted=0, held=True, id=note_id)
    yield from _delete(memory, row)
    return Forgotten(deleted=1, held=False, id=note_id)


def _delete(memory: Memory, row: Row) -> Flow[None]:
    note, place = row.note, memory.place
    keys = lookups.keys_of(note)
    incoming = [SearchOp(place.refs(kind, note.id), limit=_EDGE_LIMIT) for kind in EDGES]
    head = yield from read_head(memory)
    found = yield from batch([*lookups.reads(place, keys), *incoming])
    entries, edges = found[: len(keys)], cast("list[list[SearchItem]]", found[len(keys) :])
    yield from batch(
        [
            head.advanced,
            PutIfOp(place.notes(cast("Any", note.kind)), note.id, None, note.version),
            *(
                lookups.removing(place, key, lookups.ids_in(entry), note.id)
                for key, entry in zip(keys, entries, strict=True)
            ),
            *(PutOp(edge.namespace, edge.key, None) for items in edges for edge in items),
            *(PutOp(namespace, note.id, None) for namespace in edges_from(place, note)),
            _mark(memory, note.id, "forgotten"),
        ]
    )


def _mark(memory: Memory, note_id: str, reason: str) -> PutOp:
    at = _time.to_text(_time.to_micros(memory.now()))
    return PutOp(memory.place.marks, note_id, {"reason": reason, "at": at}, index=False)
