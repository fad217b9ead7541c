"""Tools: what a chat model may do with a fabric."""

from langgraph_fabric.tools.toolkit import ToolOptions, memory_tools

__all__ = ["ToolOptions", "memory_tools"]
