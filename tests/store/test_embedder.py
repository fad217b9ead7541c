import asyncio
import math

import numpy as np
import pytest
from langchain_core.embeddings import Embeddings
from langgraph.store.base import GetOp, PutOp

from langgraph_fabric._ops import TextSearchOp
from langgraph_fabric.embeddings import EmbedderProfile, HashEmbeddings
from langgraph_fabric.errors import EmbedderMismatchError, MemoryValidationError
from langgraph_fabric.store import ChromaStore

NS = ("t",)


class Scripted(Embeddings):
    """Hash embeddings that remember what they were asked, with a last say on the answer."""

    def __init__(self, dims=8, *, name="scripted", answer=lambda vectors: vectors):
        self._hash = HashEmbeddings(dims)
        self.profile = EmbedderProfile(id=name)
        self.answer = answer
        self.documents: list[str] = []
        self.queries: list[str] = []

    def embed_documents(self, texts):
        self.documents += texts
        return self.answer(self._hash.embed_documents(texts))

    def embed_query(self, text):
        self.queries.append(text)
        return self.answer([self._hash.embed_query(text)])[0]


def _fail(_vectors):
    raise ConnectionError("no embedder here")


def _index(embedder, **options):
    return {"embed": embedder, "fields": ["text"], **options}


FAULTS = [
    pytest.param(lambda vectors: vectors[:-1], id="one too few"),
    pytest.param(lambda vectors: [*vectors, vectors[0]], id="one too many"),
    pytest.param(lambda vectors: [[math.nan, *v[1:]] for v in vectors], id="NaN"),
    pytest.param(lambda vectors: [[math.inf, *v[1:]] for v in vectors], id="infinity"),
    pytest.param(lambda vectors: [v[:-1] for v in vectors], id="other dims"),
    pytest.param(lambda vectors: [vectors[0][:-1], *vectors[1:]], id="two sizes"),
    pytest.param(lambda vectors: [[] for _ in vectors], id="no numbers"),
    pytest.param(lambda vectors: ["text" for _ in vectors], id="texts"),
    pytest.param(lambda vectors: [None for _ in vectors], id="nothing"),
    pytest.param(lambda vectors: [[v] for v in vectors], id="too deep"),
    pytest.param(lambda vectors: [["a"] * len(v) for v in vectors], id="letters"),
]


@pytest.mark.parametrize("fault", FAULTS)
def test_b62_malformed_vectors_are_refused_and_nothing_is_written(make, do, fault):
    embedder = Scripted()
    store = make(index=_index(embedder, dims=8))
    store.put(NS, "old", {"text": "an old word"})
    embedder.answer = fault
    with pytest.raises(EmbedderMismatchError, match="scripted"):
        do(store, "batch", [PutOp(NS, f"k{i}", {"text": f"word {i}"}) for i in range(10)])
    assert [item.key for item in store.search(NS)] == ["old"]
    assert [hit.key for hit in store.batch([TextSearchOp(NS, "word")])[0]] == ["old"]
    embedder.answer = lambda vectors: vectors
    do(store, "put", NS, "k", {"text": "word"})
    assert len(do(store, "search", NS, query="word")) == 2


def test_b62_an_embedder_that_raises_is_heard_and_nothing_is_written(make, do):
    embedder = Scripted()
    store = make(index=_index(embedder))
    store.put(NS, "old", {"text": "an old word"})
    embedder.answer = _fail
    with pytest.raises(ConnectionError):
        do(store, "put", NS, "k", {"text": "word"})
    with pytest.raises(ConnectionError):
        do(store, "search", NS, query="word")
    assert do(store, "get", NS, "k") is None
    assert [item.key for item in do(store, "search", NS)] == ["old"]
    assert [hit.key for hit in do(store, "batch", [TextSearchOp(NS, "old")])[0]] == ["old"]
    do(store, "delete", NS, "old")
    assert do(store, "search", NS) == []


def test_b62_a_malformed_query_vector_is_refused(make, do):
    embedder = Scripted()
    store = make(index=_index(embedder))
    store.put(NS, "k", {"text": "word"})
    embedder.answer = lambda vectors: [v[:-1] for v in vectors]
    with pytest.raises(EmbedderMismatchError, match="7 dimensions, not 8"):
        do(store, "search", NS, query="word")


@pytest.mark.parametrize(
    ("other", "said"),
    [
        pytest.param(Scripted(16), "scripted@16 does not fit the stored scripted@8", id="dims"),
        pytest.param(Scripted(8, name="b"), "b@8 does not fit the stored scripted@8", id="name"),
    ],
)
def test_b62_another_embedder_on_reopen_is_refused_where_vectors_meet(opened, do, other, said):
    with opened(index=_index(Scripted())) as first:
        first.put(NS, "k", {"text": "word"})
    store = opened(index=_index(other))
    with pytest.raises(EmbedderMismatchError, match=said):
        do(store, "search", NS, query="word")
    with pytest.raises(EmbedderMismatchError, match=said):
        do(store, "put", NS, "new", {"text": "new word"})
    assert do(store, "get", NS, "k").value == {"text": "word"}
    assert [item.key for item in do(store, "search", NS)] == ["k"]
    assert [hit.key for hit in store.batch([TextSearchOp(NS, "word")])[0]] == ["k"]


