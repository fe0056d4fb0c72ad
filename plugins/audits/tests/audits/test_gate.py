"""A model is refused with the reason where a rule fails, and its lineage ends at every
raw source.
"""

import dataclasses
import datetime as dt
import html

import pytest

from deid_assets.core.errors import ConfigError
from deid_assets.extending.audits import Key, Need, Sealer, Subject
from deid_assets.privacy.measurement import Measurement
from deid_assets.privacy.result import AuditResult, Control, Outcome, Rule
from deid_audits import gate
from deid_audits.checklist import FOUND, ITEMS, answers
from deid_audits.facts import Facts, Tier
from deid_audits.gate import Held
from deid_audits.lineage import lineage
from deid_audits.meanings import meaning_of
from deid_audits.page import model_html, place, span_of

KEY, OTHER_KEY = Key(bytes(range(32))), Key(bytes(range(1, 33)))
MODEL = "the digest of the model"
READ = {"training": 9, "training read": 9, "held_out": 9, "held_out read": 0}
ABOUT = Subject(key="k", model=MODEL, notes={"training": "t"}, policies="p", read=READ)
TODAY = dt.date(2026, 6, 1)
RAW = {"name": "letters", "tier": "raw", "permit": "2019-1", "until": "2026-12-31"}
SAFE = {"name": "safe", "tier": "de-identified", "made_from": ["letters"], "made_by": "tag"}
BASE = {"name": "base", "tier": "public", "permit": "CC BY"}


def facts(*sources, made_from=("safe",), **rules):
    model = {"name": "m", "made_from": list(made_from)}
    return Facts.model_validate(
        {"model": model, "sources": list(sources) or [RAW, SAFE, BASE], "rules": rules}
    )


def found(group, low):
    return Measurement(
        name=FOUND, value=0.99, low=low, high=1.0, chance="none", units=50, group=group
    )


def result(name, outcome=Outcome.PASSED, *figures):
    held = Control(name="planted", expected=True, reacted=True, description="always")
    return AuditResult(
        audit=name,
        version="1",
        title=f"Is {name} fine?",
        outcome=outcome,
        reason="because",
        blind_spots=("All else.",),
        figures=figures or (found("ALL", 0.9),),
        controls=(held,),
        rules=(Rule(name="r", passed=True, description="d"),),
    )


ATTACKED = result("slot_fill")
"""An audit of the model that passed, without which none leaves."""
HELD = Held(KEY, MODEL, {"slot_fill": frozenset({Need.MODEL})})


def judge(results, known, *, today=None, held=HELD, about=ABOUT):
    """Judge results that are signed and about the model, unless another subject is given."""
    every = [ATTACKED, *results] if held is HELD else results
    sealed = [Sealer(KEY, about).seal(each) for each in every]
    return gate.judge(sealed, known, held=held, today=today)


def test_a_model_on_safe_ground_may_leave():
    decision = judge(
        [result("hips")], facts(audits=["hips"], made_from=["safe", "base"]), today=TODAY
    )

    assert (decision.released, decision.lineage.raw) == (True, ("letters",))
    assert [(entry.source.name, entry.depth) for entry in decision.lineage.entries] == [
        ("safe", 1),
        ("base", 1),
        ("letters", 2),
    ]


@pytest.mark.parametrize(
    ("sources", "made_from", "reason"),
    [
        ([{**RAW, "permit": ""}, SAFE], ["safe"], "source 'letters' is raw and has no permit"),
        (
            [{**RAW, "until": "2026-05-31"}, SAFE],
            ["safe"],
            "source 'letters' has a permit that ran out on 2026-05-31",
        ),
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
    around = [
        {"name": "a", "tier": "public", "made_from": ["b"]},
        {"name": "b", "tier": "public", "made_from": ["a"]},
    ]
    traced = lineage(facts(*around, made_from=["a"]), today=TODAY)

    assert [entry.source.name for entry in traced.entries] == ["a", "b"]
    assert {entry.source.tier for entry in traced.entries} == {Tier.PUBLIC}


@pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.VOID, Outcome.NOT_ASSESSED])
def test_an_audit_that_did_not_pass_refuses(outcome):
    assert judge([result("hips", outcome)], facts(audits=["hips"]), today=TODAY).reasons == (
        f"audit hips: {outcome.value}: because",
    )


@pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.VOID, Outcome.NOT_ASSESSED])
def test_an_audit_on_the_page_that_no_rule_names_refuses_too(outcome):
    reasons = judge([result("residue"), result("hips", outcome)], facts(), today=TODAY).reasons
    assert reasons == (f"audit hips: {outcome.value}: because",)


def test_an_installed_audit_of_the_model_without_a_result_refuses():
    held = Held(KEY, MODEL, {"membership": frozenset({Need.MODEL, Need.TRAINING})})
    assert judge([result("hips")], facts(), held=held, today=TODAY).reasons == (
        "audit membership: not assessed: there is no result; run it, or waive it with a reason",
    )
    assert judge([result("hips"), result("membership")], facts(), held=held, today=TODAY).released


def test_a_waived_audit_is_named_with_its_reason_and_asked_nothing():
    held = Held(KEY, MODEL, {"canaries": frozenset({Need.MODEL})})
    known = facts(waived={"canaries": "no secrets were planted", "hips": "nothing was replaced"})
    results = [result("hips", Outcome.FAILED), result("residue")]
    decision = judge(results, known, held=held, today=TODAY)
    page = model_html(results, known, decision, title="x")

    assert decision.released
    assert decision.to_json()["waived"] == {
        "canaries": "no secrets were planted",
        "hips": "nothing was replaced",
    }
    assert "Waived: canaries, because no secrets were planted" in page
    assert "May leave: every audit of the model passed but for those waived" in page
    with pytest.raises(ConfigError, match=r"rules\.waived\.hisp: there is no such audit.*hips"):
        judge([result("hips")], facts(waived={"hisp": "a slip"}), today=TODAY)
    with pytest.raises(ValueError, match="waived"):
        facts(waived={"hips": ""})


OF_MODEL = Held(KEY, MODEL, {"membership": frozenset({Need.MODEL, Need.TRAINING})})


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        (
            {"model": "of another"},
            "audit membership: it is of another model, or the model changed since",
        ),
        ({"model": ""}, "audit membership: it is of another model, or the model changed since"),
        (
            {"read": {**READ, "training read": 7}},
            "audit membership: 2 of its 9 training notes are not among those of the model",
        ),
        (
            {"read": {**READ, "held_out read": 1}},
            "audit membership: the model was trained on 1 of the held-out notes",
        ),
    ],
)
def test_a_result_of_another_model_or_of_other_notes_releases_nothing(changes, reason):
    about = dataclasses.replace(ABOUT, **changes)
    (said,) = judge(
        [result("membership")], facts(), held=OF_MODEL, today=TODAY, about=about
    ).reasons
    assert said.startswith(reason)
    assert judge([result("membership")], facts(), held=OF_MODEL, today=TODAY).released


def test_a_result_with_other_options_than_its_own_refuses_unless_the_rules_name_them():
    """A limit of 1 passed every model, and its verdict was signed."""
    sealed = Sealer(KEY, ABOUT).seal(result("membership"), {"limit": 1, "attacks": "zlib"})
    reasons = gate.judge([sealed], facts(), held=OF_MODEL, today=TODAY).reasons
    assert reasons[0].startswith("audit membership: made with limit = 1, which is not its own")
    assert reasons[1].startswith('audit membership: made with attacks = "zlib"')

    named = facts(options={"membership": {"limit": 1, "attacks": "zlib"}})
    decision = gate.judge([sealed], named, held=OF_MODEL, today=TODAY)
    assert decision.released
    assert "with limit = 1" in model_html([sealed], named, decision, title="x")
    other = facts(options={"membership": {"limit": 0.7, "attacks": "zlib"}})
    assert len(gate.judge([sealed], other, held=OF_MODEL, today=TODAY).reasons) == 1


