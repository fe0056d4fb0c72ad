"""Learning curves: what a few notes of one's own add to a detector that is there."""

import json
from dataclasses import replace

import pytest

from deid_assets import DisjointSpans, Note, Phi, Span, SpanSet, plugins
from deid_assets.core.errors import ConfigError, InputError
from deid_assets.core.trainer import Document
from deid_assets.training import Corpus, Recipe, read_corpus
from deid_assets.training.choosing import QueryStrategy, rank
from deid_assets.training.curve import CurveRequest, _parts, learning_curve, notes_for

pytestmark = [
    pytest.mark.usefixtures("xwords"),
    pytest.mark.skipif("rules" not in plugins.available(), reason="plugin rules is not installed"),
]
WORDS = ("qzorb", "vlimp", "krast", "dwelk", "blorn", "snerf")
"""Names in lower case, which no rule finds."""


def wanted(notes, **given):
    recipe = Recipe.model_validate({"name": "mine", "plugin": "xwords"})
    own = {
        "own": notes(*WORDS),
        "test": notes(*WORDS, corpus="test"),
        "sizes": (2, 4, 6),
        "recipe": recipe,
    }
    return CurveRequest(**{**own, **given})


def quiet(*_):
    """Take no notice of an epoch."""


@pytest.mark.long
def test_each_note_that_is_annotated_adds_what_its_words_cover(notes, tmp_path):
    curve = learning_curve(
        wanted(notes, beside=[notes("xal", "xbo", corpus="beside")]), tmp_path, progress=quiet
    )
    points, scored = curve.points, curve.scored

    assert (scored, [point.notes for point in points]) == (6, [0, 2, 4, 6])
    assert [point.covered for point in points] == [0, 2, 4, 6]
    assert points[0].gain is None
    assert points[-1].recall == 1.0
    assert points[-1].gain[0] == pytest.approx(1.0 - points[0].recall)
    assert points[-1].gain[1] > 0


@pytest.mark.parametrize(("count", "rounds"), [(12, 6), (20, 4), (23, 8)])
def test_there_are_as_many_rounds_as_the_largest_size_that_fits_takes(notes, count, rounds):
    own = notes(*(f"name{number}x" for number in range(count)))

    assert len(_parts(wanted(notes, own=own, test=None, sizes=(5, 10, 20, 50)))) == rounds


@pytest.mark.long
@pytest.mark.parametrize(
    ("count", "sizes", "rounds"),
    [
        (12, [5, 10], 6),
        pytest.param(20, [5, 10], 4, marks=pytest.mark.slow),
        pytest.param(23, [5, 10, 20], 8, marks=pytest.mark.slow),
    ],
)
def test_without_test_notes_each_is_held_out_once_and_the_largest_size_that_fits_is_shown(
    notes, tmp_path, count, sizes, rounds
):
    own = notes(*(f"name{number}x" for number in range(count)))
    curve = learning_curve(
        wanted(notes, own=own, test=None, sizes=(5, 10, 20, 50)), tmp_path, progress=quiet
    )

    assert (curve.scored, curve.rounds) == (count, rounds)
    assert [point.notes for point in curve.points] == [0, *sizes]
    assert list(tmp_path.glob("round-*")) == []


@pytest.mark.parametrize("size", [1, 5, 10, 20, 50])
def test_as_many_notes_as_a_size_is_said_to_take_are_enough_and_one_less_is_not(notes, size):
    own = notes(*(f"name{number}x" for number in range(notes_for(size))))
    fewer = Corpus(own.name, own.documents[1:])

    assert (
        min(len(pool) for pool, _ in _parts(wanted(notes, own=own, test=None, sizes=(size,))))
        >= size
    )
    if len(fewer.documents) > 1:
        assert (
            min(len(pool) for pool, _ in _parts(wanted(notes, own=fewer, test=None, sizes=(size,))))
            < size
        )


def test_wrong_sizes_are_told(notes, tmp_path):
    with pytest.raises(ConfigError, match="sizes 4, 2: give ascending"):
        learning_curve(wanted(notes, sizes=(4, 2)), tmp_path, progress=quiet)
    with pytest.raises(InputError, match="6 notes to draw from, 9 wanted"):
        learning_curve(wanted(notes, sizes=(9,)), tmp_path, progress=quiet)
    with pytest.raises(InputError, match="among the test notes"):
        learning_curve(wanted(notes, test=notes(*WORDS)), tmp_path, progress=quiet)


