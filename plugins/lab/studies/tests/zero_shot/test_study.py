"""The study's table.

A row per model and language beside chance, thresholds from other notes than those tested.
"""

from __future__ import annotations

import pytest
from fixed_network import scorer

from deid_assets import DisjointSpans
from deid_assets.core.errors import InputError
from deid_assets.core.trainer import Document
from deid_assets.testing import parse_marked
from deid_zero_shot.method import Method
from deid_zero_shot.protect import Protection
from deid_zero_shot.study import (
    ScoredDocuments,
    chance_rows,
    ensemble_gain,
    make_row,
    score_all,
    zero_shot_row,
)

WORDS = ("fever", "and", "cough", "Ana", "Lee", "3", ",", ".")
RARE = {"Ana": 1e-6, "Lee": 1e-5, "3": 1e-4}
TEXTS = {
    "en": (
        "fever and cough, <NAME>Ana Lee</NAME>.",
        "<NAME>Lee</NAME>, cough 3.",
        "cough and 3. <NAME>Ana</NAME>, fever",
    ),
    "es": (
        "cough, <NAME>Ana</NAME>",
        "fever and <NAME>Lee</NAME> 3.",
        "<NAME>Ana Lee</NAME> and 3, fever",
    ),
}


def documents(lang: str) -> list[Document]:
    found = []
    for copy in ("a", "b"):
        for number, text in enumerate(TEXTS[lang]):
            note, spans = parse_marked(
                f"{text} {'cough ' * (number + 2 * (copy == 'b'))}",
                note_id=f"{lang}{copy}{number}",
                lang=lang,
            )
            found.append(Document(note, DisjointSpans.of(note, list(spans))))
    return found


def method(chances: dict[str, float]) -> Method:
    found, _ = scorer(WORDS, lambda _seen, _place, true: chances.get(true, 0.9))
    return Method(found, "digest", {})


def judged(chances: dict[str, float], lang: str = "en") -> ScoredDocuments:
    every = documents(lang)
    own = method(chances)
    return ScoredDocuments(score_all(own, every[:3]), score_all(own, every[3:]))


def test_two_models_and_two_languages_give_four_rows() -> None:
    rows = [
        (name, lang, zero_shot_row(name, judged(chances, lang), samples=20))
        for name, chances in {"good": RARE, "blind": {}}.items()
        for lang in TEXTS
    ]

    assert len(rows) == 4
    for name, _, row in rows:
        assert row.notes == 3
        assert (
            (row.values["roc_auc"].value or 0) > 0.9
            if name == "good"
            else row.threshold is not None
        )
        assert row.values["f1"].low is not None
    assert rows[0][2].values["f1"].value == 1.0
    assert rows[0][2].recalls == {"NAME": 1.0}


def test_chance_is_what_chance_gives() -> None:
    everything, nothing, random = chance_rows(judged(RARE).test, 0.5, samples=10)

    assert everything.values["recall"].value == 1.0
    assert nothing.values["recall"].value == 0.0
    assert nothing.values["precision"].value is None
    assert everything.values["precision"].value == pytest.approx(everything.values["pr_auc"].value)
    assert 0 < random.redacted < 1


def test_numbers_left_to_rules_are_no_false_positives() -> None:
    eager = RARE | {"3": 1e-7}  # the number is the most surprising of all
    before, after = (
        zero_shot_row("x", one, samples=2)
        for one in (judged(eager), judged(eager).change(protection=Protection(numbers=True)))
    )

    assert (before.values["precision"].value or 0) < 1.0
    assert after.values["precision"].value == after.values["recall"].value == 1.0


def test_typing_takes_out_what_development_notes_teach_to_be_no_phi() -> None:
    rare = dict.fromkeys(WORDS, 1e-6)  # to the model nothing can be guessed
    before, after = (
        zero_shot_row("x", one, samples=2) for one in (judged(rare), judged(rare).drop_typed())
    )

    assert before.redacted > 0.7  # all but punctuation
    assert (after.values["f1"].value or 0) > 2 * (before.values["f1"].value or 1)
    assert after.values["recall"].value == 1.0


def test_a_gain_costs_no_precision_on_the_development_notes() -> None:
    found = judged(RARE)
    lee = [
        [span for span in document.spans if document.note.text[span.start : span.end] == "Lee"]
        for document in documents("en")
    ]

    gain = ensemble_gain(found, lee[:3], lee[3:], samples=20)

    assert (gain.alone[1], gain.together[1]) == (1.0, 1.0)
    assert gain.together[0] == 1.0
    assert gain.difference.value == pytest.approx(1.0 - (gain.alone[0] or 0))
    assert make_row("rules", found.test, lee[3:], samples=2).values["precision"].value == 1.0


def test_one_note_in_both_parts_is_refused() -> None:
    every = documents("en")
    own = method(RARE)

    with pytest.raises(InputError, match="among the development and the test notes"):
        ScoredDocuments(score_all(own, every[:3]), score_all(own, every[2:]))
