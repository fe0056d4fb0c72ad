"""The port of a command line."""

from __future__ import annotations

import argparse

_LAST = 65_535


def parse_port(text: str) -> int:
    """Return a port that a server can listen on.

    Raises:
        ArgumentTypeError: It is no whole number from 1 to 65,535.
    """
    if not (text.isascii() and text.isdecimal() and 1 <= int(text[:9]) <= _LAST):
        raise argparse.ArgumentTypeError(f"{text[:20]!r} is no port from 1 to {_LAST}")
    return int(text)
