"""Ids: twelve hex characters, content-derived."""

import hashlib
import json
import re
from typing import Any

_MEMORY_ID = re.compile(r"[0-9a-f]{12}\Z")


def memory_id(*parts: Any) -> str:
    """Return the first 12 hex characters of SHA-256 over the compact JSON array of `parts`.

    Parts must be JSON values; the same parts always give the same id (reference S6).
    """
    array = json.dumps(parts, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(array.encode()).hexdigest()[:12]


def is_memory_id(value: object) -> bool:
    """Tell whether `value` is a string of exactly twelve characters of 0-9a-f (reference S5)."""
    return isinstance(value, str) and _MEMORY_ID.match(value) is not None
