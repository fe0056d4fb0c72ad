"""Sets look for a looser form of each pattern, which occurs wherever the pattern does."""

from __future__ import annotations

import pytest
import re2

from deid_rules.language import ANY, OTHER, available, read_language
from deid_rules.loosened import loosened


@pytest.mark.parametrize(
    ("regex", "loose"),
    [
        (r"\d{3}-\d{2,4}", r"\d{3}-\d{2,4}"),
        (r"a{0,40}b{1,9}c{2,60}d{5,}", "a*b+c{2,}d{5,}"),
        (r"x{0,40}?\x{e9}{2}\{1,90}", r"x*?\x{e9}{2}\{1,90}"),
        (r"[a-zé][A-Z\x{c0}-\x{d6}][\d\-']", r"[a-z\x{80}-\x{10ffff}][A-Z\x{80}-\x{10ffff}][\d\-']"),
        (r"[!-\x{17f}][^\r\né][^é]", r"[!-\x7f\x{80}-\x{10ffff}][^\r\n](?s:.)"),
        (r"[]{1,9}][^]a]", r"[]{1,9}][^]a]"),
        (r"(?:ab){0,2}(?:c){2,3}d{0,2}\){1,2}", r"(?:ab)*(?:c){2,}d{0,2}\)+"),
    ],
)
def test_long_counts_and_letters_beyond_ascii_are_loosened(regex: str, loose: str) -> None:
    assert loosened(regex) == loose
    re2.compile(loose)


def test_a_looser_form_occurs_where_its_pattern_does() -> None:
    text = "12 Élan Öberg, São Paulo—D’Arcy 2019-03-04 café [x] \u212a\u017f 0123456789"
    for regex in (
        r"[À-Ö]\w+",
        r"(?i)[^a-zé]k",
        r"[é\x{2014}]",
        r"\d{4,12}",
        r"(?i)s",
        r"[^\x{80}-\x{10ffff}]{3,30}",
        r"[—D]’",
    ):
        assert re2.search(regex, text)
        assert re2.search(loosened(regex), text), regex


def test_every_pattern_has_one() -> None:
    for code in (ANY, OTHER, *available()):
        for pattern in read_language(code).patterns:
            re2.compile(loosened(pattern.regex))
