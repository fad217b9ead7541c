"""The embedder of a store: asked once for each text, and never trusted unchecked."""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, Literal, cast

from langchain_core.embeddings import Embeddings
from langgraph.store.base import IndexConfig, ensure_embeddings, tokenize_path

from langgraph_fabric.embeddings import EmbedderProfile, StaticEmbeddings, profile_of
from langgraph_fabric.errors import EmbedderMismatchError, MemoryValidationError

Vector = Sequence[float]
Role = Literal["document", "query"]
Path = str | list[str]
WHOLE: list[tuple[str, Path]] = [("$", "$")]
"""Index the whole value: the default, as in LangGraph's own stores."""

_CACHED_QUERIES = 256
"""Query vectors kept: a write that lost a race and a repeated question ask for the same again."""


class StoreEmbedder:
    """An `Embeddings` with its profile, its checks and a small memory of queries."""

    def __init__(self, embeddings: Embeddings, dims: int | None) -> None:
        self.embeddings = embeddings
        self.profile: EmbedderProfile = profile_of(embeddings)
        self._dims = dims or self.profile.dims
        self._queries: OrderedDict[str, Vector] = OrderedDict()
        self._lock = Lock()

    def embed(self, texts: Sequence[str], role: Role) -> list[Vector]:
        """Return the vectors of texts, blocking."""
        if role == "query":
            known = [(text, self._known(text)) for text in texts]
            return [self._asked(text) if v is None else v for text, v in known]
        return self._checked(self.embeddings.embed_documents(list(texts)), len(texts))

    async def aembed(self, texts: Sequence[str], role: Role) -> list[Vector]:
        """Return the vectors of texts by the embedder's own async methods."""
        if role == "query":
            known = [(text, self._known(text)) for text in texts]
            return [await self._aasked(text) if v is None else v for text, v in known]
        return self._checked(await self.embeddings.aembed_documents(list(texts)), len(texts))

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
        (checked,) = self._checked([vector], 1)
        with self._lock:
            self._queries[text] = checked
            if len(self._queries) > _CACHED_QUERIES:
                self._queries.popitem(last=False)
        return checked

    def _checked(self, vectors: Any, count: int) -> list[Vector]:
        """Return the vectors if there is one of finite numbers, of one size, for each text."""
        found = [self._numbers(vector) for vector in self._listed(vectors)]
        if len(found) != count:
            raise self._mismatch(f"returned {len(found)} vectors for {count} texts")
        wanted = self._dims or len(found[0])
        for vector in found:
            if len(vector) != wanted:
                raise self._mismatch(f"returned {len(vector)} dimensions, not {wanted}")
        self._dims = wanted
        return found

    def _listed(self, vectors: Any) -> list[Any]:
        try:
            return list(vectors)
        except TypeError:
            raise self._mismatch(f"returned a {type(vectors).__name__}, not vectors") from None

    def _numbers(self, vector: Any) -> Vector:
        import numpy as np  # noqa: PLC0415 - loaded on first use, not at import

        try:
            array = np.asarray(vector, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            array = np.empty(0)
        if array.ndim != 1 or not array.size or not np.isfinite(array).all():
            raise self._mismatch("returned a vector with no or not finite numbers")
        return cast("Vector", array)

    def _mismatch(self, problem: str) -> EmbedderMismatchError:
        return EmbedderMismatchError(
            "embeddings",
            f"{self.profile.id or 'the embedder'} {problem}",
            "Nothing was written; check the embedder and the index's dims",
        )


@dataclass(frozen=True, slots=True)
class EmbedRequest:
    """Texts a store operation needs the vectors of, and who is to make them."""

    embedder: StoreEmbedder
    texts: tuple[str, ...]
    role: Role

    def answered(self) -> list[Vector]:
        """Return the vectors, blocking."""
        return self.embedder.embed(self.texts, self.role)

    async def aanswered(self) -> list[Vector]:
        """Return the vectors by the embedder's own async methods."""
        return await self.embedder.aembed(self.texts, self.role)


def fingerprint(embedder: StoreEmbedder, vector: Vector) -> str:
    """Return the name of the space a vector of this embedder lies in."""
    return f"{embedder.profile.id}@{len(vector)}"


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


def tokenized(fields: Any) -> list[tuple[str, Path]]:
    """Return field paths in the form LangGraph reads texts by.

    Raises:
        MemoryValidationError: They are no list of strings.
    """
    if not isinstance(fields, list | tuple):
        raise _malformed()
    return [_tokenized(field) for field in cast("Sequence[object]", fields)]


def _tokenized(field: object) -> tuple[str, Path]:
    if not isinstance(field, str) or not field:
        raise _malformed()
    return field, "$" if field == "$" else tokenize_path(field)


def _malformed() -> MemoryValidationError:
    return MemoryValidationError("index", "not a list of paths", "Give paths such as ['text']")
