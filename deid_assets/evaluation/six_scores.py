"""The six scores of i2b2 2014.

Entities and tokens, each by sub-category, by category and as PHI or not.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise
from typing import Any

from deid_assets.core.errors import ConfigError, InputError, OverlapError
from deid_assets.core.note import Note
from deid_assets.core.phi import I2B2_2014, I2B2_2014_FINE, Phi, Profile
from deid_assets.core.span import SpanSet
from deid_assets.evaluation.counts import Counts
from deid_assets.evaluation.intervals import Range

BINARY_LABEL = "PHI"
RELAXED_CHARS = 2
"""Code points by which the end of a relaxed entity may be off (Stubbs, Kotfila and Uzuner 2015)."""
_TOKEN = re.compile(r"[^\W_]+")


class Level(StrEnum):
    """Unit of counting."""

    ENTITY = "entity"
    """A prediction is right when a gold span has its boundaries and label."""
    RELAXED = "relaxed"
    """As ``ENTITY``, where the end may be off by two code points; one to one.

    Not one of the six.
    """
    TOKEN = "token"  # noqa: S105  -- the level of tokens, no secret
    """A token of a prediction is right when it is a token of a gold span of that label.

    A token is a run of letters and digits inside one span; a span without any is one token. What a
    span cuts off a word is
    another token."""


class Granularity(StrEnum):
    """Granularity of the labels."""

    SUB_CATEGORY = "sub_category"
    CATEGORY = "category"
    BINARY = "binary"


@dataclass(frozen=True, slots=True)
class Views:
    """The labels of the sub-categories and of the categories.

    Raises:
        ConfigError: The two profiles do not count the same categories, or one sub-category lies in
            two categories.
    """

    fine: Profile = I2B2_2014_FINE
    coarse: Profile = I2B2_2014

    def __post_init__(self) -> None:
        if self.fine.labels.keys() != self.coarse.labels.keys():
            raise ConfigError(
                f"profiles {self.fine.name!r} and {self.coarse.name!r} do not count the same"
                " categories; restrict both to one set"
            )
        pairs = {(self.fine.labels[label], self.coarse.labels[label]) for label in self.fine.labels}
        if len(pairs) != len(set(self.fine.labels.values())):
            raise ConfigError(
                f"a label of {self.fine.name!r} lies in two of {self.coarse.name!r}; make it finer"
            )


I2B2_VIEWS = Views()
HIPAA_CATEGORIES = frozenset(
    {
        Phi.NAME,
        Phi.AGE,
        Phi.DATE,
        Phi.STREET,
        Phi.CITY,
        Phi.ZIP,
        Phi.ORGANIZATION,
        Phi.PHONE,
        Phi.FAX,
        Phi.EMAIL,
        Phi.NATIONAL_ID,
        Phi.MRN,
        Phi.HEALTH_PLAN,
        Phi.ACCOUNT,
        Phi.LICENSE,
        Phi.VEHICLE,
        Phi.DEVICE,
        Phi.BIOMETRIC,
        Phi.ID,
    }
)
"""Labels that i2b2 2014 scores as HIPAA's (Stubbs, Kotfila and Uzuner 2015).

