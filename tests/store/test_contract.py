import math
import sys
from collections import UserDict
from datetime import UTC, datetime, timedelta

import pytest
from langgraph.store.base import (
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
)

from langgraph_fabric._ops import PutIfOp, TextSearchOp
from langgraph_fabric.errors import MemoryValidationError

NS = ("t", "notes")
BAD_NAMESPACES = [
    pytest.param(("a.b",), id="a dot"),
    pytest.param(("a", ""), id="an empty label"),
    pytest.param(("a\0",), id="NUL"),
    pytest.param((7,), id="an int"),
    pytest.param((None,), id="None"),
    pytest.param("abc", id="a string"),
    pytest.param(None, id="no namespace"),
    pytest.param(("\ud83d",), id="half a surrogate pair"),
]


def test_what_is_put_is_got_by_either_door(store, do):
    do(store, "put", NS, "k", {"text": "hello", "n": 1})
    item = do(store, "get", NS, "k")
    assert (item.value, item.key, item.namespace) == ({"text": "hello", "n": 1}, "k", NS)
    assert [hit.key for hit in do(store, "search", ("t",))] == ["k"]
    assert do(store, "list_namespaces") == [NS]
    do(store, "delete", NS, "k")
    assert do(store, "get", NS, "k") is None


def test_b22_results_keep_the_order_and_reads_see_the_state_before_the_batch(store, do):
    ops = [
        PutOp(NS, "k", {"v": 1}),
        GetOp(NS, "k"),
        PutOp(NS, "k", {"v": 2}),
        PutOp(NS, "j", {"v": 9}),
        PutOp(NS, "j", None),
        SearchOp(NS),
        ListNamespacesOp(),
    ]
    assert do(store, "batch", iter(ops)) == [None, None, None, None, None, [], []]
    assert store.get(NS, "k").value == {"v": 2}
    assert store.get(NS, "j") is None


def test_an_empty_batch_is_empty(store, do):
    assert do(store, "batch", []) == []


def test_a_delete_followed_by_a_put_in_one_batch_puts(store):
    store.put(NS, "k", {"v": 1})
    store.batch([PutOp(NS, "k", None), PutOp(NS, "k", {"v": 2})])
    assert store.get(NS, "k").value == {"v": 2}


def test_deleting_what_is_not_there_is_silent(store, do):
    do(store, "delete", NS, "nothing")
    assert do(store, "list_namespaces") == []


@pytest.mark.parametrize("key", ["", "a.b/c", "line\nbreak", "nul\0", "é", "x" * 10_000, "../.."])
def test_a_key_is_free_text(store, key):
    store.put(NS, key, {"v": key})
    store.put(NS, key + "!", {})
    assert store.get(NS, key).value == {"v": key}
    store.delete(NS, key)
    assert [item.key for item in store.search(NS)] == [key + "!"]


@pytest.mark.parametrize("key", [7, None, "\ud83d"])
def test_a_raw_key_that_is_no_unicode_string_is_refused(store, key):
    for op in (GetOp(NS, key), PutOp(NS, key, {})):
        with pytest.raises(MemoryValidationError, match="key"):
            store.batch([PutOp(NS, "fine", {}), op])
    assert store.search(()) == []


@pytest.mark.parametrize("namespace", BAD_NAMESPACES)
def test_b05_every_entry_of_a_batch_is_checked_before_anything_is_written(store, do, namespace):
    bad = [
        PutOp(namespace, "k", {}),
        PutOp(namespace, "k", None),
        GetOp(namespace, "k"),
        SearchOp(namespace),
        TextSearchOp(namespace, "x"),
        PutIfOp(namespace, "k", {}, 0),
        ListNamespacesOp((MatchCondition("prefix", namespace),)),
    ]
    for op in bad:
        with pytest.raises(InvalidNamespaceError):
            do(store, "batch", [PutOp(NS, "fine", {}), op])
    assert store.search(()) == []


@pytest.mark.parametrize("namespace", [(), ("langgraph",), ("langgraph", "x")])
def test_b05_nothing_is_put_under_no_label_or_langgraph(store, do, namespace):
    for op in (PutOp(namespace, "k", {}), PutIfOp(namespace, "k", {}, 0)):
        with pytest.raises(InvalidNamespaceError):
            do(store, "batch", [op])
    with pytest.raises(InvalidNamespaceError):
        do(store, "put", namespace, "k", {})
    assert do(store, "get", ("langgraph",), "k") is None
    store.put(("foo", "langgraph", "foo"), "k", {"v": 1})
    assert store.get(("foo", "langgraph", "foo"), "k").value == {"v": 1}


