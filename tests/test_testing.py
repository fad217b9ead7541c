from datetime import UTC, date, datetime, timedelta, timezone
from functools import reduce
from operator import add

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

from langgraph_fabric.errors import MemoryValidationError
from langgraph_fabric.testing import (
    FrozenClock,
    HashEmbeddings,
    ScriptedChatModel,
    ScriptExhaustedError,
    tool_call,
)


@tool
def weigh(thing: str) -> str:
    """Tell what a thing weighs."""
    return f"{thing}: 3 kg"


@tool
def ring() -> str:
    """Ring the bell."""
    return "rang"


async def ask(runnable, value, config=None, *, doors: str):
    return (
        runnable.invoke(value, config) if doors == "sync" else await runnable.ainvoke(value, config)
    )


async def stream(runnable, value, config=None, *, doors: str, **options):
    if doors == "sync":
        return list(runnable.stream(value, config, **options))
    return [piece async for piece in runnable.astream(value, config, **options)]


@pytest.fixture(params=["sync", "async"])
def doors(request):
    return request.param


def graph_of(model, **options):
    builder = StateGraph(MessagesState)
    bound = model.bind_tools([weigh, ring])
    builder.add_node("model", lambda state: {"messages": [bound.invoke(state["messages"])]})
    builder.add_node("tools", ToolNode([weigh, ring]))
    builder.add_edge(START, "model")
    builder.add_conditional_edges("model", tools_condition)
    builder.add_edge("tools", "model")
    return builder.compile(**options)


async def test_the_number_of_ai_messages_in_the_prompt_picks_the_reply(doors):
    model = ScriptedChatModel(script=["one", AIMessage("two"), lambda messages: f"{len(messages)}"])
    prompt = [SystemMessage("s"), HumanMessage("h")]
    said = []
    for _ in range(3):
        reply = await ask(model, [*prompt, *said], doors=doors)
        said.append(reply)
    assert [reply.text for reply in said] == ["one", "two", "4"]
    assert (await ask(model, prompt, doors=doors)).text == "one"


async def test_a_script_that_is_too_short_says_which_reply_is_missing(doors):
    model = ScriptedChatModel(script=["only"])
    with pytest.raises(ScriptExhaustedError, match="asked for reply 2, but it has 1") as caught:
        await ask(model, [HumanMessage("a"), AIMessage("only"), HumanMessage("b")], doors=doors)
    assert (caught.value.turn, caught.value.replies) == (2, 1)
    assert len(model.calls) == 1


async def test_bound_tools_are_recorded_by_name_on_the_one_model(doors):
    model = ScriptedChatModel(script=["hello"])
    await ask(model.bind_tools([weigh, ring]), "hi", doors=doors)
    await ask(model, "hi", doors=doors)
    assert [call.tools for call in model.calls] == [("weigh", "ring"), ()]
    assert [message.text for message in model.calls[0].messages] == ["hi"]


async def test_a_recorded_prompt_keeps_what_was_said_at_the_time(doors):
    model = ScriptedChatModel(script=["hello"])
    message = HumanMessage("before")
    await ask(model, [message], doors=doors)
    message.content = "after"
    assert model.calls[0].messages[0].text == "before"


async def test_a_reply_leaves_as_a_copy(doors):
    scripted = tool_call("weigh", thing="cat")
    model = ScriptedChatModel(script=[scripted])
    reply = await ask(model, "hi", doors=doors)
    reply.tool_calls[0]["args"]["thing"] = "dog"
    again = await ask(model, "hi", doors=doors)
    assert again.tool_calls[0]["args"] == {"thing": "cat"}
    assert scripted.id is None
    assert again.id != reply.id


async def test_a_reply_streams_word_by_word(doors):
    model = ScriptedChatModel(script=["  It weighs\n3 kg. "])
    chunks = await stream(model, "hi", doors=doors)
    assert [chunk.text for chunk in chunks if chunk.text] == ["  It ", "weighs\n", "3 ", "kg. "]
    assert chunks[-1].chunk_position == "last"
    assert reduce(add, chunks).text == "  It weighs\n3 kg. "


async def test_tool_calls_stream_as_chunks_that_add_up_to_the_call(doors):
    first, second = tool_call("weigh", thing="a big cat"), tool_call("ring")
    both = AIMessage("Let me see.", tool_calls=[*first.tool_calls, *second.tool_calls])
    chunks = await stream(ScriptedChatModel(script=[both]), "hi", doors=doors)
    assert max(len(chunk.tool_call_chunks) for chunk in chunks) == 1
    whole = reduce(add, chunks)
    assert whole.tool_calls == both.tool_calls
    assert whole.text == "Let me see."


