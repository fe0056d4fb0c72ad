"""The audit: what each policy leaves of a person, and what three attacks make of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from deid_assets.extending import ConfigError
from deid_assets.extending.audits import (
    AuditResult,
    Case,
    Control,
    Key,
    Material,
    Measurement,
    Need,
    Plot,
    Policy,
    Rule,
    Table,
    conclude,
    summary_of,
)
from deid_assets.extending.corpora import read_corpus
from deid_reidentification.attacks import (
    Arms,
    RecordIndex,
    inference,
    link,
    linkability,
    singling_out,
)
from deid_reidentification.drawing import curves_png
from deid_reidentification.people import (
    Person,
    QuasiIdentifierKind,
    covers,
    find_left,
    owner_of,
    people_of,
    read_population,
    records_of,
    split,
)

LINKED, RISK = "persons linked to their own record", "risk beyond the control"
UNIQUE, FEW = (
    "patients whom nobody else shares what is left with",
    "patients who share it with fewer than five",
)
HELD = "patients of whom a value is left"
DRAWS = 1_000
STRUCTURED = tuple(kind for kind in QuasiIdentifierKind if kind is not QuasiIdentifierKind.FACT)
EVERY = len(QuasiIdentifierKind)


class Reidentification:
    """Attacks the release of each policy.

    Half of the patients are released; the others are the control. The attacker reads every place of
    the release at which a quasi-identifier stands, also those that were replaced, and knows one
    true value of each kind about each person.

    Args:
        most_risk: Largest upper end of the risk of each attack, for a policy to pass.
        most_linked: Largest upper end of the share of persons linked to their record who are known
            by everything.
        least_patients: In each half; with fewer nothing is assessed.
        made: People to add to the population, as ``synthetic:LANG:NOTES:SEED``; their notes are
            made and read.
    """

    name = "reidentification"
    version = "0.3.0"
    title = summary_of("deid_reidentification", "reidentification")
    needs = frozenset({Need.GOLD, Need.POLICIES})
    blind_spots = (
        (
            "Names, numbers and other direct identifiers are not used here; the audits `hips` and"
            " `residue` count those that were missed."
        ),
        (
            "Ages, sexes and places count where people annotated them; a sex that only the pronouns"
            " tell is not seen."
        ),
        (
            "A rare fact is a word that few patients share; what several common words tell together"
            " is not seen."
        ),
        (
            "Shifted dates keep their distances, and style tells authors and wards apart; neither"
            " is attacked."
        ),
        (
            "The population is the notes' own patients and those that are given; in a larger one"
            " more people share a value."
        ),
    )

    def __init__(
        self,
        *,
        most_risk: float = 0.1,
        most_linked: float = 0.1,
        least_patients: int = 20,
        made: str = "",
    ) -> None:
        if not (0 <= most_risk <= 1 and 0 <= most_linked <= 1 and least_patients > 1):
            raise ConfigError(
                "most_risk and most_linked are shares in [0, 1], and least_patients is 2 or more"
            )
        self._most_risk, self._most_linked = most_risk, most_linked
        self._least, self._made = least_patients, made

    def run(self, material: Material) -> AuditResult:
        world = Populations.of(material, least=self._least, made=self._made)
        raw = _attack(world, _nothing(), material)
        found = [_attack(world, policy, material) for policy in material.policies]
        return conclude(
            self,
            figures=[figure for each in found for figure in each.figures],
            controls=[*_beats(raw, world), _strangers(world, material)],
            rules=[rule for each in found for rule in self._rules(each)],
            plots=[
                Plot(
                    name="known",
                    title=_TITLE,
                    png=curves_png(
                        {each.policy: each.curve for each in (raw, *found)},
                        chance=world.chance,
                        title=_TITLE,
                    ),
                )
            ],
            tables=[_tabulate_held(found, world), _arms([raw, *found])],
            counts={
                "released_patients": len(world.released),
                "control_patients": len(world.others),
                "population": len(world.population),
                "policies": len(found),
            },
        )

    def _rules(self, found: Attacked) -> list[Rule]:
        worst = max((each.risk for each in found.attacks), key=lambda risk: risk.high)
        link = found.curve[-1]
        return [
            Rule(
                name=f"attacks under {found.policy}",
                passed=worst.high <= self._most_risk,
                description=(
                    f"the worst risk is up to {worst.high:.3f}, at most {self._most_risk:.3f}"
                ),
            ),
            Rule(
                name=f"linkage under {found.policy}",
                passed=link.high <= self._most_linked,
                description=(
                    f"up to {link.high:.3f} of the persons linked, at most {self._most_linked:.3f}"
                ),
            ),
        ]


_TITLE = "Persons linked to their own record, by how much an outsider knows"


@dataclass(frozen=True, slots=True)
class Populations:
    """Everybody: who is released, who is not, and the population of both and of the
    people given.
    """

    cases: Sequence[Case]
    released: Sequence[Person]
    others: Sequence[Person]
    population: Sequence[Person]

    @classmethod
    def of(cls, material: Material, *, least: int, made: str) -> Populations:
        """Return the world of the material.

        Raises:
            InputError: There are too few patients, or the population cannot be read.
        """
        own, _ = split(
            material.cases, key=Key(material.key.derive("found", str(material.seed))), least=least
        )
        people = people_of(material.cases)
        inside = {owner_of(case) for case in own}
        given = read_population(material.population) if material.population else []
        return cls(
            own,
            [person for name, person in people.items() if name in inside],
            [person for name, person in people.items() if name not in inside],
            [*people.values(), *given, *_make_people(made)],
        )

    @property
    def chance(self) -> float:
        """Share of persons linked by a guess."""
        return 1 / len(self.released)


def _make_people(source: str) -> list[Person]:
    """Return the people of synthetic notes."""
    documents = read_corpus(source).documents if source else ()
    return list(people_of([Case(each.note, each.spans, each.spans) for each in documents]).values())


@dataclass(frozen=True, slots=True)
class Attack:
    """The arms of an attack, measured, and the risk.

    Main beyond control, as a share of what control leaves open.
    """

    name: str
    main: Measurement
    control: Measurement
    baseline: Measurement
    risk: Measurement

    @property
    def beats(self) -> bool:
        """Whether the main arm beats guesses beyond the interval of either."""
        return self.main.low > self.baseline.high


@dataclass(frozen=True, slots=True)
class Attacked:
    """What the attacks on one policy found.

    Shares linked by 1, 2, … known values, and the three attacks.
    """

    policy: str
    records: Mapping[str, Person]
    curve: Sequence[Measurement]
    attacks: Sequence[Attack]

    @property
    def figures(self) -> list[Measurement]:
        """What the result shows."""
        return [self.curve[-1], *(each.risk for each in self.attacks)]


def _nothing() -> Policy:
    """Return the policy that redacts no quasi-identifier, on which every attack must work."""
    from deid_assets.extending import Phi  # noqa: PLC0415 - beside its only use

    return Policy("nothing_redacted", lambda text, _span, _context: text, keep=frozenset(Phi))


def _attack(world: Populations, policy: Policy, material: Material) -> Attacked:
    records = records_of(world.cases, policy, key=material.key)
    release = RecordIndex(list(records.values()), world.population, seed=material.seed)
    curve = []
    for attributes in range(1, EVERY + 1):
        hits, trials = link(release, world.released, attributes=attributes)
        group = f"{policy.name}, {attributes if attributes < EVERY else 'all'} known"
        curve.append(
            Measurement.share(
                LINKED, hits, trials, chance=world.chance, unit="patients", group=group
            )
        )
    arms = [
        attack(release, world.released, world.others)
        for attack in (singling_out, linkability, inference)
    ]
    return Attacked(
        policy.name, records, curve, [_measure(each, policy.name, material.seed) for each in arms]
    )


def _measure(arms: Arms, policy: str, seed: int) -> Attack:
    baseline = Measurement.share("baseline", *arms.baseline, chance="it is the guess", unit="tries")
    guess = baseline.value
    main = Measurement.share("main", *arms.main, chance=guess, unit="tries")
    control = Measurement.share("control", *arms.control, chance=guess, unit="tries")
    draws = np.random.default_rng([seed, len(arms.attack)])
    drawn = [
        (
            draws.binomial(trials, hits / trials, DRAWS) / trials
            if 0 < hits < trials
            # a bootstrap of nothing but hits, or misses, has no width
            else draws.beta(hits + 0.5, trials - hits + 0.5, DRAWS)
        )
        for hits, trials in (arms.main, arms.control)
    ]
    risks = np.clip((drawn[0] - drawn[1]) / np.maximum(1 - drawn[1], 1e-9), 0, 1)
    value = float(np.clip((main.value - control.value) / max(1 - control.value, 1e-9), 0, 1))
    risk = Measurement.of_draws(
        RISK,
        value,
        risks,
        chance=0.0,
        units=arms.main[1],
        unit="tries",
        group=f"{policy}, {arms.attack}",
    )
    return Attack(arms.attack, main, control, baseline, risk)


def _beats(raw: Attacked, world: Populations) -> list[Control]:
    """Return a control per attack.

    On notes as they are it must beat its baseline, else its failure proves nothing.
    """
    whole = raw.curve[-1]
    return [
        Control(
            name="linkage to notes as they are",
            expected=True,
            reacted=whole.low > 2 * world.chance,
            measurement=whole,
            description=(
                "persons known by everything, against a release in which nothing is redacted:"
                " beyond twice chance"
            ),
        ),
        *(
            Control(
                name=f"{each.name} against notes as they are",
                expected=True,
                reacted=each.beats,
                measurement=each.main,
                description=(
                    "the main arm's interval lies above the baseline's, whose upper end is"
                    f" {each.baseline.high:.3f}"
                ),
            )
            for each in raw.attacks
        ),
    ]


def _strangers(world: Populations, material: Material) -> Control:
    """Seek persons who are not in the release, each assigned somebody's record by a draw.

    It must not be found.
    """
    records = list(records_of(world.cases, _nothing(), key=material.key).values())
    release = RecordIndex(records, world.population, seed=material.seed + 1)
    names = [release.random.choice(records).name for _ in world.others]
    strangers = [
        Person(name, person.values) for name, person in zip(names, world.others, strict=True)
    ]
    hits, trials = link(release, strangers, attributes=EVERY)
    found = Measurement.share(LINKED, hits, trials, chance=world.chance, unit="patients")
    return Control(
        name="persons who are not in the release",
        expected=False,
        reacted=found.low > 2 * world.chance,
        measurement=found,
        description="each assigned a record by a draw; the interval lies above twice chance",
    )


def _tabulate_held(found: Sequence[Attacked], world: Populations) -> Table:
    """Return how many patients each policy leaves a value of each kind of, and how many share what
    is left.
    """
    rows: list[tuple[str | int | Measurement, ...]] = []
    for each in found:
        left = {
            person.name: find_left(person, each.records[person.name]) for person in world.released
        }
        for kind in QuasiIdentifierKind:
            having = [person for person in world.released if person.values.get(kind)]
            if len(having) > 1:
                hits = sum(kind in left[person.name] for person in having)
                share = Measurement.share(
                    HELD, hits, len(having), chance="nothing is guessed", unit="patients"
                )
                rows.append((each.policy, kind.value, share))
        sharing = [_sharing(values, world.population) for values in left.values()]
        for name, most in ((UNIQUE, 1), (FEW, 4)):
            hits = sum(count <= most for count in sharing)
            share = Measurement.share(
                name, hits, len(sharing), chance="nothing is guessed", unit="patients"
            )
            rows.append((each.policy, f"{name}, rare facts apart", share))
    return Table(
        name="left",
        title="What a release still holds of its patients",
        columns=("Policy", "What", "Patients"),
        rows=tuple(rows),
    )


def _sharing(
    left: Mapping[QuasiIdentifierKind, Sequence[str]], population: Sequence[Person]
) -> int:
    """Return to how many people everything structured that is left of a patient applies, the
    patient among them.
    """
    texts = [(kind, text) for kind in STRUCTURED for text in left.get(kind, ())]
    return sum(all(_applies(kind, text, person) for kind, text in texts) for person in population)


def _applies(kind: QuasiIdentifierKind, text: str, person: Person) -> bool:
    return any(covers(kind, text, value) for value in person.values.get(kind, ()))


def _arms(found: Sequence[Attacked]) -> Table:
    rows = tuple(
        (
            each.policy,
            attack.name,
            attack.main,
            attack.control,
            attack.baseline,
            attack.risk,
            "yes" if attack.beats else "no: proves nothing by itself",
        )
        for each in found
        for attack in each.attacks
    )
    return Table(
        name="arms",
        title="The arms of each attack; on notes as they are it must beat its baseline",
        columns=("Policy", "Attack", "Main", "Control", "Baseline", "Risk", "Main beats baseline"),
        rows=rows,
    )
