"""How a text is read.

Words found together, matches asked of the machine, sets that may run out of memory.
"""

from __future__ import annotations

from itertools import pairwise

import pytest
import re2
from hypothesis import given, settings
from hypothesis import strategies as st

from deid_assets.core.errors import ConfigError
from deid_assets.extending import Phi
from deid_rules import propagate, sets
from deid_rules.compiled import matches
from deid_rules.language import read_language
from deid_rules.lexicon import WordKind, WordLists
from deid_rules.patterns import Pattern
from deid_rules.rulebook import LanguageRules, Rulebook
from deid_rules.view import TextView, views_of, words_of

TEXTS = st.text(alphabet="aB'-’ \né‐Ωжß😀İ.1\u0301", max_size=40)


@settings(deadline=None)
@given(texts=st.lists(TEXTS, min_size=1, max_size=5))
def test_words_found_together_are_those_of_each_text(texts: list[str]) -> None:
    for text, view in zip(texts, views_of(texts), strict=True):
        words = view.between(0, len(text))
        assert words == words_of(text)
        assert view.capital_words == [word for word in words_of(text) if word[0].isupper()]
        assert [view.words[index] for index in view.capitals] == view.capital_words
        gaps = [view.gaps[index] for index in range(len(view.starts) + 1)]
        joined = "".join(gap + word for gap, word in zip(gaps, [*words, ""], strict=True))
        assert joined == text == TextView(text).text
        assert TextView(text).between(0, len(text)) == words


@settings(deadline=None)
@given(
    data=TEXTS.map(str.encode),
    regex=st.sampled_from(["a*", "B", r"\b\w+", "(?P<x>a)|(b)", r"\z", "(?i)É"]),
)
def test_matches_are_those_of_finditer(data: bytes, regex: str) -> None:
    compiled = re2.compile(regex.encode())
    expected = [
        [found.span(group) for group in range(compiled.groups + 1)]
        for found in compiled.finditer(data)
    ]
    assert [list(groups) for groups in matches(compiled._regexp.Match, data)] == expected


def test_set_without_memory_is_an_error_and_not_an_absence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sets, "_SET_BYTES", 1_000)
    with pytest.raises(ConfigError, match="en: a set of 1 patterns needs more memory"):
        sets.pattern_sets([Pattern("p", "[a-z]{0,60}x[a-z]{9}")], "en")


def test_sets_hold_each_pattern_once() -> None:
    patterns = read_language("en").patterns
    made = sets.pattern_sets(patterns, "en")
    held = [pattern.id for each in made for pattern in each.patterns]
    assert sorted(held) == sorted(pattern.id for pattern in patterns)


@settings(deadline=None)
@given(text=st.text(alphabet="aNn .\nΣσİ's", max_size=60))
def test_few_and_many_words_are_sought_alike(text: str) -> None:
    view = TextView(text)
    words = {"ana", "nan", "aan", "na"}
    found = set(view.starts[::3])
    few = sorted(set(propagate._standing(view, words, found)))
    assert few == [
        index for index in range(len(view.starts)) if view.key(index) in words and index % 3
    ]
    assert all(left < right for left, right in pairwise(few))


PHRASES = (
    "The trails of Frisco",
    "The Old north",
    "French Isle",
    "Old Isle of north old Rhyl",
    "Rhyl",
    "French isle",
)
NAMES = ("Xolani Garcia", "J. de Garcia", "Garcia, Stephanie")
PIECES = (*PHRASES, *NAMES, "Stephanie", "Garcia", "Wood", "Xolani", "J", "The", "of", "1.")


@settings(deadline=None)
@given(texts=st.lists(st.lists(st.sampled_from(PIECES)).map(" ".join), min_size=1, max_size=4))
def test_words_that_are_sifted_out_begin_no_name_and_no_phrase(texts: list[str]) -> None:
    lists = WordLists()
    lists.add_phrases(Phi.CITY, PHRASES)
    english, common = (
        LanguageRules(read_language(code), frozenset(), "safe_harbor") for code in ("en", "any")
    )
    rulebook = Rulebook([english], common, [lists], allowed=frozenset(Phi), min_score=0.0)
    views = views_of(texts)
    for view, named, placed in zip(views, *rulebook._find_beginnings(views), strict=True):
        kinds = [
            (index, rulebook._grammar.lexicon.flags(view.words[index]))
            for index in view.capitals.tolist()
        ]
        every = [
            (index, kind & (WordKind.ANY | WordKind.LETTER))
            for index, kind in kinds
            if not kind & WordKind.STOP
            and (not kind & WordKind.ANY or kind & (WordKind.NAME | WordKind.LETTER))
        ]
        assert list(rulebook._names.find(view, named)) == list(rulebook._names.find(view, every))
        found = list(rulebook._places.find(view, placed))
        assert found == list(rulebook._places.find(view, view.capitals.tolist()))
