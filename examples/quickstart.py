"""The tour: a graph that remembers across threads, says why, keeps a gate, and forgets.

    python examples/quickstart.py

Two users and three threads in one compiled graph, in a folder that is removed at the end. The model
is a script, so nothing leaves this machine; set FABRIC_MODEL to a model that `init_chat_model`
knows, such as "openai:gpt-5-mini", to talk to that one. What memory does is the same.
"""

import os
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from langgraph_fabric import FabricState, MemoryFabric, Recall, Scope
from langgraph_fabric.store import ChromaStore
from langgraph_fabric.testing import FrozenClock, ScriptedChatModel, tool_call

MEET = "I am Ann and I live in Aarhus. Start a packing list for Japan: rain jacket, adapter."
MOVE = "I moved. I live in Odense now."
LIST = "What is on my packing list?"
ERASE = "Forget where I live."
ASK = "Where do I live?"
RETRY = "Try again, please. Where do I live?"


def forget_first_hit(messages: list[BaseMessage]) -> AIMessage:
    """Forget the note that the recall before this turn put first."""
    return tool_call("memory_forget", id=messages[-1].artifact["hits"][0]["id"])


SCRIPT: dict[str, list[Any]] = {
    MEET: [
        tool_call("memory_insert", text="Name: Ann", block="profile"),
        tool_call("memory_insert", text="The user lives in Aarhus", kind="fact"),
        tool_call("memory_insert", text="Japan: rain jacket, adapter", path="trips/japan.md"),
        "Hello Ann. I noted where you live, and started the list.",
    ],
    MOVE: [
        tool_call("memory_insert", text="The user lives in Odense", kind="fact"),
        "Noted: Odense.",
    ],
    LIST: [tool_call("memory_read", path="trips/japan.md"), "A rain jacket and an adapter."],
    ERASE: [tool_call("memory_recall", query="lives in"), forget_first_hit, "Forgotten."],
    ASK: [tool_call("memory_recall", query="where the user lives"), "I cannot look that up."],
    RETRY: [tool_call("memory_recall", query="where the user lives"), "I know nothing of that."],
}
"""What the offline model does with each question, step by step."""


def scripted(messages: list[BaseMessage]) -> AIMessage | str:
    """Return the step that follows what was done since the newest question."""
    asked = max(i for i, message in enumerate(messages) if isinstance(message, HumanMessage))
    step = sum(isinstance(message, AIMessage) for message in messages[asked:])
    reply = SCRIPT[messages[asked].text][step]
    return reply(messages) if callable(reply) else reply


def chat_model() -> BaseChatModel:
    """Return the model of FABRIC_MODEL, or the script."""
    if name := os.environ.get("FABRIC_MODEL"):
        from langchain.chat_models import init_chat_model  # noqa: PLC0415 - only for a real model

        return init_chat_model(name)
    return ScriptedChatModel(script=[scripted] * 100)


def build(
    fabric: MemoryFabric,
    store: ChromaStore,
    saver: InMemorySaver,
    root: Path,
    *,
    attach: bool = True,
) -> Any:
    """Return the graph: attach, recall, model, tools. Without `attach` its gate stays closed."""
    tools = fabric.tools(root=root)
    model = chat_model().bind_tools(tools)
    system = SystemMessage("You are a travel assistant. Keep what users tell you in memory.")

    def call_model(state: FabricState) -> dict[str, Any]:
        return {"messages": [model.invoke([system, *fabric.messages(state)])]}

    builder = StateGraph(FabricState)
    builder.add_node("memory", fabric.context_node())
    builder.add_node("model", call_model)
    builder.add_node("tools", ToolNode(tools))
    if attach:
        builder.add_node("attach", fabric.attach_node())
        builder.add_edge(START, "attach")
        builder.add_edge("attach", "memory")
    else:
        builder.add_edge(START, "memory")
    builder.add_edge("memory", "model")
    builder.add_conditional_edges("model", tools_condition)
    builder.add_edge("tools", "memory")
    return builder.compile(checkpointer=saver, store=store)


