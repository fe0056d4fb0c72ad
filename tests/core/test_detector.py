import pytest

from deid_assets import Failed, Note, Phi, Span, SpanSet
from deid_assets.core.detector import detect
from deid_assets.core.errors import DetectorError, DigestError
from deid_assets.testing import check_detector

CANARY = "Zebulon Quartermain"


class Finder:
    """Finds the word PHI; raises on BOOM."""

    name = "finder"
    version = "1"
    labels = frozenset({Phi.NAME})

    def detect(self, notes):
        for note in notes:
            if "BOOM" in note.text:
                raise RuntimeError(note.text)
            at = note.text.find("PHI")
            yield SpanSet.of(
                note, [Span(at, at + 3, Phi.NAME, source=self.name)] if at >= 0 else []
            )


class Undeclared(Finder):
    labels = frozenset({Phi.DATE})


class Nameless(Finder):
    """Leaves out the source, which an ensemble goes by."""

    def detect(self, notes):
        return [
            SpanSet.of(note, [Span(0, 3, Phi.NAME)] if note.text.startswith("PHI") else [])
            for note in notes
        ]


class Short(Finder):
    def detect(self, notes):
        return list(super().detect(notes))[1:]


class Swapped(Finder):
    def detect(self, notes):
        return list(super().detect(notes))[::-1]


class Remembers(Finder):
    def __init__(self):
        self.seen = 0

    def detect(self, notes):
        self.seen += 1
        return [
            SpanSet.of(
                note, [Span(0, 1, Phi.NAME, source="finder")] if note.text and self.seen > 1 else []
            )
            for note in notes
        ]


def test_one_bad_note_fails_alone_and_the_rest_keep_their_spans():
    notes = [Note("a", "PHI"), Note("b", f"BOOM {CANARY}"), Note("c", "no")]
    found = detect(Finder(), notes)

    assert [type(outcome) for outcome in found] == [SpanSet, Failed, SpanSet]
    assert found[1] == Failed("b", "spans_finder", "RuntimeError")
    assert len(found[0]) == 1
    assert CANARY not in repr(found)


@pytest.mark.parametrize("broken", [Undeclared(), Short()])
def test_a_broken_contract_is_a_failure_never_an_empty_set(broken):
    assert [type(outcome) for outcome in detect(broken, [Note("a", "PHI"), Note("b", "PHI")])] == [
        Failed,
        Failed,
    ]


def test_results_in_the_wrong_order_are_judged_note_by_note():
    found = detect(Swapped(), [Note("a", "PHI"), Note("b", "x PHI")])

    assert [outcome.spans[0].start for outcome in found] == [0, 2]


def test_a_correct_detector_passes_the_contract():
    check_detector(Finder())


@pytest.mark.parametrize("broken", [Undeclared(), Short(), Swapped(), Remembers()])
def test_the_contract_catches_broken_detectors(broken):
    with pytest.raises((DetectorError, DigestError)):
        check_detector(broken, texts=["PHI", "a PHI", "b"])


def test_spans_of_another_source_fail_the_note_and_are_not_lost_to_the_ensemble():
    assert detect(Nameless(), [Note("a", "PHI")]) == [Failed("a", "spans_finder", "DetectorError")]
    with pytest.raises(DetectorError, match="another source"):
        check_detector(Nameless(), texts=["PHI"])
