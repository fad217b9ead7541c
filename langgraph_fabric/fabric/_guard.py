"""The guard: does a new text say that an old one is no longer so?

Cosine cannot tell a changed value from another subject or from one more value, so only the words
decide, and only where they leave no doubt. A wrong yes hides a true memory; a wrong no leaves two
notes that recall shows with their dates. Every rule therefore answers no by default.
"""

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from langgraph_fabric import _text
from langgraph_fabric.fabric import _english as english
from langgraph_fabric.fabric._wording import names, words

Verdict = Literal["polarity", "changed-value", "refinement"]
"""How a new text ends an old one: by denial, by another value, or by saying it with more detail."""

_LONGEST_VALUE = 4
"""Tokens on each side; what differs by more is another sentence."""

_LONGEST_REFINEMENT = 6
"""Tokens a refinement may add; more of them likely say something of their own."""

_FEWEST_SHARED = 2
"""Tokens that must agree: a subject and something said of it."""

_FEWEST_SHARED_UNREAD = 3
"""The same where the language cannot be read; one token at most may follow the number then."""

_SHORTEST_REGULAR_PAST = 5
"""Letters; `red`, `bed` and `need` are no past forms."""

_NUMBER = re.compile(r"\d[\d_]*(st|nd|rd|th|am|pm)?\Z")


def guard(old: str, new: str, language: str = "en") -> Verdict | None:
    """Tell how `new` ends `old`, or None when both may be true.

    English is read; of texts in another language only a changed number is recognised.
    """
    before, after = words(old), words(new)
    if language != "en":
        return "changed-value" if _changes_only_a_number(_difference(before, after)) else None
    if _denies(before, after):
        return "polarity"
    capitalised = names(old) | names(new)
    if _is_past(before, capitalised):
        return None
    if _refines(before, after):
        return "refinement"
    if _is_past(after, capitalised):
        return None
    return "changed-value" if _changes_a_value(_difference(before, after), capitalised) else None


@dataclass(frozen=True, slots=True)
class _Difference:
    """Two texts as what they share in front, what differs, and what they share behind."""

    front: list[str]
    old: list[str]
    new: list[str]
    back: list[str]

    @property
    def sides(self) -> tuple[list[str], list[str]]:
        return self.old, self.new

    def is_one_value(self) -> bool:
        """Tell a value from a phrase with a circumstance of its own: `Oslo`, `Oslo in winter`."""
        circumstances = english.PREPOSITIONS.intersection(self.old + self.new)
        return not circumstances and all(0 < len(side) <= _LONGEST_VALUE for side in self.sides)

    def is_within(self, values: frozenset[str]) -> bool:
        return values.issuperset(self.old + self.new)

    def is_numeric(self) -> bool:
        return all(_is_number(token) for token in self.old + self.new)


def _difference(old: list[str], new: list[str]) -> _Difference:
    start = _agreeing(old, new)
    end = _agreeing(old[start:][::-1], new[start:][::-1])
    return _Difference(
        front=old[:start],
        old=old[start : len(old) - end],
        new=new[start : len(new) - end],
        back=old[len(old) - end :],
    )


def _agreeing(left: list[str], right: list[str]) -> int:
    pairs = enumerate(zip(left, right, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(left), len(right)))


def _is_number(token: str) -> bool:
    return token in english.NUMBERS or _NUMBER.match(token) is not None


def _changes_only_a_number(change: _Difference) -> bool:
    return (
        len(change.old) == len(change.new) == 1
        and change.is_numeric()
        and len(change.front) >= _FEWEST_SHARED_UNREAD
        and len(change.back) <= 1
    )


def _denies(before: list[str], after: list[str]) -> bool:
    """Tell whether the texts agree word for word, apart from one side's negation."""
    if _is_negated(before) == _is_negated(after) or _is_denied_in_part(before + after):
        return False
    affirmed = _affirmed(before)
    return affirmed == _affirmed(after) and len(set(affirmed)) >= _FEWEST_SHARED


def _is_negated(tokens: list[str]) -> bool:
    return not english.NEGATIONS.isdisjoint(tokens)


def _is_denied_in_part(tokens: list[str]) -> bool:
    return not english.CONDITIONS.isdisjoint(tokens) or any(
        token in english.NEGATIONS and following in english.SCOPE_WORDS
        for token, following in pairwise(tokens)
    )


