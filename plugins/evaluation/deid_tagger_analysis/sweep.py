"""A sweep over sentence grouping.

One model per factor, six scores of each, and what the larger factors find.

Table 4.1 of Catelli (2021), with the lengths of table 3.7 and the found-at-k lists of section 6.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from deid_assets.extending import (
    ConfigError,
    Document,
    Failed,
    SpanSet,
    grouping_for,
    sentences,
    tokenize,
)
from deid_assets.extending.taggers import (
    Card,
    Materials,
    Progress,
    Recipe,
    compare,
    detect,
    open_model,
    score_outcomes,
    strict_rows,
    tag_label,
    train_model,
)
from deid_tagger_analysis.models import difference_json

AROUND = 60
"""Characters of the note that are shown on either side of a found span, where words are shown."""


@dataclass(frozen=True, slots=True)
class GainedSpan:
    """A gold span that one factor finds and the first misses.

    Args:
        factor: Which.
        label: Tag label.
        note: Its id.
        start: Offset.
        end: Offset.
        text: The note's, with what stands around it.
    """

    factor: int
    label: str
    note: str
    start: int
    end: int
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Factor:
    """One factor of a sweep.

    Args:
        factor: Sentences in an input.
        mean_tokens: Of the inputs of the training notes.
        most_tokens: Of the longest.
        card: Of its model.
        six: Micro F1 of the six scores on the test notes: mean and deviation over the runs.
        difference: Strict F1 of the kept run less that of the first factor's, with paired interval
            and p.
        found: What it finds and the first factor misses, by label.
        lost: What the first factor finds and it misses, by label.
    """

    factor: int
    mean_tokens: float
    most_tokens: int
    card: Card = field(repr=False)
    six: Mapping[str, tuple[float | None, float | None]]
    difference: Mapping[str, float] | None
    found: Mapping[str, int]
    lost: Mapping[str, int]

    def to_json(self) -> dict[str, Any]:
        """Return what a machine reads, without words."""
        return {
            "factor": self.factor,
            "mean_tokens": round(self.mean_tokens, 4),
            "most_tokens": self.most_tokens,
            "seconds": self.card.seconds,
            "f1": [run.test_f1 for run in self.card.runs],
            "six": {
                name: {"mean": mean, "deviation": deviation}
                for name, (mean, deviation) in self.six.items()
            },
            "difference": self.difference,
            "found": dict(self.found),
            "lost": dict(self.lost),
        }


@dataclass(frozen=True, slots=True)
class GroupingSweep:
    """Models of one recipe that differ in the sentences grouped.

    Args:
        recipe: Its name.
        rows: A factor each, ascending.
        places: Spans that a factor finds and the first misses.
        by_budget: Factor whose mean length is nearest to the recipe's budget.
        by_limit: Largest factor of which no input is longer than an encoder takes, where a limit is
            known.
        limit: That limit, in tokens.
    """

    recipe: str
    rows: Sequence[Factor]
    places: Sequence[GainedSpan] = field(repr=False)
    by_budget: int
    by_limit: int | None
    limit: int

    def to_json(self) -> dict[str, Any]:
        """Return what a machine reads, without words."""
        chosen = {
            "by_budget": self.by_budget,
            "by_limit": self.by_limit,
            "limit_tokens": self.limit,
        }
        return {
            "recipe": self.recipe,
            "chosen": chosen,
            "factors": [row.to_json() for row in self.rows],
        }


def sweep(
    recipe: Recipe,
    materials: Materials,
    factors: Sequence[int],
    out: Path,
    *,
    limit: int = 0,
    progress: Progress,
) -> GroupingSweep:
    """Train a recipe once per factor and compare each with the first, on the same test notes.

    Args:
        recipe: Its grouping is set in turn.
        materials: With test notes.
        factors: Ascending, from 1.
        out: Folder for the models, one each; one that is up to date is not trained again.
        limit: Tokens that an encoder takes; 0 for the recipe's own.
        progress: Called after each epoch.

    Raises:
        ConfigError: There are no test notes, or the factors are not ascending numbers from 1.
        InputError: As for ``train_model``.
        TrainingError: As for ``train_model``.
    """
    if materials.test is None:
        raise ConfigError("a sweep compares factors on test notes; give --test")
    if len(factors) < 2 or list(factors) != sorted(set(factors)) or factors[0] < 1:
        raise ConfigError("--factors: give two or more ascending numbers from 1")
    lengths = lengths_of(
        [document for corpus in materials.corpora for document in corpus.documents]
    )
    tested = materials.test.documents
    cards: dict[int, Card] = {}
    outcomes: dict[int, Sequence[SpanSet | Failed]] = {}
    for factor in factors:
        grouped = recipe.model_copy(update={"grouping": factor})
        folder = out / f"factor-{factor}"
        cards[factor] = train_model(grouped, materials, folder, progress=progress)
        outcomes[factor] = detect(open_model(grouped, folder), [one.note for one in tested])
    rows, places = _compare(cards, outcomes, tested=tested, lengths=lengths, native=recipe.native)
    most = limit or recipe.limit_tokens
    by_limit = grouping_for(lengths, longest=most) if most else None
    by_budget = grouping_for(lengths, budget=recipe.budget_tokens)
    return GroupingSweep(recipe.name, rows, places, by_budget, by_limit, most)


def _compare(
    cards: Mapping[int, Card],
    outcomes: Mapping[int, Sequence[SpanSet | Failed]],
    *,
    tested: Sequence[Document],
    lengths: Sequence[Sequence[int]],
    native: bool,
) -> tuple[list[Factor], list[GainedSpan]]:
    """Return a row per factor, and the spans that a factor finds and the first misses."""
    scores = {
        str(factor): strict_rows(score_outcomes(of, tested, native=native), tested)
        for factor, of in outcomes.items()
    }
    patients = {one.note.note_id: one.note.patient_id or one.note.note_id for one in tested}
    comparison = compare(scores, patients=patients)
    right = {factor: _right(of, tested, native=native) for factor, of in outcomes.items()}
    first = next(iter(right.values()))
    rows: list[Factor] = []
    places: list[GainedSpan] = []
    for factor, card in cards.items():
        sizes = _sizes(lengths, factor)
        gained, lost = right[factor] - first, first - right[factor]
        rows.append(
            Factor(
                factor,
                fmean(sizes),
                max(sizes),
                card,
                _six(card),
                difference_json(comparison, str(factor)),
                Counter(label for *_, label in gained),
                Counter(label for *_, label in lost),
            )
        )
        places += [_describe_gained(factor, place, tested) for place in sorted(gained)]
    return rows, places


def _sizes(lengths: Sequence[Sequence[int]], factor: int) -> list[int]:
    """Return the tokens of every input where so many sentences are grouped."""
    return [sum(note[at : at + factor]) for note in lengths for at in range(0, len(note), factor)]


def lengths_of(documents: Sequence[Document]) -> list[list[int]]:
    """Return the tokens of every sentence, note by note."""
    texts = [document.note.text for document in documents]
    return [[len(part) for part in sentences(text, tokenize(text))] for text in texts]


def _right(
    outcomes: Sequence[SpanSet | Failed], tested: Sequence[Document], *, native: bool
) -> set[tuple[int, int, int, str]]:
    """Return the gold spans that were found with boundaries and label: note, start, end, label."""
    found = set()
    for at, (document, outcome) in enumerate(zip(tested, outcomes, strict=True)):
        spans = () if isinstance(outcome, Failed) else outcome.spans
        gold = {(span.start, span.end, tag_label(span, native=native)) for span in document.spans}
        said = {(span.start, span.end, tag_label(span, native=native)) for span in spans}
        found |= {(at, *place) for place in gold & said}
    return found


def _describe_gained(
    factor: int, place: tuple[int, int, int, str], tested: Sequence[Document]
) -> GainedSpan:
    at, start, end, label = place
    note = tested[at].note
    return GainedSpan(
        factor, label, note.note_id, start, end, note.text[max(start - AROUND, 0) : end + AROUND]
    )


def _six(card: Card) -> dict[str, tuple[float | None, float | None]]:
    runs = [run.six for run in card.runs if run.six is not None]
    found: dict[str, tuple[float | None, float | None]] = {}
    for name in runs[0] if runs else ():
        known = [value for value in (run[name] for run in runs) if value is not None]
        whole = len(known) == len(runs)
        found[name] = (
            fmean(known) if whole else None,
            stdev(known) if whole and len(known) > 1 else None,
        )
    return found
