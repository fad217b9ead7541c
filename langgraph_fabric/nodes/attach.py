"""The attach node: opens the gate for the thread of its run."""

from typing import Any

from langchain_core.runnables import Runnable, RunnableConfig

from langgraph_fabric._flow import Flow
from langgraph_fabric.errors import MemoryScopeError
from langgraph_fabric.fabric import gate
from langgraph_fabric.fabric.engine import Engine
from langgraph_fabric.fabric.memory import Memory
from langgraph_fabric.fabric.run import Run


class AttachNode(Runnable[Any, dict[str, Any]]):
    """Opens the gate for the thread of its run; changes no state.

    The gate stays open for the thread, also for a run that resumes elsewhere. A run without a
    `thread_id` is refused with `MemoryScopeError`.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def invoke(
        self,
        input: Any,
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """Open the gate."""
        run = Run.current()
        opened = self._engine.open(run)
        return opened.run(_attach(opened.memory, run))

    async def ainvoke(
        self,
        input: Any,
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """Open the gate without blocking the event loop."""
        run = Run.current()
        opened = self._engine.open(run)
        return await opened.arun(_attach(opened.memory, run))


def _attach(memory: Memory, run: Run) -> Flow[dict[str, Any]]:
    if run.thread_id is None:
        raise MemoryScopeError(
            "thread_id",
            "missing from this run, so there is no thread to attach",
            "Compile the graph with a checkpointer and pass config['configurable']['thread_id']",
        )
    yield from gate.attach(memory, run.thread_id)
    run.emit({"type": "fabric.attached", "thread_id": run.thread_id})
    return {}
