"""What a note is: its kinds, its fields, and the check every written one passes.

`Note` is what callers receive. `Fields` are the annotations that a caller may write and a row
holds, checked alike at both doors. Times are aware UTC datetimes, precise to the microsecond.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Annotated, Any, Final, Literal, Self, TypeVar, cast, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictStr,
    ValidationError,
    model_validator,
)

from langgraph_fabric import _time
from langgraph_fabric._ids import is_memory_id
from langgraph_fabric._paths import normalise_path
from langgraph_fabric._text import estimate_tokens, is_unicode
from langgraph_fabric.errors import MemoryValidationError

Kind = Literal["working", "episode", "fact", "procedure", "file"]
"""`fact`: something true for a while. `procedure`: how to do something. `file`: the index text of a
file. `working`: a named block always in view. `episode`: a view of one observation of a thread."""

StoredKind = Literal["fact", "procedure", "file"]
"""The kinds that are rows of their own, found by recall."""

KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
STORED_KINDS: Final[tuple[StoredKind, ...]] = get_args(StoredKind)

LABELS_CAP = 64
"""Keywords, tags and links a note may have: beyond this they stop describing it (rulings, S166)."""
SOURCES_CAP = 256
"""Source entries a note may cite (rulings, S166)."""

_T = TypeVar("_T", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Link:
    """An edge from a note to another note of the same scope."""

    id: str
    """The other note."""
    relation: str | None = None
    """What the edge means, in the caller's words."""
    weight: float | None = None
    """Its strength, 0 to 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """One note as it is stored."""

    id: str
    """Twelve characters of 0-9a-f."""
    kind: Kind
    content: str
    """The text, as stored."""
    ingested_at: datetime
    """When the memory learned it; kept when the note is rewritten."""
    valid_from: datetime | None = None
    """The first instant it holds; None for "as far back as known"."""
    valid_to: datetime | None = None
    """The first instant it no longer holds; None while it does."""
    t_ref: datetime | None = None
    """The moment the content speaks of."""
    keywords: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    context: str | None = None
    """A sentence that situates the note."""
    links: tuple[Link, ...] = ()
    source_entry_ids: tuple[str, ...] = ()
    """What it was taken from, such as message ids."""
    subject: str | None = None
    """Who or what it is about; with `attribute`, the slot that holds one current note."""
    attribute: str | None = None
    supersedes: str | None = None
    """The note it took the place of."""
    path: str | None = None
    """The file it indexes, relative and normalised; files only."""
    block: str | None = None
    """The block's label; working notes only."""
    importance: float | None = None
    """0 to 1."""
    decision: str | None = None
    """How the last write met the older notes, such as `insert: no-candidate`."""
    sequence: int = 0
    """Orders writes of one scope; microseconds, strictly rising."""
    version: int = 0
    """How often the row was written; what compare-and-set compares."""

    @property
    def token_count(self) -> int:
        """A model-independent token estimate, at least 1 (S158)."""
        return max(1, estimate_tokens(self.content))

    def valid_at(self, moment: datetime) -> bool:
        """Tell whether the note holds at `moment`: from inclusive, to exclusive (S211)."""
        return (self.valid_from is None or self.valid_from <= moment) and (
            self.valid_to is None or moment < self.valid_to
        )


def _moment(bound: _time.Bound) -> BeforeValidator:
    def parse(value: str | date) -> datetime:
        return _time.to_datetime(_time.parse_instant(value, "time", bound=bound))

    return BeforeValidator(parse)


def _id_text(value: str) -> str:
    if not is_memory_id(value):
        raise ValueError("not twelve characters of 0-9a-f")
    return value


def _not_blank(value: str) -> str:
    if not value.strip():
        raise ValueError("blank")
    if not is_unicode(value):
        raise ValueError("with a lone surrogate")
    return value


def _once(values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values))


def _path(value: str) -> str:
    return normalise_path(value, "path")


NoteId = Annotated[
    StrictStr, AfterValidator(_id_text), Field(description="Give an id as remember returned it")
]
Text = Annotated[StrictStr, AfterValidator(_not_blank), Field(description="Give a text")]
_Short = Annotated[
    StrictStr,
    AfterValidator(_not_blank),
    Field(max_length=256, description="Give up to 256 characters, not all of them blank"),
]
_Labels = Annotated[
    tuple[_Short, ...],
    AfterValidator(_once),
    Field(max_length=LABELS_CAP, description=f"Give a list of up to {LABELS_CAP} short strings"),
]
_Sources = Annotated[
    tuple[_Short, ...],
    AfterValidator(_once),
    Field(max_length=SOURCES_CAP, description=f"Give a list of up to {SOURCES_CAP} entry ids"),
]
Share = Annotated[
    float, Field(strict=True, ge=0, le=1, allow_inf_nan=False, description="Give a number 0 to 1")
]
_Instant = Annotated[datetime, _moment("start"), Field(description="Give ISO 8601 or a datetime")]
_Until = Annotated[datetime, _moment("end"), Field(description="Give ISO 8601 or a datetime")]


class LinkFields(BaseModel):
    """A link as callers write it and as rows hold it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: NoteId
    relation: _Short | None = None
    weight: Share | None = None


_Links = Annotated[
    tuple[LinkFields, ...],
    Field(
        max_length=LABELS_CAP,
        description=f"Give a list of up to {LABELS_CAP} objects with id, relation and weight",
    ),
]


class Fields(BaseModel):
    """The annotations that drafts and stored rows share, checked alike at both doors."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    t_ref: _Instant | None = None
    valid_from: _Instant | None = None
    valid_to: _Until | None = None
    keywords: _Labels = ()
    tags: _Labels = ()
    context: Text | None = None
    links: _Links = ()
    source_entry_ids: _Sources = ()
    subject: _Short | None = None
    attribute: _Short | None = None
    supersedes: NoteId | None = None
    path: (
        Annotated[
            StrictStr,
            AfterValidator(_path),
            Field(description="Give a relative POSIX path"),
        ]
        | None
    ) = None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.valid_from and self.valid_to and self.valid_to < self.valid_from:
            raise MemoryValidationError(
                "valid_to", "before valid_from", "Give a later instant, or leave it out"
            )
        if self.attribute is not None and self.subject is None:
            raise MemoryValidationError(
                "subject", "missing beside attribute", "Name the subject whose attribute it is"
            )
        return self


def check_id(value: object) -> str:
    """Return a note's id.

    Raises:
        MemoryValidationError: It is none.
    """
    if not is_memory_id(value):
        raise MemoryValidationError(
            "id", "not twelve characters of 0-9a-f", "Give an id as recall returned it"
        )
    return cast("str", value)


def check(model: type[_T], values: Mapping[str, Any]) -> _T:
    """Return `values` as a checked `model`.

    Raises:
        MemoryValidationError: Naming the first field that is wrong; no value is echoed.
    """
    try:
        return model.model_validate(values)
    except ValidationError as exc:
        fault = exc.errors(include_url=False, include_input=False)[0]
    field = ".".join(str(part) for part in fault["loc"][:2]) or "note"
    cause = fault.get("ctx", {}).get("error")
    if isinstance(cause, MemoryValidationError):
        named = field if cause.field == "time" else cause.field
        raise MemoryValidationError(named, cause.problem, cause.fix)
    top = model.model_fields.get(str(fault["loc"][0])) if fault["loc"] else None
    problem = str(cause) if cause else fault["msg"][:1].lower() + fault["msg"][1:]
    raise MemoryValidationError(
        field, problem, (top.description if top else None) or "Leave it out or see the docs"
    )
