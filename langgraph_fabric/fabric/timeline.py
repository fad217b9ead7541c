"""Time lines: of the notes that say what holds for one thing, exactly one is valid at any instant.

A note that takes another's place begins where the other ends. A note about an earlier time than one
already known ends where that one begins (rulings, S192-S194).
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from langgraph_fabric.notes import Note


def begins(note: Note) -> datetime:
    """Return when a note that is being written begins: as it says, else when it is learned."""
    return note.valid_from or note.ingested_at


def ended_before_later(new: Note, others: Iterable[Note]) -> Note:
    """Return `new` ending at the first start among `others` after its own, if it would go on."""
    starts = [note.valid_from for note in others if note.valid_from is not None]
    later = [start for start in starts if start > begins(new)]
    if not later or (new.valid_to is not None and new.valid_to <= min(later)):
        return new
    return replace(new, valid_from=begins(new), valid_to=min(later))


def succeed(old: Note, new: Note) -> tuple[Note, Note]:
    """Return `old` closed where `new` begins, and `new` opened there as its successor.

    An old note that had ended by then keeps its end. One that began at the very same instant is
    left with an empty window, and holds at no time.
    """
    start = begins(new)
    end = start if old.valid_to is None else min(old.valid_to, start)
    closed = replace(old, valid_to=max(end, old.valid_from or end))
    return closed, replace(new, valid_from=start, supersedes=old.id)
