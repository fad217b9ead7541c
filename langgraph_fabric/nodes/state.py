"""State: the channels a graph needs for its fabric's nodes."""

from typing import Annotated, Any

from langgraph.graph import MessagesState
from typing_extensions import TypedDict  # pydantic makes no schema of typing's before Python 3.12


class FabricContext(TypedDict):
    """What the context node found for the newest user message; ids and numbers, no text."""

    notes: list[str]
    """Ids of the recalled notes, in order."""
    explain: list[dict[str, Any]]
    """Why each is there; see `Explain`."""
    coverage: dict[str, Any]
    """What was searched and what was not; see `Coverage`."""


def keep_newest(_: FabricContext | None, update: FabricContext | None) -> FabricContext | None:
    """Keep the last write; a reducer, so that parallel branches may each recall."""
    return update


class FabricState(MessagesState, total=False):
    """`MessagesState` with the fabric's channel. Mix it into a state of yours, or use it as is."""

    fabric_context: Annotated[FabricContext | None, keep_newest]
