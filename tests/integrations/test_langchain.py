from collections.abc import Callable, Iterator
from typing import Any, NotRequired

import pytest
from langchain.agents import AgentState, create_agent
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from langgraph_fabric import (
    FabricState,
    MemoryFabric,
    MemoryScopeError,
    MemoryValidationError,
    Scope,
)
from langgraph_fabric.embeddings import HashEmbeddings
from langgraph_fabric.integrations.langchain import FabricMiddleware
from langgraph_fabric.testing import ScriptedChatModel, tool_call

DIMS = 64


@pytest.fixture
def store() -> InMemoryStore:
    return InMemoryStore(
        index={"dims": DIMS, "embed": HashEmbeddings(dims=DIMS), "fields": ["text"]}
    )


@pytest.fixture
def fabric(store: InMemoryStore) -> MemoryFabric:
    return MemoryFabric(store, scope=Scope("acme", "{user_id}"))


Ask = Callable[..., Any]


@pytest.fixture(params=["sync", "async"])
def ask(request: pytest.FixtureRequest) -> Ask:
    """Return a way to run an agent by one of its doors."""

    def config(user: str | None, thread: str | None) -> dict[str, Any]:
        values = {"user_id": user, "thread_id": thread}
        return {"configurable": {name: value for name, value in values.items() if value}}

    async def run(
        agent: Any, text: str, user: str | None = "ann", thread: str | None = "t1", **state: Any
    ) -> dict[str, Any]:
        given = {"messages": [HumanMessage(text)], **state}
        if request.param == "sync":
            return agent.invoke(given, config(user, thread))
        return await agent.ainvoke(given, config(user, thread))

    return run


def agent_of(model: ScriptedChatModel, *middleware: Any, **options: Any) -> Any:
    options.setdefault("checkpointer", InMemorySaver())
    return create_agent(model, middleware=list(middleware), **options)


def texts(messages: Any) -> Iterator[str]:
    return (message.text for message in messages)


async def test_recalled_notes_stand_before_the_question_and_blocks_behind_the_system_prompt(
    fabric: MemoryFabric, store: InMemoryStore, ask: Ask
) -> None:
    ann = fabric.at(user_id="ann")
    note = ann.remember(kind="fact", content="Ann prefers metric units")
    ann.remember(kind="working", block="profile", content="Name: Ann")
    model = ScriptedChatModel(script=["Metric."])
    agent = agent_of(model, FabricMiddleware(fabric), store=store, system_prompt="Be brief.")

    done = await ask(agent, "Which units does Ann prefer?")

    system, recalled, question = model.calls[0].messages
    assert system.text.startswith("Be brief.")
    assert "profile: Name: Ann" in system.text
    assert note.id in recalled.text
    assert question.text == "Which units does Ann prefer?"
    assert list(texts(done["messages"])) == ["Which units does Ann prefer?", "Metric."]
    assert "fabric_context" not in done


async def test_an_agent_without_a_system_prompt_gets_one_only_for_blocks(
    fabric: MemoryFabric, store: InMemoryStore, ask: Ask
) -> None:
    model = ScriptedChatModel(script=["Hello.", "Hello Ann."])
    agent = agent_of(model, FabricMiddleware(fabric), store=store)

    await ask(agent, "Hi")
    fabric.at(user_id="ann").remember(kind="working", block="profile", content="Name: Ann")
    await ask(agent, "Hi again")

    first, second = model.calls
    assert not any(isinstance(message, SystemMessage) for message in first.messages)
    assert isinstance(second.messages[0], SystemMessage)


async def test_the_tools_work_in_the_thread_that_the_middleware_attached(
    fabric: MemoryFabric, store: InMemoryStore, ask: Ask
) -> None:
    script = [tool_call("memory_insert", text="Ann has a dog", kind="fact"), "Noted."]
    model = ScriptedChatModel(script=script)
    agent = agent_of(model, FabricMiddleware(fabric), store=store)

    done = await ask(agent, "I have a dog")

    assert done["messages"][2].artifact["found"]
    assert model.calls[0].tools == (
        "memory_view",
        "memory_read",
        "memory_insert",
        "memory_recall",
        "memory_forget",
    )
    (hit,) = fabric.at(user_id="ann").recall("dog").hits
    assert hit.content == "Ann has a dog"
    assert hit.id in model.calls[1].messages[0].text, "the next model call sees the new note"
    assert not fabric.at(user_id="bob").recall("dog").hits


async def test_what_was_forgotten_during_the_run_is_not_shown_to_the_next_model_call(
    fabric: MemoryFabric, store: InMemoryStore, ask: Ask
) -> None:
    note = fabric.at(user_id="ann").remember(kind="fact", content="Ann has a dog")
    model = ScriptedChatModel(script=[tool_call("memory_forget", id=note.id), "Forgotten."])
    agent = agent_of(model, FabricMiddleware(fabric), store=store)

    await ask(agent, "Forget my dog")

    first, second = ("".join(texts(call.messages[:1])) for call in model.calls)
    assert "Ann has a dog" in first
    assert "Ann has a dog" not in second


