"""The Studio example without its server: the graph draws, has schemas, and remembers."""

import json
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from langgraph.store.memory import InMemoryStore

from langgraph_fabric.embeddings import StaticEmbeddings

STUDIO = Path(__file__).parents[2] / "examples" / "studio"


@pytest.fixture(scope="module")
def example() -> Iterator[ModuleType]:
    """Import the example's graph as the server does, with its folder on the path."""
    sys.path.insert(0, str(STUDIO))
    yield import_module("graph")
    sys.path.remove(str(STUDIO))
    del sys.modules["graph"]


@pytest.fixture
def graph(example: ModuleType) -> Any:
    """Return the graph with the store a server would give it."""
    index = {"dims": 256, "embed": StaticEmbeddings(), "fields": ["text"]}
    return example.graph.copy(update={"store": InMemoryStore(index=index)})


def test_the_configuration_names_a_graph_and_a_store_that_are_there(example: ModuleType) -> None:
    named = json.loads((STUDIO / "langgraph.json").read_text())

    file, attribute = named["graphs"]["assistant"]["path"].split(":")
    module, _, factory = named["store"]["path"].rpartition(".")
    assert (STUDIO / file).name == "graph.py"
    assert hasattr(example, attribute)
    assert callable(getattr(import_module(module), factory))


def test_every_node_says_what_it_does(example: ModuleType) -> None:
    nodes = example.graph.get_graph().to_json()["nodes"]
    named = {node["id"]: node.get("metadata", {}) for node in nodes}

    assert set(named) == {"__start__", "attach", "memory", "model", "tools", "__end__"}
    assert all(named[name]["does"] for name in ("attach", "memory", "model", "tools"))


def test_input_output_and_context_have_schemas(example: ModuleType) -> None:
    context = example.graph.get_context_jsonschema()["properties"]

    assert "messages" in example.graph.get_input_jsonschema()["properties"]
    assert "fabric_context" in example.graph.get_output_jsonschema()["properties"]
    assert context["user_id"]["default"] == "demo"
    assert context["system_prompt"]["langgraph_type"] == "prompt"
    assert context["model"]["langgraph_nodes"] == ["model"]


async def test_it_remembers_across_threads_with_the_default_context_and_keeps_users_apart(
    graph: Any,
) -> None:
    async def say(text: str, thread: str, **context: str) -> dict[str, Any]:
        config = {"configurable": {"thread_id": thread}}
        return await graph.ainvoke({"messages": [("user", text)]}, config, context=context)

    await say("Remember that I live in Odense", "t1")
    known = await say("Where do I live?", "t2")
    unknown = await say("Where do I live?", "t3", user_id="other")

    assert "I live in Odense" in known["messages"][-1].text
    assert [row["kind"] for row in known["fabric_context"]["explain"]] == ["fact"]
    assert "Odense" not in unknown["messages"][-1].text

    (note_id,) = known["fabric_context"]["notes"]
    await say(f"Forget {note_id}", "t2")
    gone = await say("Where do I live?", "t4")
    assert gone["fabric_context"]["notes"] == []


async def test_the_rows_are_on_the_custom_stream(graph: Any) -> None:
    config = {"configurable": {"thread_id": "t1"}}
    asked = {"messages": [("user", "Where do I live?")]}

    events = [
        event async for event in graph.astream(asked, config, context={}, stream_mode="custom")
    ]

    assert [event["type"] for event in events] == ["fabric.attached", "fabric.recall"]
