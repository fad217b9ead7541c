"""Bad input (issue M1): refused by the right error, which names the field; nothing is written."""

import asyncio
import os

import numpy as np
import pytest
from langchain_core.embeddings import Embeddings
from langgraph.store.memory import InMemoryStore

from langgraph_fabric import (
    EmbedderMismatchError,
    FabricError,
    MemoryFabric,
    MemoryLimitError,
    MemoryLimits,
    MemoryScopeError,
    MemoryValidationError,
    Scope,
    StoreUnavailableError,
)
from langgraph_fabric.embeddings import HashEmbeddings
from langgraph_fabric.store import ChromaStore
from langgraph_fabric.testing import FrozenClock

DIMS = 32
NOBODY = 65534
FACT = {"kind": "fact", "content": "User drinks green tea"}
FILE = {"kind": "file", "content": "A trip"}
BLOCK = {"kind": "working", "content": "Ann"}
CANARY = "sk-canary"


class Moody(Embeddings):
    """Embeds until it is told to raise or to change its dimensions."""

    def __init__(self) -> None:
        self.raises: Exception | None = None
        self.dims = DIMS

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        if self.raises is not None:
            raise self.raises
        return HashEmbeddings(dims=self.dims).embed_query(text)


@pytest.fixture
def moody():
    return Moody()


@pytest.fixture(params=["chroma", "in-memory"])
def store(request, moody):
    index = {"embed": moody, "dims": DIMS, "fields": ["text"]}
    if request.param == "in-memory":
        yield InMemoryStore(index=index)
        return
    with ChromaStore.in_memory(index=index) as opened:
        yield opened


@pytest.fixture
def fabric(store):
    whole = MemoryFabric(store, scope=Scope("acme", "{user_id}"), clock=FrozenClock())
    return whole.at(user_id="ann")


@pytest.fixture(params=["sync", "async"])
def refused(request, fabric, store):
    """Return a way to see that a call by one door is refused, naming `field`, and writes nothing.

    A note and a block are there, so that something could change.
    """
    fabric.remember(**FACT, subject="Ann")
    fabric.remember(**BLOCK, block="profile")

    def everything():
        return [(item.namespace, item.key, item.value) for item in store.search((), limit=1_000)]

    def call(verb, *args, **options):
        if request.param == "sync":
            return getattr(fabric, verb)(*args, **options)
        return asyncio.run(getattr(fabric, f"a{verb}")(*args, **options))

    def check(error, field, verb, *args, **options):
        before = everything()
        with pytest.raises(FabricError) as raised:
            call(verb, *args, **options)
        assert type(raised.value) is error
        assert raised.value.field.split(".")[0] == field
        assert CANARY not in str(raised.value)
        assert everything() == before

    return check


