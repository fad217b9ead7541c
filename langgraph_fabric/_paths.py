"""Paths: the one rule for what names a note's file, and a folder name for any label.

    name = normalise_path(text_from_the_model)   # then compare it, store it, or walk it

The rule is pure and the same on every system, so that a path means one file everywhere: what
Windows would read as a drive, a device or a stream is refused on Linux too. It looks at text, not
at a disk: links, hard links and races are the concern of whoever opens the file (`tools/jail.py`).
"""

import hashlib
import re
import unicodedata
from collections.abc import Callable

from langgraph_fabric.errors import MemoryValidationError

MAX_PATH_CHARS = 4_096
"""What Linux takes as one path; also bounds the work that Unicode normalisation may cost."""

MAX_SEGMENTS = 64
"""Deeper than any real notebook, and few enough folders to open one by one."""

MAX_SEGMENT_BYTES = 255
"""The longest name that common file systems hold."""

_FORBIDDEN_CATEGORIES = frozenset({"Cc", "Cs", "Zl", "Zp"})
"""Controls, lone surrogates, and separators that would forge a line in a listing."""

_BIDI_CONTROLS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Marks that show a person another name than the disk has; joiners, which emoji need, may stay."""

_WINDOWS_CHARACTERS = frozenset('<>:"|?*\\')
"""A colon opens a drive or a stream there, a backslash parts folders."""

_DEVICE = re.compile(
    r"(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³]) *(?:\.|\Z)", re.IGNORECASE
)
"""Names that open a device on Windows, whatever extension follows."""

_PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789-_")


def normalise_path(path: str, field: str = "path") -> str:
    """Return the one spelling of a relative POSIX path: `./a//b.md` and `a/b.md` are one note.

    The text becomes Unicode NFC, because a Mac and a keyboard may spell one visible name in two
    ways, and two notes for one name would each hold half of it.

    Does *not* cover look-alike letters, zero-width joiners and case: `Notes.md` and `notes.md` are
    two paths here. Whoever writes to a disk must refuse the clash.

    Raises:
        MemoryValidationError: The path is empty, absolute, climbs with `..`, is longer or deeper
            than the limits of this module, or has a part that some system would read differently.
    """
    segments = path_segments(path, field)
    if not segments:
        raise MemoryValidationError(field, "names the folder itself", "name a file below it")
    return "/".join(segments)


def path_segments(path: str, field: str = "path") -> tuple[str, ...]:
    """Return the parts of a path by the rule of `normalise_path`; none for `.`, the folder itself.

    Use it where a folder may be meant, as in a listing.
    """
    if not isinstance(path, str) or not path.strip():  # pyright: ignore[reportUnnecessaryIsInstance] -- models send anything
        raise MemoryValidationError(field, "is not a non-blank string", "give a relative path")
    _refuse_long(path, field)
    normal = unicodedata.normalize("NFC", path)  # first: it may turn an allowed mark into another
    _refuse_long(normal, field)
    if normal.startswith("/"):
        raise MemoryValidationError(field, "is absolute", "give a path relative to the root")
    segments = tuple(part for part in normal.split("/") if part not in {"", "."})
    if len(segments) > MAX_SEGMENTS:
        raise MemoryValidationError(field, f"has over {MAX_SEGMENTS} parts", "use fewer folders")
    for segment in segments:
        _refuse_segment(segment, field)
    return segments


def folder_name(label: str, field: str) -> str:
    """Return a portable folder name for any label; different labels never share a folder.

    Everything but `a-z 0-9 - _` becomes `%XX`, capitals too: `Ann` and `ann` are two users also on
    a disk that ignores case. A name too long for a disk becomes `~` and its SHA-256; no escaped
    label contains a `~`.

    Raises:
        MemoryValidationError: The label is empty or has a lone surrogate.
    """
    if not label:
        raise MemoryValidationError(field, "is empty", "say whose files these are")
    try:
        raw = label.encode()
    except UnicodeEncodeError:
        raise MemoryValidationError(field, "has a lone surrogate", "give valid text") from None
    name = "".join(chr(byte) if byte in _PLAIN else f"%{byte:02X}" for byte in raw)
    if len(name) > MAX_SEGMENT_BYTES:
        return f"~{hashlib.sha256(raw).hexdigest()}"
    return f"%{raw[0]:02X}{name[1:]}" if _DEVICE.match(name) else name


def _refuse_long(path: str, field: str) -> None:
    if len(path) > MAX_PATH_CHARS:
        problem = f"has {len(path)} characters; {MAX_PATH_CHARS} are allowed"
        raise MemoryValidationError(field, problem, "give a shorter path")


def _refuse_segment(segment: str, field: str) -> None:
    """Refuse one part; the message tells its shape only, for it may reach a model."""
    for problem, is_wrong in _PROBLEMS:
        if is_wrong(segment):
            raise MemoryValidationError(field, problem, "use plain relative names, as notes/a.md")


def _has_control(segment: str) -> bool:
    return any(unicodedata.category(char) in _FORBIDDEN_CATEGORIES for char in segment)


_PROBLEMS: tuple[tuple[str, Callable[[str], bool]], ...] = (
    ("climbs with `..`", lambda part: part == ".."),
    ("has a control character, a line separator or a lone surrogate", _has_control),
    ("has a mark that reorders text", lambda part: not _BIDI_CONTROLS.isdisjoint(part)),
    ('has one of \\ : < > " | ? *', lambda part: not _WINDOWS_CHARACTERS.isdisjoint(part)),
    ("has a part that ends in a dot or a space", lambda part: part.endswith((".", " "))),
    ("has a part that names a Windows device", lambda part: _DEVICE.match(part) is not None),
    (
        f"has a part of over {MAX_SEGMENT_BYTES} bytes",
        lambda part: len(part.encode()) > MAX_SEGMENT_BYTES,
    ),
)
"""Tried in this order: the last one can only encode what the second let through."""
