"""The context node: recalls for the newest user message, and shows why in state and stream.

What it recalls is what `recall` returns, never more (S273). State gets ids and explain rows only,
so that no checkpoint keeps a text that may be forgotten later; the `custom` stream gets the full
rows, for whoever watches the run.
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, TypedDict, cast

from langchain_core.messages import BaseMessage

from langgraph_fabric._flow import Flow
from langgraph_fabric.fabric.engine import Engine
from langgraph_fabric.fabric.memory import Memory
from langgraph_fabric.fabric.query import refuse_malformed
from langgraph_fabric.fabric.recall import Hit, recall
from langgraph_fabric.fabric.run import Run
from langgraph_fabric.fabric.settings import refuse_unknown
from langgraph_fabric.nodes.flow_node import FlowNode
from langgraph_fabric.nodes.placement import messages_of, said_by_user, text_of
from langgraph_fabric.nodes.state import FabricContext
from langgraph_fabric.notes import Kind


class ContextOptions(TypedDict, total=False):
    """What the context node takes; the rest is as in `recall`."""

    query: str
    """Always recall for this, instead of the newest user message."""
    kinds: Sequence[Kind]
    top_k: int
    budget: int


class ContextNode(FlowNode):
    """Recalls for the newest user message into the channel `fabric_context`."""

    def __init__(self, engine: Engine, options: ContextOptions) -> None:
        refuse_unknown(options, ContextOptions, "context_node")
        refuse_malformed(options.get("query", "what a user will ask"), _recall_options(options))
        super().__init__(engine)
        self._options = options

    def flow(self, memory: Memory, run: Run, state: Any) -> Flow[dict[str, Any]]:
        """Return the update of `fabric_context` for a state; empty when nothing was asked."""
        query = self._options.get("query", newest_question(messages_of(state)))
        if query is None:
            return {"fabric_context": None}
        found = yield from recall(memory, query, _recall_options(self._options))
        explain = [cast("dict[str, Any]", row) for row in found.explain]
        hits = [_shown(hit) for hit in found.hits]
        run.emit({"type": "fabric.recall", "hits": hits, "explain": explain})
        update = FabricContext(
            notes=[hit.id for hit in found.hits],
            explain=explain,
            coverage=cast("dict[str, Any]", found.coverage),
        )
        return {"fabric_context": update}


def newest_question(messages: Sequence[BaseMessage]) -> str | None:
    """Return the text of the newest user message that has any (S123)."""
    texts = (text_of(message) for message in reversed(messages) if said_by_user(message))
    return next((text for text in texts if text.strip()), None)


def _recall_options(options: ContextOptions) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name != "query"}


def _shown(hit: Hit) -> dict[str, Any]:
    row = asdict(hit.note)
    moments = {
        name: value.isoformat() for name, value in row.items() if hasattr(value, "isoformat")
    }
    return {**row, **moments, "score": hit.score, "link": hit.link}
