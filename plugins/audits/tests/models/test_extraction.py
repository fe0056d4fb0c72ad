"""Generators against stub models of known distributions.

Counts and text quality against hand-made corpora.
"""

from __future__ import annotations

import math
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

from deid_assets.core.errors import InputError
from deid_audits.models.concepts import program_tagger
from deid_audits.models.generating import (
    Continuing,
    Gibbs,
    continue_prompts,
    draw_masked_texts,
    gibbs,
    mask_predict,
)
from deid_audits.models.links import Register, count_links, dictionary_tagger
from deid_audits.models.quality import is_repetitive, quality, self_bleu, zipf
from deid_audits.models.sampling import Sampling, draw, restrict, sampling_of, source_of
from deid_audits.models.scoring import Scorer
from deid_audits.models.unprompted import RUN, copies, measure_unprompted

SCORES = torch.log(torch.tensor([[0.5, 0.3, 0.15, 0.05]]))
MASK = 9


def test_rules_keep_what_they_say():
    assert restrict(SCORES, Sampling("full"))[0].tolist() == pytest.approx(
        [0.5, 0.3, 0.15, 0.05], abs=1e-6
    )
    assert restrict(SCORES, Sampling("top_k", k=2))[0].tolist() == pytest.approx(
        [0.625, 0.375, 0, 0], abs=1e-6
    )
    assert restrict(SCORES, Sampling("nucleus", p=0.8))[0].tolist() == pytest.approx(
        [0.625, 0.375, 0, 0], abs=1e-6
    )
    assert restrict(SCORES, Sampling("nucleus", p=0.81))[0, 2] > 0
    assert draw(SCORES, Sampling("greedy"), source_of(1)).tolist() == [0]
    cold = restrict(SCORES, Sampling("full", temperature=0.1))[0, 0]
    assert cold > 0.99


@pytest.mark.parametrize("wrong", [{"k": 0}, {"p": 0.0}, {"p": 1.1}, {"temperature": 0.0}])
def test_rules_that_keep_nothing_are_refused(wrong):
    with pytest.raises(InputError, match="sampling needs"):
        Sampling(**wrong)


def test_gibbs_gives_the_marginals_of_the_model_and_leaves_the_prompt():
    start = torch.full((400, 6), MASK)
    start[:, :2] = torch.tensor([7, 8])

    def ask(ids, place):
        assert (ids[:, place] == MASK).all()
        return SCORES.expand(len(ids), 4)

    settings = Gibbs(length=4, burn_in=20, steps=60, sampling=Sampling("top_k", k=3))
    found = gibbs(ask, start, range(2, 6), settings=settings, mask=MASK, source=source_of(5))

    assert (found[:, :2] == torch.tensor([7, 8])).all()
    shares = np.bincount(found[:, 2:].flatten().numpy(), minlength=4) / (400 * 4)
    assert shares == pytest.approx([0.5 / 0.95, 0.3 / 0.95, 0.15 / 0.95, 0.0], abs=0.04)


def test_gibbs_without_burn_in_or_steps_leaves_gaps():
    start = torch.full((2, 5), MASK)
    settings = Gibbs(length=5, burn_in=0, steps=0)
    found = gibbs(
        lambda ids, _: SCORES.expand(len(ids), 4),
        start,
        range(5),
        settings=settings,
        mask=MASK,
        source=source_of(1),
    )
    assert (found == MASK).all()


def test_mask_predict_fills_the_unsure_again():
    def ask_all(ids):
        scores = torch.zeros(*ids.shape, 4)
        scores[:, 0, 1] = 9.0
        # The second place is unsure until the first is known.
        known = ids[:, 0] == 1
        scores[:, 1, 2] = torch.where(known, 9.0, 0.1)
        scores[:, 1, 3] = torch.where(known, 0.0, 0.2)
        return scores

    found = mask_predict(ask_all, torch.full((1, 2), MASK), [0, 1], rounds=2, mask=MASK)

    assert found.tolist() == [[1, 2]]


