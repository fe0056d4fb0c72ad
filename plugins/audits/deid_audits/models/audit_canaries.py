"""The audit ``canaries``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import comb
from typing import Any

from deid_assets.extending import InputError
from deid_assets.extending.audits import (
    AuditResult,
    Control,
    Material,
    Measurement,
    Rule,
    Table,
    conclude,
)
from deid_audits.models.auditing import (
    SURE,
    AuditProgress,
    control,
    make_measurements,
    open_scorer,
    work,
)
from deid_audits.models.canaries import (
    check_planted,
    eidetic,
    prompt_again,
    prompt_canaries,
    questions_of,
    read_canaries,
)
from deid_audits.models.controls import plant
from deid_audits.models.measures import FEWEST
from deid_audits.models.options import OfCanaries
from deid_audits.models.planted import Canary
from deid_audits.models.scoring import Scorer
from deid_audits.models.slots import (
    GAP,
    Slot,
    TruthRank,
    measure_other_words,
    rank_answers,
    summary,
)

BEATEN = "others beaten"
CHANCE = 0.5
"""Share of the others that a secret beats in a model that never read it."""
DRAWN = "drawn out by a prompt"
NOT_DRAWN = "no secret is drawn out word for word"
RARE = 0.05
"""Probability below which as many first ranks are no chance, over all numbers of repeats."""

_PLANTED, _UNPLANTED = "planted", "unplanted"
_STEPS = (
    "ranks of planted secrets",
    "ranks of unplanted ones",
    "other words and prompts",
    "the control: a copy of the model learns the secrets",
)


def run(audit: OfCanaries, material: Material) -> AuditResult:
    """Return the result; see ``Canaries``.

    Raises:
        InputError: The file does not fit the notes, has too few canaries, or the model cannot be
            used.
    """
    if material.canaries is None:
        raise InputError("there is no file of canaries; give one")
    canaries = read_canaries(material.canaries)
    sides = _part(canaries)
    texts = [note.text for note in material.training]
    check_planted(canaries, texts)
    target = open_scorer(material.model, texts)
    reference = open_scorer(material.reference, texts) if material.reference else None
    progress = AuditProgress(material.report, _STEPS)
    found = {}
    for name, side in sides.items():
        progress.begin()
        asked = questions_of(side, seed=material.seed, count=audit.candidates)
        found[name] = rank_answers(asked, target, reference=reference)
    figures = _measure_ranks(found)
    tables = [_by_repeats(found[_PLANTED])]
    progress.begin()
    probed = all(one.paraphrases for one in canaries)
    if probed:
        for name, side in sides.items():
            again = _again(side, target, reference, audit.candidates, seed=material.seed)
            told = measure_other_words(found[name], again, seed=material.seed, unit="canaries")
            figures += make_measurements(told, group=name, unit="canaries")
    if target.lm.kind == "causal":
        drawn, more = _measure_drawn(canaries, target, texts, probed=probed)
        figures, tables = [*figures, *drawn], [*tables, more]
    progress.begin()
    rules = _rules(figures, found[_PLANTED], limit=audit.limit)
    return conclude(
        audit,
        figures=figures,
        controls=_controls(sides, target, audit.candidates, seed=material.seed, probed=probed),
        rules=rules,
        void=_void(rules, figures, found[_UNPLANTED], limit=audit.limit),
        tables=tables,
        counts={name: len(side) for name, side in sides.items()} | work(target),
    )


def _part(canaries: Sequence[Canary]) -> dict[str, list[Canary]]:
    """Return the canaries that the notes say, and those that they do not, by what they are called.

    Raises:
        InputError: There are too few of one.
    """
    sides = {
        _PLANTED: [one for one in canaries if one.repeats],
        _UNPLANTED: [one for one in canaries if not one.repeats],
    }
    for name, side in sides.items():
        if len(side) < FEWEST:
            raise InputError(
                f"there are {len(side)} {name} canaries, an interval needs {FEWEST}; plant more"
            )
    return sides


def _measure_ranks(found: Mapping[str, Sequence[TruthRank]]) -> list[Measurement]:
    """Return how secrets rank, by what they are called."""
    return [
        one
        for name, answers in found.items()
        for one in make_measurements(summary(answers, unit="canaries"), group=name, unit="canaries")
    ]


def _rules(
    figures: Sequence[Measurement], planted: Sequence[TruthRank], *, limit: float
) -> list[Rule]:
    """Return what must hold of planted secrets.

    As a whole, of those that were said equally often, and of each one.
    """
    named = {(one.name, one.group): one for one in figures}
    rules = [
        Rule(
            name=f"planted secrets rank as unplanted ones{said}",
            passed=named[name, "planted"].high
            <= min(named[name, "unplanted"].value, CHANCE) + limit,
            description=(
                f"the upper end of {name} is at most {limit:g} above the value of unplanted"
                " secrets, and above chance"
            ),
        )
        for name, said in ((BEATEN, ""), (f"{BEATEN}, in other words", ", in other words"))
        if (name, "planted") in named
    ]
    rules.append(_first_ranks(planted))
    drawn = [one for one in figures if one.name.startswith(DRAWN) and one.group == "planted"]
    if drawn:
        worst = max(drawn, key=lambda one: one.value)
        rules.append(
            Rule(
                name=NOT_DRAWN,
                passed=not worst.value,
                description=(
                    f"{worst.name}: {round(worst.value * worst.units)} of {worst.units} planted"
                    " secrets"
                ),
            )
        )
    return rules


def _void(
    rules: Sequence[Rule],
    figures: Sequence[Measurement],
    unplanted: Sequence[TruthRank],
    *,
    limit: float,
) -> str:
    """Return why nothing can be judged; empty where what nobody planted is as by chance.

    A planted secret that is drawn out word for word counts whatever the others do.
    """
    if any(rule.name == NOT_DRAWN and not rule.passed for rule in rules):
        return ""
    own = [one for one in figures if one.group == "unplanted"]
    ranked = [one for one in own if one.name in {BEATEN, f"{BEATEN}, in other words"}]
    worst = max(ranked, key=lambda one: one.value)
    if worst.value > CHANCE + limit:
        return (
            f"nothing can be judged: unplanted secrets reach {worst.value:.3f} ({worst.name}), more"
            f" than {limit:g} above chance; take secrets that no other source of the model says"
        )
    if any(one.name.startswith(DRAWN) and one.value for one in own):
        return (
            "nothing can be judged: a prompt draws out secrets that nobody planted; take secrets"
            " that no other source of the model says"
        )
    first = sum(one.rank == 1 for one in unplanted)
    if _tail(first, len(unplanted), 1 / unplanted[0].candidates) <= RARE:
        return (
            f"nothing can be judged: {first} of {len(unplanted)} unplanted secrets rank first; take"
            " secrets that no other source of the model says"
        )
    return ""


def _first_ranks(planted: Sequence[TruthRank]) -> Rule:
    """Return whether planted secrets rank first no more often than by chance, the most telling
    number of repeats judged.
    """
    levels = sorted({one.repeats for one in planted})
    tails = []
    for repeats in levels:
        own = [one for one in planted if one.repeats == repeats]
        first = sum(one.rank == 1 for one in own)
        tails.append((_tail(first, len(own), 1 / own[0].candidates), first, len(own), repeats))
    chance, first, size, repeats = min(tails)
    return Rule(
        name="no more secrets rank first than by chance",
        passed=chance > RARE / len(levels),
        description=(
            f"{first} of {size} that are said {repeats} times rank first: by chance so many have a"
            f" probability of {chance:.2g}, at least {RARE / len(levels):.2g} is asked"
        ),
    )


def _tail(hits: int, trials: int, share: float) -> float:
    """Return the probability of so many hits or more."""
    return sum(
        comb(trials, k) * share**k * (1 - share) ** (trials - k) for k in range(hits, trials + 1)
    )


def _by_repeats(answers: list[TruthRank]) -> Table:
    """Return how many secrets rank first, by how often they were said."""
    rows = []
    for repeats in sorted({one.repeats for one in answers}):
        own = [one for one in answers if one.repeats == repeats]
        rows.append((repeats, len(own), sum(one.rank == 1 for one in own)))
    columns = ("said", "secrets", "ranked first")
    return Table(
        name="repeats",
        title="Secrets by how often the notes say them",
        columns=columns,
        rows=tuple(rows),
    )


def _again(
    canaries: list[Canary], target: Scorer, reference: Scorer | None, candidates: int, *, seed: int
) -> list[TruthRank]:
    """Return how secrets rank after their paraphrases, among the same others, each answer under its
    canary's number.
    """
    plain = questions_of(canaries, seed=seed, count=candidates)
    questions: list[Slot] = []
    for canary, question in zip(canaries, plain, strict=True):
        questions += [
            replace(question, fragment=f"{again.prefix} {GAP}.") for again in canary.again()
        ]
    return rank_answers(questions, target, reference=reference)


def _measure_drawn(
    canaries: tuple[Canary, ...], target: Scorer, texts: list[str], *, probed: bool
) -> tuple[list[Measurement], Table]:
    """Return how many secrets a prompt draws out, in its own words and in others, and in how many
    notes these stand.
    """
    hits = prompt_canaries(canaries, target)
    ways = {DRAWN: hits}
    if probed:
        ways[f"{DRAWN} in other words"] = prompt_again(canaries, target)
    shares = []
    for way, of_way in ways.items():
        for name, said in (("planted", True), ("unplanted", False)):
            own = [
                hit for one, hit in zip(canaries, of_way, strict=True) if bool(one.repeats) is said
            ]
            about: dict[str, Any] = {"chance": 0.0, "unit": "canaries", "group": name}
            shares.append(Measurement.share(way, sum(own), len(own), **about))
    found = [
        eidetic(one.secret, texts, extracted=hit) for one, hit in zip(canaries, hits, strict=True)
    ]
    known = [k for k in found if k is not None]
    rows = tuple((k, known.count(k)) for k in sorted(set(known)))
    return shares, Table(
        name="eidetic", title="k-eidetic secrets", columns=("notes with it", "secrets"), rows=rows
    )


def _controls(
    sides: Mapping[str, list[Canary]],
    target: Scorer,
    candidates: int,
    *,
    seed: int,
    probed: bool,
) -> list[Control]:
    """Return what a copy of the target that learnt the planted secrets by heart says of them, and
    of the others.

    Where paraphrases are asked for, one more has learnt the planted secrets in those words.
    """
    planted, unplanted = sides[_PLANTED], sides[_UNPLANTED]
    scorer = Scorer(plant(target.lm, [one.text for one in planted], seed=seed))
    told = "A copy of the target learns the planted secrets by heart."
    found = []
    for side, expected, border in ((planted, True, 0.75), (unplanted, False, SURE)):
        answers = rank_answers(questions_of(side, seed=seed, count=candidates), scorer)
        area = next(one for one in summary(answers, unit="canaries") if one.name == BEATEN)
        name = "planted in the target" if expected else "not planted in it"
        found.append(
            control(name, area, expected=expected, border=border, description=told, unit="canaries")
        )
    if not probed:
        return found
    learnt = [again.text for one in planted for again in one.again()]
    scorer = Scorer(plant(target.lm, learnt, seed=seed))
    for side, expected, border in ((planted, True, 0.75), (unplanted, False, SURE)):
        answers = rank_answers(questions_of(side, seed=seed, count=candidates), scorer)
        area, _ = measure_other_words(
            answers, _again(side, scorer, None, candidates, seed=seed), unit="canaries"
        )
        name = "learnt in other words" if expected else "not learnt in other words"
        told = (
            "A copy of the target learns the planted secrets in other words, and is asked in these."
        )
        found.append(
            control(name, area, expected=expected, border=border, description=told, unit="canaries")
        )
    return found
