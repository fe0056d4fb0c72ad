"""Probes find a planted signal and nothing in random labels.

A grid lists the published numbers of jobs.
"""

from __future__ import annotations

import numpy as np
import pytest

from deid_assets.core.errors import InputError
from deid_audits.models.audit_slots import paraphrases
from deid_audits.models.canaries import prompt_again, prompt_canaries, questions_of
from deid_audits.models.controls import overfit
from deid_audits.models.planted import TEMPLATES, Canary, make_planted_corpus
from deid_audits.models.scoring import Scorer
from deid_audits.models.slots import GAP, measure_other_words, rank_answers
from deid_privacy.probing import paraphrase_gap, probe, states
from deid_privacy.utility.jobs import count_ordered_pairs, jobs


def test_a_dry_run_lists_the_published_numbers_of_jobs():
    tasks = [f"task{number}" for number in range(6)]
    study = jobs(["raw", "pseudo"], ["raw", "one", "two"], tasks[:5])
    assert len(study) == len(set(study)) == 300
    assert len(jobs([f"m{number}" for number in range(9)], ["raw"], tasks)) == 540
    assert count_ordered_pairs(["raw", "pseudo"], ["raw", "one", "two"], tasks[:5]) == 150
    assert {job.fold for job in study} == set(range(10))
    for wrong in ([], ["a", "a"]):
        with pytest.raises(InputError, match="name each once"):
            jobs(wrong, ["raw"], tasks)
    with pytest.raises(InputError, match="compares nothing"):
        jobs(["m"], ["raw"], tasks, folds=1)


def test_a_probe_finds_a_planted_signal_and_nothing_in_random_labels():
    rng = np.random.default_rng(1)
    features = rng.normal(size=(200, 12))
    signal = features[:, 3] + 0.3 * rng.normal(size=200) > 0
    assert probe(features, signal).low > 0.85
    random = probe(features, rng.random(200) < 0.5)
    assert random.low < 0.5 < random.high
    with pytest.raises(InputError, match="an interval needs 20"):
        probe(features[:30], signal[:30])


def test_states_do_not_depend_on_the_batch(causal):
    scorer = Scorer(causal)
    texts = ["A short one.", "A text that is longer than the other one by some words."]
    np.testing.assert_allclose(
        states(scorer, texts)[0], states(scorer, texts[:1])[0], rtol=1e-3, atol=1e-4
    )


def test_the_paraphrase_probe_gives_its_gap_with_an_interval(causal):
    people = make_planted_corpus(notes=20, people=21, repeats=(2,), seed=3, longest=14).people
    found = paraphrase_gap(
        [one for one in people if one.repeats],
        [one for one in people if not one.repeats],
        Scorer(causal),
    )
    assert found.low <= found.value <= found.high
    with pytest.raises(InputError, match="plant some"):
        paraphrase_gap([], people, Scorer(causal))


def test_secrets_are_asked_for_in_other_words_beside_their_own():
    """A model that learnt the secrets in other words alone gives them to these, and unplanted ones
    to none.
    """
    canaries = make_planted_corpus(notes=4, people=1, repeats=(3,), seed=2, canaries=20).canaries
    planted, unplanted = canaries[:20], canaries[20:]
    assert {one.repeats for one in unplanted} == {0}
    scorer = Scorer(overfit([again.text for one in planted for again in one.again()], "causal"))

    assert sum(prompt_again(planted, scorer)) > max(sum(prompt_canaries(planted, scorer)), 12)
    assert not any(prompt_again(unplanted, scorer))
    own = rank_answers(questions_of(planted, seed=1, count=20), scorer)
    asked = [Canary(one.paraphrases[0], one.secret, one.repeats) for one in planted]
    beaten, lost = measure_other_words(
        own, rank_answers(questions_of(asked, seed=1, count=20), scorer)
    )
    assert beaten.low > 0.75
    assert lost.value == pytest.approx(np.mean([one.beaten for one in own]) - beaten.value)
    assert lost.low <= lost.value <= lost.high
    with pytest.raises(InputError, match="19 questions in other words"):
        measure_other_words(own[:19], own[:19])


def test_gaps_of_planted_sentences_are_asked_for_in_other_words():
    for template in TEMPLATES:
        found = paraphrases(template.format(name=GAP, condition="porphyria"))
        assert sorted(found) == sorted(
            one.format(name=GAP, condition="porphyria") for one in TEMPLATES if one != template
        )
    assert paraphrases(f"{GAP} was seen in clinic today for a talk.") == []
