"""Any sequence of operations equals a plain dict."""

import shutil
import tempfile

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from langgraph.store.base import GetOp, PutOp, SearchOp

from langgraph_fabric._ops import PutIfOp, TextSearchOp
from langgraph_fabric._text import search_terms
from langgraph_fabric.embeddings import HashEmbeddings
from langgraph_fabric.errors import MemoryConflictError
from langgraph_fabric.store import ChromaStore
from langgraph_fabric.testing import FrozenClock

NAMESPACES = st.sampled_from([("a",), ("a", "b"), ("a-b",), ("a", "b", "c"), ("z",)])
PREFIXES = st.sampled_from([(), ("a",), ("a", "b"), ("z",), ("nobody",)])
KEYS = st.sampled_from(["k", "l", "m"])
WORDS = ["tea", "coffee", "cake", "jam"]
TEXTS = st.lists(st.sampled_from(WORDS), max_size=3).map(" ".join)
VALUES = st.fixed_dictionaries(
    {}, optional={"text": TEXTS, "n": st.integers(0, 3), "version": st.integers(0, 2)}
)
FILTERS = st.sampled_from([None, {}, {"n": 1}, {"n": {"$gte": 2}}, {"n": {"$exists": False}}])
PASSES = {
    "None": lambda _: True,
    "{}": lambda _: True,
    "{'n': 1}": lambda value: value.get("n") == 1,
    "{'n': {'$gte': 2}}": lambda value: value.get("n", -1) >= 2,
    "{'n': {'$exists': False}}": lambda value: "n" not in value,
}
TTLS = st.sampled_from([None, None, 5])


