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


def ended_before_later(new: Note, rivals: Iterable[Note]) -> Note:
    """Return `new` ending at the first start among `rivals` after its own, if it would go on."""
    later = [note.valid_from for note in rivals if is_later(note, new)]
    ends = [end for end in (*later, new.valid_to) if end is not None]
    return replace(new, valid_to=min(ends, default=None))


def is_later(note: Note, new: Note) -> bool:
    """Tell whether a stored note is known to begin after a new one."""
    return note.valid_from is not None and note.valid_from > begins(new)


def opened(new: Note) -> Note:
    """Return `new` with its start written down, so that it does not reach back over its rivals."""
    return replace(new, valid_from=begins(new))


def succeed(old: Note, new: Note) -> tuple[Note, Note]:
    """Return `old` closed where `new` begins, and `new` opened there as its successor.

    An old note that had ended by then keeps its end. One that began at the very same instant is
    left with an empty window, and holds at no time.
    """
    start = begins(new)
    end = start if old.valid_to is None else min(old.valid_to, start)
    closed = replace(old, valid_to=max(end, old.valid_from or end))
    return closed, replace(opened(new), supersedes=old.id)
