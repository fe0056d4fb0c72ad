"""Each language's tables: what must be found, and near-misses that must not.

A case has ``text`` with marks; where the marks would be too many, ``text`` is plain and ``expect``
has them.
"""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from deid_assets.testing import mark, parse_marked
from deid_rules import RulesDetector

TABLES = sorted(Path(__file__).parent.glob("*/*.toml"))
ANY_LANGUAGE = "cs"  # has no folder of its own


@cache
def detector(profile: str, folder: str) -> RulesDetector:
    return RulesDetector(profile=profile, langs=() if folder == "other" else None)


def cases() -> list[Any]:
    return [
        pytest.param(path.parent.name, case, id=f"{path.parent.name}-{path.stem}-{number}")
        for path in TABLES
        for number, case in enumerate(tomllib.loads(path.read_text(encoding="utf-8"))["case"])
    ]


@pytest.mark.parametrize(("folder", "case"), cases())
def test_text_is_marked_as_the_table_says(folder: str, case: dict[str, str]) -> None:
    lang = case.get("lang", ANY_LANGUAGE if folder in ("any", "other") else folder)
    note, _ = parse_marked(case["text"], lang=lang)
    (spans,) = detector(case.get("profile", "safe_harbor"), folder).detect([note])
    assert mark(note, spans) == case.get("expect", case["text"]), case.get("about", "")
