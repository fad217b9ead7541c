"""The gate: who can open a thread, and who cannot."""

import pytest

from langgraph_fabric import MemoryFabric, MemoryValidationError, Scope
from langgraph_fabric.fabric import gate


def is_open(fabric, thread):
    """Tell what a tool of the fabric would find."""
    (tool,) = [tool for tool in fabric.tools() if tool.name == "memory_recall"]
    config = {"configurable": {"thread_id": thread, "user_id": "ann"}}
    call = {"type": "tool_call", "id": "c", "name": tool.name, "args": {"query": "tea"}}
    return tool.invoke(call, config).artifact.get("reason") != "not_attached"


def test_a_thread_is_closed_until_it_is_attached_s250(fabric):
    assert not is_open(fabric, "t1")
    with fabric.attach("t1"):
        assert is_open(fabric, "t1")
        assert not is_open(fabric, "t2")
    assert not is_open(fabric, "t1")


def test_detaching_twice_is_fine_and_closes_for_all_s269(fabric):
    one, two = fabric.attach("t1"), fabric.attach("t1")
    one.detach()
    assert not is_open(fabric, "t1")
    one.detach()
    two.detach()


def test_a_copy_for_another_user_shares_the_gate_of_code(open_fabric):
    with open_fabric.attach("t1"):
        assert is_open(open_fabric.at(user_id="bob"), "t1")


@pytest.mark.parametrize("thread", [None, "", " ", True, {"id": "t1"}])
def test_what_is_no_thread_cannot_be_attached_s268(fabric, thread):
    with pytest.raises(MemoryValidationError, match="thread"):
        fabric.attach(thread)


def test_variants_of_a_thread_id_open_no_other_gate_b31(fabric):
    with fabric.attach(7):
        assert is_open(fabric, 7)
        assert is_open(fabric, "7")
        assert not is_open(fabric, "07")
        assert not is_open(fabric, " 7")


def test_a_gate_opened_in_the_store_is_found_by_another_fabric(fabric, store):
    opened = fabric._engine.open()
    opened.run(gate.attach(opened.memory, "t1"))
    other = MemoryFabric(store, scope=Scope("acme", "{user_id}"))
    assert is_open(other, "t1")
    assert not is_open(MemoryFabric(store, scope=Scope("other", "{user_id}")), "t1")


def test_constructing_and_attaching_touch_no_store_s9(make):
    fabric = make(None, scope=Scope("acme", "ann"))
    fabric.attach("t1").detach()
    fabric.tools()
    fabric.context_node()
    fabric.attach_node()
