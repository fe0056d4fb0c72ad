import re

import pytest

from deid_assets import DisjointSpans, Failed, Note, Phi, Span
from deid_assets.core.errors import DetectorError
from deid_assets.core.keys import Key
from deid_assets.core.redact import Policy, redact
from deid_assets.core.resolve import Ensemble
from deid_assets.pipeline.redacting import redact_all
from deid_assets.pipeline.resolving import by_note, resolve_all
from deid_assets.pipeline.searching import residual_hits
from deid_assets.testing import parse_marked

KEY = Key(b"0123456789abcdef")
ENSEMBLE = Ensemble(("a", "b"))
TAGS = Policy("tags", lambda text, span, context: f"[{span.label}]")


def test_a_note_that_one_detector_failed_on_is_withheld_with_the_reason():
    note, spans = parse_marked("Dr. <NAME>Lee</NAME>", source="a")
    predictions = {
        "a": {"marked": spans},
        "b": {"marked": Failed("marked", "spans_b", "TimeoutError")},
    }

    assert resolve_all([note], predictions, resolve_by="union", ensemble=ENSEMBLE) == [
        Failed("marked", "spans_b", "TimeoutError")
    ]


def test_a_note_that_one_detector_never_saw_is_withheld():
    note, spans = parse_marked("Dr. <NAME>Lee</NAME>", source="a")

    assert resolve_all(
        [note], {"a": {"marked": spans}, "b": {}}, resolve_by="union", ensemble=ENSEMBLE
    ) == [Failed("marked", "spans_b", "Missing")]


def test_spans_of_an_older_text_withhold_the_note():
    note, spans = parse_marked("Dr. <NAME>Lee</NAME>", source="a")
    newer = Note(note.note_id, note.text + " ")

    (failed,) = resolve_all(
        [newer], {"a": {"marked": spans}}, resolve_by="union", ensemble=Ensemble(("a",))
    )

    assert failed == Failed("marked", "resolve", "DigestError")


def test_a_note_without_spans_is_never_left_as_it_is():
    assert redact_all([Note("n", "Dr. Lee")], {}, TAGS, key=KEY) == [
        Failed("n", "redact", "Missing")
    ]


def test_a_replacer_that_raises_withholds_its_note_only():
    def picky(text, span, context):
        if text == "Roy":
            raise KeyError(text)
        return "[X]"

    notes, spans = zip(
        *(parse_marked(f"Dr. <NAME>{name}</NAME>", note_id=name) for name in ("Lee", "Roy")),
        strict=True,
    )
    disjoint = {
        s.note_id: s
        for s in resolve_all(
            notes, {"gold": by_note(spans)}, resolve_by="union", ensemble=Ensemble(("gold",))
        )
    }
    done, failed = redact_all(notes, disjoint, Policy("p", picky), key=KEY)

    assert done.text == "Dr. [X]"
    assert failed == Failed("Roy", "redact", "KeyError")


def test_two_outcomes_for_one_note_are_refused():
    with pytest.raises(DetectorError):
        by_note([Failed("n", "s", "E"), Failed("n", "s", "E")])


@pytest.mark.parametrize(
    ("text", "replacement", "left"),
    [
        ("MRN <MRN>123</MRN>, seen.", "[MRN]", []),
        ("MRN <MRN>123</MRN>, seen.", "987", []),
        ("MRN <MRN>123</MRN>, room 4.", "987", ["4"]),
        ("MRN <MRN>123</MRN>45", "987", ["45"]),
        ("MRN 45<MRN>123</MRN>67", "9", ["45", "67"]),
        ("MRN <MRN>123</MRN>: seen 8", "98765", [":", "8"]),
        ("<MRN>1</MRN>2<MRN>3</MRN>4", "", ["2", "4"]),
        ("<MRN>1</MRN>2<MRN>3</MRN>4<MRN>5</MRN>", "77", ["2", "4"]),
    ],
)
def test_of_a_hit_on_redacted_text_the_part_in_kept_text_is_left_in_its_offsets(
    text, replacement, left
):
    note, spans = parse_marked(text)
    redacted = redact(
        note, DisjointSpans.of(note, spans), Policy("p", lambda *_: replacement), key=KEY
    )
    hits = [Span(*match.span(), Phi.ID) for match in re.finditer(r"[\d:]+", redacted.text)]

    assert [
        note.text[span.start : span.end] for span in residual_hits(hits, redacted.edits)
    ] == left
