"""Queries: what a caller asks `recall`, checked and with its defaults."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Literal, TypedDict, cast, get_args

from langgraph_fabric import _time
from langgraph_fabric._text import is_unicode
from langgraph_fabric.errors import MemoryLimitError, MemoryValidationError
from langgraph_fabric.fabric.memory import Memory
from langgraph_fabric.fabric.settings import refuse_unknown
from langgraph_fabric.memory.limits import HARD_CAPS, check_limit
from langgraph_fabric.notes import KINDS, STORED_KINDS, Kind, StoredKind

Mode = Literal["hybrid", "vector", "lexical"]
Leg = Literal["vector", "lexical"]

_DEFAULT_KINDS: tuple[Kind, ...] = ("fact", "file")
"""Procedures are returned only when asked for (S209): they are instructions, and an untyped recall
must not carry instructions."""


class RecallOptions(TypedDict, total=False):
    """What `recall` takes besides the query."""

    kinds: Sequence[Kind]
    """Defaults to fact and file; a procedure is returned only when named."""
    as_of: str | date
    """Ask what was true then; defaults to now. A date alone is its last instant."""
    top_k: int
    """Notes to return before linked ones; defaults to the fabric's limit, 5; at most 32."""
    budget: int
    """Estimated tokens of all returned notes; the first is always returned."""
    mode: Mode
    """`hybrid` (default), or one leg alone."""


@dataclass(frozen=True, slots=True)
class Query:
    """A recall's arguments, checked."""

    text: str
    kinds: tuple[Kind, ...]
    as_of: datetime
    top_k: int
    budget: int | None
    legs: tuple[Leg, ...]

    @property
    def stored_kinds(self) -> list[StoredKind]:
        """The asked-for kinds that are rows."""
        return [kind for kind in STORED_KINDS if kind in self.kinds]


def refuse_malformed(text: Any, options: Mapping[str, Any]) -> None:
    """Refuse arguments of a recall that no memory could answer."""
    refuse_unknown(options, RecallOptions, "recall")
    if not isinstance(text, str) or not text.strip() or not is_unicode(text):
        raise MemoryValidationError("query", "not a text, or blank", "Ask with some words")
    if options.get("top_k") is not None:
        check_limit("top_k", options["top_k"], HARD_CAPS["top_k"])
    _checked_kinds(options.get("kinds"))
    _checked_budget(options.get("budget"))


def checked(memory: Memory, text: str, options: Mapping[str, Any]) -> Query:
    """Return the arguments of a recall, checked and with their defaults."""
    refuse_malformed(text, options)
    top_k = options.get("top_k")
    as_of = options.get("as_of")
    return Query(
        text=text,
        kinds=_checked_kinds(options.get("kinds")),
        as_of=memory.now()
        if as_of is None
        else _time.to_datetime(_time.parse_instant(as_of, "as_of", bound="last")),
        top_k=memory.settings.limits.top_k if top_k is None else top_k,
        budget=_checked_budget(options.get("budget")),
        legs=_checked_legs(options.get("mode"), semantic=memory.semantic),
    )


def _checked_kinds(kinds: Any) -> tuple[Kind, ...]:
    if kinds is None:
        return _DEFAULT_KINDS
    if isinstance(kinds, str) or not isinstance(kinds, Iterable):
        kinds = ()
    chosen = tuple(cast("Iterable[Kind]", kinds))
    if not chosen or any(kind not in KINDS for kind in chosen):
        raise MemoryValidationError(
            "kinds", "empty, or with an unknown kind", f"Give a list of {', '.join(KINDS)}"
        )
    return chosen


def _checked_budget(budget: Any) -> int | None:
    if budget is None:
        return None
    if isinstance(budget, bool) or not isinstance(budget, int) or budget < 1:
        raise MemoryLimitError("budget", "not a positive whole number", "Give tokens, 1 or more")
    return budget


def _checked_legs(mode: Any, *, semantic: bool) -> tuple[Leg, ...]:
    if mode is not None and mode not in get_args(Mode):
        raise MemoryValidationError("mode", "unknown", f"Give one of {', '.join(get_args(Mode))}")
    if mode == "vector" and not semantic:
        raise MemoryValidationError(
            "mode", "vector, on a store without embeddings", "Configure the store's index"
        )
    if mode in get_args(Leg):
        return (cast("Leg", mode),)
    return ("vector", "lexical") if semantic else ("lexical",)
