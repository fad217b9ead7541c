"""Care: examine a store and repair it, copy it, and put a copy in place.

The records are the truth. What is derived from them (counts, words, the index) can be found wrong
and made anew; what is damaged in the records themselves is reported, and a backup is the way back.
"""

import contextlib
import sqlite3
from dataclasses import dataclass, replace
from pathlib import Path

from langgraph_fabric.errors import MemoryValidationError
from langgraph_fabric.store._index import Index
from langgraph_fabric.store._records import FILE, Records, translated

_COUNTED = """
SELECT i.ns, COUNT(*), COALESCE(SUM((SELECT COUNT(*) FROM vectors v WHERE v.item = i.id)), 0),
    COUNT(i.texts), COALESCE(SUM(i.terms), 0)
FROM items i GROUP BY i.ns
"""
_ORPHANED_VECTORS = "vectors WHERE item NOT IN (SELECT id FROM items)"
_ORPHANED_WORDS = "words WHERE rowid NOT IN (SELECT id FROM items)"


@dataclass(frozen=True, slots=True)
class Examination:
    """What `doctor` found."""

    damage: tuple[str, ...]
    """What SQLite says is wrong with its file. A backup is the way back from it."""
    miscounted: int
    """Namespaces whose counts are wrong."""
    orphaned: int
    """Vectors and words of items that are gone."""
    unfindable: int
    """Items with indexed text that no text search can find; putting them again mends them."""
    missing: int
    """Vectors the index should hold and does not."""
    stale: int
    """Vectors the index holds and should not."""
    pending: int
    """Vectors waiting for the index; searches score them one by one until then."""
    indexed: int | None
    """Vectors the index holds; None if it was never built, or another process owns it."""
    repaired: bool = False
    """Whether what is derived was made anew after this was found."""

    @property
    def healthy(self) -> bool:
        """Whether nothing is wrong. Waiting for the index is not wrong."""
        faults = (self.miscounted, self.orphaned, self.unfindable, self.missing, self.stale)
        return not self.damage and not any(faults)


def doctor(records: Records, index: Index, *, repair: bool) -> Examination:
    """Return what is wrong with a store; with `repair`, make anew what is derived."""
    found = _examined(records, index)
    if not repair or found.healthy:
        return found
    _recount(records)
    index.rebuild()
    return replace(found, repaired=True)


def _examined(records: Records, index: Index) -> Examination:
    known = index.known()
    with records.reading() as connection:
        checks = [row[0] for row in connection.execute("PRAGMA integrity_check(20)")]
        kept = connection.execute("SELECT ns, items, vectors, texts, terms FROM namespaces")
        miscounted = set(kept.fetchall()) ^ set(connection.execute(_COUNTED).fetchall())
        orphaned = _count(connection, _ORPHANED_VECTORS) + _count(connection, _ORPHANED_WORDS)
        lost = "items WHERE texts IS NOT NULL AND id NOT IN (SELECT rowid FROM words)"
        unfindable = _count(connection, lost)
        stored = {row[0] for row in connection.execute("SELECT id FROM vectors")}
        waiting = {row[0] for row in connection.execute("SELECT vector FROM outbox")}
    return Examination(
        damage=() if checks == ["ok"] else tuple(checks),
        miscounted=len({ns for ns, *_ in miscounted}),
        orphaned=orphaned,
        unfindable=unfindable,
        missing=0 if known is None else len(stored - waiting - known),
        stale=0 if known is None else len(known - stored - waiting),
        pending=len(waiting),
        indexed=None if known is None else len(known),
    )


def _count(connection: sqlite3.Connection, rows: str) -> int:
    return int(connection.execute(f"SELECT COUNT(*) FROM {rows}").fetchone()[0])  # noqa: S608 - constants only


def _recount(records: Records) -> None:
    """Drop orphans, and count every namespace anew, under a version no cache has seen."""
    with records.writing() as connection:
        connection.execute(f"DELETE FROM {_ORPHANED_VECTORS}")  # noqa: S608 - constants only
        connection.execute(f"DELETE FROM {_ORPHANED_WORDS}")  # noqa: S608 - constants only
        connection.execute("UPDATE facts SET value = value + 1 WHERE name = 'version'")
        version = connection.execute("SELECT value FROM facts WHERE name = 'version'").fetchone()
        counted = connection.execute(_COUNTED).fetchall()
        connection.execute("DELETE FROM namespaces")
        connection.executemany(
            "INSERT INTO namespaces VALUES (?, ?, ?, ?, ?, ?)",
            [(ns, version[0], *counts) for ns, *counts in counted],
        )


def back_up(records: Records, target: Path) -> None:
    """Copy the records to a file while they are in use; the index is not needed.

    Raises:
        MemoryValidationError: The file exists.
        StoreUnavailableError: It cannot be written.
    """
    _refuse_existing(target, "Give the path of a new file")
    with translated():
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_name(f"{target.name}.part")
        partial.unlink(missing_ok=True)
        with contextlib.closing(sqlite3.connect(partial)) as copy:
            records.copy_to(copy)
        partial.replace(target)


def restore(backup: Path, folder: Path) -> None:
    """Make a folder's store from a backup; the index is built anew when it is needed.

    Raises:
        MemoryValidationError: There is no backup, it is damaged, or the folder holds a store.
        StoreUnavailableError: The folder cannot be written.
    """
    _refuse_existing(folder / FILE, "Restore into a new folder, and put it in place yourself")
    if not backup.is_file():
        raise MemoryValidationError("backup", "not a file", "Give what backup wrote")
    with translated():
        folder.mkdir(parents=True, exist_ok=True)
        partial = folder / f"{FILE}.part"
        partial.unlink(missing_ok=True)
        try:
            _copy_checked(backup, partial)
            partial.replace(folder / FILE)
        finally:
            partial.unlink(missing_ok=True)


def _copy_checked(backup: Path, target: Path) -> None:
    source = sqlite3.connect(f"{backup.absolute().as_uri()}?mode=ro", uri=True)
    with contextlib.closing(source), contextlib.closing(sqlite3.connect(target)) as copy:
        source.backup(copy)
        if copy.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
            raise MemoryValidationError("backup", "damaged", "Give an undamaged one")
        copy.execute("DELETE FROM facts WHERE name = 'index'")
        copy.commit()


def _refuse_existing(path: Path, fix: str) -> None:
    if path.exists():
        raise MemoryValidationError("path", "already there", fix)
