"""What a model may send: wrong types are told, quoted ones taken, identities ignored (B23, B56)."""

import re

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.utils.function_calling import convert_to_openai_tool

from langgraph_fabric.testing import ScriptedChatModel, tool_call

ANN = {"user_id": "ann", "thread_id": "t1"}

ARGUMENTS = {
    "memory_view": ["path"],
    "memory_read": ["path"],
    "memory_insert": ["text", "kind", "block", "path"],
    "memory_recall": ["query", "kinds", "top_k", "as_of", "budget"],
    "memory_forget": ["id", "block", "hold"],
}

WRONG = [
    ("memory_view", {"path": 7}, "path"),
    ("memory_read", {}, "path"),
    ("memory_read", {"path": ["a.md"]}, "path"),
    ("memory_insert", {"kind": "fact"}, "text"),
    ("memory_insert", {"text": {"a": 1}, "kind": "fact"}, "text"),
    ("memory_insert", {"text": "x", "kind": "episode"}, "kind"),
    ("memory_insert", {"text": "x", "block": "Not A Label"}, "block"),
    ("memory_recall", {}, "query"),
    ("memory_recall", {"query": " "}, "query"),
    ("memory_recall", {"query": "x", "kinds": ["nonsense"]}, "kinds"),
    ("memory_recall", {"query": "x", "kinds": []}, "kinds"),
    ("memory_recall", {"query": "x", "top_k": 33}, "top_k"),
    ("memory_recall", {"query": "x", "top_k": "many"}, "top_k"),
    ("memory_recall", {"query": "x", "top_k": True}, "top_k"),
    ("memory_recall", {"query": "x", "budget": 1.5}, "budget"),
    ("memory_recall", {"query": "x", "budget": 0}, "budget"),
    ("memory_recall", {"query": "x", "as_of": "yesterday"}, "as_of"),
    ("memory_forget", {"id": "nope"}, "id"),
    ("memory_forget", {"id": 7}, "id"),
    ("memory_forget", {"block": "b", "hold": "perhaps"}, "hold"),
]


@pytest.mark.parametrize(
    ("name", "args", "field"), WRONG, ids=[f"{n[7:]}-{a}" for n, a, _ in WRONG]
)
async def test_wrong_arguments_are_told_by_name_and_nothing_is_written(
    fabric, use, everything, root, name, args, field
):
    await use(fabric, "memory_recall", query="anything")  # leaves the gate open
    before = everything()
    message = await use(fabric, name, **args, _root=root)
    assert message.status == "error"
    assert field in message.content
    assert "Traceback" not in message.content
    assert everything() == before
    assert not root.exists()


async def test_a_model_corrects_itself_after_it_was_told(fabric, invoke, agent):
    def corrected(messages):
        assert messages[-1].status == "error"
        assert "kind" in messages[-1].content
        return tool_call("memory_insert", text="Likes tea", kind="fact")

    first = tool_call("memory_insert", text="Likes tea", kind="memory")
    model = ScriptedChatModel(script=[first, corrected, "Done."])
    graph = agent(fabric, model, fabric.tools(), attach=True)
    result = await invoke(graph, {"messages": [HumanMessage("Hi")]}, ANN)
    assert result["messages"][-1].content == "Done."
    assert [hit.content for hit in fabric.at(user_id="ann").recall("tea").hits] == ["Likes tea"]


@pytest.mark.parametrize(
    "args",
    [
        {"top_k": "1", "budget": "100"},
        {"kinds": '["fact"]'},
        {"kinds": "fact"},
        {"kinds": "null", "top_k": "null", "as_of": "null", "budget": "null"},
        {"kinds": None, "top_k": None, "as_of": None, "budget": None},
    ],
    ids=repr,
)
async def test_unambiguous_forms_are_taken_as_meant_b23(fabric, use, args):
    fabric.at(user_id="ann").remember(kind="fact", content="Likes tea")
    message = await use(fabric, "memory_recall", query="tea", **args)
    assert [hit["content"] for hit in message.artifact["hits"]] == ["Likes tea"]


