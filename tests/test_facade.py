"""The verbs of a fabric as a host calls them, over every store; bad input writes nothing."""

import time
from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from langchain_core.embeddings import Embeddings

from langgraph_fabric import (
    MemoryFabric,
    MemoryLimitError,
    MemoryLimits,
    MemoryScopeError,
    MemoryValidationError,
    Scope,
    StoreUnavailableError,
)
from langgraph_fabric._time import to_micros, to_text
from langgraph_fabric.memory.rows import Place, encode
from langgraph_fabric.notes import Note

SIMILAR = {"guard": "similarity"}


def found(answer):
    return [hit.content for hit in answer.hits]


def instant(text):
    return datetime.fromisoformat(text).astimezone(UTC)


class TestFold:
    async def test_the_same_text_again_enriches_the_note_s181_s189(self, fabric, do, clock):
        first = await do(
            fabric.remember, kind="fact", content="User prefers metric units", keywords=["units"]
        )
        clock.advance(days=1)
        again = await do(
            fabric.remember,
            kind="fact",
            content="User prefers metric units",
            keywords=["prefs"],
            tags=["ui"],
        )
        assert (again.action, again.id) == ("fold", first.id)
        assert again.note.keywords == ("units", "prefs")
        assert again.note.tags == ("ui",)
        assert again.note.ingested_at == first.note.ingested_at
        assert await do(fabric.get, first.id) == again.note
        assert len((await do(fabric.recall, "metric units")).hits) == 1

    async def test_a_repeated_fact_keeps_one_note_and_all_its_sources_b34(self, fabric, do):
        texts = ["Anna likes tea", "anna  likes TEA.", "Anna likes tea"]
        kept = [
            await do(fabric.remember, kind="fact", content=text, source_entry_ids=[f"m{i}"])
            for i, text in enumerate(texts)
        ]
        assert [k.action for k in kept] == ["insert", "fold", "fold"]
        assert len({k.id for k in kept}) == 1
        note = await do(fabric.get, kept[0].id)
        assert note.source_entry_ids == ("m0", "m1", "m2")
        assert note.valid_to is None

    def test_a_fold_finds_the_note_whatever_stands_nearer_s185(self, fabric):
        first = fabric.remember(kind="fact", content="Invoice 4711 was paid in March")
        for number in range(4712, 4732):
            fabric.remember(kind="fact", content=f"Invoice {number} was paid in March by Anna")
        assert fabric.remember(kind="fact", content="invoice 4711 was paid in march").id == first.id

    def test_folding_twice_changes_nothing(self, fabric, store, contents):
        fabric.remember(kind="fact", content="Anna likes tea", tags=["a"])
        before = contents(store)
        fabric.remember(kind="fact", content="Anna likes tea", tags=["a"])
        assert contents(store) == before

    def test_two_scripts_without_latin_letters_do_not_fold_s183(self, fabric):
        first = fabric.remember(kind="fact", content="東京に住んでいる")
        second = fabric.remember(kind="fact", content="京都で働いている")
        assert second.id != first.id
        assert second.action == "insert"

    def test_without_consolidation_every_note_is_a_row_s196(self, make, store):
        fabric = make(store, consolidate=False).at(user_id="ann")
        one = fabric.remember(kind="fact", content="Anna likes tea")
        two = fabric.remember(kind="fact", content="Anna likes tea")
        assert one.id != two.id
        assert len(fabric.recall("tea").hits) == 2
        assert one.note.links == ()

    def test_a_kind_never_folds_into_another(self, fabric):
        fact = fabric.remember(kind="fact", content="Deploy with canary")
        procedure = fabric.remember(kind="procedure", content="Deploy with canary")
        assert fact.id != procedure.id
        assert [h.id for h in fabric.recall("deploy canary").hits] == [fact.id]
        both = fabric.recall("deploy canary", kinds=["fact", "procedure"])
        assert {h.id for h in both.hits} == {fact.id, procedure.id}

    def test_notes_of_two_subjects_never_fold(self, fabric):
        anna = fabric.remember(kind="fact", content="Likes tea", subject="Anna")
        bob = fabric.remember(kind="fact", content="Likes tea", subject="Bob")
        assert anna.id != bob.id
        assert bob.note.valid_to is None