def test_b04_a_mail_address_is_no_label(store):
    with pytest.raises(InvalidNamespaceError):
        store.put(("ann.lee@x.io",), "k", {})
    store.put(("ann_lee@x_io",), "k", {"v": 1})
    store.put(("ann%2Elee@x%2Eio",), "k", {"v": 2})
    assert store.get(("ann_lee@x_io",), "k").value == {"v": 1}


def test_an_unknown_operation_is_refused(store):
    with pytest.raises(MemoryValidationError, match="unknown operation"):
        store.batch([PutOp(NS, "k", {}), ("get", "k")])
    assert store.search(()) == []


@pytest.mark.parametrize("number", [-1, 1.5, True, None, "3"])
@pytest.mark.parametrize("name", ["limit", "offset"])
def test_b11_a_limit_or_offset_is_a_whole_number_from_0(store, name, number):
    for op in (SearchOp(NS), TextSearchOp(NS, "x"), ListNamespacesOp()):
        with pytest.raises(ValueError, match=name):
            store.batch([op._replace(**{name: number})])


@pytest.mark.parametrize("number", [sys.maxsize, 2**63, 10**30])
def test_a_limit_or_offset_may_be_huge(store, number):
    store.put(NS, "k", {"text": "one"})
    for op in (
        SearchOp(NS),
        SearchOp(NS, query="one"),
        TextSearchOp(NS, "one"),
        ListNamespacesOp(),
    ):
        assert len(store.batch([op._replace(limit=number)])[0]) == 1
        assert store.batch([op._replace(offset=number)]) == [[]]
        assert store.batch([op._replace(limit=number, offset=number)]) == [[]]


def test_a_list_may_stand_for_a_namespace(store):
    store.batch([PutOp(["a", "b"], "k", {"v": 1})])
    assert store.batch([GetOp(["a", "b"], "k")])[0].value == {"v": 1}
    assert [item.namespace for item in store.search(["a"])] == [("a", "b")]


# Namespaces


def test_b02_a_prefix_matches_whole_labels_only(store):
    spaces = [("t", "acme"), ("t", "acme-corp"), ("t", "acme", "x"), ("t", "ac_e"), ("t", "%")]
    for ns in spaces:
        store.put(ns, "k", {"text": "same words"})

    def found(prefix):
        ways = (
            SearchOp(prefix),
            SearchOp(prefix, query="same words"),
            TextSearchOp(prefix, "same words"),
        )
        answers = [sorted(hit.namespace for hit in store.batch([op])[0]) for op in ways]
        answers.append(store.list_namespaces(prefix=prefix))
        assert answers.count(answers[0]) == len(answers)
        return answers[0]

    assert found(("t", "acme")) == [("t", "acme"), ("t", "acme", "x")]
    assert found(("t", "ac_e")) == [("t", "ac_e")]
    assert found(("t", "%")) == [("t", "%")]
    assert found(("T",)) == []
    assert found(()) == sorted(spaces)
    assert store.list_namespaces(suffix=("%",)) == [("t", "%")]
    assert store.list_namespaces(suffix=("acme",)) == [("t", "acme")]


def test_namespaces_match_prefixes_suffixes_and_wildcards(store):
    spaces = [
        ("a", "b", "c"),
        ("a", "b", "d", "e"),
        ("a", "b", "d", "i"),
        ("a", "b", "f"),
        ("a", "c", "f"),
        ("b", "a", "f"),
        ("users", "123"),
        ("users", "456", "settings"),
        ("admin", "users", "789"),
    ]
    for ns in spaces:
        store.put(ns, "k", {})
    listed = store.list_namespaces
    assert listed() == sorted(spaces)
    assert listed(prefix=("a", "b")) == sorted(s for s in spaces if s[:2] == ("a", "b"))
    assert listed(suffix=("f",)) == [("a", "b", "f"), ("a", "c", "f"), ("b", "a", "f")]
    assert listed(prefix=("a",), suffix=("f",)) == [("a", "b", "f"), ("a", "c", "f")]
    assert listed(prefix=("users", "*")) == [("users", "123"), ("users", "456", "settings")]
    assert listed(prefix=("*", "a")) == [("b", "a", "f")]
    assert listed(suffix=("*", "settings")) == [("users", "456", "settings")]
    assert listed(prefix=("users", "*", "settings", "x")) == []
    assert listed(suffix=("d", "*")) == [("a", "b", "d", "e"), ("a", "b", "d", "i")]
    assert listed(prefix=("a",), max_depth=2) == [("a", "b"), ("a", "c")]
    assert listed(max_depth=1) == [("a",), ("admin",), ("b",), ("users",)]
    pages = [listed(limit=2, offset=offset) for offset in range(0, 12, 2)]
    assert [ns for page in pages for ns in page] == sorted(spaces)
    assert listed(limit=0) == []
    assert listed(prefix=("a",), max_depth=2, limit=1, offset=1) == [("a", "c")]