NOTES = {
    "no kind": ("kind", {"content": "x"}),
    "unknown kind": ("kind", {"kind": "nonsense", "content": "x"}),
    "kind of no text": ("kind", {"kind": 7, "content": "x"}),
    "episode": ("kind", {"kind": "episode", "content": "x"}),
    "no content": ("content", {"kind": "fact"}),
    "empty": ("content", FACT | {"content": ""}),
    "blank": ("content", FACT | {"content": " \n\t"}),
    "oversized": ("content", FACT | {"content": CANARY * 2_000}),
    "content of no text": ("content", FACT | {"content": b"x"}),
    "lone surrogate": ("content", FACT | {"content": "x\ud800"}),
    "lone surrogate in a tag": ("tags", FACT | {"tags": ["x\ud800"]}),
    "lone surrogate in context": ("context", FACT | {"context": "x\ud800"}),
    "lone surrogate in a block": ("content", BLOCK | {"block": "profile", "content": "x\ud800"}),
    "short id": ("id", FACT | {"id": "abc"}),
    "upper id": ("id", FACT | {"id": "ABCDEF012345"}),
    "long id": ("id", FACT | {"id": "a" * 13}),
    "id of no text": ("id", FACT | {"id": 7}),
    "id with a line end": ("id", FACT | {"id": "a" * 12 + "\n"}),
    "no path": ("path", FILE),
    "empty path": ("path", FILE | {"path": ""}),
    "climbing path": ("path", FILE | {"path": "../a.md"}),
    "hidden climb": ("path", FILE | {"path": "a/../../b.md"}),
    "absolute path": ("path", FILE | {"path": "/etc/passwd"}),
    "windows path": ("path", FILE | {"path": "C:\\a.md"}),
    "nul path": ("path", FILE | {"path": "a\0.md"}),
    "device path": ("path", FILE | {"path": "con"}),
    "path of a fact": ("path", FACT | {"path": "a.md"}),
    "no block": ("block", BLOCK),
    "upper block": ("block", BLOCK | {"block": "CORE"}),
    "block of a fact": ("block", FACT | {"block": "core"}),
    "append of a fact": ("append", FACT | {"append": True}),
    "unknown option": ("colour", FACT | {"colour": CANARY}),
    "end before start": ("valid_to", FACT | {"valid_from": "2026-02-02", "valid_to": "2026-01-01"}),
    "end at start": (
        "valid_to",
        FACT | {"valid_from": "2026-02-02T00:00Z", "valid_to": "2026-02-02T00:00Z"},
    ),
    "no time": ("valid_from", FACT | {"valid_from": "yesterday"}),
    "second 60": ("t_ref", FACT | {"t_ref": "2026-01-01T00:00:60Z"}),
    "link to nothing": ("links", FACT | {"links": [{"id": "a" * 12}]}),
    "malformed link": ("links", FACT | {"links": [{"id": "nope"}]}),
    "link of no mapping": ("links", FACT | {"links": ["a" * 12]}),
    "link to itself": ("links", FACT | {"id": "b" * 12, "links": [{"id": "b" * 12}]}),
    "supersedes nothing": ("supersedes", FACT | {"supersedes": "a" * 12}),
    "importance 2": ("importance", FACT | {"importance": 2}),
    "importance -1": ("importance", FACT | {"importance": -1}),
    "importance nan": ("importance", FACT | {"importance": float("nan")}),
    "importance True": ("importance", FACT | {"importance": True}),
    "65 tags": ("tags", FACT | {"tags": [str(n) for n in range(65)]}),
    "long tag": ("tags", FACT | {"tags": ["x" * 257]}),
    "blank keyword": ("keywords", FACT | {"keywords": [" "]}),
    "257 sources": ("source_entry_ids", FACT | {"source_entry_ids": [str(n) for n in range(257)]}),
    "attribute alone": ("subject", FACT | {"attribute": "drink"}),
}


@pytest.mark.parametrize(("field", "note"), NOTES.values(), ids=NOTES)
def test_a_malformed_note_is_refused(refused, field, note):
    refused(MemoryValidationError, field, "remember", **note)


QUERIES = {
    "blank": (MemoryValidationError, "query", " ", {}),
    "no text": (MemoryValidationError, "query", 7, {}),
    "lone surrogate": (MemoryValidationError, "query", "x\ud800", {}),
    "unknown option": (MemoryValidationError, "limit", "tea", {"limit": 5}),
    "unknown kind": (MemoryValidationError, "kinds", "tea", {"kinds": ["nonsense"]}),
    "kinds as text": (MemoryValidationError, "kinds", "tea", {"kinds": "fact"}),
    "no kinds": (MemoryValidationError, "kinds", "tea", {"kinds": []}),
    "unhashable kind": (MemoryValidationError, "kinds", "tea", {"kinds": [[]]}),
    "no time": (MemoryValidationError, "as_of", "tea", {"as_of": "infinity"}),
    "time of another type": (MemoryValidationError, "as_of", "tea", {"as_of": 7}),
    "unknown mode": (MemoryValidationError, "mode", "tea", {"mode": "magic"}),
    "unhashable mode": (MemoryValidationError, "mode", "tea", {"mode": []}),
    "top_k 33": (MemoryLimitError, "top_k", "tea", {"top_k": 33}),
    "top_k -1": (MemoryLimitError, "top_k", "tea", {"top_k": -1}),
    "top_k True": (MemoryLimitError, "top_k", "tea", {"top_k": True}),
    "budget 0": (MemoryLimitError, "budget", "tea", {"budget": 0}),
    "budget 1.5": (MemoryLimitError, "budget", "tea", {"budget": 1.5}),
    "budget True": (MemoryLimitError, "budget", "tea", {"budget": True}),
}


