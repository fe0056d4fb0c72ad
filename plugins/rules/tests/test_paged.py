"""A pattern finds in Windows-1252 what it finds in UTF-8."""

from __future__ import annotations

import re

import pytest
import re2

from deid_assets.core.note import Note
from deid_assets.languages import ANY, OTHER
from deid_rules import RulesDetector
from deid_rules.language import available, read_language
from deid_rules.paged import BEYOND_ASCII, CLASS, encode_text, recode
from deid_synthesis import make_corpus

LATIN1 = re2.Options()
LATIN1.encoding = re2.Options.Encoding.LATIN1
PAGE = bytes(set(range(0x100)) - {0x81, 0x8D, 0x8F, 0x90, 0x9D}).decode("cp1252")


def found(regex: str, text: str) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Spans in code points of each group of each match, in UTF-8 and in Windows-1252."""
    data, paged = encode_text(text)
    assert paged
    wide = [
        found.span(group)
        for found in re2.finditer(regex, text)
        for group in range(found.re.groups + 1)
    ]
    machine = re2.compile(recode(regex).encode("ascii"), options=LATIN1)
    return wide, [
        found.span(group) for found in machine.finditer(data) for group in range(machine.groups + 1)
    ]


@pytest.mark.parametrize(
    "regex",
    [
        "é",
        "(?i)É+",
        "œ?",
        "(?i)Œ",
        "œ(?i)œ",
        "(?i:œ)œ",
        "(?i)œ(?-i:œ)",
        "((?i)œ|Š)š",
        "(?i:(?:ž)|(š))Ž",
        r"[^é\x{2019}\-]+",
        "[À-Ö]",
        "(?i)[à-ö]{2,3}",
        r"(?i)[é-\x{17f}]",
        r"(?i)[\x{386}-\x{3ab}]",
        r"(?i)\x{212b}",
        r"[\x{2264}]|\x{2264}|a",
        r"[^\x{2264}]",
        r"[]ß]",
        r"(?i)\x{1e9e}",
        r"[\x{2010}-\x{2015}]",
        r"\W\S.",
        r"[\W_]+",
        r"[^\W\d]+",
        r"\bß\b",
        r"[!-\x{17f}]+",
        "ÿ",
        "(?i)ÿ",
        r"(?P<one>\xe9)\x27?",
        r"[\xe0-\xef]",
        r"\(é\)",
        "(?P<a>é)(?i)(É)",
    ],
)
@pytest.mark.parametrize("joint", ["", " ", "e"])
def test_what_is_found_is_the_same(regex: str, joint: str) -> None:
    wide, paged = found(regex, joint.join(PAGE) + "šœŒ ÿŸ (é) é' ŒœŠš")
    assert paged == wide


def test_the_classes_and_characters_of_the_rules_stand_for_the_same() -> None:
    regexes = {
        pattern.regex
        for code in (ANY, OTHER, *available())
        for pattern in read_language(code).patterns
    }
    parts = {
        part[0]
        for regex in regexes
        for part in re.finditer(rf"\\[^x]|{CLASS}|{BEYOND_ASCII}", regex)
    }
    assert len(parts) > 100
    for part in parts:
        if part[0] != "\\" or part[1] == "x":
            for regex in (part, f"(?i){part}"):
                wide, paged = found(regex, PAGE)
                assert paged == wide, regex


@pytest.mark.parametrize("text", ["Łódź", "≤ 3", "\x81", "\x90", "漢"])
def test_a_text_that_does_not_fit_stays_in_utf_8(text: str) -> None:
    assert encode_text(text) == (text.encode(), False)


@pytest.mark.parametrize("lang", ["en", "fr"])
def test_notes_are_read_alike_in_both(lang: str) -> None:
    detector = RulesDetector(langs=(lang,))
    signs = str.maketrans({"'": "\u2019", "-": "\u2013", "z": "ž", "S": "Š"})
    texts = [note.text for note, _ in make_corpus(lang=lang, notes=24, seed=5)]
    texts += [text.translate(signs).replace("oe", "œ") for text in texts]
    paged, wide = (
        [
            found.spans
            for found in detector.detect(
                [Note("n", f"{text}\n\n{end}", lang=lang) for text in texts]
            )
        ]
        for end in ("×", "\u2264")
    )
    assert paged == wide
    assert sum(map(len, paged)) > 400
