"""Notes rewritten by a language model, measured as Dorémus et al. (2025) do, with what that study
left open decided.

An output that says that there is nothing to remove stands for the note itself, so that a right one
is no alteration.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.span import Span, SpanSet
from deid_assets.evaluation.alterations import alterations
from deid_assets.evaluation.bleu import BleuCounts, bleu_counts, words
from deid_assets.evaluation.counts import harmonic
from deid_assets.evaluation.intervals import Range, is_inside, size, size_of_common, union, wilson
from deid_assets.evaluation.people import GRAVEST, whose

ANONYMOUS = re.compile(r"[\W_]*ANONYMOUS[\W_]*", re.IGNORECASE)
"""The whole of an output that says that there is nothing to remove."""
HOLE = "\ue000"
"""One word for every placeholder, so that its own name does not matter.

A character of no language.
"""

_SIX = {
    "NAME": "NAME RELATIVE",
    "DATE": "DATE",
    "LOC": "STREET CITY REGION COUNTRY ZIP LOCATION HOSPITAL ORGANIZATION",
    "TEL": "PHONE FAX",
    "MAIL": "EMAIL",
}
CATEGORIES: Mapping[Phi, str] = MappingProxyType(
    {Phi(member): name for name, members in _SIX.items() for member in members.split()}
)
"""The study's category of each of ours; those without are OTHER.

Ages and professions are no identifiers there.
"""
NOT_COUNTED = frozenset({Phi.AGE, Phi.PROFESSION, Phi.SEX})
_STAFF_CUE = re.compile(
    r"(?:\b(?:dr|docteur|pr|prof|professeur|m[ée]decin|ide|infirmi[èe]re?|interne|mt)\b\W*)$",
    re.IGNORECASE,
)
_SEVEREST = (*GRAVEST, "other")


def study_category(label: Phi) -> str | None:
    """Return a category's name in the study; ``None`` where the study does not count it."""
    return None if label in NOT_COUNTED else CATEGORIES.get(label, "OTHER")


