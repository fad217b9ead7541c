"""The stores that are measured, each behind the same few verbs.

A peer whose library is missing says so when it is opened, by an `ImportError`; the run then skips
it and prints why.
"""

# pyright: basic, reportMissingImports=false
# The peers are optional, and most of them come without types.

import asyncio
import contextlib
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, cast

import numpy as np
from langgraph.store.base import PutOp

from benchmarks.store.data import BLOCK, DIMS, FILTER, NOW_MS, Data, Layout, Lookup, Record, passes


class Peer(ABC):
    """A store under measurement. `open` may be called again after `close`."""

    name: ClassVar[str]
    at_most: ClassVar[int] = 10_000
    """The largest size it is measured at, unless all is measured."""
    layouts: ClassVar[tuple[Layout, ...]] = ("one", "many")
    random_at_most: ClassVar[int] = 0
    """The largest size at which its recall on random vectors is of interest."""
    persistent: ClassVar[bool] = True
    writable: ClassVar[bool] = True

    def __init__(self, folder: Path, data: Data, lookup: Lookup) -> None:
        self.folder, self.data, self.lookup = folder, data, lookup

    @abstractmethod
    def open(self) -> None:
        """Open what the folder holds, or make it."""

    @abstractmethod
    def close(self) -> None:
        """Close it."""

    @abstractmethod
    def put(self, records: Sequence[Record]) -> None:
        """Write items at once."""

    @abstractmethod
    def get(self, record: Record) -> Any:
        """Read one item by its key."""

    @abstractmethod
    def search(self, query: int, *, filtered: bool) -> list[str]:
        """Return the keys of the ten items nearest to a query, in its namespace."""

    async def aput(self, record: Record) -> None:
        """Write one item from an event loop, as its users would."""
        await asyncio.to_thread(self.put, [record])

    def flush(self) -> None:  # noqa: B027 - most stores have nothing to do
        """Bring an index that is kept up to date apart from writes up to date."""

    def server(self) -> int | None:
        """Return the id of the process that holds the data, if it is another."""
        return None


class _LangGraphStore(Peer):
    """A `BaseStore`, through its public methods."""

    store: Any
    """A `BaseStore`, which may have more methods."""

    def put(self, records: Sequence[Record]) -> None:
        if len(records) == 1:
            self.store.put(("bench", records[0].space), records[0].key, records[0].value)
        else:
            self.store.batch([PutOp(("bench", r.space), r.key, r.value) for r in records])

    async def aput(self, record: Record) -> None:
        await self.store.aput(("bench", record.space), record.key, record.value)

    def get(self, record: Record) -> Any:
        return self.store.get(("bench", record.space), record.key)

    def search(self, query: int, *, filtered: bool) -> list[str]:
        space = ("bench", self.data.query_space(query))
        found = self.store.search(
            space, query=f"q{query}", filter=FILTER if filtered else None, limit=10
        )
        return [item.key for item in found]

    @property
    def _index(self) -> Any:
        """Return what to index; `SqliteStore` reads `text_fields`, the others `fields`."""
        fields = ["text"]
        return {"dims": DIMS, "embed": self.lookup, "fields": fields, "text_fields": fields}


class Ours(_LangGraphStore):
    """ChromaStore: an acknowledged write survives a power cut."""

    name = "ChromaStore"
    at_most = 1_000_000
    random_at_most = 100_000
    durability: ClassVar[Any] = "full"

    def open(self) -> None:
        from langgraph_fabric.store import ChromaStore

        self.store = ChromaStore.from_path(
            self.folder, index=self._index, durability=self.durability
        )

    def flush(self) -> None:
        self.store.flush()

    def close(self) -> None:
        self.store.close()


class OursProcess(Ours):
    """ChromaStore: an acknowledged write survives a killed process."""

    name = "ChromaStore (process)"
    at_most = 10_000
    random_at_most = 0
    durability = "process"


class InMemory(_LangGraphStore):
    """LangGraph's store in memory."""

    name = "InMemoryStore"
    persistent = False

    def open(self) -> None:
        from langgraph.store.memory import InMemoryStore

        self.store = InMemoryStore(index=self._index)

    def close(self) -> None:
        del self.store


class Sqlite(_LangGraphStore):
    """LangGraph's store on SQLite and sqlite-vec."""

    name = "SqliteStore"
    aput = Peer.aput  # its own async methods only raise

    def open(self) -> None:
        _let_sqlite_load_extensions()
        from langgraph.store.sqlite import SqliteStore

        self._stack = contextlib.ExitStack()
        self.folder.mkdir(exist_ok=True)
        path = str(self.folder / "store.db")
        self.store = self._stack.enter_context(
            SqliteStore.from_conn_string(path, index=self._index)
        )
        self.store.setup()

    def close(self) -> None:
        self._stack.close()


class Postgres(_LangGraphStore):
    """LangGraph's store on Postgres and pgvector, on a server of its own."""

    name = "PostgresStore"
    random_at_most = 10_000

    def open(self) -> None:
        import pgserver
        from langgraph.store.postgres import PostgresStore

        self._stack = contextlib.ExitStack()
        self.folder.mkdir(exist_ok=True)
        serve = pgserver.get_server  # pyright: ignore[reportPrivateImportUsage] -- its documented door
        self._server = serve(str(self.folder), cleanup_mode="stop")
        self._stack.callback(self._server.cleanup)
        self.store = self._stack.enter_context(
            PostgresStore.from_conn_string(self._server.get_uri(), index=self._index)
        )
        self.store.setup()

    def close(self) -> None:
        self._stack.close()

    def server(self) -> int | None:
        return int((self.folder / "postmaster.pid").read_text().split()[0])


