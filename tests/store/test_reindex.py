import asyncio
import threading

import pytest
from langchain_core.embeddings import Embeddings
from langgraph.store.base import PutOp

from langgraph_fabric.embeddings import EmbedderProfile, HashEmbeddings
from langgraph_fabric.errors import EmbedderMismatchError, MemoryConflictError
from langgraph_fabric.store import ChromaStore
from langgraph_fabric.store._reindex import text_of
from langgraph_fabric.store._writes import text_hash

NS = ("t",)


class Counting(Embeddings):
    """Hash embeddings that count texts, call back before each portion, and can fail."""

    def __init__(self, dims=16, *, name="counting", before=lambda _: None):
        self._hash = HashEmbeddings(dims)
        self.profile = EmbedderProfile(id=name)
        self.before = before
        self.texts: list[str] = []

    def embed_documents(self, texts):
        self.before(texts)
        self.texts += texts
        return self._hash.embed_documents(texts)

    def embed_query(self, text):
        return self._hash.embed_query(text)


class Killed(BaseException):
    """What ends the call as suddenly as a test can from inside."""


def _filled(store, count=600):
    store.batch([PutOp(NS, f"{i:04}", {"text": f"word{i} of many"}) for i in range(count)])
    return store


def _equals(store, query):
    """Return the keys whose vector is the query's; short vectors of several words are equal."""
    hits = store.search(NS, query=query, limit=100)
    return {hit.key for hit in hits if hit.score == pytest.approx(1, abs=1e-6)}


def _finds(store, *numbers):
    for i in numbers:
        assert f"{i:04}" in _equals(store, f"word{i} of many")


@pytest.mark.parametrize("search", ["exact", "chroma"])
@pytest.mark.parametrize(
    "target",
    [
        pytest.param(Counting(16), id="other dims"),
        pytest.param(Counting(32), id="other name"),
        pytest.param(lambda texts: HashEmbeddings(32).embed_documents(texts), id="no name"),
    ],
)
def test_a_store_moves_to_another_embedder(make, do, search, target):
    store = _filled(make(search=search))
    _finds(store, 0)
    assert do(store, "reindex", embeddings=target) == 600
    _finds(store, 0, 299, 599)
    store.put(NS, "0600", {"text": "word600 of many"})
    _finds(store, 600)
    assert store.doctor().healthy


def test_a_moved_store_opens_with_the_new_embedder_only(opened):
    with opened() as store:
        _filled(store).reindex(embeddings=Counting())
        assert store.profile.id == "counting"
    with pytest.raises(EmbedderMismatchError, match=r"reindex\(embeddings="):
        opened().search(NS, query="word")
    _finds(opened(index={"embed": Counting(), "fields": ["text"]}), 7)


def test_every_path_keeps_its_text(make):
    fields = ["text", "tags[*]", "odd#1", "deep.er", "$"]
    store = make(index={"embed": HashEmbeddings(32), "dims": 32, "fields": fields})
    value = {"text": "a", "tags": ["b", "", "c"], "odd#1": "d", "deep": {"er": "e"}, "odd": ["x"]}
    store.put(NS, "k", value)
    embedder = Counting()
    assert store.reindex(embeddings=embedder) == 6
    assert {"a", "b", "c", "d", "e"} < set(embedder.texts)
    for text in "abcde":
        assert store.search(NS, query=text)[0].score == pytest.approx(1, abs=1e-6)


def test_a_text_that_the_value_has_not_is_no_text():
    assert text_of({"tags": ["a", "b"]}, "tags[*]#1", text_hash("b")) == "b"
    assert text_of({"tags": ["a", "b"]}, "tags[*]#1", text_hash("a")) is None
    assert text_of({"tags": ["a"]}, "tags[*]#7", text_hash("a")) is None
    assert text_of({}, "#1", text_hash("a")) is None


def test_it_is_asked_with_portions_and_progress(make):
    store, seen = _filled(make()), []
    embedder = Counting()
    store.reindex(embeddings=embedder, progress=lambda *counts: seen.append(counts))
    assert seen == [(256, 600), (512, 600), (600, 600)]
    assert len(embedder.texts) == 600 + 1  # one asks how long a vector is


def test_cut_off_it_goes_on_where_it_stopped(opened):
    calls = []

    def cut(texts):
        calls.append(len(texts))
        if len(calls) == 4:
            raise Killed

    store = _filled(opened())
    with pytest.raises(Killed):
        store.reindex(embeddings=Counting(before=cut))
    _finds(store, 0, 599)
    store.close()
    store, embedder = opened(), Counting()
    store.delete(NS, "0003")
    assert store.reindex(embeddings=embedder) == 599
    assert len(embedder.texts) == 600 - 512 + 1
    _finds(store, 0, 599)


def test_a_finished_move_is_not_made_again(opened):
    store, embedder = _filled(opened()), Counting()
    store.reindex(embeddings=Counting())
    assert store.reindex(embeddings=embedder) == 600
    assert len(embedder.texts) == 1
    _finds(store, 5)


