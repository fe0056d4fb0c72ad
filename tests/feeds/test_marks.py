"""Watermarks that sort as time does, and columns that say what is deleted."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pytest

from deid_assets.core.errors import InputError
from deid_assets.feeds.marks import higher_mark, is_past, lower_mark, mark_of, value_of
from deid_assets.feeds.sql import is_true

UTC = dt.datetime(2024, 1, 2, 3, 4, 5, tzinfo=dt.UTC)
NOW = UTC.replace(tzinfo=None)


@pytest.mark.parametrize(
    "value",
    [
        7,
        10**400,
        -3,
        2.5,
        Decimal("7.25"),
        NOW,
        UTC,
        NOW.date(),
        "2024-01-02",
        "2024-01-02 03:04",
        "2024-01-02T03:04:05",
        "2024-01-02 03:04:05.123456",
        "2024-01-02T03:04:05Z",
        "2024-01-02T03:04:05+01:00",
    ],
)
def test_a_watermark_comes_back_as_it_was(value):
    assert value_of(mark_of(value)) == value


@pytest.mark.parametrize(
    "value",
    [
        "31.12.2025",
        "12/31/2025",
        "2024-1-9",
        "20240109",
        "9",
        "10.5",
        "2024-13-01",
        "2024-02-30 10:00",
        "2024-01-01 25:00",
        "\u0662\u0660\u0662\u0664-01-01",
        "2024-01-01 ",
        "",
        "today",
        "9999-12-31",
        "9999-12-31 23:59:59",
        dt.date(9999, 12, 31),
        UTC.replace(year=9999, tzinfo=None),
        dt.datetime(2999, 1, 1, tzinfo=dt.UTC),
        float("inf"),
        float("-inf"),
        float("nan"),
        Decimal("Infinity"),
        Decimal("NaN"),
        Decimal("sNaN"),
        True,
        b"2024-01-01",
        None,
    ],
)
def test_what_does_not_sort_by_time_is_refused_and_not_shown(value):
    with pytest.raises(InputError, match=r"neither a time|future") as caught:
        mark_of(value)
    assert not str(value).strip() or str(value) not in str(caught.value)


@pytest.mark.parametrize(
    ("first", "second", "higher"),
    [
        (None, 3, 3),
        (9, 10, 10),
        ("2024-01-09", "2024-01-10", "2024-01-10"),
        ("2024-01-09 10:00", "2024-01-09 09:00:00.5", "2024-01-09 10:00"),
        ("2024-01-09", "2024-01-09 00:00:01", "2024-01-09 00:00:01"),
    ],
)
def test_the_higher_of_two_is_the_later(first, second, higher):
    assert higher_mark(first, second) == higher


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("2024-01-09T10:00", "2024-01-09 11:00"),
        ("2024-01-09T10:00Z", "2024-01-09T10:30+01:00"),
        ("2024-01-09T10:00", "2024-01-09T10:30Z"),
        ("2024-01-09", "31.12.2025"),
        ("2024-01-09T10:00:05Z", "2024-01-09T10:00:05.5Z"),
        ("2024-01-09T10:00Z", "2024-01-09T10:00:05Z"),
        ("2024-01-09 10:00:05+01:00", "2024-01-09 10:00:05.5+01:00"),
        (5, "2024-01-09"),
        (NOW, "2024-01-09"),
        (NOW, UTC),
        (NOW.date(), NOW),
        (5, float("inf")),
        ("2024-01-09", "9999-12-31"),
    ],
)
def test_every_row_is_checked_against_the_highest(first, second):
    with pytest.raises(InputError):
        higher_mark(first, second)


@pytest.mark.parametrize(
    "kept",
    [
        "str:31.12.2025",
        "str:9",
        "str:2024-1-9",
        "str:9999-12-31",
        "date:9999-12-31",
        "datetime:9999-12-31T00:00:00+00:00",
        "float:inf",
        "float:nan",
        "Decimal:NaN",
    ],
)
def test_what_an_earlier_version_kept_is_told_with_its_remedy(kept):
    with pytest.raises(InputError, match=r"feed run NAME --again"):
        value_of(kept)


@pytest.mark.parametrize(
    ("mark", "overlap", "lowered"),
    [
        ("2024-01-09 00:00:30", 60, "2024-01-08 23:59:30"),
        ("2024-01-09", 86_400, "2024-01-08"),
        ("2024-01-09", 30, "2024-01-08"),
        ("2024-01-09T10:00:05Z", 0, "2024-01-09T10:00:05"),
        ("2024-01-09T10:00:05.5", 0, "2024-01-09T10:00:05.5"),
        ("2024-01-09 10:00", 60, "2024-01-09 09:59"),
        ("2024-01-09T10:00:00.500Z", 60, "2024-01-09T09:59:00.500"),
    ],
)
def test_overlap_is_taken_off_a_text_in_its_width(mark, overlap, lowered):
    assert lower_mark(mark, overlap) == lowered


@pytest.mark.parametrize(("ahead", "is_taken"), [(14, True), (23, True), (25, False)])
@pytest.mark.parametrize("zone", [None, dt.UTC])
def test_a_time_may_lie_a_day_ahead_as_zones_do(ahead, is_taken, zone):
    time = (dt.datetime.now(dt.UTC) + dt.timedelta(hours=ahead)).replace(tzinfo=zone)
    assert is_past(time) is is_past(time.isoformat(" ")) is is_taken


DELETED = [1, -1, True, "1", "t", "TRUE", " yes ", "x", NOW, NOW.date(), "2024-01-01 10:00:00"]
DELETED += [
    "2024-01-01",
    b"\x01",
    b"\0\x01",
    b"1",
    b"yes",
    bytearray(b"t"),
    1.0,
    2,
    2.0,
    Decimal(2),
]
KEPT = [0, False, None, "", " ", "0", "f", "False", "NO", b"\x00", b"", b"0", b"no"]
KEPT += [memoryview(b"f"), 0.0, Decimal("0.00")]


@pytest.mark.parametrize(
    ("flag", "is_deleted"), [*((one, True) for one in DELETED), *((one, False) for one in KEPT)]
)
def test_what_a_column_says_of_deletion(flag, is_deleted):
    assert is_true(flag) is is_deleted


UNCLEAR = ["J", "ja", "oui", "1.0", "2", "-1", "erased", "nein", "9999-12-31", "1.1.2024", 0.5]
UNCLEAR += [object(), float("nan"), float("inf"), Decimal("sNaN"), b"ja", b"\xff"]
UNCLEAR += [dt.date(9999, 12, 31)]


@pytest.mark.parametrize("flag", UNCLEAR)
def test_what_says_neither_stops_the_feed_and_is_not_shown(flag):
    with pytest.raises(InputError, match="neither true nor false") as caught:
        is_true(flag)
    assert f" {flag} " not in str(caught.value)