class TestSupersede:
    async def test_the_reference_rule_supersedes_by_cosine_s181_s192(self, make, hashed, do, clock):
        fabric = make(hashed, consolidate={"guard": "similarity", "threshold": 0.7})
        fabric = fabric.at(user_id="ann")
        first = await do(fabric.remember, kind="fact", content="Deploy service with canary")
        clock.advance(hours=1)
        second = await do(
            fabric.remember, kind="fact", content="Deploy service with canary disabled"
        )
        assert second.note.supersedes == first.id
        assert second.superseded.valid_to == second.note.ingested_at == second.note.valid_from
        assert found(await do(fabric.recall, "deploy")) == ["Deploy service with canary disabled"]
        earlier = await do(fabric.recall, "deploy", as_of="2020-01-01")
        assert found(earlier) == ["Deploy service with canary"]

    async def test_our_example_is_a_refinement_s80(self, fabric, do, clock):
        await do(fabric.remember, kind="fact", content="User prefers metric units")
        clock.advance(hours=1)
        second = await do(
            fabric.remember, kind="fact", content="User prefers metric units and Celsius"
        )
        assert (second.action, second.reason) == ("supersede", "refinement")

    async def test_a_contradiction_ends_the_old_fact_and_keeps_it_b35(self, fabric, do, clock):
        oslo = await do(fabric.remember, kind="fact", content="Anna lives in Oslo")
        before = clock()
        clock.advance(days=1)
        bern = await do(fabric.remember, kind="fact", content="Anna lives in Bern")
        asked = "where does Anna live"
        assert found(await do(fabric.recall, asked)) == ["Anna lives in Bern"]
        assert found(await do(fabric.recall, asked, as_of=before)) == ["Anna lives in Oslo"]
        assert bern.superseded.valid_to == bern.note.valid_from
        assert bern.note.supersedes == oslo.id
        assert await do(fabric.get, oslo.id) == bern.superseded
        assert await do(fabric.get, bern.id) == bern.note

    def test_the_hosts_own_keys_survive_s188(self, make, hashed, clock):
        fabric, store = make(hashed, consolidate=SIMILAR).at(user_id="ann"), hashed
        place = Place(("fabric", "acme", "ann", "@all"))
        old = fabric.remember(kind="fact", content="Office is in Berlin", id="0badc0ffee11")
        item = store.get(place.notes("fact"), old.id)
        store.put(place.notes("fact"), old.id, {**item.value, "owner": "host"}, index=["text"])
        clock.advance(hours=1)
        new = fabric.remember(kind="fact", content="Office is in Berlin today")
        assert new.note.supersedes == old.id
        value = store.get(place.notes("fact"), old.id).value
        assert value["owner"] == "host"
        assert value["fabric"]["valid_to"] == to_text(to_micros(new.note.ingested_at))

    def test_facts_of_many_subjects_do_not_retire_each_other_b37(self, fabric):
        people = [f"{first}{last}" for first in "ABCDE" for last in ("nna", "ob", "ea", "im", "lo")]
        kept = [
            fabric.remember(kind="fact", content=text.format(name))
            for name in people
            for text in ("{} works on project Apollo", "{} prefers the morning train")
        ]
        assert len(kept) == 50
        assert {k.action for k in kept} == {"insert"}

    def test_a_named_note_is_superseded_whatever_the_texts_say_s177(self, fabric, clock):
        old = fabric.remember(kind="fact", content="The wifi is called Birch")
        clock.advance(hours=1)
        new = fabric.remember(kind="fact", content="Guests use the cable", supersedes=old.id)
        assert (new.action, new.reason) == ("supersede", "named")
        assert fabric.get(old.id).valid_to == new.note.valid_from

    def test_two_notes_of_one_slot_differ_freely_and_supersede(self, fabric, clock):
        slot = {"kind": "fact", "subject": "Anna", "attribute": "home"}
        old = fabric.remember(content="Oslo", **slot)
        clock.advance(hours=1)
        new = fabric.remember(content="A houseboat", **{**slot, "subject": "ANNA"})
        assert (new.reason, new.note.supersedes) == ("slot", old.id)