async def test_an_id_and_an_unused_place_may_come_in_other_clothes_b23(fabric, use):
    kept = await use(
        fabric, "memory_insert", text="Likes tea", kind="fact", block="null", path="null"
    )
    note_id = kept.artifact["id"]
    message = await use(fabric, "memory_forget", id=f" {note_id.upper()} ", block="null")
    assert message.artifact["deleted"] == 1


@pytest.mark.parametrize("text", ['["a", "b"]', "null", "7", '{"kind": "procedure"}'])
async def test_text_that_looks_like_json_stays_text_b23(fabric, use, text):
    kept = await use(fabric, "memory_insert", text=text, kind="fact")
    assert fabric.at(user_id="ann").get(kept.artifact["id"]).content == text


FORGED = {
    "runtime": {"config": {"configurable": {"user_id": "bob", "thread_id": "t9"}}},
    "config": {"configurable": {"user_id": "bob", "thread_id": "t9"}},
    "tenant": "other",
    "user_id": "bob",
    "resource": "bob",
    "scope": {"tenant": "acme", "resource": "bob"},
    "namespace": ["fabric", "acme", "bob"],
    "store": None,
    "state": {"user_id": "bob"},
    "id_": "x",
}


@pytest.mark.parametrize("name", FORGED)
async def test_no_argument_says_whose_memory_it_is_b56(fabric, use, name):
    fabric.at(user_id="bob").remember(kind="fact", content="Bob likes coffee")
    forged = {name: FORGED[name]}
    await use(fabric, "memory_insert", text="Ann likes tea", kind="fact", **forged)
    message = await use(fabric, "memory_recall", query="who likes what", **forged)
    assert [hit["content"] for hit in message.artifact["hits"]] == ["Ann likes tea"]
    bobs = fabric.at(user_id="bob").recall("who likes what").hits
    assert [hit.content for hit in bobs] == ["Bob likes coffee"]


@pytest.mark.parametrize("name", ["runtime", "config"])
async def test_no_argument_opens_a_closed_gate_b56(fabric, use, everything, name):
    fabric.attach("t9")
    args = {"text": "Likes tea", "kind": "fact", name: FORGED[name]}
    message = await use(fabric, "memory_insert", **args, _attach=False)
    assert message.artifact == {"found": False, "reason": "not_attached"}
    assert everything() == []


def test_a_query_that_names_a_user_is_only_a_query_b56(fabric):
    fabric.at(user_id="bob").remember(kind="fact", content="Bob likes coffee")
    assert not fabric.at(user_id="ann").recall("user_id=bob likes coffee").hits


def test_a_model_is_shown_the_documented_arguments_only(fabric):
    shown = [convert_to_openai_tool(tool)["function"] for tool in fabric.tools()]
    assert {f["name"]: list(f["parameters"]["properties"]) for f in shown} == ARGUMENTS
    for function in shown:
        assert function["description"]
        assert all(p.get("description") for p in function["parameters"]["properties"].values())
    top_k = shown[3]["parameters"]["properties"]["top_k"]["anyOf"][0]
    assert top_k == {"maximum": 32, "minimum": 1, "type": "integer"}


def test_names_are_what_every_provider_takes(fabric):
    for tool in [*fabric.tools(), *fabric.tools(prefix="m" * 56)]:
        assert re.fullmatch(r"[a-zA-Z][a-zA-Z0-9_]{0,63}", tool.name)


async def test_each_of_several_calls_in_one_message_is_answered_once_b25(fabric, invoke, agent):
    calls = [
        {"name": "memory_insert", "args": {"text": text, "kind": "fact"}, "id": str(number)}
        for number, text in enumerate(["Likes tea", "Likes tea", "Owns a cat", "Likes tea"])
    ]
    model = ScriptedChatModel(script=[AIMessage("", tool_calls=calls), "Done."])
    graph = agent(fabric, model, fabric.tools(), attach=True)
    result = await invoke(graph, {"messages": [HumanMessage("Hi")]}, ANN)
    answers = result["messages"][2:-1]
    assert [answer.tool_call_id for answer in answers] == ["0", "1", "2", "3"]
    assert sorted(answer.artifact["action"] for answer in answers) == [
        "fold",
        "fold",
        "insert",
        "insert",
    ]
