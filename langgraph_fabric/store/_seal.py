"""Whose the index's files are, and whether they are as they were left."""

import contextlib
import hashlib
import os
from pathlib import Path


class OwnerLock:
    """A lock file that one process at a time holds; the system lets go of it when one dies."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._file: int | None = None

    def acquire(self) -> bool:
        """Hold the lock if no other process does; there is nothing to hold without a path."""
        if self._path is None or self._file is not None:
            return True
        try:
            import fcntl  # noqa: PLC0415 - not on Windows, where nobody owns the index
        except ImportError:
            return False
        with contextlib.suppress(OSError):
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        self.release()
        return False

    def release(self) -> None:
        """Let go; fine if it was not held."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    forget = release
    """In a forked process: closing the copy leaves the parent's lock alone."""


def seal_of(folder: Path) -> str:
    """Return a hash of the vector files below a folder.

    Chroma's own database is left out: SQLite guards it, and opening it changes it.
    """
    seal = hashlib.blake2b(digest_size=16)
    with contextlib.suppress(OSError):
        for path in sorted(folder.glob("*/*")):
            if path.is_file():
                seal.update(f"{path.relative_to(folder)} {path.stat().st_size}\n".encode())
                with path.open("rb") as file:
                    while block := file.read(1 << 20):
                        seal.update(block)
        return seal.hexdigest() if (folder / "chroma.sqlite3").is_file() else ""
    return ""
