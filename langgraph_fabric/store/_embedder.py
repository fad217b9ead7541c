"""The embedder of a store: asked once for each text, and never trusted unchecked."""

import math
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, Literal, cast

from langchain_core.embeddings import Embeddings
from langgraph.store.base import IndexConfig, ensure_embeddings, tokenize_path

from langgraph_fabric.embeddings import EmbedderProfile, StaticEmbeddings, profile_of
from langgraph_fabric.errors import EmbedderMismatchError

Vector = Sequence[float]
Path = str | list[str]
WHOLE: list[tuple[str, Path]] = [("$", "$")]
"""Index the whole value: the default, as in LangGraph's own stores."""

_CACHED_QUERIES = 256
"""Query vectors kept: a write that lost a race and a repeated question ask for the same again."""


@dataclass(frozen=True, slots=True)
class EmbedRequest:
    """Texts a store operation needs the vectors of."""

    texts: tuple[str, ...]
    role: Literal["document", "query"]


class StoreEmbedder:
    """An `Embeddings` with its profile, its checks and a small memory of queries."""

    def __init__(self, embeddings: Embeddings, dims: int | None) -> None:
        self.embeddings = embeddings
        self.profile: EmbedderProfile = profile_of(embeddings)
        self._dims = dims or self.profile.dims
        self._queries: OrderedDict[str, Vector] = OrderedDict()
        self._lock = Lock()

    def embed(self, request: EmbedRequest) -> list[Vector]:
        """Return the vectors of a request, blocking."""
        if request.role == "query":
            return [
                self._asked(text) if (known := self._known(text)) is None else known
                for text in request.texts
            ]
        return self._checked(self.embeddings.embed_documents(list(request.texts)), request)

    async def aembed(self, request: EmbedRequest) -> list[Vector]:
        """Return the vectors of a request by the embedder's own async methods."""
        if request.role == "query":
            return [
                await self._aasked(text) if (known := self._known(text)) is None else known
                for text in request.texts
            ]
        return self._checked(await self.embeddings.aembed_documents(list(request.texts)), request)

    def _asked(self, text: str) -> Vector:
        return self._kept(text, self.embeddings.embed_query(text))

    async def _aasked(self, text: str) -> Vector:
        return self._kept(text, await self.embeddings.aembed_query(text))

    def _known(self, text: str) -> Vector | None:
        with self._lock:
            if text in self._queries:
                self._queries.move_to_end(text)
            return self._queries.get(text)

    def _kept(self, text: str, vector: Any) -> Vector:
        (checked,) = self._checked([vector], EmbedRequest((text,), "query"))
        with self._lock:
            self._queries[text] = checked
            if len(self._queries) > _CACHED_QUERIES:
                self._queries.popitem(last=False)
        return checked

    def _checked(self, vectors: Any, request: EmbedRequest) -> list[Vector]:
        """Return the vectors if there is one of finite numbers, of one size, for each text."""
        found = cast("list[Vector]", list(vectors))
        if len(found) != len(request.texts):
            raise self._mismatch(f"returned {len(found)} vectors for {len(request.texts)} texts")
        for vector in found:
            if self._dims is not None and len(vector) != self._dims:
                raise self._mismatch(f"returned {len(vector)} dimensions, not {self._dims}")
            if not len(vector) or not all(math.isfinite(number) for number in vector):
                raise self._mismatch("returned a vector with no or not finite numbers")
            self._dims = len(vector)
        return found

    def _mismatch(self, problem: str) -> EmbedderMismatchError:
        return EmbedderMismatchError(
            "embeddings",
            f"{self.profile.id or 'the embedder'} {problem}",
            "Nothing was written; check the embedder and the index's dims",
        )


def configured(index: IndexConfig | Literal[False] | None) -> StoreEmbedder | None:
    """Return the embedder an `index` option asks for."""
    if index is False:
        return None
    if index is None:
        return StoreEmbedder(StaticEmbeddings(), None)
    return StoreEmbedder(ensure_embeddings(index.get("embed")), index.get("dims"))


def paths_of(index: IndexConfig | Literal[False] | None) -> list[tuple[str, Path]]:
    """Return the paths whose texts are indexed unless an item says otherwise."""
    fields = index.get("fields") if index else None
    return tokenized(fields) if fields else WHOLE


def tokenized(fields: Sequence[str]) -> list[tuple[str, Path]]:
    """Return field paths in the form LangGraph reads texts by."""
    return [(field, "$" if field == "$" else tokenize_path(field)) for field in fields]
