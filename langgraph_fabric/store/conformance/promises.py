"""The promises of a LangGraph store: one short function each, written once for both doors.

Where stores disagree, the promise takes the side a user would call right. An id names the public
report behind it where there is one.
"""

import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, timedelta
from typing import Any, Literal

from langgraph.store.base import (
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    PutOp,
    SearchOp,
)

from langgraph_fabric._ops import PutIfOp, TextSearchOp
from langgraph_fabric.errors import MemoryConflictError

Need = Literal["embeddings", "ttl", "operations"]
Check = Callable[[Any], Awaitable[None]]


class Broken(AssertionError):  # noqa: N818 - says what became of a promise
    """A promise was not kept; the message says what was seen."""


@dataclass(frozen=True, slots=True)
class Promise:
    """One thing a store promises."""

    id: str
    sentence: str
    check: Check
    needs: Need | None = None
    """What a store must offer for the promise to apply."""


PROMISES: list[Promise] = []
"""All promises, in the order of this file."""

N = ("kit", "notes")


def promise(name: str, sentence: str, needs: Need | None = None) -> Callable[[Check], Check]:
    """Add a check to the promises."""

    def add(check: Check) -> Check:
        PROMISES.append(Promise(name, sentence, check, needs))
        return check

    return add


def expect(seen: object, wanted: object, what: str) -> None:
    """Break the promise unless what was seen is what was wanted."""
    if seen != wanted:
        raise Broken(f"{what}: {seen!r}, not {wanted!r}"[:200])


async def refused(call: Awaitable[Any], kind: type[Exception], what: str) -> None:
    """Break the promise unless a call is refused with `kind`."""
    try:
        await call
    except kind:
        return
    except Exception as exc:
        raise Broken(f"{what}: raised {type(exc).__name__}") from exc
    raise Broken(f"{what}: was accepted")


def keys(items: list[Any]) -> list[str]:
    """Return the keys of found items."""
    return [item.key for item in items]


@promise("put", "What was put is got, and a missing item is None")
async def _put_get(store: Any) -> None:
    await store.aput(N, "k", {"a": 1, "b": [1, {"c": None}]}, index=False)
    expect((await store.aget(N, "k")).value, {"a": 1, "b": [1, {"c": None}]}, "value")
    expect(await store.aget(N, "other"), None, "missing")


@promise("replace", "A put replaces the whole value")
async def _replace(store: Any) -> None:
    await store.aput(N, "k", {"a": 1, "b": 2}, index=False)
    await store.aput(N, "k", {"a": 1}, index=False)
    expect((await store.aget(N, "k")).value, {"a": 1}, "value")
    expect(await store.asearch(N, filter={"b": 2}), [], "search by the old field")


@promise("delete", "A deleted item is gone, and deleting nothing is fine")
async def _delete(store: Any) -> None:
    await store.adelete(N, "never")
    await store.aput(N, "k", {"a": 1}, index=False)
    await store.adelete(N, "k")
    expect(await store.aget(N, "k"), None, "item")


@promise("B07", "A returned value is a copy")
async def _copies(store: Any) -> None:
    given = {"l": [1]}
    await store.aput(N, "k", given, index=False)
    given["l"].append(2)
    (await store.aget(N, "k")).value["l"].append(3)
    (await store.asearch(N))[0].value["l"].append(4)
    expect((await store.aget(N, "k")).value, {"l": [1]}, "value")


@promise("B17a", "An update keeps created_at and moves updated_at on")
async def _times(store: Any) -> None:
    await store.aput(N, "k", {"a": 1}, index=False)
    first = await store.aget(N, "k")
    await store.aput(N, "k", {"a": 2}, index=False)
    second = await store.aget(N, "k")
    expect(second.created_at, first.created_at, "created_at")
    expect(second.updated_at >= first.updated_at, True, "updated_at is later")


@promise("B17b", "Times are aware, in UTC, finer than a second")
async def _aware(store: Any) -> None:
    await store.aput(N, "k", {"a": 1}, index=False)
    item = await store.aget(N, "k")
    expect(item.created_at.utcoffset(), timedelta(0), "offset")
    stamps = {(await _stamp(store, str(i))).astimezone(UTC).microsecond for i in range(3)}
    expect(stamps == {0}, False, "whole seconds only")


async def _stamp(store: Any, key: str) -> Any:
    await store.aput(N, key, {"a": 1}, index=False)
    return (await store.aget(N, key)).updated_at


