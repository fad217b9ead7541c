"""Rows: what is written is read back; what is malformed is no note; filters compare in order."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langgraph.store.base import Item

from langgraph_fabric.memory.rows import decode, eligible_filter, encode
from langgraph_fabric.notes import Link, Note

MOMENT = datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC)
FULL = Note(
    id="0badc0ffee11",
    kind="fact",
    content="Anna likes tea",
    ingested_at=MOMENT,
    valid_from=MOMENT,
    valid_to=MOMENT + timedelta(days=1),
    t_ref=MOMENT,
    keywords=("tea",),
    tags=("prefs",),
    context="Said at lunch",
    links=(Link("0badc0ffee12", "related", 0.5), Link("0badc0ffee13")),
    source_entry_ids=("m1",),
    subject="Anna",
    attribute="drink",
    supersedes="0badc0ffee14",
    importance=0.5,
    decision="insert: kept",
    sequence=7,
    version=2,
)
BARE = Note(id="0badc0ffee11", kind="file", content="a.md", ingested_at=MOMENT, path="a.md")


def item(note, **changes):
    value = {**encode(note), **changes}
    return Item(namespace=("n",), key=note.id, value=value, created_at=MOMENT, updated_at=MOMENT)


@pytest.mark.parametrize("note", [FULL, BARE], ids=["full", "bare"])
def test_a_note_is_read_back_as_it_was(note):
    assert decode(item(note), note.kind).note == note


def test_what_is_unset_is_left_out_s154():
    assert set(encode(BARE)["fabric"]) == {"v", "kind", "path"}


def test_keys_of_the_host_are_kept_s188():
    assert encode(BARE, previous={"owner": "host", "text": "old"})["owner"] == "host"


@pytest.mark.parametrize(
    "changes",
    [
        {"fabric": None},
        {"fabric": "x"},
        {"fabric": {"v": 1}},
        {"fabric": {"v": 1, "kind": "fact", "surprise": 1}},
        {"fabric": {"v": 1, "kind": "fact", "tags": ["", "x"]}},
        {"fabric": {"v": 1, "kind": "fact", "context": ""}},
        {"fabric": {"v": 1, "kind": "fact", "supersedes": "X"}},
        {"fabric": {"v": 1, "kind": "fact", "links": [{"id": "0badc0ffee12", "weight": "1"}]}},
        {"fabric": {"v": 1, "kind": "fact", "path": "../a"}},
        {"text": None},
        {"ingested_at": "yesterday"},
        {"ingested_at": None},
        {"importance": "high"},
        {"decision": 7},
        {"version": None},
        {"state": "gone"},
    ],
    ids=repr,
)
def test_a_malformed_row_is_no_note_s155(changes):
    assert decode(item(FULL, **changes), "fact") is None


def test_a_row_of_another_kind_or_none_is_no_note():
    assert decode(item(FULL), "procedure") is None
    assert decode(None, "fact") is None


moments = st.datetimes(timezones=st.just(UTC))


@given(moments, moments, moments)
def test_the_filter_lets_every_valid_note_through(start, end, asked):
    note = Note(
        id=FULL.id,
        kind="fact",
        content="x",
        ingested_at=MOMENT,
        valid_from=min(start, end),
        valid_to=max(start, end),
    )
    value, conditions = encode(note), eligible_filter(asked)
    passes = (
        value["valid_from_ms"] <= conditions["valid_from_ms"]["$lte"]
        and value["valid_to_ms"] >= conditions["valid_to_ms"]["$gte"]
    )
    assert passes or not note.valid_at(asked)


@given(moments)
def test_times_have_fifteen_digits_so_that_they_order_as_text_too(moment):
    assert len(str(eligible_filter(moment)["valid_from_ms"]["$lte"])) == 15