def _affirmed(tokens: list[str]) -> list[str]:
    dropped = english.NEGATIONS | english.DO_SUPPORT
    return [_text.stem(token) for token in tokens if token not in dropped]


def _is_past(tokens: list[str], capitalised: frozenset[str]) -> bool:
    """Tell whether something past is reported, which stays true whatever happens next."""
    telling = [token for token in tokens if token not in english.NEGATIONS]
    return not english.PAST.isdisjoint(telling) or any(
        token not in capitalised and before not in english.COPULAS and _is_regular_past(token)
        for before, token in pairwise(telling)
    )


def _is_regular_past(token: str) -> bool:
    return (
        len(token) >= _SHORTEST_REGULAR_PAST and token.endswith("ed") and not token.endswith("eed")
    )


def _changes_a_value(change: _Difference, capitalised: frozenset[str]) -> bool:
    if not change.is_one_value() or not _has_one_value(change.front, change.back):
        return False
    if change.is_numeric():
        return _is_numeric_value(change)
    return _is_closed_value(change) or _is_open_value(change, capitalised)


def _has_one_value(front: list[str], back: list[str]) -> bool:
    """Tell whether the shared words allow one value at a time, as far as they say."""
    return (
        len(front) >= _FEWEST_SHARED
        and front[0] not in english.INDEFINITE
        and not _is_negated(front)  # what it is not, it may not be in many ways
        and not _is_in_progress(front)
        and english.MANY_VALUED.isdisjoint(front + back)
        and english.VERBS_BEHIND.isdisjoint(back)
    )


def _is_in_progress(front: list[str]) -> bool:
    """Tell whether an activity is named (`is reading`), of which there are many."""
    return any(
        verb in english.COPULAS and following.endswith("ing") for verb, following in pairwise(front)
    )


def _is_numeric_value(change: _Difference) -> bool:
    """Tell a value (`port 8080 for staging`) from the number of a thing (`ticket 12 about`)."""
    said = english.SINGLE_VALUED.intersection(change.front)
    if change.front[-1] in english.NUMBERED:
        return False
    if change.front[-1] in english.TIME_PREPOSITIONS and said.isdisjoint(english.COPULAS):
        return False
    return bool(said) or not change.back or change.back[0] in english.PREPOSITIONS


def _is_closed_value(change: _Difference) -> bool:
    """Tell whether both values come from one set of which one at a time is true."""
    if english.COPULAS.isdisjoint(change.front[-2:]):
        return False
    if all(map(_is_date, change.sides)):
        return True
    return any(change.is_within(values) for values in english.EXCLUSIVE)


def _is_date(tokens: list[str]) -> bool:
    return not english.DAYS_AND_MONTHS.isdisjoint(tokens) and all(
        token in english.DAYS_AND_MONTHS or _is_number(token) for token in tokens
    )


def _is_open_value(change: _Difference, capitalised: frozenset[str]) -> bool:
    """Tell whether the words before two values of any kind leave room for one only.

    Both must be names or both not: `lives in Oslo` and `lives in a tent` may both be true.
    """
    are_names = [capitalised.issuperset(side) for side in change.sides]
    if are_names[0] != are_names[1]:
        return False
    telling = [word for word in change.front if word not in english.ARTICLES]
    verb, last = ["", *telling][-2:]
    if last in english.PLACED.get(verb, ()):
        return verb not in english.COPULAS or are_names[0]
    if change.front[-1] not in english.COPULAS:
        return False
    is_property = not english.PROPERTIES.isdisjoint(telling)
    return is_property or (are_names[0] and _is_role(telling[:-1], capitalised))


def _is_role(subject: list[str], capitalised: frozenset[str]) -> bool:
    """Tell `Carol's manager`, who is one person, from `Carol`, who is many things."""
    return len(subject) >= _FEWEST_SHARED and not capitalised.issuperset(subject)


def _refines(before: list[str], after: list[str]) -> bool:
    """Tell whether the new text repeats the old one and goes on with a detail."""
    added = after[len(before) :]
    if after[: len(before)] != before or len(before) < _FEWEST_SHARED or _is_negated(before):
        return False
    if not 0 < len(added) <= _LONGEST_REFINEMENT or not english.CONDITIONS.isdisjoint(added):
        return False
    return added[0] in english.CONTINUATIONS or _is_regular_past(added[0])
