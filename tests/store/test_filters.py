import operator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langgraph_fabric.errors import MemoryValidationError
from langgraph_fabric.store import ChromaStore
from langgraph_fabric.store._filters import compile_filter

NS = ("t",)
ITEMS = {
    "a": {"f": True},
    "b": {"f": 1},
    "c": {"f": 1.0},
    "d": {"f": "1"},
    "e": {"f": None},
    "g": {},
}


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({"f": True}, "a"),
        ({"f": 1}, "bc"),
        ({"f": "1"}, "d"),
        ({"f": None}, "eg"),
        ({}, "abcdeg"),
        (None, "abcdeg"),
        ({"f": {"$ne": 1}}, "adeg"),
        ({"f": 1, "t": "x"}, ""),
        ({"f": {"$gte": 0, "$lt": 5}}, "bc"),
        ({"f": {"$gt": ""}}, "d"),
        ({"f": {"$lt": True}}, ""),
        ({"f": {"$gt": None}}, ""),
        ({"f": {"$in": []}}, ""),
        ({"f": {"$in": [1, "1"]}}, "bcd"),
        ({"f": {"$in": [None]}}, "eg"),
        ({"f": {"$nin": [1, True]}}, "deg"),
        ({"f": {"$exists": True}}, "abcde"),
        ({"f": {"$exists": False}}, "g"),
        ({"f": {"$not": {"$gt": 0}}}, "adeg"),
        ({"$not": {"f": 1}}, "adeg"),
        ({"$and": [{"f": {"$exists": True}}, {"f": {"$ne": 1}}]}, "ade"),
        ({"$and": [{"f": True}]}, "a"),
        ({"$and": []}, "abcdeg"),
        ({"$or": [{"f": True}, {"f": "1"}]}, "ad"),
        ({"$or": []}, ""),
        ({"$or": [{"f": True}, {}]}, "abcdeg"),
        ({"f": {"$gt": 10**400}}, ""),
        ({"f": {"$lt": 10**400}}, "bc"),
        ({"f": {"$lt": float("nan")}}, ""),
        ({"f": {"$lte": float("inf")}}, "bc"),
    ],
    ids=str,
)
def test_b10_each_kind_of_value_has_one_meaning(store, keys, wanted, expected):
    for key, value in ITEMS.items():
        store.put(NS, key, {**value, "text": "same"})
    assert sorted(keys(store, NS, filter=wanted)) == list(expected)
    assert sorted(keys(store, NS, filter=wanted, query="same")) == list(expected)


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({"u": {"a": 1}}, ["k"]),
        ({"u": {"a": 1, "b": 2}}, ["k"]),
        ({"u": {"a": 1, "c": None}}, ["k"]),
        ({"u": {"a": 2}}, []),
        ({"u": {}}, ["k"]),
        ({"n": {}}, []),
        ({"u": {"a": {"$gt": 0}}}, ["k"]),
        ({"u": {"$eq": {"a": 1}}}, []),
        ({"u": {"$eq": {"b": 2, "a": 1}}}, ["k"]),
        ({"u.a": 1}, []),
        ({"x.y": 5}, ["k"]),
        ({"l": [1, {"a": 1}]}, ["k"]),
        ({"l": (1, {"a": 1})}, ["k"]),
        ({"l": [1]}, []),
        ({"l": 1}, []),
    ],
    ids=str,
)
def test_b08_nested_dicts_match_as_subsets_and_a_dot_is_a_character(store, keys, wanted, expected):
    value = {"u": {"a": 1, "b": 2}, "x.y": 5, "l": [1, {"a": 1}], "n": None}
    store.put(NS, "k", value)
    assert keys(store, NS, filter=wanted) == expected


@pytest.mark.parametrize(
    "wanted",
    [
        {"$where": "1"},
        {"f": {"$regex": "x"}},
        {"f": {"$gt": 1, "b": 2}},
        {"f": {"$in": 3}},
        {"f": {"$in": {1}}},
        {"$and": {"f": 1}},
        {"$or": [1]},
        {"$not": [{"f": 1}]},
        {"f": {"$not": {"$regex": 1}}},
        {1: 1},
        {"u": {1: 1}},
        {"u": {1: 1, "$gt": 2}},
        ["f"],
        "f",
    ],
    ids=str,
)
def test_b55_a_malformed_filter_is_refused_whatever_is_stored(store, do, wanted):
    with pytest.raises(MemoryValidationError, match="filter"):
        do(store, "search", NS, filter=wanted)
    with pytest.raises(MemoryValidationError, match="filter"):
        do(store, "search", NS, filter=wanted, query="x")


def test_an_unsupported_operator_is_named(store):
    with pytest.raises(ValueError, match=r"unsupported operator '\$regex'"):
        store.search(NS, filter={"f": {"$regex": "x"}})


@pytest.mark.parametrize("key", ["a') OR 1=1 --", '"', "x`) DETACH", "$", "a$gt", "\0", "value"])
def test_b55_a_filter_key_is_data(store, keys, key):
    store.put(("other",), "canary", {"text": "canary"})
    store.put(NS, "k", {"text": "mine"})
    if key.startswith("$"):
        with pytest.raises(MemoryValidationError):
            store.search(NS, filter={key: 1})
        return
    assert keys(store, NS, filter={key: 1}) == []
    store.put(NS, "k", {key: 1})
    assert keys(store, NS, filter={key: 1}) == ["k"]