def test_an_embedder_without_a_name_is_known_by_its_size(opened, keys):
    with opened(index=_index(Scripted())) as first:
        first.put(NS, "k", {"text": "word"})
    store = opened(index=_index(lambda texts: HashEmbeddings(8).embed_documents(texts)))
    assert keys(store, NS, query="word") == ["k"]


def test_a_store_emptied_of_vectors_takes_another_embedder(opened, keys):
    with opened(index=_index(Scripted()), search="chroma") as first:
        first.put(NS, "k", {"text": "word"})
        first.flush()
        first.delete(NS, "k")
        first.flush()
    store = opened(index=_index(Scripted(16, name="other")), search="chroma")
    store.put(NS, "k", {"text": "word"})
    assert keys(store, NS, query="word") == ["k"]
    store.flush()
    assert keys(store, NS, query="word") == ["k"]


def test_a_text_is_embedded_once(make):
    embedder = Scripted()
    store = make(index=_index(embedder))
    store.put(NS, "k", {"text": "word", "n": 1})
    store.put(NS, "k", {"text": "word", "n": 2})
    store.batch([PutOp(NS, "a", {"text": "twice"}), PutOp(NS, "b", {"text": "twice"})])
    assert embedder.documents == ["word", "twice"]
    for _ in range(3):
        store.search(NS, query="question")
    assert embedder.queries == ["question"]


def test_no_text_is_embedded_that_is_not_indexed(make):
    embedder = Scripted()
    store = make(index=_index(embedder))
    store.put(NS, "a", {"text": "word"}, index=False)
    store.put(NS, "b", {"other": "word"})
    store.put(NS, "c", {"text": " \n"})
    store.put(NS, "d", {"text": None})
    store.put(NS, "e", {"text": "word"}, index=[])
    assert embedder.documents == []


def test_numpy_vectors_are_as_good_as_lists(make, do):
    embedder = Scripted(answer=lambda vectors: np.asarray(vectors, dtype=np.float32))
    store = make(index=_index(embedder))
    store.put(NS, "k", {"text": "word"})
    for _ in range(2):
        (hit,) = do(store, "search", NS, query="word")
        assert hit.score == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("search", ["exact", "chroma"])
@pytest.mark.parametrize("factor", [1e39, 1e300, 1e-40, 1e-300, 0])
def test_very_large_and_small_numbers_are_vectors_too(make, search, factor):
    embedder = Scripted(answer=lambda vectors: [[n * factor for n in v] for v in vectors])
    store = make(index=_index(embedder), search=search)
    store.put(NS, "k", {"text": "word"})
    (hit,) = store.search(NS, query="word")
    assert hit.score == pytest.approx(1 if factor else 0, abs=1e-6)
    store.flush()
    assert len(store.search(NS, query="word")) == 1


async def test_an_async_function_is_an_embedder_for_the_async_door(make):
    async def embed(texts):
        await asyncio.sleep(0)
        return HashEmbeddings(8).embed_documents(texts)

    store = make(index=_index(embed, dims=8))
    await store.aput(NS, "k", {"text": "word"})
    (hit,) = await store.asearch(NS, query="word")
    assert hit.score == pytest.approx(1, abs=1e-6)
    assert (await store.abatch([GetOp(NS, "k")]))[0].value == {"text": "word"}


def test_b62_vectors_come_when_an_embedder_does(opened):
    with opened(index=False) as store:
        store.put(NS, "k", {"text": "word"})
        assert [item.score for item in store.search(NS, query="word")] == [None]
    store = opened(index=_index(Scripted()))
    store.put(NS, "k", {"text": "word"})
    (hit,) = store.search(NS, query="word")
    assert hit.score == pytest.approx(1, abs=1e-6)


def test_a_store_without_an_embedder_keeps_words_and_says_so(make, keys):
    store = make(index=False)
    assert store.embeddings is None
    assert store.profile is None
    store.put(NS, "k", {"text": "a word"})
    assert keys(store, NS, query="word") == ["k"]
    assert len(store.batch([TextSearchOp(NS, "word")])[0]) == 1
    store.flush()
    store.vacuum()


@pytest.mark.parametrize("index", ["text", True, 7, [1], [""], {"a": 1}], ids=str)
def test_an_index_that_is_no_list_of_paths_is_refused(store, index):
    with pytest.raises(MemoryValidationError, match="index"):
        store.batch([PutOp(NS, "other", {}), PutOp(NS, "k", {"text": "x"}, index=index)])
    assert store.search(()) == []


@pytest.mark.parametrize("query", ["\ud83d", "x" * 10_000, "  ", "\0", "\U0001f600"])
def test_any_text_may_be_a_query(clock, query):
    with ChromaStore.in_memory(clock=clock) as store:  # with the default embeddings
        store.put(NS, "k", {"text": "word"})
        assert len(store.search(NS, query=query)) == 1


@pytest.mark.parametrize("query", [7, b"x", ["x"]])
def test_a_query_is_a_string(store, query):
    with pytest.raises(MemoryValidationError, match="query"):
        store.search(NS, query=query)
    with pytest.raises(MemoryValidationError, match="query"):
        store.batch([TextSearchOp(NS, query)])
