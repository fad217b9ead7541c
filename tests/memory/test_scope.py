"""Scope: whose memory it is; no two users share a label, no missing one gets a default."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_fabric import MemoryScopeError, MemoryValidationError, Scope
from langgraph_fabric.memory.scope import escape_label, identity

HEX = "0b5e1f6e8a7c4c1d9d0e5f3a2b1c4d5e"
parts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12) | st.text(
    "%.@/2E5\n", min_size=1, max_size=6
)


@given(parts, parts)
def test_different_parts_have_different_labels_b04(one, other):
    assert (escape_label(one) == escape_label(other)) == (one == other)


@given(parts)
def test_a_label_is_one_that_every_store_takes_b04(part):
    label = escape_label(part)
    assert label
    assert not set(label) & {".", "/", "\0", "\n"}
    assert not label.startswith("@")


@given(parts.filter(str.strip), parts.filter(str.strip))
def test_different_users_never_share_a_namespace(one, other):
    scope = Scope("acme", "team-{user_id}")
    spaces = [scope.namespace({"user_id": user}.get) for user in (one, other)]
    assert (spaces[0] == spaces[1]) == (one == other)


def test_memory_of_all_threads_lies_beside_that_of_one():
    values = {"user_id": "ann", "thread_id": "@all"}.get
    assert Scope("acme", "{user_id}").namespace(values) == ("fabric", "acme", "ann", "@all")
    own = Scope("acme", "{user_id}", thread="{thread_id}").namespace(values)
    assert own == ("fabric", "acme", "ann", "%40all")


@pytest.mark.parametrize(
    ("value", "text"), [(7, "7"), ("7", "7"), ("07", "07"), (UUID(HEX), str(UUID(HEX))), (HEX, HEX)]
)
def test_an_identity_follows_the_checkpointers_rule_b01_b31(value, text):
    assert identity(value, "user_id") == text


@pytest.mark.parametrize(
    "value", [None, "", " \n", True, 1.0, b"ann", ["ann"], "x" * 257, "\udc80"]
)
def test_what_is_no_identity_is_refused_by_name_b01(value):
    with pytest.raises(MemoryScopeError, match="user_id"):
        Scope("acme", "{user_id}").namespace({"user_id": value}.get)


@pytest.mark.parametrize(
    "part", ["", " ", "{a}{b}", "{a}-{b}", "{", "}", "{}", "{1}", "{a.b}", None, 7, ["ann"]]
)
@pytest.mark.parametrize("field", ["tenant", "resource"])
def test_a_malformed_part_is_refused_at_construction_b56(field, part):
    with pytest.raises(MemoryValidationError, match=field):
        Scope(**{"tenant": "acme", "resource": "ann", field: part})
