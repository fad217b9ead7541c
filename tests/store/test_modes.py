import pytest
from langgraph.store.base import PutOp

from langgraph_fabric.embeddings import EmbedderProfile, HashEmbeddings
from langgraph_fabric.errors import MemoryValidationError

NS = ("t",)
TEXTS = {
    "both": "apples and pears",
    "words": "apples " * 3 + "with a great many other words about nothing at all in the garden",
    "neither": "stones",
}


def _index(weight):
    embedder = HashEmbeddings(dims=256)
    embedder.profile = EmbedderProfile(id="hash", vector_weight=weight)
    return {"embed": embedder, "fields": ["text"]}


def _filled(store):
    store.batch([PutOp(NS, key, {"text": text, "n": len(key)}) for key, text in TEXTS.items()])
    return store


def _found(do, store, **options):
    return {item.key: item.score for item in do(store, "search", NS, **options)}


def test_words_find_what_shares_a_word(make, do):
    store = _filled(make())
    found = _found(do, store, query="pears apples", mode="lexical")
    assert list(found) == ["both", "words"]
    assert found["both"] > found["words"] > 0


def test_vectors_find_everything(make, do):
    store = _filled(make(index=_index(0.5)))
    assert set(_found(do, store, query="apples and pears", mode="vector")) == set(TEXTS)


@pytest.mark.parametrize("weight", [0.0, 0.25, 1.0])
def test_both_are_blended_by_the_embedders_weight(make, do, weight):
    store = _filled(make(index=_index(weight)))
    vectors = _found(do, store, query="apples pears", mode="vector")
    words = _found(do, store, query="apples pears", mode="lexical")
    low, high = min(vectors.values()), max(vectors.values())
    want = {
        key: weight * (cosine - low) / (high - low)
        + (1 - weight) * words.get(key, 0) / max(words.values())
        for key, cosine in vectors.items()
    }
    got = _found(do, store, query="apples pears", mode="hybrid")
    assert got == pytest.approx(want)
    assert list(got.values()) == sorted(got.values(), reverse=True)


def test_pages_of_a_blend_are_of_one_ranking(make, do):
    store = make()
    store.batch([PutOp(NS, f"{i:02}", {"text": f"word{i} common"}) for i in range(60)])
    whole = list(_found(do, store, query="word7 common", mode="hybrid", limit=60))
    pages = [
        key
        for offset in range(0, 60, 7)
        for key in _found(do, store, query="word7 common", mode="hybrid", limit=7, offset=offset)
    ]
    assert pages == whole
    assert whole[0] == "07"
    assert len(whole) == 60


@pytest.mark.parametrize("mode", ["vector", "lexical", "hybrid"])
def test_every_mode_filters(make, do, mode):
    store = _filled(make())
    assert set(_found(do, store, query="apples", mode=mode, filter={"n": 4})) == {"both"}


@pytest.mark.parametrize("mode", ["vector", "lexical", "hybrid"])
def test_every_mode_without_a_query_gives_the_newest_first(make, do, mode):
    store = _filled(make())
    assert list(_found(do, store, mode=mode)) == [*reversed(TEXTS)]


@pytest.mark.parametrize("mode", ["vector", "lexical", "hybrid"])
@pytest.mark.parametrize("refresh", [True, False])
def test_every_mode_refreshes_what_is_on_its_page(make, clock, do, mode, refresh):
    store = make(ttl={"refresh_on_read": refresh})
    for key in "ab":
        store.put(NS, key, {"text": f"word {key}"}, ttl=1)
    clock.advance(seconds=50)
    (read,) = _found(do, store, query="word a", mode=mode, limit=1)
    clock.advance(seconds=50)
    assert [item.key for item in store.search(NS)] == ([read] if refresh else [])


def test_without_an_embedder_both_are_the_words(make, do):
    store = _filled(make(index=False))
    assert list(_found(do, store, query="apples pears", mode="hybrid")) == ["both", "words"]


@pytest.mark.parametrize(
    "options",
    [{"mode": "semantic"}, {"mode": None}, {"limit": -1}, {"limit": "3"}, {"offset": 1.5}],
    ids=str,
)
def test_a_malformed_search_is_refused(make, do, options):
    store = _filled(make())
    with pytest.raises(MemoryValidationError):
        do(store, "search", NS, **{"query": "apples", "mode": "hybrid", **options})