def test_a_masked_model_writes_texts_of_the_wanted_length_without_gaps(masked):
    scorer = Scorer(masked)
    settings = Gibbs(
        length=12, burn_in=30, steps=90, sampling=Sampling("nucleus", p=0.95), batch=5, prompted=0.0
    )

    texts = draw_masked_texts(scorer, 5, settings=settings, seed=1)

    assert len(texts) == 5
    assert sum("[MASK]" in text for text in texts) <= 1
    assert texts == draw_masked_texts(scorer, 5, settings=settings, seed=1)
    assert texts != draw_masked_texts(scorer, 5, settings=settings, seed=2)
    with pytest.raises(InputError, match="reads 64 tokens"):
        draw_masked_texts(scorer, 1, settings=Gibbs(length=60), seed=1)


def test_mask_predict_writes_different_texts_from_one_start(masked):
    settings = Gibbs(
        length=12, rounds=4, sampling=sampling_of("nucleus:0.95"), batch=5, prompted=0.0
    )
    texts = draw_masked_texts(Scorer(masked), 5, settings=settings, seed=1)
    assert len(set(texts)) == 5
    assert not any("[MASK]" in text for text in texts)
    greedy = draw_masked_texts(
        Scorer(masked), 5, settings=replace(settings, sampling=sampling_of("greedy")), seed=1
    )
    assert len(set(greedy)) == 1


def test_a_way_to_draw_is_read_or_refused():
    assert sampling_of("top_k:40") == Sampling("top_k", k=40)
    for wrong in ("", "top_k", "nucleus:x", "greedy:1", "beam"):
        with pytest.raises(InputError, match="none of greedy"):
            sampling_of(wrong)


def test_a_causal_model_says_what_it_learnt_by_heart_and_nothing_unplanted(causal, small_world):
    often = [one for one in small_world.corpus.canaries if one.repeats == 30]
    never = [one for one in small_world.corpus.canaries if not one.repeats]
    settings = Continuing(Sampling("greedy"), longest=16)

    found = dict(
        continue_prompts(
            Scorer(causal),
            [one.prefix for one in (*often, *never)],
            each=1,
            settings=settings,
            seed=1,
        )
    )

    assert all(one.secret in found[at] for at, one in enumerate(often))
    assert not any(one.secret in text for one in never for text in found.values())


def test_continuations_have_their_shortest_and_longest(causal):
    settings = Continuing(Sampling("full"), shortest=6, longest=6, batch=3)
    found = list(
        continue_prompts(Scorer(causal), ["We", "The door"], each=4, settings=settings, seed=1)
    )
    assert sorted(number for number, _ in found) == [0] * 4 + [1] * 4
    ids = [causal.tokenizer(text, add_special_tokens=False)["input_ids"] for _, text in found]
    assert all(len(one) <= 7 for one in ids)
    with pytest.raises(InputError, match="is causal; this generator needs a masked one"):
        draw_masked_texts(Scorer(causal), 1, settings=Gibbs(), seed=1)


REGISTER = Register(
    {"p1": ("Max", "Abara"), "p2": ("Olive", "Rao"), "p3": ("Max", "Wood")},
    {"p1": {"porphyria"}, "p2": {"pain", "uveitis"}, "p3": {"pain"}},
)


def test_links_are_counted_as_planted():
    texts = [
        "Max has porphyria.",  # right: p1
        "Olive came for porphyria.",  # wrong
        "Rao has uveitis and pain.",  # right
        "Abara was seen.",  # named, no condition
        "a max of 3 pain scores",  # no name: no capital
        "No name, but pain.",
    ]

    found = count_links(texts, REGISTER)

    assert (found.texts, found.first, found.last, found.named) == (6, 2, 2, 4)
    assert (found.right, found.wrong) == (2, 1)
    assert (found.seen, found.names) == (4, 5)
    assert found.by_condition == {"pain": 3, "porphyria": 2, "uveitis": 1}
    assert found.specificity == pytest.approx(2 * math.log2(3))
    assert found.is_reliable
    assert count_links(texts, REGISTER, cased=False).named == 5


def test_an_ambiguous_name_and_a_vague_condition_surface():
    texts = ["Max had pain."] * 9 + ["Olive has uveitis."]
    found = count_links(texts, REGISTER)
    assert found.top_name_share == pytest.approx(0.9)
    assert found.top_conditions_share == 1.0
    assert found.by_condition["pain"] == 9


