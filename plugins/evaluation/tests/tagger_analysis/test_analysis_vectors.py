"""Vectors of a known geometry: neighbours, projections and languages are where they were put."""

import numpy as np
import pytest

from deid_assets import DisjointSpans, Note
from deid_assets.core.errors import InputError, PluginError
from deid_assets.core.tagging import tokenize
from deid_assets.core.trainer import Document
from deid_assets.testing import parse_marked
from deid_tagger_analysis.vectors import Space, alike, apart, project, read_space
from deid_tagger_analysis.words import ambiguous, neighbour_lists

AXES = {"NAME": 0, "CITY": 1, "O": 2}


def document(text, *, lang="en", number=0):
    note, spans = parse_marked(text, note_id=f"{lang}-{number}")
    note = Note(note.note_id, note.text, lang=lang)
    return Document(note, DisjointSpans.of(note, spans))


NAMES, CITIES = ("Lee", "Ito", "Berg", "Cruz", "Dahl"), ("Oslo", "Rome", "Paris", "Lima", "Bern")
DOCUMENTS = [
    document(f"Seen was <NAME>{name}</NAME> in <CITY>{city}</CITY>, {verb} well.", number=number)
    for number, (name, city, verb) in enumerate(
        zip(NAMES, CITIES, ("ate", "slept", "walked", "sat", "ran"), strict=True)
    )
]


class Lettered:
    """Vectors that say nothing of labels in the first layer, and one axis per label in the last."""

    def vectors(self, model, notes):
        for note in notes:
            words = [note.text[start:end] for start, end in tokenize(note.text)]
            first = np.array([[len(word), ord(word[0]) % 7, 1.0] for word in words], np.float32)
            last = np.zeros((len(words), 3), np.float32)
            for at, word in enumerate(words):
                last[at, AXES["NAME" if word in NAMES else "CITY" if word in CITIES else "O"]] = (
                    1.0 + len(word) / 100
                )
            yield {"before": first.reshape(-1, 3), "after": last}


def space(layers, labels, words, languages=None):
    return Space(
        labels,
        languages or ["en"] * len(labels),
        words,
        [(0, at) for at in range(len(labels))],
        layers,
    )


def test_words_are_read_with_their_labels_and_vectors():
    found = read_space(Lettered(), None, DOCUMENTS, native=False)

    assert sorted(set(found.labels)) == ["CITY", "NAME", "O"]
    assert "," not in found.words
    assert "." not in found.words
    for word, label, row in zip(found.words, found.labels, found.layers["after"], strict=True):
        assert label == ("NAME" if word in NAMES else "CITY" if word in CITIES else "O")
        assert row.argmax() == AXES[label]


def test_no_word_is_in_the_repr_of_a_space():
    assert "Lee" not in repr(read_space(Lettered(), None, DOCUMENTS, native=False))


def test_a_layer_that_parts_the_labels_has_neighbours_of_one_label_alone():
    every, *by_label = alike(read_space(Lettered(), None, DOCUMENTS, native=False), nearest=4)

    assert [row["label"] for row in by_label] == ["CITY", "NAME", "O"]
    assert {row["label"]: row["layers"]["after"] for row in by_label} == {
        "CITY": 1.0,
        "NAME": 1.0,
        "O": 1.0,
    }
    assert every["layers"]["before"] < 0.9
    assert every["tokens"] == sum(row["tokens"] for row in by_label)


def test_the_same_word_is_no_neighbour_and_chance_is_counted():
    rows = np.array([[1, 0], [1, 0.01], [1, 0.02], [0, 1]], np.float32)
    found = alike(
        space({"one": rows}, ["NAME", "NAME", "CITY", "CITY"], ["Lee", "lee", "Rome", "Oslo"]),
        nearest=1,
    )

    by_label = {row["label"]: row for row in found}
    assert by_label["NAME"]["layers"]["one"] == 0.0  # the nearest other word of both is Rome
    assert by_label["NAME"]["chance"] == 0.0  # and there is no other name
    assert by_label["CITY"]["chance"] == pytest.approx(1 / 3)


def test_three_components_of_known_variance_are_found():
    chance = np.random.default_rng(1)
    basis, _ = np.linalg.qr(chance.normal(size=(6, 6)))
    scales = np.array([5.0, 3.0, 2.0, 0, 0, 0])
    rows = (chance.permuted(np.tile([-1.0, 1.0], (3, 50)), axis=1).T, np.zeros((100, 3)))
    known = np.concatenate(rows, axis=1) * scales
    known -= known.mean(axis=0)
    found = project((known @ basis.T + 7).astype(np.float32))

    left, singular, _ = np.linalg.svd(known, full_matrices=False)
    wanted = left[:, :3] * singular[:3]
    np.testing.assert_allclose(np.abs(found.points), np.abs(wanted), atol=1e-3)
    np.testing.assert_allclose(found.explained, (singular**2 / (singular**2).sum())[:3], atol=1e-5)
    assert sum(found.explained) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("shape", [(40, 9), (9, 40), (5, 2), (4, 1)])