class TestFiles:
    async def test_a_path_has_one_note_and_each_path_its_own_s180_s187(self, fabric, do):
        plan = {"kind": "file", "content": "Rollout plan v1"}
        alpha = await do(fabric.remember, path="docs/alpha.md", **plan)
        beta = await do(fabric.remember, path="docs/beta.md", **plan)
        assert alpha.id != beta.id
        again = await do(
            fabric.remember, kind="file", path="./docs//alpha.md", content="Wholly other words"
        )
        assert (again.id, again.action) == (alpha.id, "fold")
        assert (await do(fabric.get, alpha.id)).content == "Wholly other words"
        assert len((await do(fabric.recall, "words plan", kinds=["file"])).hits) == 2

    def test_the_content_defaults_to_the_path_s164(self, fabric):
        assert fabric.remember(kind="file", path="docs/a.md").note.content == "docs/a.md"


class TestWorking:
    async def test_a_block_lies_in_the_working_value_s152(self, fabric, store, do):
        kept = await do(fabric.remember, kind="working", block="core", content="Name: Ann")
        value = store.get(("fabric", "acme", "ann", "@all", "working"), "value").value
        block = value["value"]["_fabric"]["blocks"]["core"]
        assert (block["id"], block["content"]) == (kept.id, "Name: Ann")
        assert found(await do(fabric.recall, "Name Ann")) == []

    async def test_an_append_adds_a_line_and_an_oversize_one_changes_nothing_s241(
        self, make, store, do, contents
    ):
        fabric = make(store, limits=MemoryLimits(max_entry_text_chars=32)).at(user_id="ann")
        core = {"kind": "working", "block": "core", "append": True}
        await do(fabric.remember, content="likes tea", **core)
        both = await do(fabric.remember, content="likes coffee", **core)
        assert both.note.content == "likes tea\nlikes coffee"
        before = contents(store)
        with pytest.raises(MemoryValidationError):
            await do(fabric.remember, content="likes chocolate too", **core)
        assert contents(store) == before

    async def test_a_forgotten_block_can_be_written_again_s236(self, fabric, do, store, contents):
        await do(fabric.remember, kind="working", block="core", content="Name: Ann")
        assert (await do(fabric.forget, block="core")).deleted == 1
        assert (await do(fabric.forget, block="core")).deleted == 0
        assert await do(fabric.blocks) == []
        assert "Name: Ann" not in repr(contents(store))
        await do(
            fabric.remember, kind="working", block="core", content="Name: Ann Lee", append=True
        )
        assert [b.content for b in await do(fabric.blocks)] == ["Name: Ann Lee"]

    def test_a_working_value_over_its_bytes_is_refused(self, make, store, contents):
        fabric = make(store, limits=MemoryLimits(max_working_memory_bytes=300)).at(user_id="ann")
        with pytest.raises(MemoryLimitError, match="content"):
            fabric.remember(kind="working", block="core", content="é" * 200)
        assert contents(store) == {}