def test_a_waiver_without_a_reason_is_refused():
    for reason in ("", " ", "\n\t"):
        with pytest.raises(ValueError, match="waived"):
            facts(waived={"hips": reason})


def test_a_result_that_does_not_say_who_read_its_notes_refuses():
    """One of the graph, copied out of its store, said nothing of annotated notes."""
    about = dataclasses.replace(ABOUT, notes={"annotated": "a"})
    held = Held(KEY, MODEL, {"extraction": frozenset({Need.MODEL, Need.GOLD})})
    (said,) = judge([result("extraction")], facts(), held=held, today=TODAY, about=about).reasons
    assert "it does not say how many of its annotated notes the model read" in said


def test_notes_of_a_source_of_the_ledger_may_stand_for_those_that_the_model_read():
    about = dataclasses.replace(ABOUT, read={"training": 9})
    held = dataclasses.replace(OF_MODEL, sources=frozenset({"t"}))
    assert judge([result("membership")], facts(), held=held, today=TODAY, about=about).released


def test_without_the_key_or_the_models_folder_nothing_leaves():
    audits = {"hips": frozenset({Need.GOLD})}
    (said,) = judge([result("hips")], facts(), held=Held(audits=audits), today=TODAY).reasons
    assert said.startswith("no DEID_KEY is set")
    said, *_ = judge([result("hips")], facts(), held=Held(KEY, audits=audits), today=TODAY).reasons
    assert said.startswith("the facts name no folder of the model")


def test_where_no_audit_of_models_is_installed_no_model_leaves():
    """An environment without them, as ``make run`` installs it, asked nothing and let it leave."""
    for results in ([], [result("hips")], [result("membership")]):
        (said,) = judge(results, facts(), held=Held(KEY, MODEL), today=TODAY).reasons
        assert said.startswith("no audit that attacks a model is installed")


@pytest.mark.parametrize("name", ["membership", "of_another_hospital"])
def test_a_result_of_another_model_is_told_by_what_it_is_about_where_its_audit_is_not_installed(
    name,
):
    sealed = [Sealer(KEY, ABOUT).seal(ATTACKED)]
    sealed.append(Sealer(KEY, dataclasses.replace(ABOUT, model="another")).seal(result(name)))
    (said,) = gate.judge(sealed, facts(), held=HELD, today=TODAY).reasons
    assert said.startswith(f"audit {name}: it is of another model")

    known = dataclasses.replace(HELD, others=frozenset({name}))
    assert gate.judge(sealed, facts(), held=known, today=TODAY).released


def test_what_is_not_signed_by_the_key_or_was_changed_refuses():
    sealed = Sealer(KEY, ABOUT).seal(result("hips", Outcome.FAILED))
    of_others = Sealer(OTHER_KEY, ABOUT).seal(result("hips"))
    changed = dataclasses.replace(sealed, outcome=Outcome.PASSED)
    moved = dataclasses.replace(
        sealed, outcome=Outcome.PASSED, subject=dataclasses.replace(ABOUT, model="x")
    )
    own = Sealer(KEY, ABOUT).seal(ATTACKED)
    for each in (of_others, changed, moved, result("hips")):
        reasons = gate.judge([own, each], facts(), held=HELD, today=TODAY).reasons
        assert reasons == (
            "audit hips: not signed under this DEID_KEY, or changed since; run it again",
        )


@pytest.mark.parametrize("changes", [{"notes": {"training": "others"}}, {"policies": "another"}])
def test_results_of_different_notes_or_policies_do_not_belong_together(changes):
    seals = [Sealer(KEY, ABOUT), Sealer(KEY, dataclasses.replace(ABOUT, **changes))]
    sealed = [
        seal.seal(result(name)) for seal, name in zip(seals, ("hips", "residue"), strict=True)
    ]
    held = Held(KEY, MODEL, {"none": frozenset()}, frozenset({"hips", "residue"}))
    known = facts(waived={"none": "there is nothing to attack"})
    (said,) = gate.judge(sealed, known, held=held, today=TODAY).reasons
    assert said.startswith("audit residue: its ")
    assert "are others than those of audit hips" in said


