import itertools
import random

import numpy as np
import pytest
from langgraph.store.base import PutOp, SearchOp

from langgraph_fabric._ops import TextSearchOp
from langgraph_fabric.embeddings import HashEmbeddings
from langgraph_fabric.store import ChromaStore, chroma

NS = ("t", "notes")
PATHS = pytest.mark.parametrize("search", ["auto", "exact", "chroma"])


def _vectors(texts):
    """Read a vector out of a text such as `1 0 0.5`."""
    return [[float(number) for number in text.split()] for text in texts]


BY_NUMBERS = {"embed": _vectors, "fields": ["text"]}


def _text(vector):
    return " ".join(map(repr, map(float, vector)))


@PATHS
def test_the_score_is_the_cosine(make, do, search):
    store = make(index=BY_NUMBERS, search=search)
    for key, text in {"same": "2 0", "near": "1 1", "across": "0 3", "against": "-1 0"}.items():
        store.put(NS, key, {"text": text})
    hits = do(store, "search", NS, query="1 0")
    assert [hit.key for hit in hits] == ["same", "near", "across", "against"]
    assert [hit.score for hit in hits] == pytest.approx([1, 0.5**0.5, 0, -1], abs=1e-6)


@PATHS
def test_b11_pages_of_a_search_hold_every_item_once(make, search):
    fields = ["title", "body", "tags[*]"]
    store = make(index={"embed": HashEmbeddings(32), "fields": fields}, search=search)
    for i in range(12):
        value = {"title": f"title {i}", "body": f"body {i}", "tags": ["red", f"tag {i}"]}
        store.put(NS, f"{i:02}", value, index=False if i % 3 == 0 else None)
    pages = [store.search(NS, query="title 1", limit=2, offset=i) for i in range(0, 15, 2)]
    found = [hit for page in pages for hit in page]
    assert [len(page) for page in pages] == [2] * 6 + [0] * 2
    assert len({hit.key for hit in found}) == 12
    scores = [hit.score for hit in found]
    assert scores[8:] == [None] * 4
    assert scores[:8] == sorted(scores[:8], reverse=True)
    assert store.search(NS, query="title 1", limit=0) == []
    assert store.search(NS, query="title 1", offset=999) == []


@PATHS
def test_one_item_of_many_vectors_crowds_no_other_out(make, search):
    store = make(index={"embed": _vectors, "fields": ["texts[*]"]}, search=search)
    store.put(NS, "many", {"texts": [f"1 {i / 1000}" for i in range(900)]})
    store.put(NS, "one", {"texts": ["1 5"]})
    assert [hit.key for hit in store.search(NS, query="1 0", limit=2)] == ["many", "one"]
    assert [hit.key for hit in store.search(NS, query="1 5", limit=2)] == ["one", "many"]


@PATHS
def test_the_best_of_an_items_vectors_counts(make, search):
    store = make(index={"embed": _vectors, "fields": ["a", "b"]}, search=search)
    store.put(NS, "two", {"a": "0 1", "b": "1 0"})
    store.put(NS, "one", {"a": "1 1"})
    hits = store.search(NS, query="1 0")
    assert [(hit.key, round(hit.score, 3)) for hit in hits] == [("two", 1), ("one", 0.707)]


@PATHS
def test_equal_texts_in_one_batch_and_one_item_are_all_found(make, search):
    store = make(index={"embed": HashEmbeddings(32), "fields": ["texts[*]"]}, search=search)
    store.batch([PutOp(NS, key, {"texts": ["same", "same"]}) for key in "abc"])
    hits = store.search(NS, query="same")
    assert [hit.key for hit in hits] == ["c", "b", "a"]
    assert [hit.score for hit in hits] == pytest.approx([1] * 3, abs=1e-6)


@PATHS
def test_equal_texts_of_many_tenants_are_told_apart(make, search):
    store = make(search=search)
    store.batch([PutOp((f"u{i}",), "k", {"text": "likes tea"}) for i in range(300)])
    for i in range(0, 300, 7):
        (hit,) = store.search((f"u{i}",), query="likes tea", limit=1)
        assert hit.namespace == (f"u{i}",)


