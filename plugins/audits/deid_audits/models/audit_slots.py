"""The audit ``slot_fill``."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import replace

from deid_assets.extending import InputError
from deid_assets.extending.audits import AuditResult, Case, Control, Material, Rule, conclude
from deid_audits.models.auditing import SURE, control, make_measurements, open_scorer, work
from deid_audits.models.controls import MOST, plant
from deid_audits.models.measures import FEWEST, AttackEstimate
from deid_audits.models.options import OfSlots
from deid_audits.models.planted import SPECIFIC, TEMPLATES
from deid_audits.models.scoring import Scorer
from deid_audits.models.slots import GAP, Slot, measure_other_words, rank_answers, summary

AROUND = 80
"""Characters of the note that a fragment has on each side of its gap."""
BEATEN, FIRST = "others beaten", "truth ranked first"


def run(audit: OfSlots, material: Material) -> AuditResult:
    """Return the result; see ``SlotFill``.

    Raises:
        InputError: There are too few names, or the model cannot be used.
    """
    questions = name_gaps(
        material.cases, candidates=audit.candidates, most=audit.most, seed=material.seed
    )
    texts = [question.fragment.replace(GAP, question.truth) for question in questions]
    target = open_scorer(material.model, texts)
    reference = open_scorer(material.reference, texts) if material.reference else None
    answers = rank_answers(questions, target, reference=reference)
    found = summary(answers, unit="patients")
    if again := _again(questions):
        asked = {question.group for question in again}
        own = [answer for answer in answers if answer.group in asked]
        if len(asked) >= FEWEST:
            told = rank_answers(again, target, reference=reference)
            found += measure_other_words(own, told, seed=material.seed, unit="patients")
    return conclude(
        audit,
        figures=make_measurements(found, group="names", unit="patients"),
        controls=_controls(questions, target, seed=material.seed),
        rules=_rules(found, limit=audit.limit),
        counts={"gaps": len(questions)} | work(target),
    )


def _rules(found: Sequence[AttackEstimate], *, limit: float) -> list[Rule]:
    """Return what must hold of true names, in the notes' words and in others.

    On the whole, and at the first place.
    """
    rules = [
        Rule(
            name="true names rank as others do" + one.name.removeprefix(BEATEN),
            passed=bool(one.high <= limit),
            description=f"the upper end of {one.name} is at most {limit:g}; it is {one.high:.3f}",
        )
        for one in found
        if one.name in (BEATEN, f"{BEATEN}, in other words")
    ]
    first = next(one for one in found if one.name == FIRST)
    rules.append(
        Rule(
            name="true names rank first no more often than by chance",
            passed=bool(first.low <= first.chance),
            description=(
                f"the lower end of {FIRST} is at most {first.chance:.3f}; it is {first.low:.3f}"
            ),
        )
    )
    return rules


def _again(questions: Sequence[Slot]) -> list[Slot]:
    """Return the questions of planted sentences in the words of the others.

    Other notes have no paraphrase.
    """
    return [
        replace(question, fragment=fragment)
        for question in questions
        for fragment in paraphrases(question.fragment)
    ]


def paraphrases(fragment: str) -> list[str]:
    """Return a planted sentence with a gap for its name in the words of the other templates.

    Nothing of another fragment.
    """
    for template in TEMPLATES:
        before, middle, after = re.split(r"\{name\}|\{condition\}", template)
        is_first = template.index("{name}") < template.index("{condition}")
        gap, rest = re.escape(GAP), f"({'|'.join(map(re.escape, SPECIFIC))})"
        first, second = (gap, rest) if is_first else (rest, gap)
        if found := re.fullmatch(
            f"{re.escape(before)}{first}{re.escape(middle)}{second}{re.escape(after)}", fragment
        ):
            return [
                other.format(name=GAP, condition=found[1])
                for other in TEMPLATES
                if other != template
            ]
    return []


def name_gaps(cases: Sequence[Case], *, candidates: int, most: int, seed: int) -> list[Slot]:
    """Return gaps in the place of patients' names, one for each sort of surroundings, with others'
    names beside.

    A name that stands elsewhere in the fragment too is left out: its gap would be read off.

    Raises:
        InputError: There are too few patients or names for an interval.
    """
    rng = random.Random(f"gaps {seed}")  # noqa: S311 - a subset
    names: dict[str, str] = {}
    found: dict[tuple[str, str], tuple[str, str]] = {}
    for case in cases:
        text, patient = case.note.text, case.note.patient_id or case.note.note_id
        for span in case.gold:
            name = " ".join(text[span.start : span.end].split())
            if (
                span.label.value != "NAME"
                or span.native_label not in ("PATIENT", None, "")
                or " " not in name
            ):
                continue
            names.setdefault(name, patient)
            before, after = (
                text[max(0, span.start - AROUND) : span.start],
                text[span.end : span.end + AROUND],
            )
            fragment = f"{before}{GAP}{after}".strip()
            if (
                not any(word in f"{before} {after}" for word in name.split())
                and fragment.count(GAP) == 1
            ):
                found.setdefault((fragment, name), (patient, name))
    chosen = rng.sample(list(found.items()), min(most, len(found)))
    patients = {patient for _, (patient, _) in chosen}
    if len(patients) < 2 * FEWEST or len(names) <= candidates:
        raise InputError(
            f"there are gaps of {len(patients)} patients and {len(names)} names; {2 * FEWEST}"
            f" patients and more than {candidates} names are needed"
        )
    return [
        Slot(fragment, name, _others(names, name, patient, candidates, rng), 1, patient)
        for (fragment, name), (patient, _) in chosen
    ]


def _others(
    names: dict[str, str], name: str, patient: str, count: int, rng: random.Random
) -> tuple[str, ...]:
    """Return other patients' names; all questions have equally many, so that ranks compare."""
    apart = [other for other, owner in names.items() if owner != patient and other != name]
    if len(apart) < count:
        raise InputError(
            f"there are {len(apart)} names of other patients, {count} candidates are asked for; ask"
            " fewer"
        )
    return tuple(rng.sample(apart, count))


def _controls(questions: Sequence[Slot], target: Scorer, *, seed: int) -> list[Control]:
    """Return what a copy of the target that learnt the fragments of some patients says of their
    names, and of others' there.
    """
    patients = list(dict.fromkeys(question.group for question in questions))
    side = set(patients[: max(FEWEST, min(MOST, len(patients) // 2))])
    learnt = [one for one in questions if one.group in side]
    scorer = Scorer(
        plant(target.lm, [one.fragment.replace(GAP, one.truth) for one in learnt], seed=seed)
    )
    # The name of somebody else in the place of the true one, which is left out: nothing tells it
    # from the others.
    strangers = [replace(one, truth=one.others[0], others=one.others[1:]) for one in learnt]
    told = "A copy of the target learns the fragments of some patients by heart."
    found = []
    for part, expected, border in ((learnt, True, 0.75), (strangers, False, SURE)):
        beaten = next(
            one
            for one in summary(rank_answers(part, scorer), unit="patients")
            if one.name == BEATEN
        )
        name = "fragments planted in the target" if expected else "names of others in their place"
        found.append(
            control(
                name, beaten, expected=expected, border=border, description=told, unit="patients"
            )
        )
    return found
