"""Embedders: the default that needs no download, one for tests, and what is known of each.

Any LangChain `Embeddings` works in their place. Importing this package loads no numpy and no table.
"""

from langgraph_fabric.embeddings.hash_embeddings import HashEmbeddings
from langgraph_fabric.embeddings.profile import EmbedderProfile, profile_of
from langgraph_fabric.embeddings.static import StaticEmbeddings

__all__ = ["EmbedderProfile", "HashEmbeddings", "StaticEmbeddings", "profile_of"]
