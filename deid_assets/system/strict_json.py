"""JSON that means one thing to every reader."""

from __future__ import annotations

import json
from typing import NoReturn


class StrictError(ValueError):
    """JSON that another reader may take for something else; the message quotes nothing of it."""


def loads(text: str | bytes) -> object:
    """Return the value of a JSON text in UTF-8, stricter than ``json.loads``.

    Raises:
        StrictError: It has NaN, an infinity, a key twice, or is nested too deep to read.
        ValueError: It is no JSON, no UTF-8, or holds a number that is too long.
    """
    content = text if isinstance(text, str) else text.decode("utf-8")
    try:
        value: object = json.loads(
            content, parse_constant=_refuse_constant, object_pairs_hook=_object
        )
    except RecursionError:
        raise StrictError("is nested too deep to read") from None
    return value


def _refuse_constant(_: str) -> NoReturn:
    raise StrictError("holds NaN or an infinity, which are not JSON")


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    record = dict(pairs)
    if len(record) != len(pairs):
        raise StrictError("an object has a key twice")
    return record
