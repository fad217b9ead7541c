"""An agent of LangChain's that remembers: one middleware is all the wiring.

    python examples/create_agent.py

Offline the model is a script; set FABRIC_MODEL to talk to a real one.
"""

import os
from typing import Any

from langchain.agents import create_agent
from langchain.chat_models import init_chat_model
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_fabric import MemoryFabric, Scope
from langgraph_fabric.integrations.langchain import FabricMiddleware
from langgraph_fabric.store import ChromaStore
from langgraph_fabric.testing import ScriptedChatModel, tool_call


def scripted(prompt: list[BaseMessage]) -> AIMessage | str:
    """Keep what Ann says; answer a question with what was recalled for it."""
    if prompt[-1].type == "tool":
        return "I will remember that."
    if prompt[-1].text.endswith("?"):
        return f"I was shown this:\n{prompt[-2].text}"
    return tool_call("memory_insert", text="Ann prefers metric units", kind="fact")


def chat_model() -> BaseChatModel:
    """Return the model of FABRIC_MODEL, or the script."""
    name = os.environ.get("FABRIC_MODEL")
    return init_chat_model(name) if name else ScriptedChatModel(script=[scripted] * 10)


def ask(agent: Any, thread: str, text: str) -> None:
    """Ask in a thread of Ann's; print the answer."""
    config = {"configurable": {"thread_id": thread, "user_id": "ann"}}
    done = agent.invoke({"messages": [("user", text)]}, config)
    print(f"ann ({thread}): {text}\nagent: {done['messages'][-1].text}\n")


def main() -> None:
    """Tell an agent something in one thread, and ask for it in another."""
    with ChromaStore.in_memory() as store:
        fabric = MemoryFabric(store, scope=Scope("acme", "{user_id}"))
        agent = create_agent(
            chat_model(),
            middleware=[FabricMiddleware(fabric)],
            system_prompt="You are a helpful assistant.",
            checkpointer=InMemorySaver(),
            store=store,
        )
        ask(agent, "monday", "I prefer metric units.")
        ask(agent, "tuesday", "Which units do I prefer?")


if __name__ == "__main__":
    main()
