"""The gate: whether a thread's tools may touch memory.

A thread is attached in code for as long as the process keeps it so, or by the attach node, which
leaves an entry in the store below the scope. Nothing a client puts into a run's input or a model
into a call can write that entry; and a run that another process resumes finds it.
"""

from typing import Self

from langgraph.store.base import PutOp

from langgraph_fabric import _time
from langgraph_fabric._flow import Flow, batch, get
from langgraph_fabric.errors import FabricError, MemoryValidationError
from langgraph_fabric.fabric.memory import Memory
from langgraph_fabric.memory.scope import identity


class Attachment:
    """An open gate; closes with `detach` or the end of a `with` block. Closing is idempotent."""

    def __init__(self, thread: object, open_threads: set[str]) -> None:
        try:
            self.thread_id = identity(thread, "thread")
        except FabricError as exc:
            raise MemoryValidationError("thread", exc.problem, "Give the thread's id") from None
        self._open_threads = open_threads
        open_threads.add(self.thread_id)

    def detach(self) -> None:
        """Close the gate; whoever attached the same thread finds it closed too (S269)."""
        self._open_threads.discard(self.thread_id)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.detach()


def attach(memory: Memory, thread_id: str) -> Flow[None]:
    """Open a thread's gate in the store."""
    if not (yield from is_attached(memory, thread_id)):
        at = _time.to_text(_time.to_micros(memory.now()))
        yield from batch([PutOp(memory.place.attached, thread_id, {"at": at}, index=False)])


def detach(memory: Memory, thread_id: str) -> Flow[None]:
    """Close a thread's gate in the store."""
    yield from batch([PutOp(memory.place.attached, thread_id, None)])


def is_attached(memory: Memory, thread_id: str) -> Flow[bool]:
    """Tell whether a thread's gate is open in the store."""
    return (yield from get(memory.place.attached, thread_id)) is not None
