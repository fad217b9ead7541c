"""The child process of an index: answers its parent until that closes the connection or is gone."""

import sys
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any, cast

from langgraph_fabric.store._collection import LocalCollection


def serve(connection: Connection) -> None:
    """Answer what the parent asks, one question after the other."""
    collection: LocalCollection | None = None
    while True:
        try:
            verb, arguments = cast("tuple[str, tuple[Any, ...]]", connection.recv())
        except (EOFError, OSError):
            break
        try:
            if verb == "open":
                folder, name, create = arguments
                collection, answer = LocalCollection(folder, name, create=create), None
            else:
                method: Callable[..., Any] = getattr(collection, verb)
                answer = method(*arguments)
            connection.send((False, answer))
        except BaseException as exc:  # noqa: BLE001 - Chroma's panics are no Exceptions
            connection.send((True, type(exc).__name__))
    if collection is not None:
        collection.close()


if __name__ == "__main__":
    serve(Connection(int(sys.argv[1])))
