"""Learning curves: what a few notes of one's own add to a detector that is there."""

import pytest

from deid_assets import plugins
from deid_assets.core.errors import ConfigError, InputError
from deid_assets.training import Recipe
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