async def test_a_caller_cannot_set_what_is_shown(
    fabric: MemoryFabric, store: InMemoryStore, ask: Ask
) -> None:
    rule = fabric.at(user_id="ann").remember(kind="procedure", content="Always shout")
    model = ScriptedChatModel(script=["Hello."])
    agent = agent_of(model, FabricMiddleware(fabric), store=store)

    await ask(agent, "Hi", fabric_context={"notes": [rule.id], "explain": [], "coverage": {}})

    assert list(texts(model.calls[0].messages)) == ["Hi"]


async def test_the_state_keeps_ids_and_explain_rows_without_text(
    fabric: MemoryFabric, store: InMemoryStore, ask: Ask
) -> None:
    note = fabric.at(user_id="ann").remember(kind="fact", content="Ann has a dog")
    agent = agent_of(ScriptedChatModel(script=["Yes."]), FabricMiddleware(fabric), store=store)

    await ask(agent, "Have I a dog?")

    context = agent.get_state({"configurable": {"thread_id": "t1"}}).values["fabric_context"]
    assert context["notes"] == [note.id]
    assert [row["id"] for row in context["explain"]] == [note.id]
    assert "Ann has" not in str(context)


@pytest.mark.parametrize(
    ("run", "missing"),
    [({"user": None}, "user_id"), ({"thread": None}, "thread_id")],
    ids=["user", "thread"],
)
async def test_a_run_that_does_not_say_whose_memory_it_is_is_refused(
    fabric: MemoryFabric, store: InMemoryStore, ask: Ask, run: dict[str, None], missing: str
) -> None:
    model = ScriptedChatModel(script=["Hello."])
    agent = agent_of(model, FabricMiddleware(fabric), store=store, checkpointer=None)

    with pytest.raises(MemoryScopeError) as refused:
        await ask(agent, "Hi", **run)

    assert refused.value.field == missing
    assert not model.calls


async def test_options_reach_the_context_node_and_the_tools(
    fabric: MemoryFabric, store: InMemoryStore, ask: Ask
) -> None:
    fabric.at(user_id="ann").remember(kind="procedure", content="Greet Ann in Danish")
    model = ScriptedChatModel(script=["Hej."])
    middleware = FabricMiddleware(fabric, kinds=["procedure"], prefix="notes")
    agent = agent_of(model, middleware, store=store)

    await ask(agent, "Greet me")

    assert "Greet Ann in Danish" in model.calls[0].messages[0].text
    assert {name.split("_")[0] for name in model.calls[0].tools} == {"notes"}


def test_an_unknown_option_is_refused_by_name(fabric: MemoryFabric) -> None:
    with pytest.raises(MemoryValidationError, match="topk"):
        FabricMiddleware(fabric, topk=3)  # type: ignore[call-arg]  # what the test is about


async def test_a_fabric_without_a_store_uses_the_one_the_agent_carries(
    store: InMemoryStore, ask: Ask
) -> None:
    fabric = MemoryFabric(scope=Scope("acme", "{user_id}"))
    script = [tool_call("memory_insert", text="Ann has a dog", kind="fact"), "Noted."]
    agent = agent_of(ScriptedChatModel(script=script), FabricMiddleware(fabric), store=store)

    done = await ask(agent, "I have a dog")

    assert isinstance(done["messages"][-1], AIMessage)
    assert store.search(("fabric", "acme", "ann"), limit=1)


async def test_the_agent_has_schemas_and_its_input_has_no_channel_of_the_fabric(
    fabric: MemoryFabric, store: InMemoryStore
) -> None:
    agent = agent_of(ScriptedChatModel(script=[]), FabricMiddleware(fabric), store=store)

    assert set(agent.get_input_jsonschema()["properties"]) == {"messages"}
    assert "fabric_context" not in agent.get_output_jsonschema()["properties"]


async def test_it_stands_beside_a_state_that_has_the_channel_already(
    fabric: MemoryFabric, store: InMemoryStore, ask: Ask
) -> None:
    class Mine(AgentState[Any], FabricState):
        mood: NotRequired[str]

    note = fabric.at(user_id="ann").remember(kind="fact", content="Ann has a dog")
    model = ScriptedChatModel(script=["Yes."])
    agent = agent_of(model, FabricMiddleware(fabric), store=store, state_schema=Mine)

    done = await ask(agent, "Have I a dog?", mood="curious")

    assert done["mood"] == "curious"
    assert done["fabric_context"]["notes"] == [note.id]
    assert note.id in model.calls[0].messages[0].text
