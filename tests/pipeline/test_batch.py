"""The pipeline over a batch.

What the second look finds is covered, and what cannot be is withheld.
"""

import re

import pytest

from deid_assets import Failed, Note, Phi, Span, SpanSet
from deid_assets.core.detector import detect
from deid_assets.core.keys import Key
from deid_assets.core.redact import Policy, Redacted
from deid_assets.pipeline.composition import Pipeline
from deid_assets.pipeline.resolving import Detect, by_note
from deid_assets.pipeline.searching import REDACTIONS, SearchSample

KEY = Key(b"0123456789abcdef")
TAGS = Policy("tags", lambda text, span, context: f"[{span.label}]")


class OnePerNote:
    """Finds the first name it can see, so that a second look finds the next."""

    name, version, labels = "one", "1", frozenset({Phi.NAME})

    def __init__(self, pattern=r"\bZ[a-z]+", raise_on=""):
        self._pattern, self._raise_on = re.compile(pattern), raise_on

    def detect(self, notes):
        for note in notes:
            if self._raise_on and self._raise_on in note.text:
                raise LookupError(note.text)
            match = self._pattern.search(note.text)
            yield SpanSet.of(note, [Span(*match.span(), Phi.NAME, 0.9, self.name)] if match else [])


def detecting(detector):
    return Detect(lambda notes: {detector.name: by_note(detect(detector, notes))}, (detector.name,))


def deidentified(*texts, detector=None, patient="p", draw=None, policy=TAGS):
    detector = detector or OnePerNote()
    pipeline = Pipeline.of(detecting(detector), policy=policy, key=KEY, draw=draw)
    return pipeline.deidentify([Note(f"n{n}", text, patient, "en") for n, text in enumerate(texts)])


def texts_of(done):
    return [
        one.text if isinstance(one, Redacted) else f"{one.error} in {one.stage}"
        for one in done.outcomes
    ]


def test_what_a_second_look_finds_is_covered_in_all_notes_of_the_patient():
    done = deidentified("Zara and Zoltanne.", "seen by zoltanne, ZOLTANNE")

    assert texts_of(done) == ["[NAME] and [NAME].", "seen by zoltanne, [NAME]"]
    assert done.search.hits["n0"]
    assert not done.search.again["n0"]


def test_a_note_is_redacted_again_until_nothing_is_found():
    assert texts_of(deidentified("Zara, Zoe and Zoltanne.", "Nothing.")) == [
        "[NAME], [NAME] and [NAME].",
        "Nothing.",
    ]


def test_a_note_in_which_something_is_found_each_time_is_withheld():
    names = [f"Z{letter}ra" for letter in "abcdefgh"]
    assert (
        texts_of(deidentified(" and ".join(names[: REDACTIONS + 1])))[0].count("[NAME]")
        == REDACTIONS + 1
    )
    assert texts_of(deidentified(" and ".join(names[: REDACTIONS + 2]), "Nothing.")) == [
        "residual-hit in search",
        "Nothing.",
    ]


def test_a_note_that_the_detector_fails_on_is_withheld_and_the_rest_goes_on():
    done = deidentified("Zara.", "trip", "well", detector=OnePerNote(raise_on="trip"))

    assert texts_of(done) == ["[NAME].", "LookupError in spans_one", "well"]


def test_a_detector_that_fails_on_redacted_text_withholds_the_note():
    assert texts_of(deidentified("Zara.", "well", detector=OnePerNote(raise_on="[NAME]"))) == [
        "LookupError in spans_one",
        "well",
    ]


def test_a_replacer_that_raises_withholds_its_note():
    def picky(text, span, context):
        if text == "Zoe":
            raise KeyError(text)
        return "[X]"

    assert texts_of(deidentified("Zara.", "Zoe.", policy=Policy("picky", picky))) == [
        "[X].",
        "KeyError in redact",
    ]


def test_outcomes_come_in_the_order_of_the_notes_and_say_nothing_of_the_text():
    done = deidentified(
        *("Zara saw Zoe and Zed." if n % 3 else "Nothing." for n in range(9)), patient=None
    )

    assert [one.note_id for one in done.outcomes] == [f"n{n}" for n in range(9)]
    assert "Z" not in repr(done)


@pytest.mark.parametrize("limit", [0.9, 0.0])
def test_a_draw_that_is_clean_enough_leaves_the_rest_unsearched(limit):
    done = deidentified(*["Nothing."] * 20, patient=None, draw=SearchSample(KEY, 5, limit))

    assert len(done.search.hits) == (5 if limit else 20)


def test_no_notes_give_no_outcomes():
    assert list(deidentified().outcomes) == []


def test_failures_of_one_patient_keep_no_other_note_back():
    done = deidentified("Zara and Zoltanne.", "trip", detector=OnePerNote(raise_on="trip"))

    assert texts_of(done) == ["[NAME] and [NAME].", "LookupError in spans_one"]
    assert isinstance(done.outcomes[1], Failed)