class TestValidity:
    @pytest.mark.parametrize(
        ("as_of", "expected"), [(None, ["now"]), ("2020-06-15", ["then"]), ("2019-06-15", [])]
    )
    async def test_a_recall_sees_what_held_then_s211(self, fabric, do, as_of, expected):
        past = await do(
            fabric.remember,
            kind="fact",
            content="The rate is fixed",
            valid_from="2020-01-01",
            valid_to="2020-12-31",
        )
        current = await do(
            fabric.remember, kind="fact", content="The rate is fixed", valid_from="2026-01-01"
        )
        names = {past.id: "then", current.id: "now"}
        answer = await do(fabric.recall, "rate", as_of=as_of)
        assert [names[h.id] for h in answer.hits] == expected

    def test_a_future_note_waits_for_its_time(self, fabric):
        fabric.remember(kind="fact", content="The rate is floating", valid_from="2030-01-01")
        assert found(fabric.recall("rate")) == []
        assert found(fabric.recall("rate", as_of="2030-06-01")) == ["The rate is floating"]

    def test_two_disjoint_periods_stay_two_b38(self, fabric):
        text = {"kind": "fact", "content": "Alex is on Payments"}
        first = fabric.remember(valid_from="2025-01-01", valid_to="2025-02-28", **text)
        second = fabric.remember(valid_from="2025-06-01", **text)
        assert fabric.recall("Alex", as_of="2025-03-15").hits == ()
        assert [h.id for h in fabric.recall("Alex", as_of="2025-07-15").hits] == [second.id]
        assert fabric.get(first.id).valid_to == instant("2025-03-01T00:00:00+00:00")

    def test_a_period_said_again_without_dates_does_not_reach_back_b38(self, fabric, clock):
        text = {"kind": "fact", "content": "Alex is on Payments"}
        fabric.remember(valid_to="2025-02-28", **text)
        again = fabric.remember(**text)
        assert again.note.valid_from == clock()
        assert fabric.recall("Alex", as_of="2025-03-15").hits == ()
        assert len(fabric.recall("Alex", as_of="2025-02-15").hits) == 1

    def test_a_date_covers_its_whole_day_b40(self, fabric):
        fabric.remember(
            kind="fact", content="The shop is open", valid_from="2026-03-31T15:00-07:00"
        )
        assert found(fabric.recall("shop", as_of="2026-03-31")) == ["The shop is open"]
        assert found(fabric.recall("shop", as_of="2026-03-31T21:59:59Z")) == []
        fabric.remember(kind="fact", content="Sale week", valid_to="2026-04-02")
        assert "Sale week" in found(fabric.recall("sale week", as_of="2026-04-02T23:59:59.999999Z"))
        assert "Sale week" not in found(fabric.recall("sale week", as_of="2026-04-03T00:00:00Z"))

    def test_exactly_one_version_holds_at_the_switch_b40(self, fabric, clock):
        fabric.remember(kind="fact", content="Anna lives in Oslo")
        clock.advance(days=1)
        fabric.remember(kind="fact", content="Anna lives in Bern")
        tick = timedelta(microseconds=1)
        assert found(fabric.recall("Anna", as_of=clock())) == ["Anna lives in Bern"]
        assert found(fabric.recall("Anna", as_of=clock() - tick)) == ["Anna lives in Oslo"]

    @pytest.mark.parametrize("zone", ["Asia/Tokyo", "America/Los_Angeles"])
    @pytest.mark.parametrize(
        ("given", "stored"),
        [
            ("2026-01-01T00:00", "2026-01-01T00:00:00+00:00"),
            ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00+00:00"),
            ("2026-01-01T00:00:00+05:30", "2025-12-31T18:30:00+00:00"),
            (date(2026, 1, 1), "2026-01-01T00:00:00+00:00"),
            (datetime(2026, 1, 1), "2026-01-01T00:00:00+00:00"),  # noqa: DTZ001 - the case
            (
                datetime(2026, 1, 1, tzinfo=timezone(timedelta(hours=-8))),
                "2026-01-01T08:00:00+00:00",
            ),
        ],
        ids=repr,
    )
    def test_every_form_of_a_time_is_utc_under_any_host_zone_b41(
        self, fabric, monkeypatch, zone, given, stored
    ):
        monkeypatch.setenv("TZ", zone)
        time.tzset()
        try:
            kept = fabric.remember(kind="fact", content="Tax year starts", valid_from=given)
            read = fabric.get(kept.id)
        finally:
            monkeypatch.undo()
            time.tzset()
        assert read.valid_from == instant(stored)
        assert read.valid_from.utcoffset() == timedelta(0)

    def test_a_clock_that_stands_or_steps_back_keeps_the_order_b43(self, fabric, clock):
        words = [f"Parcel {number} arrived" for number in range(60)]
        first = [fabric.remember(kind="fact", content=text).note for text in words]
        clock.advance(hours=-1)
        late = [
            fabric.remember(kind="fact", content=f"Letter {number} arrived").note
            for number in range(10)
        ]
        notes = [fabric.get(note.id) for note in first + late]
        sequences = [note.sequence for note in notes]
        assert len({note.id for note in notes}) == 70
        assert sequences == sorted(set(sequences))
        assert all(n.valid_to is None or n.valid_from <= n.valid_to for n in notes)


