"""`MemoryFabric`: the one object a graph's author holds.

Each verb is a pair of one-line doors, one for each colour of function, onto the same flow.
"""

from collections.abc import Callable, Mapping
from copy import copy
from pathlib import Path
from typing import Any, Unpack
from uuid import uuid4

from langchain_core.messages import BaseMessage
from langchain_core.tools import BaseTool
from langgraph.store.base import BaseStore

from langgraph_fabric._adapter import Capabilities
from langgraph_fabric._flow import Flow, T
from langgraph_fabric._time import Clock, system_clock
from langgraph_fabric.embeddings import EmbedderProfile
from langgraph_fabric.errors import MemoryValidationError
from langgraph_fabric.fabric import blocks, forget, gate, recall, remember
from langgraph_fabric.fabric.drafts import Draft, NoteInput
from langgraph_fabric.fabric.engine import Engine
from langgraph_fabric.fabric.forget import Forgotten
from langgraph_fabric.fabric.gate import Attachment
from langgraph_fabric.fabric.memory import Memory, rows_by_id
from langgraph_fabric.fabric.query import RecallOptions
from langgraph_fabric.fabric.recall import Recall
from langgraph_fabric.fabric.remember import Remembered
from langgraph_fabric.fabric.settings import Settings, consolidation
from langgraph_fabric.memory.limits import MemoryLimits
from langgraph_fabric.memory.scope import Scope
from langgraph_fabric.nodes import AttachNode, ContextNode, ContextOptions, placed
from langgraph_fabric.notes import Note, check, check_id
from langgraph_fabric.tools import ToolOptions, memory_tools


