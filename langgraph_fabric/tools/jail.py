"""The file jail: the only way by which a tool touches the host's files.

    jail = FileJail("notes").inside(tenant, resource)
    with jail.stage_append("people/ann.md", "Prefers tea.") as staged:
        ...                  # what must change together with the file, from `staged.content`
        staged.commit()      # without it, leaving the block discards the write

A path comes from a model and may be anything; it is checked as text first (`_paths.py`), then
walked by descriptors (`_descriptors.py`). Refusals name the field and the shape of the problem,
never a path of the host or what a file holds.

Does *not* cover who may use which jail, what the text says, or programs that write the same files
without taking the folder's lock.
"""

import codecs
import os
import stat
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field, replace
from typing import Final, Self

from langgraph_fabric._paths import MAX_SEGMENTS, folder_name, normalise_path, path_segments
from langgraph_fabric.errors import (
    MemoryConflictError,
    MemoryLimitError,
    MemoryValidationError,
)
from langgraph_fabric.tools._descriptors import (
    STAGE_NAME,
    folder_at,
    lock,
    refuse_case_clash,
    regular_file,
    remove,
    sweep,
    translated,
    write_new,
)
from langgraph_fabric.tools._listing import Listing, listing

DEFAULT_FILE_BYTES: Final = 50 * 1024
"""A long note; about 12,000 tokens, which a model can still read at once (reference S260)."""

MAX_FILE_BYTES: Final = 1024 * 1024
"""The most a host may allow: an append rewrites the whole file (reference S260)."""

_PRIVATE: Final = 0o600
"""The mode of a new file: a note is its user's. A file that exists keeps its own mode."""


@dataclass(frozen=True, slots=True)
class FileText:
    """The text of a file, or its beginning."""

    path: str
    text: str
    bytes: int
    """The full size of the file, also when the text is cut."""
    truncated: bool


@dataclass(slots=True, eq=False)
class Staged:
    """A write that is on the disk but not yet in its file; as a context manager it cannot leak.

    It holds the lock of its folder: other writes there wait, and give up after a while. Commit or
    discard soon, and stage no second file of the same folder before.
    """

    path: str
    content: str
    """The whole new text of the file."""
    bytes: int
    """The size of the file once committed."""
    _folder: int
    _cleanup: ExitStack
    _ended: bool = False

    def commit(self) -> int:
        """Put the new content in place of the file's, all of it or nothing, and return its size.

        Returns only once it would survive a power cut. A link that someone put at the path
        meanwhile is replaced, never followed.

        Raises:
            MemoryConflictError: It was committed or discarded before.
            StoreUnavailableError: The disk refused; the file is as it was, or, if only the last
                flush failed, new but perhaps not durable.
        """
        if self._ended:
            raise MemoryConflictError("path", "is no longer staged", "stage the write again")
        self._ended = True
        name = self.path.rpartition("/")[2]
        with translated(), self._cleanup:
            os.rename(STAGE_NAME, name, src_dir_fd=self._folder, dst_dir_fd=self._folder)
            os.fsync(self._folder)
        return self.bytes

    def discard(self) -> None:
        """Leave the file as it is; folders made for it stay. Does nothing after an end."""
        self._ended = True
        with translated():
            self._cleanup.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.discard()


