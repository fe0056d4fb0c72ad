"""Watermarks as strings and back: numbers and times, whatever a database's driver makes of them."""

from __future__ import annotations

import datetime as dt
import re
from decimal import Decimal
from typing import Any

from deid_assets.core.errors import InputError

_TIME = re.compile(r"[0-9][0-9T:.+\-Z ]{0,40}")


def mark_of(value: Any) -> str:
    """Return a watermark as a string that keeps its type.

    Raises:
        InputError: It is neither a time nor a number; it is not shown.
    """
    if isinstance(value, bool):
        raise _wrong()
    if isinstance(value, dt.datetime | dt.date):
        return f"{type(value).__name__}:{value.isoformat()}"
    if isinstance(value, int | float | Decimal):
        return f"{type(value).__name__}:{value}"
    if isinstance(value, str) and _TIME.fullmatch(value):
        return f"str:{value}"
    raise _wrong()


def _wrong() -> InputError:
    return InputError(
        "the watermark of a row is neither a time nor a number; name another column, or leave the"
        " watermark out, so that every row is read"
    )


def value_of(mark: str) -> Any:
    """Return the watermark that a string stands for."""
    kind, _, value = mark.partition(":")
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