def test_namespaces_are_sorted_label_by_label(store):
    for ns in [("a!",), ("a", "b"), ("a",), ("a", "é"), ("a", "\U0001f600"), ("a", "z")]:
        store.put(ns, "k", {})
    listed = store.list_namespaces()
    assert listed == sorted(listed)


def test_a_namespace_is_gone_with_its_last_item_and_none_comes_from_looking(store):
    store.put(("x", "y"), "k", {})
    store.delete(("x", "y"), "k")
    store.get(("probed",), "k")
    store.search(("probed", "too"))
    assert store.list_namespaces() == []


@pytest.mark.parametrize("depth", [0, -1, 1.5, True, "2"])
def test_a_depth_is_a_whole_number_from_1(store, depth):
    with pytest.raises(MemoryValidationError, match="max_depth"):
        store.list_namespaces(max_depth=depth)


def test_namespaces_match_by_prefix_or_suffix_and_nothing_else(store):
    with pytest.raises(MemoryValidationError, match="match_conditions"):
        store.batch([ListNamespacesOp((MatchCondition("infix", ("a",)),))])


@pytest.mark.parametrize("label", ["\n", "a\n", "a'; DROP TABLE items;--", '"', "*x", "ÿ", "%00"])
def test_b55_a_label_is_data(store, label):
    store.put(("t", label), "k", {"v": 1})
    store.put(("t", "other"), "k", {"v": 2})
    assert [item.value for item in store.search(("t", label))] == [{"v": 1}]
    assert store.list_namespaces(suffix=(label,)) == [("t", label)]


# Times


def test_b17_times_are_aware_utc_and_created_at_is_kept(store, clock):
    store.put(NS, "k", {"v": 1})
    clock.advance(microseconds=1)
    store.put(NS, "k", {"v": 2})
    (hit,) = store.search(NS)
    for item in (store.get(NS, "k"), hit):
        assert item.created_at == datetime(2026, 3, 1, tzinfo=UTC)
        assert item.updated_at - item.created_at == timedelta(microseconds=1)
        assert item.updated_at.tzinfo is not None


def test_b17_a_clock_that_goes_back_takes_no_time_back(store, clock):
    store.put(NS, "k", {"v": 1})
    clock.advance(days=-1)
    store.put(NS, "k", {"v": 2})
    item = store.get(NS, "k")
    assert item.created_at == item.updated_at == datetime(2026, 3, 1, tzinfo=UTC)


def test_an_item_deleted_and_put_again_is_new(store, clock):
    store.put(NS, "k", {})
    store.delete(NS, "k")
    clock.advance(days=1)
    store.put(NS, "k", {})
    assert store.get(NS, "k").created_at == clock()


def test_without_a_query_the_newest_come_first(store, clock, keys):
    for key in "abc":
        store.put(NS, key, {})
        clock.advance(seconds=1)
    store.put(NS, "a", {"v": 2})
    assert keys(store, NS) == ["a", "c", "b"]
    assert keys(store, NS, limit=1, offset=1) == ["c"]
    assert keys(store, NS, limit=0) == []


# Values


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"n": 2**70, "m": -(2**63) - 1},
        {"n": 1.5e308, "m": 5e-324},
        {"s": "a\x00b", "t": "\u2028\x7f\U0001f600"},
        {"deep": [[[[{"a": [None, True, False]}]]]]},
        {"": {"": ""}, "a.b": 1, "$gt": 2},
        {"s": "x" * 5_000_000},
    ],
    ids=["empty", "big ints", "floats", "odd text", "nested", "odd keys", "5 MB"],
)
def test_b13_json_comes_back_as_it_was(store, value):
    store.put(NS, "k", value)
    assert store.get(NS, "k").value == value
    assert store.search(NS)[0].value == value


