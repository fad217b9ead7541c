"""The five tools as a model calls them: in a graph's ToolNode, and by direct invoke."""

import asyncio
import json
import os
import threading

import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import ToolException
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.store.base import PutOp
from langgraph.store.memory import InMemoryStore

from langgraph_fabric import MemoryLimitError, MemoryLimits, MemoryValidationError
from langgraph_fabric.tools.jail import FileJail

ANN = {"configurable": {"thread_id": "t1", "user_id": "ann"}}
BOB = {"configurable": {"thread_id": "t1", "user_id": "bob"}}
NAMES = ["memory_view", "memory_read", "memory_insert", "memory_recall", "memory_forget"]


@pytest.fixture
def root(tmp_path):
    return tmp_path / "root"


@pytest.fixture
def attached(open_fabric):
    with open_fabric.attach("t1"):
        yield open_fabric


@pytest.fixture(params=["node", "anode", "invoke", "ainvoke"])
def use(request, store):
    """Return a way to call a tool: `await use(tools, name, config, **arguments)`."""

    async def call(tools, name, config=ANN, /, **arguments):
        request_ = {"type": "tool_call", "id": "c1", "name": f"memory_{name}", "args": arguments}
        if request.param.endswith("invoke"):
            (tool,) = [tool for tool in tools if tool.name == request_["name"]]
            if request.param == "invoke":
                return tool.invoke(request_, config)
            return await tool.ainvoke(request_, config)
        builder = StateGraph(MessagesState)
        builder.add_node("tools", ToolNode(tools))
        builder.add_edge(START, "tools")
        graph = builder.compile(store=store)
        state = {"messages": [AIMessage("", tool_calls=[request_])]}
        if request.param == "node":
            return (await asyncio.to_thread(graph.invoke, state, config))["messages"][-1]
        return (await graph.ainvoke(state, config))["messages"][-1]

    return call


def files(root):
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())


def test_there_are_five_fresh_tools_in_order_s248(fabric, root):
    first, second = fabric.tools(root), fabric.tools(root)
    assert [tool.name for tool in first] == NAMES
    assert all(one is not two for one, two in zip(first, second, strict=True))
    assert not root.exists()


def test_no_schema_asks_for_whose_memory_it_is_b56(fabric):
    for tool in fabric.tools():
        assert not set(tool.tool_call_schema.model_json_schema()["properties"]) & {
            *("runtime", "config", "user_id", "scope", "thread_id", "tenant", "store", "arguments"),
        }


@pytest.mark.parametrize(
    ("error", "options"),
    [
        (MemoryValidationError, {"prefix": "a.b"}),
        (MemoryValidationError, {"prefix": ""}),
        (MemoryValidationError, {"max_file_bytes": 1.5}),
        (MemoryLimitError, {"max_file_bytes": 0}),
        (MemoryLimitError, {"max_file_bytes": 1024 * 1024 + 1}),
        (MemoryValidationError, {"root": " "}),
    ],
    ids=repr,
)
def test_malformed_options_are_refused_when_the_tools_are_made_s249(fabric, root, error, options):
    with pytest.raises(error):
        fabric.tools(**{"root": root, **options})


CALLS = {
    "view": {},
    "read": {"path": "a.md"},
    "insert": {"text": "tea", "kind": "fact"},
    "recall": {"query": "tea"},
    "forget": {"block": "core"},
}


@pytest.mark.parametrize("name", CALLS)
async def test_an_unattached_thread_is_refused_by_value_s250(
    open_fabric, use, root, store, contents, name
):
    answer = await use(open_fabric.tools(root), name, **CALLS[name])
    assert answer.artifact == {"found": False, "reason": "not_attached"}
    assert answer.content.startswith("Refused")
    assert contents(store) == {}
    assert not root.exists()


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("user", [None, "", 1.5])
async def test_a_run_without_a_user_is_refused_by_name_b01_b32(
    attached, use, root, store, contents, name, user
):
    config = {"configurable": {"thread_id": "t1", "user_id": user}}
    answer = await use(attached.tools(root), name, config, **CALLS[name])
    assert answer.artifact == {"found": False, "reason": "no_scope", "missing": "user_id"}
    assert "user_id" in answer.content
    assert contents(store) == {}
    assert not root.exists()


