"""What is found once is covered in all notes of the patient, and ordinary words are left alone."""

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_assets import DisjointSpans, Note, Phi, Span
from deid_assets.pipeline.redacting import survival_by_note
from deid_assets.pipeline.spreading import DASHES, SPREAD, spread
from deid_assets.testing import parse_marked

RECORD = "MRN <MRN>4471902</MRN>."


def covered(found, other, *, patient="p", lang="en", score=0.9):
    """What is covered by spreading in another note, given the marked one."""
    note, spans = parse_marked(found, note_id="a", source="rules")
    notes = [Note("a", note.text, "p", lang), Note("b", other, patient, lang)]
    known = [Span(span.start, span.end, span.label, score, span.source) for span in spans]
    given_spans = {"a": DisjointSpans.of(notes[0], known), "b": DisjointSpans.of(notes[1], [])}
    return [(other[span.start : span.end], span) for span in spread(notes, given_spans)["b"]]


@pytest.mark.parametrize(
    ("found", "other", "expected"),
    [
        (RECORD, "Sample 4471902 was stored.", ["4471902"]),
        (RECORD, "Label 4471902-A, tube 447-1902.", ["4471902", "447-1902"]),
        (RECORD, "Code X4471902B.", ["X4471902B"]),
        (RECORD, "Sample 4471903 was stored.", []),
        ("<PHONE>617-555-0143</PHONE>", "call 6175550143", ["6175550143"]),
        ("Dr. <NAME>Jane Caldwick</NAME>", "JANE  CALDWICK rang", ["JANE  CALDWICK"]),
        ("Dr. <NAME>Jane Caldwick</NAME>", "Mrs Caldwick's son", ["Caldwick"]),
        ("Dr. <NAME>Jane Long</NAME>", "Long QT, a long stay", []),
        ("Dr. <NAME>Peter Parkinson</NAME>", "Parkinson disease", []),
        ("Dr. <NAME>Jane Rose</NAME>", "Rose bengal stain", []),
        ("<NAME>May</NAME> was seen", "may return", []),
        ("<NAME>Li</NAME> was seen", "Li is lithium", []),
        ("born <DATE>3 May 1954</DATE>", "b. 3 May 1954", ["3 May 1954"]),
        ("in <DATE>2021</DATE>", "in 2021", []),
        ("<AGE>1234</AGE>", "1234", []),
        ("<STREET>12 Elm Road</STREET>", "of 12, elm road", ["12, elm road"]),
        ("<NAME>Weiß</NAME>", "WEISS", ["WEISS"]),
        ("<HOSPITAL>Hospital</HOSPITAL>", "the Hospital", []),
        (
            "<HOSPITAL>Aldermoor Hospital</HOSPITAL>",
            "at ALDERMOOR HOSPITAL",
            ["ALDERMOOR HOSPITAL"],
        ),
        ("of <CITY>Bath</CITY>", "in Bath", ["Bath"]),
    ],
)
def test_a_value_is_covered_where_it_is_readable_again(found, other, expected):
    assert [text for text, _ in covered(found, other)] == expected


SOME_DASHES = "-\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u00ad\ufe63\uff0d"


@pytest.mark.parametrize("form", ["617-555-0143", "617 - 555 - 0143", "(617)-5550143"])
@pytest.mark.parametrize("dash", SOME_DASHES)
def test_a_number_is_covered_whatever_dash_groups_it(dash, form):
    written = form.replace("-", dash)

    (text,) = [text for text, _ in covered("<PHONE>617-555-0143</PHONE>", f"call {written}!")]

    assert text.strip("(") == written.strip("(")
    assert covered(f"<PHONE>{written}</PHONE>", "call 617-555-0143!")


def test_every_dash_of_unicode_groups_a_number():
    dashes = {chr(one) for one in range(sys.maxunicode) if unicodedata.category(chr(one)) == "Pd"}

    assert dashes <= set(DASHES)


