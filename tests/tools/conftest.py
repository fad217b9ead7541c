from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.messages import HumanMessage, ToolMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

from langgraph_fabric import MemoryFabric, Scope
from langgraph_fabric.embeddings import StaticEmbeddings
from langgraph_fabric.store import ChromaStore
from langgraph_fabric.testing import FrozenClock, ScriptedChatModel, tool_call


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


@pytest.fixture
def store(clock: FrozenClock) -> Iterator[ChromaStore]:
    index = {"embed": StaticEmbeddings(), "dims": 256, "fields": ["text"]}
    with ChromaStore.in_memory(index=index, clock=clock) as opened:
        yield opened


@pytest.fixture
def fabric(store: ChromaStore, clock: FrozenClock) -> MemoryFabric:
    return MemoryFabric(store, scope=Scope("acme", "{user_id}"), clock=clock)


@pytest.fixture
def root(tmp_path):
    return tmp_path / "files"


@pytest.fixture(params=["sync", "async"])
def door(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def invoke(door: str) -> Callable[..., Any]:
    """Return a way to run a graph by one of its doors."""

    async def run(graph: Any, given: Any, configurable: Any, **options: Any) -> Any:
        config = {"configurable": configurable}
        if door == "sync":
            return graph.invoke(given, config, **options)
        return await graph.ainvoke(given, config, **options)

    return run


@pytest.fixture
def agent() -> Callable[..., Any]:
    """Return a way to compile a graph: attach if asked to, then model and tools in a loop."""

    def compiled(
        fabric: MemoryFabric,
        model: ScriptedChatModel,
        tools: Any,
        *,
        attach: bool = False,
        state: Any = MessagesState,
        **options: Any,
    ) -> Any:
        graph = StateGraph(state)
        bound = model.bind_tools(tools)
        graph.add_node("model", lambda state: {"messages": bound.invoke(state["messages"])})
        graph.add_node("tools", ToolNode(tools))
        if attach:
            graph.add_node("attach", fabric.attach_node())
            graph.add_edge("attach", "model")
        graph.add_edge(START, "attach" if attach else "model")
        graph.add_conditional_edges("model", tools_condition)
        graph.add_edge("tools", "model")
        return graph.compile(**options)

    return compiled


@pytest.fixture
def use(invoke: Callable[..., Any], agent: Callable[..., Any]) -> Callable[..., Any]:
    """Return a way to have a model call one tool in a graph, and get the tool's message.

    The model speaks once more after it, so each call also shows that the run goes on.
    """

    async def called(fabric: MemoryFabric, name: str, /, **args: Any) -> ToolMessage:
        how = {"root": None, "user": "ann", "thread": "t1", "attach": True, "options": {}}
        how.update({key: args.pop(f"_{key}") for key in how if f"_{key}" in args})
        at = SimpleNamespace(**how)
        tools = fabric.tools(at.root, **at.options)
        model = ScriptedChatModel(script=[tool_call(name, **args), "Done."])
        known = {"user_id": at.user, "thread_id": at.thread}
        result = await invoke(
            agent(fabric, model, tools, attach=at.attach),
            {"messages": [HumanMessage("Go on.")]},
            {key: value for key, value in known.items() if value is not None},
        )
        assert result["messages"][-1].content == "Done."
        return result["messages"][-2]

    return called


@pytest.fixture
def everything(store: ChromaStore) -> Callable[[], Any]:
    """Return a way to see all that is stored, to compare before and after."""

    def items() -> Any:
        return [(i.namespace, i.key, i.value) for i in store.search((), limit=10_000)]

    return items
