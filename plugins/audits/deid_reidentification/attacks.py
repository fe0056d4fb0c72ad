"""Singling out, linkability and inference, each with a main, a control and a baseline arm (Giomi et
al., 2023).

Main: persons who are in the release. Control: persons who are not, who show what follows from the
population alone. Baseline: guesses that do not look at the release. Beside them the plain attack:
which record is this person's?
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log
from random import Random

from deid_reidentification.people import Person, QuasiIdentifierKind, forms

FIRST = (
    QuasiIdentifierKind.AGE,
    QuasiIdentifierKind.SEX,
    QuasiIdentifierKind.PLACE,
    QuasiIdentifierKind.PROFESSION,
    QuasiIdentifierKind.FAMILY,
)
SECOND = (QuasiIdentifierKind.DATE, QuasiIdentifierKind.ITINERARY, QuasiIdentifierKind.FACT)
"""What two outside sources know, for linkability."""
SECRETS = (
    QuasiIdentifierKind.AGE,
    QuasiIdentifierKind.PLACE,
    QuasiIdentifierKind.PROFESSION,
    QuasiIdentifierKind.ITINERARY,
    QuasiIdentifierKind.DATE,
)
PREDICATE = 3
"""Values in a predicate that is to single a person out."""

Known = Mapping[QuasiIdentifierKind, str]
"""One value per kind that an outsider knows."""


@dataclass(frozen=True, slots=True)
class Arms:
    """Hits of an attack.

    Args:
        attack: Its name.
        main: Hits and trials on persons in the release.
        control: On persons who are not.
        baseline: Of guesses.
    """

    attack: str
    main: tuple[int, int]
    control: tuple[int, int]
    baseline: tuple[int, int]


class RecordIndex:
    """Records with an index of their values.

    Args:
        records: By opaque id.
        population: Everybody; how rare a value is, is known of them.
        seed: Of ties and draws.
    """

    def __init__(
        self, records: Sequence[Person], population: Sequence[Person], *, seed: int
    ) -> None:
        self.records = records
        self.random = Random(seed)  # noqa: S311 - an attack, no cryptography
        self._bearers = Counter[tuple[QuasiIdentifierKind, str]]()
        for person in population:
            for kind, values in person.values.items():
                self._bearers.update((kind, value) for value in values)
        self._size = max(2, len(population))
        self._index: dict[tuple[QuasiIdentifierKind, str], list[int]] = defaultdict(list)
        for number, record in enumerate(records):
            for kind, values in record.values.items():
                for value in values:
                    self._index[kind, value].append(number)

    def weight(self, kind: QuasiIdentifierKind, value: str) -> float:
        """Return what a value tells: ``-log`` of the share of the population that has it."""
        return log(self._size / min(self._size, max(1, self._bearers[kind, value])))

    def nearest(self, known: Known) -> tuple[int, bool]:
        """Return the number of the record that fits best, ties broken by a draw, and whether any
        fitted at all.
        """
        scores: dict[int, float] = defaultdict(float)
        for kind, value in known.items():
            for number in {
                number
                for form in forms(kind, value)
                for number in self._index.get((kind, form), ())
            }:
                scores[number] += self.weight(kind, value)
        if not scores:
            return self.random.randrange(len(self.records)), False
        best = max(scores.values())
        return (
            self.random.choice([number for number, score in scores.items() if score == best]),
            True,
        )


def draw_known(
    person: Person,
    random: Random,
    kinds: Iterable[QuasiIdentifierKind] = tuple(QuasiIdentifierKind),
) -> dict[QuasiIdentifierKind, str]:
    """Return one value of each kind that an outsider knows of a person, drawn at random."""
    return {
        kind: random.choice(sorted(person.values[kind]))
        for kind in kinds
        if person.values.get(kind)
    }


def link(release: RecordIndex, persons: Sequence[Person], *, attributes: int) -> tuple[int, int]:
    """Return how many persons are linked to their own record by so many known values, and how many
    were tried.
    """
    hits = 0
    for person in persons:
        known = draw_known(person, release.random)
        kinds = release.random.sample(sorted(known), min(attributes, len(known)))
        number, _ = release.nearest({kind: known[kind] for kind in kinds})
        hits += release.records[number].name == person.name
    return hits, len(persons)


def singling_out(
    release: RecordIndex, released: Sequence[Person], others: Sequence[Person]
) -> Arms:
    """Attack with predicates made of the values of a record.

    A hit where exactly one person satisfies them all.
    """
    main = control = baseline = 0
    for record in release.records:
        predicate = _predicate([record] * PREDICATE, release)
        main += _satisfying(released, predicate) == 1
        control += _satisfying(others, predicate) == 1
        strangers = [release.random.choice(others) for _ in range(PREDICATE)]
        baseline += _satisfying(released, _predicate(strangers, release)) == 1
    trials = len(release.records)
    return Arms("singling out", (main, trials), (control, trials), (baseline, trials))


def _predicate(sources: Sequence[Person], release: RecordIndex) -> dict[QuasiIdentifierKind, str]:
    """Return a value of another kind from each source; of one that has no further kind, none."""
    found: dict[QuasiIdentifierKind, str] = {}
    for source in sources:
        kinds = sorted(
            kind
            for kind in source.values
            if kind not in found and kind is not QuasiIdentifierKind.FACT
        )
        if kinds:
            kind = release.random.choice(kinds)
            found[kind] = release.random.choice(sorted(source.values[kind]))
    return found


def _satisfying(persons: Sequence[Person], predicate: Known) -> int:
    if not predicate:
        return 0
    return sum(
        all(_has(person, kind, value) for kind, value in predicate.items()) for person in persons
    )


def _has(person: Person, kind: QuasiIdentifierKind, value: str) -> bool:
    return any(value in forms(kind, own) for own in person.values.get(kind, ()))


def linkability(release: RecordIndex, released: Sequence[Person], others: Sequence[Person]) -> Arms:
    """Attack with two outside sources.

    A hit where what each knows of a person leads to the same record.
    """

    def hit(person: Person) -> bool:
        places = [
            release.nearest(draw_known(person, release.random, kinds)) for kinds in (FIRST, SECOND)
        ]
        return all(fits for _, fits in places) and places[0][0] == places[1][0]

    count = len(release.records)
    guesses = sum(
        release.random.randrange(count) == release.random.randrange(count) for _ in released
    )
    return _arms("linkability", hit, released, others, (guesses, len(released)))


def inference(release: RecordIndex, released: Sequence[Person], others: Sequence[Person]) -> Arms:
    """Attack a secret of a person: a hit where the record that fits the other values holds it.

    The guess is one value of that kind in the record; the baseline draws it from all values of the
    release.
    """
    everything = {
        kind: sorted(value for record in release.records for value in record.values.get(kind, ()))
        for kind in SECRETS
    }

    def attempt(person: Person, values_of: Callable[[QuasiIdentifierKind], Sequence[str]]) -> bool:
        secrets = [kind for kind in SECRETS if person.values.get(kind)]
        if not secrets:
            return False
        secret = release.random.choice(secrets)
        values = values_of(secret)
        return bool(values) and release.random.choice(values) in person.values[secret]

    def hit(person: Person) -> bool:
        def values_of(secret: QuasiIdentifierKind) -> Sequence[str]:
            known = draw_known(
                person, release.random, [kind for kind in QuasiIdentifierKind if kind is not secret]
            )
            return sorted(release.records[release.nearest(known)[0]].values.get(secret, ()))

        return attempt(person, values_of)

    def guess(person: Person) -> bool:
        return attempt(person, lambda secret: everything[secret])

    return _arms("inference", hit, released, others, (sum(map(guess, released)), len(released)))


def _arms(
    attack: str,
    hit: Callable[[Person], bool],
    released: Sequence[Person],
    others: Sequence[Person],
    baseline: tuple[int, int],
) -> Arms:
    main = (sum(hit(person) for person in released), len(released))
    control = (sum(hit(person) for person in others), len(others))
    return Arms(attack, main, control, baseline)
