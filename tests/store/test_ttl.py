import math

import pytest
from langgraph.store.base import GetOp, ListNamespacesOp, PutOp, SearchOp

from langgraph_fabric._ops import PutIfOp, TextSearchOp
from langgraph_fabric.errors import MemoryValidationError

NS = ("t",)


def _seen(store):
    """Return what each way of looking finds, without refreshing anything."""
    results = store.batch(
        [
            GetOp(NS, "k", refresh_ttl=False),
            SearchOp(NS, refresh_ttl=False),
            SearchOp(NS, query="word", refresh_ttl=False),
            SearchOp(NS, {"text": "word"}, query="word", refresh_ttl=False),
            TextSearchOp(NS, "word"),
            ListNamespacesOp(),
        ]
    )
    return [bool(result) for result in results]


@pytest.mark.parametrize("search", ["exact", "chroma"])
def test_what_has_expired_is_invisible_at_once(make, clock, search):
    store = make(search=search)
    store.put(NS, "k", {"text": "word"}, ttl=1)
    clock.advance(seconds=59.999)
    assert all(_seen(store))
    clock.advance(seconds=0.001)
    assert not any(_seen(store))


def test_an_expired_item_makes_no_page_short(make, clock, keys):
    store = make()
    for i in range(30):
        store.put(NS, f"{i:02}", {"text": "word"}, ttl=1 if i % 3 else None)
    clock.advance(minutes=2)
    for options in ({}, {"query": "word"}):
        pages = [keys(store, NS, limit=4, offset=i, **options) for i in range(0, 12, 4)]
        assert [len(page) for page in pages] == [4, 4, 2]
        assert len({key for page in pages for key in page}) == 10


def test_a_read_lets_an_item_live_on(store, clock, do):
    store.put(NS, "k", {"text": "word"}, ttl=1)
    for look in (
        lambda: do(store, "get", NS, "k"),
        lambda: do(store, "search", NS),
        lambda: do(store, "search", NS, query="word"),
        lambda: do(store, "search", NS, filter={"text": "word"}),
    ):
        clock.advance(seconds=50)
        assert look()
    clock.advance(seconds=60)
    assert do(store, "get", NS, "k") is None


@pytest.mark.parametrize("refresh", ["by the call", "by the configuration"])
def test_a_read_that_shall_not_refresh_does_not(make, clock, do, refresh):
    configured = refresh == "by the configuration"
    store = make(ttl={"refresh_on_read": not configured})
    options = {} if configured else {"refresh_ttl": False}
    store.put(NS, "k", {"text": "word"}, ttl=1)
    clock.advance(seconds=50)
    assert do(store, "get", NS, "k", **options)
    assert do(store, "search", NS, query="word", **options)
    clock.advance(seconds=10)
    assert do(store, "get", NS, "k") is None


def test_only_what_is_on_the_page_is_refreshed(store, clock, keys):
    for key in "ab":
        store.put(NS, key, {}, ttl=1)
    clock.advance(seconds=50)
    (read,) = keys(store, NS, limit=1)
    clock.advance(seconds=50)
    assert keys(store, NS) == [read]


def test_the_default_holds_unless_a_put_says_otherwise(make, clock, keys):
    store = make(ttl={"default_ttl": 1})
    store.put(NS, "default", {})
    store.put(NS, "longer", {}, ttl=10)
    store.put(NS, "ever", {}, ttl=None)
    clock.advance(minutes=2)
    assert sorted(keys(store, NS)) == ["ever", "longer"]


def test_a_put_sets_the_time_to_live_anew(store, clock):
    store.put(NS, "k", {}, ttl=1)
    store.put(NS, "k", {}, ttl=10)
    clock.advance(minutes=5)
    store.put(NS, "k", {})
    clock.advance(days=365)
    assert store.get(NS, "k") is not None


def test_a_read_beside_a_put_refreshes_by_the_new_time_to_live(store, clock):
    store.put(NS, "k", {}, ttl=1)
    store.batch([GetOp(NS, "k"), PutOp(NS, "k", {"v": 2}, ttl=10)])
    clock.advance(minutes=9)
    assert store.get(NS, "k").value == {"v": 2}
    store.batch([GetOp(NS, "k"), PutOp(NS, "k", {"v": 3})])
    clock.advance(days=365)
    assert store.get(NS, "k").value == {"v": 3}


def test_what_has_expired_is_never_revived(store, clock):
    store.put(NS, "k", {"text": "word"}, ttl=1)
    clock.advance(minutes=1)
    store.batch([GetOp(NS, "k"), SearchOp(NS), SearchOp(NS, query="word")])
    clock.advance(minutes=-0.5)
    assert store.get(NS, "k") is not None  # the clock went back: it never was refreshed
    clock.advance(minutes=0.5 + 1)
    assert store.get(NS, "k") is None


def test_an_expired_item_put_again_is_new_and_found(store, clock, keys):
    store.put(NS, "k", {"text": "same word"}, ttl=1)
    clock.advance(minutes=1)
    store.put(NS, "k", {"text": "same word"})
    assert store.get(NS, "k").created_at == clock()
    assert keys(store, NS, query="word") == ["k"]
    assert len(store.batch([TextSearchOp(NS, "word")])[0]) == 1


def test_an_expired_item_has_version_0(store, clock):
    store.put(NS, "k", {"text": "same word", "version": 3}, ttl=1)
    clock.advance(minutes=1)
    store.batch([PutIfOp(NS, "k", {"text": "same word", "version": 1}, 0)])
    clock.advance(days=365)
    assert store.get(NS, "k").value["version"] == 1


def test_a_sweep_deletes_what_has_expired(store, clock):
    for i in range(5):
        store.put((*NS, str(i)), "k", {"text": "word"}, ttl=i)
    clock.advance(minutes=2)
    assert store.sweep() == 3
    assert store.sweep() == 0
    clock.advance(minutes=-2)
    assert store.list_namespaces() == [("t", "3"), ("t", "4")]


@pytest.mark.parametrize("ttl", [math.nan, math.inf, -1, "1", True, 10**30])
def test_a_time_to_live_is_a_number_of_minutes(store, ttl):
    with pytest.raises(MemoryValidationError, match="ttl"):
        store.batch([PutOp(NS, "other", {}), PutOp(NS, "k", {}, ttl=ttl)])
    assert store.search(()) == []


def test_a_time_to_live_of_0_is_over_at_once(store):
    store.put(NS, "k", {}, ttl=0)
    assert store.get(NS, "k") is None
