"""The world of one corpus: hospitals, staff, patients and their episodes of care."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from random import Random

from deid_synthesis.calendars import age_on, age_variables, date_variables, draw_birth_date
from deid_synthesis.grammar import Grammar
from deid_synthesis.layout import draw_style
from deid_synthesis.people import (
    SyntheticPerson,
    Variables,
    ascii_letters,
    choose_sex_forms,
    draw_person,
    draw_relative,
    inflect_words,
    person_variables,
)
from deid_synthesis.writer import Memory, NoteWriter

STAFF = 48
SITES = 12
FIRST_DAY = dt.date(2012, 1, 1)
DAYS = 13 * 365
VERY_OLD_RATE = 0.15
"""Share of patients over 89 among topics that allow it; HIPAA treats these ages apart."""

PROBLEM = ("problem", "dx", "complaint", "study", "keyfinding", "conclusion", "procedure")
"""Variables that a line of the rule ``problems`` sets, separated by slashes: they belong together.

``problem`` is a tag.
"""

SPREAD = {
    "emergency": (0, 0),
    "radiology": (0, 1),
    "nursing": (0, 1),
    "progress": (1, 1),
    "discharge_summary": (2, 2),
    "letter": (3, 3),
    "message": (3, 3),
}
"""When a kind is written.