def test_an_abandoned_move_gives_way_to_another(opened):
    def cut(texts):
        if len(texts) > 1:
            raise Killed

    store = _filled(opened())
    with pytest.raises(Killed):
        store.reindex(embeddings=Counting(before=cut))
    assert store.reindex(embeddings=Counting(24, name="other")) == 600
    _finds(store, 0, 599)


def test_what_is_written_meanwhile_is_not_lost(make, do):
    store = _filled(make())
    done = []

    def write(texts):
        if len(texts) > 1 and not done:
            done.append(True)
            store.put(NS, "0600", {"text": "word600 of many"})
            store.put(NS, "0001", {"text": "word601 of many"})
            store.delete(NS, "0002")
            _finds(store, 0, 600)

    do(store, "reindex", embeddings=Counting(before=write))
    _finds(store, 0, 600)
    assert "0001" in _equals(store, "word601 of many")
    assert store.get(NS, "0002") is None
    assert store.doctor().healthy


@pytest.mark.parametrize("search", ["exact", "chroma"])
def test_readers_and_writers_of_many_threads_notice_nothing(opened, search):
    store = _filled(opened(search=search))
    over, failures = threading.Event(), []

    def work(number):
        turn = 0
        try:
            while not over.is_set() or not turn:
                key = f"{1000 * number + turn % 100:04}"
                store.put(NS, key, {"text": f"word{key} of {turn}"})
                assert key in _equals(store, f"word{key} of {turn}")
                _finds(store, turn % 600)
                turn += 1
        except BaseException as exc:  # noqa: BLE001 - told by the test below
            failures.append(exc)

    threads = [threading.Thread(target=work, args=(number,)) for number in (1, 2)]
    for thread in threads:
        thread.start()
    for name in ("a", "b", "c"):
        store.reindex(embeddings=Counting(ord(name) % 7 + 16, name=name))
    over.set()
    for thread in threads:
        thread.join()
    assert failures == []
    _finds(store, *range(0, 600, 50))
    assert store.doctor().healthy


def test_a_process_with_the_old_embedder_is_told_what_to_do(opened):
    ours, theirs = _filled(opened()), opened()
    _finds(theirs, 1)
    ours.reindex(embeddings=Counting())
    with pytest.raises(EmbedderMismatchError, match="reindex"):
        theirs.search(NS, query="word")
    with pytest.raises(EmbedderMismatchError, match="reindex"):
        theirs.put(NS, "new", {"text": "new"})
    theirs.reindex(embeddings=Counting())
    _finds(theirs, 1)


def test_of_two_moves_at_once_one_is_told(opened):
    store, other = _filled(opened()), opened()

    def cross(texts):
        if len(texts) > 1:
            other.reindex(embeddings=Counting(24, name="other"))

    with pytest.raises(MemoryConflictError, match="reindex"):
        store.reindex(embeddings=Counting(before=cross))
    _finds(other, 0, 599)


def test_a_new_embedder_that_fails_changes_nothing(make, do):
    store = _filled(make())

    def fail(texts):
        if len(texts) > 1:
            raise ConnectionError

    with pytest.raises(ConnectionError):
        do(store, "reindex", embeddings=Counting(before=fail))
    with pytest.raises(EmbedderMismatchError):
        do(store, "reindex", embeddings=Counting(16), dims=24)
    _finds(store, 0, 599)
    assert store.doctor().healthy


def test_a_deleted_item_leaves_no_vector_in_an_unfinished_move(opened):
    def cut(texts):
        if texts[0] == "word256 of many":
            raise Killed

    store = _filled(opened())
    with pytest.raises(Killed):
        store.reindex(embeddings=Counting(before=cut))
    staged = "SELECT COUNT(*) FROM staged"
    with store._records.reading() as connection:
        assert connection.execute(staged).fetchone() == (256,)
    store.delete(NS, "0000")
    with store._records.reading() as connection:
        assert connection.execute(staged).fetchone() == (255,)


def test_a_store_without_vectors_stays_without(opened):
    store = _filled(opened(index=False), 10)
    assert store.reindex(embeddings=Counting()) == 0
    assert store.embeddings is None
    store.put(NS, "k", {"text": "a"})
    with opened(index={"embed": Counting(), "fields": ["text"]}) as other:
        other.put(NS, "k", {"text": "b"})
        assert other.search(NS, query="b")[0].score == pytest.approx(1, abs=1e-6)


def test_an_async_function_moves_a_store_too(clock):
    async def embed(texts):
        await asyncio.sleep(0)
        return HashEmbeddings(8).embed_documents(texts)

    async def go():
        async with ChromaStore.in_memory(clock=clock) as store:
            await store.aput(NS, "k", {"text": "a word"}, index=["text"])
            assert await store.areindex(embeddings=embed, dims=8) == 1
            (hit,) = await store.asearch(NS, query="a word")
            assert hit.score == pytest.approx(1, abs=1e-6)

    asyncio.run(go())
