"""Chroma itself: one collection of ids and vectors, with one error for all that can go wrong.

`Client` is what the index works with. `LocalClient` has Chroma in this process; for a folder, the
index uses one in a process of its own (`_chroma_process`), which runs this file: so it imports
nothing of this package, and the child loads Chroma and no more.
"""

import contextlib
import os
import signal
import sys
from collections.abc import Callable, Generator, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Protocol, Self, cast

_CONFIGURATION = {
    "hnsw": {"space": "cosine", "max_neighbors": 32, "ef_construction": 200, "ef_search": 400}
}
"""Chroma's defaults find 56 of 100 nearest random vectors among 10,000; these 99, at 2.7 times the
building time."""

_loaded_in: list[int] = []
"""The process that loaded Chroma: in one forked from it, every call would wait for ever."""


class ClientFailedError(Exception):
    """Chroma cannot be used, for whatever reason; its own words would name paths."""


class Client(Protocol):
    """An open collection. Every method may raise `ClientFailedError`."""

    name: str

    def count(self) -> int:
        """Return how many vectors it holds."""
        ...

    def ids(self) -> set[int]:
        """Return the ids of all vectors."""
        ...

    def nearest(self, query: Sequence[float], count: int) -> list[int]:
        """Return the ids of about the `count` nearest vectors, nearest first."""
        ...

    def add(self, rows: Sequence[tuple[int, bytes]]) -> None:
        """Add vectors; an id it has already is left as it is, since ids are never used again."""
        ...

    def delete(self, ids: Sequence[int]) -> None:
        """Delete vectors; ids it does not have are ignored."""
        ...

    def close(self) -> None:
        """Let go of the collection, whatever state it is in."""
        ...


class LocalClient:
    """A collection in this process."""

    def __init__(self, client: Any, collection: Any, *, ephemeral: bool) -> None:
        self._client = client
        self._collection = collection
        self._ephemeral = ephemeral
        self.name: str = collection.name

    @classmethod
    def created(cls, folder: Path | None, name: str) -> Self:
        """Make a collection in a new folder, or in memory."""
        with _guarded():
            client = _connected(folder)
            made = client.create_collection(
                name, embedding_function=None, configuration=_CONFIGURATION
            )
            return cls(client, made, ephemeral=folder is None)

    @classmethod
    def opened(cls, folder: Path, name: str) -> Self:
        """Open the collection in a folder."""
        with _guarded():
            client = _connected(folder)
            try:
                return cls(client, client.get_collection(name, None), ephemeral=False)
            except BaseException:
                client.close()
                raise

    def count(self) -> int:
        """Return how many vectors it holds."""
        with _guarded():
            return int(self._collection.count())

    def ids(self) -> set[int]:
        """Return the ids of all vectors."""
        with _guarded():
            return {int(i) for i in self._collection.get(include=[])["ids"]}

    def nearest(self, query: Sequence[float], count: int) -> list[int]:
        """Return the ids of about the `count` nearest vectors, nearest first."""
        with _guarded():
            found = self._collection.query(
                query_embeddings=[query], n_results=max(count, 1), include=[]
            )
            return [int(i) for i in found["ids"][0]]

    def add(self, rows: Sequence[tuple[int, bytes]]) -> None:
        """Add vectors; an id it has already is left as it is, since ids are never used again."""
        import numpy as np  # noqa: PLC0415 - loaded on first use, not at import

        if rows:
            with _guarded():
                vectors = np.stack([np.frombuffer(vector, dtype=np.float32) for _, vector in rows])
                self._collection.add(ids=[str(i) for i, _ in rows], embeddings=vectors)

    def delete(self, ids: Sequence[int]) -> None:
        """Delete vectors; ids it does not have are ignored."""
        if ids:
            with _guarded():
                self._collection.delete(ids=[str(i) for i in ids])

    def close(self) -> None:
        """Let go of the collection, whatever state it is in."""
        with contextlib.suppress(ClientFailedError), _guarded():
            if self._ephemeral:  # all clients in memory share one system, which may live on
                self._client.delete_collection(self.name)
            self._client.close()


@contextlib.contextmanager
def _guarded() -> Generator[None]:
    """Turn whatever Chroma raises into our error; a panic in its Rust is no `Exception`."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as exc:
        raise ClientFailedError(type(exc).__name__) from exc


def _connected(folder: Path | None) -> Any:
    if _loaded_in and _loaded_in[0] != os.getpid():
        raise ClientFailedError("forked")
    import chromadb  # noqa: PLC0415 - loaded on first use, not at import
    from chromadb.config import Settings  # noqa: PLC0415 - the same

    _loaded_in[:] = [os.getpid()]
    settings = Settings(anonymized_telemetry=False)
    if folder is None:
        return chromadb.EphemeralClient(settings)
    return chromadb.PersistentClient(os.path.realpath(folder), settings)


def serve(connection: Connection) -> None:
    """Answer what the parent asks, one question after the other."""
    client: LocalClient | None = None
    while True:
        try:
            verb, arguments = cast("tuple[str, tuple[Any, ...]]", connection.recv())
        except (EOFError, OSError):
            break
        try:
            if verb == "open":
                folder, name, create = arguments
                make = LocalClient.created if create else LocalClient.opened
                client, answer = make(Path(folder), name), None
            else:
                method: Callable[..., Any] = getattr(client, verb)
                answer = method(*arguments)
            connection.send((False, answer))
        except Exception as exc:  # noqa: BLE001 - the parent decides what a failure means
            connection.send((True, str(exc)))
    if client is not None:
        client.close()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's; it will close us
    serve(Connection(int(sys.argv[1])))
