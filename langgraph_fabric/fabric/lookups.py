"""Look-ups: the notes that have these words, this slot or this path, found by key at any rank.

An entry lists note ids, newest first. Entries are written in the batch that writes the note, under
the scope's write head, so that two writers of one text cannot miss each other.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple, cast

from langgraph.store.base import GetOp, Item, PutOp

from langgraph_fabric._ids import memory_id
from langgraph_fabric.fabric.consolidate import folding_key
from langgraph_fabric.memory.rows import Place
from langgraph_fabric.notes import Note

_LONGEST_ENTRY = 64
"""Ids an entry keeps: many equal notes exist only where consolidation is off, and then the newest
are the ones to meet."""


LookupKind = Literal["tokens", "path", "slot"]


class Lookup(NamedTuple):
    """One key a note can be found by."""

    kind: LookupKind
    key: str


def keys_of(note: Note) -> list[Lookup]:
    """Return the keys of a note; a file note is known by its path alone (S187)."""
    if note.path is not None:
        return [Lookup("path", note.path)]
    keys = [Lookup("tokens", memory_id(note.kind, folding_key(note.content)))]
    if note.subject is not None and note.attribute is not None:
        slot = memory_id(note.kind, folding_key(note.subject), folding_key(note.attribute))
        keys.append(Lookup("slot", slot))
    return keys


def reads(place: Place, keys: Sequence[Lookup]) -> list[GetOp]:
    """Return the reads of the entries of `keys`."""
    return [GetOp(place.lookup(key.kind), key.key) for key in keys]


def ids_in(entry: Item | None) -> list[str]:
    """Return the note ids an entry lists, newest first."""
    return list(cast("list[str]", entry.value["ids"])) if entry is not None else []


def adding(place: Place, key: Lookup, ids: Sequence[str], note_id: str) -> PutOp:
    """Return the write that puts a note at the front of an entry."""
    kept = [note_id, *(other for other in ids if other != note_id)][:_LONGEST_ENTRY]
    return PutOp(place.lookup(key.kind), key.key, {"ids": kept}, index=False)


def removing(place: Place, key: Lookup, ids: Sequence[str], note_id: str) -> PutOp:
    """Return the write that takes a note out of an entry, and an empty entry away."""
    kept = [other for other in ids if other != note_id]
    return PutOp(place.lookup(key.kind), key.key, {"ids": kept} if kept else None, index=False)
