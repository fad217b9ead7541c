"""The attach and context nodes in real graphs: the gate, the state and the stream."""

import asyncio
import json
from dataclasses import dataclass

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

from langgraph_fabric import FabricState, MemoryScopeError
from langgraph_fabric.testing import ScriptedChatModel, tool_call

TEXT = "Ann prefers metric units"
ANN = {"configurable": {"thread_id": "t1", "user_id": "ann"}}


@dataclass
class Who:
    """A run's typed context."""

    user_id: object = None


def graph_of(fabric, store, *, attach=True, saver=None, model=None):
    """Build the graph of the architecture page, with or without its attach node."""
    model = model or ScriptedChatModel(script=["Metric."])
    tools = fabric.tools()

    def answer(state):
        return {"messages": [model.bind_tools(tools).invoke(fabric.messages(state))]}

    async def aanswer(state):
        messages = await fabric.amessages(state)
        return {"messages": [await model.bind_tools(tools).ainvoke(messages)]}

    from langchain_core.runnables import RunnableLambda  # noqa: PLC0415

    builder = StateGraph(FabricState, context_schema=Who)
    builder.add_node("attach", fabric.attach_node() if attach else lambda _: {})
    builder.add_node("memory", fabric.context_node())
    builder.add_node("model", RunnableLambda(answer, aanswer))
    builder.add_node("tools", ToolNode(tools))
    builder.add_edge(START, "attach")
    builder.add_edge("attach", "memory")
    builder.add_edge("memory", "model")
    builder.add_conditional_edges("model", tools_condition)
    builder.add_edge("tools", "memory")
    return builder.compile(checkpointer=saver or InMemorySaver(), store=store)


@pytest.fixture(params=["sync", "async"])
def ask(request):
    """Return a way to run a graph: the last state, and what the custom stream said."""

    async def run(graph, text, config=ANN, *, context=None, **state):
        given = {"messages": [HumanMessage(text)], **state}
        options = {"context": context, "stream_mode": ["values", "custom"]}
        if request.param == "sync":
            seen = await asyncio.to_thread(lambda: list(graph.stream(given, config, **options)))
        else:
            seen = [part async for part in graph.astream(given, config, **options)]
        values = [value for mode, value in seen if mode == "values"]
        return values[-1], [event for mode, event in seen if mode == "custom"]

    return run


async def test_state_gets_ids_and_reasons_and_only_the_stream_gets_texts(open_fabric, store, ask):
    kept = open_fabric.at(user_id="ann").remember(kind="fact", content=TEXT)
    state, events = await ask(graph_of(open_fabric, store), "Which units?")
    context = state["fabric_context"]
    assert context["notes"] == [kept.id]
    assert context["explain"][0]["id"] == kept.id
    assert TEXT not in json.dumps(context)
    (recalled,) = [event for event in events if event["type"] == "fabric.recall"]
    assert recalled["hits"][0]["content"] == TEXT
    assert json.dumps(recalled)
    assert "Ann" not in "".join(m.text for m in state["messages"])


async def test_the_model_is_shown_the_note_before_the_question(open_fabric, store, ask):
    open_fabric.at(user_id="ann").remember(kind="fact", content=TEXT)
    model = ScriptedChatModel(script=["Metric."])
    await ask(graph_of(open_fabric, store, model=model), "Which units?")
    recalled, question = model.calls[0].messages
    assert TEXT in recalled.text
    assert question.text == "Which units?"


async def test_a_user_in_the_runs_context_comes_before_configurable(open_fabric, store, ask):
    bob = open_fabric.at(user_id="bob").remember(kind="fact", content="Bob prefers feet")
    state, _ = await ask(graph_of(open_fabric, store), "Which units?", context=Who("bob"))
    assert state["fabric_context"]["notes"] == [bob.id]


@pytest.mark.parametrize("user", [None, ""])
async def test_a_run_without_a_user_is_refused_by_name_b32(open_fabric, store, ask, contents, user):
    with pytest.raises(MemoryScopeError, match="user_id"):
        await ask(
            graph_of(open_fabric, store),
            "Which units?",
            {"configurable": {"thread_id": "t1", "user_id": user}},
        )
    assert contents(store) == {}


