"""The measures of Dorémus et al. (2025).

Their counts, ANONYMOUS as the note itself, modes, causes and roles.
"""

from __future__ import annotations

import re

import pytest

from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.span import Span, SpanSet
from deid_assets.evaluation.rewriting import (
    Rewritten,
    StudyTable,
    cause_of,
    expand,
    plateau,
    role_of,
    study_table,
)
from deid_assets.testing import parse_marked

TAGS = re.compile(r"\[X+\]")
LONG = " ".join(f"mot{n}" for n in range(68)) + " 5 mg"


def row(
    text: str, cover: list[str] | None, output: str | None = None, *, silent: bool = False
) -> Rewritten:
    note, gold = parse_marked(text, lang="fr")
    ranges = (
        None
        if cover is None
        else [(at := note.text.index(value), at + len(value)) for value in cover]
    )
    return Rewritten(note, gold, ranges, output, silent)


def table(*rows: Rewritten) -> StudyTable:
    return study_table(rows, placeholder=TAGS)


def test_the_published_counts_give_the_published_rates() -> None:
    found = StudyTable(
        items=1847 + 72, removed=1847, tagged=1847 + 53, right=1847, identifying=935, clean=872
    ).to_json()

    assert (found["precision"]["value"], found["recall"]["value"], found["f1"]) == (
        0.9721,
        0.9625,
        0.9673,
    )
    assert found["note_recall"]["value"] == 0.9326
    assert [round(bound, 3) for bound in found["note_recall"]["interval"]] == [0.915, 0.947]


def test_a_note_counts_where_all_of_it_is_removed_and_only_if_it_identifies() -> None:
    found = table(
        row("Dr <NAME>Lee</NAME> le <DATE>3 mai</DATE>", ["Lee", "3 mai"]),
        row("Dr <NAME>Lee</NAME> le <DATE>3 mai</DATE>", ["Lee"]),
        row("toux", []),
    ).to_json()

    assert (found["note_recall"]["hits"], found["note_recall"]["trials"]) == (1, 2)
    assert (found["names_only"]["hits"], found["names_only"]["trials"]) == (2, 2)
    assert found["note_recall_by_category"]["DATE"]["value"] == 0.5
    assert (found["recall"]["hits"], found["recall"]["trials"]) == (3, 4)


def test_a_right_anonymous_is_no_alteration_and_a_perfect_score() -> None:
    found = table(row("dlr abdo depuis 2j, pas de fievre", [], "ANONYMOUS", silent=True)).to_json()

    assert (found["bleu_corpus"], found["bleu_mean"], found["altered"]["hits"]) == (1.0, 1.0, 0)
    assert expand("toux", " anonymous. ") == "toux"
    assert expand("ANONYMOUS", "ANONYMOUS") == "ANONYMOUS"


def test_a_wrong_anonymous_is_a_leak_and_no_alteration() -> None:
    found = table(row("toux, vu par Dr <NAME>Lee</NAME>", [], "ANONYMOUS", silent=True)).to_json()

    assert (found["altered"]["hits"], found["failing_notes_by_mode"]) == (0, {"anonymous": 1})
    assert found["names_left_by_role"] == {"staff": 1}
    assert 0 < found["bleu_corpus"] < 1


def test_one_changed_dose_in_seventy_words_is_told_exactly() -> None:
    found = table(row(LONG, [], LONG.replace("5 mg", "50 mg"))).to_json()

    assert found["bleu_corpus"] == pytest.approx(0.965, abs=0.01)
    assert found["alterations"] == {"number changed": 1}


def test_modes_sum_to_the_failing_notes() -> None:
    text = "<NAME>Lee</NAME>, <CITY>Ulm</CITY>"
    found = table(
        row(text, []),
        row(text, ["Lee"]),
        row(text, None),
        row(text, [], silent=True),
        row(text, ["Lee", "Ulm"]),
    )
    counts = found.to_json()

    assert counts["failing_notes_by_mode"] == {
        "all_left": 1,
        "anonymous": 1,
        "partial": 1,
        "withheld": 1,
    }
    assert sum(counts["failing_notes_by_mode"].values()) == found.identifying - found.clean
    assert sum(counts["left_by_cause"].values()) == found.items - found.removed
    assert counts["withheld"] == 1


def test_a_placeholder_for_the_whole_note_is_not_right() -> None:
    found = table(
        row("Vu ce jour pour toux par Dr <NAME>Lee</NAME>", ["Vu ce jour pour toux par Dr Lee"])
    ).to_json()

    assert (found["precision"]["hits"], found["precision"]["trials"]) == (0, 1)
    assert found["recall"]["value"] == 1.0
    assert found["over_redaction"]["value"] == 1.0


def test_ages_and_professions_are_no_identifiers_of_the_study() -> None:
    found = table(row("<AGE>47</AGE> ans, <PROFESSION>macon</PROFESSION>", [])).to_json()

    assert (found["identifying"], found["note_recall"], found["recall"]) == (0, None, None)


def span(text: str, value: str, label: Phi, native: str = "") -> tuple[str, Span]:
    return text, Span(text.index(value), text.index(value) + len(value), label, native_label=native)


@pytest.mark.parametrize(
    ("given", "cause"),
    [
        (span("vient du CHU", "CHU", Phi.HOSPITAL), "acronym"),
        (span("vient de la Clinique des Ormes", "Clinique des Ormes", Phi.HOSPITAL), "facility"),
        (span("vit à Ulm-sur-Loire", "Ulm-sur-Loire", Phi.CITY), "city"),
        (span("le 3 mai", "3 mai", Phi.DATE), "date"),
    ],
)
def test_causes_are_told_from_category_and_form(given: tuple[str, Span], cause: str) -> None:
    assert cause_of(*given) == cause


@pytest.mark.parametrize(
    ("given", "role"),
    [
        (span("vu par Dr Martin", "Martin", Phi.NAME), "staff"),
        (span("patient Martin", "Martin", Phi.NAME, "PATIENT"), "patient"),
        (span("sa fille Anne", "Anne", Phi.NAME, "RELATIVE"), "relative"),
        (span("Martin", "Martin", Phi.NAME), "other"),
    ],
)
def test_patients_are_told_from_staff(given: tuple[str, Span], role: str) -> None:
    assert role_of(*given) == role


def test_other_notes_spans_are_refused() -> None:
    note, other = Note("a", "x y"), Note("b", "x y z")
    with pytest.raises(ValueError, match="digest"):
        table(Rewritten(note, SpanSet.of(other, [Span(0, 1, Phi.NAME)]), [], "x y"))


def test_a_plateau_begins_where_f1_stops_to_rise() -> None:
    values = [0.2, 0.5, 0.8, 0.9, 0.94, 0.96, 0.961, 0.958, 0.962]
    points = [{"epoch": epoch, "measures": {"f1": f1}} for epoch, f1 in enumerate(values, 1)]

    assert plateau(points) == 6
    assert plateau(points, within=0.1) == 4
    assert plateau([]) == 0