async def test_a_run_without_a_thread_is_refused_b32(attached, use):
    config = {"configurable": {"user_id": "ann"}}
    answer = await use(attached.tools(), "recall", config, query="tea")
    assert answer.artifact == {"found": False, "reason": "not_attached"}


class TestNotes:
    async def test_a_fact_is_kept_known_and_replaced_s254_b34_b35(self, attached, use, clock):
        tools = attached.tools()
        first = await use(tools, "insert", text="Ann lives in Oslo", kind="fact")
        assert first.artifact["action"] == "insert"
        again = await use(tools, "insert", text="Ann  lives in OSLO.", kind="fact")
        assert again.artifact["id"] == first.artifact["id"]
        assert "already known" in again.content.lower()
        clock.advance(days=1)
        moved = await use(tools, "insert", text="Ann lives in Bern", kind="fact")
        assert moved.artifact["action"] == "supersede"
        assert first.artifact["id"] in moved.content

    async def test_a_recall_answers_in_lines_and_values_s257(self, attached, use):
        tools = attached.tools()
        kept = await use(tools, "insert", text="Ann likes tea " + "x" * 500, kind="fact")
        answer = await use(tools, "recall", query="tea", top_k=1)
        assert answer.content.startswith(f"{kept.artifact['id']} [fact] score=1.000 Ann likes tea")
        assert len(answer.content) < 450
        assert answer.artifact["hits"][0]["content"].endswith("xxx")
        assert json.dumps(answer.artifact)
        assert (await use(tools, "recall", BOB, query="tea")).content == "No notes matched."

    async def test_a_procedure_is_found_only_when_named_s209(self, attached, use):
        tools = attached.tools()
        await use(tools, "insert", text="To brew tea, boil water", kind="procedure")
        assert not (await use(tools, "recall", query="tea")).artifact["found"]
        assert (await use(tools, "recall", query="tea", kinds=["procedure"])).artifact["found"]

    async def test_forgetting_twice_and_holding_s258(self, attached, use):
        tools = attached.tools()
        kept = [
            (await use(tools, "insert", text=text, kind="fact")).artifact["id"]
            for text in ("Ann likes tea", "Ann plays chess")
        ]
        once = await use(tools, "forget", id=kept[0])
        twice = await use(tools, "forget", id=kept[0])
        assert [(a.artifact["found"], a.artifact["deleted"]) for a in (once, twice)] == [
            (True, 1),
            (False, 0),
        ]
        held = await use(tools, "forget", id=kept[1], hold=True)
        assert (held.artifact["found"], held.artifact["deleted"], held.artifact["held"]) == (
            True,
            0,
            True,
        )

    async def test_a_block_grows_by_lines_s254(self, attached, use):
        tools = attached.tools()
        first = await use(tools, "insert", text="likes tea", block="core")
        second = await use(tools, "insert", text="likes coffee", block="core")
        assert first.artifact == {"found": True, "block": "core", "created": True, "chars": 9}
        assert second.artifact["chars"] == 22
        assert attached.at(user_id="ann").blocks()[0].content == "likes tea\nlikes coffee"
        assert (await use(tools, "forget", block="core")).artifact["deleted"] == 1


