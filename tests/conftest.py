"""What tests of the domain share: a fabric over every store, both doors, a clock that stands."""

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from langgraph_fabric import MemoryFabric, Scope
from langgraph_fabric.embeddings import HashEmbeddings, StaticEmbeddings
from langgraph_fabric.store import ChromaStore
from langgraph_fabric.testing import FrozenClock

NOW = "2026-03-01T12:00:00Z"
STATIC = {"dims": 256, "embed": StaticEmbeddings(), "fields": ["text"]}
HASHED = {"dims": 384, "embed": HashEmbeddings(384), "fields": ["text"]}

STORES: dict[str, Callable[..., Any]] = {
    "memory": lambda index, _: InMemoryStore(index=index),
    "chroma": lambda index, clock: ChromaStore.in_memory(index=index, clock=clock),
}


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock(NOW)


@pytest.fixture(params=STORES)
def make_store(request: pytest.FixtureRequest, clock: FrozenClock) -> Iterator[Callable[..., Any]]:
    """Return a maker of stores of one kind, by index."""
    made: list[Any] = []

    def make(index: Any = STATIC) -> BaseStore:
        made.append(STORES[request.param](index, clock))
        return made[-1]

    yield make
    for store in made:
        if isinstance(store, ChromaStore):
            store.close()


@pytest.fixture
def store(make_store: Callable[..., Any]) -> BaseStore:
    return make_store()


@pytest.fixture
def hashed(make_store: Callable[..., Any]) -> BaseStore:
    """A store with the reference's embedder, for its numbers."""
    return make_store(HASHED)


@pytest.fixture
def make(clock: FrozenClock) -> Callable[..., MemoryFabric]:
    """Return a maker of fabrics whose ids and times are always the same."""

    def of(store: BaseStore | None, **options: Any) -> MemoryFabric:
        numbers = count()
        return MemoryFabric(
            store,
            **{
                "scope": Scope("acme", "{user_id}"),
                "clock": clock,
                "nonce": lambda: str(next(numbers)),
                **options,
            },
        )

    return of


@pytest.fixture
def open_fabric(make: Callable[..., MemoryFabric], store: BaseStore) -> MemoryFabric:
    """A fabric whose user is filled by each run."""
    return make(store)


@pytest.fixture
def fabric(open_fabric: MemoryFabric) -> MemoryFabric:
    """A fabric for one user."""
    return open_fabric.at(user_id="ann")


@pytest.fixture(params=["sync", "async"])
def do(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Return a way to call a verb by one of its doors: `await do(fabric.remember, ...)`."""

    async def call(verb: Any, *args: Any, **kwargs: Any) -> Any:
        if request.param == "sync":
            return verb(*args, **kwargs)
        return await getattr(verb.__self__, f"a{verb.__name__}")(*args, **kwargs)

    return call


@pytest.fixture
def contents() -> Callable[[BaseStore], dict[Any, Any]]:
    """Return a reader of everything a store holds."""

    def read(store: BaseStore) -> dict[Any, Any]:
        return {
            (namespace, item.key): item.value
            for namespace in store.list_namespaces(limit=10_000)
            for item in store.search(namespace, limit=10_000)
            if item.namespace == namespace
        }

    return read
