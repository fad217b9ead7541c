"""A node whose work is a flow: both of a Runnable's doors, written once for every node."""

from abc import abstractmethod
from typing import Any

from langchain_core.runnables import Runnable, RunnableConfig

from langgraph_fabric._flow import Flow
from langgraph_fabric.fabric.engine import Engine
from langgraph_fabric.fabric.memory import Memory
from langgraph_fabric.fabric.run import Run


class FlowNode(Runnable[Any, dict[str, Any]]):
    """Runs a flow on the memory of the run it executes in, and returns the state's update."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @abstractmethod
    def flow(self, memory: Memory, run: Run, state: Any) -> Flow[dict[str, Any]]:
        """Return what the node does, as a flow that returns its update."""

    def invoke(
        self, input: Any, config: RunnableConfig | None = None, **kwargs: Any
    ) -> dict[str, Any]:
        """Run the node, blocking."""
        run = Run.current()
        opened = self._engine.open(run)
        return opened.run(self.flow(opened.memory, run, input))

    async def ainvoke(
        self, input: Any, config: RunnableConfig | None = None, **kwargs: Any
    ) -> dict[str, Any]:
        """Run the node without blocking the event loop."""
        run = Run.current()
        opened = self._engine.open(run)
        return await opened.arun(self.flow(opened.memory, run, input))
