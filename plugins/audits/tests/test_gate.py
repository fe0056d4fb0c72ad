"""A model is refused with the reason where a rule fails, and its lineage ends at every raw source."""

import datetime as dt

import pytest

from deid_assets.core.errors import ConfigError
from deid_assets.privacy.measurement import Measurement
from deid_assets.privacy.result import AuditResult, Control, Outcome, Rule
from deid_audits.checklist import FOUND, ITEMS, answers
from deid_audits.facts import Facts, Tier
from deid_audits.gate import judge
from deid_audits.lineage import lineage
from deid_audits.page import model_html, place, span_of

TODAY = dt.date(2026, 6, 1)
RAW = {"name": "letters", "tier": "raw", "permit": "2019-1", "until": "2026-12-31"}
SAFE = {"name": "safe", "tier": "de-identified", "made_from": ["letters"], "made_by": "tag"}
BASE = {"name": "base", "tier": "public", "permit": "CC BY"}


def facts(*sources, made_from=("safe",), **rules):
    model = {"name": "m", "made_from": list(made_from)}
    return Facts.model_validate({"model": model, "sources": list(sources) or [RAW, SAFE, BASE], "rules": rules})


def found(group, low):
    return Measurement(name=FOUND, value=0.99, low=low, high=1.0, chance="none", units=50, group=group)


def result(name, outcome=Outcome.PASSED, *figures):
    held = Control(name="planted", expected=True, reacted=True, description="always")
    return AuditResult(
        audit=name, version="1", title=f"Is {name} fine?", outcome=outcome, reason="because", blind_spots=("All else.",),
        figures=figures or (found("ALL", 0.9),), controls=(held,), rules=(Rule(name="r", passed=True, description="d"),),
    )  # fmt: skip


def test_a_model_on_safe_ground_may_leave():
    decision = judge([result("hips")], facts(audits=["hips"], made_from=["safe", "base"]), today=TODAY)

    assert (decision.released, decision.lineage.raw) == (True, ("letters",))
    assert [(entry.source.name, entry.depth) for entry in decision.lineage.entries] == [
        ("safe", 1), ("base", 1), ("letters", 2),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("sources", "made_from", "reason"),
    [
        ([{**RAW, "permit": ""}, SAFE], ["safe"], "source 'letters' is raw and has no permit"),
        ([{**RAW, "until": "2026-05-31"}, SAFE], ["safe"], "source 'letters' has a permit that ran out on 2026-05-31"),
        ([RAW], ["letters"], "source 'letters' is raw, and the model was trained on it directly"),
        ([SAFE], ["safe"], "source 'letters' is not in the ledger"),
        (
            [{**SAFE, "made_from": []}],
            ["safe"],
            "source 'safe' is de-identified, and what it was made from is not said",
        ),
        ([RAW, SAFE], ["other"], "source 'other' is not in the ledger"),
    ],
)
def test_a_fault_of_the_lineage_refuses(sources, made_from, reason):
    assert judge([], facts(*sources, made_from=made_from), today=TODAY).reasons == (reason,)
    assert judge([], facts(*sources, made_from=made_from, permits=False), today=TODAY).released


def test_a_permit_holds_on_its_last_day():
    assert judge([], facts({**RAW, "until": "2026-06-01"}, SAFE), today=TODAY).released


def test_a_circle_of_sources_ends():
    around = [{"name": "a", "tier": "public", "made_from": ["b"]}, {"name": "b", "tier": "public", "made_from": ["a"]}]
    traced = lineage(facts(*around, made_from=["a"]), today=TODAY)

    assert [entry.source.name for entry in traced.entries] == ["a", "b"]
    assert {entry.source.tier for entry in traced.entries} == {Tier.PUBLIC}


@pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.VOID, Outcome.NOT_ASSESSED])
def test_an_audit_that_did_not_pass_refuses(outcome):
    assert judge([result("hips", outcome)], facts(audits=["hips"]), today=TODAY).reasons == (
        f"audit hips: {outcome.value}: because",
    )


def test_what_nothing_answers_refuses():
    decision = judge([result("residue", Outcome.PASSED, found("NAME", 0.97))], facts(
        audits=["membership"], recall={"NAME": 0.98, "FAX": 0.5}, checklist=["HIPAA", "Magna Carta"]
    ), today=TODAY)  # fmt: skip

    assert "audit membership: not assessed: there is no result" in decision.reasons
    assert "recall of NAME: lower end 0.970, at least 0.980 is asked" in decision.reasons
    assert "recall of FAX: not assessed: audit residue has no such figure" in decision.reasons
    assert "checklist: HIPAA, hipaa_fax: no evidence" in decision.reasons
    assert "checklist: HIPAA, hipaa_names: no evidence" not in decision.reasons
    assert "checklist: no law 'Magna Carta'; there are AI Act, GDPR, HIPAA" in decision.reasons


def test_every_item_is_answered_by_something_and_named_once():
    assert len({item.name for item in ITEMS}) == len(ITEMS)
    assert sum(item.law == "HIPAA" for item in ITEMS) == 18 + 1

    stated = facts().model_copy(update={"evidence": {"gdpr_impact": "DPIA 7"}})
    told = {
        each.item.name: each.evidence
        for each in answers([result("reidentification", Outcome.VOID), result("membership", Outcome.FAILED)], stated,
                            lineage(stated, today=TODAY))
    }  # fmt: skip
    assert told["gdpr_impact"] == "DPIA 7"
    assert told["gdpr_singling_out"] == ""  # a void audit is no evidence
    assert told["gdpr_model"] == "audit membership: failed"
    assert told["gdpr_legal_basis"] == "ledger: 2 sources, 1 of them raw, each with a permit"


def test_evidence_for_an_item_that_there_is_not_is_refused():
    wrong = facts().model_copy(update={"evidence": {"gdpr_imapct": "DPIA 7"}})

    with pytest.raises(ConfigError, match=r"evidence\.gdpr_imapct: the checklist has no such item.*gdpr_impact"):
        judge([], wrong, today=TODAY)


def test_the_page_escapes_what_it_is_given_and_shows_gaps():
    known = facts({**RAW, "permit": ""}, {**SAFE, "made_by": "<b>tag</b>"})
    page = model_html([result("hips"), result("residue", Outcome.NOT_ASSESSED)], known, judge([], known), title="x")

    assert "&lt;b&gt;tag" in page
    assert "gap: no evidence" in page
    assert "is raw and has no permit" in page
    assert "<script" not in page


def test_a_measurement_is_drawn_inside_its_axis():
    figures = [found("NAME", 0.9), Measurement(name="left", value=300, low=100, high=900, chance=50.0, units=9)]

    for figure in figures:
        at = place(figure, span_of(figures, figure))
        assert 0 < at.low <= at.value <= at.high < 120
        assert at.chance is None or at.chance < at.low
