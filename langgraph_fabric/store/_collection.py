"""Collections: Chroma itself, in this process or, for a folder, in a child of its own.

Embedded Chroma holds the interpreter lock for as long as a write takes, which would stall every
thread and event loop here; in a process of its own it stalls nobody. The child is started on first
need and ends when its store closes or its parent dies.
"""

import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Lock
from typing import Any, Protocol, cast

Row = tuple[int, bytes]
"""A vector's id and its float32 bytes."""

CONFIGURATION = {
    "hnsw": {"space": "cosine", "max_neighbors": 32, "ef_construction": 200, "ef_search": 400}
}
"""Chroma's defaults find 56 of 100 nearest random vectors among 10,000; these 99, at 2.7 times the
building time."""

_SERVER = "langgraph_fabric.store._index_server"
_ENDS_WITHIN = 10.0
"""Seconds a child has to end by itself."""


class Collection(Protocol):
    """The vectors of one index."""

    def add(self, rows: Sequence[Row]) -> None:
        """Add vectors, or put them in place of their earlier form."""
        ...

    def remove(self, ids: Sequence[int]) -> None:
        """Remove vectors; unknown ids are fine."""
        ...

    def nearest(self, query: bytes, count: int) -> list[int]:
        """Return the ids of about the `count` nearest vectors, nearest first."""
        ...

    def ids(self) -> set[int]:
        """Return all ids."""
        ...

    def count(self) -> int:
        """Return how many vectors there are."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...


class LocalCollection:
    """A collection in this process."""

    def __init__(self, folder: str | None, name: str, *, create: bool) -> None:
        import chromadb  # noqa: PLC0415 - loaded on first use, not at import
        from chromadb.config import Settings  # noqa: PLC0415 - the same

        settings = Settings(anonymized_telemetry=False)
        self._kept = folder is not None
        self._client: Any = (
            chromadb.EphemeralClient(settings)
            if folder is None
            else chromadb.PersistentClient(os.path.realpath(folder), settings)
        )
        if create:
            self._collection: Any = self._client.create_collection(
                name, embedding_function=None, configuration=CONFIGURATION
            )
        else:
            self._collection = self._client.get_collection(name, embedding_function=None)

    def add(self, rows: Sequence[Row]) -> None:
        """Add vectors, or put them in place of their earlier form."""
        import numpy as np  # noqa: PLC0415 - loaded on first use, not at import

        if rows:
            vectors = np.stack([np.frombuffer(vector, dtype=np.float32) for _, vector in rows])
            self._collection.upsert(ids=[str(i) for i, _ in rows], embeddings=vectors)

    def remove(self, ids: Sequence[int]) -> None:
        """Remove vectors; unknown ids are fine."""
        if ids:
            self._collection.delete(ids=[str(i) for i in ids])

    def nearest(self, query: bytes, count: int) -> list[int]:
        """Return the ids of about the `count` nearest vectors, nearest first."""
        import numpy as np  # noqa: PLC0415 - loaded on first use, not at import

        vector = np.frombuffer(query, dtype=np.float32)
        found = self._collection.query(query_embeddings=[vector], n_results=count, include=[])
        return [int(i) for i in found["ids"][0]]

    def ids(self) -> set[int]:
        """Return all ids."""
        return {int(i) for i in self._collection.get(include=[])["ids"]}

    def count(self) -> int:
        """Return how many vectors there are."""
        return int(self._collection.count())

    def close(self) -> None:
        """Let go of it; one in memory is gone with it."""
        if not self._kept:
            self._client.delete_collection(self._collection.name)
        self._client.close()


class RemoteCollection:
    """A collection in a child process; its failures come back as `RuntimeError`."""

    def __init__(self, folder: str, name: str, *, create: bool) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self._child = subprocess.Popen(  # noqa: S603 - our own module, in our own interpreter
                [sys.executable, "-m", _SERVER, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )
        self._connection = Connection(ours.detach())
        self._lock = Lock()
        try:
            self._ask("open", folder, name, create)
        except BaseException:
            self.close()
            raise

    def add(self, rows: Sequence[Row]) -> None:
        """Add vectors, or put them in place of their earlier form."""
        self._ask("add", list(rows))

    def remove(self, ids: Sequence[int]) -> None:
        """Remove vectors; unknown ids are fine."""
        self._ask("remove", list(ids))

    def nearest(self, query: bytes, count: int) -> list[int]:
        """Return the ids of about the `count` nearest vectors, nearest first."""
        return cast("list[int]", self._ask("nearest", query, count))

    def ids(self) -> set[int]:
        """Return all ids."""
        return cast("set[int]", self._ask("ids"))

    def count(self) -> int:
        """Return how many vectors there are."""
        return cast("int", self._ask("count"))

    def close(self) -> None:
        """End the child."""
        self._connection.close()
        try:
            self._child.wait(_ENDS_WITHIN)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()

    def _ask(self, verb: str, *arguments: Any) -> Any:
        with self._lock:
            try:
                self._connection.send((verb, arguments))
                failed, answer = cast("tuple[bool, Any]", self._connection.recv())
            except (EOFError, OSError) as exc:
                raise RuntimeError("the index's process has ended") from exc
        if failed:
            raise RuntimeError(f"the index failed: {answer}")
        return answer


def open_collection(folder: Path | None, name: str, *, create: bool) -> Collection:
    """Return a collection: in memory here, or in a folder by a child process."""
    if folder is None:
        return LocalCollection(None, name, create=create)
    return RemoteCollection(str(folder), name, create=create)