async def test_streaming_keeps_usage_metadata_and_malformed_calls(doors):
    usage = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}
    broken = {"name": "weigh", "args": "not json", "id": "x", "error": None}
    reply = AIMessage(
        [{"type": "text", "text": "hm"}], usage_metadata=usage, invalid_tool_calls=[broken]
    )
    whole = reduce(add, await stream(ScriptedChatModel(script=[reply]), "hi", doors=doors))
    assert whole.usage_metadata == usage
    assert [call["args"] for call in whole.invalid_tool_calls] == ["not json"]
    assert whole.text == "hm"


async def test_an_empty_reply_streams(doors):
    assert reduce(add, await stream(ScriptedChatModel(script=[""]), "hi", doors=doors)).text == ""


async def test_it_drives_an_agent_through_its_tools(doors):
    model = ScriptedChatModel(script=[tool_call("weigh", thing="cat"), "The cat weighs 3 kg."])
    agent = create_agent(model, [weigh, ring])
    state = await ask(agent, {"messages": "how heavy?"}, doors=doors)
    assert [message.text for message in state["messages"][2:]] == [
        "cat: 3 kg",
        "The cat weighs 3 kg.",
    ]
    assert [call.tools for call in model.calls] == [("weigh", "ring")] * 2


async def test_a_tool_node_answers_its_calls_and_the_graph_streams_tokens(doors):
    model = ScriptedChatModel(script=[tool_call("weigh", thing="cat"), "It weighs 3 kg."])
    pieces = await stream(
        graph_of(model), {"messages": "how heavy?"}, doors=doors, stream_mode="messages"
    )
    assert [m.text for m, _ in pieces if m.text] == ["cat: 3 kg", "It ", "weighs ", "3 ", "kg."]


async def test_a_fork_gets_the_reply_of_its_turn_again(doors):
    def answer(messages):
        return f"You said {messages[-1].text}."

    model = ScriptedChatModel(script=["Hello.", answer, "Bye."])
    graph = graph_of(model, checkpointer=InMemorySaver())
    thread = {"configurable": {"thread_id": "t"}}
    await ask(graph, {"messages": "hi"}, thread, doors=doors)
    before = graph.get_state(thread).config
    first = await ask(graph, {"messages": "left"}, thread, doors=doors)
    fork = await ask(graph, {"messages": "right"}, before, doors=doors)
    assert [state["messages"][-1].text for state in (first, fork)] == [
        "You said left.",
        "You said right.",
    ]


def test_a_tool_call_has_the_same_id_in_every_run():
    call = tool_call("memory_recall", query="units", top_k=3)
    assert call.tool_calls == [
        {
            "name": "memory_recall",
            "args": {"query": "units", "top_k": 3},
            "id": "call_219f49fc2538",
            "type": "tool_call",
        }
    ]
    assert (
        call.tool_calls[0]["id"] != tool_call("memory_recall", query="colour").tool_calls[0]["id"]
    )


def test_a_tool_call_may_have_an_argument_called_name():
    assert tool_call("ring", name="x").tool_calls[0]["args"] == {"name": "x"}


def test_the_answered_call_is_told_by_its_id():
    call = tool_call("ring").tool_calls[0]
    answer = ToolNode([weigh, ring]).tools_by_name["ring"].invoke(call)
    assert isinstance(answer, ToolMessage)
    assert answer.tool_call_id == call["id"]


@pytest.mark.parametrize(
    "start",
    [
        "2026-03-01",
        "2026-03-01T01:00:00+01:00",
        date(2026, 3, 1),
        datetime(2026, 3, 1),  # noqa: DTZ001 -- without an offset it is UTC
        datetime(2026, 3, 1, 2, tzinfo=timezone(timedelta(hours=2))),
    ],
    ids=["day", "text", "date", "naive", "aware"],
)
def test_a_frozen_clock_stands_where_it_is_put_in_utc(start):
    clock = FrozenClock(start)
    assert clock() == clock() == datetime(2026, 3, 1, tzinfo=UTC)
    assert clock().tzinfo is UTC


def test_a_frozen_clock_moves_only_when_told():
    clock = FrozenClock()
    assert clock() == datetime(2026, 1, 1, tzinfo=UTC)
    assert clock.advance(days=1, seconds=2) == clock() == datetime(2026, 1, 2, 0, 0, 2, tzinfo=UTC)
    assert clock.advance(timedelta(hours=-1)) == datetime(2026, 1, 1, 23, 0, 2, tzinfo=UTC)
    assert clock.set("2025-12-31T00:00:00.000001Z").microsecond == 1


def test_a_frozen_clock_refuses_what_is_no_instant():
    with pytest.raises(MemoryValidationError, match=r"^clock: not an instant"):
        FrozenClock("noon")


def test_hash_embeddings_are_among_the_fakes():
    assert len(HashEmbeddings().embed_query("a word")) == 32