@PATHS
@pytest.mark.parametrize("flush", [False, True], ids=["unflushed", "flushed"])
@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda s: s.put(NS, "k", {"text": "canary"}, index=False), id="index=False"),
        pytest.param(lambda s: s.put(NS, "k", {"other": "canary"}), id="without the field"),
        pytest.param(lambda s: s.put(NS, "k", {"text": "  "}), id="blank"),
        pytest.param(lambda s: s.delete(NS, "k"), id="deleted"),
        pytest.param(
            lambda s: (s.delete(NS, "k"), s.put(NS, "k", {"text": "canary"}, index=False)),
            id="deleted and put",
        ),
    ],
)
def test_a_vector_is_gone_with_its_text(make, search, flush, change):
    store = make(search=search)
    store.put(NS, "k", {"text": "canary"})
    store.put(NS, "other", {"text": "canary too"})
    if flush:
        store.flush()
    assert store.search(NS, query="canary")[0].key == "k"
    change(store)
    if flush:
        store.flush()
    scores = {hit.key: hit.score for hit in store.search(NS, query="canary")}
    assert scores.get("k") is None
    assert scores["other"] > 0
    assert [hit.key for hit in store.batch([TextSearchOp(NS, "canary")])[0]] == ["other"]


@PATHS
def test_a_changed_text_is_found_by_its_new_words_only(make, search):
    store = make(search=search)
    store.put(NS, "k", {"text": "apples"})
    store.search(NS, query="apples")
    store.put(NS, "k", {"text": "pears"})
    (hit,) = store.search(NS, query="apples")
    assert hit.score < 0.5
    (hit,) = store.search(NS, query="pears")
    assert hit.score == pytest.approx(1, abs=1e-6)


@PATHS
def test_a_filter_starves_no_page(make, search):
    store = make(search=search)
    store.batch(
        [PutOp(NS, f"{i:03}", {"text": "the same words", "mine": i % 100 == 0}) for i in range(500)]
    )
    hits = store.search(NS, query="the same words", filter={"mine": True}, limit=5)
    assert sorted(hit.key for hit in hits) == ["000", "100", "200", "300", "400"]


@PATHS
def test_the_index_option_says_what_is_embedded(make, search):
    store = make(index={"embed": HashEmbeddings(32), "fields": ["a", "c.d"]}, search=search)
    store.put(NS, "config", {"a": "apple", "b": "pear"})
    store.put(NS, "nested", {"c": {"d": "plum"}})
    store.put(NS, "own", {"a": "apple", "b": "cherry"}, index=["b"])
    store.put(NS, "array", {"l": [{"x": "fig"}, {"x": "date"}]}, index=["l[*].x"])
    store.put(NS, "last", {"l": ["fig", "grape"]}, index=["l[-1]"])
    store.put(NS, "odd", {"a": "melon"}, index=["nothing.here", "[", "a["])
    for query, key in {"plum": "nested", "cherry": "own", "date": "array", "grape": "last"}.items():
        (first, *_) = store.search(NS, query=query)
        assert (first.key, round(first.score, 5)) == (key, 1)
    assert store.search(NS, query="melon", limit=10)[-1].key == "odd"


def test_a_whole_value_is_indexed_by_default(make):
    store = make(index={"embed": HashEmbeddings(32)})
    store.put(NS, "k", {"b": "été", "a": 1})
    (hit,) = store.search(NS, query='{"a": 1, "b": "été"}')
    assert hit.score == pytest.approx(1, abs=1e-6)


@PATHS
def test_searches_of_one_batch_do_not_mix(make, search):
    store = make(search=search)
    for i in range(10):
        store.put((f"u{i}",), "k", {"text": f"word {i}"})
    ops = [SearchOp((f"u{i}",), query=f"word {9 - i}") for i in range(10)]
    answers = store.batch([*ops, SearchOp((), limit=3), SearchOp(("nobody",), query="word")])
    assert [answer[0].namespace for answer in answers[:10]] == [(f"u{i}",) for i in range(10)]
    assert [len(answer) for answer in answers[10:]] == [3, 0]


@PATHS
def test_an_empty_store_finds_nothing(make, do, search):
    store = make(search=search)
    assert do(store, "search", (), query="x") == []
    store.put(NS, "k", {"text": "x"}, index=False)
    assert [hit.score for hit in do(store, "search", (), query="x")] == [None]
    store.flush()
    assert len(do(store, "search", (), query="x")) == 1


# The index against scoring everything


