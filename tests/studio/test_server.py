"""The `langgraph_dev` fixture serves a graph with its own store, offline, and ends."""

import json
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from langgraph_sdk import get_sync_client

GRAPH = """
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.runtime import Runtime
from langgraph.store.memory import InMemoryStore


def memories():
    return InMemoryStore()


def note(state: MessagesState, runtime: Runtime):
    said = state["messages"][-1].text
    runtime.store.put(("notes", "u1"), "last", {"text": said})
    runtime.stream_writer({"noted": said})
    return {"messages": [("ai", f"Noted: {said}")]}


builder = StateGraph(MessagesState).add_node(note)
graph = builder.add_edge(START, "note").add_edge("note", END).compile()
"""

CONFIG = {
    "dependencies": ["."],
    "graphs": {"tiny": "./tiny.py:graph"},
    "store": {"path": "./tiny.py:memories"},
}


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "tiny"
    made.mkdir()
    (made / "tiny.py").write_text(GRAPH)
    (made / "langgraph.json").write_text(json.dumps(CONFIG))
    return made


def test_a_thread_runs_over_http_and_its_note_is_read_back(langgraph_dev, folder):
    with langgraph_dev(folder) as address, get_sync_client(url=address) as client:
        thread = client.threads.create()["thread_id"]
        parts = list(
            client.runs.stream(
                thread,
                "tiny",
                input={"messages": [{"role": "user", "content": "remember me"}]},
                stream_mode=["custom", "updates"],
            )
        )
        note = client.store.get_item(["notes", "u1"], "last")
    assert [part.data for part in parts if part.event == "custom"] == [{"noted": "remember me"}]
    assert note["value"] == {"text": "remember me"}
    assert not (folder / ".langgraph_api").exists()
    with pytest.raises(URLError):
        urlopen(f"{address}/ok")  # noqa: S310 -- our own server


def test_a_server_that_cannot_start_fails_the_test_with_its_log(langgraph_dev, folder):
    (folder / "tiny.py").write_text("raise RuntimeError('no graph here')\n")
    with pytest.raises(pytest.fail.Exception, match="no graph here"), langgraph_dev(folder):
        pass