def expand(source: str, output: str) -> str:
    """Return an output with the note itself in the place of ``ANONYMOUS``."""
    return source if ANONYMOUS.fullmatch(output) and not ANONYMOUS.fullmatch(source) else output


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A note, its gold, and what a model made of it.

    Args:
        note: The note.
        gold: What there was to remove.
        cover: Ranges that were removed; ``None`` where the note was withheld, which counts as
            nothing removed.
        output: What the model wrote, placeholders in it; ``None`` where it is not known.
        said_nothing: Whether the model answered that there is nothing to remove.
    """

    note: Note
    gold: SpanSet
    cover: Sequence[Range] | None
    output: str | None = None
    said_nothing: bool = False


@dataclass(slots=True)
class StudyTable:
    """The study's measures of one model, counted note by note; ``to_json`` has the rates."""

    notes: int = 0
    identifying: int = 0
    clean: int = 0
    withheld: int = 0
    items: int = 0
    removed: int = 0
    tagged: int = 0
    right: int = 0
    identifying_chars: int = 0
    removed_chars: int = 0
    spurious_chars: int = 0
    other_chars: int = 0
    by_category: dict[str, Counter[str]] = field(default_factory=dict)
    modes: Counter[str] = field(default_factory=Counter)
    causes: Counter[str] = field(default_factory=Counter)
    roles: Counter[str] = field(default_factory=Counter)
    bleu: BleuCounts = field(default_factory=BleuCounts)
    bleu_sum: float = 0.0
    rewritten: int = 0
    altered: int = 0
    changes: Counter[str] = field(default_factory=Counter)

    def add(self, one: Rewritten, *, placeholder: re.Pattern[str]) -> None:
        """Count one note.

        Args:
            one: The note and what became of it.
            placeholder: What stands in the output for what was removed.
        """
        gold = [
            (span, name) for span in one.gold if (name := study_category(span.label)) is not None
        ]
        cover = union(one.cover or ())
        self.notes += 1
        self.withheld += one.cover is None
        self._count_items(one, gold, cover)
        if one.output is not None:
            self._count_text(one, one.output, [span for span, _ in gold], placeholder)

    def _count_items(
        self, one: Rewritten, gold: Sequence[tuple[Span, str]], cover: Sequence[Range]
    ) -> None:
        wanted = union((span.start, span.end) for span, _ in gold)
        every = union((span.start, span.end) for span in one.gold)
        left = [(span, name) for span, name in gold if not is_inside((span.start, span.end), cover)]
        self.items += len(gold)
        self.removed += len(gold) - len(left)
        self.tagged += len(one.cover or ())
        self.right += sum(
            2 * size_of_common([place], every) >= place[1] - place[0] for place in one.cover or ()
        )
        found = size_of_common(wanted, cover)
        self.identifying_chars += size(wanted)
        self.removed_chars += found
        self.spurious_chars += size(cover) - size_of_common(every, cover)
        self.other_chars += len(one.note.text) - size(every)
        for name in {name for _, name in gold}:
            counts = self.by_category.setdefault(name, Counter())
            counts["notes"] += 1
            counts["clean"] += all(other != name for _, other in left)
        for span, name in gold:
            self.by_category[name]["items"] += 1
            self.by_category[name]["removed"] += (span, name) not in left
        self.identifying += bool(gold)
        self.clean += bool(gold) and not left
        if left:
            self.modes[_mode(one, is_whole=len(left) == len(gold))] += 1
        for span, name in left:
            self.causes[cause_of(one.note.text, span)] += 1
            if name == "NAME":
                self.roles[role_of(one.note.text, span)] += 1

    def _count_text(
        self, one: Rewritten, output: str, gold: Sequence[Span], placeholder: re.Pattern[str]
    ) -> None:
        source = one.note.text
        output = expand(source, output)
        reference = words(make_holes(source, gold))
        if reference:
            counts = bleu_counts(words(placeholder.sub(f" {HOLE} ", output)), reference)
            self.bleu += counts
            self.bleu_sum += counts.score()
            self.rewritten += 1
        found = alterations(one.note, one.gold, output, replacement=placeholder)
        self.altered += bool(found)
        self.changes.update(f"{change.kind} {change.change}" for change in found)

    @property
    def recall(self) -> float | None:
        """Items removed per item."""
        return self.removed / self.items if self.items else None

    @property
    def precision(self) -> float | None:
        """Right removals per removal; right is one of which items are at least half."""
        return self.right / self.tagged if self.tagged else None

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall; 0 where one is not defined."""
        return harmonic(self.precision or 0.0, self.recall or 0.0)

    @property
    def note_recall(self) -> float | None:
        """Identifying notes with nothing left, per identifying note."""
        return self.clean / self.identifying if self.identifying else None

    def to_json(self) -> dict[str, Any]:
        """Return counts, rates and 95 % Wilson intervals, as ``json.dumps`` takes them."""
        return {
            "notes": self.notes,
            "identifying": self.identifying,
            "withheld": self.withheld,
            "note_recall": _share(self.clean, self.identifying),
            "recall": _share(self.removed, self.items),
            "precision": _share(self.right, self.tagged),
            "f1": round(self.f1, 4),
            "names_only": self._of_notes("NAME"),
            "note_recall_by_category": {
                name: self._of_notes(name) for name in sorted(self.by_category)
            },
            "recall_by_category": {
                name: _share(counts["removed"], counts["items"])
                for name, counts in sorted(self.by_category.items())
            },
            "characters_removed": _share(self.removed_chars, self.identifying_chars),
            "over_redaction": _share(self.spurious_chars, self.other_chars),
            "bleu_corpus": round(self.bleu.score(), 4) if self.bleu.reference else None,
            "bleu_mean": round(self.bleu_sum / self.rewritten, 4) if self.rewritten else None,
            "altered": _share(self.altered, self.rewritten),
            "alterations": dict(sorted(self.changes.items())),
            "failing_notes_by_mode": dict(sorted(self.modes.items())),
            "failing_notes_by_category": {
                name: counts["notes"] - counts["clean"]
                for name, counts in sorted(self.by_category.items())
            },
            "left_by_cause": dict(sorted(self.causes.items())),
            "names_left_by_role": {
                role: self.roles[role] for role in _SEVEREST if self.roles[role]
            },
        }

    def _of_notes(self, name: str) -> dict[str, Any] | None:
        counts = self.by_category.get(name, Counter())
        return _share(counts["clean"], counts["notes"])


def _mode(one: Rewritten, *, is_whole: bool) -> str:
    """Return how a note failed of which items were left, all of them or some."""
    if one.cover is None:
        return "withheld"
    if one.said_nothing:
        return "anonymous"
    return "all_left" if is_whole else "partial"


def _share(hits: int, trials: int) -> dict[str, Any] | None:
    if not trials:
        return None
    low, high = wilson(min(hits, trials), trials)
    return {
        "hits": hits,
        "trials": trials,
        "value": round(hits / trials, 4),
        "interval": [round(low, 4), round(high, 4)],
    }


def study_table(rows: Iterable[Rewritten], *, placeholder: re.Pattern[str]) -> StudyTable:
    """Return the study's measures over notes."""
    table = StudyTable()
    for one in rows:
        table.add(one, placeholder=placeholder)
    return table


def plateau(points: Sequence[Mapping[str, Any]], *, within: float = 0.005) -> int:
    """Return the first epoch of a curve from which F1 gains no more than ``within``.

    0 for an empty curve.
    """
    values = [float(point["measures"]["f1"]) for point in points]
    return next(
        (
            int(point["epoch"])
            for point, f1 in zip(points, values, strict=True)
            if f1 >= max(values) - within
        ),
        0,
    )


def make_holes(source: str, gold: Iterable[Span]) -> str:
    """Return the gold redaction, every placeholder as ``HOLE``."""
    pieces, cursor = [], 0
    for start, end in union((span.start, span.end) for span in gold):
        pieces += [source[cursor:start], f" {HOLE} "]
        cursor = end
    return "".join([*pieces, source[cursor:]])


def cause_of(text: str, span: Span) -> str:
    """Return why an item is hard, as the study sorts its errors: by its category, else its form."""
    value = text[span.start : span.end]
    letters = [letter for letter in value if letter.isalpha()]
    is_short = 1 < len(letters) <= 5 and len(value) <= 7 and (value.isupper() or "." in value)
    if is_short and not any(letter.isdigit() for letter in value):
        return "acronym"
    if span.label in {Phi.HOSPITAL, Phi.ORGANIZATION}:
        return "facility"
    if span.label is Phi.CITY:
        return "city"
    return (study_category(span.label) or "OTHER").lower()


def role_of(text: str, span: Span) -> str:
    """Return whose name it is: of a patient, a relative, staff or another.

    The first is the gravest to leave.

    The gold says so, or else a title before the name.
    """
    if role := whose(span):
        return role
    return "staff" if _STAFF_CUE.search(text[max(0, span.start - 24) : span.start]) else "other"