def test_b13_minus_zero_and_the_kinds_of_numbers_stay(store):
    store.put(NS, "k", {"zero": -0.0, "whole": 1, "float": 1.0, "yes": True})
    value = store.get(NS, "k").value
    assert math.copysign(1, value["zero"]) == -1
    assert [type(value[key]) for key in ("whole", "float", "yes")] == [int, float, bool]


def test_a_tuple_comes_back_as_a_list(store):
    store.put(NS, "k", {"t": (1, (2,))})
    assert store.get(NS, "k").value == {"t": [1, [2]]}


def _nested(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return {"v": value}


@pytest.mark.parametrize(
    "value",
    [
        pytest.param({"n": math.nan}, id="NaN"),
        pytest.param({"n": math.inf}, id="infinity"),
        pytest.param({"n": [-math.inf]}, id="minus infinity"),
        pytest.param({"s": "\ud83d"}, id="half a surrogate pair"),
        pytest.param({"\ud83d": 1}, id="half a surrogate pair for a key"),
        pytest.param({1: "int key"}, id="int key"),
        pytest.param({"a": {None: 1}}, id="None key"),
        pytest.param({"d": datetime(2024, 1, 1, tzinfo=UTC)}, id="datetime"),
        pytest.param({"s": {1, 2}}, id="set"),
        pytest.param({"b": b"bytes"}, id="bytes"),
        pytest.param({"n": 10**5_000}, id="5,000 digits"),
        pytest.param(_nested(300), id="300 deep"),
        pytest.param(_nested(100_000), id="100,000 deep"),
        pytest.param("text", id="a string"),
        pytest.param(["list"], id="a list"),
        pytest.param(7, id="an int"),
    ],
)
def test_b13_what_is_not_json_is_refused_before_anything_is_written(store, do, value):
    for op in (PutOp(NS, "k", value), PutIfOp(NS, "k", value, 0)):
        with pytest.raises(MemoryValidationError, match="value"):
            do(store, "batch", [PutOp(NS, "other", {"text": "fine"}), op])
    assert store.search(()) == []
    assert store.batch([TextSearchOp((), "fine")]) == [[]]


def test_a_mapping_is_as_good_as_a_dict(store):
    store.batch([PutOp(NS, "k", UserDict(a=1))])
    assert store.get(NS, "k").value == {"a": 1}


def test_b07_what_was_put_or_got_can_be_changed_without_harm(store):
    given = {"l": [1], "text": "word"}
    store.put(NS, "k", given)
    given["l"].append(9)
    store.get(NS, "k").value["l"].append(9)
    for options in ({}, {"query": "word"}, {"query": "word", "filter": {"text": "word"}}):
        for _ in range(2):
            (hit,) = store.search(NS, **options)
            assert hit.value["l"] == [1]
            hit.value["l"].append(9)
            hit.value["text"] = "other"
    (hit,) = store.batch([TextSearchOp(NS, "word")])[0]
    hit.value["l"].append(9)
    assert store.get(NS, "k").value == {"l": [1], "text": "word"}


def test_b16_a_put_replaces_the_whole_value(store, keys):
    store.put(NS, "k", {"a": 1, "b": 2})
    store.put(NS, "k", {"a": 1})
    assert store.get(NS, "k").value == {"a": 1}
    assert keys(store, NS, filter={"b": 2}) == []
    assert keys(store, NS, filter={"a": 1}) == ["k"]


def test_b65_six_thousand_items_go_in_come_out_and_go_in_one_batch(store):
    names = [f"k{i}" for i in range(6_000)]
    store.batch([PutOp(NS, name, {"text": f"number {name}"}) for name in names])
    assert len(store.search(NS, limit=10_000)) == 6_000
    assert len(store.search(NS, query="number", limit=5_000)) == 5_000
    items = store.batch([GetOp(NS, name) for name in names])
    assert [item.key for item in items] == names
    store.batch([PutOp(NS, name, None) for name in names])
    assert store.search(()) == []
    assert store.list_namespaces() == []
