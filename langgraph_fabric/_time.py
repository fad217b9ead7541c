"""Instants: parsed strictly, stored as text, compared as integers.

An instant is an integer count of microseconds since 1970-01-01T00:00:00Z. Its text is UTC
ISO 8601 with six fractional digits and `Z`. A value without an offset is UTC whatever the host's
time zone is (rulings, S3).
"""

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Literal

from langgraph_fabric.errors import MemoryValidationError

Clock = Callable[[], datetime]
"""Gives the current time as an aware datetime."""

Bound = Literal["start", "end", "last"]
"""What a date alone means: its first instant, the next day's first, or its own last microsecond."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_AFTER_FIRST_INSTANT: dict[Bound, timedelta] = {
    "start": timedelta(0),
    "end": timedelta(days=1),
    "last": timedelta(days=1) - _MICROSECOND,
}
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}\Z", re.ASCII)
_DATE_TIME = re.compile(
    r"(\d{4}-\d{2}-\d{2})[Tt ](\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)([Zz]|[+-]\d{2}:?\d{2})?\Z",
    re.ASCII,
)


def system_clock() -> datetime:
    """Return the current time in UTC."""
    return datetime.now(UTC)


def to_micros(moment: datetime) -> int:
    """Return an aware datetime as microseconds since the epoch."""
    return (moment - _EPOCH) // _MICROSECOND


def to_text(micros: int) -> str:
    """Return an instant as UTC text, such as `2026-03-31T22:00:00.000000Z`."""
    moment = _EPOCH + timedelta(microseconds=micros)
    return moment.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def parse_instant(value: str | date, field: str, *, bound: Bound = "start") -> int:
    """Return the instant that `value` names.

    Args:
        value: Strict ISO 8601 text, a `datetime` or a `date`; without an offset it is UTC.
        field: The argument's name, for the error.
        bound: What a date alone stands for.

    Raises:
        MemoryValidationError: `value` is none of these, or lies outside the years 1 to 9999 in UTC.
    """
    try:
        day = _as_date(value)
        if day is not None:
            first = datetime(day.year, day.month, day.day, tzinfo=UTC)
            return to_micros(first + _AFTER_FIRST_INSTANT[bound])
        moment = _as_datetime(value)
        if moment.tzinfo is None or moment.utcoffset() is None:
            moment = moment.replace(tzinfo=UTC)
        return to_micros(moment.astimezone(UTC))
    except (ValueError, OverflowError):
        raise MemoryValidationError(
            field,
            f"not an instant ({type(value).__name__})",
            "Give ISO 8601 such as 2026-03-31 or 2026-03-31T15:00:00Z, a datetime or a date, "
            "within the years 1 to 9999 in UTC",
        ) from None


def _as_date(value: object) -> date | None:
    if isinstance(value, str) and _DATE.match(value):
        return date.fromisoformat(value)
    if isinstance(value, date) and not isinstance(value, datetime):
        return value
    return None


def _as_datetime(value: object) -> datetime:
    if isinstance(value, datetime):
        return value
    match = _DATE_TIME.match(value) if isinstance(value, str) else None
    if match is None:
        raise ValueError
    day, time, offset = match.groups()
    return datetime.fromisoformat(f"{day}T{time}{(offset or 'Z').upper()}")


def to_datetime(micros: int) -> datetime:
    """Return an instant as an aware UTC datetime."""
    return _EPOCH + timedelta(microseconds=micros)
