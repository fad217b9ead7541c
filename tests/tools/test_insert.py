"""Inserts that are cancelled or come at once: a file and its note change together or not at all."""

import asyncio
import threading

import pytest
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.store.base import PutOp
from langgraph.store.memory import InMemoryStore

from langgraph_fabric.tools.jail import FileJail

ANN = {"configurable": {"thread_id": "t1", "user_id": "ann"}}


@pytest.fixture
def root(tmp_path):
    return tmp_path / "root"


@pytest.fixture
def attached(open_fabric):
    with open_fabric.attach("t1"):
        yield open_fabric


def files(root):
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())


@pytest.mark.parametrize("door", ["sync", "async"])
async def test_parallel_calls_of_one_message_each_get_their_answer_b25(attached, store, door):
    ann = attached.at(user_id="ann")
    old = ann.remember(kind="fact", content="Ann plays chess")
    calls = [
        ("insert", {"text": "Ann likes tea", "kind": "fact"}),
        ("insert", {"text": "ann likes TEA", "kind": "fact"}),
        ("insert", {"text": "Ann has a dog", "kind": "fact"}),
        ("forget", {"id": old.id}),
        ("recall", {"query": "Ann"}),
    ]
    message = AIMessage(
        "",
        tool_calls=[
            {"type": "tool_call", "id": str(i), "name": f"memory_{name}", "args": arguments}
            for i, (name, arguments) in enumerate(calls)
        ],
    )
    builder = StateGraph(MessagesState)
    builder.add_node("tools", ToolNode(attached.tools()))
    builder.add_edge(START, "tools")
    graph = builder.compile(store=store)
    for _ in range(10):
        state = {"messages": [message]}
        done = (
            await asyncio.to_thread(graph.invoke, state, ANN)
            if door == "sync"
            else await graph.ainvoke(state, ANN)
        )
        answers = done["messages"][1:]
        assert [answer.tool_call_id for answer in answers] == list("01234")
        assert all(answer.status == "success" for answer in answers)
        assert answers[0].artifact["id"] == answers[1].artifact["id"]
    assert sorted(h.content.lower() for h in ann.recall("Ann").hits) == [
        "ann has a dog",
        "ann likes tea",
    ]


class Slow(InMemoryStore):
    """A store that waits once, before its first read or its first write, until it is let go."""

    phase = "read"

    def __init__(self):
        super().__init__()
        self.begun, self.go = asyncio.Event(), asyncio.Event()

    async def abatch(self, ops):
        ops = list(ops)
        writes = any(isinstance(op, PutOp) for op in ops)
        if not self.begun.is_set() and writes == (self.phase == "write"):
            self.begun.set()
            await self.go.wait()
        return await super().abatch(ops)


async def cancelled_while(store, tools, phase):
    """Insert into a file, and cancel while the store is asked to `phase`."""
    (tool,) = [tool for tool in tools if tool.name == "memory_insert"]
    store.phase = phase
    task = asyncio.create_task(tool.ainvoke({"text": "more", "path": "a.md"}, ANN))
    await store.begun.wait()
    task.cancel()
    await asyncio.sleep(0)
    store.go.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    return tool


class TestCancellation:
    @pytest.fixture
    def store(self):
        return Slow()

    async def test_cancelled_before_the_note_neither_file_nor_note_is_there(
        self, attached, store, root, contents
    ):
        tool = await cancelled_while(store, attached.tools(root), "read")
        assert contents(store) == {}
        assert files(root) == [] if root.exists() else True
        assert await tool.ainvoke({"text": "again", "path": "a.md"}, ANN)
        assert files(root) == ["acme/ann/a.md"]

    async def test_cancelled_while_the_note_is_written_both_are_there(self, attached, store, root):
        await cancelled_while(store, attached.tools(root), "write")
        assert (root / "acme/ann/a.md").read_text() == "more"
        hits = attached.at(user_id="ann").recall("more").hits
        assert [hit.content for hit in hits] == ["more"]
        assert FileJail(root).recover() == 0

    async def test_cancelled_while_the_file_is_staged_nothing_is_left(
        self, attached, store, root, contents, monkeypatch
    ):
        store.go.set()
        begun, go = threading.Event(), threading.Event()
        stage = FileJail.stage_append

        def slow(jail, path, text):
            begun.set()
            go.wait(5)
            return stage(jail, path, text)

        monkeypatch.setattr(FileJail, "stage_append", slow)
        (tool,) = [tool for tool in attached.tools(root) if tool.name == "memory_insert"]
        task = asyncio.create_task(tool.ainvoke({"text": "more", "path": "a.md"}, ANN))
        await asyncio.to_thread(begun.wait, 5)
        task.cancel()
        await asyncio.sleep(0)
        go.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        monkeypatch.undo()
        assert contents(store) == {}
        assert files(root) == []
        await tool.ainvoke({"text": "again", "path": "a.md"}, ANN)
        assert files(root) == ["acme/ann/a.md"]
