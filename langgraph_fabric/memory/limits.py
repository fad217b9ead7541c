"""Limits: one table of defaults and hard caps, resolved once, refused out of range (S18, S20)."""

from dataclasses import dataclass, fields
from typing import Any

from langgraph_fabric.errors import MemoryLimitError


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryLimits:
    """How much a memory takes in and gives out; every value is a whole number."""

    top_k: int = 5
    """Notes a recall returns when it does not say; cap 32."""
    max_entry_text_chars: int = 16_384
    """Characters of one note or block; cap 64,384."""
    max_working_memory_bytes: int = 32_768
    """UTF-8 bytes of a scope's working value as compact JSON; cap 262,144."""
    max_injected_tokens: int = 2_000
    """Estimated tokens that blocks and recalled notes may take in a prompt; cap 8,000."""

    def __post_init__(self) -> None:
        for field in fields(self):
            check_limit(field.name, getattr(self, field.name), HARD_CAPS[field.name])


HARD_CAPS: dict[str, int] = {
    "top_k": 32,
    "max_entry_text_chars": 64_384,
    "max_working_memory_bytes": 262_144,
    "max_injected_tokens": 8_000,
}


def check_limit(field: str, value: Any, cap: int, *, least: int = 0) -> int:
    """Return `value` if it is a whole number from `least` to `cap`.

    Raises:
        MemoryLimitError: It is not; the message names the cap.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= cap:
        raise MemoryLimitError(
            field, "not a whole number within its cap", f"Give {least} to {cap:,}"
        )
    return value
