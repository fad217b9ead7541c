"""The Studio example under a real `langgraph dev`: what a person sees there comes over HTTP."""

from pathlib import Path

import pytest
from langgraph_sdk import get_sync_client

EXAMPLE = Path(__file__).parents[2] / "examples" / "studio"


@pytest.fixture
def client(langgraph_dev):
    with langgraph_dev(EXAMPLE) as address, get_sync_client(url=address) as client:
        yield client


def say(client, thread, text, **options):
    return list(
        client.runs.stream(
            thread,
            "assistant",
            input={"messages": [{"role": "user", "content": text}]},
            stream_mode=["custom", "updates"],
            **options,
        )
    )


def events(parts, kind):
    return [p.data for p in parts if p.event == "custom" and p.data["type"] == kind]


def test_the_server_shows_the_graph_its_memory_and_why_notes_were_recalled(client):
    thread = client.threads.create()["thread_id"]
    first = say(client, thread, "Remember that the office is in Berlin")
    assert events(first, "fabric.attached") == [{"type": "fabric.attached", "thread_id": thread}]

    asked = client.threads.create()["thread_id"]
    second = say(client, asked, "Where is the office?")
    (recall,) = events(second, "fabric.recall")
    assert recall["hits"][0]["content"] == "the office is in Berlin"
    assert recall["explain"][0]["id"] == recall["hits"][0]["id"]

    state = client.threads.get_state(asked)["values"]
    assert state["fabric_context"]["explain"] == recall["explain"]
    assert "the office is in Berlin" in state["messages"][-1]["content"]

    note = client.store.get_item(
        ["fabric", "studio", "demo", "@all", "notes", "fact"], recall["hits"][0]["id"]
    )
    assert note["value"]["text"] == "the office is in Berlin"
    found = client.store.search_items(["fabric", "studio", "demo"], query="office")
    assert note["key"] in [item["key"] for item in found["items"]]

    other = say(client, asked, "Where is the office?", context={"user_id": "somebody-else"})
    assert [event["hits"] for event in events(other, "fabric.recall")] == [[]]


def test_the_server_describes_the_graph_as_studio_draws_it(client):
    (assistant,) = client.assistants.search(graph_id="assistant")
    graph = client.assistants.get_graph("assistant")
    nodes = {node["id"]: node for node in graph["nodes"]}
    assert {"attach", "memory", "model", "tools"} <= set(nodes)
    assert "recall" in nodes["memory"]["metadata"]["does"].lower()

    schemas = client.assistants.get_schemas(assistant["assistant_id"])
    user = schemas["context_schema"]["properties"]["user_id"]
    assert user["default"] == "demo"
    assert "memory" in user["langgraph_nodes"]
    assert "fabric_context" in schemas["state_schema"]["properties"]