@promise("order", "Without a query the last updated comes first")
async def _newest_first(store: Any) -> None:
    for key in "abc":
        await store.aput(N, key, {"n": key}, index=False)
    await store.aput(N, "a", {"n": "again"}, index=False)
    expect(keys(await store.asearch(N)), ["a", "c", "b"], "order")


@promise("B22", "A batch answers in order, and its reads see the state before it")
async def _batch_order(store: Any) -> None:
    await store.aput(N, "old", {"v": 0}, index=False)
    answers = await store.abatch(
        [
            PutOp(N, "old", {"v": 1}, False),
            GetOp(N, "old"),
            PutOp(N, "old", {"v": 2}, False),
            SearchOp(N),
            PutOp(N, "gone", {"v": 3}, False),
            PutOp(N, "gone", None),
        ]
    )
    expect([answers[0], answers[2], answers[4], answers[5]], [None] * 4, "answers of puts")
    expect(answers[1].value, {"v": 0}, "get")
    expect([item.value for item in answers[3]], [{"v": 0}], "search")
    expect((await store.aget(N, "old")).value, {"v": 2}, "last put")
    expect(await store.aget(N, "gone"), None, "put, then deleted")


@promise("B05", "A batch refuses the namespaces that the methods refuse, and writes nothing")
async def _raw_batch(store: Any) -> None:
    for bad in [("a.b",), (), ("",), ("langgraph", "x")]:
        ops = [PutOp(N, "k", {"v": 1}, False), PutOp(bad, "k", {"v": 1}, False)]
        await refused(store.abatch(ops), InvalidNamespaceError, f"namespace {bad!r}")
    expect(await store.aget(N, "k"), None, "the good put of a bad batch")


@promise("B02a", "A prefix matches whole labels only")
async def _whole_labels(store: Any) -> None:
    for ns in [("t", "acme"), ("t", "acme-corp"), ("t", "acme", "x"), ("t", "ac_e"), ("t", "%")]:
        await store.aput(ns, "k", {"v": 1}, index=False)
    expect(_spaces(await store.asearch(("t", "acme"))), {("t", "acme"), ("t", "acme", "x")}, "acme")
    expect(_spaces(await store.asearch(("t", "ac_e"))), {("t", "ac_e")}, "ac_e")
    expect(_spaces(await store.asearch(("t", "%"))), {("t", "%")}, "%")


def _tuples(listed: list[Any]) -> list[tuple[str, ...]]:
    return [tuple(namespace) for namespace in listed]


def _spaces(items: list[Any]) -> set[tuple[str, ...]]:
    return {tuple(item.namespace) for item in items}


@promise("B02b", "Listing matches whole labels only")
async def _whole_labels_listed(store: Any) -> None:
    for ns in [("t", "acme"), ("t", "acme-corp"), ("t", "acme", "x")]:
        await store.aput(ns, "k", {"v": 1}, index=False)
    listed = await store.alist_namespaces(prefix=("t", "acme"))
    expect(sorted(_tuples(listed)), [("t", "acme"), ("t", "acme", "x")], "prefix")
    listed = await store.alist_namespaces(suffix=("acme",))
    expect(sorted(_tuples(listed)), [("t", "acme")], "suffix")


@promise("ghosts", "Only namespaces that hold items are listed")
async def _no_ghosts(store: Any) -> None:
    await store.aput(("g", "gone"), "k", {"v": 1}, index=False)
    await store.adelete(("g", "gone"), "k")
    await store.aget(("g", "probed"), "k")
    expect(await store.alist_namespaces(prefix=("g",)), [], "namespaces")


@promise("listing", "Listing sorts by labels, cuts by depth and pages")
async def _listing(store: Any) -> None:
    for ns in [("a!",), ("a", "b"), ("a", "c", "d"), ("b", "x")]:
        await store.aput(ns, "k", {"v": 1}, index=False)
    listed = _tuples(await store.alist_namespaces())
    expect(listed, [("a", "b"), ("a", "c", "d"), ("a!",), ("b", "x")], "order")
    cut = _tuples(await store.alist_namespaces(max_depth=1))
    expect(cut, [("a",), ("a!",), ("b",)], "max_depth=1")
    paged = await store.abatch([ListNamespacesOp(limit=2, offset=1)])
    expect(_tuples(paged[0]), listed[1:3], "page")


