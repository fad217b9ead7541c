"""Values: JSON in, the same JSON out; and namespaces as bytes that sort and nest as tuples do."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from langgraph.store.base import InvalidNamespaceError

from langgraph_fabric.errors import MemoryValidationError

MOST_NESTED = 100
"""Levels of a value. Python reads JSON by recursion, so what a shallow caller could still write a
deep one could no longer read."""


def encode_value(value: Mapping[str, Any]) -> str:
    """Return `value` as JSON text.

    Everything JSON has comes back as it was, whole numbers of up to 4,300 digits included; a tuple
    comes back as a list.

    Raises:
        MemoryValidationError: It is no mapping, is nested too deep, or holds something JSON has
            not: a key that is no string, NaN or an infinity, a date, a set, half a surrogate pair.
    """
    if not isinstance(value, Mapping):
        raise _not_json(f"a {type(value).__name__}")
    _check_nested(value, 0)
    try:
        text = json.dumps(dict(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        text.encode()
    except (TypeError, ValueError) as exc:
        raise _not_json(type(exc).__name__) from None
    return text


def _check_nested(value: object, depth: int) -> None:
    """Refuse keys that JSON would silently turn into strings, and what is too deep."""
    if depth > MOST_NESTED:
        raise _not_json(f"nested deeper than {MOST_NESTED}")
    if isinstance(value, Mapping):
        for key, inner in cast("Mapping[object, object]", value).items():
            if not isinstance(key, str):
                raise _not_json(f"key of type {type(key).__name__}")
            _check_nested(inner, depth + 1)
    elif isinstance(value, list | tuple):
        for inner in cast("Sequence[object]", value):
            _check_nested(inner, depth + 1)


def _not_json(problem: str) -> MemoryValidationError:
    return MemoryValidationError(
        "value",
        f"not JSON ({problem})",
        "Give dicts with string keys, lists, strings, finite numbers, booleans and None; write "
        "dates as ISO 8601 text",
    )


def check_key(key: object) -> str:
    """Return an item's key, if it is one.

    Raises:
        MemoryValidationError: It is no string, or has half of a surrogate pair.
    """
    try:
        cast("str", key).encode()
    except (AttributeError, UnicodeError):
        raise MemoryValidationError("key", "not a Unicode string", "Give a string") from None
    return cast("str", key)


def encode_namespace(namespace: Sequence[str]) -> bytes:
    """Return a namespace as bytes: each label ended by a zero byte, which no label holds.

    So a prefix of labels is a prefix of bytes, never of half a label, and bytes sort as tuples.

    Raises:
        InvalidNamespaceError: A label has half of a surrogate pair.
    """
    try:
        return b"".join(label.encode() + b"\0" for label in namespace)
    except UnicodeError:
        raise InvalidNamespaceError("Namespace labels must be Unicode strings.") from None


def decode_namespace(encoded: bytes) -> tuple[str, ...]:
    """Return the labels of an encoded namespace."""
    return tuple(label.decode() for label in encoded.split(b"\0")[:-1])


def after_prefix(encoded: bytes) -> bytes:
    """Return the least bytes that are greater than everything below an encoded prefix."""
    return encoded[:-1] + b"\1" if encoded else b"\xff"