@pytest.mark.parametrize(("error", "field", "query", "options"), QUERIES.values(), ids=QUERIES)
def test_a_malformed_question_is_refused(refused, error, field, query, options):
    refused(error, field, "recall", query, **options)


FORGETS = {
    "neither": ("id", {}),
    "both": ("id", {"id": "a" * 12, "block": "profile"}),
    "short id": ("id", {"id": "abc"}),
    "id of no text": ("id", {"id": 7}),
    "upper block": ("block", {"block": "CORE"}),
    "block of no text": ("block", {"block": 7}),
    "held block": ("hold", {"block": "profile", "hold": True}),
    "hold of no bool": ("hold", {"id": "a" * 12, "hold": "yes"}),
}


@pytest.mark.parametrize(("field", "options"), FORGETS.values(), ids=FORGETS)
def test_a_malformed_forget_is_refused(refused, field, options):
    refused(MemoryValidationError, field, "forget", **options)


@pytest.mark.parametrize("note_id", ["abc", "../x", "", 7, None, "x\ud800"], ids=repr)
def test_a_malformed_id_is_refused_where_a_note_is_read(refused, note_id):
    refused(MemoryValidationError, "id", "get", note_id)


@pytest.mark.parametrize("user", [None, "", " ", True, 1.5, "x\ud800", "x" * 257], ids=repr)
def test_a_malformed_user_is_refused_and_is_no_shared_default(store, user):
    fabric = MemoryFabric(store, scope=Scope("acme", "{user_id}")).at(user_id=user)
    with pytest.raises(MemoryScopeError, match=r"^user_id: "):
        fabric.remember(**FACT)
    assert store.search(()) == []


@pytest.mark.parametrize("part", ["", " ", None, 7, "x\ud800", "{a}{b}", "{a", "x" * 257], ids=repr)
def test_a_malformed_scope_is_refused(part):
    with pytest.raises(MemoryValidationError, match=r"^tenant: "):
        Scope(part, "{user_id}")
    with pytest.raises(MemoryValidationError, match=r"^resource: "):
        Scope("acme", part)


@pytest.mark.parametrize("note", [FACT | {"content": "User plays chess"}, FILE | {"path": "a.md"}])
def test_an_embedder_that_raises_is_reported_and_nothing_is_written(refused, moody, note):
    moody.raises = RuntimeError(f"no credit for {CANARY}")
    refused(StoreUnavailableError, "store", "remember", **note)
    refused(StoreUnavailableError, "store", "recall", "chess")


@pytest.mark.parametrize("error", [TimeoutError(), ValueError(CANARY), KeyError(CANARY)], ids=repr)
def test_whatever_the_embedder_raises_is_ours(refused, moody, error):
    moody.raises = error
    refused(StoreUnavailableError, "store", "remember", **FACT | {"content": "User plays chess"})


def test_an_embedder_that_changes_its_dimensions_is_refused(refused, moody, store):
    moody.dims = DIMS // 2
    ours = isinstance(store, ChromaStore)  # LangGraph's own store only fails on the comparison
    error, field = (
        (EmbedderMismatchError, "embeddings") if ours else (StoreUnavailableError, "store")
    )
    refused(error, field, "remember", **FACT | {"content": "User plays chess"})
    refused(error, field, "recall", "chess")


@pytest.mark.parametrize("door", ["sync", "async"])
def test_an_embedder_may_answer_in_arrays(door):
    class Arrays(Embeddings):
        def embed_documents(self, texts):
            return np.ones((len(texts), 4), np.float32)

        def embed_query(self, text):  # noqa: ARG002 - one answer for all
            return np.ones(4, np.float32)

    with ChromaStore.in_memory(index={"embed": Arrays(), "dims": 4, "fields": ["text"]}) as store:
        fabric = MemoryFabric(store, scope=Scope("acme", "ann"))
        fabric.remember(**FACT)
        for _ in range(2):  # the second answer is the kept one
            found = fabric.recall("tea") if door == "sync" else asyncio.run(fabric.arecall("tea"))
            assert found.hits