class TestRecall:
    def test_explain_rows_say_why_s220(self, fabric):
        kept = fabric.remember(kind="fact", content="Anna likes tea", importance=0.75)
        (row,) = fabric.recall("tea").explain
        assert row["id"] == kept.id
        assert (row["importance"], row["link"], row["valid"]) == (0.75, False, True)
        assert (row["vector_rank"], row["lexical_rank"], row["lexical"]) == (1, 1, 1.0)
        assert "tea" not in repr(row)

    async def test_a_linked_note_follows_the_hits_in_both_directions_s203_s216(self, fabric, do):
        seed = await do(fabric.remember, kind="fact", content="The canary rollout failed")
        linked = await do(
            fabric.remember,
            kind="fact",
            content="Xylophones need dusting",
            links=[{"id": seed.id, "relation": "reminds", "weight": 0.5}],
        )
        there = await do(fabric.recall, "canary rollout", top_k=1)
        assert [h.id for h in there.hits] == [seed.id, linked.id]
        assert [row["link"] for row in there.explain] == [False, True]
        back = await do(fabric.recall, "xylophones dusting", top_k=1)
        assert [h.id for h in back.hits] == [linked.id, seed.id]

    def test_a_linked_note_is_held_to_the_same_filters_s217(self, fabric):
        seed = fabric.remember(kind="fact", content="The canary rollout failed")
        link = [{"id": seed.id}]
        fabric.remember(kind="procedure", content="Dust the xylophones", links=link)
        fabric.remember(kind="fact", content="Old zebra", links=link, valid_to="2020-01-01")
        held = fabric.remember(kind="fact", content="Secret quokka", links=link)
        fabric.forget(held.id, hold=True)
        assert [h.id for h in fabric.recall("canary", top_k=1).hits] == [seed.id]

    def test_a_budget_cuts_but_keeps_the_first_s219(self, fabric):
        fabric.remember(kind="fact", content="Tea is green in the garden")
        fabric.remember(kind="fact", content="Tea is grown in the hills of Assam")
        first = fabric.recall("tea").hits[0].note.token_count
        assert len(fabric.recall("tea", budget=first).hits) == 1
        assert len(fabric.recall("tea", budget=10_000).hits) == 2
        assert len(fabric.recall("tea", budget=1).hits) == 1

    def test_nothing_ineligible_starves_a_recall_s214(self, fabric, clock):
        slot = {"kind": "fact", "subject": "Anna", "attribute": "tea"}
        for number in range(150):
            fabric.remember(content=f"Anna drinks tea number {number}", **slot)
            clock.advance(minutes=1)
        wanted = fabric.remember(kind="fact", content="Anna sometimes drinks her tea late")
        answer = fabric.recall("Anna drinks tea", top_k=2)
        assert {h.content for h in answer.hits} == {
            "Anna drinks tea number 149",
            wanted.note.content,
        }

    def test_asking_for_blocks_says_where_they_live_s209(self, fabric):
        fabric.remember(kind="working", block="core", content="Name: Ann")
        answer = fabric.recall("Ann", kinds=["working", "fact"])
        assert answer.hits == ()
        assert "blocks" in answer.coverage["not_searched"]["working"]

    def test_rows_that_are_no_notes_are_skipped_s155(self, fabric, store):
        notes = Place(("fabric", "acme", "ann", "@all")).notes("fact")
        note = Note(
            id="0badc0ffee11", kind="fact", content="tea", ingested_at=instant("2026-01-01T00:00Z")
        )
        good = encode(note)
        bad = {
            "000000000001": {"text": "tea"},
            "000000000002": {**good, "fabric": {**good["fabric"], "kind": "nonsense"}},
            "000000000003": {**good, "fabric": {**good["fabric"], "valid_from": "nope"}},
            "000000000004": {**good, "fabric": {**good["fabric"], "v": 2}},
            "000000000005": {**good, "fabric": {**good["fabric"], "links": [{"id": "x"}]}},
            "000000000006": {**good, "importance": "high"},
            "000000000007": {**good, "sequence": "1"},
            "not-an-id": good,
        }
        for key, value in bad.items():
            store.put(notes, key, value, index=["text"])
        assert fabric.recall("tea").hits == ()
        ids = [key for key in bad if key != "not-an-id"]
        assert [fabric.get(key) for key in ids] == [None] * len(ids)
        assert len(store.search(notes, limit=20)) == 8

    def test_what_is_returned_is_no_alias_of_what_is_stored_b07(self, fabric):
        kept = fabric.remember(kind="fact", content="Anna likes tea", tags=["a"])
        row = fabric.recall("tea").explain[0]
        row["score"] = -1
        assert fabric.recall("tea").explain[0]["score"] != -1
        assert fabric.get(kept.id).tags == ("a",)