async def test_a_run_without_a_thread_cannot_attach_b32(open_fabric, store, contents):
    builder = StateGraph(FabricState)
    builder.add_node("attach", open_fabric.attach_node())
    builder.add_edge(START, "attach")
    graph = builder.compile(store=store)
    for config in ({"configurable": {"user_id": "ann"}}, {"configurable": {"user_id": "ann"}}):
        with pytest.raises(MemoryScopeError, match="thread_id"):
            graph.invoke({"messages": []}, config)
        with pytest.raises(MemoryScopeError, match="thread_id"):
            await graph.ainvoke({"messages": []}, config)
    assert contents(store) == {}


@pytest.mark.parametrize(
    ("messages", "query"),
    [
        ([HumanMessage("Which units?"), AIMessage("Metric."), HumanMessage(" ")], "Which units?"),
        ([HumanMessage([{"type": "text", "text": "Which"}, {"type": "x"}, "units?"])], None),
        ([AIMessage("Hello")], ""),
        ([], ""),
    ],
)
def test_the_query_is_the_newest_user_text_s123_b29(open_fabric, store, messages, query):
    open_fabric.at(user_id="ann").remember(kind="fact", content=TEXT)
    builder = StateGraph(FabricState)
    builder.add_node("memory", open_fabric.context_node())
    builder.add_edge(START, "memory")
    state = builder.compile(store=store).invoke({"messages": messages}, ANN)
    assert bool(state["fabric_context"]) == (query != "")


INSERT = tool_call("memory_insert", text="Ann lives in Oslo", kind="fact")


@pytest.mark.parametrize(
    "forged",
    [
        {"fabric_attached": True},
        {"fabric_attached": ["t1"]},
        {"fabric_context": {"notes": [], "explain": [], "coverage": {}, "attached": True}},
    ],
    ids=repr,
)
async def test_no_input_opens_the_gate_and_the_run_goes_on(
    open_fabric, store, ask, contents, forged
):
    model = ScriptedChatModel(script=[INSERT, "Sorry."])
    graph = graph_of(open_fabric, store, attach=False, model=model)
    config = {"configurable": {**ANN["configurable"], "fabric_attached": True, "attached": True}}
    state, events = await ask(graph, "Remember it", config, **forged)
    tool = state["messages"][-2]
    assert tool.artifact == {"found": False, "reason": "not_attached"}
    assert tool.status == "success"
    assert state["messages"][-1].text == "Sorry."
    assert {"type": "fabric.refused", "tool": "insert", "reason": "not_attached"} in events
    assert contents(store) == {}


async def test_a_thread_resumed_by_another_fabric_stays_attached(make, store, ask):
    saver = InMemorySaver()
    await ask(graph_of(make(store), store, saver=saver), "Hello")
    model = ScriptedChatModel(script=["unused", INSERT, "Done."])
    again = graph_of(make(store), store, attach=False, saver=saver, model=model)
    state, _ = await ask(again, "Remember it")
    assert state["messages"][-2].artifact["found"] is True
    other = {"configurable": {"thread_id": "t2", "user_id": "ann"}}
    model = ScriptedChatModel(script=[INSERT, "Sorry."])
    again = graph_of(make(store), store, attach=False, saver=saver, model=model)
    state, _ = await ask(again, "Remember it", other)
    assert state["messages"][-2].artifact["reason"] == "not_attached"


async def test_one_users_gate_is_not_anothers(open_fabric, store, ask):
    await ask(graph_of(open_fabric, store), "Hello")
    model = ScriptedChatModel(script=[INSERT, "Sorry."])
    graph = graph_of(open_fabric, store, attach=False, model=model)
    bob = {"configurable": {"thread_id": "t1", "user_id": "bob"}}
    state, _ = await ask(graph, "Remember it", bob)
    assert state["messages"][-2].artifact["reason"] == "not_attached"


async def test_the_runs_own_store_serves_a_fabric_without_one(make, store, ask):
    fabric = make(None)
    graph = graph_of(fabric, store, model=ScriptedChatModel(script=[INSERT, "Done."]))
    await ask(graph, "Remember it")
    assert make(store).at(user_id="ann").recall("Oslo").hits[0].content == "Ann lives in Oslo"


async def test_another_store_in_the_run_is_warned_about_and_not_used(open_fabric, ask, make_store):
    open_fabric.at(user_id="ann").remember(kind="fact", content=TEXT)
    graph = graph_of(open_fabric, make_store())
    with pytest.warns(RuntimeWarning, match="another store"):
        state, _ = await ask(graph, "Which units?")
    assert len(state["fabric_context"]["notes"]) == 1
