from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.store.memory import InMemoryStore

from langgraph_fabric import MemoryFabric, MemoryValidationError, Scope


@pytest.fixture
def ann() -> MemoryFabric:
    return MemoryFabric(InMemoryStore(), scope=Scope("acme", "{user_id}")).at(user_id="ann")


@pytest.mark.parametrize(
    "forged",
    [{"x": 1}, [1], "text", {"notes": "abc"}, {"notes": [1, None, "../x"]}],
    ids=["no notes", "a list", "a text", "notes a text", "no ids"],
)
def test_a_channel_that_the_context_node_did_not_write_places_nothing(
    ann: MemoryFabric, forged: Any
) -> None:
    question = HumanMessage("Hi")

    assert ann.messages({"messages": [question], "fabric_context": forged}) == [question]


def test_a_misspelt_option_is_refused_by_name(ann: MemoryFabric) -> None:
    with pytest.raises(MemoryValidationError, match="topk: not an option of context_node"):
        ann.context_node(topk=1)  # type: ignore[call-arg]  # what the test is about
    with pytest.raises(MemoryValidationError, match="prefx: not an option of tools"):
        ann.tools(prefx="x")  # type: ignore[call-arg]  # the same
