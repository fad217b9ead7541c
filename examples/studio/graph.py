"""The graph of the Studio example.

The fabric has no store of its own: under `langgraph dev` and on a platform the server brings one.
The graph is compiled without a checkpointer too, for the same reason.
"""

import os
import re
from functools import cache
from pathlib import Path
from typing import Any

from langchain.chat_models import init_chat_model
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, SystemMessage, ToolMessage
from langgraph.graph import START, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.runtime import Runtime
from pydantic import BaseModel, Field

from langgraph_fabric import FabricState, MemoryFabric, Scope
from langgraph_fabric.testing import ScriptedChatModel, tool_call

OFFLINE = "offline"


class Context(BaseModel):
    """What can be set for each run; Studio shows every field at the nodes that read it."""

    user_id: str = Field(
        "demo",
        description="Whose memory this run works with.",
        json_schema_extra={"langgraph_nodes": ["attach", "memory", "model", "tools"]},
    )
    model: str = Field(
        os.environ.get("FABRIC_MODEL", OFFLINE),
        description="A model init_chat_model knows, such as openai:gpt-5-mini; or offline.",
        json_schema_extra={"langgraph_nodes": ["model"], "langgraph_type": "model"},
    )
    system_prompt: str = Field(
        "You are a helpful assistant. Keep what users tell you about themselves in memory.",
        description="What the model is told first.",
        json_schema_extra={"langgraph_nodes": ["model"], "langgraph_type": "prompt"},
    )


fabric = MemoryFabric(scope=Scope("studio", "{user_id}"))
tools = fabric.tools(root=Path(__file__).with_name("files"))


def answer_offline(prompt: list[BaseMessage]) -> AIMessage | str:
    """Answer by three rules, so that the example works without a model.

    "Remember ..." is kept, "forget" with an id is forgotten, and anything else is answered with
    what was recalled for it.
    """
    last = prompt[-1]
    if isinstance(last, ToolMessage):
        return last.text
    if kept := re.match(r"(?i)remember(?: that)?[\s:,]+(.+)", last.text, re.DOTALL):
        return tool_call("memory_insert", text=kept[1].strip(), kind="fact")
    if note_id := re.search(r"(?i)forget.*?\b([0-9a-f]{12})\b", last.text, re.DOTALL):
        return tool_call("memory_forget", id=note_id[1])
    recalled = [m.text for m in prompt if "langgraph_fabric" in m.additional_kwargs]
    return "\n".join(recalled) or 'I know nothing of that. Say "Remember that ..." to tell me.'


@cache
def chat_model(name: str) -> BaseChatModel:
    """Return a chat model by the name the context gives."""
    if name == OFFLINE:
        return ScriptedChatModel(script=[answer_offline] * 1_000)
    return init_chat_model(name)


async def call_model(state: FabricState, runtime: Runtime[Context]) -> dict[str, Any]:
    """Call the model with memory placed into its prompt."""
    context = runtime.context
    prompt = [SystemMessage(context.system_prompt), *state["messages"]]
    placed = await fabric.amessages({**state, "messages": prompt})
    model = chat_model(context.model).bind_tools(tools)
    return {"messages": [await model.ainvoke(placed)]}


builder = StateGraph(FabricState, context_schema=Context)
builder.add_node(
    "attach", fabric.attach_node(), metadata={"does": "Opens memory for this thread's tools."}
)
builder.add_node(
    "memory",
    fabric.context_node(top_k=5),
    metadata={"does": "Recalls for the newest message; the rows say why each note is there."},
)
builder.add_node("model", call_model, metadata={"does": "Answers with memory in the prompt."})
builder.add_node("tools", ToolNode(tools), metadata={"does": "Keeps, reads, recalls, forgets."})
builder.add_edge(START, "attach")
builder.add_edge("attach", "memory")
builder.add_edge("memory", "model")
builder.add_conditional_edges("model", tools_condition)
builder.add_edge("tools", "memory")
graph = builder.compile(name="assistant")
