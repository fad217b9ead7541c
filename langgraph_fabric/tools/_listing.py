"""Listings: what a folder shows, which is only what can be asked for."""

import heapq
import os
from collections.abc import Iterator
from dataclasses import dataclass
from operator import attrgetter
from typing import Final, Literal

from langgraph_fabric._paths import normalise_path
from langgraph_fabric.errors import MemoryValidationError
from langgraph_fabric.tools._descriptors import STAGE_NAME

MAX_ENTRIES: Final = 200
"""What one view lists; more would crowd the conversation out (reference S252)."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a listing."""

    name: str
    kind: Literal["file", "directory"]
    bytes: int | None
    """The size of a file; None for a folder."""


@dataclass(frozen=True, slots=True)
class Listing:
    """What is in a folder, sorted by name."""

    path: str
    """The folder in its normal spelling; `.` for the jail itself."""
    entries: tuple[Entry, ...]
    truncated: bool
    """Whether there are more than `MAX_ENTRIES`."""


def listing(folder: int, path: str) -> Listing:
    """List the open folder under the name `path`.

    Left out are links, special files and names that `normalise_path` refuses: no name can forge a
    line. Sizes are asked for the listed files only, for a folder may hold a million.
    """
    with os.scandir(folder) as found:
        first = heapq.nsmallest(MAX_ENTRIES + 1, filter(_is_listed, found), attrgetter("name"))
        return Listing(path, tuple(_entries(first[:MAX_ENTRIES])), len(first) > MAX_ENTRIES)


def _is_listed(entry: os.DirEntry[str]) -> bool:
    if not (entry.is_file(follow_symlinks=False) or entry.is_dir(follow_symlinks=False)):
        return False
    try:
        normalise_path(entry.name)
    except MemoryValidationError:
        return False
    return entry.name.casefold() != STAGE_NAME


def _entries(found: list[os.DirEntry[str]]) -> Iterator[Entry]:
    for entry in found:
        name = normalise_path(entry.name)
        if entry.is_dir(follow_symlinks=False):
            yield Entry(name, "directory", None)
            continue
        try:
            yield Entry(name, "file", entry.stat(follow_symlinks=False).st_size)
        except FileNotFoundError:
            continue  # removed since the folder was read
