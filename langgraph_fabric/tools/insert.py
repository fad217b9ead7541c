"""`memory_insert`: keep a text, as a note, in a block that is always in view, or in a file.

A file and its note change together or not at all: the new file waits under another name until the
note is committed, and then takes the old one's place (S256).
"""

from typing import Literal

from pydantic import Field

from langgraph_fabric._flow import Flow, call
from langgraph_fabric.errors import MemoryValidationError
from langgraph_fabric.fabric.drafts import Draft
from langgraph_fabric.fabric.remember import remember
from langgraph_fabric.notes import check
from langgraph_fabric.tools.calls import Answer, Arguments, Context, ToolSpec, no_root
from langgraph_fabric.tools.jail import FileJail


class InsertArguments(Arguments):
    """Arguments of `memory_insert`: a text and exactly one place for it."""

    text: str = Field(description="What to keep, in plain words that make sense on their own")
    kind: Literal["fact", "procedure"] | None = Field(
        None, description="Keep it as a note: 'fact' for what is true, 'procedure' for how to do it"
    )
    block: str | None = Field(
        None, description="Or add a line to this always visible block, such as 'profile'"
    )
    path: str | None = Field(None, description="Or append to this file, such as 'notes/trip.md'")


def _insert(context: Context, arguments: InsertArguments) -> Flow[Answer]:
    places = [name for name in ("kind", "block", "path") if getattr(arguments, name) is not None]
    if len(places) != 1:
        raise MemoryValidationError(
            "kind",
            f"{len(places)} of kind, block and path are given",
            "Give exactly one of them, for example kind='fact'",
        )
    if arguments.path is not None:
        if context.jail is None:
            return no_root()
        return (yield from _into_file(context, context.jail, arguments.path, arguments.text))
    if arguments.block is not None:
        return (yield from _into_block(context, arguments.block, arguments.text))
    return (yield from _as_note(context, arguments))


def _as_note(context: Context, arguments: InsertArguments) -> Flow[Answer]:
    draft = check(Draft, {"kind": arguments.kind, "content": arguments.text})
    kept = yield from remember(context.memory, draft)
    said = {
        "insert": f"Kept as {kept.id}.",
        "fold": f"Already known as {kept.id}.",
        "supersede": f"Kept as {kept.id}; it takes the place of {kept.note.supersedes}.",
    }
    value = {"found": True, "id": kept.id, "action": kept.action, "reason": kept.reason}
    return Answer(said[kept.action], value)


def _into_block(context: Context, block: str, text: str) -> Flow[Answer]:
    draft = check(Draft, {"kind": "working", "block": block, "content": text, "append": True})
    kept = yield from remember(context.memory, draft)
    chars, created = len(kept.note.content), kept.action == "insert"
    return Answer(
        f"Added to block {block}, which has {chars:,} characters now.",
        {"found": True, "block": block, "created": created, "chars": chars},
    )


def _into_file(context: Context, jail: FileJail, path: str, text: str) -> Flow[Answer]:
    cap = context.memory.settings.limits.max_entry_text_chars
    if not text.strip():
        raise MemoryValidationError("text", "blank", "Give some words to keep")
    staged = yield from call(lambda: jail.stage_append(path, text))
    try:
        fields = {"kind": "file", "path": staged.path, "content": staged.content[:cap]}
        yield from remember(context.memory, check(Draft, fields))
    except BaseException:
        yield from call(staged.discard)
        raise
    size = yield from call(staged.commit, finishes=True)
    cut = len(staged.content) > cap
    return Answer(
        f"Appended to {staged.path}, which has {size:,} bytes now."
        + (f" Recall sees its first {cap:,} characters." if cut else ""),
        {"found": True, "path": staged.path, "bytes": size, "note_truncated": cut},
    )


INSERT = ToolSpec(
    "insert",
    "Keep something about this user for later conversations. Give the text and exactly one of "
    "kind, block or path.",
    InsertArguments,
    _insert,
)
