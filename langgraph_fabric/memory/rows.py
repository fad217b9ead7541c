"""Rows: how notes and their references lie in a store, and how they are read back.

Everything of a scope lies below its namespace. `Place` names where; `encode` and `decode` turn a
note into an item's value and back. Decoding is fail-closed: what is not a well-formed note is none.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from types import UnionType
from typing import Any, Literal, cast, get_args

from langgraph.store.base import Item, PutOp

from langgraph_fabric import _time
from langgraph_fabric._ids import is_memory_id
from langgraph_fabric._ops import PutIfOp
from langgraph_fabric.notes import Fields, Link, Note, StoredKind, check

State = Literal["live", "held"]
"""`live` rows can be recalled. `held` rows are kept for a legal hold and shown to nobody."""

Edge = Literal["link", "supersedes"]
EDGES: tuple[Edge, ...] = get_args(Edge)

_SCHEMA = 1
_MS_OFFSET = 200_000_000_000_000
_ALWAYS_MS, _NEVER_MS = 100_000_000_000_000, 999_999_999_999_999
"""Filters compare times as milliseconds with an offset that gives every one fifteen digits: so they
order alike as numbers, as 64-bit floats and as text, and every store's comparison is right. An open
bound is the least or the greatest such number, so that no row lacks the key. What a millisecond
blurs is settled when each hit is checked against its exact times."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a scope's items lie."""

    namespace: tuple[str, ...]

    def notes(self, kind: StoredKind) -> tuple[str, ...]:
        """Rows of one kind; the key is the note's id."""
        return (*self.namespace, "notes", kind)

    @property
    def working(self) -> tuple[str, ...]:
        """The working value, under the key `value`."""
        return (*self.namespace, "working")

    @property
    def head(self) -> tuple[str, ...]:
        """The scope's write head, under the key `value`: its last sequence and its version."""
        return (*self.namespace, "head")

    def lookup(self, kind: Literal["tokens", "path", "slot"]) -> tuple[str, ...]:
        """Unique keys of notes: what has these words, this path, this slot."""
        return (*self.namespace, "lookup", kind)

    def refs(self, kind: Edge, target: str) -> tuple[str, ...]:
        """Edges that point at `target`; the key is the id of the note they come from."""
        return (*self.namespace, "refs", kind, target)

    @property
    def marks(self) -> tuple[str, ...]:
        """What was forgotten or is held; the key is the note's id."""
        return (*self.namespace, "marks")

    @property
    def attached(self) -> tuple[str, ...]:
        """Threads whose gate is open; the key is the thread id."""
        return (*self.namespace, "attached")


@dataclass(frozen=True, slots=True)
class Row:
    """A note and the item value it was read from."""

    note: Note
    value: Mapping[str, Any]

    @property
    def state(self) -> State:
        """Whether the row may be shown."""
        return cast("State", self.value["state"])


def eligible_filter(moment: datetime) -> dict[str, Any]:
    """Return the store filter for rows that are live and valid at `moment`, to the millisecond."""
    millisecond = _milliseconds(moment)
    return {
        "state": "live",
        "valid_from_ms": {"$lte": millisecond},
        "valid_to_ms": {"$gte": millisecond},
    }


def open_filter(moment: datetime) -> dict[str, Any]:
    """Return the store filter for live rows that have not ended before `moment`."""
    return {"state": "live", "valid_to_ms": {"$gte": _milliseconds(moment)}}


def encode(
    note: Note, *, previous: Mapping[str, Any] | None = None, state: State = "live"
) -> dict[str, Any]:
    """Return the item value of `note`; keys of `previous` that are not ours are kept (S188)."""
    return {
        **(previous or {}),
        "text": note.content,
        "fabric": {"v": _SCHEMA, "kind": note.kind, **annotations(note)},
        "ingested_at": _text(note.ingested_at),
        "importance": note.importance,
        "decision": note.decision,
        "sequence": note.sequence,
        "state": state,
        "valid_from_ms": _ALWAYS_MS if note.valid_from is None else _milliseconds(note.valid_from),
        "valid_to_ms": _NEVER_MS if note.valid_to is None else _milliseconds(note.valid_to),
        "version": note.version,
    }


