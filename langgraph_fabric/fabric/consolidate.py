"""Consolidation: does a new note repeat an old one, replace it, or stand beside it?

A pure decision over what the caller has looked up. By default the words decide and the cosine only
finds candidates: on real facts no threshold tells a changed value from another subject. What is
neither the same text nor clearly its successor is kept beside it.
"""

from dataclasses import dataclass
from typing import Literal

from langgraph_fabric.fabric._guard import Verdict, guard
from langgraph_fabric.fabric._wording import folding_key

__all__ = [
    "Candidate",
    "Decision",
    "Found",
    "GuardRule",
    "Incoming",
    "SimilarityRule",
    "comparable",
    "decide",
    "ends",
    "folding_key",
    "guard",
]

MOST_CANDIDATES = 5
"""Nearest notes the guard reads; a note ranked lower was never the one replaced."""

RELATED_FROM = 0.90
"""The cosine from which two notes that are both kept are linked and listed in the audit."""

Reason = Literal[
    "same-path",
    "other-path",
    "slot",
    "same-tokens",
    "similarity",
    "no-candidate",
    "kept",
    "named",
    "not-consolidated",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Incoming:
    """A note about to be written, as far as consolidation looks at it."""

    content: str
    kind: Literal["fact", "procedure", "file"] = "fact"
    subject: str | None = None
    attribute: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A stored note of the same kind and scope, valid when the new one begins."""

    id: str
    content: str
    similarity: float = 0.0
    """The cosine with the new note; used only where the note was found by it."""
    subject: str | None = None
    attribute: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What the look-ups for a new note brought up."""

    slot: Candidate | None = None
    """The current note of the same `subject` and `attribute`."""
    same_path: Candidate | None = None
    """The file note at the same path."""
    same_tokens: tuple[Candidate, ...] = ()
    """The notes with the same `folding_key`, wherever they rank."""
    nearest: tuple[Candidate, ...] = ()
    """The nearest notes by cosine, best first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardRule:
    """The default: a candidate is replaced only if the words say so."""

    gate: float
    """The cosine from which a note is read at all; it belongs to the embedder's profile."""
    language: str = "en"


@dataclass(frozen=True, slots=True, kw_only=True)
class SimilarityRule:
    """The rule of the reference (S181): the nearest note is replaced from a cosine on.

    It retires true notes, 2 to 9 in 100 with good embedders; for fixtures and comparisons.
    """

    threshold: float = 0.85


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What to do with a new note, and why: stored with it, so that it can be undone."""

    action: Literal["insert", "fold", "supersede"]
    reason: Reason | Verdict
    target: str | None = None
    """The note folded into or superseded."""
    related: tuple[str, ...] = ()
    """Notes so near that a person should see them side by side."""


def decide(new: Incoming, found: Found, rule: GuardRule | SimilarityRule) -> Decision:
    """Decide what becomes of `new`: by path, else slot, else same tokens, else `rule`."""
    if new.kind == "file":
        return _by_path(found)
    if found.slot is not None:
        repeats = folding_key(found.slot.content) == folding_key(new.content)
        action = "fold" if repeats else "supersede"
        return Decision(action=action, reason="slot", target=found.slot.id)
    same = next((c for c in found.same_tokens if comparable(new, c)), None)
    if same is not None:
        return Decision(action="fold", reason="same-tokens", target=same.id)
    nearest = tuple(c for c in found.nearest if comparable(new, c))
    if isinstance(rule, SimilarityRule):
        return _by_similarity(new, nearest, rule)
    return _by_guard(new, nearest[:MOST_CANDIDATES], rule)


def ends(later: Candidate, new: Incoming, rule: GuardRule | SimilarityRule) -> bool:
    """Tell whether `new`, which speaks of an earlier time, is no longer so once `later` begins."""
    if not comparable(new, later):
        return False
    if isinstance(rule, SimilarityRule):
        return later.similarity >= rule.threshold
    said = guard(new.content, later.content, rule.language)
    return later.similarity >= rule.gate and said is not None


def comparable(new: Incoming, candidate: Candidate) -> bool:
    """Tell whether two notes may speak of the same thing.

    Subjects are equal as soon as one side names one, and notes of two slots never meet.
    """
    attributes = {_folded(new.attribute), _folded(candidate.attribute)} - {None}
    return _folded(candidate.subject) == _folded(new.subject) and len(attributes) <= 1


def _by_path(found: Found) -> Decision:
    if found.same_path is None:
        return Decision(action="insert", reason="other-path")
    return Decision(action="fold", reason="same-path", target=found.same_path.id)


def _folded(name: str | None) -> str | None:
    return None if name is None else folding_key(name)


def _by_similarity(new: Incoming, nearest: tuple[Candidate, ...], rule: SimilarityRule) -> Decision:
    best = next(iter(nearest), None)
    if best is None or best.similarity < rule.threshold:
        return Decision(action="insert", reason="no-candidate")
    if folding_key(best.content) == folding_key(new.content):
        return Decision(action="fold", reason="same-tokens", target=best.id)
    return Decision(action="supersede", reason="similarity", target=best.id)


def _by_guard(new: Incoming, nearest: tuple[Candidate, ...], rule: GuardRule) -> Decision:
    candidates = [candidate for candidate in nearest if candidate.similarity >= rule.gate]
    for candidate in candidates:
        verdict = guard(candidate.content, new.content, rule.language)
        if verdict is not None:
            return Decision(action="supersede", reason=verdict, target=candidate.id)
    return Decision(
        action="insert",
        reason="kept" if candidates else "no-candidate",
        related=tuple(c.id for c in candidates if c.similarity >= RELATED_FROM),
    )
