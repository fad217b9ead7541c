"""Chroma in a process of its own.

Embedded Chroma holds the interpreter lock for as long as a write takes, which would stall every
thread and event loop; in a child process it stalls nobody. The child is started on first need, and
ends when the connection to it is closed, be it because its parent died.
"""

import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Lock
from typing import Any, Self, cast

from langgraph_fabric.store import _chroma_client
from langgraph_fabric.store._chroma_client import ClientFailedError

_ENDS_WITHIN = 10.0
"""Seconds a child has to end by itself, which includes writing what Chroma still holds back."""


class ProcessClient:
    """A collection in a child process."""

    def __init__(self, folder: Path, name: str, *, create: bool) -> None:
        self.name = name
        self._lock = Lock()
        ours, theirs = socket.socketpair()
        with theirs:
            self._child = subprocess.Popen(  # noqa: S603 - our own module, in our own interpreter
                [sys.executable, "-P", _chroma_client.__file__, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )
        self._connection = Connection(ours.detach())
        try:
            self._ask("open", str(folder), name, create)
        except BaseException:
            self.close()
            raise

    @classmethod
    def created(cls, folder: Path, name: str) -> Self:
        """Make a collection in a new folder."""
        return cls(folder, name, create=True)

    @classmethod
    def opened(cls, folder: Path, name: str) -> Self:
        """Open the collection in a folder."""
        return cls(folder, name, create=False)

    def count(self) -> int:
        """Return how many vectors it holds."""
        return cast("int", self._ask("count"))

    def ids(self) -> set[int]:
        """Return the ids of all vectors."""
        return cast("set[int]", self._ask("ids"))

    def nearest(self, query: Sequence[float], count: int) -> list[int]:
        """Return the ids of about the `count` nearest vectors, nearest first."""
        return cast("list[int]", self._ask("nearest", query, count))

    def add(self, rows: Sequence[tuple[int, bytes]]) -> None:
        """Add vectors; an id it has already is left as it is, since ids are never used again."""
        if rows:
            self._ask("add", list(rows))

    def delete(self, ids: Sequence[int]) -> None:
        """Delete vectors; ids it does not have are ignored."""
        if ids:
            self._ask("delete", list(ids))

    def close(self) -> None:
        """End the child, and wait until it has let go of the files."""
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
                raise ClientFailedError("its process has ended") from exc
        if failed:
            raise ClientFailedError(answer)
        return answer
