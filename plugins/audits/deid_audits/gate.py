"""The release gate of a model: refused, with the reason, where a rule fails."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from deid_assets.extending import ConfigError, did_you_mean, remedy
from deid_assets.extending.audits import AuditResult, Key, Need, Outcome, as_told, is_signed
from deid_audits.checklist import FOUND, AnsweredItem, answers
from deid_audits.facts import Facts, LedgerRules
from deid_audits.lineage import Lineage, Trained, lineage

OF_MODEL = {Need.TRAINING: "training", Need.GOLD: "annotated"}
"""Sets of notes that a model audit takes for those that the model was made from."""


@dataclass(frozen=True, slots=True)
class Held:
    """What results are held against.

    Args:
        key: That they must be signed under; none where none is set, and then no model leaves.
        model: Digest of the model's folder as it is now, by that key; empty where the facts name no
            folder.
        audits: Installed audits that attack a model, with their needs: each must have passed. Where
            there are none, no model leaves: what is not asked is not answered.
        others: Installed audits that attack none: what they are about need not be this model.
        sources: Digests of the texts of the ledger's sources.
    """

    key: Key | None = field(default=None, repr=False)
    model: str = ""
    audits: Mapping[str, frozenset[Need]] = field(default_factory=dict)
    others: frozenset[str] = frozenset()
    sources: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class GateDecision:
    """Whether a model may leave.

    Args:
        reasons: Why not, a line each; none where it may.
        lineage: What the model was made of.
        answers: The checklist.
        trained: What the model's card says that it read.
        waived: Audit to the reason for which its verdict was not asked for.
    """

    reasons: tuple[str, ...]
    lineage: Lineage
    answers: tuple[AnsweredItem, ...]
    trained: Trained
    waived: tuple[tuple[str, str], ...] = ()

    @property
    def released(self) -> bool:
        """Whether it may leave."""
        return not self.reasons

    def to_json(self) -> dict[str, Any]:
        """Return it under plain names."""
        return {
            "released": self.released,
            "reasons": list(self.reasons),
            "waived": dict(self.waived),
            "raw_sources": list(self.lineage.raw),
            "read_by_card": dict(self.trained.rows),
            "checklist": [
                {"item": each.item.name, "law": each.item.law, "evidence": each.evidence}
                for each in self.answers
            ],
        }


def judge(
    results: Sequence[AuditResult],
    facts: Facts,
    *,
    held: Held,
    trained: Trained | None = None,
    today: dt.date | None = None,
) -> GateDecision:
    """Return whether a model may leave, by the rules of its facts.

    Every audit of the model must have passed, of these very files, signed under this key, all of
    the same notes and policies; one that is waived by name is left out. A rule that nothing answers
    is a failed one. A raw source without a permit, one that the model was trained on directly, one
    that the ledger does not have, and a card that says otherwise refuse the model unless
    ``permits`` is switched off.

    Args:
        results: Of audits.
        facts: Of the model, with the rules.
        held: What the results are held against.
        trained: What the model's card says, where it was read; see ``sources``.
        today: Day on which permits must hold; the present one when not given.

    Raises:
        ConfigError: An audit is waived that there is not, or evidence is stated for no item of the
            checklist.
    """
    rules = facts.rules
    wanted = tuple(dict.fromkeys([*held.audits, *rules.audits, *(each.audit for each in results)]))
    _check_waived(facts, wanted)
    found, read = lineage(facts, today=today), trained or Trained()
    asked = [each for each in results if each.audit not in rules.waived]
    answered = tuple(answers(asked, facts, found))
    reasons = [
        *_of_binding(asked, held),
        *_of_audits(asked, [name for name in wanted if name not in rules.waived]),
        *(reason for each in asked for reason in _of_options(each, rules)),
        *(
            reason
            for category, least in rules.recall.items()
            for reason in _of_recall(asked, category, least)
        ),
        *((*found.faults, *read.faults) if rules.permits else ()),
        *_of_checklist(answered, rules.checklist),
    ]
    waived = tuple((name, reason) for name, reason in rules.waived.items())
    return GateDecision(tuple(reasons), found, answered, read, waived)


def _check_waived(facts: Facts, known: Sequence[str]) -> None:
    for name in facts.rules.waived:
        if name not in known:
            raise ConfigError(
                f"rules.waived.{name}: there is no such audit{did_you_mean(name, known)}"
            )


def _of_binding(results: Sequence[AuditResult], held: Held) -> Iterator[str]:
    """Yield why results prove nothing of this model.

    Unsigned, of other files, of notes that it did not read.
    """
    if held.key is None:
        yield (
            "no DEID_KEY is set, so that no result can be checked; set it as it was when the"
            " audits ran"
        )
        return
    if not held.model:
        yield (
            "the facts name no folder of the model, so that no audit can be held against it; give"
            " model.folder"
        )
    if not held.audits:
        yield (
            "no audit that attacks a model is installed, so that nothing is known of this one;"
            f" {remedy('audits[models]')}, and run its audits"
        )
    for result in results:
        if not is_signed(result, held.key):
            yield (
                f"audit {result.audit}: not signed under this DEID_KEY, or changed since; run it"
                " again"
            )
        elif _attacks_model(result, held) and result.outcome is not Outcome.NOT_ASSESSED:
            yield from _of_model(result, held)
    signed = [each for each in results if is_signed(each, held.key)]
    for is_of_model in (True, False):
        yield from _of_sets([each for each in signed if _attacks_model(each, held) is is_of_model])


def _attacks_model(result: AuditResult, held: Held) -> bool:
    """Whether an audit attacks models; of one that is not installed, what it was given tells."""
    if result.audit in held.audits:
        return True
    return result.audit not in held.others and bool(result.subject and result.subject.model)


def _of_model(result: AuditResult, held: Held) -> Iterator[str]:
    subject = result.subject
    if subject is None or not held.model or subject.model != held.model:
        yield (
            f"audit {result.audit}: it is of another model, or the model changed since; run it"
            " again"
        )
        return
    # One that is not installed here may have needed all that it was given.
    needs = held.audits.get(result.audit, frozenset(OF_MODEL))
    for need, name in OF_MODEL.items():
        if need in needs and name in subject.notes and name not in subject.read:
            yield (
                f"audit {result.audit}: it does not say how many of its {name} notes the model"
                " read; run it again with `deid privacy run`"
            )
        given, read = (subject.read.get(part, 0) for part in (name, f"{name} read"))
        is_source = subject.notes.get(f"{name} texts", subject.notes.get(name)) in held.sources
        if need in needs and given != read and not is_source:
            yield (
                f"audit {result.audit}: {given - read:,} of its {given:,} {name} notes are not"
                " among those of the model by its model card, and together they are no source of"
                " the ledger; run it with the notes of the model"
            )
    if others := subject.read.get("held_out read", 0):
        yield (
            f"audit {result.audit}: the model was trained on {others:,} of the held-out notes; give"
            " notes that it was not"
        )


def _of_sets(results: Sequence[AuditResult]) -> Iterator[str]:
    """Yield why results do not belong together: two of them are of different notes or policies."""
    first: dict[str, tuple[str, str]] = {}
    for result in results:
        if result.subject is None:
            continue
        parts = {
            f"{name} notes": digest
            for name, digest in result.subject.notes.items()
            if " " not in name
        }
        if result.subject.policies:
            parts["policies"] = result.subject.policies
        for name, digest in parts.items():
            owner, known = first.setdefault(name, (result.audit, digest))
            if digest != known:
                yield (
                    f"audit {result.audit}: its {name} are others than those of audit {owner}; run"
                    " both on the same"
                )


def _of_audits(results: Sequence[AuditResult], wanted: Sequence[str]) -> Iterator[str]:
    for name in wanted:
        found = [result for result in results if result.audit == name]
        if not found:
            yield (
                f"audit {name}: not assessed: there is no result; run it, or waive it with a reason"
            )
        for result in found:
            if result.outcome is not Outcome.PASSED:
                yield f"audit {name}: {result.outcome.value}: {result.reason}"


def _of_options(result: AuditResult, rules: LedgerRules) -> Iterator[str]:
    """Yield with which options an audit was made that the rules do not name.

    A loosened limit, a share of the attacks and another seed pass what the audit itself refuses.
    """
    allowed = rules.options.get(result.audit, {})
    for name, value in result.subject.options.items() if result.subject else ():
        if name not in allowed or as_told(allowed[name]) != value:
            yield (
                f"audit {result.audit}: made with {name} = {value}, which is not its own setting;"
                f" run it without, or allow it under rules.options.{result.audit}"
            )


def _of_checklist(answered: Sequence[AnsweredItem], laws: Sequence[str]) -> Iterator[str]:
    known = {each.item.law for each in answered}
    for each in answered:
        if each.item.law in laws and each.is_gap:
            yield f"checklist: {each.item.law}, {each.item.name}: no evidence"
    for law in laws:
        if law not in known:
            yield f"checklist: no law {law!r}; there are {', '.join(sorted(known))}"


def _of_recall(results: Sequence[AuditResult], category: str, least: float) -> Iterator[str]:
    lows = [
        figure.low
        for result in results
        if result.audit == "residue" and result.outcome is not Outcome.VOID
        for figure in result.figures
        if figure.name == FOUND and figure.group == category
    ]
    if not lows:
        yield f"recall of {category}: not assessed: audit `residue` has no such figure"
    elif min(lows) < least:
        yield f"recall of {category}: lower end {min(lows):.3f}, at least {least:.3f} is asked"
