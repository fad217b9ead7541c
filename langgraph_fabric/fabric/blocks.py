"""Working blocks: named texts that are always in view, kept in the scope's one working value.

The value is a JSON object with a version; blocks lie in it under `_fabric.blocks.<label>` (S152),
so that a host may keep fields of its own beside them. Every write is a compare-and-set.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from langgraph_fabric import _time
from langgraph_fabric._flow import Flow, batch, get
from langgraph_fabric._ids import is_memory_id, memory_id
from langgraph_fabric._ops import PutIfOp
from langgraph_fabric.errors import MemoryLimitError, MemoryValidationError
from langgraph_fabric.fabric.drafts import Draft
from langgraph_fabric.fabric.memory import Memory, with_retries
from langgraph_fabric.memory.limits import HARD_CAPS
from langgraph_fabric.memory.rows import annotations, read_annotations
from langgraph_fabric.notes import Note

_KEY = "value"


@dataclass(frozen=True, slots=True)
class Working:
    """The working value as it was read."""

    value: Mapping[str, Any]
    version: int

    def block(self, label: str) -> Note | None:
        """Return a live block, or None; what is malformed is none (S239)."""
        return _decode(label, self._blocks().get(label))

    def blocks(self) -> list[Note]:
        """Return the live blocks by label, without tombstones or empty shells (S246)."""
        found = (self.block(label) for label in sorted(self._blocks()))
        return [block for block in found if block is not None]

    def with_block(self, label: str, stored: dict[str, Any]) -> dict[str, Any]:
        """Return the value with one block replaced."""
        fabric = {
            **_mapping(self.value.get("_fabric")),
            "blocks": {**self._blocks(), label: stored},
        }
        return {**self.value, "_fabric": fabric}

    def _blocks(self) -> Mapping[str, Any]:
        return _mapping(_mapping(self.value.get("_fabric")).get("blocks"))


def read(memory: Memory) -> Flow[Working]:
    """Read the scope's working value; a missing one is empty and has version 0."""
    item = yield from get(memory.place.working, _KEY)
    if item is None:
        return Working({}, 0)
    return Working(_mapping(item.value.get("value")), int(item.value.get("version", 0)))


def write(memory: Memory, draft: Draft) -> Flow[tuple[Note, bool]]:
    """Replace or extend a block; return it and whether it was new.

    Raises:
        MemoryValidationError: The block would hold more than `max_entry_text_chars`.
        MemoryLimitError: The working value would exceed `max_working_memory_bytes`.
    """
    label, text = cast("str", draft.block), cast("str", draft.content)

    def attempt() -> Flow[tuple[Note, bool]]:
        working = yield from read(memory)
        old = working.block(label)
        content = f"{old.content}\n{text}" if draft.append and old else text
        if len(content) > memory.settings.limits.max_entry_text_chars:
            raise MemoryValidationError(
                "content",
                f"{len(content):,} characters in block {label} with this text",
                f"Keep a block within {memory.settings.limits.max_entry_text_chars:,} characters",
            )
        stored = _encode(label, content, draft, memory.now())
        yield from _save(memory, working, working.with_block(label, stored))
        return cast("Note", _decode(label, stored)), old is None

    return (yield from with_retries(memory, attempt))


def forget(memory: Memory, label: str) -> Flow[bool]:
    """Clear a block, leaving a tombstone without content (S236); tell whether there was one."""

    def attempt() -> Flow[bool]:
        working = yield from read(memory)
        if working.block(label) is None:
            return False
        tombstone = {
            "id": memory_id("fabric", "working", label),
            "content": "",
            "forgotten_at": _time.to_text(_time.to_micros(memory.now())),
        }
        yield from _save(memory, working, working.with_block(label, tombstone))
        return True

    return (yield from with_retries(memory, attempt))


def _save(memory: Memory, working: Working, value: dict[str, Any]) -> Flow[None]:
    size = len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())
    cap = memory.settings.limits.max_working_memory_bytes
    if size > cap:
        raise MemoryLimitError(
            "content",
            f"the working value would take {size:,} bytes",
            f"Shorten or forget blocks; the limit is {cap:,} bytes and can be raised "
            f"to {HARD_CAPS['max_working_memory_bytes']:,}",
        )
    item = {"value": value, "version": working.version + 1}
    yield from batch([PutIfOp(memory.place.working, _KEY, item, working.version, index=False)])


def _encode(label: str, content: str, draft: Draft, now: datetime) -> dict[str, Any]:
    return {
        "id": memory_id("fabric", "working", label),
        "content": content,
        "forgotten_at": None,
        "updated_at": _time.to_text(_time.to_micros(now)),
        "importance": draft.importance,
        "fabric": annotations(draft),
    }


def _decode(label: str, stored: Any) -> Note | None:
    block = _mapping(stored)
    content, updated = block.get("content"), block.get("updated_at")
    if not is_memory_id(block.get("id")) or block.get("forgotten_at") is not None:
        return None
    if not isinstance(content, str) or not content or not isinstance(updated, str):
        return None
    try:
        fields = read_annotations(_mapping(block.get("fabric")))
        ingested_at = _time.to_datetime(_time.parse_instant(updated, "updated_at"))
    except MemoryValidationError:
        return None
    return Note(
        id=cast("str", block["id"]),
        kind="working",
        content=content,
        ingested_at=ingested_at,
        block=label,
        importance=block.get("importance"),
        **fields,
    )


def _mapping(value: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}