class MemoryFabric:
    """A governed long-term memory over a LangGraph store.

    Inside a run the scope is filled from the run; outside, with `at`. Nothing is opened, read or
    started before the first verb.

    Args:
        store: Any LangGraph store; None uses the one the run carries, as under `langgraph dev`.
        scope: Whose memory; its placeholders are filled from the run's context, then its
            configurable, then its authenticated user.
        consolidate: False writes every note as it is; a mapping sets `guard` and `threshold`.
        limits: Sizes and defaults.
        profile: The embedder's numbers, where the store hides its embedder.
        clock: Gives the time, for tests.
        nonce: Gives what keeps equal notes' ids apart, for tests.

    Raises:
        MemoryValidationError: An option is malformed.
    """

    def __init__(
        self,
        store: BaseStore | None = None,
        *,
        scope: Scope,
        consolidate: bool | Mapping[str, Any] = True,
        limits: MemoryLimits | None = None,
        profile: EmbedderProfile | None = None,
        clock: Clock = system_clock,
        nonce: Callable[[], str] = lambda: uuid4().hex,
    ) -> None:
        if not isinstance(scope, Scope):
            raise MemoryValidationError("scope", "not a Scope", 'Give Scope("tenant", "{user_id}")')
        if store is not None and not isinstance(store, BaseStore):
            raise MemoryValidationError(
                "store", f"a {type(store).__name__}", "Give a LangGraph store, such as ChromaStore"
            )
        settings = Settings(consolidate=consolidation(consolidate), limits=limits or MemoryLimits())
        self._engine = Engine(
            scope=scope, store=store, settings=settings, profile=profile, clock=clock, nonce=nonce
        )

    def at(self, **values: object) -> "MemoryFabric":
        """Return this fabric with placeholders of its scope filled, for use outside a run.

        `fabric.at(user_id="u1").recall("...")`; the values come from host code, and win over a
        run's.
        """
        bound = copy(self)
        bound._engine = self._engine.at(values)  # noqa: SLF001 - its own copy
        return bound

    @property
    def capabilities(self) -> Capabilities:
        """What the store under this fabric can promise."""
        return self._engine.adapter().capabilities

    def remember(self, **note: Unpack[NoteInput]) -> Remembered:
        """Write a note, meeting the notes that are already there; see `NoteInput`.

        A note that says what is known enriches it. One that says a fact has changed ends the old
        fact where it begins. Any other stands beside the rest.

        Raises:
            MemoryValidationError: A field is malformed; nothing is written.
            MemoryLimitError: A working value would grow over its limit.
            MemoryScopeError: The run does not say whose memory this is.
        """
        return self._run(self._remember(note))

    async def aremember(self, **note: Unpack[NoteInput]) -> Remembered:
        """Like `remember`, without blocking the event loop."""
        return await self._arun(self._remember(note))

    def recall(self, query: str, **options: Unpack[RecallOptions]) -> Recall:
        """Return the notes that answer `query`, and why; see `RecallOptions`.

        Raises:
            MemoryValidationError: The query is blank or an option is malformed.
            MemoryLimitError: `top_k` or `budget` is outside its limit.
            MemoryScopeError: The run does not say whose memory this is.
        """
        return self._run(self._recall(query, options))

    async def arecall(self, query: str, **options: Unpack[RecallOptions]) -> Recall:
        """Like `recall`, without blocking the event loop."""
        return await self._arun(self._recall(query, options))

    def forget(
        self,
        id: str | None = None,
        *,
        block: str | None = None,
        hold: bool = False,
    ) -> Forgotten:
        """Forget one note by id or one block by label; with `hold`, keep it but show it to nobody.

        Raises:
            MemoryValidationError: Not exactly one of both is given, or it is malformed.
        """
        return self._run(lambda memory: forget.forget(memory, id, block, hold=hold))

    async def aforget(
        self,
        id: str | None = None,
        *,
        block: str | None = None,
        hold: bool = False,
    ) -> Forgotten:
        """Like `forget`, without blocking the event loop."""
        return await self._arun(lambda memory: forget.forget(memory, id, block, hold=hold))

    def get(self, id: str) -> Note | None:
        """Return a note by id, superseded ones included; None if there is none to be shown.

        Raises:
            MemoryValidationError: The id is malformed.
        """
        return self._run(lambda memory: _get(memory, id))

    async def aget(self, id: str) -> Note | None:
        """Like `get`, without blocking the event loop."""
        return await self._arun(lambda memory: _get(memory, id))

    def blocks(self) -> list[Note]:
        """Return the working blocks, by label."""
        return self._run(_blocks)

    async def ablocks(self) -> list[Note]:
        """Like `blocks`, without blocking the event loop."""
        return await self._arun(_blocks)

    def messages(self, state: Any) -> list[BaseMessage]:
        """Return the state's messages with memory placed, ready for a chat model.

        Working blocks join the system prompt, byte for byte the same while they do not change. The
        notes the context node recalled stand before the newest user message, read again now, so
        that what was forgotten since is not shown. The state's own messages are not touched.
        """
        return self._run(lambda memory: placed(memory, state))

    async def amessages(self, state: Any) -> list[BaseMessage]:
        """Like `messages`, without blocking the event loop."""
        return await self._arun(lambda memory: placed(memory, state))

    def attach(self, thread: object) -> Attachment:
        """Open a thread's gate from code, until `detach` or the end of a `with` block.

        Raises:
            MemoryValidationError: `thread` is not a thread id.
        """
        return Attachment(thread, self._engine.attached)

    def detach(self, thread: object) -> None:
        """Close a thread's gate, whoever opened it: code, or the attach node.

        Raises:
            MemoryValidationError: `thread` is not a thread id.
        """
        self._run(self._detach(thread))

    async def adetach(self, thread: object) -> None:
        """Like `detach`, without blocking the event loop."""
        await self._arun(self._detach(thread))

    def attach_node(self) -> AttachNode:
        """Return a node that opens the gate for the thread of its run."""
        return AttachNode(self._engine)

    def context_node(self, **options: Unpack[ContextOptions]) -> ContextNode:
        """Return a node that recalls for the newest user message; see `ContextOptions`.

        Raises:
            MemoryValidationError: An option is unknown or malformed.
            MemoryLimitError: `top_k` or `budget` is outside its limit.
        """
        return ContextNode(self._engine, options)

    def tools(
        self, root: str | Path | None = None, **options: Unpack[ToolOptions]
    ) -> list[BaseTool]:
        """Return the five memory tools for a chat model; see `ToolOptions`.

        Args:
            root: The folder files live in, one subfolder a user; None leaves files out.
            **options: See `ToolOptions`.

        Raises:
            MemoryValidationError: An option is malformed.
        """
        return memory_tools(self._engine, root, options)

    def _remember(self, note: Mapping[str, Any]) -> Callable[[Memory], Flow[Remembered]]:
        draft = check(Draft, note)
        return lambda memory: remember.remember(memory, draft)

    def _detach(self, thread: object) -> Callable[[Memory], Flow[None]]:
        attachment = self.attach(thread)
        attachment.detach()
        return lambda memory: gate.detach(memory, attachment.thread_id)

    def _recall(self, query: str, options: Mapping[str, Any]) -> Callable[[Memory], Flow[Recall]]:
        return lambda memory: recall.recall(memory, query, options)

    def _run(self, verb: Callable[[Memory], Flow[T]]) -> T:
        opened = self._engine.open()
        return opened.run(verb(opened.memory))

    async def _arun(self, verb: Callable[[Memory], Flow[T]]) -> T:
        opened = self._engine.open()
        return await opened.arun(verb(opened.memory))


def _get(memory: Memory, note_id: str) -> Flow[Note | None]:
    row = (yield from rows_by_id(memory, [check_id(note_id)])).get(note_id)
    return row.note if row is not None and row.state == "live" else None


def _blocks(memory: Memory) -> Flow[list[Note]]:
    return (yield from blocks.read(memory)).blocks()
