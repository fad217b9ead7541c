"""Embeddings for tests: counts of hashed words, exact on every machine, without numpy."""

from langchain_core.embeddings import Embeddings

from langgraph_fabric._text import tokens
from langgraph_fabric.embeddings.profile import EmbedderProfile
from langgraph_fabric.errors import MemoryLimitError

_MOST_DIMS = 4096
_FNV_OFFSET, _FNV_PRIME = 2166136261, 16777619


class HashEmbeddings(Embeddings):
    """A bag of words hashed into `dims` buckets, L2-normalised (reference S76 to S79).

    Two texts are as near as the words they share; meaning is not known to it. A text without words
    is the unit vector of the first bucket. Use it in tests, where it is fast and never changes; use
    `StaticEmbeddings` for anything a person will read.
    """

    def __init__(self, dims: int = 32) -> None:
        if type(dims) is not int or not 1 <= dims <= _MOST_DIMS:
            raise MemoryLimitError("dims", "not an integer of 1 to 4096", "Give a whole number")
        self.dims = dims
        self.profile = EmbedderProfile(
            id="hash",
            dims=dims,
            vector_weight=0.1,  # best of 0 to 0.7 on LoCoMo: words are better counted by BM25
            candidate_gate=0.45,  # all 30 real changes among the tests' pairs lie above
        )

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one vector a text, in order."""
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of `text`; queries and documents are embedded alike."""
        counts = [0] * self.dims
        for word in tokens(text):
            counts[abs(_signed_fnv1a(word)) % self.dims] += 1
        if not any(counts):
            counts[0] = 1
        length = sum(count * count for count in counts) ** 0.5
        return [count / length for count in counts]

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one vector a text, on the event loop: a thread would cost more."""
        return self.embed_documents(texts)

    async def aembed_query(self, text: str) -> list[float]:
        """Return the vector of `text`, on the event loop."""
        return self.embed_query(text)


def _signed_fnv1a(word: str) -> int:
    """Return the 32-bit FNV-1a over the characters of `word`, as a signed integer."""
    value = _FNV_OFFSET
    for char in word:
        value = ((value ^ ord(char)) * _FNV_PRIME) & 0xFFFFFFFF
    return value - (1 << 32) if value >> 31 else value
