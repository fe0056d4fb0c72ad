"""Each option answers one weakness of the method, and changes nothing else."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path

import pytest
from fixed_network import scorer
from models_here import save_model

from deid_assets import Note, Phi, SpanSet
from deid_assets.core.errors import ConfigError
from deid_assets.plugins import load as load_plugin
from deid_assets.testing import parse_marked
from deid_zero_shot import ZeroShotDetector
from deid_zero_shot.method import Method, Runtime, method_of, read_options
from deid_zero_shot.priors import Priors
from deid_zero_shot.protect import Protection
from deid_zero_shot.scorer import KEPT
from deid_zero_shot.words import plain, words_of


def kept(text: str, protection: Protection, lang: str = "en") -> set[str]:
    note = Note("n", text, lang=lang)
    words = words_of(text, lang, plain)
    return {text[slice(*words[number])] for number in protection.words(note, words)}


@pytest.mark.parametrize(
    ("text", "stays", "goes"),
    [
        ("He has Parkinson disease.", {"Parkinson", "disease"}, set()),
        ("Seen by Dr. Parkinson today", {"today"}, {"Parkinson"}),
        ("fever and cough", {"fever", "cough"}, set()),
        ("Seen with Rose Wilkes", set(), {"Rose", "Wilkes"}),
        ("Fever since Monday", {"Fever"}, set()),
        ("haemangioma of the liver", {"liver"}, set()),
    ],
)
def test_words_of_medicine_stay_and_people_do_not(
    text: str, stays: set[str], goes: set[str]
) -> None:
    found = kept(text, Protection(allow=True))

    assert stays <= found
    assert not goes & found


def test_a_list_of_one_s_own_joins_in(tmp_path: Path) -> None:
    path = tmp_path / "terms.txt"
    path.write_text("# terms\nHaemangioma\nLeydig\n", encoding="utf-8")
    options = read_options({"allow_list": str(path)})
    model = save_model(tmp_path / "model")

    method = method_of(model, options, Runtime(threads=1))

    scores = {
        word.start: word.score
        for word in method.score(Note("n", "Leydig cell, Dr. Leydig", lang="en")).words
    }
    assert scores[0] == KEPT
    assert scores[17] < 0.0
    assert method.described["allow_list"] == ["haemangioma", "leydig"]


@pytest.mark.parametrize(
    ("text", "stays", "goes"),
    [
        ("Surname: Lee\nAge: 47", {"Surname", "Age"}, {"Lee", "47"}),
        ("  Date of birth : 1 May", {"Date", "of", "birth"}, {"1", "May"}),
        ("Wilkes: fever", set(), {"Wilkes"}),
        ("MRN: 4411223", {"MRN"}, {"4411223"}),
        ("He said to the nurse who came that he felt well: no fever", set(), {"fever"}),
    ],
)
def test_field_labels_stay_and_values_do_not(text: str, stays: set[str], goes: set[str]) -> None:
    found = kept(text, Protection(fields=True))

    assert stays <= found
    assert not goes & found


def test_numbers_are_left_to_rules(tmp_path: Path) -> None:
    text = (
        "PSA 1.5 ng/ml, 2.5 x 1.8 cm. Seen on 12/03/2020 aged 47 years. License number 28-44123-7."
    )
    note = Note("n", text, lang="en")
    zero_shot = ZeroShotDetector(
        model=save_model(tmp_path), threshold=2.0, numbers="leave", threads=1
    )
    rules = load_plugin("rules")
    (own,), (others,) = zero_shot.detect([note]), rules.detect([note])

    assert not any(any(map(str.isdigit, text[span.start : span.end])) for span in own)
    joined = [*own, *others]
    redacted = {place for span in joined for place in range(span.start, span.end)}
    assert all(text.index(value) in redacted for value in ("12/03/2020", "28-44123-7"))
    assert not any(text.index(value) in redacted for value in ("1.5", "2.5", "1.8"))
    assert any(span.label is Phi.DATE for span in joined)


def test_ages_and_dates_that_the_model_leaves_are_all_found_by_rules(tmp_path: Path) -> None:
    texts = {
        "en": (
            "A <AGE>47</AGE>-year-old man, seen <DATE>3 May 2021</DATE>, again on"
            " <DATE>12/06/2021</DATE>.\nAge: <AGE>47</AGE>."
        ),
        "es": "Varón de <AGE>63 años</AGE>, ingresado el <DATE>3 de mayo de 2021</DATE>.",
    }
    notes, gold = zip(
        *(parse_marked(text, note_id=lang, lang=lang) for lang, text in texts.items()), strict=True
    )
    zero_shot = ZeroShotDetector(
        model=save_model(tmp_path), threshold=2.0, numbers="leave", threads=1
    )

    def covered(found: Iterable[SpanSet]) -> int:
        return sum(
            any(span.start <= one.start and one.end <= span.end for span in spans)
            for spans, own in zip(found, gold, strict=True)
            for one in own
        )

    assert covered(zero_shot.detect(notes)) == 0
    assert covered(load_plugin("rules").detect(notes)) == sum(map(len, gold))


WORDS = ("fever", "Wilkes", "and")


def _rare(seen: list[str], _place: int, true: str) -> float:
    """Names are rare everywhere; fever is rare alone and expected in the note."""
    return {"fever": 0.2 if len(seen) > 3 else 0.001, "Wilkes": 0.001, "and": 0.9}[true]


def test_mutual_information_lowers_what_context_does_not_help_to_guess() -> None:
    scored, network = scorer(WORDS, _rare)
    method = Method(scored, "digest", {}, priors=Priors(scored), weight=1.0)

    words = method.score(Note("n", "fever and Wilkes")).words

    assert words[0].score == pytest.approx(math.log(200))
    assert words[2].score == pytest.approx(0.0, abs=1e-6)
    before = network.runs
    method.score(Note("n", "Wilkes and fever"))
    assert network.runs == before + 1  # the priors are remembered


def test_the_other_model_counts_against_a_word() -> None:
    clinical, _ = scorer(
        WORDS, lambda _seen, _place, true: {"fever": 0.1, "Wilkes": 0.001, "and": 0.5}[true]
    )
    general, _ = scorer(
        WORDS, lambda _seen, _place, true: {"fever": 0.001, "Wilkes": 0.01, "and": 0.5}[true]
    )
    method = Method(clinical, "digest", {}, against=general)

    fever, both, name = (word.score for word in method.score(Note("n", "fever and Wilkes")).words)

    assert fever > math.log(0.1)
    assert both == pytest.approx(math.log(0.5))
    assert name == pytest.approx(2 * math.log(0.001) - math.log(0.01))


def test_two_stages_need_probabilities(tmp_path: Path) -> None:
    model = save_model(tmp_path)

    with pytest.raises(ConfigError, match="probabilities"):
        ZeroShotDetector(model=model, threshold=0.1, stages=2, prior=1.0)


@pytest.mark.parametrize(
    "given", [{"prior": -1}, {"numbers": "drop"}, {"unknown": 1}, {"allow": "perhaps"}]
)
def test_an_option_that_is_none_is_named(given: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match=next(iter(given))):
        read_options(given)


def test_a_list_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no list of words"):
        method_of(
            save_model(tmp_path), read_options({"allow_list": str(tmp_path / "none")}), Runtime()
        )