class TestForget:
    async def test_a_forgotten_note_is_gone_and_a_second_time_there_is_nothing_s104(
        self, fabric, store, do, contents
    ):
        kept = await do(fabric.remember, kind="fact", content="Anna likes quokkas")
        linked = await do(
            fabric.remember, kind="fact", content="Zoo on Sunday", links=[{"id": kept.id}]
        )
        assert (await do(fabric.forget, kept.id)).deleted == 1
        assert "quokka" not in repr(contents(store))
        assert await do(fabric.get, kept.id) is None
        before = contents(store)
        assert (await do(fabric.forget, kept.id)).deleted == 0
        assert contents(store) == before
        assert [h.id for h in (await do(fabric.recall, "zoo sunday")).hits] == [linked.id]

    async def test_a_held_note_is_kept_and_shown_to_nobody_s234(self, fabric, do, store, contents):
        kept = await do(fabric.remember, kind="fact", content="Anna likes quokkas")
        done = await do(fabric.forget, kept.id, hold=True)
        assert (done.deleted, done.held) == (0, True)
        assert (await do(fabric.recall, "quokkas")).hits == ()
        assert await do(fabric.get, kept.id) is None
        assert (await do(fabric.forget, kept.id)).held is True
        assert "quokkas" in repr(contents(store))

    def test_an_unknown_id_cannot_be_held_s234(self, fabric, store, contents):
        assert fabric.forget("0badc0ffee11", hold=True).held is False
        assert contents(store) == {}

    @pytest.mark.parametrize("field", ["links", "supersedes"])
    def test_a_held_note_can_be_neither_linked_nor_superseded(self, fabric, field):
        held = fabric.remember(kind="fact", content="Anna likes quokkas")
        fabric.forget(held.id, hold=True)
        value = [{"id": held.id}] if field == "links" else held.id
        with pytest.raises(MemoryValidationError, match=field):
            fabric.remember(kind="fact", content="Zoo on Sunday", **{field: value})

    def test_a_text_may_be_kept_again_after_it_was_forgotten_s86(self, fabric):
        kept = fabric.remember(kind="fact", content="Anna likes quokkas")
        fabric.forget(kept.id)
        again = fabric.remember(kind="fact", content="Anna likes quokkas")
        assert again.action == "insert"
        assert fabric.remember(kind="fact", content="Back", id=kept.id).id == kept.id


class Broken(Embeddings):
    """Embeds until it is told to fail."""

    failing = False

    def embed_documents(self, texts):
        if self.failing:
            raise ConnectionError
        return [[1.0, 0.0] for _ in texts]

    def embed_query(self, text):
        return self.embed_documents([text])[0]


