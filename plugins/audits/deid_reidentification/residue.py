"""What is left, and what was damaged.

Found and missed per category, and expected numbers in a larger corpus.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from deid_assets.extending import ConfigError, InputError, Phi, Span
from deid_assets.extending.audits import (
    AuditResult,
    Case,
    Control,
    Injector,
    Material,
    Measurement,
    Need,
    Rule,
    Table,
    conclude,
    summary_of,
)
from deid_assets.extending.lists import ANY, read_words, vocabulary
from deid_assets.extending.measuring import is_touched, union, wilson

FOUND = "share of identifiers found"
EXPOSED = "real identifiers left and exposed, at an assumed exposure of"
LEFT, DAMAGED = "identifiers left, expected", "spans redacted needlessly, expected"
LEFT_AT_LEAST = "identifiers left, at least: those missed in the annotated notes"
ALL = "ALL"
DRAWS = 2_000
_HALF = 0.5
"""Share that the positive control covers, and of which each category must not be surely short."""
TERMS = ("eponyms", "common_words")
"""Lists of the vocabulary whose entries are no identifiers by themselves."""
_SHOWN = 40
_ASSUMED = (
    "The exposure is an assumption taken from elsewhere: no attack on this model has measured it,"
    " and it has no interval."
)
_WORD = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*")


@dataclass(slots=True)
class CategoryCounts:
    """Counts of one category.

    Args:
        found: Identifiers that are covered whole.
        missed: Identifiers of which a character is left.
        right: Predictions that touch an identifier.
        wrong: Those that touch none.
    """

    found: int = 0
    missed: int = 0
    right: int = 0
    wrong: int = 0


@dataclass(slots=True)
class Counted:
    """Counts by category and of all, and terms that were redacted needlessly by list."""

    by_category: dict[str, CategoryCounts] = field(
        default_factory=lambda: defaultdict(CategoryCounts)
    )
    terms: Counter[tuple[str, str]] = field(default_factory=Counter)


class Residue:
    """Measures what the redaction missed and what it damaged, with intervals.

    It fails too where nothing of a category was found, or surely less than half: among many names
    that were found, a category that no detector knows is lost.

    Args:
        least_found: Smallest lower end of the share of identifiers found, all categories together.
        predicted: Spans by category in the corpus that the model was trained on; the notes' own
            where not given.
        exposure: Chance that an attack exposes an identifier that was left, an assumption; none
            where not given.
    """

    name = "residue"
    version = "0.4.0"
    title = summary_of("deid_reidentification", "residue")
    needs = frozenset({Need.GOLD, Need.PREDICTIONS})
    blind_spots = (
        (
            "Expected numbers hold where the annotated notes are like the corpus; on other notes"
            " less is found."
        ),
        "What the annotators did not mark is neither missed nor damaged.",
        (
            "What is left is an upper bound on what a model can have learnt of it, not what it has"
            " learnt."
        ),
        "Eponyms and words count where they stand in the lists of this version.",
    )

    def __init__(
        self,
        *,
        least_found: float = 0.9,
        predicted: Mapping[str, int] | None = None,
        exposure: float | None = None,
    ) -> None:
        unknown = sorted(set(predicted or {}) - {label.value for label in Phi})
        if (
            not 0 <= least_found <= 1
            or unknown
            or any(count < 0 for count in (predicted or {}).values())
        ):
            raise ConfigError(
                f"category {unknown[0]!r} is unknown"
                if unknown
                else "give a share in [0, 1], and counts of 0 or more"
            )
        if exposure is not None and not 0 <= exposure <= 1:
            raise ConfigError(f"exposure is {exposure}; it is a chance in [0, 1]")
        self._least, self._predicted, self._exposure = least_found, dict(predicted or {}), exposure

    def run(self, material: Material) -> AuditResult:
        counted = count(material.cases)
        if _total(counted, ALL) < 2:  # one has no interval
            raise InputError(
                "fewer than two identifiers are marked in the notes, so that nothing is judged;"
                " give annotated notes that have some"
            )
        found = _share(counted, ALL)
        halved = [_replace(case, Injector(_HALF, seed=material.seed)) for case in material.cases]
        whole = [Case(case.note, case.gold, case.gold) for case in material.cases]
        labels = [label for label in sorted(counted.by_category) if _total(counted, label) > 1]
        expected = [
            figure
            for label in labels
            if label != ALL
            for figure in self._estimate_left(label, counted, material.seed)
        ]
        result = conclude(
            self,
            figures=[
                *(_share(counted, label) for label in labels),
                *expected,
                *self._measure_exposed(counted, labels),
            ],
            controls=[
                self._control(
                    "half of the identifiers uncovered", _share(count(halved), ALL), expected=True
                ),
                self._control(
                    "every identifier covered", _share(count(whole), ALL), expected=False
                ),
            ],
            rules=[
                Rule(
                    name="enough found",
                    passed=found.low >= self._least,
                    description=f"lower end {found.low:.3f}, at least {self._least:.3f}",
                ),
                _judge_categories(counted),
            ],
            tables=[_counts(counted), _terms(counted)],
            counts={"notes": len(material.cases), "terms_damaged": sum(counted.terms.values())},
        )
        if self._exposure is None:
            return result
        return replace(result, blind_spots=(*self.blind_spots, _ASSUMED))

    def _measure_exposed(self, counted: Counted, labels: Sequence[str]) -> list[Measurement]:
        """Return the share of identifiers that are left by the chance that one of these is exposed.

        The chain by which Vakili et al. (2022) argue for sharing a model: 3 % of the names remain,
        and other models exposed fewer than 10 % (Jagannatha et al. 2021). The interval is that of
        the share; the chance is given, so that it has none.
        """
        if self._exposure is None:
            return []
        found = []
        for label in labels:
            share, risk = _share(counted, label), self._exposure
            found.append(
                replace(
                    share,
                    name=f"{EXPOSED} {risk:g}",
                    value=(1 - share.value) * risk,
                    low=(1 - share.high) * risk,
                    high=(1 - share.low) * risk,
                    chance="an estimate, no attack",
                )
            )
        return found

    def _estimate_left(self, label: str, counted: Counted, seed: int) -> list[Measurement]:
        """Return what is probably left and damaged among the predicted spans (Vakili, 2025, after
        his section 1.5).

        The interval is that of draws of precision and recall from their Jeffreys posteriors.
        """
        counts = counted.by_category[label]
        predicted = self._predicted.get(label, counts.right + counts.wrong)
        if not (counts.found and counts.right and predicted):
            return _bound_left(label, counts)
        draws = np.random.default_rng([seed, *label.encode()])
        precision = draws.beta(counts.right + 0.5, counts.wrong + 0.5, DRAWS)
        recall = draws.beta(counts.found + 0.5, counts.missed + 0.5, DRAWS)
        known = (
            counts.right / (counts.right + counts.wrong),
            counts.found / (counts.found + counts.missed),
        )
        expected = (
            (
                LEFT,
                predicted * known[0] * (1 / known[1] - 1),
                predicted * precision * (1 / recall - 1),
            ),
            (DAMAGED, predicted * (1 - known[0]), predicted * (1 - precision)),
        )
        return [
            Measurement.of_draws(
                name,
                value,
                drawn,
                chance="an estimate, no attack",
                units=counts.found + counts.missed,
                unit="identifiers",
                group=label,
            )
            for name, value, drawn in expected
            if counts.found + counts.missed > 1
        ]

    def _control(self, name: str, measured: Measurement, *, expected: bool) -> Control:
        return Control(
            name=name,
            expected=expected,
            reacted=measured.high < self._least,
            measurement=measured,
            description=f"reacts where the whole interval lies below {self._least:.3f}",
        )


def count(cases: Sequence[Case]) -> Counted:
    """Return what was found, missed and redacted needlessly.

    An identifier counts as found where it is covered whole.
    """
    counted = Counted()
    for case in cases:
        found = union((span.start, span.end) for span in case.found)
        gold = union((span.start, span.end) for span in case.gold)
        for span in case.gold:
            whole = any(start <= span.start and span.end <= end for start, end in found)
            for label in (span.label.value, ALL):
                counts = counted.by_category[label]
                counts.found += whole
                counts.missed += not whole
        for span in case.found:
            right = is_touched((span.start, span.end), gold)
            for label in (span.label.value, ALL):
                counts = counted.by_category[label]
                counts.right += right
                counts.wrong += not right
            if not right:
                _note_term(case, span, counted)
    return counted


def _total(counted: Counted, label: str) -> int:
    counts = counted.by_category[label]
    return counts.found + counts.missed


def _judge_categories(counted: Counted) -> Rule:
    """Return the rule that no category was missed as a whole, or surely by half."""
    labels = [label for label in sorted(counted.by_category) if label != ALL]
    marked = [label for label in labels if _total(counted, label)]
    lost = [label for label in marked if _is_lost(counted.by_category[label])]
    said = (
        f"{label}: {counted.by_category[label].found} of {_total(counted, label)} found"
        for label in lost
    )
    return Rule(
        name="no category lost",
        passed=not lost,
        description=", ".join(said) or f"half and more may be found of each of {len(marked)}",
    )


def _is_lost(counts: CategoryCounts) -> bool:
    return not counts.found or wilson(counts.found, counts.found + counts.missed)[1] < _HALF


def _bound_left(label: str, counts: CategoryCounts) -> list[Measurement]:
    """Return what is left at least, where no rate tells what is left of all: the number missed."""
    if not counts.missed:
        return []
    left = float(counts.missed)
    return [
        Measurement(
            name=LEFT_AT_LEAST,
            value=left,
            low=left,
            high=left,
            chance="a bound, with no upper end",
            units=counts.found + counts.missed,
            unit="identifiers",
            group=label,
        )
    ]


def _note_term(case: Case, span: Span, counted: Counted) -> None:
    """Count a span that is an entry of a list, or else each word of it that is one.

    An eponym before an ordinary word.
    """
    text = " ".join(case.note.text[span.start : span.end].split()).casefold()
    words = [found[0].removesuffix("'s") for found in _WORD.finditer(text)]
    for part in [text] if _list_of(text, case.note.lang) else words:
        if kind := _list_of(part, case.note.lang):
            counted.terms[kind, part] += 1


def _list_of(text: str, lang: str | None) -> str:
    return next((kind for kind, words in _lists(lang or "").items() if text in words), "")


_cached: dict[str, dict[str, frozenset[str]]] = {}


def _lists(lang: str) -> dict[str, frozenset[str]]:
    if lang not in _cached:
        files = {**vocabulary.files(ANY), **vocabulary.files(lang)}
        _cached[lang] = {
            kind: frozenset(word.casefold() for word in read_words(files[kind]))
            for kind in TERMS
            if kind in files
        }
    return _cached[lang]


def _share(counted: Counted, label: str) -> Measurement:
    counts = counted.by_category[label]
    return Measurement.share(
        FOUND,
        counts.found,
        counts.found + counts.missed,
        chance="nothing is guessed",
        unit="identifiers",
        group=label,
    )


def _replace(case: Case, injector: Injector) -> Case:
    return Case(case.note, case.gold, injector.keep(case.gold))


def _counts(counted: Counted) -> Table:
    rows = tuple(
        (label, counts.found, counts.missed, counts.right, counts.wrong)
        for label, counts in sorted(counted.by_category.items())
    )
    return Table(
        name="counts",
        title="Found, missed and redacted needlessly in the annotated notes",
        columns=("Category", "Found", "Missed", "Predictions right", "Predictions wrong"),
        rows=rows,
    )


def _terms(counted: Counted) -> Table:
    rows = tuple(
        (kind.replace("_", " "), term, times)
        for (kind, term), times in counted.terms.most_common(_SHOWN)
    )  # entries of the word lists, never other text of a note
    return Table(
        name="terms",
        title="Eponyms and words that were redacted needlessly, by the lists of the vocabulary",
        columns=("List", "Term", "Times"),
        rows=rows,
    )
