from collections.abc import Callable, Iterator
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.graph import START, StateGraph

from langgraph_fabric import FabricState, MemoryFabric, Scope
from langgraph_fabric.embeddings import StaticEmbeddings
from langgraph_fabric.store import ChromaStore
from langgraph_fabric.testing import FrozenClock


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
def ann(fabric: MemoryFabric) -> MemoryFabric:
    return fabric.at(user_id="ann")


@pytest.fixture(params=["sync", "async"])
def door(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def run(door: str) -> Callable[..., Any]:
    """Return a way to run a graph by one door: its last state and its custom events."""

    async def driven(graph: Any, *texts: Any, thread: str = "t1", **options: Any) -> Any:
        given = {"messages": [HumanMessage(t) if isinstance(t, str) else t for t in texts]}
        config = {"configurable": {"user_id": "ann", "thread_id": thread}}
        options["stream_mode"] = ["values", "custom"]
        if door == "sync":
            parts = list(graph.stream(given, config, **options))
        else:
            parts = [part async for part in graph.astream(given, config, **options)]
        values = [data for mode, data in parts if mode == "values"]
        return values[-1], [data for mode, data in parts if mode == "custom"]

    return driven


@pytest.fixture
def recalling(fabric: MemoryFabric) -> Callable[..., Any]:
    """Return a way to compile a graph of one context node."""

    def compiled(state: Any = FabricState, options: Any = None, **compile_options: Any) -> Any:
        graph = StateGraph(state)
        graph.add_node("recall", fabric.context_node(**(options or {})))
        graph.add_edge(START, "recall")
        return graph.compile(**compile_options)

    return compiled


@pytest.fixture
def placed(door: str) -> Callable[..., Any]:
    """Return a way to ask a fabric for a state's messages by one door."""

    async def messages(fabric: MemoryFabric, state: Any) -> Any:
        return fabric.messages(state) if door == "sync" else await fabric.amessages(state)

    return messages