LIMITS = {
    "top_k 33": ("top_k", 33),
    "top_k -1": ("top_k", -1),
    "chars": ("max_entry_text_chars", 64_385),
    "bytes": ("max_working_memory_bytes", 262_145),
    "tokens of no number": ("max_injected_tokens", "many"),
}


@pytest.mark.parametrize(("field", "value"), LIMITS.values(), ids=LIMITS)
def test_a_limit_over_its_cap_is_refused(field, value):
    with pytest.raises(MemoryLimitError, match=rf"^{field}: "):
        MemoryLimits(**{field: value})


CONSOLIDATE = {
    "text": ("consolidate", "yes"),
    "number": ("consolidate", 1),
    "unknown": ("consolidate", {"colour": 1}),
    "threshold 2": ("consolidate.threshold", {"threshold": 2}),
    "threshold True": ("consolidate.threshold", {"threshold": True}),
    "guard": ("consolidate.guard", {"guard": "loose"}),
    "unhashable guard": ("consolidate.guard", {"guard": []}),
    "enabled": ("consolidate.enabled", {"enabled": "yes"}),
}


@pytest.mark.parametrize(("field", "value"), CONSOLIDATE.values(), ids=CONSOLIDATE)
def test_a_malformed_consolidate_is_refused(store, field, value):
    with pytest.raises(MemoryValidationError, match=rf"^{field}: "):
        MemoryFabric(store, scope=Scope("acme", "{user_id}"), consolidate=value)


def test_a_working_value_over_its_limit_stays_as_it_was(store):
    limits = MemoryLimits(max_working_memory_bytes=600)
    fabric = MemoryFabric(store, scope=Scope("acme", "ann"), limits=limits)
    fabric.remember(**BLOCK, block="profile")
    with pytest.raises(MemoryLimitError, match=r"^content: "):
        fabric.remember(kind="working", block="profile", content="word " * 200, append=True)
    assert [block.content for block in fabric.blocks()] == ["Ann"]


@pytest.mark.parametrize("verb", ["remember", "recall", "forget"])
@pytest.mark.parametrize("door", ["sync", "async"])
def test_a_store_whose_folder_cannot_be_used_is_refused_without_its_path(tmp_path, verb, door):
    (tmp_path / "file").write_text("a file where the folder should be")
    folder = tmp_path / "file" / "memory"
    fabric = MemoryFabric(ChromaStore.from_path(folder), scope=Scope("acme", "ann"))
    calls = {"remember": ((), FACT), "recall": (("tea",), {}), "forget": (("a" * 12,), {})}
    args, options = calls[verb]

    def call():
        if door == "sync":
            return getattr(fabric, verb)(*args, **options)
        return asyncio.run(getattr(fabric, f"a{verb}")(*args, **options))

    with pytest.raises(StoreUnavailableError) as raised:
        call()
    assert str(tmp_path) not in str(raised.value)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("door", ["sync", "async"])
def test_a_folder_that_may_not_be_written_is_refused(tmp_path, door):
    MemoryFabric(ChromaStore.in_memory(), scope=Scope("acme", "ann")).remember(**FACT)  # imports
    fabric = MemoryFabric(ChromaStore.from_path(tmp_path / "memory"), scope=Scope("acme", "ann"))
    tmp_path.chmod(0o555)
    user = os.geteuid()
    try:
        if user == 0:  # who may write everywhere
            os.seteuid(NOBODY)
        with pytest.raises(StoreUnavailableError):
            fabric.remember(**FACT) if door == "sync" else asyncio.run(fabric.aremember(**FACT))
    finally:
        os.seteuid(user)
    assert list(tmp_path.iterdir()) == []


def test_a_fabric_without_any_store_says_what_to_do():
    with pytest.raises(MemoryValidationError, match=r"^store: "):
        MemoryFabric(scope=Scope("acme", "ann")).remember(**FACT)


@pytest.mark.parametrize(
    ("field", "arguments"),
    [
        ("scope", {"scope": "acme"}),
        ("store", {"store": "memories", "scope": Scope("acme", "ann")}),
    ],
)
def test_a_fabric_refuses_what_is_no_scope_or_no_store_when_it_is_made(field, arguments):
    with pytest.raises(MemoryValidationError, match=f"^{field}: "):
        MemoryFabric(**arguments)
