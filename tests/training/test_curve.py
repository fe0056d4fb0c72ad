"""Learning curves: what a few notes of one's own add to a detector that is there."""

import json
from dataclasses import replace

import pytest

from deid_assets import DisjointSpans, Note, Phi, Span, SpanSet, plugins
from deid_assets.core.errors import ConfigError, InputError
from deid_assets.core.trainer import Document
from deid_assets.training import Corpus, Recipe
from deid_assets.training.choosing import Choice, rank
from deid_assets.training.curve import Wanted, learning_curve

pytestmark = [
    pytest.mark.usefixtures("xwords"),
    pytest.mark.skipif("rules" not in plugins.available(), reason="plugin rules is not installed"),
]
WORDS = ("qzorb", "vlimp", "krast", "dwelk", "blorn", "snerf")
"""Names in lower case, which no rule finds."""


def wanted(notes, **given):
    recipe = Recipe.model_validate({"name": "mine", "plugin": "xwords"})
    own = {"own": notes(*WORDS), "test": notes(*WORDS, corpus="test"), "sizes": (2, 4, 6), "recipe": recipe}
    return Wanted(**{**own, **given})


def quiet(*_):
    """Take no notice of an epoch."""


def test_each_note_that_is_annotated_adds_what_its_words_cover(notes, tmp_path):
    points, scored = learning_curve(
        wanted(notes, beside=[notes("xal", "xbo", corpus="beside")]), tmp_path, progress=quiet
    )

    assert (scored, [point.notes for point in points]) == (6, [0, 2, 4, 6])
    assert [point.covered for point in points] == [0, 2, 4, 6]
    assert points[0].gain is None
    assert points[-1].recall == 1.0
    assert points[-1].gain[0] == pytest.approx(1.0 - points[0].recall)
    assert points[-1].gain[1] > 0


def test_without_test_notes_half_of_the_patients_are_held_out(notes, tmp_path):
    own = notes(*(f"name{number}x" for number in range(12)))
    points, scored = learning_curve(wanted(notes, own=own, test=None, sizes=(3, 500)), tmp_path, progress=quiet)

    assert 0 < scored < 12
    assert [point.notes for point in points] == [0, 3]


def test_wrong_sizes_are_told(notes, tmp_path):
    with pytest.raises(ConfigError, match="sizes 4, 2: give ascending"):
        learning_curve(wanted(notes, sizes=(4, 2)), tmp_path, progress=quiet)
    with pytest.raises(InputError, match="6 notes to draw from, 9 wanted"):
        learning_curve(wanted(notes, sizes=(9,)), tmp_path, progress=quiet)
    with pytest.raises(InputError, match="among the test notes"):
        learning_curve(wanted(notes, test=notes(*WORDS)), tmp_path, progress=quiet)


def test_a_threshold_that_costs_too_much_on_the_notes_drawn_is_not_taken(notes, tmp_path):
    """In each note the name of another stands as an ordinary word: what is learnt of one spoils the others."""
    own = notes(*WORDS)
    spoilt = [
        replace(
            document.note,
            text=f"{document.note.text} {' '.join(word for word in WORDS if word not in document.note.text)}",
        )
        for document in own.documents
    ]
    documents = [
        Document(note, DisjointSpans.of(note, document.spans.spans))
        for note, document in zip(spoilt, own.documents, strict=True)
    ]
    points, _ = learning_curve(
        wanted(notes, own=Corpus("mine", tuple(documents)), sizes=(6,)), tmp_path, progress=quiet
    )

    assert points[1].min_score is None
    assert (points[1].covered, points[1].recall) == (points[0].covered, points[0].recall)


def test_every_note_that_was_drawn_is_trained_on_and_none_of_the_folds_is_left(notes, tmp_path):
    learning_curve(wanted(notes, sizes=(4,)), tmp_path, progress=quiet)

    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("notes")] == ["notes-4"]
    words = json.loads((tmp_path / "notes-4" / "tagger.json").read_text())["words"]
    assert len({*words} & {*WORDS}) == 4


def test_the_model_chooses_the_notes_after_the_first(notes, tmp_path):
    """Tagger and `rules` disagree where a word comes again that the tagger learnt, and nowhere else."""
    learnt = {}
    for choice in (Choice.RANDOM, Choice.DISAGREEMENT):
        own = without_years(notes(*WORDS, *WORDS))
        learning_curve(wanted(notes, own=own, sizes=(1, 2), choice=choice), tmp_path / choice, progress=quiet)
        words = json.loads((tmp_path / choice / "notes-2" / "tagger.json").read_text())["words"]
        learnt[choice] = len({*words} & {*WORDS})

    assert learnt == {Choice.RANDOM: 2, Choice.DISAGREEMENT: 1}


def test_notes_are_ranked_by_what_two_detectors_say():
    same, other, nothing = (Note(name, "Ada saw Moss") for name in ("a", "b", "c"))
    rules = [SpanSet.of(note, spans) for note, spans in ((same, [name(0, 3)]), (other, [name(0, 3)]), (nothing, []))]
    tagger = [
        SpanSet.of(note, spans)
        for note, spans in ((same, [name(0, 3, 0.5)]), (other, [name(8, 12, 0.9)]), (nothing, []))
    ]

    by_disagreement = rank([same, other, nothing], rules, tagger, Choice.DISAGREEMENT)
    by_uncertainty = rank([same, other, nothing], rules, tagger, Choice.UNCERTAINTY)

    assert [one.note_id for one in by_disagreement] == ["b", "a", "c"]
    assert [one.disagreement for one in by_disagreement] == pytest.approx([1_000 * 7 / 12, 0, 0])
    assert (by_disagreement[0].tagger_alone, by_disagreement[0].detector_alone) == (1, 1)
    assert [one.note_id for one in by_uncertainty] == ["a", "b", "c"]
    assert by_uncertainty[0].uncertainty == pytest.approx(1_000 * 0.5 / 12)


def without_years(corpus):
    documents = [replace(one, spans=DisjointSpans.of(one.note, one.spans.spans[:1])) for one in corpus.documents]
    return Corpus(corpus.name, tuple(documents))


def name(start, end, score=1.0):
    return Span(start, end, Phi.NAME, score)
