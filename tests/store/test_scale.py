"""Large inputs, and an index that has seen many writes come and go."""

import random
import tracemalloc

import pytest
from langgraph.store.base import PutOp

from langgraph_fabric.store import _index

NS = ("t",)


def _puts(numbers, version=0):
    return [PutOp(NS, str(i), {"text": f"word{i} in version{version}"}) for i in numbers]


def test_b65_ten_thousand_puts_in_one_call_are_one_batch(opened, do):
    store = opened()
    do(store, "batch", _puts(range(10_000)))
    assert len(store.search(NS, limit=20_000)) == 10_000
    hits = do(store, "search", NS, query="word77 in version0", limit=5_000)
    assert len({hit.key for hit in hits}) == 5_000
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    words = do(store, "search", NS, query="version0", limit=5_000, mode="lexical")
    assert len({hit.key for hit in words}) == 5_000
    do(store, "batch", [PutOp(NS, str(i), None) for i in range(6_000)])
    assert len(store.search(NS, limit=20_000)) == 4_000
    assert len(store.search(NS, query="word", limit=20_000)) == 4_000
    assert store.doctor().healthy


def test_b65_many_are_found_through_the_index_too(opened):
    store = opened(search="chroma")
    store.batch(_puts(range(7_000)))
    assert len({hit.key for hit in store.search(NS, query="word7", limit=5_000)}) == 5_000
    store.batch([PutOp(NS, str(i), None) for i in range(6_000)])
    assert len(store.search(NS, query="word", limit=5_000)) == 1_000
    assert store.doctor().healthy


def test_b65_a_hundred_thousand_items_are_listed_in_bounded_memory(opened):
    store = opened(index=False)
    for start in range(0, 100_000, 10_000):
        store.batch([PutOp(NS, f"{i:05}", {"n": i}) for i in range(start, start + 10_000)])
    tracemalloc.start()
    seen = set()
    for offset in range(0, 100_000, 5_000):
        page = {item.value["n"] for item in store.search(NS, limit=5_000, offset=offset)}
        assert len(page) == 5_000
        seen.update(n // 1_000 for n in page)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert seen == set(range(100))
    assert peak < 25 * 2**20


@pytest.mark.parametrize("seed", range(10))
def test_b14_after_churn_every_live_item_is_reached(make_in_memory, seed):
    dice = random.Random(seed)  # noqa: S311 - not for secrets
    store = make_in_memory(search="chroma")
    store.batch(_puts(range(1_000)))
    store.flush()
    gone = set(dice.sample(range(1_000), 500))
    store.batch([PutOp(NS, str(i), None) for i in gone])
    store.flush()
    alive = {i: 0 for i in range(1_000) if i not in gone}
    for i in dice.sample(sorted(alive), 150):
        alive[i] = 1
    store.batch(_puts([i for i, version in alive.items() if version], 1))
    store.flush()
    for i, version in alive.items():
        hits = store.search(NS, query=f"word{i} in version{version}", limit=50)
        assert str(i) in {hit.key for hit in hits if hit.score > 1 - 1e-5}
    assert len(store.search(NS, query="word", limit=1_000)) == 500


def test_b14_rounds_of_churn_leave_a_bounded_number_of_dead_vectors(make_in_memory):
    store = make_in_memory(search="chroma")
    names, held = set(), []
    for turn in range(30):
        store.batch(_puts(range(200), turn))
        assert len(store.search(NS, query="word", limit=300)) == 200
        names.add(store._index._client.name)
        held.append(len(store._index.known()))
        with store._records.reading() as connection:
            dead = int(_index.fact(connection, "dead") or 0)
        assert dead <= _index._MOST_DEAD + 200 // 2
    assert set(held) == {200}
    assert len(names) == 1 + 29 * 200 // (_index._MOST_DEAD + 200)
    assert store.doctor().healthy