BAD_NOTES = {
    "no kind": ("kind", {"content": "x"}),
    "unknown kind": ("kind", {"kind": "wish", "content": "x"}),
    "an episode": ("kind", {"kind": "episode", "content": "x"}),
    "no content": ("content", {"kind": "fact"}),
    "blank content": ("content", {"kind": "fact", "content": " \n"}),
    "content of bytes": ("content", {"kind": "fact", "content": b"x"}),
    "oversized content": ("content", {"kind": "fact", "content": "x" * 16_385}),
    "malformed id": ("id", {"kind": "fact", "content": "x", "id": "0BADC0FFEE11"}),
    "unknown field": ("user_id", {"kind": "fact", "content": "x", "user_id": "bob"}),
    "a path on a fact": ("path", {"kind": "fact", "content": "x", "path": "a.md"}),
    "no path": ("path", {"kind": "file", "content": "x"}),
    "empty path": ("path", {"kind": "file", "path": ""}),
    "NUL in a path": ("path", {"kind": "file", "path": "a\0.md"}),
    "climbing path": ("path", {"kind": "file", "path": "../a.md"}),
    "absolute path": ("path", {"kind": "file", "path": "/etc/passwd"}),
    "windows path": ("path", {"kind": "file", "path": "C:\\a.md"}),
    "upper-case block": ("block", {"kind": "working", "block": "CORE", "content": "x"}),
    "no block": ("block", {"kind": "working", "content": "x"}),
    "no block content": ("content", {"kind": "working", "block": "core"}),
    "a block with an id": (
        "id",
        {"kind": "working", "block": "core", "content": "x", "id": "0badc0ffee11"},
    ),
    "no time": ("valid_from", {"kind": "fact", "content": "x", "valid_from": "soon"}),
    "infinity": ("valid_to", {"kind": "fact", "content": "x", "valid_to": "infinity"}),
    "an end before its start": (
        "valid_to",
        {"kind": "fact", "content": "x", "valid_from": "2026-02-01", "valid_to": "2026-01-01"},
    ),
    "an empty window": (
        "valid_to",
        {
            "kind": "fact",
            "content": "x",
            "valid_from": "2026-02-01T00:00Z",
            "valid_to": "2026-02-01T00:00Z",
        },
    ),
    "importance over 1": ("importance", {"kind": "fact", "content": "x", "importance": 1.5}),
    "importance as bool": ("importance", {"kind": "fact", "content": "x", "importance": True}),
    "tags as text": ("tags", {"kind": "fact", "content": "x", "tags": "prefs"}),
    "too many tags": ("tags", {"kind": "fact", "content": "x", "tags": list(map(str, range(65)))}),
    "an empty tag": ("tags", {"kind": "fact", "content": "x", "tags": [""]}),
    "a malformed link": ("links", {"kind": "fact", "content": "x", "links": [{"id": "x"}]}),
    "a link to nothing": (
        "links",
        {"kind": "fact", "content": "x", "links": [{"id": "0badc0ffee11"}]},
    ),
    "a heavy link": (
        "links",
        {"kind": "fact", "content": "x", "links": [{"id": "0badc0ffee11", "weight": 2}]},
    ),
    "an attribute of nobody": ("subject", {"kind": "fact", "content": "x", "attribute": "home"}),
    "superseding nothing": (
        "supersedes",
        {"kind": "fact", "content": "x", "supersedes": "0badc0ffee11"},
    ),
}


