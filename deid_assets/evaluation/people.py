"""Whose names are left, where the gold says whose they are.

A patient's is worse to leave than a member of staff's.

The study of Dorémus et al. (2025) tells names of patients and staff apart; i2b2 2014, MEDDOCAN,
GraSCCo and DEDUCE label them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from deid_assets.core.phi import Phi
from deid_assets.core.span import Span, SpanSet
from deid_assets.evaluation.intervals import is_inside, is_touched, union

PATIENT, RELATIVE, STAFF = "patient", "relative", "staff"
GRAVEST = (PATIENT, RELATIVE, STAFF)
"""The gravest to leave first."""
_WORDS: Mapping[str, str] = MappingProxyType(
    {
        "relative": RELATIVE,
        # before the patient: MEDDOCAN's relatives are those "of the subject of care"
        "familiares": RELATIVE,
        "patient": PATIENT,
        "sujeto_asistencia": PATIENT,
        "doctor": STAFF,
        "staff": STAFF,
        "personal_sanitario": STAFF,
    }
)
"""Part of a corpus' own label to whom it means; the first that fits."""
_COUNTED = ("gold", "missed", "left", "mistaken")
_CATEGORIES = frozenset({Phi.NAME, Phi.RELATIVE})


@dataclass(frozen=True, slots=True)
class Names:
    """Names of one kind of people.

    Args:
        whose: One of ``GRAVEST``.
        gold: Annotated ones.
        missed: Of those, the ones that no prediction touches.
        left: Of those, the ones of which at least one character is left; the missed among them.
        mistaken: Those that are found under another's label, where the predictions say whose they
            are.
    """

    whose: str
    gold: int
    missed: int
    left: int
    mistaken: int


def whose(span: Span) -> str | None:
    """Return whose name a span is, by its native label; ``None`` where that does not say."""
    if span.label not in _CATEGORIES:
        return None
    native = span.native_label.casefold()
    return next((person for word, person in _WORDS.items() if word in native), None)


def names_by_person(pairs: Iterable[tuple[SpanSet, SpanSet]]) -> list[Names]:
    """Return what became of the names of each kind of people, the gravest first.

    None that the gold does not have.

    Args:
        pairs: Gold and predictions of each note.
    """
    counts: Counter[tuple[str, str]] = Counter()
    for gold, found in pairs:
        cover = union((span.start, span.end) for span in found)
        said = {(span.start, span.end): whose(span) for span in found}
        for span in gold:
            person = whose(span)
            if person is None:
                continue
            place = (span.start, span.end)
            counts[person, "gold"] += 1
            counts[person, "missed"] += not is_touched(place, cover)
            counts[person, "left"] += not is_inside(place, cover)
            counts[person, "mistaken"] += said.get(place) not in (None, person)
    return _names(counts)


def together(parts: Iterable[Iterable[Names]]) -> list[Names]:
    """Return the sums over several sets of notes."""
    counts: Counter[tuple[str, str]] = Counter()
    for part in parts:
        for one in part:
            for what in _COUNTED:
                counts[one.whose, what] += getattr(one, what)
    return _names(counts)


def _names(counts: Mapping[tuple[str, str], int]) -> list[Names]:
    return [
        Names(person, *(counts[person, what] for what in _COUNTED))
        for person in GRAVEST
        if counts[person, "gold"]
    ]


def gravity(person: str | None) -> int:
    """Return a rank to sort errors by, 0 for the gravest."""
    return GRAVEST.index(person) if person in GRAVEST else len(GRAVEST)
