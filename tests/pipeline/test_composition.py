"""The list of steps: it can be printed, cut short, and edited, and spans may enter from a store."""

from dataclasses import dataclass, replace
from typing import ClassVar

import pytest

from deid_assets import DisjointSpans, Failed, Note, Phi, Span, SpanSet
from deid_assets.core.errors import ConfigError
from deid_assets.core.keys import Key
from deid_assets.core.redact import Policy, Redacted
from deid_assets.pipeline.batch import Batch
from deid_assets.pipeline.composition import Pipeline
from deid_assets.pipeline.redacting import Redact
from deid_assets.pipeline.resolving import Detect

KEY = Key(b"0123456789abcdef")
TAGS = Policy("tags", lambda text, span, context: f"[{span.label}]")
STARS = Policy("stars", lambda text, span, context: "***")


@dataclass
class Reader:
    """Finds one word, and counts how often it is asked."""

    word: str = "Zara"
    asked: int = 0

    def __call__(self, notes):
        self.asked += 1
        return {"one": {note.note_id: self.spans(note) for note in notes}}

    def spans(self, note):
        at = note.text.find(self.word)
        found = [] if at < 0 else [Span(at, at + len(self.word), Phi.NAME, 0.9, "one")]
        return SpanSet.of(note, found)


def pipeline_with(reader=None, policy=TAGS):
    return Pipeline.of(Detect(reader or Reader(), ("one",)), policy=policy, key=KEY)


def texts_of(batch):
    return [
        one.text if isinstance(one, Redacted) else f"{one.error} in {one.stage}"
        for one in batch.outcomes
    ]


def test_a_pipeline_prints_its_steps_with_their_settings_and_no_key():
    assert str(pipeline_with()).splitlines() == [
        "detect   one",
        "resolve  union of one",
        "spread   what is found once, over the notes of its patient",
        "redact   policy tags",
        (
            "search   union of one in 1,000 redacted notes drawn by key,"
            " in all if over 1% may have hits"
        ),
        "verify   no value known of a patient is left in a note",
    ]


def test_stored_spans_enter_and_no_detector_runs_but_in_the_search():
    note = Note("n", "Zoe saw Zara.", "p", "en")
    spans = {"n": DisjointSpans.of(note, [Span(0, 3, Phi.NAME, 1.0, "store")])}
    reader = Reader()
    stored = pipeline_with(reader).without("detect", "resolve", "spread")

    searched = stored.run(Batch([note], spans))
    assert texts_of(searched) == ["[NAME] saw [NAME]."]
    assert reader.asked == 2  # redacted text, and once more after a hit

    unsearched = stored.without("search").run(Batch([note], spans))
    assert texts_of(unsearched) == ["[NAME] saw Zara."]
    assert reader.asked == 2


def test_a_step_is_replaced_by_one_of_its_name_and_redone_as_replaced():
    edited = pipeline_with(Reader(word="Z")).with_step(Redact(STARS, KEY))

    assert texts_of(edited.deidentify([Note("n", "Z Z, Z", "p", "en")])) == ["*** ***, ***"]


@dataclass
class Careful:
    """A step of one's own: a note with a word is withheld."""

    word: str
    name: ClassVar[str] = "careful"

    def run(self, batch):
        return batch.withholding(
            {
                note.note_id: Failed(note.note_id, self.name, "Word")
                for note in batch.notes
                if self.word in note.text
            }
        )


@pytest.mark.parametrize("before", ["detect", "redact", "verify"])
def test_a_step_of_ones_own_withholds_wherever_it_stands(before):
    edited = pipeline_with().with_step(Careful("secret"), before=before)
    notes = [Note("a", "Zara, a secret", "p", "en"), Note("b", "Zara", "p", "en")]

    assert texts_of(edited.deidentify(notes)) == ["Word in careful", "[NAME]"]


def test_an_unknown_step_is_refused_with_those_there_are():
    with pytest.raises(ConfigError, match="no step 'merge'; the steps are detect, resolve"):
        pipeline_with().without("merge")
    with pytest.raises(ConfigError, match="no step 'careful'"):
        pipeline_with().with_step(Careful("x"))
    with pytest.raises(ConfigError, match="unknown overlap policy 'unoin'; did you mean 'union'"):
        Pipeline.of(Detect(Reader(), ("one",)), policy=TAGS, key=KEY, resolve_by="unoin")


def test_without_redaction_every_note_is_withheld_and_none_is_searched():
    notes = [Note("n", "Zara.", "p", "en")]
    with pytest.raises(ConfigError, match="put search after redact"):
        pipeline_with().without("redact").deidentify(notes)

    done = pipeline_with().without("redact", "search").deidentify(notes)
    assert texts_of(done) == ["Missing in redact"]


def test_a_note_without_spans_is_withheld_and_never_left_as_it_is():
    notes = [Note("n", "Zara.", "p", "en"), Note("m", "Zara.", "q", "en")]
    spans = {"n": DisjointSpans.of(notes[0], [Span(0, 4, Phi.NAME)])}
    stored = pipeline_with().without("detect", "resolve")

    assert texts_of(stored.run(Batch(notes, spans))) == ["[NAME].", "Missing in redact"]


def test_a_value_that_people_marked_and_nothing_covers_is_withheld_by_verify():
    notes = [Note("n", "Quill and Zara.", "p", "en"), Note("m", "Quill, Zara.", "q", "en")]
    annotated = {"n": SpanSet.of(notes[0], [Span(0, 5, Phi.NAME)])}

    assert texts_of(pipeline_with().run(Batch(notes, annotated=annotated))) == [
        "surviving-value in verify",
        "Quill, [NAME].",
    ]
    covering = pipeline_with().with_step(Redact(TAGS, KEY, covers_annotated=True))
    assert texts_of(covering.run(Batch(notes, annotated=annotated)))[0] == "[NAME] and [NAME]."


def test_a_batch_shows_no_text():
    done = pipeline_with().deidentify([Note("n", "Zara Quill.", "Quillp", "en")])

    assert "Zara" not in repr(done)
    assert "Quill" not in repr(replace(done, search=None))
