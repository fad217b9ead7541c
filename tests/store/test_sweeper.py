import threading

import pytest

from langgraph_fabric.errors import MemoryValidationError, StoreUnavailableError
from langgraph_fabric.store import ChromaStore
from langgraph_fabric.store._sweeper import Sweeper

NS = ("t",)
SOON = 1e-5
"""Minutes: under a millisecond."""
LONG = 30
"""Seconds after which a test has failed."""


def _counting(times):
    """Return a sweep, and an event for when it has been made so often."""
    reached, made = threading.Event(), []

    def sweep():
        made.append(True)
        if len(made) == times:
            reached.set()

    return sweep, reached


def test_it_sweeps_again_and_again_until_it_is_stopped():
    sweep, reached = _counting(5)
    sweeper = Sweeper(sweep)
    ended = sweeper.start(SOON)
    assert reached.wait(LONG)
    assert sweeper.stop(LONG)
    assert ended.result(LONG) is None
    assert sweeper.stop()


def test_there_is_one_at_most():
    sweeper = Sweeper(lambda: None)
    assert sweeper.start(60) is sweeper.start(60)
    assert sweeper.stop(LONG)
    assert not sweeper.start(60).done()
    assert sweeper.stop(LONG)


def test_cancelling_the_future_stops_it():
    sweep, reached = _counting(1)
    sweeper = Sweeper(sweep)
    ended = sweeper.start(SOON)
    assert reached.wait(LONG)
    assert ended.cancel()
    thread, _, _ = sweeper._running
    thread.join(LONG)
    assert not thread.is_alive()


def test_a_store_that_cannot_be_used_for_once_is_tried_again():
    count, reached = _counting(3)

    def sweep():
        count()
        raise StoreUnavailableError("store", "busy", "Wait")

    sweeper = Sweeper(sweep)
    sweeper.start(SOON)
    assert reached.wait(LONG)
    assert sweeper.stop(LONG)


def test_a_fault_is_told_by_the_future():
    def sweep():
        raise ZeroDivisionError

    assert isinstance(Sweeper(sweep).start(SOON).exception(LONG), ZeroDivisionError)


@pytest.mark.parametrize("minutes", [0, -1, float("nan"), float("inf")])
def test_the_minutes_are_positive(minutes):
    with pytest.raises(MemoryValidationError, match="sweep_interval_minutes"):
        Sweeper(lambda: None).start(minutes)


def test_a_store_sweeps_by_its_configuration(make, clock):
    store = make(ttl={"sweep_interval_minutes": SOON})
    assert [t.name for t in threading.enumerate()].count("ttl-sweeper") == 0
    store.put(NS, "k", {"text": "word"}, ttl=1)
    store.start_ttl_sweeper()
    clock.advance(minutes=2)
    gone = threading.Event()
    while not gone.wait(0.001):
        with store._records.reading() as connection:
            if connection.execute("SELECT COUNT(*) FROM items").fetchone() == (0,):
                gone.set()
    assert store.stop_ttl_sweeper(LONG)


def test_a_store_without_ttl_has_nothing_to_sweep(make):
    store = make()
    assert store.start_ttl_sweeper().done()
    assert store.stop_ttl_sweeper()


def test_closing_the_store_stops_it(clock):
    with ChromaStore.in_memory(index=False, ttl={"default_ttl": 1}, clock=clock) as store:
        ended = store.start_ttl_sweeper(60)
        assert not ended.done()
    assert ended.done()


def test_the_upstream_name_sweeps_too(make, clock):
    store = make()
    store.put(NS, "k", {}, ttl=1)
    clock.advance(minutes=1)
    assert store.sweep_ttl() == 1