@pytest.mark.parametrize(
    "written",
    [
        "447\u00a01902",
        "447\u202f1902",
        "447\u20091902",
        "447\u200b1902",
        "447\t1902",
        "447\u00b71902",
        "447\u22151902",
        "\uff14\uff14\uff17\uff11\uff19\uff10\uff12",
        "\uff14\uff14\uff17\uff0d\uff11\uff19\uff10\uff12",
        "\u0664\u0664\u0667\u0661\u0669\u0660\u0662",
        "447\u2013\u20111902",
    ],
)
def test_a_number_is_covered_whatever_blanks_points_and_digits_it_is_written_with(written):
    assert [text for text, _ in covered(RECORD, f"Sample {written} was")] == [written]


@pytest.mark.parametrize(
    "other", ["447\n1902", "447, 1902", "447\u2014 \u20141902", "447\u00b21902"]
)
def test_numbers_that_stand_apart_are_none(other):
    assert covered(RECORD, f"Sample {other} was") == []


def test_a_spread_span_says_where_it_comes_from():
    ((_, span),) = covered(RECORD, "Sample 4471902.")

    assert (span.label, span.score, span.source, span.native_label) == (
        Phi.MRN,
        0.9,
        SPREAD,
        "rules",
    )


def test_another_patient_is_none_of_it():
    assert covered(RECORD, "Sample 4471902.", patient="q") == []
    assert covered(RECORD, "Sample 4471902.", patient=None) == []


def test_words_of_a_doubtful_name_are_not_spread():
    assert covered("<NAME>Jane Caldwick</NAME>", "Caldwick", score=0.6) == []
    assert len(covered("<NAME>Jane Caldwick</NAME>", "Jane Caldwick", score=0.6)) == 1


@pytest.mark.parametrize(
    ("lang", "word"),
    [("de", "Befund"), ("fr", "Rose"), ("nl", "Rust"), ("sv", "Vill"), ("es", "Pediatría")],
)
def test_ordinary_words_of_the_note_s_language_are_not_spread_from_a_longer_name(lang, word):
    assert covered(f"<NAME>Jane {word}</NAME>", word, lang=lang) == []


def test_what_was_spread_is_spread_no_further_and_spreading_twice_changes_nothing():
    note, spans = parse_marked(f"{RECORD} Sample 4471902.", source="rules")
    once = spread([note], {note.note_id: DisjointSpans.of(note, spans)})

    assert len(once[note.note_id]) == 2
    assert spread([note], once) == once


def test_a_megabyte_of_one_name_is_spread_in_time_that_grows_with_it():
    """With every mention held against every other, this would be five billion comparisons."""
    mentions = 1_000_000 // len("Caldwick. ")

    assert len(covered("Dr. <NAME>Jane Caldwick</NAME>", "Caldwick. " * mentions)) == mentions


WORDS = st.sampled_from(
    [
        "Caldwick",
        "caldwick",
        "CALDWICK",
        "Jane",
        "4471902",
        "447-1902",
        "x4471902",
        "seen",
        ".",
        "\n",
        "Elm",
    ]
)


@given(st.lists(st.lists(WORDS, max_size=12), min_size=1, max_size=4), st.data())
def test_after_spreading_no_value_survives_and_spans_stay_disjoint(texts, data):
    notes = [Note(f"n{n}", " ".join(words), "p", "en") for n, words in enumerate(texts)]
    spans = {}
    for note in notes:
        cuts = sorted(data.draw(st.sets(st.integers(0, len(note.text)), max_size=4)))
        label = data.draw(st.sampled_from([Phi.NAME, Phi.MRN, Phi.STREET]))
        pairs = zip(cuts[::2], cuts[1::2], strict=False)
        spans[note.note_id] = DisjointSpans.of(
            note, [Span(a, b, label, 0.9, "rules") for a, b in pairs if a < b]
        )

    wider = spread(notes, spans)  # disjoint, or building them had raised

    found, _ = survival_by_note(
        [(note, wider[note.note_id], wider_edits(wider[note.note_id])) for note in notes]
    )
    assert all(set(spans[note.note_id]) <= set(wider[note.note_id]) for note in notes)
    assert not any(left.whole for left in found)


def wider_edits(spans):
    """Edits that blank the spans out; only their place in the original counts."""
    from deid_assets.core.redact import Edit

    return [Edit(span.start, span.end, 0, 0, span.label) for span in spans]
