import json
import re
from pathlib import Path

import pytest

from benchmarks.store import report
from benchmarks.store.data import BLOCK, QUERIES, Data, Lookup, exact, passes
from benchmarks.store.page import merged, page
from benchmarks.store.peers import PEERS
from benchmarks.store.plan import Job, jobs
from benchmarks.store.report import Run

DOCS = Path(__file__).parents[2] / "docs"
RESULTS = {
    "date": "2026-01-02",
    "machine": {"processor": "abacus", "cores": "2"},
    "versions": {"Python": "3.11"},
    "skipped": {"PostgresStore": "pgserver is not installed"},
}


class Small:
    name = "small"
    at_most = 10_000
    random_at_most = 0
    layouts = ("one", "many")


class Large:
    name = "large"
    at_most = 1_000_000
    random_at_most = 10_000
    layouts = ("one",)


def run(peer, layout="one", size=10_000, **measures):
    return Run(peer, size, layout, measures)


@pytest.mark.parametrize(
    ("percent", "expected"), [(50, 50), (95, 95), (99, 99), (100, 100), (0, 1)]
)
def test_a_percentile_is_the_number_that_so_many_are_not_above(percent, expected):
    assert report.percentile(list(range(100, 0, -1)), percent) == expected


def test_a_percentile_of_one_number_is_that_number():
    assert report.percentile([3.5], 99) == 3.5


def test_rounds_count_by_their_median_so_one_bad_round_does_not():
    assert report.median_of([[1, 1, 1], [1, 2, 3], [90, 99, 99]], 50) == 2


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ([["a", "b"], ["c", "d"]], 1),
        ([["b", "a"], ["d", "x"]], 0.75),
        ([["a", "b"]], 1),
        ([[], []], 0),
    ],
    ids=["all", "three of four, in any order", "a question not asked does not count", "none"],
)
def test_recall_is_the_share_of_the_true_nearest(answers, expected):
    assert report.recall(answers, [["a", "b"], ["c", "d"]]) == expected


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"), [(1, 8, 0.125), (None, 8, None), (1, None, None), (1, 0, None)]
)
def test_a_ratio_needs_both_figures(ours, theirs, expected):
    assert report.ratio(ours, theirs) == expected


@pytest.mark.parametrize(
    ("multiple", "expected"),
    [(0.125, "1/8"), (5.0, "5x"), (1.0, "1x"), (1.754, "1.75x"), (0.0451, "1/22.2")],
)
def test_a_multiple_is_said_as_people_say_it(multiple, expected):
    assert report.times(multiple) == expected


@pytest.mark.parametrize(
    ("value", "expected"), [(14_712.4, "14,712"), (0.01694, "0.0169"), (1.0, "1"), (None, "")]
)
def test_a_number_keeps_the_digits_that_carry_something(value, expected):
    assert report.number(value) == expected


def test_a_promise_against_a_peer_is_held_against_the_same_run():
    runs = [run("ChromaStore", put_ms=1.0), run("Chroma", put_ms=10.0)]
    (verdict,) = report.verdicts(runs, 10_000)
    assert (verdict.wanted, verdict.measured, verdict.kept) == (
        "at most 1/8",
        "1/10 (1 / 10)",
        True,
    )


def test_a_promise_that_is_not_kept_says_so():
    runs = [run("ChromaStore", batch_rows_s=400.0), run("Chroma", batch_rows_s=100.0)]
    (verdict,) = report.verdicts(runs, 10_000)
    assert (verdict.wanted, verdict.kept) == ("at least 5x", False)


def test_a_promise_over_a_peer_is_held_as_a_difference():
    runs = [
        run("ChromaStore", "many", filtered_p50_ms=0.75),
        run("numpy", "many", filtered_p50_ms=0.25),
    ]
    (verdict,) = report.verdicts(runs, 10_000)
    assert (verdict.measured, verdict.kept) == ("0.5 ms (0.75 - 0.25)", True)


def test_a_promise_whose_figures_are_missing_is_left_out():
    assert report.verdicts([run("ChromaStore", put_ms=1.0)], 10_000) == []


def test_large_searches_are_held_against_the_faster_chroma_that_finds_as_much():
    fast = {"search_p50_ms": 1.0, "recall": 0.90}
    right = {"search_p50_ms": 2.0, "recall": 0.99}
    ours = {"search_p50_ms": 3.0, "recall": 0.992}
    runs = [
        run("ChromaStore", size=100_000, **ours),
        run("Chroma", size=100_000, **fast),
        run("Chroma (tuned)", size=100_000, **right),
    ]
    assert report.chroma_of_same_recall(runs, 100_000) == "Chroma (tuned)"
    assert "1.5x (3 / 2)" in [verdict.measured for verdict in report.verdicts(runs, 100_000)]


