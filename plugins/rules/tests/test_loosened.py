"""Sets look for a looser form of each pattern, which occurs wherever the pattern does."""

from __future__ import annotations

import pytest
import re2

from deid_assets.languages import ANY, OTHER
from deid_rules.language import available, read_language
from deid_rules.loosened import loosen, narrow
from deid_rules.paged import encode_text

LATIN1 = re2.Options()
LATIN1.encoding = re2.Options.Encoding.LATIN1


@pytest.mark.parametrize(
    ("regex", "loose"),
    [
        (r"\d{3}-\d{2,4}", r"\d{3}-\d{2,4}"),
        (r"a{0,40}b{1,9}c{2,60}d{5,}", "a*b+c{2,}d{5,}"),
        (r"x{0,40}?\x{e9}{2}\{1,90}", r"x*?[\x80-\xff]{2}\{1,90}"),
        (r"[a-zé][A-Z\x{c0}-\x{d6}][\d\-']", r"[a-z\x80-\xff][A-Z\x80-\xff][\d\-']"),
        (r"[!-\x{17e}][^\r\né][^é]", r"[\x21-\x7f\x80-\xff][^\r\n][\x00-\xff]"),
        (r"[é-\x{17f}\xe0]\x27\x{212a}", r"[\x80-\xffsS]\x27[\x80-\xffkK]"),
        (r"[]{1,9}][^]a]", r"[]{1,9}][^]a]"),
        (r"(?i)[^\r\n]{40}\bson", r"(?i)\bson"),
        (r"[^ ]x", r"[^ ]x"),
        (r"[^\]+a]x", r"[^\]+a]x"),
        (r"[^a\]+]+?x", "x"),
        (r"(?:ab){0,2}(?:c){2,3}d{0,2}\){1,2}", r"(?:ab)*(?:c){2,}d{0,2}\)+"),
    ],
)
def test_long_counts_and_letters_beyond_ascii_are_loosened(regex: str, loose: str) -> None:
    assert loosen(regex) == loose
    re2.compile(loose.encode(), options=LATIN1)


@pytest.mark.parametrize("more", ["", " Łódź \u2264"], ids=["fits", "fits-not"])
def test_a_looser_form_occurs_where_its_pattern_does(more: str) -> None:
    text = "12 Élan Öberg, São Paulo—D’Arcy 2019-03-04 café [x] os 0123456789" + more
    data, paged = encode_text(text)
    assert paged is not bool(more)
    read = data if paged else narrow(text)
    for regex in (
        r"[À-Ö]\w+",
        r"(?i)[^a-zé]o",
        r"(?i)[é-\x{17f}]\x20",
        r"[é\x{2014}]",
        r"\d{4,12}",
        r"(?i)S",
        r"[^\x{80}-\x{10ffff}]{3,30}",
        r"[—D]’",
        *([r"Ł\S{2}ź", r"[\x{2264}]"] if more else []),
    ):
        assert re2.search(regex, text)
        assert re2.search(loosen(regex).encode(), read, options=LATIN1), regex


@pytest.mark.parametrize("letter", ["\u017f", "\u212a"])
def test_letters_that_are_ascii_where_case_does_not_count_are_left_to_the_pattern(
    letter: str,
) -> None:
    assert narrow(f"12 {letter}") is None


def test_every_pattern_has_one() -> None:
    for code in (ANY, OTHER, *available()):
        for pattern in read_language(code).patterns:
            re2.compile(loosen(pattern.regex).encode("ascii"), options=LATIN1)
