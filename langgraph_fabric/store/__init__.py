"""Store: a LangGraph `BaseStore` whose truth is SQL and whose index is Chroma."""

from langgraph_fabric.store.chroma import ChromaStore

__all__ = ["ChromaStore"]
