"""Of the notes of one thing, at most one holds at any instant, in whatever order they arrive."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.store.memory import InMemoryStore

from langgraph_fabric import MemoryFabric, Scope
from langgraph_fabric.fabric.timeline import begins, ended_before_later, succeed
from langgraph_fabric.notes import Note
from langgraph_fabric.testing import FrozenClock

SLOT = {"kind": "fact", "subject": "Anna", "attribute": "home"}
START = datetime(2020, 1, 1, tzinfo=UTC)
DAYS = 12


def day(number):
    return START + timedelta(days=number)


def note(text, start=None, end=None):
    return Note(
        id="0badc0ffee11",
        kind="fact",
        content=text,
        ingested_at=day(10),
        valid_from=None if start is None else day(start),
        valid_to=None if end is None else day(end),
    )


class TestByHand:
    def test_a_note_without_a_start_begins_when_it_is_learned(self):
        assert begins(note("a")) == day(10)
        assert begins(note("a", 3)) == day(3)

    def test_the_nearest_later_start_ends_a_late_note(self):
        rivals = [note("b", 8), note("c", 6), note("d", 1), note("e")]
        assert ended_before_later(note("a", 3), rivals).valid_to == day(6)
        assert ended_before_later(note("a", 3, 4), rivals).valid_to == day(4)
        assert ended_before_later(note("a", 9), rivals).valid_to is None

    def test_a_successor_begins_where_the_old_note_ends(self):
        closed, opened = succeed(note("a", 1), note("b", 4))
        assert (closed.valid_to, opened.valid_from) == (day(4), day(4))

    def test_an_old_note_that_began_at_the_same_instant_holds_at_no_time(self):
        closed, _ = succeed(note("a", 4), note("b", 4))
        assert closed.valid_from == closed.valid_to == day(4)

    def test_an_old_note_that_had_ended_keeps_its_end(self):
        closed, _ = succeed(note("a", 1, 2), note("b", 4))
        assert closed.valid_to == day(2)


def held(fabric, moment):
    return [hit.content for hit in fabric.recall("home lives", as_of=moment, top_k=32).hits]


class TestLateArrivals:
    def test_an_older_fact_that_comes_late_does_not_become_current_by_slot(self, fabric):
        fabric.remember(content="Bern", valid_from=day(6), **SLOT)
        late = fabric.remember(content="Oslo", valid_from=day(2), **SLOT)
        assert late.note.valid_to == day(6)
        assert [held(fabric, day(d)) for d in (1, 2, 5, 6)] == [[], ["Oslo"], ["Oslo"], ["Bern"]]

    def test_an_older_fact_that_comes_late_does_not_become_current_by_guard(self, fabric):
        fabric.remember(kind="fact", content="Anna lives in Bern", valid_from=day(6))
        fabric.remember(kind="fact", content="Anna lives in Oslo", valid_from=day(2))
        assert held(fabric, day(9)) == ["Anna lives in Bern"]
        assert held(fabric, day(4)) == ["Anna lives in Oslo"]

    def test_a_late_short_form_ends_where_its_refinement_begins(self, fabric):
        long = "User prefers metric units and Celsius"
        fabric.remember(kind="fact", content=long, valid_from=day(6))
        fabric.remember(kind="fact", content="User prefers metric units", valid_from=day(2))
        assert held(fabric, day(9)) == [long]
        assert held(fabric, day(4)) == ["User prefers metric units"]

    def test_a_late_fact_of_another_subject_is_not_ended(self, fabric):
        fabric.remember(kind="fact", content="The budget is 7 euro", subject="A", valid_from=day(6))
        other = fabric.remember(
            kind="fact", content="The budget is 5 euro", subject="B", valid_from=day(2)
        )
        assert other.note.valid_to is None

    def test_the_same_words_of_another_subject_end_nothing(self, fabric):
        fabric.remember(kind="fact", content="Likes tea", subject="A", valid_from=day(6))
        other = fabric.remember(kind="fact", content="Likes tea", subject="B", valid_from=day(2))
        assert other.note.valid_to is None

    @pytest.mark.parametrize("by", ["slot", "guard"])
    def test_three_generations_and_one_late_in_the_middle(self, fabric, by):
        def keep(place, start):
            text = {"kind": "fact", "content": f"Anna lives in {place}", "valid_from": day(start)}
            return fabric.remember(**{**text, **(SLOT if by == "slot" else {})})

        for place, start in (("Oslo", 0), ("Bern", 4), ("Rome", 8), ("Kyiv", 6)):
            keep(place, start)
        seen = [held(fabric, day(d)) for d in (0, 4, 5, 6, 7, 8, 11)]
        cities = ["Oslo", "Bern", "Bern", "Kyiv", "Kyiv", "Rome", "Rome"]
        assert seen == [[f"Anna lives in {city}"] for city in cities]

    def test_of_two_facts_of_one_instant_the_last_one_holds(self, fabric):
        fabric.remember(content="Oslo", valid_from=day(2), **SLOT)
        fabric.remember(content="Bern", valid_from=day(2), **SLOT)
        assert held(fabric, day(2)) == held(fabric, day(5)) == ["Bern"]
        assert held(fabric, day(1)) == []

    def test_two_writes_of_one_frozen_instant_leave_one_current(self, fabric):
        fabric.remember(content="Oslo", **SLOT)
        fabric.remember(content="Bern", **SLOT)
        assert held(fabric, None) == ["Bern"]

    def test_a_fact_said_again_later_has_held_since_it_was_said_first(self, fabric):
        first = fabric.remember(content="Oslo", valid_from=day(2), **SLOT)
        again = fabric.remember(content="oslo", valid_from=day(6), **SLOT)
        assert (again.id, again.note.valid_from) == (first.id, day(2))

    def test_saying_again_what_a_later_fact_ends_does_not_shorten_it(self, fabric, clock):
        clock.set(day(1))
        fabric.remember(content="Oslo", **SLOT)
        fabric.remember(content="Bern", valid_from=day(9), **SLOT)
        clock.set(day(3))
        fabric.remember(content="Oslo", **SLOT)
        assert [held(fabric, day(d)) for d in (-5, 2, 8, 9)] == [["Oslo"]] * 3 + [["Bern"]]


_starts = st.none() | st.integers(0, DAYS - 1)


@st.composite
def writes(draw, ends):
    start = draw(_starts)
    base = DAYS if start is None else start  # a note without a start begins on the clock's day
    return draw(st.sampled_from("abc")), start, draw(ends.map(lambda n: n and base + n))


def line(sequence):
    """Return a fabric whose one slot took these writes, and what it holds at half-day steps."""
    clock = FrozenClock(day(DAYS))
    store = InMemoryStore()
    numbers = iter(range(10_000))
    fabric = MemoryFabric(
        store, scope=Scope("t", "r"), clock=clock, nonce=lambda: str(next(numbers))
    )
    for text, start, end in sequence:
        span = {
            name: day(value)
            for name, value in (("valid_from", start), ("valid_to", end))
            if value is not None
        }
        fabric.remember(content=f"home {text}", **span, **SLOT)
        clock.advance(minutes=1)
    namespace = ("fabric", "t", "r", "@all", "notes", "fact")
    notes = [fabric.get(item.key) for item in store.search(namespace, limit=100)]
    moments = [START + timedelta(hours=12 * n) for n in range(-2, 4 * DAYS)]
    return {moment: [n for n in notes if n.valid_at(moment)] for moment in moments}


_any_end = st.none() | st.integers(1, 5)


@settings(max_examples=150, deadline=None)
@given(st.lists(writes(_any_end), min_size=1, max_size=8))
def test_at_most_one_note_of_a_slot_holds_at_any_instant(sequence):
    assert all(len(holding) <= 1 for holding in line(sequence).values())


@settings(max_examples=150, deadline=None)
@given(st.lists(writes(st.none()), min_size=1, max_size=8))
def test_without_stated_ends_exactly_one_note_holds_from_the_first_start_on(sequence):
    first = min(DAYS if start is None else start for _, start, _ in sequence)
    for moment, holding in line(sequence).items():
        if moment >= day(first) + timedelta(hours=1):
            assert len(holding) == 1


@settings(max_examples=150, deadline=None)
@given(st.permutations([("a", 1), ("b", 3), ("c", 5), ("d", 7), ("e", 9)]))
def test_the_order_in_which_facts_arrive_does_not_change_their_history(order):
    lined = line([(text, start, None) for text, start in order])
    for moment, holding in lined.items():
        begun = [text for text, start in sorted(order, key=lambda w: w[1]) if day(start) <= moment]
        assert [n.content for n in holding] == [f"home {text}" for text in begun[-1:]]
