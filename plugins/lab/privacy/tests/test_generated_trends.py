"""Trends of taggers of generated notes judge nothing where their positive control, the tagger of
real notes, learnt nothing.
"""

from __future__ import annotations

import pytest

from deid_privacy.utility.comparing import Configuration, UtilityRow
from deid_privacy.utility.synthesis import LEAST, RUNS, Synthesis, SynthesisRecipe

OTHERS = (
    SynthesisRecipe(),
    SynthesisRecipe(adapted=0),
    SynthesisRecipe(annotated=0.25),
    SynthesisRecipe(adapted=0.25),
    SynthesisRecipe(size="small"),
    SynthesisRecipe(volume=1.0),
    SynthesisRecipe(volume=0.05),
)


def _bench(tmp_path, gold: float, scores: dict[SynthesisRecipe, float]) -> Synthesis:
    bench = Synthesis(tmp_path)
    for recipe, score in {None: gold, **dict.fromkeys(OTHERS, gold), **scores}.items():
        bench._scores[recipe] = UtilityRow.of(
            Configuration("tagger", str(recipe), "raw"), [score - 0.001, score, score + 0.001]
        )
    return bench


@pytest.mark.parametrize("name", RUNS)
def test_a_trend_is_undecided_where_the_tagger_of_real_notes_learnt_nothing(tmp_path, name):
    judged = RUNS[name](_bench(tmp_path, LEAST / 2, {}))
    assert judged.verdict == "undecided"
    assert "nothing to compare with" in judged.numbers


@pytest.mark.parametrize(
    ("name", "scores", "verdict"),
    [
        ("T9", {SynthesisRecipe(adapted=0): 0.2}, "pass"),
        ("T9", {}, "fail"),
        (
            "T10",
            {SynthesisRecipe(annotated=0.25): 0.4, SynthesisRecipe(adapted=0.25): 0.65},
            "pass",
        ),
        (
            "T10",
            {SynthesisRecipe(annotated=0.25): 0.65, SynthesisRecipe(adapted=0.25): 0.4},
            "fail",
        ),
        ("T10", {}, "undecided"),
        ("T11", {SynthesisRecipe(size="small"): 0.69}, "pass"),
        ("T11", {SynthesisRecipe(size="small"): 0.5}, "fail"),
        ("T12", {SynthesisRecipe(volume=0.05): 0.5}, "pass"),
        ("T12", {}, "fail"),
    ],
)
def test_a_trend_is_judged_by_its_scores(tmp_path, name, scores, verdict):
    assert RUNS[name](_bench(tmp_path, 0.7, scores)).verdict == verdict


def test_the_volume_is_that_of_eighty_notes_for_a_twentieth_of_starters():
    assert SynthesisRecipe().volume == pytest.approx(0.05 * 80)