def test_what_nothing_answers_refuses():
    decision = judge(
        [result("residue", Outcome.PASSED, found("NAME", 0.97))],
        facts(
            audits=["membership"],
            recall={"NAME": 0.98, "FAX": 0.5},
            checklist=["HIPAA", "Magna Carta"],
        ),
        today=TODAY,
    )

    assert any(
        reason.startswith("audit membership: not assessed: there is no")
        for reason in decision.reasons
    )
    assert "recall of NAME: lower end 0.970, at least 0.980 is asked" in decision.reasons
    assert "recall of FAX: not assessed: audit `residue` has no such figure" in decision.reasons
    assert "checklist: HIPAA, hipaa_fax: no evidence" in decision.reasons
    assert "checklist: HIPAA, hipaa_names: no evidence" not in decision.reasons
    assert "checklist: no law 'Magna Carta'; there are AI Act, GDPR, HIPAA" in decision.reasons


def test_every_item_is_answered_by_something_and_named_once():
    assert len({item.name for item in ITEMS}) == len(ITEMS)
    assert sum(item.law == "HIPAA" for item in ITEMS) == 18 + 1

    stated = facts().model_copy(update={"evidence": {"gdpr_impact": "DPIA 7"}})
    told = {
        each.item.name: each.evidence
        for each in answers(
            [result("reidentification", Outcome.VOID), result("membership", Outcome.FAILED)],
            stated,
            lineage(stated, today=TODAY),
        )
    }
    assert told["gdpr_impact"] == "DPIA 7"
    assert told["gdpr_singling_out"] == ""  # a void audit is no evidence
    assert told["gdpr_model"] == ""  # looked for and found: no evidence that it may leave
    assert told["gdpr_legal_basis"] == "ledger: 2 sources, 1 of them raw, each with a permit"


def test_evidence_for_an_item_that_there_is_not_is_refused():
    wrong = facts().model_copy(update={"evidence": {"gdpr_imapct": "DPIA 7"}})

    with pytest.raises(
        ConfigError, match=r"evidence\.gdpr_imapct: the checklist has no such item.*gdpr_impact"
    ):
        judge([], wrong, today=TODAY)


def test_the_page_escapes_what_it_is_given_and_shows_gaps():
    known = facts({**RAW, "permit": ""}, {**SAFE, "made_by": "<b>tag</b>"})
    page = model_html(
        [result("hips"), result("residue", Outcome.NOT_ASSESSED)],
        known,
        judge([], known),
        title="x",
    )

    assert "&lt;b&gt;tag" in page
    assert "gap: no evidence" in page
    assert "is raw and has no permit" in page
    assert "<script" not in page


def test_a_measurement_is_drawn_inside_its_axis():
    figures = [
        found("NAME", 0.9),
        Measurement(name="left", value=300, low=100, high=900, chance=50.0, units=9),
    ]

    for figure in figures:
        at = place(figure, span_of(figures, figure))
        assert 0 < at.low <= at.value <= at.high < 120
        assert at.chance is None or at.chance < at.low


@pytest.mark.parametrize(
    "name",
    [
        "AUC",
        "AUC of patients",
        "true positives at 1.0% false positives",
        "texts with a patient's last name",
        "6 words in a row of one patient's notes alone",
        "others beaten, in other words",
        "drawn out by a prompt",
        "persons linked to their own record",
        "risk beyond the control",
        "share of identifiers found",
    ],
)
def test_each_figure_says_what_it_means_and_what_to_do(name):
    figure = Measurement(name=name, value=0.5, low=0.4, high=0.6, chance=0.5, units=50)
    page = model_html([result("hips", Outcome.PASSED, figure)], None, None, title="x")
    assert meaning_of(name) != meaning_of("of another plugin")
    assert html.escape(meaning_of(name), quote=False).partition("'")[0] in page
    assert page.count(meaning_of(name).partition("'")[0]) == 1
