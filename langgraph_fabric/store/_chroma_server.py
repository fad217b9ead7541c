"""The child process of an index: answers its parent until that closes the connection or is gone."""

import signal
import sys
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, cast

from langgraph_fabric.store._chroma_client import LocalClient


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