class TestFiles:
    async def test_a_file_and_its_note_are_written_together_s254_s265(self, attached, use, root):
        tools = attached.tools(root)
        first = await use(tools, "insert", text="Packing list for the trip"[:24], path="trip.md")
        assert first.artifact == {
            "found": True,
            "path": "trip.md",
            "bytes": 24,
            "note_truncated": False,
        }
        await use(tools, "insert", text="Passport", path="./trip.md")
        read = await use(tools, "read", path="trip.md")
        assert read.artifact["text"] == "Packing list for the tri\nPassport"
        hits = (await use(tools, "recall", query="passport")).artifact["hits"]
        assert [(hit["path"], hit["content"]) for hit in hits] == [
            ("trip.md", read.artifact["text"])
        ]

    async def test_a_folder_is_listed_and_a_long_file_cut_s252_s253(self, attached, use, root):
        tools = attached.tools(root, max_file_bytes=10)
        await use(tools, "insert", text="0123456789", path="a.txt")
        await use(tools, "insert", text="x", path="sub/b.txt")
        assert (await use(tools, "view")).content == "a.txt (10 bytes)\nsub/"
        cut = await use(attached.tools(root, max_file_bytes=4), "read", path="a.txt")
        assert (cut.artifact["text"], cut.artifact["bytes"], cut.artifact["truncated"]) == (
            "0123",
            10,
            True,
        )

    async def test_what_is_not_there_is_not_found_s250(self, attached, use, root):
        tools = attached.tools(root)
        for name, path in (("view", "none"), ("read", "none.md")):
            answer = await use(tools, name, path=path)
            assert answer.artifact == {"found": False, "reason": "not_found"}
        assert not root.exists()

    async def test_without_a_root_there_are_no_files_s250(self, attached, use):
        for name, arguments in (
            ("view", {}),
            ("read", {"path": "a"}),
            ("insert", {"text": "x", "path": "a"}),
        ):
            answer = await use(attached.tools(), name, **arguments)
            assert answer.artifact == {"found": False, "reason": "no_root"}

    async def test_users_have_folders_of_their_own_s248(self, attached, use, root):
        tools = attached.tools(root)
        await use(tools, "insert", text="of Ann", path="a.md")
        await use(tools, "insert", BOB, text="of Bob", path="a.md")
        assert len(files(root)) == 2
        assert (await use(tools, "read", path="a.md")).artifact["text"] == "of Ann"
        assert (await use(tools, "read", BOB, path="a.md")).artifact["text"] == "of Bob"
        assert (await use(tools, "recall", query="of Ann Bob")).artifact["hits"][0][
            "content"
        ] == "of Ann"

    async def test_a_host_may_share_the_root_s248(self, attached, use, root):
        tools = attached.tools(root, shared_root=True)
        await use(tools, "insert", text="of Ann", path="a.md")
        assert files(root) == ["a.md"]
        assert (await use(tools, "read", BOB, path="a.md")).artifact["text"] == "of Ann"

    @pytest.mark.parametrize(
        "path", ["../etc/passwd", "/etc/passwd", "", " ", "a/../../b", "C:\\a", "link/a.md", "link"]
    )
    @pytest.mark.parametrize("name", ["view", "read", "insert"])
    async def test_no_path_leaves_the_folder_s262_b49_b50(
        self, attached, use, root, tmp_path, store, contents, name, path
    ):
        home = root / "acme" / "ann"
        home.mkdir(parents=True)
        outside = tmp_path / "outside"
        outside.mkdir()
        (home / "link").symlink_to(outside)
        arguments = {"path": path} | ({"text": "x"} if name == "insert" else {})
        answer = await use(attached.tools(root), name, **arguments)
        assert answer.status == "error"
        assert str(tmp_path) not in answer.content
        assert os.listdir(outside) == []  # noqa: PTH208 - as plain as can be
        assert files(root) == ["acme/ann/link"] if (home / "link").is_file() else True
        assert contents(store) == {}

    async def test_an_absolute_path_inside_the_root_is_refused_too_s263(self, attached, use, root):
        answer = await use(attached.tools(root), "insert", text="x", path=str(root / "a.md"))
        assert answer.status == "error"
        assert not root.exists()

    @pytest.mark.parametrize("arguments", [{"text": " "}, {"text": "x" * 11}], ids=["blank", "big"])
    async def test_a_refused_append_leaves_file_and_note_s256(
        self, attached, use, root, store, contents, arguments
    ):
        tools = attached.tools(root, max_file_bytes=12)
        await use(tools, "insert", text="kept", path="a.md")
        before = contents(store), (root / "acme/ann/a.md").read_text()
        answer = await use(tools, "insert", path="a.md", **arguments)
        assert answer.status == "error"
        assert (contents(store), (root / "acme/ann/a.md").read_text()) == before
        assert files(root) == ["acme/ann/a.md"]

    async def test_a_remember_that_fails_leaves_the_file_s256(
        self, attached, use, root, make, store, contents
    ):
        await use(attached.tools(root), "insert", text="kept", path="a.md")
        tight = make(store, limits=MemoryLimits(max_entry_text_chars=0))
        before = contents(store)
        with tight.attach("t1"):
            answer = await use(tight.tools(root), "insert", text="more", path="a.md")
        assert answer.status == "error"
        assert (root / "acme/ann/a.md").read_text() == "kept"
        assert contents(store) == before
        assert files(root) == ["acme/ann/a.md"]