class RawChroma(Peer):
    """Chroma itself, as it ships: one collection, the namespace a metadata key."""

    name = "Chroma"
    at_most = 1_000_000
    random_at_most = 10_000
    settings: ClassVar[dict[str, Any]] = {}

    def open(self) -> None:
        import chromadb
        from chromadb.config import Settings

        self._client: Any = chromadb.PersistentClient(
            str(self.folder.resolve()), Settings(anonymized_telemetry=False)
        )
        self._collection = self._client.get_or_create_collection(
            "bench",
            embedding_function=None,
            configuration=cast("Any", {"hnsw": {"space": "cosine", **self.settings}}),
        )

    def close(self) -> None:
        self._client.close()

    def put(self, records: Sequence[Record]) -> None:
        self._collection.upsert(
            ids=[r.key for r in records],
            embeddings=[self.lookup.vector(r.number) for r in records],
            metadatas=[_metadata(r) for r in records],
            documents=[r.value["text"] for r in records],
        )

    def get(self, record: Record) -> Any:
        return self._collection.get(ids=[record.key])

    def search(self, query: int, *, filtered: bool) -> list[str]:
        found = self._collection.query(
            query_embeddings=[self.lookup.embed_query(f"q{query}")],
            n_results=10,
            where=_where(self.data, query, filtered=filtered),
            include=["metadatas", "documents", "distances"],
        )
        return found["ids"][0]


class RawChromaSet(RawChroma):
    """Chroma with the index settings `ChromaStore` gives it."""

    name = "Chroma (tuned)"
    layouts = ("one",)
    settings = {"max_neighbors": 32, "ef_construction": 200, "ef_search": 400}  # noqa: RUF012 - read only


class LangChainChroma(Peer):
    """LangChain's vector store on Chroma."""

    name = "langchain-chroma"

    def open(self) -> None:
        import chromadb
        from chromadb.config import Settings
        from langchain_chroma import Chroma

        self._client: Any = chromadb.PersistentClient(
            str(self.folder.resolve()), Settings(anonymized_telemetry=False)
        )
        self._store = Chroma(
            "bench",
            embedding_function=self.lookup,
            client=self._client,
            collection_configuration={"hnsw": {"space": "cosine"}},
        )

    def close(self) -> None:
        self._client.close()

    def put(self, records: Sequence[Record]) -> None:
        self._store.add_texts(**self._arguments(records))

    async def aput(self, record: Record) -> None:
        await self._store.aadd_texts(**self._arguments([record]))

    def _arguments(self, records: Sequence[Record]) -> dict[str, Any]:
        return {
            "texts": [r.value["text"] for r in records],
            "metadatas": [{**_metadata(r), "key": r.key} for r in records],
            "ids": [r.key for r in records],
        }

    def get(self, record: Record) -> Any:
        return self._store.get_by_ids([record.key])

    def search(self, query: int, *, filtered: bool) -> list[str]:
        found = self._store.similarity_search_with_score(
            f"q{query}", k=10, filter=_where(self.data, query, filtered=filtered)
        )
        return [document.metadata["key"] for document, _ in found]


class Exact(Peer):
    """The least an exact search can cost: one product of numpy's, and ten picked from it."""

    name = "numpy"
    at_most = 1_000_000
    persistent = False
    writable = False

    def open(self) -> None:
        self._matrix = np.zeros((self.data.size, DIMS), dtype=np.float32)
        self._passes = np.zeros(self.data.size, dtype=bool)

    def close(self) -> None:
        del self._matrix

    def put(self, records: Sequence[Record]) -> None:
        for record in records:
            self._matrix[record.number] = self.lookup.vector(record.number)
            self._passes[record.number] = passes(record.value)

    def get(self, record: Record) -> Any:
        return self._matrix[record.number]

    def search(self, query: int, *, filtered: bool) -> list[str]:
        start = int(self.data.query_space(query)[1:]) * BLOCK
        end = start + BLOCK if self.data.layout == "many" else self.data.size
        scores = self._matrix[start:end] @ self.data.queries[query]
        if filtered:
            scores[~self._passes[start:end]] = -2
        best = np.argpartition(scores, -10)[-10:]
        return [f"k{start + row}" for row in best[np.argsort(-scores[best])]]


PEERS: tuple[type[Peer], ...] = (
    Ours,
    OursProcess,
    InMemory,
    Sqlite,
    Postgres,
    LangChainChroma,
    RawChroma,
    RawChromaSet,
    Exact,
)


def _let_sqlite_load_extensions() -> None:
    """Put a SQLite that loads extensions in the place of one that does not."""
    import sqlite3

    if not hasattr(sqlite3.Connection, "enable_load_extension"):
        import pysqlite3

        sys.modules["sqlite3"] = pysqlite3


def _metadata(record: Record) -> dict[str, Any]:
    names = ("state", "valid_from_ms", "valid_to_ms", "sequence", "version")
    return {"space": record.space, **{name: record.value[name] for name in names}}


def _where(data: Data, query: int, *, filtered: bool) -> dict[str, Any] | None:
    conditions: list[dict[str, Any]] = []
    if data.layout == "many":
        conditions.append({"space": data.query_space(query)})
    if filtered:
        conditions += [
            {"state": "live"},
            {"valid_from_ms": {"$lte": NOW_MS}},
            {"valid_to_ms": {"$gte": NOW_MS}},
        ]
    if len(conditions) > 1:
        return {"$and": conditions}
    return conditions[0] if conditions else None
