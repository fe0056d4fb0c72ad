import re
from random import Random

import pytest

from deid_assets.core.phi import Phi
from deid_synthesis import HARD_CASES
from deid_synthesis.hard_cases import NUMBERS
from deid_synthesis.text import Piece, Text


def _spans(corpus, *labels):
    return [
        (note.text, span, note.text[span.start : span.end])
        for note, spans in corpus
        for span in spans
        if span.label in labels
    ]


def _any(corpus, pattern, *labels, before="", after=""):
    """Whether a span of one of the labels reads like the pattern, with the given text around it."""
    return any(
        re.fullmatch(pattern, found, re.DOTALL)
        and re.search(before + r"$", text[max(0, span.start - 40) : span.start])
        and re.match(after, text[span.end : span.end + 40])
        for text, span, found in _spans(corpus, *labels)
    )


def _plain(corpus, pattern):
    """Whether the pattern occurs outside all spans."""
    for note, spans in corpus:
        for match in re.finditer(pattern, note.text):
            if not any(span.start < match.end() and match.start() < span.end for span in spans):
                return True
    return False


SPAN_CASES = [
    ("initials", r"[A-Z]\.[ ]?([A-Z]\. ?)?[A-Z]\.", (Phi.NAME,), {}),
    ("abbreviated first name", r"[A-ZÀ-Þ]\. [A-ZÀ-Þ].+", (Phi.NAME,), {}),
    ("surname first", r"[^,]+,\s?[^,]+", (Phi.NAME,), {}),
    ("lower-case name", r"[^A-ZÀ-Þ]{5,}", (Phi.NAME,), {}),
    ("all-caps name", r"[^a-zà-öø-ÿ]{5,}", (Phi.NAME,), {}),
    ("accented name", r".*[à-öø-ÿ].*", (Phi.NAME,), {}),
    ("hyphenated name", r".*\w-\w.*", (Phi.NAME,), {}),
    ("ISO date", r"\d{4}-\d\d-\d\d", (Phi.DATE,), {}),
    ("ISO time stamp", r"\d{4}-\d\d-\d\d", (Phi.DATE,), {"after": "T\\d\\d:"}),
    ("European order", r"(1[3-9]|2\d|3[01])[./-]\d{1,2}[./-]\d{2,4}", (Phi.DATE,), {}),
    ("dotted date", r"\d{1,2}\.\d\d\.\d{2,4}", (Phi.DATE,), {}),
    ("spaced digits", r"\d( \d){5,}", tuple(NUMBERS), {}),
    ("number over a line break", r"[^\n]+\r?\n[^\n]+", tuple(NUMBERS), {}),
    ("bare number in brackets", r".+", (Phi.NATIONAL_ID,), {"before": r"\(", "after": r"\)"}),
]


@pytest.mark.parametrize(
    ("case", "pattern", "labels", "around"), SPAN_CASES, ids=[case[0] for case in SPAN_CASES]
)
def test_two_hundred_notes_hold(case, pattern, labels, around, corpus):
    assert _any(corpus, pattern, *labels, **around)


@pytest.mark.parametrize(
    ("key", "label"),
    [
        ("word_names", Phi.NAME),
        ("particle", Phi.NAME),
        ("date_in_words", Phi.DATE),
        ("month_with_year", Phi.DATE),
        ("yearless_date", Phi.DATE),
        ("extension", Phi.PHONE),
        ("age_over_89", Phi.AGE),
    ],
)
def test_two_hundred_notes_hold_in_their_language(key, label, corpus, expected):
    pattern = expected[key]
    assert _any(
        corpus,
        pattern.format(months=expected["months"]) if "{months}" in pattern else pattern,
        label,
    )


def test_words_that_are_names_elsewhere_stay_plain(corpus, expected):
    assert _plain(corpus, expected["word_plain"])


def test_names_without_title_occur_in_running_text(corpus, expected):
    assert _any(corpus, r"\w+", Phi.NAME, before=expected["before_bare_name"])


def test_date_ranges_occur(corpus):
    assert _any(
        corpus, r".*\d{1,2}\.?(-| to | a | al | - | au | bis | t/m | till | al? |–)\d.*", Phi.DATE
    )


def test_relatives_are_named(corpus):
    assert any(span.native_label == "RELATIVE" for _, span, _ in _spans(corpus, Phi.NAME))


def test_english_possessives_and_very_old_ages(corpora):
    english = corpora("en")
    assert _any(english, r"[A-Z]\w+", Phi.NAME, after="'s ")
    assert _any(english, "nineties|ninety-?.*", Phi.AGE)


def test_eponyms_and_measurements_stay_plain(corpus, expected):
    assert [pattern for pattern in expected["plain"] if not _plain(corpus, pattern)] == []


def test_english_pagers_are_phones(corpora):
    assert _any(corpora("en"), r"\d{4}|x\d{4}", Phi.PHONE, before="(Pager|bleep) ")


def test_every_hard_case_is_placed_at_a_sixth_of_its_rate_or_more(corpus):
    with_phi = [note for note, spans in corpus if spans.spans]
    # its rate is among patients over 89
    assert sum("old_age" in note.meta["cases"] for note in with_phi) >= 2
    for case in HARD_CASES:
        held = sum(case.name in note.meta["cases"].split(",") for note in with_phi)
        assert case.name == "old_age" or held >= case.rate * len(with_phi) / 6, case.name


def test_every_category_of_the_guideline_occurs(corpus):
    absent = set(Phi) - {span.label for _, spans in corpus for span in spans}
    assert absent == {Phi.SEX, Phi.RELATIVE, Phi.LOCATION, Phi.BIOMETRIC, Phi.OTHER}


@pytest.mark.parametrize(
    "case", [case for case in HARD_CASES if case.distort], ids=lambda case: case.name
)
def test_a_distortion_changes_one_labelled_piece_only(case):
    text = Text.of(
        "Seen: ", Piece("Anna Bergstrom", Phi.NAME), ", MRN ", Piece("123-4567", Phi.MRN), "."
    )
    changed = case.distort(text, Random(1))
    pairs = [(old, new) for old, new in zip(text.pieces, changed.pieces, strict=True) if old != new]
    assert len(pairs) == 1
    assert pairs[0][0].label is pairs[0][1].label is not None


@pytest.mark.parametrize(
    "case", [case for case in HARD_CASES if case.distort], ids=lambda case: case.name
)
def test_a_distortion_leaves_a_text_without_phi_alone(case):
    text = Text.of("BP 120/80, T 98.6.")
    assert case.distort(text, Random(1)) is text