Staff's names count here too, which a category does not tell from patients', and so do identifiers
in general, which the official scorer lists but
does not match."""


def restrict_profile(profile: Profile, categories: frozenset[Phi], *, name: str) -> Profile:
    """Return a profile that counts only some of the categories, for example ``HIPAA_CATEGORIES``.

    Raises:
        ConfigError: Nothing is left to count.
    """
    labels = {
        category: label for category, label in profile.labels.items() if category in categories
    }
    if not labels:
        raise ConfigError(
            f"profile {profile.name!r} counts none of the categories given; choose others"
        )
    native = {label: category for label, category in profile.native.items() if category in labels}
    return Profile(
        name, labels, f"{profile.source}; restricted to {len(labels)} categories", native
    )


I2B2_HIPAA_VIEWS = Views(
    restrict_profile(I2B2_2014_FINE, HIPAA_CATEGORIES, name="i2b2_fine_hipaa"),
    restrict_profile(I2B2_2014, HIPAA_CATEGORIES, name="i2b2_hipaa"),
)

_Cell = tuple[Level, Granularity]
_CELLS: tuple[_Cell, ...] = tuple(
    (level, granularity) for level in Level for granularity in Granularity
)


@dataclass(frozen=True, slots=True)
class SixScores:
    """Counts of one note, batch or corpus; ``SixScores()`` is the zero of ``+``.

    Args:
        cells: Level and granularity to label to counts; a label neither annotated nor predicted is
            absent.
        notes: Notes scored.
    """

    cells: Mapping[_Cell, Mapping[str, Counts]] = field(default_factory=dict)
    notes: int = 0

    def __add__(self, other: SixScores) -> SixScores:
        cells = {}
        for cell in self.cells.keys() | other.cells.keys():
            left, right = self.cells.get(cell, {}), other.cells.get(cell, {})
            cells[cell] = {
                label: left.get(label, Counts()) + right.get(label, Counts())
                for label in sorted({*left, *right})
            }
        return SixScores(cells, self.notes + other.notes)

    def by_label(self, level: Level, granularity: Granularity) -> Mapping[str, Counts]:
        """Counts of every label, to average with ``macro_average`` and ``weighted_average``."""
        return self.cells.get((level, granularity), {})

    def micro(self, level: Level, granularity: Granularity) -> Counts:
        """Counts over all labels.

        Its ratios are ``None``, never 0, where there was nothing to find.
        """
        return sum(self.by_label(level, granularity).values(), Counts())

    def to_json(self) -> dict[str, Any]:
        """Return counts by level, granularity and label, as ``json.dumps`` takes them."""
        stored: dict[str, Any] = {"notes": self.notes}
        for level, granularity in _CELLS:
            stored.setdefault(str(level), {})[str(granularity)] = {
                label: {"tp": counts.tp, "fp": counts.fp, "fn": counts.fn}
                for label, counts in self.by_label(level, granularity).items()
            }
        return stored


def six_scores(
    scored: Iterable[tuple[Note, SpanSet, SpanSet]],
    *,
    views: Views = I2B2_VIEWS,
    scope: frozenset[Phi] | None = None,
) -> SixScores:
    """Return the counts of many notes; read once, so that they may be a stream.

    Sub-categories are the task's own where a span carries one: ``PATIENT`` and ``DOCTOR`` are told
    apart.

    Spans with the same boundaries and label count once. Predictions may overlap, gold may not.

    Args:
        scored: Each note with its gold and its predictions.
        views: Labels to count under; a category that they do not count is left out on both sides.
        scope: Categories that the gold annotates, or ``None`` for all. Predictions whose category
            label is none of theirs are left out.

    Raises:
        DigestError: Spans are of another note or another version of its text.
        OffsetError: A span ends after its note does.
        OverlapError: Two gold spans of a note overlap.
        InputError: A note comes twice.

    Source:
        Stubbs, Kotfila and Uzuner (2015), J Biomed Inform 58 S11-S19, with the tokens of its
        official scorer.
    """
    tally = _Tally(views, scope)
    seen: set[str] = set()
    for note, gold, pred in scored:
        if note.note_id in seen:
            raise InputError(f"note {note.note_id!r} is scored twice; give each note once")
        seen.add(note.note_id)
        tally.add(note, gold.check_against(note), pred.check_against(note))
    return tally.total(len(seen))


class _Tally:
    """Adds up counts in place."""

    def __init__(self, views: Views, scope: frozenset[Phi] | None) -> None:
        coarse = views.coarse.labels
        in_scope = set(coarse.values()) if scope is None else {coarse.get(label) for label in scope}
        self._names = {
            label: (views.fine.labels[label], coarse[label], BINARY_LABEL)
            for label in coarse
            if coarse[label] in in_scope
        }
        self._fine = views.fine
        self._counted = frozenset(coarse)
        self._sums: dict[_Cell, tuple[Counter[str], Counter[str], Counter[str]]] = {
            cell: (Counter(), Counter(), Counter()) for cell in _CELLS
        }

    def add(self, note: Note, gold: SpanSet, pred: SpanSet) -> None:
        self._check(note, gold)
        golds, preds = self._spans(gold), self._spans(pred)
        tokens: dict[Range, list[Range]] = {}
        gold_tokens, pred_tokens = (_tokens(note.text, side, tokens) for side in (golds, preds))
        for at, granularity in enumerate(Granularity):
            entities = [
                {(start, end, names[at]) for start, end, names in side} for side in (golds, preds)
            ]
            self._compare((Level.ENTITY, granularity), *entities)
            self._compare((Level.RELAXED, granularity), *_relax(*entities))
            self._compare(
                (Level.TOKEN, granularity),
                *(
                    {(start, end, names[at]) for start, end, names in side}
                    for side in (gold_tokens, pred_tokens)
                ),
            )

    def total(self, notes: int) -> SixScores:
        cells = {
            cell: {
                label: Counts(tp[label], fp[label], fn[label]) for label in sorted({*tp, *fp, *fn})
            }
            for cell, (tp, fp, fn) in self._sums.items()
        }
        return SixScores(cells, notes)

    def _check(self, note: Note, gold: SpanSet) -> None:
        counted = sorted(
            {
                (span.start, span.end, span.label)
                for span in gold.spans
                if span.label in self._counted
            }
        )
        for (start, end, _), (other, other_end, _) in pairwise(counted):
            if other < end:
                raise OverlapError(
                    f"note {note.note_id!r}: annotated spans [{start}, {end}) and [{other},"
                    f" {other_end}) overlap; the six scores need one label per token, resolve the"
                    " annotations first"
                )
        strangers = {
            span.label
            for span in gold.spans
            if span.label in self._counted and span.label not in self._names
        }
        if strangers:
            raise InputError(
                f"note {note.note_id!r} has annotations outside the scope:"
                f" {', '.join(sorted(strangers))}; give the categories that people annotated"
            )

    def _spans(self, spans: SpanSet) -> list[tuple[int, int, tuple[str, str, str]]]:
        return [
            (
                span.start,
                span.end,
                (self._fine.label_of(span.label, span.native_label) or names[0], *names[1:]),
            )
            for span in spans.spans
            if (names := self._names.get(span.label))
        ]

    def _compare(self, cell: _Cell, gold: set[_Item], pred: set[_Item]) -> None:
        tp, fp, fn = self._sums[cell]
        tp.update([label for _, _, label in gold & pred])
        if gold != pred:
            fp.update([label for _, _, label in pred - gold])
            fn.update([label for _, _, label in gold - pred])


_Item = tuple[int, int, str]
_Named = tuple[int, int, tuple[str, str, str]]


def _tokens(text: str, spans: Iterable[_Named], known: dict[Range, list[Range]]) -> list[_Named]:
    found = []
    for start, end, names in spans:
        place = (start, end)
        if place not in known:
            known[place] = [match.span() for match in _TOKEN.finditer(text, start, end)] or [place]
        found += [(first, last, names) for first, last in known[place]]
    return found


def _relax(gold: set[_Item], pred: set[_Item]) -> tuple[set[_Item], set[_Item]]:
    """Return the two sides with each prediction that is nearly right put in the place of its gold
    span.
    """
    moved = {item: item for item in gold & pred}
    # gold does not overlap
    free = {(start, label): end for start, end, label in gold - moved.keys()}
    for start, end, label in sorted(pred - moved.keys()):
        gold_end = free.get((start, label))
        if gold_end is not None and abs(end - gold_end) <= RELAXED_CHARS:
            del free[start, label]
            moved[start, end, label] = (start, gold_end, label)
    return gold, {moved.get(item, item) for item in pred}
