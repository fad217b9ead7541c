"""Stores of both kinds and both doors; every store is closed at the end of its test."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from langgraph_fabric.embeddings import HashEmbeddings
from langgraph_fabric.store import ChromaStore
from langgraph_fabric.testing import FrozenClock

INDEX = {"dims": 32, "embed": HashEmbeddings(dims=32), "fields": ["text"]}


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock("2026-03-01")


@pytest.fixture
def folder(tmp_path) -> Path:
    return tmp_path / "memories"


@pytest.fixture
def opened(folder, clock) -> Iterator[Callable[..., ChromaStore]]:
    """Open a store in the test's folder; options as in `from_path`.

    No test cuts the power, so writes only have to survive the process.
    """
    stores: list[ChromaStore] = []

    def open_(path: Path = folder, **options: Any) -> ChromaStore:
        options = {"index": INDEX, "clock": clock, "durability": "process", **options}
        stores.append(ChromaStore.from_path(path, **options))
        return stores[-1]

    yield open_
    for store in stores:
        store.close()


@pytest.fixture(params=["from_path", "in_memory"])
def make(request, opened, clock) -> Iterator[Callable[..., ChromaStore]]:
    """Make a store of either kind."""
    stores: list[ChromaStore] = []

    def in_memory(**options: Any) -> ChromaStore:
        options = {"index": INDEX, "clock": clock, **options}
        stores.append(ChromaStore.in_memory(**options))
        return stores[-1]

    yield opened if request.param == "from_path" else in_memory
    for store in stores:
        store.close()


@pytest.fixture
def store(make) -> ChromaStore:
    return make()


@pytest.fixture(params=["sync", "async"])
def do(request) -> Callable[..., Any]:
    """Call a store's method by either door: `do(store, "put", ...)`."""

    def sync(store: ChromaStore, verb: str, *args: Any, **options: Any) -> Any:
        return getattr(store, verb)(*args, **options)

    def through_a_loop(store: ChromaStore, verb: str, *args: Any, **options: Any) -> Any:
        async def call() -> Any:
            return await getattr(store, "a" + verb)(*args, **options)

        return asyncio.run(call())

    return sync if request.param == "sync" else through_a_loop


@pytest.fixture
def keys() -> Callable[..., list[str]]:
    """Return the keys of a search, in its order."""

    def of(store: ChromaStore, *args: Any, **options: Any) -> list[str]:
        return [item.key for item in store.search(*args, **options)]

    return of