def test_tall_and_wide_vectors_are_projected_alike(shape):
    rows = np.random.default_rng(2).normal(size=shape).astype(np.float32)
    found = project(rows)

    _, singular, _ = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
    spread = np.sqrt((found.points**2).sum(axis=0))
    shown = min(3, len(singular))
    np.testing.assert_allclose(spread[:shown], singular[:shown], rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(found.points.mean(axis=0), 0, atol=1e-4)
    assert (found.points[np.abs(found.points).argmax(axis=0), range(3)] >= 0).all()


def test_vectors_that_are_all_one_have_no_components():
    found = project(np.ones((6, 4), np.float32))
    assert (found.points == 0).all()
    assert found.explained == (0.0, 0.0, 0.0)


def test_languages_lie_in_one_place_or_in_two():
    labels, languages = ["NAME", "NAME", "CITY", "CITY"], ["en", "it"] * 2
    together = np.array([[1, 0], [1, 0], [-1, 0], [-1, 0]], np.float32)
    crossed = np.array([[1, 0], [-1, 0], [-1, 0], [1, 0]], np.float32)
    found = apart(space({"same": together, "crossed": crossed}, labels, list("abcd"), languages))

    assert [row["label"] for row in found] == ["CITY", "NAME"]
    for row in found:
        assert row["layers"] == pytest.approx({"same": 0.0, "crossed": 2.0}, abs=1e-6)
    assert apart(space({"same": together}, labels, list("abcd"))) == []


def test_labels_and_languages_are_drawn_alike_and_the_draw_repeats():
    other = [
        document(f"Visto <NAME>Rossi</NAME> {number} volte dopo cena", lang="it", number=number)
        for number in range(30)
    ]
    both = [*DOCUMENTS, *other]
    one, two = (
        read_space(Lettered(), None, both, native=False, tokens=25, seed=3) for _ in range(2)
    )

    kinds = list(zip(one.labels, one.languages, strict=True))
    assert len(kinds) == 25
    assert {kind: kinds.count(kind) for kind in set(kinds)} == dict.fromkeys(kinds, 5)
    assert (one.places, one.words) == (two.places, two.words)
    assert read_space(Lettered(), None, both, native=False, tokens=25, seed=4).places != one.places


FAULTS = {
    "too few words": ([document("a, b; c.")], Lettered(), InputError, "3 words are too few"),
    "too few vectors": (
        DOCUMENTS,
        "short",
        PluginError,
        r"note 'en-\d': layer x has 1 vectors for 9 tokens",
    ),
    "no number": (DOCUMENTS, "nan", PluginError, "not finite"),
}


class Broken:
    def __init__(self, how):
        self.how = how

    def vectors(self, model, notes):
        for note in notes:
            count = 1 if self.how == "short" else len(tokenize(note.text))
            yield {"x": np.full((count, 2), np.nan if self.how == "nan" else 1.0, np.float32)}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_told(fault):
    documents, source, error, message = FAULTS[fault]
    with pytest.raises(error, match=message) as told:
        read_space(
            Broken(source) if isinstance(source, str) else source, None, documents, native=False
        )
    assert not any(word in str(told.value) for word in (*NAMES, *CITIES))


def test_neighbours_of_a_word_are_those_put_beside_it():
    labels = ["CITY", "CITY", "NAME", "NAME", "O"]
    words = ["Rome", "Oslo", "Jordan", "Lee", "ate"]
    before = np.array([[1, 0, 0], [1, 0.1, 0], [1, 0.2, 0], [0, 1, 0], [0, 0, 1]], np.float32)
    after = np.array([[1, 0, 0], [1, 0.1, 0], [0, 1, 0.1], [0, 1, 0], [0, 0, 1]], np.float32)
    lists = neighbour_lists(
        space({"before": before, "after": after}, labels, words),
        known={"Lee": 3},
        missed=[False, False, True, False, False],
        asked=["rome"],
        nearest=2,
    )
    by_word = {row["word"]: row for row in lists}
    assert [(row["word"], row["why"]) for row in lists] == [
        ("Rome", "asked for"),
        ("Jordan", "missed"),
        ("Oslo", "frequent"),
        ("Lee", "frequent"),
    ]
    near = {
        layer: [one["word"] for one in rows] for layer, rows in by_word["Jordan"]["layers"].items()
    }
    assert near == {"before": ["Oslo", "Rome"], "after": ["Lee", "ate"]}
    assert by_word["Jordan"]["layers"]["after"][0]["count"] == 3
    cosine = 1 / np.sqrt(1.01)
    assert by_word["Jordan"]["layers"]["after"][0]["cosine"] == pytest.approx(cosine, abs=1e-4)


def test_a_word_under_two_labels_shows_how_far_the_context_parts_it():
    layers = {
        "before": np.array([[1, 0], [1, 0], [0, 1]]),
        "after": np.array([[1, 0], [0, 1], [0, 1]]),
    }
    rows = {name: values.astype(np.float32) for name, values in layers.items()}
    (found,) = ambiguous(space(rows, ["CITY", "NAME", "NAME"], ["Jordan", "Jordan", "Lee"]))

    assert found == {
        "word": "Jordan",
        "labels": ["CITY", "NAME"],
        "tokens": 2,
        "layers": {"before": 1.0, "after": 0.0},
    }


def test_a_word_that_is_not_there_is_refused_without_being_shown():
    rows = np.eye(4, dtype=np.float32)
    with pytest.raises(InputError, match="not among the words") as told:
        neighbour_lists(
            space({"x": rows}, ["O"] * 4, list("abcd")),
            known={},
            missed=[False] * 4,
            asked=["Qwertz"],
        )
    assert "Qwertz" not in str(told.value)
