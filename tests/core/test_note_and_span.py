import pytest

from deid_assets import DisjointSpans, Note, Phi, Span, SpanSet
from deid_assets.core.errors import DigestError, NoteError, OffsetError, OverlapError

CANARY = "Zebulon Quartermain"


def test_repr_of_note_and_spans_hides_text_patient_and_meta():
    note = Note("n1", f"Seen: {CANARY}", patient_id=CANARY, meta={"author": CANARY})

    assert CANARY not in repr(note)
    assert CANARY not in repr(SpanSet.of(note, [Span(6, 25, Phi.NAME)]))


def test_text_is_kept_as_received():
    text = "\ufeffA\r\nB\rC\u2028e\u0301 \x00"

    assert Note("n1", text).text == text


@pytest.mark.parametrize("note_id", ["", "a" * 201, "line\nbreak", "tab\t"])
def test_unusable_ids_are_refused(note_id):
    with pytest.raises(NoteError):
        Note(note_id, "text")


def test_lone_surrogate_is_refused_with_its_offset_and_without_text():
    with pytest.raises(NoteError, match="offset 20") as caught:
        Note("n1", f"{CANARY} \ud800")

    assert CANARY not in str(caught.value)


@pytest.mark.parametrize(("start", "end"), [(-1, 2), (2, 2), (3, 2)])
def test_empty_reversed_and_negative_spans_are_refused(start, end):
    with pytest.raises(OffsetError):
        Span(start, end, Phi.NAME)


@pytest.mark.parametrize("score", [-0.1, 1.1, float("nan")])
def test_scores_outside_the_unit_interval_are_refused(score):
    with pytest.raises(OffsetError):
        Span(0, 1, Phi.NAME, score)


def test_span_after_the_end_is_refused():
    with pytest.raises(OffsetError, match="ends at 9, note has 4"):
        SpanSet.of(Note("n1", "abcd"), [Span(0, 9, Phi.NAME)])


def test_spans_are_refused_on_another_version_of_the_text():
    spans = SpanSet.of(Note("n1", "Dr. Lee"), [Span(4, 7, Phi.NAME)])

    with pytest.raises(DigestError):
        spans.check_against(Note("n1", "Dr. Lea"))
    with pytest.raises(DigestError):
        spans.check_against(Note("n2", "Dr. Lee"))


def test_spans_are_sorted_and_touching_spans_are_disjoint():
    note = Note("n1", "abcdef")
    spans = DisjointSpans.of(note, [Span(3, 6, Phi.DATE), Span(0, 3, Phi.NAME)])

    assert [span.start for span in spans] == [0, 3]


def test_overlapping_spans_are_not_disjoint():
    with pytest.raises(OverlapError, match=r"\[0, 4\) and \[3, 6\)"):
        DisjointSpans.of(Note("n1", "abcdef"), [Span(3, 6, Phi.DATE), Span(0, 4, Phi.NAME)])
