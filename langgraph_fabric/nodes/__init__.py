"""Nodes: the fabric's steps in a graph, and the state they share."""

from langgraph_fabric.nodes.attach import AttachNode
from langgraph_fabric.nodes.context import ContextNode, ContextOptions
from langgraph_fabric.nodes.placement import placed
from langgraph_fabric.nodes.state import FabricContext, FabricState

__all__ = [
    "AttachNode",
    "ContextNode",
    "ContextOptions",
    "FabricContext",
    "FabricState",
    "placed",
]