@promise("wildcards", "A star in a listed path stands for exactly one label")
async def _wildcards(store: Any) -> None:
    for ns in [("u", "1", "notes"), ("u", "2", "notes"), ("u", "1", "x", "notes")]:
        await store.aput(ns, "k", {"v": 1}, index=False)
    listed = await store.alist_namespaces(prefix=("u", "*", "notes"))
    expect(sorted(_tuples(listed)), [("u", "1", "notes"), ("u", "2", "notes")], "u/*/notes")


@promise("filters", "Comparisons compare numbers as numbers, texts as texts")
async def _comparisons(store: Any) -> None:
    values: dict[str, Any] = {"nine": 9, "ten": 10, "day": "2026-01-02"}
    for key, value in values.items():
        await store.aput(N, key, {"v": value}, index=False)
    expect(keys(await store.asearch(N, filter={"v": {"$gt": 9}})), ["ten"], "$gt 9")
    found = await store.asearch(N, filter={"v": {"$gte": 9, "$lt": 10}})
    expect(keys(found), ["nine"], "$gte 9, $lt 10")
    found = await store.asearch(N, filter={"v": {"$gt": "2026-01-01"}})
    expect(keys(found), ["day"], "$gt a date")


@promise("B10a", "A missing or null field matches no comparison")
async def _missing(store: Any) -> None:
    await store.aput(N, "null", {"v": None}, index=False)
    await store.aput(N, "none", {"w": 1}, index=False)
    expect(await store.asearch(N, filter={"v": {"$gt": 0}}), [], "$gt 0")


@promise("B10b", "True is not 1")
async def _booleans(store: Any) -> None:
    await store.aput(N, "true", {"v": True}, index=False)
    await store.aput(N, "one", {"v": 1}, index=False)
    expect(keys(await store.asearch(N, filter={"v": True})), ["true"], "v is True")
    expect(keys(await store.asearch(N, filter={"v": 1})), ["one"], "v is 1")


@promise("B08", "A nested dict wants a subset, and a dot in a key is a character of it")
async def _nested(store: Any) -> None:
    await store.aput(N, "k", {"u": {"a": 1, "b": 2}, "x.y": 5}, index=False)
    expect(keys(await store.asearch(N, filter={"u": {"a": 1}})), ["k"], "subset")
    expect(keys(await store.asearch(N, filter={"x.y": 5})), ["k"], "dotted key")
    expect(await store.asearch(N, filter={"u.a": 1}), [], "dotted path")


@promise("B55", "A filter key is data")
async def _filter_keys(store: Any) -> None:
    await store.aput(N, "k", {"v": 1}, index=False)
    for key in ["a') OR 1=1 --", "v`) DROP TABLE items", 'v" = 1 OR "x']:
        try:
            found = await store.asearch(N, filter={key: "x"})
        except ValueError:
            continue
        expect(found, [], f"filter by {key!r}")


@promise("operators", "An unknown operator is a ValueError")
async def _unknown_operator(store: Any) -> None:
    await store.aput(N, "k", {"v": 1}, index=False)
    await refused(store.asearch(N, filter={"v": {"$near": 1}}), ValueError, "$near")


@promise("B11a", "Pages together hold every item once; limit 0 is empty")
async def _pages(store: Any) -> None:
    for i in range(12):
        await store.aput(N, str(i), {"n": i}, index=False)
    seen = [
        k for start in range(0, 14, 2) for k in keys(await store.asearch(N, limit=2, offset=start))
    ]
    expect(sorted(seen, key=int), [str(i) for i in range(12)], "all pages")
    expect(await store.asearch(N, limit=0), [], "limit 0")


@promise("B11b", "A negative limit or offset is a ValueError")
async def _negative(store: Any) -> None:
    await refused(store.asearch(N, limit=-1), ValueError, "limit -1")
    await refused(store.asearch(N, offset=-1), ValueError, "offset -1")


@promise("B13", "A value is stored whole or refused")
async def _values(store: Any) -> None:
    hostile: list[Any] = [math.nan, math.inf, 2**70, "\ud83d", "a\x00b", {1: "int key"}]
    for value in hostile:
        try:
            await store.aput(N, "k", {"v": value}, index=False)
        except (ValueError, TypeError):
            continue
        found = (await store.aget(N, "k")).value["v"]
        same = found == value or (value != value and found != found)  # noqa: PLR0124 - NaN
        expect(same, True, f"{value!r} came back as {found!r}")


