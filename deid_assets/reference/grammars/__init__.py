"""Lists of names, places and sentences by language: the files that the note generator writes from.

``plugins/corpora/deid_synthesis/grammar.py`` says how they are written.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable

_LEAD = re.compile(r"(?:\d+\* )?(?:<[a-z0-9_ ]+> )?")
_ONLY = re.compile(r"(?:\d+\* )?<([a-z0-9_ ]+)> ")


@cache
def languages() -> tuple[str, ...]:
    """Return the languages that have a folder, sorted."""
    entries = resources.files(__package__).iterdir()
    return tuple(sorted(entry.name for entry in entries if entry.is_dir() and len(entry.name) == 2))


def folder(lang: str) -> Traversable:
    """Return the folder of a language, ISO 639-1."""
    return resources.files(__package__) / lang


def plain_lines(lang: str, file: str, rule: str, only: str = "") -> tuple[str, ...]:
    """Return the plain alternatives of a rule; those with variables are left out.

    Args:
        lang: Language of the grammar.
        file: ``names``, ``places``, ``forms`` or ``words``.
        rule: Header without brackets, such as ``given @f``.
        only: A tag; alternatives that hold for other tags only are left out.
    """
    lines: list[str] = []
    is_inside = False
    for line in _text(lang, file).splitlines():
        if line.startswith("["):
            is_inside = line.strip("[]").partition(" :")[0] == rule
        elif is_inside and line and "{" not in line and not line.startswith("#"):
            held = _ONLY.match(line)
            if not only or held is None or only in held[1].split():
                lines.append(_LEAD.sub("", line, count=1))
    return tuple(lines)


@cache
def _text(lang: str, file: str) -> str:
    return (folder(lang) / f"{file}.txt").read_text("utf-8")