def test_slow_peers_stay_at_small_sizes_unless_all_is_measured():
    some = jobs([Small, Large], [10_000, 100_000], full=False)
    assert [job for job in some if job.size == 100_000] == [Job("large", 100_000, "one")]
    assert Job("small", 100_000, "many") in jobs([Small, Large], [100_000], full=True)


def test_random_vectors_are_for_peers_whose_recall_on_them_is_of_interest():
    every = jobs([Small, Large], [10_000, 100_000], full=True)
    assert {job.peer for job in every if job.layout == "random"} == {"large"}


def test_a_thousand_items_are_measured_in_one_namespace_only():
    assert {job.layout for job in jobs([Small, Large], [1_000], full=False)} == {"one", "random"}


def test_peers_have_names_of_their_own():
    assert len({peer.name for peer in PEERS}) == len(PEERS)


@pytest.mark.parametrize("layout", ["one", "many", "random"])
def test_items_and_vectors_are_the_same_whenever_they_are_made(layout):
    first, second = Data(2 * BLOCK, layout), Data(2 * BLOCK, layout)
    assert first.records(1_500, 3) == second.records(1_500, 3)
    assert (first.vectors(1) == second.vectors(1)).all()
    assert (first.queries == second.queries).all()


def test_small_namespaces_hold_a_thousand_items_each():
    data = Data(3 * BLOCK, "many")
    spaces = [record.space for record in data.records(0, 3 * BLOCK)]
    assert {space: spaces.count(space) for space in spaces} == {f"s{n}": BLOCK for n in range(3)}


def test_the_truth_is_within_the_namespace_asked_and_passes_the_filter():
    data = Data(2 * BLOCK, "many")
    keys = exact(data, 10, filtered=True)
    assert len(keys) == QUERIES
    for query, found in enumerate(keys):
        for key in found:
            (record,) = data.records(int(key[1:]), 1)
            assert record.space == data.query_space(query)
            assert passes(record.value)


def test_an_embedding_is_looked_up_by_the_number_a_text_begins_with():
    data = Data(BLOCK, "one")
    lookup = Lookup(data)
    lookup.prepare(0, 10)
    texts = [record.value["text"] for record in data.records(3, 2)]
    assert lookup.embed_documents(texts) == data.vectors(0)[3:5].tolist()
    assert lookup.embed_documents(["q7"]) == [lookup.embed_query("q7")]


def test_the_page_states_the_figures_it_was_given():
    runs = [
        run("ChromaStore", put_ms=0.5, search_p50_ms=2.0),
        run("Chroma", put_ms=8.0, search_p50_ms=1.0),
        run("ChromaStore", "many", cold_ms=20.0),
    ]
    text = page(RESULTS, runs, ["benchmarks/put.png"])
    assert "processor abacus" in text
    assert "PostgresStore (pgserver is not installed)" in text
    assert "| 10,000 | Chroma | 1/16 | 2x |" in text
    assert "| small namespace, cold | at most 15 ms | 20 ms | **no** |" in text
    assert "![put](benchmarks/put.png)" in text
    assert text.index("## Promises") < text.index("## Ratios") < text.index("## All items")


def test_the_page_has_no_column_that_nothing_was_measured_for():
    text = page(RESULTS, [run("ChromaStore", put_ms=0.5)], [])
    assert not re.search(r"\brecall@10 \|", text)


def result(size, **changes):
    found = {"peer": "ChromaStore", "size": size, "layout": "one", "measures": {"put_ms": 1.0}}
    return {**RESULTS, "runs": [found], **changes}


def test_parts_of_a_long_run_make_one_page():
    whole = merged([result(100_000, date="2026-01-03"), result(1_000, skipped={})])
    assert [found["size"] for found in whole["runs"]] == [1_000, 100_000]
    assert whole["date"] == "2026-01-03"
    assert whole["skipped"] == RESULTS["skipped"]


@pytest.mark.parametrize(
    "other",
    [result(1_000), result(10, machine={}), result(10, versions={})],
    ids=["the same twice", "another machine", "other versions"],
)
def test_parts_that_do_not_fit_together_are_refused(other):
    with pytest.raises(ValueError, match="the results"):
        merged([result(1_000), other])


def test_the_page_in_the_docs_is_what_its_results_make():
    folder = DOCS / "benchmarks"
    results = merged([json.loads(file.read_text()) for file in sorted(folder.glob("*.json"))])
    runs = [Run(**found) for found in results["runs"]]
    plots = [f"benchmarks/{plot.name}" for plot in sorted(folder.glob("*.png"))]
    assert (DOCS / "benchmarks.md").read_text() == page(results, runs, plots)
