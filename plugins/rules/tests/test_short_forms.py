"""Over a thousand lines of clinical short forms.

Nothing of them is touched, and what identifies beside them is found.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from deid_assets.testing import mark, parse_marked
from deid_rules import RulesDetector
from deid_rules.language import available

LINES = Path(__file__).parents[3] / "benchmarks" / "short_forms"
PROFILES = ("safe_harbor", "i2b2")  # the second looks for bare years too


@cache
def detector(profile: str) -> RulesDetector:
    return RulesDetector(profile=profile)


def lines(lang: str) -> list[str]:
    rows = (LINES / f"{lang}.txt").read_text(encoding="utf-8").splitlines()
    return [row for row in rows if row and not row.startswith("#")]


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("lang", sorted(available()))
def test_short_forms_stay_and_what_identifies_beside_them_is_found(lang: str, profile: str) -> None:
    written = lines(lang)
    notes = [parse_marked(line, lang=lang)[0] for line in written]

    found = [
        mark(note, spans)
        for note, spans in zip(notes, detector(profile).detect(notes), strict=True)
    ]

    assert [line for line in found if line not in set(written)] == []
    assert found == written


def test_the_lines_are_many_and_differ_and_have_both_kinds() -> None:
    written = {lang: lines(lang) for lang in available()}
    plain = {lang: {line for line in rows if "</" not in line} for lang, rows in written.items()}

    assert written.keys() == available()
    assert sum(map(len, plain.values())) >= 1_000
    assert all(len(rows) == len(set(rows)) for rows in written.values())
    assert all(len(set(rows) - plain[lang]) >= 8 for lang, rows in written.items())
