"""Errors of a tagger, span by span, under its own tag labels.

These may be finer than the categories.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from deid_assets.extending import OUTSIDE, Document, Failed, SpanSet, TagScheme, encode, tokenize
from deid_assets.extending.taggers import Labelled, tag_label
from deid_evaluation.span_errors import SpanErrorKind


@dataclass(frozen=True, slots=True)
class TagError:
    """A span that is wrong under the strict scheme.

    ``gold`` and ``found`` are ``None`` where that side has nothing.
    """

    kind: SpanErrorKind
    gold: Labelled | None
    found: Labelled | None

    @property
    def label(self) -> str:
        """Label of the gold span, else of the prediction."""
        return (self.gold or self.found or (0, 0, ""))[2]


def tag_errors(gold: Iterable[Labelled], found: Iterable[Labelled]) -> list[TagError]:
    """Return what is wrong in one note, by the rules of ``deid_evaluation.span_errors``."""
    golds, preds = sorted(set(gold)), sorted(set(found))
    errors: list[TagError] = []
    used: set[Labelled] = set()
    for place in golds:
        partner = place if place in preds else _nearest(place, preds)
        if partner is not None:
            used.add(partner)
        if partner != place:
            errors.append(TagError(_kind(place, partner), place, partner))
    for one in preds:
        if one not in used:
            over = _nearest(one, golds)
            errors.append(TagError(_kind(over, one), over, one))
    return errors


def _kind(gold: Labelled | None, found: Labelled | None) -> SpanErrorKind:
    if found is None:
        return SpanErrorKind.MISSED
    if gold is None:
        return SpanErrorKind.SPURIOUS
    return SpanErrorKind.BOUNDARY if gold[2] == found[2] else SpanErrorKind.LABEL


def _nearest(place: Labelled, others: Sequence[Labelled]) -> Labelled | None:
    """Return what overlaps a span most, one of its own label first."""
    over = [other for other in others if _common(place, other)]
    return max(over, key=lambda other: (other[2] == place[2], _common(place, other)), default=None)


def _common(one: Labelled, other: Labelled) -> int:
    return max(0, min(one[1], other[1]) - max(one[0], other[0]))


@dataclass(slots=True)
class ErrorTally:
    """Errors by label, added up note by note; labels and counts, no text.

    Args:
        native: Whether tags carry the corpus' own labels.
    """

    native: bool
    kinds: Counter[tuple[str, SpanErrorKind]] = field(default_factory=Counter)
    confused: Counter[tuple[str, str]] = field(default_factory=Counter)
    gold: Counter[str] = field(default_factory=Counter)
    tokens: Counter[str] = field(default_factory=Counter)
    tokens_missed: Counter[str] = field(default_factory=Counter)
    tokens_spurious: Counter[str] = field(default_factory=Counter)

    def add(self, document: Document, outcome: SpanSet | Failed) -> None:
        """Count one note; all gold of a note that failed is missed."""
        gold = self._label(document.spans)
        found = [] if isinstance(outcome, Failed) else self._label(outcome)
        self.gold.update(label for _, _, label in gold)
        for error in tag_errors(gold, found):
            self.kinds[error.label, error.kind] += 1
            if error.kind is SpanErrorKind.LABEL and error.gold and error.found:
                self.confused[error.gold[2], error.found[2]] += 1
        for wanted, said in zip(
            *(token_labels(document.note.text, side) for side in (gold, found)), strict=True
        ):
            self.tokens[wanted] += 1
            if wanted != said:
                self.tokens_missed[wanted] += 1
                self.tokens_spurious[said] += 1

    def _label(self, spans: Iterable[Any]) -> list[Labelled]:
        return [(span.start, span.end, tag_label(span, native=self.native)) for span in spans]

    def to_json(self) -> dict[str, Any]:
        """Return a row per label, the totals, and the confused pairs.

        The label with most errors comes first.
        """
        labels = (
            {label for label, _ in self.kinds} | self.gold.keys() | self.tokens_spurious.keys()
        ) - {OUTSIDE}
        rows = sorted(
            (self._row(label) for label in labels), key=lambda row: (-row["errors"], row["label"])
        )
        return {
            "errors": sum(self.kinds.values()),
            "kinds": {
                str(kind): sum(row["kinds"][str(kind)] for row in rows) for kind in SpanErrorKind
            },
            "tokens_missed": sum(row["tokens_missed"] for row in rows),
            "tokens_spurious": sum(row["tokens_spurious"] for row in rows),
            "labels": rows,
            "confused": [
                {"gold": gold, "predicted": predicted, "spans": spans}
                for (gold, predicted), spans in sorted(
                    self.confused.items(), key=lambda pair: (-pair[1], pair[0])
                )
            ],
        }

    def _row(self, label: str) -> dict[str, Any]:
        counts = {str(kind): self.kinds[label, kind] for kind in SpanErrorKind}
        return {
            "label": label,
            "gold": self.gold[label],
            "errors": sum(counts.values()),
            "kinds": counts,
            "tokens": self.tokens[label],
            "tokens_missed": self.tokens_missed[label],
            "tokens_spurious": self.tokens_spurious[label],
        }


def token_labels(text: str, spans: Iterable[Labelled]) -> list[str]:
    """Return the label of each token of a text, ``O`` for none.

    Of spans that overlap, the first has the token.
    """
    disjoint: list[Labelled] = []
    for span in sorted(spans):
        if not disjoint or span[0] >= disjoint[-1][1]:
            disjoint.append(span)
    tags, _ = encode(disjoint, tokenize(text), TagScheme.BIO)
    return [tag.partition("-")[2] or OUTSIDE for tag in tags]
