"""Folders and files by descriptor: the walk that no swapped link can leave.

    with translated(), folder_at(root, below, names, create=False) as folder:
        with regular_file(folder, "a.md") as file: ...

A path that is checked and then opened can change in between. So nothing here opens a path: every
part is opened relative to the descriptor of the folder before it, and no link is followed. Only
`root` may be or pass through a link, for the host chose it; it is resolved anew at each call.

Does *not* cover a folder that someone moves out of the root while it is open, nor mount points
below the root: who can do either owns the disk.
"""

import errno
import os
import stat
import time
import unicodedata
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from typing import Final

from langgraph_fabric.errors import (
    FabricError,
    MemoryConflictError,
    MemoryValidationError,
    StoreUnavailableError,
)

STAGE_NAME: Final = ".fabric-stage"
"""What a staged write is called until it is committed.

One name is enough, for the folder is locked meanwhile; it is never listed, and no path may use it.
"""

CAN_OPEN_BY_DESCRIPTOR: Final = os.supports_dir_fd >= {os.open, os.mkdir, os.rename, os.unlink}
"""Whether this system can do what the jail rests on; Windows cannot, and no lesser way is safe."""

LOCK_WAIT_SECONDS = 5.0
"""How long one write waits for another in the same folder.

Waiting is bounded because a pool of threads that all wait would starve the holder of the thread it
needs to finish.
"""

_LOCK_POLL_SECONDS = 0.005

_NOT_A_FOLDER = (
    MemoryValidationError,
    "has a link in it, or something else where a folder should be",
    "name real files and folders",
)
_NOT_ALLOWED = StoreUnavailableError, "may not be used by this process", "tell the operator"
_NO_SPACE = StoreUnavailableError, "does not fit on the disk", "free space, then retry"
_NO_FILE = MemoryValidationError, "is not a regular file", "name a file"
_NO_DESCRIPTORS = StoreUnavailableError, "meets too many open files", "retry later"

_REFUSALS: dict[int, tuple[type[FabricError], str, str]] = {
    errno.ENAMETOOLONG: (MemoryValidationError, "is too long for this disk", "use shorter names"),
    errno.ENOTDIR: _NOT_A_FOLDER,
    errno.ELOOP: _NOT_A_FOLDER,
    errno.EEXIST: _NOT_A_FOLDER,
    errno.EISDIR: (MemoryValidationError, "is a folder", "name a file"),
    errno.ENXIO: _NO_FILE,
    errno.ENODEV: _NO_FILE,
    errno.ENOENT: (MemoryConflictError, "was removed meanwhile", "look again and retry"),
    errno.EACCES: _NOT_ALLOWED,
    errno.EPERM: _NOT_ALLOWED,
    errno.EROFS: _NOT_ALLOWED,
    errno.ENOSPC: _NO_SPACE,
    errno.EDQUOT: _NO_SPACE,
    errno.EFBIG: _NO_SPACE,
    errno.EMFILE: _NO_DESCRIPTORS,
    errno.ENFILE: _NO_DESCRIPTORS,
}
_OTHERWISE = StoreUnavailableError, "cannot be read or written now", "retry, or tell the operator"


@contextmanager
def translated() -> Generator[None]:
    """Turn an `OSError` into a refusal: its text holds the host's paths, which a model may see."""
    try:
        yield
    except OSError as error:
        kind, problem, fix = _REFUSALS.get(error.errno or 0, _OTHERWISE)
        raise kind("path", problem, fix) from None


@contextmanager
def folder_at(
    root: str, below: Sequence[str], names: Sequence[str], *, create: bool
) -> Generator[int]:
    """Open `root`, the host's folders `below` it and then the model's `names`, one by one.

    With `create`, missing folders are made, private to the user of this process, and a name that
    only differs in case from an existing one is refused.
    """
    _require_descriptors()
    if create:
        os.makedirs(root, mode=0o700, exist_ok=True)  # noqa: PTH103 -- pathlib has no descriptors
    folder = os.open(root, _folder_flags())
    try:
        for depth, name in enumerate((*below, *names)):
            if create and depth >= len(below):  # the host's names cannot clash: `folder_name`
                refuse_case_clash(folder, name)
            parent, folder = folder, _child(folder, name, create=create)
            os.close(parent)
        yield folder
    finally:
        os.close(folder)


