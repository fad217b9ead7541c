"""Settings: a fabric's options, resolved once when it is made (S144)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from langgraph_fabric.errors import MemoryValidationError
from langgraph_fabric.memory.limits import MemoryLimits

Guard = Literal["strict", "similarity"]
"""`strict`: the texts' own words decide. `similarity`: the cosine alone does, as the reference."""

_DEFAULT_THRESHOLD = 0.85


@dataclass(frozen=True, slots=True, kw_only=True)
class Consolidation:
    """How a new note meets the old ones."""

    enabled: bool = True
    """False writes every note as a row of its own."""
    guard: Guard = "strict"
    threshold: float = _DEFAULT_THRESHOLD
    """The cosine at which the `similarity` guard acts (S145)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a fabric was told at construction."""

    consolidate: Consolidation = field(default_factory=Consolidation)
    limits: MemoryLimits = field(default_factory=MemoryLimits)


def refuse_unknown(options: Mapping[str, Any], known: type, door: str) -> None:
    """Refuse options that the TypedDict `known` does not have: a misspelt one would be no option.

    Raises:
        MemoryValidationError: Naming the first of them, and `door`, which does not take it.
    """
    unknown = set(options) - set(known.__annotations__)
    if unknown:
        raise MemoryValidationError(min(unknown), f"not an option of {door}", "Leave it out")


def consolidation(option: bool | Mapping[str, Any]) -> Consolidation:  # noqa: FBT001 - as the user wrote it
    """Return the `consolidate` option resolved; a mapping keeps the default on (S145, S148).

    Raises:
        MemoryValidationError: The option is neither, names an unknown key, or a value is off.
    """
    if isinstance(option, bool):
        return Consolidation(enabled=option)
    known = {"enabled", "guard", "threshold"}
    if not isinstance(option, Mapping) or not set(option) <= known:
        raise MemoryValidationError(
            "consolidate",
            "neither True, False nor a mapping of its options",
            "Give any of enabled, guard and threshold",
        )
    chosen = Consolidation(**option)
    threshold = chosen.threshold
    if not isinstance(chosen.enabled, bool):
        raise MemoryValidationError("consolidate.enabled", "not a bool", "Give True or False")
    if chosen.guard not in get_args(Guard):
        raise MemoryValidationError("consolidate.guard", "unknown", "Give strict or similarity")
    if (
        isinstance(threshold, bool)
        or not isinstance(threshold, int | float)
        or not 0 <= threshold <= 1
    ):
        raise MemoryValidationError("consolidate.threshold", "not a share", "Give a number 0 to 1")
    return chosen
