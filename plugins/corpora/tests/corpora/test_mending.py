"""Offsets and glued entities mended.

Every change is reported, what cannot be placed stays wrong.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from deid_assets.extending import Note, Phi, Span, SpanSet
from deid_assets.extending.commands import Annotated, Annotation, ParsedNote
from deid_corpora.mending import OffsetVerdict, add_spaces, correct_offsets

TEXT = "Jane Roe came from ItalyHome on 3 May.\nJane Roe, 47aa, left."


def _parsed(*annotations: tuple[int, int, str]) -> ParsedNote:
    found = (
        Annotation(((start, end),), "NAME", covered, line=at)
        for at, (start, end, covered) in enumerate(annotations)
    )
    return ParsedNote("n.txt", "n", TEXT, tuple(found))


def _verdicts(parsed: ParsedNote) -> list[tuple[OffsetVerdict, int | None]]:
    return [(one.verdict, one.new_start) for one in correct_offsets(parsed)[1]]


def test_shifted_offsets_come_back_and_the_second_of_two_places_follows_the_shift():
    parsed = _parsed((2, 10, "Jane Roe"), (34, 39, "3 May"), (41, 49, "Jane Roe"))
    mended, reported = correct_offsets(parsed)

    assert [one.fragments for one in mended.annotations or ()] == [
        ((0, 8),),
        ((32, 37),),
        ((39, 47),),
    ]
    assert len(reported) == 3


def test_what_fits_is_neither_moved_nor_reported():
    parsed = _parsed((0, 8, "Jane Roe"), (39, 47, "Jane Roe"))

    assert correct_offsets(parsed) == (parsed, [])


def test_what_cannot_be_placed_keeps_its_offsets():
    middle = (39 + 0) // 2
    parsed = _parsed((0, 3, "Xyz"), (5, 9, ""), (middle, middle + 8, "Jane Roe"))

    assert _verdicts(_parsed((0, 3, "Xyz"))) == [(OffsetVerdict.MISSING, None)]
    assert _verdicts(_parsed((5, 9, ""))) == [(OffsetVerdict.UNREADABLE, None)]
    assert correct_offsets(parsed)[0].annotations[0].fragments == ((0, 3),)


def test_two_places_equally_near_are_for_people_to_decide():
    parsed = ParsedNote("n.txt", "n", "ab cd ab", (Annotation(((3, 5),), "NAME", "ab"),))

    assert _verdicts(parsed) == [(OffsetVerdict.AMBIGUOUS, None)]


def test_glued_entities_are_spaced_and_every_later_offset_moves():
    note = Note("n", TEXT)
    spans = SpanSet.of(
        note, [Span(19, 24, Phi.COUNTRY), Span(32, 37, Phi.DATE), Span(49, 51, Phi.AGE)]
    )
    made, gaps = add_spaces(Annotated(note, spans))

    assert made.note.text == "Jane Roe came from Italy Home on 3 May.\nJane Roe, 47 aa, left."
    assert [made.note.text[one.start : one.end] for one in made.spans or ()] == [
        "Italy",
        "3 May",
        "47",
    ]
    assert [(gap.label, gap.side, gap.at) for gap in gaps] == [
        ("COUNTRY", "after", 24),
        ("AGE", "after", 51),
    ]


@given(
    st.text("ab1. ", max_size=40),
    st.lists(st.tuples(st.integers(0, 40), st.integers(1, 6)), max_size=5),
)
def test_spacing_keeps_every_span_and_adds_blanks_alone(text, drawn):
    note = Note("n", text)
    spans = [
        Span(start, start + size, Phi.NAME) for start, size in drawn if start + size <= len(text)
    ]
    made, _ = add_spaces(Annotated(note, SpanSet.of(note, spans)))

    assert made.note.text.replace(" ", "") == text.replace(" ", "")
    before = sorted(text[span.start : span.end].replace(" ", "") for span in spans)
    assert (
        sorted(made.note.text[one.start : one.end].replace(" ", "") for one in made.spans or ())
        == before
    )
    assert add_spaces(made)[1] == [] or any(
        one.start < other.start < one.end for one in spans for other in spans
    )


@pytest.fixture
def brat(tmp_path):
    folder = tmp_path / "brat"
    folder.mkdir()
    (folder / "n1.txt").write_text(TEXT)
    (folder / "n1.ann").write_text("T1\tNAME 2 10\tJane Roe\nT2\tCOUNTRY 21 26\tItaly\n")
    (folder / "n2.txt").write_text(TEXT)
    (folder / "n2.ann").write_text("T1\tNAME 0 3\tXyz\n")
    return folder


def test_the_command_writes_mended_notes_elsewhere_and_withholds_the_others(brat, tmp_path):
    from deid_assets.cli import app

    result = CliRunner().invoke(
        app, ["corpus", "repair", str(brat), "--out", str(tmp_path / "mended")]
    )

    assert result.exit_code == 1
    assert sorted(path.name for path in (tmp_path / "mended").iterdir()) == ["n1.ann", "n1.txt"]
    assert "COUNTRY 19 24" in (tmp_path / "mended" / "n1.ann").read_text()
    assert "Roe" not in result.output
    assert "Italy" not in result.output
    assert (
        CliRunner().invoke(app, ["corpus", "space", str(brat), "--out", str(brat / "in")]).exit_code
        == 2
    )
