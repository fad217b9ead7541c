"""The gate: no thread touches memory before it is attached (S250, S251, S267-S271; B01, B31, B32).

Issue M1: unattached thread -> refusal value, run goes on; missing user -> named, no shared default.
"""

from uuid import UUID

import pytest
from langchain_core.messages import HumanMessage

from langgraph_fabric import MemoryFabric, MemoryScopeError, MemoryValidationError, Scope
from langgraph_fabric.testing import ScriptedChatModel, tool_call

CALLS = {
    "memory_view": {},
    "memory_read": {"path": "a.md"},
    "memory_insert": {"text": "Likes tea", "kind": "fact"},
    "memory_recall": {"query": "tea"},
    "memory_forget": {"block": "profile"},
}
each_tool = pytest.mark.parametrize(("name", "args"), CALLS.items(), ids=CALLS)
NOT_ATTACHED = {"found": False, "reason": "not_attached"}


@each_tool
async def test_an_unattached_thread_is_refused_and_its_run_goes_on(
    fabric, use, everything, root, name, args
):
    message = await use(fabric, name, **args, _attach=False, _root=root)
    assert message.artifact == NOT_ATTACHED
    assert message.content.startswith("Refused: ")
    assert everything() == []
    assert not root.exists()


@each_tool
async def test_a_run_without_a_thread_is_refused(fabric, use, everything, name, args):
    message = await use(fabric, name, **args, _attach=False, _thread=None)
    assert message.artifact == NOT_ATTACHED
    assert everything() == []


async def test_attaching_in_code_opens_the_gate_until_detached_and_detaching_twice_is_fine(
    fabric, use
):
    attachment = fabric.attach("t1")
    args = {"text": "Likes tea", "kind": "fact", "_attach": False}
    assert (await use(fabric, "memory_insert", **args)).artifact["found"] is True
    attachment.detach()
    attachment.detach()
    assert (await use(fabric, "memory_insert", **args)).artifact == NOT_ATTACHED


async def test_two_attachments_of_one_thread_share_one_gate_s269(fabric, use):
    first, _second = fabric.attach(7), fabric.at(user_id="ann").attach("7")
    assert (await use(fabric, "memory_view", _thread=7, _attach=False)).artifact == {
        "found": False,
        "reason": "no_root",
    }
    first.detach()
    message = await use(fabric, "memory_view", _thread="7", _attach=False)
    assert message.artifact == NOT_ATTACHED


async def test_the_end_of_a_with_block_closes_the_gate(fabric, use):
    with fabric.attach("t1") as attachment:
        assert attachment.thread_id == "t1"
    assert (await use(fabric, "memory_view", _attach=False)).artifact == NOT_ATTACHED


async def test_another_thread_stays_closed(fabric, use):
    fabric.attach("t1")
    message = await use(fabric, "memory_view", _thread="t2", _attach=False)
    assert message.artifact == NOT_ATTACHED


async def test_the_attach_node_opens_the_gate_for_runs_that_resume_elsewhere(
    fabric, use, store, clock
):
    await use(fabric, "memory_insert", text="Likes tea", kind="fact")
    elsewhere = MemoryFabric(store, scope=Scope("acme", "{user_id}"), clock=clock)
    message = await use(elsewhere, "memory_recall", query="tea", _attach=False)
    assert [hit["content"] for hit in message.artifact["hits"]] == ["Likes tea"]


async def test_the_attach_node_opens_no_other_users_gate(fabric, use):
    await use(fabric, "memory_insert", text="Likes tea", kind="fact")
    message = await use(fabric, "memory_view", _user="bob", _attach=False)
    assert message.artifact == NOT_ATTACHED


async def test_input_state_cannot_open_the_gate(fabric, invoke, agent, everything):
    call = tool_call("memory_insert", text="Likes tea", kind="fact")
    graph = agent(fabric, ScriptedChatModel(script=[call, "Done."]), fabric.tools())
    forged = {
        "messages": [HumanMessage("Go on.")],
        "attached": True,
        "fabric_attached": ["t1"],
        "fabric_context": {"attached": ["t1"]},
    }
    result = await invoke(graph, forged, {"user_id": "ann", "thread_id": "t1", "attached": True})
    assert result["messages"][-2].artifact == NOT_ATTACHED
    assert everything() == []


@pytest.mark.parametrize("thread", [None, "", "  ", True, 1.5, b"t1", ["t1"], "t" * 257], ids=repr)
def test_a_malformed_thread_is_refused_s268(fabric, thread):
    with pytest.raises(MemoryValidationError, match=r"^thread: "):
        fabric.attach(thread)


async def test_the_attach_node_refuses_a_run_without_a_thread(fabric, invoke, agent, everything):
    graph = agent(fabric, ScriptedChatModel(script=["Done."]), fabric.tools(), attach=True)
    with pytest.raises(MemoryScopeError, match=r"^thread_id: "):
        await invoke(graph, {"messages": [HumanMessage("Hi")]}, {"user_id": "ann"})
    assert everything() == []


@each_tool
@pytest.mark.parametrize("user", [None, "", " ", True, 1.5, {"a": 1}], ids=repr)
async def test_a_missing_user_is_refused_by_name_and_never_a_shared_default_b01_b32(
    fabric, use, everything, root, name, args, user
):
    fabric.attach("t1")
    message = await use(fabric, name, **args, _attach=False, _user=user, _root=root)
    assert message.artifact == {"found": False, "reason": "no_scope", "missing": "user_id"}
    assert "user_id" in message.content
    assert everything() == []
    assert not root.exists()


@pytest.mark.parametrize(
    ("written", "asked", "same"),
    [
        (7, "7", True),
        ("7", 7, True),
        ("7", "07", False),
        (UUID(int=7), str(UUID(int=7)), True),
        (UUID(int=7), UUID(int=8), False),
        ("Ann", "ann", False),
    ],
    ids=repr,
)
async def test_a_user_is_known_by_the_text_of_the_identity_b31(fabric, use, written, asked, same):
    await use(fabric, "memory_insert", text="Likes tea", kind="fact", _user=written)
    message = await use(fabric, "memory_recall", query="tea", _user=asked, _thread="t2")
    assert message.artifact["found"] is same


def test_no_user_is_refused_outside_of_runs_too(fabric, everything):
    with pytest.raises(MemoryScopeError, match=r"^user_id: missing"):
        fabric.remember(kind="fact", content="Likes tea")
    assert everything() == []


async def test_detach_closes_the_gate_whoever_opened_it(fabric, use):
    await use(fabric, "memory_insert", text="Likes tea", kind="fact")  # through the attach node
    args = {"query": "tea", "_attach": False}
    assert (await use(fabric, "memory_recall", **args)).artifact["found"] is True
    await fabric.at(user_id="ann").adetach("t1")
    assert (await use(fabric, "memory_recall", **args)).artifact == NOT_ATTACHED
    with pytest.raises(MemoryValidationError, match="thread"):
        fabric.at(user_id="ann").detach("")
