"""What an audit may say.

No number without its interval, no verdict without controls, and one that breaks breaks alone.
"""

import json
from dataclasses import replace

import pytest

from deid_assets.core.errors import InputError
from deid_assets.core.keys import Key
from deid_assets.core.label_maps import label_map
from deid_assets.core.span import DisjointSpans
from deid_assets.extending.audits import (
    Case,
    Control,
    Material,
    Measurement,
    Need,
    Outcome,
    Plot,
    Rule,
    Table,
    conclude,
    read_result,
)
from deid_assets.privacy import running
from deid_assets.testing import parse_marked
from deid_template.audit import MissedAudit

KEY = Key(bytes(range(32)))
NUMBER = Measurement(name="AUC", value=0.6, low=0.5, high=0.7, chance=0.5, units=40)
REACTS = Control(name="planted", expected=True, reacted=True, description="found where planted")
COLD = Control(
    name="unplanted", expected=False, reacted=False, description="not found where not planted"
)
RULE = Rule(name="little", passed=True, description="AUC 0.7 at most")


def cases(covered):
    """Return forty notes with two identifiers each, of which the first ``covered`` are covered."""
    found = []
    for number in range(40):
        note, gold = parse_marked(
            "Dr <NAME>Lee</NAME> saw MRN <MRN>123-45-67</MRN>.", note_id=f"n{number}"
        )
        spans = DisjointSpans.of(note, gold)
        found.append(Case(note, spans, DisjointSpans.of(note, list(spans)[:covered])))
    return found


@pytest.mark.parametrize(
    "wrong",
    [
        {"low": float("nan")},
        {"low": None},
        {"high": float("inf")},
        {"low": 0.65},
        {"high": 0.55},
        {"units": 1},
        {"chance": ""},
        {"chance": float("nan")},
        {"name": ""},
    ],
)
def test_a_number_without_its_interval_or_without_chance_is_refused(wrong):
    with pytest.raises(InputError):
        replace(NUMBER, **wrong)


def test_intervals_of_shares_and_draws():
    share = Measurement.share("found", 0, 10, chance=0.1)
    drawn = Measurement.of_draws("AUC", 0.9, [0.5] * 200, chance=0.5, units=12)

    assert (share.value, share.low) == (0, 0)
    assert 0.2 < share.high < 0.35
    assert (drawn.low, drawn.value, drawn.high) == (0.5, 0.9, 0.9)
    with pytest.raises(InputError, match="needs 100"):
        Measurement.of_draws("AUC", 0.9, [float("nan")] * 500, chance=0.5, units=12)


def test_a_bare_fraction_in_a_table_is_refused():
    Table(name="t", title="T", columns=("a", "b"), rows=(("x", 3), ("y", NUMBER)))
    with pytest.raises(InputError, match="bare fraction"):
        Table(name="t", title="T", columns=("a", "b"), rows=(("x", 0.3),))
    with pytest.raises(InputError, match="row of 1"):
        Table(name="t", title="T", columns=("a", "b"), rows=(("x",),))


@pytest.mark.parametrize(
    ("controls", "rule", "outcome", "reason"),
    [
        ((REACTS, COLD), RULE, Outcome.PASSED, "AUC 0.7 at most"),
        ((REACTS, COLD), replace(RULE, passed=False), Outcome.FAILED, "not met: little: AUC"),
        ((COLD,), RULE, Outcome.VOID, "no positive control"),
        ((replace(REACTS, reacted=False), COLD), RULE, Outcome.VOID, "planted did not react"),
        (
            (REACTS, replace(COLD, reacted=True)),
            replace(RULE, passed=False),
            Outcome.VOID,
            "unplanted reacted",
        ),
    ],
)
def test_the_verdict_follows_from_controls_and_rules(controls, rule, outcome, reason):
    result = conclude(MissedAudit(), figures=[NUMBER], controls=controls, rules=[rule])

    assert (result.outcome, reason in result.reason) == (outcome, True)
    if outcome is Outcome.VOID:
        with pytest.raises(InputError, match="proves nothing"):
            replace(result, outcome=Outcome.PASSED)


def test_a_verdict_needs_figures_rules_and_blind_spots():
    result = conclude(MissedAudit(), figures=[NUMBER], controls=[REACTS], rules=[RULE])

    for missing in (
        {"figures": ()},
        {"rules": ()},
        {"blind_spots": ()},
        {"reason": ""},
        {"counts": {"a": 0.5}},
    ):
        with pytest.raises(InputError):
            replace(result, **missing)


def test_a_result_comes_back_from_its_file():
    table = Table(name="t", title="T", columns=("a", "b"), rows=(("x", 3), ("y", NUMBER)))
    controls = [replace(REACTS, measurement=NUMBER), COLD]
    plot = Plot(name="p", title="P", png=b"\x89PNG")
    result = conclude(
        MissedAudit(),
        figures=[NUMBER],
        controls=controls,
        rules=[RULE],
        tables=[table],
        plots=[plot],
        counts={"n": 2},
    )
    document = json.loads(json.dumps(result.to_json()))

    assert read_result(document, {"p": b"\x89PNG"}) == result
    assert read_result(document).plots == ()
    with pytest.raises(InputError, match="run the audit again"):
        read_result(document | {"outcome": "splendid"})
    with pytest.raises(InputError):
        read_result({})


@pytest.mark.parametrize(("covered", "outcome"), [(2, Outcome.PASSED), (1, Outcome.FAILED)])
def test_the_template_measures_what_was_planted(covered, outcome):
    result = running.run_audit(MissedAudit(), Material(key=KEY, cases=cases(covered)))

    assert (result.outcome, result.figures[0].value) == (outcome, 1 - covered / 2)
    assert all(control.held for control in result.controls)


def test_a_missing_need_and_an_error_are_not_assessed_and_say_why():
    class Breaks(MissedAudit):
        needs = frozenset({Need.MODEL, Need.CANARIES})

        def run(self, material):
            raise material.seed

    class Leaks(MissedAudit):
        def run(self, material):
            raise ValueError(material.cases[0].note.text)

    class Refuses(MissedAudit):
        def run(self, material):
            raise InputError(material.cases[0].note.text)

    class Mistakes(MissedAudit):
        def run(self, material):
            return label_map("of-no-corpus")

    class Forgets(MissedAudit):
        def run(self, material):
            return None

    given = Material(key=KEY, cases=cases(2))
    results = [
        running.run_audit(kind(), given) for kind in (Breaks, Leaks, Refuses, Forgets, Mistakes)
    ]

    assert {result.outcome for result in results} == {Outcome.NOT_ASSESSED}
    *reasons, mistake = [result.reason for result in results]
    assert reasons == [
        "it needs a model, the list of planted secrets",
        "the audit broke (ValueError)",
        "the audit broke (InputError)",
        "the audit gave something that is not its result",
    ]
    assert "of-no-corpus" in mistake  # raised by code of this project, which shows no text


def test_what_is_not_installed_is_not_assessed():
    result = running.run_named("nowhere", Material(key=KEY))

    assert (result.outcome, "unknown audit 'nowhere'" in result.reason) == (
        Outcome.NOT_ASSESSED,
        True,
    )