WRONG = {
    "a missing text": ("insert", {"kind": "fact"}),
    "an unknown kind": ("insert", {"text": "x", "kind": "wish"}),
    "no place": ("insert", {"text": "x"}),
    "two places": ("insert", {"text": "x", "kind": "fact", "block": "core"}),
    "a blank text": ("insert", {"text": " ", "kind": "fact"}),
    "a text of numbers": ("insert", {"text": 7, "kind": "fact"}),
    "an oversized text": ("insert", {"text": "x" * 16_385, "kind": "fact"}),
    "a bad label": ("insert", {"text": "x", "block": "CORE!"}),
    "a blank query": ("recall", {"query": " "}),
    "kinds as a text": ("recall", {"query": "x", "kinds": "fact"}),
    "an unknown kind to recall": ("recall", {"query": "x", "kinds": ["wish"]}),
    "too many": ("recall", {"query": "x", "top_k": 33}),
    "no number": ("recall", {"query": "x", "top_k": "many"}),
    "no time": ("recall", {"query": "x", "as_of": "soon"}),
    "no budget": ("recall", {"query": "x", "budget": 0}),
    "nothing to forget": ("forget", {}),
    "both to forget": ("forget", {"id": "0badc0ffee11", "block": "core"}),
    "a malformed id": ("forget", {"id": "N1"}),
    "a held block": ("forget", {"block": "core", "hold": True}),
    "a path of numbers": ("read", {"path": 7}),
}


@pytest.mark.parametrize(("name", "arguments"), WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("door", ["node", "anode"])
async def test_wrong_arguments_get_a_message_to_correct_them_by(
    attached, root, store, contents, door, name, arguments
):
    builder = StateGraph(MessagesState)
    builder.add_node("tools", ToolNode(attached.tools(root)))
    builder.add_edge(START, "tools")
    graph = builder.compile(store=store)
    call = {"type": "tool_call", "id": "c1", "name": f"memory_{name}", "args": arguments}
    state = {"messages": [AIMessage("", tool_calls=[call])]}
    if door == "node":
        done = await asyncio.to_thread(graph.invoke, state, ANN)
    else:
        done = await graph.ainvoke(state, ANN)
    answer = done["messages"][-1]
    assert isinstance(answer, ToolMessage)
    assert (answer.status, answer.tool_call_id) == ("error", "c1")
    assert contents(store) == {}
    assert not root.exists()


@pytest.mark.parametrize(
    "forged",
    [
        {"runtime": {"config": BOB, "context": {"user_id": "bob"}}},
        {"config": BOB},
        {"scope": "bob", "user_id": "bob", "namespace": ["bob"]},
        {"configurable": {"user_id": "bob"}},
        {"context": {"user_id": "bob"}, "as_user": "bob", "filters": {"user_id": "bob"}},
        {"tool_call_id": "other", "state": {"fabric_attached": True}, "store": None},
    ],
    ids=repr,
)
async def test_no_argument_says_whose_memory_it_is_b56(attached, use, forged):
    tools = attached.tools()
    attached.at(user_id="bob").remember(kind="fact", content="Canary of Bob")
    kept = await use(tools, "insert", text="Ann likes tea", kind="fact", **forged)
    assert attached.at(user_id="ann").get(kept.artifact["id"]) is not None
    answer = await use(tools, "recall", query="canary of Bob", **forged)
    assert "Canary" not in repr(answer)
    assert answer.tool_call_id == "c1"


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


def test_a_tool_raises_what_a_model_can_correct_outside_of_a_graph(attached):
    tool = attached.tools()[2]
    tool.handle_tool_error = False
    with pytest.raises(ToolException, match="kind"):
        tool.invoke({"text": "x"}, ANN)
