"""Memory: what every flow is given: where the notes lie, the settings, the clock, the ids."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from langgraph.store.base import GetOp, Item

from langgraph_fabric._flow import Flow, T, batch, get, turn
from langgraph_fabric._ops import PutIfOp
from langgraph_fabric._time import Clock, to_micros
from langgraph_fabric.embeddings import EmbedderProfile
from langgraph_fabric.errors import MemoryConflictError
from langgraph_fabric.fabric.settings import Settings
from langgraph_fabric.memory.rows import Place, Row, decode
from langgraph_fabric.notes import STORED_KINDS, StoredKind

ATTEMPTS = 64
"""How often a write that lost a race is tried. Each round some writer wins, so that many writers
on one scope can all come through; beyond it something else is wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """One scope's memory, as the flows see it."""

    place: Place
    settings: Settings
    profile: EmbedderProfile
    clock: Clock
    nonce: Callable[[], str]
    """Keeps apart the ids of equal notes written in the same instant."""
    semantic: bool = True
    """Whether the store embeds texts, so that recall has a vector leg."""

    def now(self) -> datetime:
        """Return the clock's time in UTC."""
        return self.clock().astimezone(UTC)


def with_retries(memory: Memory, attempt: Callable[[], Flow[T]]) -> Flow[T]:
    """Run a write in its turn, and again from its reads while other processes write first.

    Raises:
        MemoryConflictError: It lost `ATTEMPTS` races.
    """
    leave = yield from turn(memory.place.namespace)
    try:
        for _ in range(ATTEMPTS - 1):
            try:
                return (yield from attempt())
            except MemoryConflictError:
                continue
        return (yield from attempt())
    finally:
        leave()


def rows_by_id(memory: Memory, ids: list[str]) -> Flow[dict[str, Row]]:
    """Read the rows with these ids, whatever their kind; unknown ids are left out."""
    wanted: list[tuple[str, StoredKind]] = [
        (note_id, kind) for note_id in dict.fromkeys(ids) for kind in STORED_KINDS
    ]
    items = yield from batch([GetOp(memory.place.notes(kind), key) for key, kind in wanted])
    rows = (decode(item, kind) for item, (_, kind) in zip(items, wanted, strict=True))
    return {row.note.id: row for row in rows if row is not None}


@dataclass(frozen=True, slots=True)
class Head:
    """The scope's write head as the next write moves it: all writes of a scope pass through it.

    Two writers that read the same head cannot both move it, so what a write decided on is still so
    when it lands. The sequence is the time in microseconds, raised above the last one, so that the
    writes of a scope are ordered even when the clock stands still or steps back (S45, B43).
    """

    sequence: int
    advanced: PutIfOp
    """The operation that moves the head; part of every write batch."""


def read_head(memory: Memory) -> Flow[Head]:
    """Read the scope's write head."""
    item = yield from get(memory.place.head, "value")
    return head_after(memory, item)


def head_after(memory: Memory, item: Item | None) -> Head:
    """Return the write head that follows the stored one."""
    last: dict[str, int] = {"sequence": 0, "version": 0} if item is None else item.value
    sequence = max(to_micros(memory.now()), last["sequence"] + 1)
    value = {"sequence": sequence, "version": last["version"] + 1}
    return Head(sequence, PutIfOp(memory.place.head, "value", value, last["version"], index=False))
