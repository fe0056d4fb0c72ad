"""Lists of names, places and sentences by language: the files that the note generator writes from.

``plugins/corpora/deid_synthesis/grammar.py`` says how they are written.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from deid_assets.languages import SYNTHESIS, language
from deid_assets.languages import languages as languages_with

_LEAD = re.compile(r"(?:\d+\* )?(?:<[a-z0-9_ ]+> )?")
_ONLY = re.compile(r"(?:\d+\* )?<([a-z0-9_ ]+)> ")


def languages() -> tuple[str, ...]:
    """Return the languages that have a grammar, sorted."""
    return languages_with(SYNTHESIS)


def folder(lang: str) -> Path:
    """Return the folder of a language's grammar.

    Args:
        lang: One of ``languages()``.
    """
    return language(lang).folder / SYNTHESIS


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