class Tour:
    """Talks to the graph and prints what is worth seeing."""

    def __init__(self) -> None:
        self.console = Console(width=100)

    def scene(self, title: str) -> None:
        """Print a heading."""
        self.console.print()
        self.console.rule(f"[bold]{title}")

    def say(self, text: str, style: str = "") -> None:
        """Print a line below what was said."""
        self.console.print(f"  {escape(text)}", style=style, highlight=False)

    def talk(self, graph: Any, user: str, thread: str, text: str) -> None:
        """Ask one question; print the tool calls and the answer."""
        config = {"configurable": {"user_id": user, "thread_id": thread}}
        done = graph.invoke({"messages": [HumanMessage(text)]}, config)
        new = done["messages"]
        asked = max(i for i, message in enumerate(new) if isinstance(message, HumanMessage))
        self.console.print(f"[cyan]{user}[/] in {thread}: {escape(text)}", highlight=False)
        for message in new[asked + 1 :]:
            for call in getattr(message, "tool_calls", ()):
                self.say(f"{call['name']} {call['args']}", style="dim")
            if message.type == "tool":
                self.say(f"-> {message.text}", style="green")
        self.console.print(f"[magenta]agent[/]: {escape(new[-1].text)}\n", highlight=False)

    def explain(self, title: str, found: Recall) -> None:
        """Print a recall as a table: what was found, when it holds, and what put it there."""
        table = Table("note", "holds from", "until", "score", "cosine", "words", title=title)
        for hit, why in zip(found.hits, found.explain, strict=True):
            note = hit.note
            table.add_row(
                f"{note.kind}: {note.content}",
                f"{note.valid_from or note.ingested_at:%Y-%m-%d}",
                f"{note.valid_to:%Y-%m-%d}" if note.valid_to else "",
                f"{hit.score:.2f}",
                _leg(why["similarity"], why["vector_rank"]),
                _leg(why["lexical"], why["lexical_rank"]),
            )
        if found.hits:
            self.console.print(table)
        else:
            self.say(f"{title}: nothing")


def _leg(score: float | None, rank: int | None) -> str:
    return "-" if score is None else f"{score:.2f} (#{rank})"


def main() -> None:
    """Run the tour."""
    tour, clock = Tour(), FrozenClock("2026-01-10")
    with TemporaryDirectory() as folder, ChromaStore.from_path(f"{folder}/memories") as store:
        fabric = MemoryFabric(store, scope=Scope("acme", "{user_id}"), clock=clock)
        wire = partial(build, fabric, store, InMemorySaver(), Path(folder, "files"))
        graph = wire()
        ann = fabric.at(user_id="ann")

        tour.scene("1. The model keeps a block, a fact and a file (10 January)")
        tour.talk(graph, "ann", "ann-1", MEET)

        tour.scene("2. Another thread; a fact changes (15 April)")
        clock.set("2026-04-15")
        tour.talk(graph, "ann", "ann-2", MOVE)
        tour.talk(graph, "ann", "ann-2", LIST)
        tour.explain("Where Ann lives, today", ann.recall(ASK, kinds=["fact"]))
        then = ann.recall(ASK, kinds=["fact"], as_of="2026-02-01")
        tour.explain("The same, as of 1 February", then)
        for block in ann.blocks():
            tour.say(f"Always in view, as block {block.block}: {block.content}")

        tour.scene("3. A procedure is recalled only when asked for")
        ann.remember(kind="procedure", content="To book a train, ask for the date first")
        tour.explain("Untyped", ann.recall("book a train"))
        tour.explain("Procedures", ann.recall("book a train", kinds=["procedure"]))

        tour.scene("4. The gate, and another user")
        closed = wire(attach=False)
        tour.talk(closed, "bob", "bob-1", ASK)
        tour.talk(graph, "bob", "bob-1", RETRY)

        tour.scene("5. Forget")
        tour.talk(graph, "ann", "ann-2", ERASE)
        tour.explain("Where Ann lives, today", ann.recall("lives in", kinds=["fact"]))


if __name__ == "__main__":
    main()