class AgainstADict(RuleBasedStateMachine):
    search_path = "exact"

    @initialize()
    def open_first(self):
        self.folder = tempfile.mkdtemp(prefix="model-")
        self.clock = FrozenClock("2026-03-01")
        self.items = {}
        self.store = self.open()

    def open(self):
        return ChromaStore.from_path(
            self.folder,
            index={"dims": 16, "embed": HashEmbeddings(16), "fields": ["text"]},
            clock=self.clock,
            durability="process",
            search=self.search_path,
        )

    def live(self, prefix=(), passes=lambda _: True):
        now = self.clock()
        return {
            place: item
            for place, item in self.items.items()
            if (item["until"] is None or item["until"] > now)
            and place[0][: len(prefix)] == prefix
            and passes(item["value"])
        }

    def keep(self, ns, key, value, ttl, *, indexed):
        now = self.clock()
        old = self.live().get((ns, key))
        self.items.pop((ns, key), None)
        if value is None:
            return
        until = None if ttl is None else self.clock.advance(minutes=ttl)
        self.clock.set(now)
        created = old["created"] if old else now
        text = value.get("text", "") if indexed else ""
        self.items[ns, key] = {
            "value": value,
            "created": created,
            "updated": now,
            "until": until,
            "text": text,
        }

    @rule(ns=NAMESPACES, key=KEYS, value=VALUES, ttl=TTLS, index=st.sampled_from([None, False]))
    def put(self, ns, key, value, ttl, index):
        self.store.put(ns, key, value, index=index, ttl=ttl)
        self.keep(ns, key, value, ttl, indexed=index is None)

    @rule(ns=NAMESPACES, key=KEYS)
    def delete(self, ns, key):
        self.store.delete(ns, key)
        self.keep(ns, key, None, None, indexed=False)

    @rule(writes=st.lists(st.tuples(NAMESPACES, KEYS, VALUES | st.none()), max_size=6))
    def batch(self, writes):
        self.store.batch([PutOp(*write) for write in writes])
        for ns, key, value in writes:
            self.keep(ns, key, value, None, indexed=True)

    @rule(ns=NAMESPACES, key=KEYS, value=VALUES | st.none(), expected=st.integers(0, 2))
    def put_if(self, ns, key, value, expected):
        item = self.live().get((ns, key))
        version = item["value"].get("version", 0) if item else 0
        ops = [PutIfOp(ns, key, value, expected), PutOp(("z",), "beside", {"n": 1})]
        if version != expected:
            with pytest.raises(MemoryConflictError):
                self.store.batch(ops)
            return
        self.store.batch(ops)
        self.keep(ns, key, value, None, indexed=True)
        self.keep(("z",), "beside", {"n": 1}, None, indexed=True)

    @rule(seconds=st.sampled_from([1, 100, 299, 1_000]))
    def wait(self, seconds):
        self.clock.advance(seconds=seconds)

    @rule()
    def reopen(self):
        self.store.close()
        self.store = self.open()

    @rule()
    def flush(self):
        self.store.flush()

    @rule()
    def sweep(self):
        swept = len(self.items) - len(self.live())
        assert self.store.sweep() == swept
        self.items = self.live()

    @rule(ns=NAMESPACES, key=KEYS)
    def get(self, ns, key):
        (found,) = self.store.batch([GetOp(ns, key, refresh_ttl=False)])
        item = self.live().get((ns, key))
        assert (found and (found.value, found.created_at, found.updated_at)) == (
            item and (item["value"], item["created"], item["updated"])
        )

    @rule(prefix=PREFIXES, wanted=FILTERS, limit=st.integers(0, 5), offset=st.integers(0, 4))
    def newest(self, prefix, wanted, limit, offset):
        op = SearchOp(prefix, wanted, limit=limit, offset=offset, refresh_ttl=False)
        (found,) = self.store.batch([op])
        matching = self.live(prefix, PASSES[str(wanted)])
        times = sorted((item["updated"] for item in matching.values()), reverse=True)
        assert [hit.updated_at for hit in found] == times[offset : offset + limit]
        assert all(matching[hit.namespace, hit.key]["value"] == hit.value for hit in found)

    @rule(prefix=PREFIXES, wanted=FILTERS, query=TEXTS.filter(bool), size=st.integers(1, 4))
    def nearest(self, prefix, wanted, query, size):
        pages = [
            self.store.batch([SearchOp(prefix, wanted, size, offset, query, refresh_ttl=False)])[0]
            for offset in range(0, 20, size)
        ]
        found = {(hit.namespace, hit.key): hit.score for page in pages for hit in page}
        assert len(found) == sum(map(len, pages))
        embed = HashEmbeddings(16).embed_query
        expected = {
            place: sum(a * b for a, b in zip(embed(query), embed(item["text"]), strict=True))
            if item["text"].strip()
            else None
            for place, item in self.live(prefix, PASSES[str(wanted)]).items()
        }
        assert found == pytest.approx(expected, abs=1e-5)
        scores = [score for score in found.values() if score is not None]
        assert list(found.values()) == sorted(scores, reverse=True) + [None] * (
            len(found) - len(scores)
        )

    @rule(prefix=PREFIXES, wanted=FILTERS, query=TEXTS)
    def words(self, prefix, wanted, query):
        (found,) = self.store.batch([TextSearchOp(prefix, query, wanted, limit=50)])
        terms = set(search_terms(query))
        assert {(hit.namespace, hit.key) for hit in found} == {
            place
            for place, item in self.live(prefix, PASSES[str(wanted)]).items()
            if terms & set(search_terms(item["text"]))
        }

    @invariant()
    def namespaces(self):
        if hasattr(self, "store"):
            assert self.store.list_namespaces() == sorted({ns for ns, _ in self.live()})

    def teardown(self):
        if hasattr(self, "store"):
            self.store.close()
            shutil.rmtree(self.folder)


class ThroughTheIndex(AgainstADict):
    search_path = "chroma"


SETTINGS = {"deadline": None, "suppress_health_check": list(HealthCheck)}
TestExactly = AgainstADict.TestCase
TestExactly.settings = settings(max_examples=80, stateful_step_count=40, **SETTINGS)
TestThroughTheIndex = ThroughTheIndex.TestCase
TestThroughTheIndex.settings = settings(max_examples=10, stateful_step_count=40, **SETTINGS)