@promise("vectors", "A query ranks by meaning", "embeddings")
async def _ranking(store: Any) -> None:
    await store.aput(N, "cat", {"text": "the cat sleeps on the sofa"})
    await store.aput(N, "tax", {"text": "the tax return is due in May"})
    found = await store.asearch(N, query="the cat sleeps on the sofa")
    expect(keys(found)[:1], ["cat"], "first")
    expect(found[0].score > found[-1].score, True, "scores fall")


@promise("stale-1", "An item put again with index=False matches no query", "embeddings")
async def _stale_unindexed(store: Any) -> None:
    await store.aput(N, "k", {"text": "the cat sleeps"})
    await store.aput(N, "k", {"text": "the cat sleeps"}, index=False)
    await _expect_no_match(store)


@promise("stale-2", "An item put again without the indexed field matches no query", "embeddings")
async def _stale_field(store: Any) -> None:
    await store.aput(N, "k", {"text": "the cat sleeps"})
    await store.aput(N, "k", {"other": 1})
    await _expect_no_match(store)


@promise("stale-3", "An item deleted and put anew unindexed matches no query", "embeddings")
async def _stale_deleted(store: Any) -> None:
    await store.aput(N, "k", {"text": "the cat sleeps"})
    await store.adelete(N, "k")
    await store.aput(N, "k", {"text": "the cat sleeps"}, index=False)
    await _expect_no_match(store)


async def _expect_no_match(store: Any) -> None:
    found = await store.asearch(N, query="the cat sleeps")
    expect([item.key for item in found if item.score is not None], [], "matches")


@promise("same-text", "Two items of one batch may hold the same text", "embeddings")
async def _same_text(store: Any) -> None:
    await store.abatch([PutOp(N, key, {"text": "the same words"}) for key in "ab"])
    expect(sorted(keys(await store.asearch(N, query="the same words"))), ["a", "b"], "found")


@promise("B11c", "Pages of a query hold every match once, at any depth", "embeddings")
async def _query_pages(store: Any) -> None:
    await store.abatch([PutOp(N, str(i), {"text": f"note {i}"}) for i in range(30)])
    pages = [await store.asearch(N, query="note", limit=5, offset=i) for i in range(0, 35, 5)]
    seen = [key for page in pages for key in keys(page)]
    expect(sorted(seen, key=int), [str(i) for i in range(30)], "all pages")


@promise("starving", "A filter is applied before the page is cut", "embeddings")
async def _starving(store: Any) -> None:
    near = [PutOp(N, f"near{i}", {"text": "the cat sleeps", "on": 0}) for i in range(60)]
    # one text a batch, since some stores take no text twice
    for op in near:
        await store.abatch([op])
    await store.aput(N, "far", {"text": "a cat", "on": 1})
    found = await store.asearch(N, query="the cat sleeps", filter={"on": 1}, limit=3)
    expect(keys([item for item in found if item.score is not None]), ["far"], "found")


@promise("ttl", "An expired item is invisible at once", "ttl")
async def _expired(store: Any) -> None:
    await store.aput(N, "k", {"v": 1}, index=False, ttl=1e-9)
    expect(await store.aget(N, "k"), None, "get")
    expect(await store.asearch(N), [], "search")


@promise("compare-and-set", "A put on condition of a version refuses its whole batch", "operations")
async def _put_if(store: Any) -> None:
    await store.abatch([PutIfOp(N, "k", {"version": 1}, 0, False)])
    ops = [PutOp(N, "other", {"v": 1}, False), PutIfOp(N, "k", {"version": 2}, 0, False)]
    await refused(store.abatch(ops), MemoryConflictError, "a version that is gone")
    expect(await store.aget(N, "other"), None, "the plain put of a refused batch")
    await store.abatch([PutIfOp(N, "k", {"version": 2}, 1, False)])
    expect((await store.aget(N, "k")).value, {"version": 2}, "value")


@promise("words", "A text search finds words, and takes any query", "operations")
async def _words(store: Any) -> None:
    await store.aput(N, "k", {"text": "the C++ repository, \u6771\u4eac"}, index=["text"])
    for query in ["repositories", "c++", "\u6771\u4eac", 'AND OR NOT * "']:
        found = (await store.abatch([TextSearchOp(N, query)]))[0]
        if query[0] != "A":
            expect(keys(found), ["k"], f"found by {query!r}")
