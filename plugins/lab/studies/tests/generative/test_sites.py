"""A new site's notes.

What a model of another site misses there, what training on some of them mends, and how many it
takes.
"""

from __future__ import annotations

from pathlib import Path

from tiny_pairs import TINY

from deid_assets import DisjointSpans
from deid_assets.core.trainer import Document
from deid_assets.testing import parse_marked
from deid_assets.training import Corpus, Materials, Recipe
from deid_assets.training.comparison import compare_recipes
from deid_assets.training.curve import CurveRequest, learning_curve
from deid_assets.training.recipe import Strategy

NAMES = ("qzorb", "vlimp", "krast", "dwelk")
"""In lower case, which no rule finds."""
COMPLAINTS = ("toux", "chute", "fievre", "malaise")
HERE, THERE = "Vu par Dr <NAME>{}</NAME>, {}.", "{1}, amie <NAME>{0}</NAME> jointe"
SETTINGS = {
    **TINY,
    "method": "full",
    "learning_rate": 1e-2,
    "epochs": 12,
    "biases": (),
    "new": {**TINY["new"], "steps": 0},
}


def corpus(name: str, style: str, *parts: int) -> Corpus:
    """Return notes of one style, each of a patient of its own.

    Of four parts, with all words in every two of them.
    """
    found = []
    for who, name_said in enumerate(NAMES):
        for what, complaint in enumerate(COMPLAINTS):
            if (who + what) % 4 in parts:
                text = style.format(name_said, complaint)
                note, spans = parse_marked(text, note_id=f"{name}-{who}-{what}", lang="fr")
                found.append(Document(note, DisjointSpans(note.note_id, note.digest, spans.spans)))
    return Corpus(name, tuple(found))


def recipe(name: str, strategy: Strategy = Strategy.SINGLE) -> Recipe:
    return Recipe.model_validate(
        {
            "name": name,
            "plugin": "generative",
            "strategy": strategy,
            "seed": 1,
            "settings": SETTINGS,
        }
    )


def test_a_model_fails_at_a_new_site_and_is_mended_by_some_of_its_notes(tmp_path: Path) -> None:
    here, there = corpus("here", HERE, 0, 1, 2), corpus("there", THERE, 0, 1)
    test = corpus("test", THERE, 2)
    given = {
        "generative_old": Materials(corpora=[here], dev=corpus("dev", HERE, 3), test=test),
        "generative_both": Materials(corpora=[here, there], dev=corpus("dev", THERE, 3), test=test),
    }
    old, both = compare_recipes(
        [recipe("generative_old"), recipe("generative_both", Strategy.MIX)],
        given,
        tmp_path,
        progress=lambda *_: None,
    )

    assert old.cards[0].dev["labels"]["NAME"]["tp"] > 0
    assert old.mean < both.mean


def test_the_more_notes_of_a_site_the_more_is_found(tmp_path: Path) -> None:
    wanted = CurveRequest(
        recipe=recipe("generative_curve"),
        own=corpus("there", THERE, 0, 1),
        test=corpus("test", THERE, 2),
        beside=[corpus("here", HERE, 0, 1, 2)],
        sizes=(1, 8),
    )
    curve = learning_curve(wanted, tmp_path, progress=lambda *_: None)
    points, scored = curve.points, curve.scored

    assert (scored, [point.notes for point in points]) == (4, [0, 1, 8])
    assert points[-1].recall is not None
    assert points[-1].recall > (points[0].recall or 0.0)
