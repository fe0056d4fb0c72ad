"""Counts that add up from notes to batches to a corpus, and the ratios taken from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from enum import StrEnum
from statistics import fmean
from typing import Any, Self, TypeVar

from deid_assets.core.errors import InputError


class Scheme(StrEnum):
    """Matching scheme of a score. The first three count spans, the last two code points."""

    STRICT = "strict"
    """A prediction is right when a gold span has its boundaries and its label."""
    RELAXED = "relaxed"
    """A prediction is right when it overlaps a gold span of its label.

    One to one, as many pairs as can be made.
    """
    COVERED = "covered"
    """A gold span is found when no code point of it is left uncovered, whatever the labels.

    A prediction is wrong
    when it meets no gold at all."""
    CHARACTERS = "characters"
    """A gold code point is found when any prediction covers it.

    A predicted one is wrong outside all gold.
    """
    LABELLED_CHARACTERS = "labelled_characters"
    """As ``CHARACTERS``, where only gold and predictions of the same label meet."""

    @classmethod
    def _missing_(cls, value: object) -> Scheme | None:
        # its name in what earlier versions stored
        return cls.COVERED if value == "hidden" else None


@dataclass(frozen=True, slots=True)
class Counts:
    """True positives, false positives and false negatives. ``Counts()`` is the zero of ``+``."""

    tp: int = 0
    fp: int = 0
    fn: int = 0

    def __post_init__(self) -> None:
        if min(self.tp, self.fp, self.fn) < 0:
            raise InputError(
                f"counts must not be negative, got tp {self.tp}, fp {self.fp}, fn {self.fn}"
            )

    @classmethod
    def of(cls, gold: AbstractSet[Any], found: AbstractSet[Any]) -> Self:
        """Return strict counts: what is in both, found alone and gold alone."""
        return cls(len(gold & found), len(found - gold), len(gold - found))

    def __add__(self, other: Counts) -> Counts:
        return Counts(self.tp + other.tp, self.fp + other.fp, self.fn + other.fn)

    @property
    def gold(self) -> int:
        """Number of gold items: ``tp + fn``."""
        return self.tp + self.fn

    @property
    def precision(self) -> float | None:
        """``None`` where nothing was predicted."""
        return self.tp / (self.tp + self.fp) if self.tp + self.fp else None

    @property
    def recall(self) -> float | None:
        """``None`` where there was nothing to find."""
        return self.tp / self.gold if self.gold else None

    @property
    def f1(self) -> float | None:
        """``None`` where there was nothing to find and nothing was predicted."""
        total = 2 * self.tp + self.fp + self.fn
        return 2 * self.tp / total if total else None


@dataclass(frozen=True, slots=True)
class NoteCounts:
    """Notes as a whole. ``NoteCounts()`` is the zero of ``+``.

    Args:
        notes: All notes scored.
        with_phi: Those with at least one gold span under the profile.
        covered: Those of ``with_phi`` of which no gold code point is left.
        touched: PHI-free notes with at least one prediction in scope.
        chars: Code points of all notes.
    """

    notes: int = 0
    with_phi: int = 0
    covered: int = 0
    touched: int = 0
    chars: int = 0

    def __add__(self, other: NoteCounts) -> NoteCounts:
        return NoteCounts(
            self.notes + other.notes,
            self.with_phi + other.with_phi,
            self.covered + other.covered,
            self.touched + other.touched,
            self.chars + other.chars,
        )

    @property
    def phi_free(self) -> int:
        """Notes without a gold span."""
        return self.notes - self.with_phi


_C = TypeVar("_C", Counts, NoteCounts)


@dataclass(frozen=True, slots=True)
class Macro:
    """Unweighted means over labels, each over the labels where the ratio is defined.

    ``None`` where there is none.
    """

    precision: float | None
    recall: float | None
    f1: float | None


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Counts of one note, batch or corpus; ``a + b`` equals scoring both at once.

    ``Evaluation("i2b2")`` is the zero of ``+`` for that profile.

    Args:
        profile: Name of the profile whose labels are counted.
        cells: Profile label to scheme to counts; a label seen neither in gold nor in scope is
            absent.
        characters: ``Scheme.CHARACTERS`` over all labels at once: a code point that carries two
            gold labels counts once.
        notes: Counts of whole notes.
        out_of_scope: Profile label to predictions of it, for labels that the gold does not
            annotate. They are neither right nor wrong, but what they mark counts as covered.
    """

    profile: str
    cells: Mapping[str, Mapping[Scheme, Counts]] = field(default_factory=dict)
    characters: Counts = Counts()
    notes: NoteCounts = NoteCounts()
    out_of_scope: Mapping[str, int] = field(default_factory=dict)

    def __add__(self, other: Evaluation) -> Evaluation:
        if self.profile != other.profile:
            raise InputError(
                f"cannot add an evaluation under profile {other.profile!r} to one under"
                f" {self.profile!r}; evaluate both under one profile"
            )
        cells = {
            label: {
                scheme: self.counts(label, scheme) + other.counts(label, scheme)
                for scheme in Scheme
            }
            for label in sorted({*self.cells, *other.cells})
        }
        out_of_scope = {
            label: self.out_of_scope.get(label, 0) + other.out_of_scope.get(label, 0)
            for label in sorted({*self.out_of_scope, *other.out_of_scope})
        }
        characters = self.characters + other.characters
        return Evaluation(self.profile, cells, characters, self.notes + other.notes, out_of_scope)

    @property
    def labels(self) -> tuple[str, ...]:
        """Profile labels seen in gold or in scope among the predictions, sorted."""
        return tuple(sorted(self.cells))

    def counts(self, label: str, scheme: Scheme) -> Counts:
        """Counts of one label; all zero where it was neither annotated nor predicted."""
        return self.cells.get(label, {}).get(scheme, Counts())

    def micro(self, scheme: Scheme) -> Counts:
        """Counts over all labels; ratios of these are micro averages."""
        if scheme is Scheme.CHARACTERS:
            return self.characters
        return sum((self.counts(label, scheme) for label in self.cells), Counts())

    def macro(self, scheme: Scheme) -> Macro:
        """Means of the labels' ratios, every label with the same weight."""
        per_label = [self.counts(label, scheme) for label in self.cells]
        return Macro(
            _mean(counts.precision for counts in per_label),
            _mean(counts.recall for counts in per_label),
            _mean(counts.f1 for counts in per_label),
        )

    def to_json(self) -> dict[str, Any]:
        """Return a dictionary that ``json.dumps`` takes and ``from_json`` reads back."""
        return {
            "profile": self.profile,
            "labels": {
                label: {
                    str(scheme): _triple(counts) for scheme, counts in sorted(by_scheme.items())
                }
                for label, by_scheme in sorted(self.cells.items())
            },
            "characters": _triple(self.characters),
            "notes": {name: getattr(self.notes, name) for name in NoteCounts.__slots__},
            "out_of_scope": dict(sorted(self.out_of_scope.items())),
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """Return what ``to_json`` stored.

        Raises:
            InputError: The dictionary is not one that ``to_json`` gives.
        """
        try:
            return cls(
                str(stored["profile"]),
                {
                    label: {
                        Scheme(scheme): _read(Counts, triple)
                        for scheme, triple in by_scheme.items()
                    }
                    for label, by_scheme in stored["labels"].items()
                },
                _read(Counts, stored["characters"]),
                _read(NoteCounts, stored["notes"]),
                {label: _whole(number) for label, number in stored["out_of_scope"].items()},
            )
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise InputError(
                f"not a stored evaluation ({type(error).__name__}); store what Evaluation.to_json"
                " returns"
            ) from error


def harmonic(precision: float, recall: float) -> float:
    """Return the harmonic mean of two ratios; 0 where both are 0."""
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def _mean(ratios: Iterable[float | None]) -> float | None:
    defined = [ratio for ratio in ratios if ratio is not None]
    return fmean(defined) if defined else None


def _read(kind: type[_C], stored: Mapping[str, Any]) -> _C:
    return kind(**{name: _whole(number) for name, number in stored.items()})


def _whole(number: Any) -> int:
    if type(number) is not int or number < 0:
        raise InputError("a count is a whole number and not negative")
    return number


def _triple(counts: Counts) -> dict[str, int]:
    return {"tp": counts.tp, "fp": counts.fp, "fn": counts.fn}
