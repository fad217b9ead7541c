"""Drafts: what a caller asks `remember` to write, checked before anything is read or stored."""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import Annotated, Any, Self, TypedDict

from pydantic import AfterValidator, Field, StrictBool, StrictStr, model_validator

from langgraph_fabric.errors import MemoryValidationError
from langgraph_fabric.notes import KINDS, Fields, Kind, NoteId, Share, Text

_BLOCK_LABEL = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}\Z")


_LABEL_FIX = "Give 1 to 64 of a-z 0-9 . _ - starting with a letter or digit"


def check_label(value: object) -> str:
    """Return a block's label.

    Raises:
        MemoryValidationError: It is none.
    """
    if not isinstance(value, str) or not _BLOCK_LABEL.match(value):
        raise MemoryValidationError("block", "not a block label", _LABEL_FIX)
    return value


class NoteInput(TypedDict, total=False):
    """What `remember` takes, besides the scope. Only `kind` is always needed."""

    kind: Kind
    content: str
    """The text; a file note's defaults to its path."""
    id: str
    """Write exactly this note, in full, without folding."""
    block: str
    """The label of a working block."""
    append: bool
    """Add to the block on a new line instead of replacing it."""
    path: str
    """The path of a file note, relative POSIX."""
    valid_from: str | date
    valid_to: str | date
    """Exclusive; a date alone counts in whole."""
    t_ref: str | date
    keywords: Sequence[str]
    tags: Sequence[str]
    context: str
    links: Sequence[Mapping[str, Any]]
    """Objects with `id` and, if wanted, `relation` and `weight`."""
    source_entry_ids: Sequence[str]
    subject: str
    attribute: str
    supersedes: str
    """Take this note's place whatever the texts say."""
    importance: float


class Draft(Fields):
    """A note as a caller asks for it; consistent for its kind."""

    kind: Annotated[Kind, Field(description=f"Give one of {', '.join(KINDS)}")]
    content: Text | None = None
    id: NoteId | None = None
    importance: Share | None = None
    block: (
        Annotated[
            StrictStr,
            AfterValidator(check_label),
            Field(description=_LABEL_FIX),
        ]
        | None
    ) = None
    append: Annotated[StrictBool, Field(description="Give True or False")] = False

    @model_validator(mode="after")
    def _fits_its_kind(self) -> Self:
        if self.valid_from is not None and self.valid_to == self.valid_from:
            raise MemoryValidationError(
                "valid_to", "not after valid_from", "Give a later instant, or leave it out"
            )
        for field, allowed, missing in _KIND_RULES[self.kind](self):
            if not allowed:
                raise MemoryValidationError(
                    field,
                    f"{'missing from' if missing else 'not possible for'} a {self.kind} note",
                    "Give it" if missing else "Leave it out",
                )
        return self


_Rule = tuple[str, bool, bool]
"""A field, whether the draft is fine about it, and whether a fault is that it is missing."""


def _row_rules(draft: Draft) -> Sequence[_Rule]:
    return [
        ("block", draft.block is None, False),
        ("append", not draft.append, False),
        ("path", draft.path is None, False),
        ("content", draft.content is not None, True),
    ]


def _file_rules(draft: Draft) -> Sequence[_Rule]:
    return [
        ("block", draft.block is None, False),
        ("append", not draft.append, False),
        ("subject", draft.subject is None, False),
        ("path", draft.path is not None, True),
    ]


def _working_rules(draft: Draft) -> Sequence[_Rule]:
    return [
        ("id", draft.id is None, False),
        ("path", draft.path is None, False),
        ("subject", draft.subject is None, False),
        ("supersedes", draft.supersedes is None, False),
        ("block", draft.block is not None, True),
        ("content", draft.content is not None, True),
    ]


def _episode_rules(_: Draft) -> Sequence[_Rule]:
    return [("kind", False, False)]


_KIND_RULES: Mapping[Kind, Callable[[Draft], Sequence[_Rule]]] = {
    "fact": _row_rules,
    "procedure": _row_rules,
    "file": _file_rules,
    "working": _working_rules,
    "episode": _episode_rules,
}