def decode(item: Item | None, kind: StoredKind) -> Row | None:
    """Return the row an item holds, or None if it is not a well-formed note of `kind` (S155)."""
    if item is None:
        return None
    value: Mapping[str, Any] = item.value
    try:
        stored = dict(value["fabric"])
        if stored.pop("v") != _SCHEMA or stored.pop("kind") != kind:
            return None
        note = Note(
            id=_id(item.key),
            kind=kind,
            content=_typed(value["text"], str),
            ingested_at=_moment(value["ingested_at"]),
            importance=_typed(value.get("importance"), float | int | None),
            decision=_typed(value.get("decision"), str | None),
            sequence=_typed(value["sequence"], int),
            version=_typed(value["version"], int),
            **read_annotations(stored),
        )
    except (KeyError, TypeError, ValueError):
        return None
    return Row(note, value) if value.get("state") in get_args(State) else None


def annotations(fields: Note | Fields) -> dict[str, Any]:
    """Return the annotations of a note or draft as JSON; what is unset is left out (S154)."""
    moments = ("t_ref", "valid_from", "valid_to")
    lists = ("keywords", "tags", "source_entry_ids")
    texts = ("context", "subject", "attribute", "supersedes", "path")
    links = [
        {"id": link.id, "relation": link.relation, "weight": link.weight} for link in fields.links
    ]
    stored: dict[str, Any] = {
        **{name: _text(getattr(fields, name)) for name in moments},
        **{name: list(getattr(fields, name)) for name in lists},
        **{name: getattr(fields, name) for name in texts},
        "links": [_set_only(link) for link in links],
    }
    return _set_only(stored)


def read_annotations(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return stored annotations as fields of a `Note`.

    Raises:
        MemoryValidationError: They are not what `annotations` writes.
    """
    fields = check(Fields, stored)
    read = {name: getattr(fields, name) for name in Fields.model_fields}
    return {
        **read,
        "links": tuple(Link(link.id, link.relation, link.weight) for link in fields.links),
    }


def write(place: Place, note: Note, *, replaces: Row | None, state: State | None = None) -> PutIfOp:
    """Return the write of `note`, on condition that the row is still as it was read.

    Without a `state` the row keeps the one it has.
    """
    kind = cast("StoredKind", note.kind)
    if replaces is None:
        value = encode(replace(note, version=1), state=state or "live")
        return PutIfOp(place.notes(kind), note.id, value, 0, ["text"])
    expected = replaces.note.version
    rewritten = replace(note, version=expected + 1)
    value = encode(rewritten, previous=replaces.value, state=state or replaces.state)
    return PutIfOp(place.notes(kind), note.id, value, expected, ["text"])


def edges_from(place: Place, note: Note) -> list[tuple[str, ...]]:
    """Return the namespaces of the edges that lead from `note` to other notes."""
    supersedes = [] if note.supersedes is None else [place.refs("supersedes", note.supersedes)]
    return [*(place.refs("link", link.id) for link in note.links), *supersedes]


def write_edges(place: Place, note: Note) -> list[PutOp]:
    """Return the writes of the edges of `note`, so that they are found from their targets too."""
    return [
        PutOp(namespace, note.id, {"kind": note.kind}, index=False)
        for namespace in edges_from(place, note)
    ]


def _milliseconds(moment: datetime) -> int:
    return _time.to_micros(moment) // 1000 + _MS_OFFSET


def _text(moment: datetime | None) -> str | None:
    return None if moment is None else _time.to_text(_time.to_micros(moment))


def _moment(text: Any) -> datetime:
    return _time.to_datetime(_time.parse_instant(text, "ingested_at"))


def _id(key: str) -> str:
    if not is_memory_id(key):
        raise ValueError
    return key


def _typed(value: Any, expected: type | UnionType) -> Any:
    if not isinstance(value, expected):
        raise TypeError
    return value


def _set_only(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value not in (None, [])}
