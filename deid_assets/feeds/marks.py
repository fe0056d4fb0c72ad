"""Watermarks as strings and back: numbers and times, whatever a database's driver makes of them."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from deid_assets.core.errors import InputError

_TIME = re.compile(
    r"\d{4}-\d\d-\d\d(?:([T ])\d\d:\d\d(?::\d\d(?:[.]\d{1,9})?)?(Z|[+-]\d\d:?\d\d)?)?", re.ASCII
)
"""A time as ISO 8601 has it, which sorts as text as it does by time; its blank or T and its offset
are groups.
"""
_AHEAD = dt.timedelta(days=1)
"""No row changed later than that from now, wherever on earth it was written."""
_PARSERS: dict[str, Callable[[str], Any]] = {
    "date": dt.date.fromisoformat,
    "datetime": dt.datetime.fromisoformat,
    "Decimal": Decimal,
    "float": float,
    "int": int,
    "str": str,
}
_AGAIN = "convert the column in the query, and read all rows once: `deid feed run NAME --again`"


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
    if isinstance(value, int | float | Decimal) and is_finite(value):
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
        raise _unlike()
    try:
        return max(highest, value)
    except TypeError:  # a text and a number, or times with an offset and without
        raise _unlike() from None


def _is_alike(one: str, other: str) -> bool:
    forms = {_form_of(one), _form_of(other)} - {None}  # a day alone sorts before its times
    return len(forms) < 2


def _form_of(time: str) -> tuple[str, str, int] | None:
    """Return what two texts have in common that sort by time; ``None`` for a day alone.

    Before an offset the width counts too: ``05.5Z`` sorts before ``05Z``.
    """
    match = _TIME.fullmatch(time)
    if not match or not match[1]:
        return None
    separator, offset = match.groups("")
    return separator, offset, len(time) if offset else 0


def is_finite(number: float | Decimal) -> bool:
    """Whether a number is neither infinite nor NaN, however large."""
    if isinstance(number, Decimal):
        return number.is_finite()
    return isinstance(number, int) or math.isfinite(number)


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


def _unlike() -> InputError:
    return InputError(
        "the watermarks of two rows, or of a row and the last run, are of two kinds or forms (a"
        f" text and a number, a blank and a T, two offsets, `05Z` and `05.5Z`); {_AGAIN}"
    )


def value_of(mark: str) -> Any:
    """Return the watermark that a string stands for.

    Raises:
        InputError: An earlier version kept what is no time, or one that lies in the future.
    """
    kind, _, kept = mark.partition(":")
    try:
        value = _PARSERS[kind](kept)
        mark_of(value)
    except (ValueError, KeyError, ArithmeticError):
        raise InputError(
            "the watermark that was kept is no time as ISO 8601 has it, no finite number, or lies"
            f" in the future, and rows may have been passed over; {_AGAIN}"
        ) from None
    return value


def lower_mark(value: Any, overlap: float) -> Any:
    """Return a watermark lowered: a time by so many seconds, a number by so much.

    Of a text the offset is cut off, so that it sorts before all rows of its time: ``05.5Z`` sorts
    before ``05Z``, and would never be read and refused.

    Raises:
        InputError: It is a string that is no time.
    """
    if isinstance(value, str):
        return _lower_text(value, overlap)
    if not overlap:
        return value
    if isinstance(value, dt.datetime):
        return value - dt.timedelta(seconds=overlap)
    if isinstance(value, dt.date):
        return value - dt.timedelta(days=-(-overlap // 86_400))
    return value - type(value)(overlap)


def _lower_text(value: str, overlap: float) -> str:
    time = _time_of(value)
    if not time:
        raise _wrong()
    form = _form_of(value)
    width = len(value) - len(form[1] if form else "")
    if not overlap:
        return value[:width]
    lowered = (time - dt.timedelta(seconds=overlap)).isoformat(sep="T" if "T" in value else " ")
    return lowered[:width]
