"""A governed long-term memory for LangGraph graphs.

Start with `MemoryFabric`. Its store is any LangGraph store, `langgraph_fabric.store.ChromaStore`
among them.
"""

from langgraph_fabric._adapter import Capabilities
from langgraph_fabric.embeddings import EmbedderProfile
from langgraph_fabric.errors import (
    EmbedderMismatchError,
    FabricError,
    MemoryConflictError,
    MemoryLimitError,
    MemoryScopeError,
    MemoryValidationError,
    StoreUnavailableError,
)
from langgraph_fabric.fabric.forget import Forgotten
from langgraph_fabric.fabric.gate import Attachment
from langgraph_fabric.fabric.recall import Coverage, Explain, Hit, Recall
from langgraph_fabric.fabric.remember import Remembered
from langgraph_fabric.facade import MemoryFabric
from langgraph_fabric.memory.limits import MemoryLimits
from langgraph_fabric.memory.scope import Scope
from langgraph_fabric.nodes.state import FabricState
from langgraph_fabric.notes import Kind, Link, Note

__all__ = [
    "Attachment",
    "Capabilities",
    "Coverage",
    "EmbedderMismatchError",
    "EmbedderProfile",
    "Explain",
    "FabricError",
    "FabricState",
    "Forgotten",
    "Hit",
    "Kind",
    "Link",
    "MemoryConflictError",
    "MemoryFabric",
    "MemoryLimitError",
    "MemoryLimits",
    "MemoryScopeError",
    "MemoryValidationError",
    "Note",
    "Recall",
    "Remembered",
    "Scope",
    "StoreUnavailableError",
]