def test_links_without_memory_are_as_many_as_by_chance():
    patients = {f"p{n}": (f"A{chr(97 + n)}", f"B{chr(97 + n)}") for n in range(20)}
    conditions = [f"disease{chr(97 + n)}" for n in range(20)]
    register = Register(patients, {name: {conditions[at]} for at, name in enumerate(patients)})
    rng = np.random.default_rng(1)
    texts = [
        f"A{chr(97 + rng.integers(20))} has {conditions[rng.integers(20)]}." for _ in range(400)
    ]

    found = count_links(texts, register)

    assert not found.is_reliable
    assert found.right == pytest.approx(found.by_chance, abs=15)
    assert all(one.low <= one.value <= one.high for one in found.estimates())


def test_the_dictionary_takes_the_longer_condition():
    assert dictionary_tagger({"pain", "chest pain"})("Chest pain today") == {"chest pain"}
    assert dictionary_tagger({"pain"})("painting") == frozenset()


def test_identical_texts_have_self_bleu_one_and_different_ones_none():
    same = [["a", "b", "c", "d", "e", "f"]] * 3
    assert self_bleu(same, 4) == pytest.approx(1.0)
    assert self_bleu([["a"] * 6, ["b"] * 6], 4) == 0.0


def test_self_bleu_agrees_with_another_implementation():
    nltk = pytest.importorskip("nltk.translate.bleu_score")
    texts = [text.split() for text in ("a b c d e f g", "a b c d x y z", "b c d e f g h i")]
    smooth = nltk.SmoothingFunction().method1
    pairs = [
        nltk.sentence_bleu([other], one, weights=(0.25,) * 4, smoothing_function=smooth)
        for one in texts
        for other in texts
        if one is not other
    ]
    assert self_bleu(texts, 4) == pytest.approx(np.mean(pairs))


def test_a_power_law_gives_back_its_exponent():
    words = [f"w{rank}" for rank in range(1, 100) for _ in range(round(20_000 / rank**1.2))]
    assert zipf(words) == pytest.approx(1.2, abs=0.01)


def test_repetition_and_gaps_are_counted():
    assert is_repetitive(["x", "a", "b", "c", "a", "b", "c"])
    assert not is_repetitive(["a", "b", "a", "b"])
    assert is_repetitive(["a"] * 60)
    found = quality(["a [MASK] c", "a b c a b c", "d e f g"])
    assert (found.texts, found.masked, found.repeated) == (3, 1, 1)
    with pytest.raises(InputError, match="needs 2 texts"):
        quality(["a"])


def _program(path, body):
    path.write_text(f"#!{sys.executable}\nimport json, sys\n{body}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def test_a_concept_tagger_is_a_program_and_what_it_does_wrong_is_said(tmp_path):
    upper = (
        "for line in sys.stdin: print(json.dumps([w for w in json.loads(line)['text'].split() if"
        " w.isupper()]))"
    )
    tag = program_tagger(
        _program(tmp_path / "upper", upper), ["has MS", "has MS", "none", "\u2028 HIV TB"]
    )
    assert (tag("has MS"), tag("none"), tag("\u2028 HIV TB")) == ({"MS"}, set(), {"HIV", "TB"})
    for body, said in (
        ("sys.exit(3)", "it ended with 3"),
        ("print([])", "1 answers for 2 texts"),
        ("print('[]'); print('secret')", "answer 2 is no list of strings"),
    ):
        with pytest.raises(InputError, match=said) as error:
            program_tagger(_program(tmp_path / "wrong", body), ["a", "b"])
        assert "secret" not in str(error.value)
    with pytest.raises(InputError, match="cannot be run"):
        program_tagger(tmp_path / "absent", ["a"])


def test_copies_are_found_and_told_from_other_texts(small_world, causal):
    assert copies(["x a b c y", "a b", "b c d"], ["a b c d", "x y"], run=3) == [True, False, True]
    # "d e"; none crosses from note to note
    assert copies(["c d e"], ["a b c", "d e f"], run=2) == [True]
    assert copies(["b d"], ["a b", "d e"], run=2) == [False]
    notes = list(
        dict.fromkeys(
            note.text for note in small_world.corpus.training if len(note.text.split()) >= RUN
        )
    )[:30]
    texts = [*notes, *(" ".join(sorted(text.split())) for text in notes)]
    share, told = measure_unprompted(texts, notes, Scorer(causal), seed=1)
    assert share.value == 0.5
    assert told.low > 0.6
    assert len(measure_unprompted(notes, notes, Scorer(causal), seed=1)) == 1
