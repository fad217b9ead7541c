"""The attach node: opens the gate for the thread of its run."""

from typing import Any

from langgraph_fabric._flow import Flow
from langgraph_fabric.errors import MemoryScopeError
from langgraph_fabric.fabric import gate
from langgraph_fabric.fabric.memory import Memory
from langgraph_fabric.fabric.run import Run
from langgraph_fabric.nodes.flow_node import FlowNode


class AttachNode(FlowNode):
    """Opens the gate for the thread of its run; changes no state.

    The gate stays open for the thread, also for a run that resumes elsewhere. A run without a
    `thread_id` is refused with `MemoryScopeError`.
    """

    def flow(self, memory: Memory, run: Run, state: Any) -> Flow[dict[str, Any]]:
        """Open the gate."""
        if run.thread_id is None:
            raise MemoryScopeError(
                "thread_id",
                "missing from this run, so there is no thread to attach",
                "Compile the graph with a checkpointer and pass "
                "config['configurable']['thread_id']",
            )
        yield from gate.attach(memory, run.thread_id)
        run.emit({"type": "fabric.attached", "thread_id": run.thread_id})
        return {}
