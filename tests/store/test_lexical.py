import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from langgraph.store.base import PutOp

from langgraph_fabric._bm25 import bm25
from langgraph_fabric._ops import TextSearchOp
from langgraph_fabric._text import search_terms
from langgraph_fabric.store import ChromaStore, _lexical

NS = ("t", "notes")


def _hits(store, query, prefix=NS, **options):
    return store.batch([TextSearchOp(prefix, query, **options)])[0]


def _keys(store, query, prefix=NS, **options):
    return [hit.key for hit in _hits(store, query, prefix, **options)]


NOTES = {
    "zh": "我喜欢喝绿茶和咖啡",
    "ja": "彼は東京タワーが好きです",
    "ko": "저는 매운 김치찌개를 좋아해요",
    "th": "ฉันชอบกินข้าวผัด",
    "path": "the file is C:\\repo\\a-b.py here",
    "cpp": "writes c++ and C# at work",
    "operators": "AND OR NOT NEAR are words",
    "uuid": "order 3f2b8c1e-5d4a-4e8f-9b2a-7c6d5e4f3a2b shipped",
    "accents": "crème brûlée à Zürich",
    "emoji": "birthday 🎂 party",
    "underscore": "call the my_function_name helper",
}


@pytest.mark.parametrize(
    ("query", "key"),
    [
        ("绿茶", "zh"),
        ("東京", "ja"),
        ("김치", "ko"),
        ("ข้าว", "th"),
        ("C:\\repo\\a-b.py", "path"),
        ("c++", "cpp"),
        ("AND OR NOT *", "operators"),
        ("3f2b8c1e-5d4a-4e8f-9b2a-7c6d5e4f3a2b", "uuid"),
        ("creme brulee zurich", "accents"),
        ("🎂", "emoji"),
        ("my_function_name", "underscore"),
        ("unknown " * 2_000 + "kitchen birthday", "emoji"),
    ],
)
def test_b61_a_note_is_found_by_its_words_in_any_script(store, do, query, key):
    for name, text in NOTES.items():
        store.put(NS, name, {"text": text})
    (hits,) = do(store, "batch", [TextSearchOp(NS, query)])
    assert hits[0].key == key


@pytest.fixture(scope="module")
def filled():
    with ChromaStore.in_memory(index=False) as store:
        for name, text in NOTES.items():
            store.put(NS, name, {"text": text})
        yield store


@settings(max_examples=200, deadline=None)
@given(query=st.text(max_size=60))
@example('"')
@example("'")
@example('" OR scope : "')
@example("terms : x")
@example("a* ^b NEAR(c d, 2)")
@example("\0")
@example("\ud83d")
@example("(" * 100)
@example("x" * 10_000)
@example("-")
@example("")
def test_b61_no_query_is_a_syntax_error_and_every_hit_shares_a_term(filled, query):
    terms = set(search_terms(query.encode(errors="replace").decode()))
    for hit in _hits(filled, query):
        assert terms & set(search_terms(str(hit.value["text"]) + " text"))
        assert hit.score > 0


def test_scores_are_bm25_of_the_scope_and_best_first(store):
    texts = {"a": "tea tea coffee", "b": "tea and cake and jam", "c": "milk", "d": "coffee"}
    for key, text in texts.items():
        store.put(NS, key, {"text": text})
    terms = {key: search_terms(text) for key, text in texts.items()}
    average = sum(map(len, terms.values())) / 4
    scores = bm25(["tea", "coffe"], list(terms.values()), size=4, average_length=average)
    hits = _hits(store, "tea coffee")
    expected = dict(zip(texts, scores, strict=True))
    assert {hit.key: hit.score for hit in hits} == pytest.approx(
        {key: score for key, score in expected.items() if score > 0}
    )
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_what_other_tenants_store_changes_no_score(store):
    store.batch([PutOp(("a", "x"), str(i), {"text": f"tea number {i}"}) for i in range(5)])
    before = [(hit.key, hit.score) for hit in _hits(store, "tea 3", ("a",))]
    store.batch([PutOp((f"b{i}", "x"), "k", {"text": "tea tea tea 3 and more"}) for i in range(50)])
    store.put(("a-b",), "k", {"text": "tea 3"})
    assert [(hit.key, hit.score) for hit in _hits(store, "tea 3", ("a",))] == before
    store.put(("a", "y"), "k", {"text": "tea"})
    assert [(hit.key, hit.score) for hit in _hits(store, "tea 3", ("a", "x"))] == before
    assert len(_hits(store, "tea 3", ("a",))) == 6


def test_deleted_and_changed_texts_leave_the_statistics(store):
    store.put(NS, "a", {"text": "tea time"})
    store.put(NS, "b", {"text": "tea for two"})
    before = [(hit.key, hit.score) for hit in _hits(store, "tea")]
    for i in range(20):
        store.put(NS, "c", {"text": "tea " * (i + 1)})
    store.put(NS, "c", {"text": "no more"})
    store.delete(NS, "c")
    store.put(NS, "d", {"text": "tea"}, index=False)
    assert [(hit.key, hit.score) for hit in _hits(store, "tea")] == before


def test_filters_limits_and_offsets_hold(store):
    for i in range(20):
        store.put(NS, f"{i:02}", {"text": "tea " + "x " * i, "even": i % 2 == 0})
    assert _keys(store, "tea", filter={"even": True}, limit=3) == ["00", "02", "04"]
    assert _keys(store, "tea", filter={"even": True}, limit=3, offset=8) == ["16", "18"]
    assert _keys(store, "tea", limit=0) == []
    assert _keys(store, "tea", ("t",), limit=2, offset=1) == ["01", "02"]
    assert _keys(store, "tea", (), limit=1) == ["00"]
    assert _keys(store, "tea", ("u",)) == []


def test_terms_that_look_like_another_terms_code_are_told_apart(store):
    store.put(NS, "underscore", {"text": "a_b"})
    store.put(NS, "code", {"text": "x615f62"})
    assert _keys(store, "a_b") == ["underscore"]
    assert _keys(store, "x615f62") == ["code"]


def test_a_word_of_any_length_is_found(store):
    word = "y" * 100_000
    store.put(NS, "long", {"text": word})
    store.put(NS, "other", {"text": word + "z"})
    assert _keys(store, word) == ["long"]


def test_words_see_the_state_before_their_batch(store):
    answers = store.batch([PutOp(NS, "k", {"text": "tea"}), TextSearchOp(NS, "tea")])
    assert answers == [None, []]
    assert _keys(store, "tea") == ["k"]


def test_s59_of_very_many_matches_a_filter_and_a_page_still_find_all(make, monkeypatch):
    monkeypatch.setattr(_lexical, "_PORTION", 10)
    store = make(index=False)
    texts = {f"{i:02}": {"text": "red"} for i in range(40)}
    texts["last"] = {"text": "red " + "other " * 90, "wanted": True}
    store.batch([PutOp(NS, key, value, index=["text"]) for key, value in texts.items()])
    (hits,) = store.batch([TextSearchOp(NS, "red", {"wanted": True})])
    assert [hit.key for hit in hits] == ["last"]
    pages = store.batch([TextSearchOp(NS, "red", limit=6, offset=i) for i in range(0, 48, 6)])
    assert sorted(hit.key for page in pages for hit in page) == sorted(texts)