def _clustered(count, dims=32, seed=1):
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(max(count // 40, 1), dims))
    return centres[rng.integers(len(centres), size=count)] + 0.15 * rng.normal(size=(count, dims))


def _found(store, queries, **options):
    return [
        [hit.key for hit in store.search((), query=_text(query), **options)] for query in queries
    ]


def _recall(ours, exact):
    pairs = list(zip(ours, exact, strict=True))
    return sum(len(set(a) & set(b)) for a, b in pairs) / sum(len(b) for _, b in pairs)


def test_the_index_finds_what_scoring_everything_finds(opened):
    vectors = _clustered(3_000)
    ops = [PutOp((f"u{i % 7}",), str(i), {"text": _text(v)}) for i, v in enumerate(vectors)]
    with opened(index=BY_NUMBERS) as store:
        store.batch(ops)
    queries = _clustered(40, seed=2)
    with opened(index=BY_NUMBERS, search="exact") as store:
        exact = _found(store, queries)
    with opened(index=BY_NUMBERS, search="chroma") as store:
        assert _recall(_found(store, queries), exact) >= 0.99


@pytest.mark.parametrize("seed", range(3))
def test_b14_every_live_item_is_reachable_after_churn(make, seed):
    store = make(index=BY_NUMBERS, search="chroma")
    vectors = _clustered(1_000, seed=seed)
    texts = {str(i): _text(v) for i, v in enumerate(vectors)}
    store.batch([PutOp(NS, key, {"text": text}) for key, text in texts.items()])
    store.flush()
    dice = random.Random(seed)  # noqa: S311 - repeatable, not secret
    shuffled = dice.sample(sorted(texts), 650)
    store.batch([PutOp(NS, key, None) for key in shuffled[:500]])
    for key in shuffled[:500]:
        del texts[key]
    store.flush()
    for key, vector in zip(shuffled[500:], _clustered(150, seed=seed + 10), strict=True):
        texts[key] = _text(vector)
        store.put(NS, key, {"text": texts[key]})
    store.flush()
    for key, text in texts.items():
        assert store.search(NS, query=text, limit=1)[0].key == key
    assert len(store.search(NS, query=text, limit=1_000)) == len(texts)


def test_b14_many_rounds_of_churn_wear_no_index_out(make):
    store = make(index=BY_NUMBERS, search="chroma")
    for turn in range(12):
        vectors = _clustered(200, dims=8, seed=turn)
        store.batch([PutOp(NS, str(i), {"text": _text(v)}) for i, v in enumerate(vectors)])
        store.flush()
    for i, vector in enumerate(vectors):
        assert store.search(NS, query=_text(vector), limit=1)[0].key == str(i)


def test_ties_and_pages_are_alike_on_every_path(opened):
    with opened() as store:
        store.batch([PutOp(NS, f"{i:03}", {"text": f"word {i % 3}"}) for i in range(90)])
    answers = []
    for search in ("auto", "exact", "chroma"):
        with opened(search=search) as store:
            pages = (store.search(NS, query="word 1", limit=7, offset=i) for i in range(0, 95, 7))
            answers.append([(hit.key, hit.score) for hit in itertools.chain(*pages)])
    keys = [[key for key, _ in answer] for answer in answers]
    assert keys[0] == keys[1] == keys[2]
    assert len(set(keys[0])) == 90
    scores = [[score for _, score in answer] for answer in answers]
    assert scores[0] == pytest.approx(scores[2], abs=1e-6)


def test_a_cached_namespace_follows_every_kind_of_change(opened, folder):
    """One store searches after each change of another; both must agree with a fresh one."""
    writer, reader = opened(index=BY_NUMBERS), opened(index=BY_NUMBERS)
    dice = random.Random(7)  # noqa: S311 - repeatable, not secret
    for turn in range(120):
        key = str(dice.randrange(12))
        vector = _text([dice.random(), dice.random(), 0.1])
        change = dice.randrange(5)
        if change == 0:
            writer.delete(NS, key)
        elif change == 1:
            writer.put(NS, key, {"text": vector, "even": True}, index=False)
        else:
            writer.put(NS, key, {"text": vector, "even": turn % 2 == 0})
        for wanted in (None, {"even": True}):
            answers = []
            for store in (reader, writer, ChromaStore.from_path(folder, index=BY_NUMBERS)):
                hits = store.search(NS, query="1 0 0", filter=wanted, limit=20)
                answers.append([(hit.key, hit.score, hit.value) for hit in hits])
            store.close()
            assert answers[0] == answers[1] == answers[2]


def test_an_unknown_search_path_is_refused(opened):
    with pytest.raises(ValueError, match="search"):
        opened(search="fast")


def test_a_far_item_not_yet_indexed_takes_no_near_ones_place(opened, monkeypatch):
    monkeypatch.setattr(chroma, "SWITCH_OVER", 500)

    def at(angle):
        return _text([np.cos(angle), np.sin(angle)])

    store = opened(index=BY_NUMBERS)
    near = [PutOp(NS, f"{i}", {"text": at(i / 1e4), "ok": i >= 1000}) for i in range(1500)]
    store.batch(near)
    store.flush()
    assert store._index.is_open
    store.batch([PutOp(NS, f"far {i}", {"text": at(2 + i), "ok": True}) for i in range(20)])
    hits = store.search(NS, query=at(0), filter={"ok": True})
    assert [hit.key for hit in hits] == [f"{i}" for i in range(1000, 1010)]
