"""`memory_recall`: search the user's notes."""

import json
from contextlib import suppress
from dataclasses import asdict
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, field_validator

from langgraph_fabric._flow import Flow
from langgraph_fabric.fabric.recall import Hit, recall
from langgraph_fabric.tools.calls import Answer, Arguments, Context, ToolSpec

_SHOWN_CHARS = 400
"""What a model sees of each note; enough to judge it, and a full answer stays short (S257)."""


def _not_a_bool(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("not a whole number")  # noqa: TRY004 - pydantic reports a ValueError
    return value


_Notes = Annotated[int, Field(ge=1, le=32), BeforeValidator(_not_a_bool)]
_Tokens = Annotated[int, Field(ge=1), BeforeValidator(_not_a_bool)]


class RecallArguments(Arguments):
    """Arguments of `memory_recall`."""

    query: str = Field(description="What to look for, in words")
    kinds: list[Literal["fact", "procedure", "file"]] | None = Field(
        None, description="Which kinds; facts and files if left out. Ask for 'procedure' by name"
    )
    top_k: _Notes | None = Field(None, description="How many notes at most, 1 to 32")
    as_of: str | None = Field(
        None, description="Ask what was true then: an ISO date or time, such as '2026-03-31'"
    )
    budget: _Tokens | None = Field(None, description="Tokens the answer may take")

    @field_validator("kinds", mode="before")
    @classmethod
    def _listed(cls, kinds: Any) -> Any:
        """Take a list written as JSON text, and one kind for a list of it (B23)."""
        if isinstance(kinds, str):
            with suppress(ValueError):
                kinds = json.loads(kinds)
        return [kinds] if isinstance(kinds, str) else kinds


def _recall(context: Context, arguments: RecallArguments) -> Flow[Answer]:
    options = arguments.model_dump(exclude={"query"}, exclude_none=True)
    found = yield from recall(context.memory, arguments.query, options)
    value: dict[str, Any] = {
        "found": bool(found.hits),
        "hits": [_value(hit) for hit in found.hits],
        "explain": [dict(row) for row in found.explain],
        "coverage": dict(found.coverage),
    }
    lines = [_line(hit) for hit in found.hits]
    return Answer("\n".join(lines) or "No notes matched.", value)


def _line(hit: Hit) -> str:
    path = f" path={hit.note.path}" if hit.note.path else ""
    return f"{hit.id} [{hit.kind}]{path} score={hit.score:.3f} {hit.content[:_SHOWN_CHARS]}"


def _value(hit: Hit) -> dict[str, Any]:
    fields = asdict(hit.note)
    moments = {n: v.isoformat() for n, v in fields.items() if hasattr(v, "isoformat")}
    return {**fields, **moments, "score": hit.score, "link": hit.link}


RECALL = ToolSpec(
    "recall",
    "Search what is known about this user. Answers with ids, which memory_forget takes.",
    RecallArguments,
    _recall,
)
