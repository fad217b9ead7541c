"""`memory_forget`: forget one note or one block, or hold a note."""

from dataclasses import asdict
from typing import Annotated

from pydantic import Field, StringConstraints

from langgraph_fabric._flow import Flow
from langgraph_fabric.fabric.forget import forget
from langgraph_fabric.tools.calls import Answer, Arguments, Context, ToolSpec


class ForgetArguments(Arguments):
    """Arguments of `memory_forget`: exactly one of `id` and `block`."""

    id: Annotated[str, StringConstraints(strip_whitespace=True, to_lower=True)] | None = Field(
        None, description="The note's id, as memory_recall shows it"
    )
    block: str | None = Field(None, description="Or the label of a block")
    hold: bool = Field(
        default=False,
        description="Only when told to keep it for legal reasons: hide the note, delete nothing",
    )


def _forget(context: Context, arguments: ForgetArguments) -> Flow[Answer]:
    done = yield from forget(context.memory, arguments.id, arguments.block, hold=arguments.hold)
    what = arguments.id if arguments.block is None else f"block {arguments.block}"
    if done.held:
        text = f"{what} is held: kept, and shown to nobody."
    else:
        text = f"Forgot {what}." if done.deleted else f"Nothing to forget: there is no {what}."
    return Answer(text, {"found": done.held or done.deleted > 0, **asdict(done)})


FORGET = ToolSpec(
    "forget",
    "Forget one note by its id, or one block by its label. It cannot be undone.",
    ForgetArguments,
    _forget,
)