@dataclass(frozen=True, slots=True)
class FileJail:
    """The files below one folder of the host; nothing is opened before the first operation.

    Raises:
        MemoryValidationError: The root is blank or no path, or `max_file_bytes` no integer.
        MemoryLimitError: `max_file_bytes` is not between 1 and `MAX_FILE_BYTES`.
    """

    root: str | os.PathLike[str]
    """The host's folder, made on the first write; a relative one follows the working directory."""
    max_file_bytes: int = DEFAULT_FILE_BYTES
    """The size up to which a file can grow by `append` and is shown by `read`."""
    _below: tuple[str, ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        _refuse_root(self.root)
        _refuse_cap(self.max_file_bytes)

    def inside(self, tenant: str, resource: str) -> Self:
        """Return the jail of one user, `<root>/<tenant>/<resource>`, apart from every other one.

        The folders' names are the labels escaped by `_paths.folder_name`: no label can climb, and
        labels that differ, also only in case, have different folders.
        """
        folders = folder_name(tenant, "tenant"), folder_name(resource, "resource")
        return replace(self, _below=(*self._below, *folders))

    def view(self, path: str = ".") -> Listing | None:
        """List a folder; None if there is none. Creates nothing.

        Left out are links, special files and names that `normalise_path` refuses: what is listed
        can be asked for. Only a hard-linked file is listed and yet not read.
        """
        names = _names(path)
        with translated():
            try:
                with self._folder(names) as folder:
                    return listing(folder, "/".join(names) or ".")
            except FileNotFoundError:
                return None

    def read(self, path: str) -> FileText | None:
        """Return the text of a file, at most `max_file_bytes` of it; None if there is none.

        A cut never splits a character.

        Raises:
            MemoryValidationError: It is a folder, a link, a special or hard-linked file, or no
                UTF-8 text as far as it was read.
        """
        path = normalise_path(path)
        *folders, name = _names(path)
        with translated():
            try:
                with self._folder(folders) as folder, regular_file(folder, name) as file:
                    size = os.fstat(file).st_size
                    data = _read(file, self.max_file_bytes + 1)
            except FileNotFoundError:
                return None
        truncated = len(data) > self.max_file_bytes
        text = _decoded(data[: self.max_file_bytes], whole=not truncated)
        return FileText(path, text, size, truncated)

    def append(self, path: str, text: str) -> int:
        """Add text to the end of a file, making it if needed, and return its new size.

        The one-step form of `stage_append`, with the same rules and refusals.
        """
        with self.stage_append(path, text) as staged:
            return staged.commit()

    def stage_append(self, path: str, text: str) -> Staged:
        """Write what the file would be with `text` at its end, beside it; `commit` puts it there.

        The text starts on a line of its own (reference S265). Appends of any thread or process
        come one after the other, and what a crashed one left in the folder is removed.

        Raises:
            MemoryValidationError: The path or text is malformed, the file is none that `read`
                would show, or the name only differs in case from an existing one.
            MemoryLimitError: The file would be over `max_file_bytes`; nothing was written.
            MemoryConflictError: The folder stayed locked by another write.
        """
        path = normalise_path(path)
        *folders, name = _names(path)
        added = _encoded(text)
        self._refuse_over_cap(len(added))  # before any folder is made
        with translated(), ExitStack() as cleanup:
            folder = cleanup.enter_context(self._folder(folders, create=True))
            lock(folder)
            remove(folder, STAGE_NAME)
            cleanup.callback(remove, folder, STAGE_NAME)
            refuse_case_clash(folder, name)
            before, mode = self._current(folder, name)
            data = before + (b"\n" if before and not added.startswith(b"\n") else b"") + added
            self._refuse_over_cap(len(data))
            content = _decoded(data, whole=True)
            write_new(folder, STAGE_NAME, data, mode=mode)
            return Staged(path, content, len(data), folder, cleanup.pop_all())

    def recover(self) -> int:
        """Remove what crashed writes left behind, and return how many there were.

        Writes that are under way, in any process, are left alone. Call it when the host starts;
        a folder that is written to again cleans itself.
        """
        with translated():
            try:
                with self._folder(()) as folder:
                    return sweep(folder, depth=MAX_SEGMENTS)
            except FileNotFoundError:
                return 0

    def _folder(
        self, names: list[str] | tuple[str, ...], *, create: bool = False
    ) -> AbstractContextManager[int]:
        return folder_at(os.fspath(self.root), self._below, names, create=create)

    def _current(self, folder: int, name: str) -> tuple[bytes, int]:
        """Return the file's bytes, one more than allowed at most, and its mode."""
        try:
            with regular_file(folder, name) as file:
                mode = stat.S_IMODE(os.fstat(file).st_mode)
                return _read(file, self.max_file_bytes + 1), mode
        except FileNotFoundError:
            return b"", _PRIVATE

    def _refuse_over_cap(self, size: int) -> None:
        if size > self.max_file_bytes:
            problem = f"would make the file larger than {self.max_file_bytes} bytes"
            raise MemoryLimitError("text", problem, "shorten it, or use another file")


def _names(path: str) -> tuple[str, ...]:
    names = path_segments(path)
    if STAGE_NAME in map(str.casefold, names):
        raise MemoryValidationError("path", "uses a name kept for staged writes", "use another")
    return names


def _read(file: int, limit: int) -> bytes:
    with open(file, "rb", closefd=False) as stream:
        return stream.read(limit)


def _decoded(data: bytes, *, whole: bool) -> str:
    """Decode; when the data is not the whole file, a character that was cut at the end is left."""
    try:
        return codecs.getincrementaldecoder("utf-8")().decode(data, final=whole)
    except UnicodeDecodeError:
        problem, fix = "is a file that is not UTF-8 text", "name a text file"
        raise MemoryValidationError("path", problem, fix) from None


def _encoded(text: str) -> bytes:
    if not isinstance(text, str) or not text:  # pyright: ignore[reportUnnecessaryIsInstance] -- models send anything
        raise MemoryValidationError("text", "is not a non-empty string", "give the text to add")
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise MemoryValidationError("text", "has a lone surrogate", "give valid text") from None


def _refuse_root(root: str | os.PathLike[str]) -> None:
    try:
        path = os.fspath(root)
    except TypeError:
        path = ""
    if not isinstance(path, str) or not path.strip() or "\0" in path:  # pyright: ignore[reportUnnecessaryIsInstance] -- a path may be bytes
        raise MemoryValidationError("root", "is not a non-blank path", "name a folder of the host")


def _refuse_cap(size: object) -> None:
    if not isinstance(size, int) or isinstance(size, bool):
        raise MemoryValidationError("max_file_bytes", "is not an integer", "give a size in bytes")
    if not 1 <= size <= MAX_FILE_BYTES:
        problem = f"is not between 1 and {MAX_FILE_BYTES}"
        raise MemoryLimitError("max_file_bytes", problem, "give a size in that range")
