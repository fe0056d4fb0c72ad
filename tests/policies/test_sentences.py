"""Dropped sentences: what goes, what stays, and the map between the two texts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_assets.core.keys import Key
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.redact import Policy, redact
from deid_assets.core.span import DisjointSpans, Span
from deid_assets.policies import load_policy
from deid_assets.policies.sentences import DropSentence
from deid_assets.policies.tags import Tag
from deid_assets.testing import parse_marked

KEY = Key(b"a key for tests, 24 bytes")


@pytest.fixture
def names_only(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('name = "mine"\nkeep = ["SEX"]\n[actions]\nNAME = "drop_sentence"\n')
    return load_policy(path)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Seen by <NAME>Ann</NAME>. Three.", "One. Three."),
        ("<NAME>Ann</NAME> came. Two.", "Two."),
        ("One. Two <NAME>Ann</NAME>", "One. "),
        ("<NAME>Ann</NAME>", ""),
        ("Is it <NAME>Ann</NAME>? Yes! No.", "Yes! No."),
        ('He said "ask <NAME>Ann</NAME>." Two.', "Two."),
        ("One.\nName: <NAME>Ann</NAME>\nHb 12.5\n", "One.\n\nHb 12.5\n"),
        ("One.\r\nName: <NAME>Ann</NAME>\r\nTwo", "One.\r\n\r\nTwo"),
        ("Seen by <NAME>Ann</NAME> at\nthe ward. Two.", "Two."),
        ("Seen by <NAME>Ann</NAME>\n\nand two.", "\n\nand two."),
        ("One. Seen by Dr. <NAME>Lee</NAME> again. Two.", "One. Two."),
        ("One. Seen by J. <NAME>Lee</NAME>. Two.", "One. Two."),
        ("One. Hb 12.5 for <NAME>Ann</NAME>. Two.", "One. Two."),
        ("一。<NAME>安</NAME>来了。三。", "一。三。"),
        ("<NAME>Ann</NAME> <NAME>Bo</NAME>. Two. <NAME>Cy</NAME>.", "Two. "),
        # A border inside a span is none.
        ("One. <NAME>Ann. Lee</NAME> here. Two.", "One. Two."),
        ("One <CITY>St. Gallen. Bern</CITY> and <NAME>Ann</NAME>. Two.", "Two."),
        ("<NAME>Ann</NAME> came. <SEX>M. F</SEX> too. Two.", "M. F too. Two."),
        ("<SEX>M. F</SEX> and <NAME>Ann</NAME> came. Two.", "Two."),
        # Other spans of the sentence go with it, those of other sentences keep their own action.
        (
            (
                "<CITY>Rome</CITY>, <SEX>male</SEX>, <NAME>Ann</NAME>, <CITY>Bern</CITY>. In"
                " <CITY>Bonn</CITY>."
            ),
            "In [CITY].",
        ),
    ],
)
def test_the_sentence_of_a_span_goes_and_the_others_stay(redacted, names_only, text, expected):
    assert redacted(text, names_only) == expected


def test_the_map_carries_offsets_both_ways():
    note, spans = parse_marked("One. Seen by <NAME>Ann</NAME>. Three.")
    done = redact(note, DisjointSpans.of(note, spans), load_policy("drop_sentence"), key=KEY)
    start = note.text.index("Three")

    (edit,) = done.edits
    assert (edit.start, edit.end, edit.new_start, edit.new_end, edit.label) == (
        5,
        start,
        5,
        5,
        Phi.NAME,
    )
    assert done.to_redacted(start) == done.text.index("Three")
    assert done.to_original(done.text.index("Three")) == start


class DropFive:
    """Takes out the block of five characters, another idea of what is too close."""

    def __call__(self, text, span, context):
        return ""

    def borders(self, text):
        return list(range(5, len(text), 5))


BOTH = Policy("both", Tag(), {Phi.NAME: DropSentence(), Phi.CITY: DropFive()})
DROPS = load_policy("drop_sentence")
pieces = st.lists(
    st.tuples(
        st.text("aB. \n!。\r", max_size=8),
        st.sampled_from([Phi.NAME, Phi.CITY, Phi.SEX]),
        st.text("aB. \n", min_size=1, max_size=4),
    ),
    max_size=6,
)


@given(pieces, st.text("aB. \n", max_size=8), st.sampled_from([DROPS, BOTH]))
def test_edits_are_disjoint_cover_every_span_and_leave_the_rest(parts, tail, policy):
    text, spans = "", []
    for between, label, covered in parts:
        start = len(text) + len(between)
        spans.append(Span(start, start + len(covered), label))
        text += between + covered
    note = Note("n", text + tail, patient_id="p")

    done = redact(note, DisjointSpans.of(note, spans), policy, key=KEY)

    kept, cursor = [], 0
    for edit in done.edits:
        assert edit.start >= cursor
        kept += (note.text[cursor : edit.start], "[SEX]" * (edit.new_end > edit.new_start))
        cursor = edit.end
    assert "".join((*kept, note.text[cursor:])) == done.text
    assert all(
        any(edit.start <= span.start and span.end <= edit.end for edit in done.edits)
        for span in spans
    )
    for place, char in enumerate(note.text):
        if not any(edit.start <= place < edit.end for edit in done.edits):
            assert done.text[done.to_redacted(place)] == char
