import os
import subprocess
import sys
import time
from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_fabric._time import parse_instant, system_clock, to_micros, to_text
from langgraph_fabric.errors import MemoryValidationError

NEW_YEAR = to_micros(datetime(2026, 1, 1, tzinfo=UTC))
HOUR = 3_600_000_000
DAY = 24 * HOUR

FIRST, LAST = datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999)  # noqa: DTZ001 - bounds
MOMENTS = st.datetimes(FIRST, LAST, timezones=st.just(UTC))


def parsed(value, **options):
    return parse_instant(value, "valid_from", **options)


@given(MOMENTS)
def test_what_is_written_reads_back_as_the_same_instant(moment):
    micros = to_micros(moment)
    assert parsed(to_text(micros)) == parsed(moment) == micros


@given(MOMENTS, MOMENTS)
def test_texts_sort_as_their_instants_do(left, right):
    assert (left < right) == (to_micros(left) < to_micros(right))
    assert (left < right) == (to_text(to_micros(left)) < to_text(to_micros(right)))


@given(MOMENTS, st.timedeltas(timedelta(hours=-23), timedelta(hours=23)))
def test_an_offset_changes_nothing_or_is_refused_at_the_ends_of_time(moment, offset):
    try:
        elsewhere = moment.astimezone(timezone(offset))
    except OverflowError:
        return
    assert parsed(elsewhere) == to_micros(moment)


@pytest.mark.parametrize(
    ("value", "hours"),
    [
        ("2026-01-01", 0),
        ("2026-01-01T00:00", 0),
        ("2026-01-01T00:00:00", 0),
        ("2026-01-01t00:00:00z", 0),
        ("2026-01-01 00:00:00Z", 0),
        ("2026-01-01T00:00:00.000000000Z", 0),
        ("2026-01-01T00:00+05:30", -5.5),
        ("2026-01-01T00:00:00-0700", 7),
        (date(2026, 1, 1), 0),
        (datetime(2026, 1, 1), 0),  # noqa: DTZ001 - the point of the case
        (datetime(2026, 1, 1, tzinfo=timezone(timedelta(hours=9))), -9),
    ],
)
def test_b41_one_rule_for_every_form(value, hours):
    assert parsed(value) == NEW_YEAR + hours * HOUR


@pytest.mark.parametrize("day", ["2026-03-31", date(2026, 3, 31)])
def test_b40_a_date_alone_covers_its_whole_day(day):
    start = to_micros(datetime(2026, 3, 31, tzinfo=UTC))
    assert parsed(day) == start
    assert parsed(day, bound="end") == start + DAY
    assert parsed(day, bound="last") == start + DAY - 1


def test_b40_an_instant_within_the_last_day_lies_before_its_end():
    written = parsed("2026-03-31T15:00-07:00")
    assert parsed("2026-03-31") < written < parsed("2026-03-31", bound="end")


def test_a_bound_does_not_move_an_instant():
    assert parsed("2026-03-31T00:00Z", bound="end") == parsed("2026-03-31")


@pytest.mark.parametrize(
    "value",
    [
        "",
        "now",
        "infinity",
        "2026",
        "2026-1-1",
        "20260101",
        "2026-W01-1",
        "2026-02-30",
        "2026-01-01T24:00",
        "2026-01-01T00:00:60Z",
        "2026-01-01T00:00:00 Z",
        "2026-01-01T00:00Z\n",
        "2026-01-01T00:00+25:00",
        " 2026-01-01",
        "\u0662\u0660\u0662\u0666-01-01",
        "0001-01-01T00:00+14:00",
        "9999-12-31T23:59:59-01:00",
        1767225600,
        True,
        None,
        timedelta(0),
    ],
)
def test_s3_anything_else_is_refused_by_the_name_of_its_field(value):
    with pytest.raises(MemoryValidationError, match=r"^valid_from: not an instant"):
        parsed(value)


def test_a_refusal_does_not_repeat_the_value():
    with pytest.raises(MemoryValidationError) as caught:
        parsed("sk-secret")
    assert "secret" not in str(caught.value)


def test_s3_the_last_day_of_time_has_no_end():
    with pytest.raises(MemoryValidationError):
        parsed("9999-12-31", bound="end")
    assert to_text(parsed("9999-12-31", bound="last")) == "9999-12-31T23:59:59.999999Z"


@pytest.mark.parametrize("zone", ["Asia/Tokyo", "America/Los_Angeles", "UTC"])
def test_b41_the_zone_of_the_host_does_not_matter(zone):
    code = (
        "from datetime import datetime, date\n"
        "from langgraph_fabric._time import parse_instant as p, to_text\n"
        "for v in ('2026-01-01T00:00', datetime(2026, 1, 1), date(2026, 1, 1)):\n"
        "    print(to_text(p(v, 'at')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"TZ": zone},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["2026-01-01T00:00:00.000000Z"] * 3


def test_text_has_a_fixed_width_before_the_epoch_too():
    assert to_text(0) == "1970-01-01T00:00:00.000000Z"
    assert to_text(-1) == "1969-12-31T23:59:59.999999Z"
    assert len(to_text(parsed("0001-01-01"))) == len(to_text(parsed("9999-12-31")))


def test_the_system_clock_is_aware_and_now():
    before = time.time()
    now = system_clock()
    assert now.tzinfo is UTC
    assert before <= now.timestamp() <= time.time()