From and to which of admission (0), stay (1), discharge (2) and follow-up (3).
"""


AT_ADMISSION = (0, 0)

SHARES = dict.fromkeys(SPREAD, 0.45) | {"nursing": 0.22, "message": 0.18, "discharge_summary": 0.65}
"""Chance that an episode has a note of the kind; one that is not here is written once."""


@dataclass(frozen=True, slots=True)
class Encounter:
    """One note to be written: its kind and the days it may mention."""

    kind: str
    subjects: dict[str, Variables] = field(repr=False)
    variables: Variables = field(repr=False)


@dataclass(frozen=True, slots=True)
class Patient:
    """A patient as all of his or her notes know it."""

    patient_id: str
    person: SyntheticPerson = field(repr=False)
    born: dt.date = field(repr=False)
    admitted: dt.date = field(repr=False)
    topic: str
    tags: tuple[str, ...]
    problem: Variables = field(repr=False)
    subjects: dict[str, Variables] = field(repr=False)
    memory: Memory = field(default_factory=dict, repr=False)


class World:
    """Hospitals and staff of one corpus, from which patients are drawn."""

    def __init__(self, grammar: Grammar, seed: int) -> None:
        self.grammar = grammar
        self.seed = seed
        rng = Random(f"deid-synthesis/{grammar.lang}/{seed}/world")  # noqa: S311 - simulation, not cryptography
        self._variants = grammar.lines("variants")
        self._sites = {
            (variant, rule): [self._site(rng, variant, f"{rule}{n}", rule) for n in range(SITES)]
            for variant in sorted(set(self._variants))
            for rule in ("make.hospital", "make.facility")
        }
        self._staff = [self._member(rng, n) for n in range(STAFF)]

    def patient(self, index: int) -> tuple[Patient, Random]:
        """Return the patient of a number, and the source of chance for his or her notes."""
        grammar = self.grammar
        rng = Random(f"deid-synthesis/{grammar.lang}/{self.seed}/patient/{index}")  # noqa: S311 - simulation
        topic, variant = rng.choice(grammar.topics), rng.choice(self._variants)
        problem = dict(
            zip(PROBLEM, rng.choice(grammar.lines("problems", topic)).split(" / "), strict=True)
        )
        sex = rng.choice(grammar.lines("sexes", topic))
        person = draw_person(grammar, rng, role="PATIENT", sex=sex)
        admitted = FIRST_DAY + dt.timedelta(days=rng.randrange(DAYS))
        born = draw_birth_date(self._age(rng, topic), admitted, rng)
        age = age_on(born, admitted)
        relative, relation = draw_relative(grammar, rng, person, topic=topic, age=age)
        second_relative, second_relation = draw_relative(grammar, rng, person, topic=topic, age=age)
        subjects: dict[str, Variables] = {
            "pt": person_variables(person, grammar) | {"key": "pt"},
            "rel": _relative_variables(relative, relation, grammar) | {"key": "rel"},
            "rel2": _relative_variables(second_relative, second_relation, grammar)
            | {"key": "rel2"},
            "word": person_variables(draw_person(grammar, rng, role="OTHER", word=True), grammar),
            "home": self._place(rng, variant) | {"key": "home"},
            "dob": date_variables(born, grammar),
        }
        subjects |= dict(zip(("dr", "dr2", "dr3", "rn"), rng.sample(self._staff, 4), strict=True))
        subjects["site"] = rng.choice(self._sites[variant, "make.hospital"])
        subjects["site2"] = rng.choice(self._sites[variant, "make.facility"])
        patient = Patient(
            f"syn-{grammar.lang}-{self.seed}-p{index:05d}",
            person,
            born,
            admitted,
            topic,
            (problem["problem"], topic, variant, sex),
            problem,
            subjects,
        )
        return patient, rng

    def encounters(
        self, patient: Patient, rng: Random, kinds: Sequence[str]
    ) -> Iterator[Encounter]:
        """Yield one to six notes of a patient, over one or two episodes, in the order of their
        dates.
        """
        admitted = patient.admitted
        for _ in range(rng.choice((1, 1, 2))):
            discharged = admitted + dt.timedelta(days=rng.randint(2, 12))
            chosen = [kind for kind in kinds if rng.random() < SHARES.get(kind, 1.0)] or [
                rng.choice(kinds)
            ]
            for kind in sorted(chosen, key=lambda kind: SPREAD.get(kind, AT_ADMISSION)):
                yield self._encounter(patient, rng, kind, (admitted, discharged))
            admitted = discharged + dt.timedelta(days=rng.randint(20, 300))

    def _encounter(
        self, patient: Patient, rng: Random, kind: str, stay: tuple[dt.date, dt.date]
    ) -> Encounter:
        admitted, discharged = stay
        middle = admitted + dt.timedelta(days=rng.randint(1, (discharged - admitted).days - 1))
        later = discharged + dt.timedelta(days=rng.randint(3, 40))
        today = (admitted, middle, discharged, later)[rng.randint(*SPREAD.get(kind, AT_ADMISSION))]
        days = {
            "admit": admitted,
            "mid": middle,
            "disch": discharged,
            "today": today,
            "past": admitted - dt.timedelta(days=rng.randint(20, 700)),
            "past2": admitted - dt.timedelta(days=rng.randint(200, 2500)),
            "near": admitted - dt.timedelta(days=rng.randint(2, 6)),
            "next": max(today, discharged) + dt.timedelta(days=rng.randint(5, 30)),
            "next2": max(today, discharged) + dt.timedelta(days=rng.randint(40, 200)),
        }
        variables = (
            dict(patient.problem)
            | choose_sex_forms(self.grammar, patient.person.sex)
            | age_variables(age_on(patient.born, today), self.grammar)
        )
        dates = {name: date_variables(day, self.grammar) for name, day in days.items()}
        return Encounter(kind, patient.subjects | dates, variables)

    def _age(self, rng: Random, topic: str) -> int:
        youngest, oldest = (int(bound) for bound in self.grammar.lines("ages", topic)[0].split())
        if oldest >= 90 and rng.random() < VERY_OLD_RATE:
            return rng.randint(90, 98)
        return rng.randint(youngest, min(oldest, 89))

    def _place(self, rng: Random, variant: str) -> dict[str, str]:
        city, region, region_long, code = rng.choice(self.grammar.lines("cities", variant)).split(
            "/"
        )
        return {
            "city": city,
            "CITY": city.upper(),
            "region": region,
            "region_long": region_long,
            "zip": code,
        }

    def _site(self, rng: Random, variant: str, key: str, rule: str) -> Variables:
        place = self._place(rng, variant)
        writer = NoteWriter(
            grammar=self.grammar,
            rng=rng,
            tags=(variant,),
            subjects={},
            variables=place,
            memory={},
            style=draw_style(rng),
            cases=[],
        )
        full, short = str(writer.write(rule)).split("/")
        login = {"first_login": "info", "fi_login": "i", "last_login": ascii_letters(short)}
        names = {"hospital": full, "hospital_short": short, "HOSPITAL": full.upper()}
        return place | login | names | {"key": f"{variant}/{key}"}

    def _member(self, rng: Random, number: int) -> Variables:
        person = draw_person(self.grammar, rng, role="DOCTOR")
        return person_variables(person, self.grammar) | {"key": f"staff{number}"}


def _relative_variables(person: SyntheticPerson, relation: str, grammar: Grammar) -> dict[str, str]:
    words = {"relation": relation}
    return person_variables(person, grammar) | words | inflect_words(grammar, words, person.sex)