@pytest.mark.parametrize("operand", [float("inf"), float("-inf"), 10**100, -(2**64), 1e-320])
def test_any_number_may_be_compared_with(store, keys, operand):
    store.put(NS, "k", {"n": 5})
    for name, compare in (("$gt", operator.gt), ("$lte", operator.le)):
        assert bool(keys(store, NS, filter={"n": {name: operand}})) is compare(5, operand)


def test_whole_numbers_beyond_a_float_are_told_apart(store, keys):
    store.put(NS, "k", {"n": 2**53 + 1})
    assert keys(store, NS, filter={"n": 2**53}) == []
    assert keys(store, NS, filter={"n": {"$gt": 2**53}}) == ["k"]


# Against a reference: the same meaning, said the long way.

SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 2), st.sampled_from([0.5, 1.0, "", "a", "1"])
)
NAMES = st.sampled_from(["a", "b", "a.b"])
VALUES = st.dictionaries(
    NAMES, st.one_of(SCALARS, st.lists(SCALARS, max_size=2), st.dictionaries(NAMES, SCALARS))
)
COMPARISONS = st.one_of(
    st.dictionaries(
        st.sampled_from(["$eq", "$ne", "$gt", "$gte", "$lt", "$lte"]), SCALARS, min_size=1
    ),
    st.dictionaries(st.sampled_from(["$in", "$nin"]), st.lists(SCALARS, max_size=3), min_size=1),
    st.fixed_dictionaries({"$exists": st.booleans()}),
)
FIELDS = st.dictionaries(
    NAMES,
    st.one_of(
        SCALARS,
        COMPARISONS,
        st.fixed_dictionaries({"$not": COMPARISONS}),
        st.dictionaries(NAMES, SCALARS | COMPARISONS, min_size=1),
    ),
    max_size=2,
)
FILTERS = st.recursive(
    FIELDS,
    lambda inner: st.one_of(
        st.fixed_dictionaries({"$and": st.lists(inner, max_size=2)}),
        st.fixed_dictionaries({"$or": st.lists(inner, max_size=2)}),
        st.fixed_dictionaries({"$not": inner}),
    ),
    max_leaves=4,
)
MISSING = object()


def _same(found, wanted):
    if found is MISSING:
        return wanted is None
    if isinstance(found, bool) or isinstance(wanted, bool):
        return found is wanted
    return found == wanted


def _compares(name, found, wanted):
    for kind in ((int, float), str):
        if isinstance(found, kind) and isinstance(wanted, kind):
            if isinstance(found, bool) or isinstance(wanted, bool):
                return False
            order = (found > wanted) - (found < wanted)
            return {"$gt": order > 0, "$gte": order >= 0, "$lt": order < 0, "$lte": order <= 0}[
                name
            ]
    return False


def _holds(name, found, wanted):
    if name in ("$eq", "$ne"):
        return _same(found, wanted) is (name == "$eq")
    if name in ("$in", "$nin"):
        return any(_same(found, one) for one in wanted) is (name == "$in")
    if name == "$exists":
        return (found is not MISSING) is wanted
    if name == "$not":
        return not all(_holds(inner, found, one) for inner, one in wanted.items())
    return _compares(name, found, wanted)


def _field_matches(found, wanted):
    if not isinstance(wanted, dict):
        return _same(found, wanted)
    if any(name.startswith("$") for name in wanted):
        return all(_holds(name, found, one) for name, one in wanted.items())
    return isinstance(found, dict) and all(
        _field_matches(found.get(name, MISSING), one) for name, one in wanted.items()
    )


def _matches(value, wanted):
    for name, one in wanted.items():
        if name == "$and":
            fits = all(_matches(value, part) for part in one)
        elif name == "$or":
            fits = any(_matches(value, part) for part in one)
        elif name == "$not":
            fits = not _matches(value, one)
        else:
            fits = _field_matches(value.get(name, MISSING), one)
        if not fits:
            return False
    return True


@settings(max_examples=300, deadline=None)
@given(values=st.lists(VALUES, max_size=4), wanted=FILTERS)
def test_a_filter_means_what_the_reference_says(values, wanted):
    test = compile_filter(wanted)
    for value in values:
        assert (test is None or test(value)) is _matches(value, wanted)


@settings(max_examples=40, deadline=None)
@given(values=st.lists(VALUES, max_size=5), wanted=FILTERS)
def test_every_way_of_searching_filters_alike(values, wanted):
    with ChromaStore.in_memory(index={"dims": 1, "embed": lambda texts: [[1.0]] * len(texts)}) as s:
        for place, value in enumerate(values):
            s.put(NS, str(place), value)
        expected = {str(i) for i, value in enumerate(values) if _matches(value, wanted)}
        assert {hit.key for hit in s.search(NS, filter=wanted)} == expected
        assert {hit.key for hit in s.search(NS, filter=wanted, query="x")} == expected
