"""Scope: whose memory a call touches, and how its parts become namespace labels.

A scope names a tenant, a resource (usually a user) and, for memory of one thread only, that thread.
Each part is a fixed text or holds one placeholder, such as `{user_id}`, that a run fills. Nothing a
model says can fill one. A part that stays empty is a refusal, never a shared default (B01, B32).
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from uuid import UUID

from langgraph_fabric._text import is_unicode
from langgraph_fabric.errors import MemoryScopeError, MemoryValidationError

_PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
_UNSAFE = re.compile(r"[%./\x00-\x1f\x7f]")
_ALL_THREADS = "@all"
_LONGEST_PART = 256


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose memory this is.

    Args:
        tenant: The organisation, or whatever is kept strictly apart.
        resource: The user, project or agent the notes are about.
        thread: Set it for a memory that one thread keeps to itself; None is shared by all threads
            of the resource.

    Raises:
        MemoryValidationError: A part is not a text, is blank, or holds more than one placeholder
            (two could be filled so that different users meet in one label).
    """

    tenant: str
    resource: str
    thread: str | None = None

    def __post_init__(self) -> None:
        for field, part in self._parts():
            rest, count = _PLACEHOLDER.subn("x", part) if isinstance(part, str) else ("", 0)
            if not _fits(rest) or count > 1 or "{" in rest or "}" in rest:
                raise MemoryValidationError(
                    field,
                    "not a text, blank, too long, or with more than one placeholder",
                    'Give a fixed text, or one with a single placeholder such as "{user_id}"',
                )

    def namespace(self, value_of: Callable[[str], object]) -> tuple[str, ...]:
        """Return the labels below which everything of this scope is kept.

        Args:
            value_of: Gives a placeholder's value, or None.

        Raises:
            MemoryScopeError: A value is missing, empty, too long, or neither text, whole number
                nor UUID; the message names the placeholder.
        """

        def replace(match: re.Match[str]) -> str:
            return identity(value_of(match[1]), match[1])

        labels = [escape_label(_PLACEHOLDER.sub(replace, part)) for _, part in self._parts()]
        return ("fabric", *labels) if self.thread is not None else ("fabric", *labels, _ALL_THREADS)

    def _parts(self) -> Iterator[tuple[str, str]]:
        yield "tenant", self.tenant
        yield "resource", self.resource
        if self.thread is not None:
            yield "thread", self.thread


def identity(value: object, field: str) -> str:
    """Return the text by which a user, tenant or thread is known.

    A text stands for itself, a whole number for its decimal digits, a UUID for its hyphenated form:
    the rule checkpointers follow for `thread_id` (B31). So 7 and "7" are one, "07" is another.

    Raises:
        MemoryScopeError: The value is missing, blank, too long, not valid text, or of another
            type.
    """
    if isinstance(value, int | UUID) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or not _fits(value):
        raise MemoryScopeError(
            field,
            "missing from this run" if value is None else "empty or not an identity",
            f"Pass {field} in the run's context or config['configurable'], as a text of up to "
            f"{_LONGEST_PART} characters, a whole number or a UUID",
        )
    return value


def _fits(value: str) -> bool:
    return bool(value.strip()) and len(value) <= _LONGEST_PART and is_unicode(value)


def escape_label(part: str) -> str:
    """Return `part` as a namespace label; different parts give different labels (B04).

    `%`, `.`, `/` and control characters become `%XX`; so does a leading `@`, which marks labels of
    our own.
    """
    escaped = _UNSAFE.sub(lambda match: f"%{ord(match[0]):02X}", part)
    return f"%40{escaped[1:]}" if escaped.startswith("@") else escaped
