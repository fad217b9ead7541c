"""The context node: what it asks, and what state and stream are told (S123, S273; B29, B46)."""

import json
from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.message import add_messages
from pydantic import BaseModel

from langgraph_fabric import MemoryLimitError, MemoryScopeError, MemoryValidationError
from langgraph_fabric.nodes.state import FabricContext, keep_newest

TEA = "User drinks green tea"


class PydanticState(BaseModel):
    messages: Annotated[list[Any], add_messages] = []
    fabric_context: Annotated[FabricContext | None, keep_newest] = None


@dataclass
class DataclassState:
    messages: Annotated[list[Any], add_messages]
    fabric_context: Annotated[FabricContext | None, keep_newest] = None


async def test_state_gets_ids_and_reasons_but_no_text_of_a_note(ann, run, recalling):
    note = ann.remember(kind="fact", content=TEA, context="Said at lunch", keywords=["beverage"])
    state, _ = await run(recalling(), "What tea?")
    context = state["fabric_context"]
    assert context["notes"] == [note.id]
    assert [row["id"] for row in context["explain"]] == [note.id]
    assert context["coverage"]
    told = json.dumps(context)
    assert not any(text in told for text in (TEA, "lunch", "beverage"))


async def test_the_custom_stream_gets_the_whole_rows(ann, run, recalling):
    note = ann.remember(kind="fact", content=TEA, valid_from="2025-01-01")
    _, events = await run(recalling(), "What tea?")
    (event,) = events
    assert event["type"] == "fabric.recall"
    assert event["hits"][0]["id"] == note.id
    assert event["hits"][0]["content"] == TEA
    assert event["hits"][0]["valid_from"] == "2025-01-01T00:00:00+00:00"
    assert [row["id"] for row in event["explain"]] == [note.id]
    json.dumps(event)  # a server sends it


@pytest.mark.parametrize(
    "messages",
    [
        [HumanMessage("What tea?")],
        [HumanMessage("Any cats?"), AIMessage("No."), HumanMessage("What tea?")],
        [HumanMessage("What tea?"), AIMessage("Any cats?")],
        [HumanMessage("What tea?"), HumanMessage("")],
        [HumanMessage("What tea?"), HumanMessage([])],
        [HumanMessage([{"type": "text", "text": "What"}, {"type": "text", "text": "tea?"}])],
        [HumanMessage("What tea?"), HumanMessage([{"type": "image_url", "image_url": "x"}])],
        [HumanMessage(["What", {"type": "x", "text": None}, "tea?"])],
        [
            HumanMessage("What tea?"),
            AIMessage("", tool_calls=[{"name": "a", "args": {}, "id": "1"}]),
        ],
        [SystemMessage("Any cats?"), HumanMessage("What tea?")],
    ],
    ids=range(10),
)
async def test_what_is_asked_is_the_newest_user_message_with_text_s123_b29(
    ann, run, recalling, messages
):
    tea = ann.remember(kind="fact", content=TEA)
    ann.remember(kind="fact", content="User owns two cats")
    state, _ = await run(recalling(options={"top_k": 1}), *messages)
    assert state["fabric_context"]["notes"] == [tea.id]


@pytest.mark.parametrize(
    "messages",
    [[], [AIMessage("Hi")], [HumanMessage("  ")], [HumanMessage([{"type": "x"}])]],
    ids=["nothing", "no-user", "blank", "no-text"],
)
async def test_when_nothing_was_asked_nothing_is_recalled(ann, run, recalling, messages):
    ann.remember(kind="fact", content=TEA)
    state, events = await run(recalling(), *messages)
    assert state.get("fabric_context") is None
    assert events == []


async def test_an_old_recall_does_not_stay_when_nothing_is_asked_anew(ann, run, recalling):
    ann.remember(kind="fact", content=TEA)
    state, _ = await run(recalling(), "What tea?")
    assert state["fabric_context"]["notes"]
    assert keep_newest(state["fabric_context"], None) is None


async def test_the_query_kinds_top_k_and_budget_can_be_set(ann, run, recalling):
    how = ann.remember(kind="procedure", content="To make tea, boil water")
    ann.remember(kind="procedure", content="To make coffee, grind beans")
    options = {"query": "tea", "kinds": ["procedure"], "top_k": 1, "budget": 100}
    state, _ = await run(recalling(options=options), "Hello")
    assert state["fabric_context"]["notes"] == [how.id]


async def test_it_recalls_what_recall_would_and_no_procedure_unasked_s273(ann, run, recalling):
    ann.remember(kind="procedure", content="To drink green tea, boil water")
    ann.remember(kind="fact", content="User drinks black tea", valid_to="2025-06-01")
    held = ann.remember(kind="fact", content="User drinks white tea at court")
    ann.forget(held.id, hold=True)
    tea = ann.remember(kind="fact", content=TEA)
    state, _ = await run(recalling(), "What tea?")
    assert state["fabric_context"]["notes"] == [tea.id]


@pytest.mark.parametrize(
    ("options", "error", "field"),
    [
        ({"top_k": 33}, MemoryLimitError, "top_k"),
        ({"budget": 0}, MemoryLimitError, "budget"),
        ({"kinds": ["nonsense"]}, MemoryValidationError, "kinds"),
        ({"query": " "}, MemoryValidationError, "query"),
        ({"query": 7}, MemoryValidationError, "query"),
        ({"limit": 5}, MemoryValidationError, "limit"),
    ],
    ids=repr,
)
def test_a_malformed_option_is_refused_when_the_node_is_made(fabric, options, error, field):
    with pytest.raises(error, match=rf"^{field}: "):
        fabric.context_node(**options)


@pytest.mark.parametrize("state_type", [PydanticState, DataclassState])
async def test_state_may_be_a_pydantic_model_or_a_dataclass(ann, run, recalling, state_type):
    note = ann.remember(kind="fact", content=TEA)
    state, _ = await run(recalling(state_type), "What tea?")
    assert state["fabric_context"]["notes"] == [note.id]


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
async def test_no_checkpoint_keeps_the_text_of_a_note(ann, run, recalling, durability):
    saver = InMemorySaver()
    note = ann.remember(kind="fact", content=TEA)
    graph = recalling(checkpointer=saver)
    await run(graph, "What does she drink?", durability=durability)
    config = {"configurable": {"thread_id": "t1"}}
    saved = graph.get_state(config).values
    assert saved["fabric_context"]["notes"] == [note.id]
    assert TEA not in repr(list(saver.list(config)))
    assert TEA.encode() not in b"".join(
        blob for _, blob in saver.blobs.values() if isinstance(blob, bytes)
    )


async def test_a_run_without_a_user_is_refused_by_name(recalling):
    with pytest.raises(MemoryScopeError, match=r"^user_id: "):
        recalling().invoke({"messages": [HumanMessage("Hi")]})