@contextmanager
def regular_file(folder: int, name: str) -> Generator[int]:
    """Open a file for reading, if it is one file and known by this name alone.

    A hard link is as good as a copy that changes with the original: a file outside the root would
    be read through it. Without `O_NONBLOCK`, opening a pipe would wait for ever.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    file = os.open(name, flags, dir_fd=folder)
    try:
        _refuse_irregular(os.fstat(file))
        yield file
    finally:
        os.close(file)


def refuse_case_clash(folder: int, name: str) -> None:
    """Refuse a name that a disk without case would take for a sibling (`notes.md`, `Notes.md`).

    Does *not* cover two hosts that create both at the same moment on a disk with case.
    """
    with os.scandir(folder) as found:
        siblings = {unicodedata.normalize("NFC", entry.name) for entry in found}
    if name not in siblings and any(_caseless(other) == _caseless(name) for other in siblings):
        problem, fix = "differs only in case from an existing name", "use the existing spelling"
        raise MemoryValidationError("path", problem, fix)


def lock(folder: int) -> None:
    """Wait until this descriptor holds the folder's lock; closing it, or a crash, lets go.

    The lock is advisory: it orders the writes of this package, in any process, and of nobody else.

    Raises:
        MemoryConflictError: Another write has held it all the while.
    """
    deadline = time.monotonic() + LOCK_WAIT_SECONDS
    while not try_lock(folder):
        if time.monotonic() >= deadline:
            raise MemoryConflictError("path", "is being written by another call", "retry")
        time.sleep(_LOCK_POLL_SECONDS)


def try_lock(folder: int) -> bool:
    """Take the folder's lock if nobody holds it."""
    import fcntl  # noqa: PLC0415 -- Windows lacks it and must still import this module

    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # some network disks lock no folders, each with an errno of its own
        problem, fix = "is on a disk that cannot lock a folder", "put the root on a local disk"
        raise StoreUnavailableError("root", problem, fix) from None
    return True


def write_new(folder: int, name: str, data: bytes, *, mode: int) -> None:
    """Write a file that is not there yet, down to the disk; never through a planted link."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with open(os.open(name, flags, 0o600, dir_fd=folder), "wb") as file:  # noqa: PTH123 -- a descriptor
        os.fchmod(file.fileno(), mode)
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def remove(folder: int, name: str) -> bool:
    """Remove a name from this folder; tell whether it was there."""
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        return False
    return True


def sweep(folder: int, *, depth: int) -> int:
    """Remove dead stages here and `depth` folders down, and return how many there were.

    A folder that is locked has a living write in it and keeps its stage. What vanishes, is swapped
    or may not be opened is passed over: one odd folder must not keep the rest from being cleaned.
    """
    removed = int(_remove_dead_stage(folder))
    if not depth:
        return removed
    with os.scandir(folder) as found:
        names = [entry.name for entry in found if entry.is_dir(follow_symlinks=False)]
    for name in names:
        with suppress(OSError), _opened(folder, name) as child:
            removed += sweep(child, depth=depth - 1)
    return removed


def _remove_dead_stage(folder: int) -> bool:
    with _opened(folder, ".") as lockable:  # a descriptor of its own, so that closing it unlocks
        return try_lock(lockable) and remove(folder, STAGE_NAME)


@contextmanager
def _opened(folder: int, name: str) -> Generator[int]:
    child = _child(folder, name, create=False)
    try:
        yield child
    finally:
        os.close(child)


def _child(folder: int, name: str, *, create: bool) -> int:
    if create:
        with suppress(FileExistsError):
            os.mkdir(name, mode=0o700, dir_fd=folder)
            os.fsync(folder)  # else a crash could lose the folder and an acknowledged file with it
    return os.open(name, _folder_flags() | os.O_NOFOLLOW, dir_fd=folder)


def _folder_flags() -> int:
    return os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


def _refuse_irregular(status: os.stat_result) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, "")
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.ENXIO, "")
    if status.st_nlink > 1:  # none at all: a write has just replaced the file we opened
        raise MemoryValidationError("path", "is a file with several names", "name a plain file")


def _caseless(name: str) -> str:
    decomposed = unicodedata.normalize("NFD", name)
    return unicodedata.normalize("NFC", decomposed.casefold())


def _require_descriptors() -> None:
    if not CAN_OPEN_BY_DESCRIPTOR:
        problem = "cannot be opened safely on this system, which cannot open by descriptor"
        raise StoreUnavailableError("root", problem, "run on Linux or macOS, or set no root")