@pytest.mark.long
def test_a_threshold_that_costs_too_much_on_the_notes_drawn_is_not_taken(notes, tmp_path):
    """In each note the name of another stands as an ordinary word.

    What is learnt of one spoils the others.
    """
    own = notes(*WORDS)
    spoilt = [
        replace(
            document.note,
            text=(
                f"{document.note.text}"
                f" {' '.join(word for word in WORDS if word not in document.note.text)}"
            ),
        )
        for document in own.documents
    ]
    documents = [
        Document(note, DisjointSpans.of(note, document.spans.spans))
        for note, document in zip(spoilt, own.documents, strict=True)
    ]
    own = Corpus("mine", tuple(documents))
    points = learning_curve(wanted(notes, own=own, sizes=(6,)), tmp_path, progress=quiet).points

    assert points[1].min_score is None
    assert (points[1].covered, points[1].recall) == (points[0].covered, points[0].recall)


@pytest.mark.long
def test_every_note_that_was_drawn_is_trained_on_and_none_of_the_folds_is_left(notes, tmp_path):
    learning_curve(wanted(notes, sizes=(4,)), tmp_path, progress=quiet)

    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("notes")] == [
        "notes-4"
    ]
    words = json.loads((tmp_path / "notes-4" / "tagger.json").read_text())["words"]
    assert len({*words} & {*WORDS}) == 4


@pytest.mark.long
def test_the_model_chooses_the_notes_after_the_first(notes, tmp_path):
    """Tagger and `rules` disagree where a word comes again that the tagger learnt, and nowhere
    else.
    """
    learnt = {}
    for choice in (QueryStrategy.RANDOM, QueryStrategy.DISAGREEMENT):
        own = without_years(notes(*WORDS, *WORDS))
        learning_curve(
            wanted(notes, own=own, sizes=(1, 2), choice=choice), tmp_path / choice, progress=quiet
        )
        words = json.loads((tmp_path / choice / "notes-2" / "tagger.json").read_text())["words"]
        learnt[choice] = len({*words} & {*WORDS})

    assert learnt == {QueryStrategy.RANDOM: 2, QueryStrategy.DISAGREEMENT: 1}


def test_annotations_that_overlap_become_one_and_are_counted(tmp_path):
    spans = [
        {"start": 10, "end": 27, "label": "STREET"},
        {"start": 10, "end": 16, "label": "CITY"},
        {"start": 25, "end": 31, "label": "ZIP"},
        {"start": 0, "end": 3, "label": "NAME"},
    ]
    path = tmp_path / "nested.jsonl"
    path.write_text(
        json.dumps(
            {
                "id": "n",
                "lang": "en",
                "text": "Ada lives 12 Moss Street 4 12345 now.",
                "spans": spans,
            }
        )
    )
    corpus = read_corpus(str(path))

    assert corpus.joined == 2
    assert [(one.start, one.end, one.label) for one in corpus.documents[0].spans] == [
        (0, 3, "NAME"),
        (10, 31, "STREET"),
    ]


def test_notes_are_ranked_by_what_two_detectors_say():
    same, other, nothing = (Note(name, "Ada saw Moss") for name in ("a", "b", "c"))
    rules = [
        SpanSet.of(note, spans)
        for note, spans in ((same, [name(0, 3)]), (other, [name(0, 3)]), (nothing, []))
    ]
    tagger = [
        SpanSet.of(note, spans)
        for note, spans in ((same, [name(0, 3, 0.5)]), (other, [name(8, 12, 0.9)]), (nothing, []))
    ]

    by_disagreement = rank([same, other, nothing], rules, tagger, QueryStrategy.DISAGREEMENT)
    by_uncertainty = rank([same, other, nothing], rules, tagger, QueryStrategy.UNCERTAINTY)

    assert [one.note_id for one in by_disagreement] == ["b", "a", "c"]
    assert [one.disagreement for one in by_disagreement] == pytest.approx([1_000 * 7 / 12, 0, 0])
    assert (by_disagreement[0].tagger_alone, by_disagreement[0].detector_alone) == (1, 1)
    assert [one.note_id for one in by_uncertainty] == ["a", "b", "c"]
    assert by_uncertainty[0].uncertainty == pytest.approx(1_000 * 0.5 / 12)


def without_years(corpus):
    documents = [
        replace(one, spans=DisjointSpans.of(one.note, one.spans.spans[:1]))
        for one in corpus.documents
    ]
    return Corpus(corpus.name, tuple(documents))


def name(start, end, score=1.0):
    return Span(start, end, Phi.NAME, score)
