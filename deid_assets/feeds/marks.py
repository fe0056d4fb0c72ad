"""Watermarks as strings and back: numbers and times, whatever a database's driver makes of them."""

from __future__ import annotations

import datetime as dt
import math
import re
from decimal import Decimal
from typing import Any

from deid_assets.core.errors import InputError

_TIME = re.compile(
    r"\d{4}-\d\d-\d\d(?:([T ])\d\d:\d\d(?::\d\d(?:[.]\d{1,9})?)?(Z|[+-]\d\d:?\d\d)?)?", re.ASCII
)
"""A time as ISO 8601 has it, which sorts as text as it does by time; its blank or T and its offset
are groups.
"""
_AHEAD = dt.timedelta(days=2)
"""No row changed later than that from now, wherever on earth it was written."""


def mark_of(value: Any) -> str:
    """Return a watermark as a string that keeps its type.

    Raises:
        InputError: It is neither a time nor a finite number, or lies in the future; it is not
            shown.
    """
    if isinstance(value, bool):
        raise _wrong()
    if isinstance(value, dt.datetime | dt.date):
        _check_past(value)
        return f"{type(value).__name__}:{value.isoformat()}"
    if isinstance(value, int | float | Decimal) and math.isfinite(value):
        return f"{type(value).__name__}:{value}"
    if isinstance(value, str) and (time := _time_of(value)):
        _check_past(time)
        return f"str:{value}"
    raise _wrong()


def higher_mark(highest: Any, value: Any) -> Any:
    """Return the higher of two watermarks; the first may be none.

    Raises:
        InputError: The second is no watermark, or of another kind or form than the first, so that
            nobody can say which comes later.
    """
    mark_of(value)
    if highest is None:
        return value
    if isinstance(highest, str) and isinstance(value, str) and not _is_alike(highest, value):
        raise InputError(
            "the watermarks of two rows are times of two forms, with a blank or a T, or of two"
            " offsets; convert the column in the query"
        )
    return max(highest, value)


def _is_alike(one: str, other: str) -> bool:
    found = [match.groups() for match in map(_TIME.fullmatch, (one, other)) if match]
    forms = {form for form in found if form != (None, None)}  # a day alone sorts before its times
    return len(found) == 2 and len(forms) < 2


def is_past(value: str | dt.date) -> bool:
    """Whether a value is a time, a text as ISO 8601 has it, that does not lie in the future."""
    try:
        mark_of(value)
    except InputError:
        return False
    return True


def _time_of(value: str) -> dt.datetime | None:
    if not _TIME.fullmatch(value):
        return None
    try:
        return dt.datetime.fromisoformat(value)
    except ValueError:
        return None


def _check_past(value: dt.datetime | dt.date) -> None:
    now = dt.datetime.now(dt.UTC) + _AHEAD
    if isinstance(value, dt.datetime):
        is_ahead = value > (now if value.tzinfo else now.replace(tzinfo=None))
    else:
        is_ahead = value > now.date()
    if is_ahead:
        raise InputError(
            "the watermark of a row lies in the future, so that no later row would ever be read;"
            " leave such rows out of the query, or write least(COLUMN, now()) in it"
        )


def _wrong() -> InputError:
    return InputError(
        "the watermark of a row is neither a time, as ISO 8601 has it, nor a number; convert it in"
        " the query, name another column, or leave the watermark out, so that every row is read"
    )


def value_of(mark: str) -> Any:
    """Return the watermark that a string stands for.

    Raises:
        InputError: An earlier version kept what is no time.
    """
    kind, _, value = mark.partition(":")
    if kind == "str" and not _time_of(value):
        raise InputError(
            "the watermark that was kept is no time as ISO 8601 has it, and rows may have been"
            " passed over; convert the column in the query, and read all rows once: `deid feed run"
            " NAME --again`"
        )
    if kind == "datetime":
        return dt.datetime.fromisoformat(value)
    if kind == "date":
        return dt.date.fromisoformat(value)
    return {"int": int, "float": float, "Decimal": Decimal, "str": str}[kind](value)


def lower_mark(value: Any, overlap: float) -> Any:
    """Return a watermark lowered: a time by so many seconds, a number by so much.

    Raises:
        InputError: It is a string that is no time.
    """
    if not overlap:
        return value
    if isinstance(value, dt.datetime):
        return value - dt.timedelta(seconds=overlap)
    if isinstance(value, dt.date):
        return value - dt.timedelta(days=-(-overlap // 86_400))
    if not isinstance(value, str):
        return value - type(value)(overlap)
    try:
        time = dt.datetime.fromisoformat(value)
    except ValueError:
        raise InputError(
            "the watermark is no time as ISO 8601 has it, so that overlap cannot be taken off;"
            " leave overlap out"
        ) from None
    return (time - dt.timedelta(seconds=overlap)).isoformat(sep="T" if "T" in value else " ")