class TestBadInput:
    @pytest.mark.parametrize(("field", "note"), BAD_NOTES.values(), ids=BAD_NOTES)
    async def test_a_malformed_note_is_refused_and_nothing_written(
        self, fabric, store, do, contents, field, note
    ):
        with pytest.raises(MemoryValidationError) as refused:
            await do(fabric.remember, **note)
        assert refused.value.field.split(".")[0] == field
        assert contents(store) == {}

    @pytest.mark.parametrize(
        ("error", "field", "query", "options"),
        [
            (MemoryValidationError, "query", " ", {}),
            (MemoryValidationError, "query", 7, {}),
            (MemoryValidationError, "kinds", "x", {"kinds": []}),
            (MemoryValidationError, "kinds", "x", {"kinds": ["wish"]}),
            (MemoryValidationError, "kinds", "x", {"kinds": "fact"}),
            (MemoryValidationError, "as_of", "x", {"as_of": "soon"}),
            (MemoryValidationError, "mode", "x", {"mode": "magic"}),
            (MemoryValidationError, "user_id", "x", {"user_id": "bob"}),
            (MemoryLimitError, "top_k", "x", {"top_k": 33}),
            (MemoryLimitError, "top_k", "x", {"top_k": 1.5}),
            (MemoryLimitError, "budget", "x", {"budget": 0}),
            (MemoryLimitError, "budget", "x", {"budget": 1.5}),
        ],
    )
    async def test_a_malformed_question_is_refused(self, fabric, do, error, field, query, options):
        with pytest.raises(error) as refused:
            await do(fabric.recall, query, **options)
        assert refused.value.field == field

    @pytest.mark.parametrize(
        "arguments",
        [
            {},
            {"id": "0badc0ffee11", "block": "core"},
            {"id": "ZZ"},
            {"block": "core", "hold": True},
            {"id": "0badc0ffee11", "hold": 1},
        ],
        ids=repr,
    )
    async def test_a_malformed_forget_is_refused_s233(self, fabric, do, arguments):
        with pytest.raises(MemoryValidationError):
            await do(fabric.forget, **arguments)

    @pytest.mark.parametrize("user", [None, "", "  ", True, 1.5, ["ann"], "x" * 257, "\ud83d"])
    async def test_no_user_is_a_refusal_that_names_the_key_b01_b32(
        self, open_fabric, store, do, contents, user
    ):
        for fabric in (open_fabric.at(user_id=user), open_fabric):
            with pytest.raises(MemoryScopeError, match="user_id"):
                await do(fabric.remember, kind="fact", content="x")
            with pytest.raises(MemoryScopeError, match="user_id"):
                await do(fabric.recall, "x")
        assert contents(store) == {}

    async def test_an_embedder_that_raises_leaves_nothing_half_written(
        self, make, make_store, do, contents
    ):
        embedder = Broken()
        store = make_store({"dims": 2, "embed": embedder, "fields": ["text"]})
        fabric = make(store).at(user_id="ann")
        await do(fabric.remember, kind="fact", content="Anna lives in Oslo")
        before = contents(store)
        embedder.failing = True
        for note in (
            {"kind": "fact", "content": "Anna lives in Bern"},
            {"kind": "file", "path": "a.md", "content": "Plan"},
        ):
            with pytest.raises(StoreUnavailableError, match="raised ConnectionError"):
                await do(fabric.remember, **note)
        assert contents(store) == before

    @pytest.mark.parametrize(
        "option",
        ["yes", 1, None, {"threshold": 2}, {"threshold": True}, {"enabled": 1}, {"linker": 1}],
        ids=repr,
    )
    def test_a_malformed_consolidate_option_is_refused_s145_s148(self, option):
        with pytest.raises(MemoryValidationError, match="consolidate"):
            MemoryFabric(scope=Scope("acme", "ann"), consolidate=option)

    @pytest.mark.parametrize(
        "option", [{"top_k": 33}, {"top_k": True}, {"max_injected_tokens": -1}]
    )
    def test_a_limit_outside_its_cap_is_refused_s20(self, option):
        with pytest.raises(MemoryLimitError, match=next(iter(option))):
            MemoryLimits(**option)

    def test_errors_never_echo_the_text(self, fabric):
        with pytest.raises(MemoryValidationError) as refused:
            fabric.remember(kind="fact", content="x", valid_from="secret-4711")
        assert "4711" not in str(refused.value)
        assert "4711" not in repr(refused.value.__cause__)


class TestScopes:
    def test_users_with_like_names_never_meet_b04(self, open_fabric):
        users = ["ann.lee@x.io", "ann_lee@x_io", "ann%2Elee@x.io", "ann", "ann ", "Ann", "07", "7"]
        for user in users:
            open_fabric.at(user_id=user).remember(kind="fact", content=f"Belongs to {user!r}")
        for user in users:
            held = open_fabric.at(user_id=user).recall("belongs")
            assert found(held) == [f"Belongs to {user!r}"]

    def test_a_number_and_its_digits_are_one_user_b01(self, open_fabric):
        open_fabric.at(user_id=7).remember(kind="fact", content="Likes tea")
        assert found(open_fabric.at(user_id="7").recall("tea")) == ["Likes tea"]

    def test_a_query_cannot_name_another_user_b56(self, open_fabric):
        bob = open_fabric.at(user_id="bob").remember(kind="fact", content="Canary of Bob")
        ann = open_fabric.at(user_id="ann")
        assert ann.recall("user_id=bob canary of Bob").hits == ()
        assert ann.get(bob.id) is None
        assert ann.forget(bob.id).deleted == 0
        with pytest.raises(MemoryValidationError):
            ann.remember(kind="fact", content="x", links=[{"id": bob.id}])

    def test_a_store_is_needed_at_the_first_verb_only_s9(self):
        fabric = MemoryFabric(scope=Scope("acme", "ann"))
        with pytest.raises(MemoryValidationError, match="store"):
            fabric.recall("x")
