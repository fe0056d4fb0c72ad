"""Scores of predicted spans against gold, note by note, added up."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from operator import add

from deid_assets.core.errors import DigestError, InputError, OffsetError
from deid_assets.core.phi import Phi, Profile
from deid_assets.core.span import SpanSet
from deid_assets.evaluation.boundaries import boundary_counts
from deid_assets.evaluation.comparison import SCHEMES, Row
from deid_assets.evaluation.counts import Counts, Evaluation, Macro, NoteCounts, Scheme
from deid_assets.evaluation.intervals import (
    Range,
    count_matches,
    is_inside,
    is_touched,
    size,
    size_of_common,
    union,
    wilson,
)

__all__ = [
    "Counts",
    "Evaluation",
    "Macro",
    "NoteCounts",
    "Scheme",
    "evaluate",
    "evaluate_by_note",
    "evaluate_corpus",
    "pair",
    "wilson",
]

_ByLabel = dict[str, set[Range]]
_CHARACTERS = slice(3 * SCHEMES.index(Scheme.CHARACTERS), 3 * SCHEMES.index(Scheme.CHARACTERS) + 3)
"""Slice of a row with the characters of all labels at once.

Those of each label would count a shared one twice.
"""


def evaluate(
    gold: SpanSet,
    pred: SpanSet,
    *,
    profile: Profile,
    scope: frozenset[Phi] | None = None,
    length: int,
) -> Evaluation:
    """Return the counts of one note.

    Overlapping spans are allowed on both sides. Spans with the same boundaries and the same label
    under the profile count once.

    Args:
        gold: What there is to find.
        pred: What was found.
        profile: Labels to count under. Categories it does not count are left out on both sides.
        scope: Categories that the gold annotates (``LabelMap.categories``), or ``None`` for all. It
            is applied to profile labels: where ``CITY`` counts as ``LOCATION``, a gold of
            ``LOCATION`` has it in scope.
        length: Code points of the note.

    Raises:
        DigestError: The two sets belong to different notes or different versions of a text.
        OffsetError: A span ends after the note does.
        InputError: The gold holds a category outside ``scope``.
    """
    tally = _Tally(profile, scope)
    tally.add(gold, pred, length)
    return tally.total()


def evaluate_corpus(
    pairs: Iterable[tuple[SpanSet, SpanSet]],
    *,
    profile: Profile,
    scope: frozenset[Phi] | None = None,
    lengths: Mapping[str, int],
) -> Evaluation:
    """Return the counts of many notes, equal to the sum of ``evaluate`` over them.

    Args:
        pairs: Gold and predictions of each note, for example from ``pair``; read once, so it may be
            a stream.
        profile: As for ``evaluate``.
        scope: As for ``evaluate``.
        lengths: Note id to code points of the note.

    Raises:
        DigestError: A pair belongs to different notes or different versions of a text.
        OffsetError: A span ends after its note does.
        InputError: A note comes twice, has no length, or has gold outside ``scope``.
    """
    tally = _Tally(profile, scope)
    for _ in _rows(tally, pairs, lengths):
        pass
    return tally.total()


def evaluate_by_note(
    pairs: Iterable[tuple[SpanSet, SpanSet]],
    *,
    profile: Profile,
    scope: frozenset[Phi] | None = None,
    lengths: Mapping[str, int],
) -> tuple[Evaluation, dict[str, Row]]:
    """Return what ``evaluate_corpus`` does, and the micro counts of each note by its id, to
    resample from.

    The rows add up to the micro counts of the evaluation. Arguments and errors are those of
    ``evaluate_corpus``.
    """
    tally = _Tally(profile, scope, with_boundaries=True)
    rows = dict(_rows(tally, pairs, lengths))
    return tally.total(), rows


def _rows(
    tally: _Tally, pairs: Iterable[tuple[SpanSet, SpanSet]], lengths: Mapping[str, int]
) -> Iterator[tuple[str, Row]]:
    seen: set[str] = set()
    for gold, pred in pairs:
        if gold.note_id in seen:
            raise InputError(f"note {gold.note_id!r} is scored twice; give each note once")
        if gold.note_id not in lengths:
            raise InputError(
                f"note {gold.note_id!r} has no length; give the code points of every note"
            )
        seen.add(gold.note_id)
        yield gold.note_id, tally.add(gold, pred, lengths[gold.note_id])


def pair(gold: Iterable[SpanSet], pred: Iterable[SpanSet]) -> Iterator[tuple[SpanSet, SpanSet]]:
    """Return gold and predictions of the same notes together, in the order of ``gold``.

    Raises:
        InputError: A note comes twice on one side, has gold but no predictions, or predictions but
            no gold. A note in which nothing was found needs an empty ``SpanSet``.
    """
    golds, preds = _by_note(gold, "gold"), _by_note(pred, "predictions")
    if missing := sorted(golds.keys() - preds.keys()):
        raise InputError(
            f"{len(missing)} of {len(golds)} annotated notes have no predictions, the first is"
            f" {missing[0]!r}; detect on them, or leave failed notes out of the annotations and"
            " report them apart"
        )
    if unknown := sorted(preds.keys() - golds.keys()):
        raise InputError(
            f"{len(unknown)} of {len(preds)} notes with predictions have no annotations, the first"
            f" is {unknown[0]!r}; score against the annotations of the same notes"
        )
    return ((golds[note_id], preds[note_id]) for note_id in golds)


def _by_note(span_sets: Iterable[SpanSet], side: str) -> dict[str, SpanSet]:
    by_note: dict[str, SpanSet] = {}
    for spans in span_sets:
        if spans.note_id in by_note:
            raise InputError(
                f"note {spans.note_id!r} comes twice in the {side}; give each note once"
            )
        by_note[spans.note_id] = spans
    return by_note


def _check(gold: SpanSet, pred: SpanSet, length: int) -> None:
    if gold.note_id != pred.note_id or gold.digest != pred.digest:
        raise DigestError(
            f"note {gold.note_id!r}: the annotations have digest {gold.digest[:12]}, but the"
            f" predictions were made for note {pred.note_id!r}, digest {pred.digest[:12]}; detect"
            " again on the text that was annotated"
        )
    last = max((span.end for spans in (gold, pred) for span in spans), default=0)
    if last > length:
        raise OffsetError(
            f"note {gold.note_id!r}: span ends at {last}, note has {length} characters"
        )


class _Tally:
    """Adds up counts in place: one ``Evaluation`` per note would cost more than the scoring."""

    def __init__(
        self, profile: Profile, scope: frozenset[Phi] | None, *, with_boundaries: bool = False
    ) -> None:
        self._with_boundaries = with_boundaries
        self._profile = profile
        self._label_of = dict(profile.labels)
        self._in_scope = set(self._label_of.values())
        if scope is not None:
            self._in_scope &= {self._label_of.get(category) for category in scope}
        self._cells: dict[str, list[int]] = defaultdict(lambda: [0] * (3 * len(SCHEMES)))
        self._characters = Counts()
        self._notes = NoteCounts()
        self._out_of_scope: dict[str, int] = defaultdict(int)

    def add(self, gold: SpanSet, pred: SpanSet, length: int) -> Row:
        _check(gold, pred, length)
        golds, preds = self._by_label(gold), self._by_label(pred)
        if strangers := golds.keys() - self._in_scope:
            raise InputError(
                f"note {gold.note_id!r} has annotated labels outside the scope:"
                f" {', '.join(sorted(strangers))}; give the categories that people annotated"
            )
        outside = {label: preds.pop(label) for label in preds.keys() - self._in_scope}
        for label, ranges in outside.items():
            self._out_of_scope[label] += len(ranges)
        all_gold = union(_flat(golds))
        predicted = union(_flat(preds))
        covered = union([*predicted, *_flat(outside)]) if outside else predicted
        sums = [0] * (3 * len(SCHEMES))
        for label in golds.keys() | preds.keys():
            cells = self._add_label(
                label,
                golds.get(label, set()),
                preds.get(label, set()),
                all_gold=all_gold,
                covered=covered,
            )
            sums = list(map(add, sums, cells))
        found = size_of_common(all_gold, covered)
        spurious = size(predicted) - size_of_common(predicted, all_gold)
        left = size(all_gold) - found
        self._characters += Counts(found, spurious, left)
        sums[_CHARACTERS] = found, spurious, left
        self._notes += NoteCounts(
            notes=1,
            with_phi=int(bool(golds)),
            covered=int(bool(golds) and found == size(all_gold)),
            touched=int(bool(preds) and not golds),
            chars=length,
        )
        return (
            (*sums, *boundary_counts(_flat(golds), _flat(preds)))
            if self._with_boundaries
            else tuple(sums)
        )

    def total(self) -> Evaluation:
        cells = {
            label: {
                scheme: Counts(*counts[3 * at : 3 * at + 3]) for at, scheme in enumerate(SCHEMES)
            }
            for label, counts in sorted(self._cells.items())
        }
        return Evaluation(
            self._profile.name,
            cells,
            self._characters,
            self._notes,
            dict(sorted(self._out_of_scope.items())),
        )

    def _by_label(self, spans: SpanSet) -> _ByLabel:
        by_label: _ByLabel = {}
        for span in spans.spans:
            label = self._label_of.get(span.label)
            if label is not None:
                by_label.setdefault(label, set()).add((span.start, span.end))
        return by_label

    def _add_label(
        self,
        label: str,
        gold: set[Range],
        pred: set[Range],
        *,
        all_gold: list[Range],
        covered: list[Range],
    ) -> Row:
        exact = len(gold & pred)
        overlapping = exact if gold == pred else count_matches(gold, pred)
        covered_spans = sum(is_inside(found, covered) for found in gold)
        spurious = sum(not is_touched(found, all_gold) for found in pred)
        gold_chars, pred_chars = union(gold), union(pred)
        n_gold, n_pred = size(gold_chars), size(pred_chars)
        found_chars = size_of_common(gold_chars, covered)
        labelled = size_of_common(gold_chars, pred_chars)
        counts = (  # tp, fp, fn of each of SCHEMES
            exact,
            len(pred) - exact,
            len(gold) - exact,
            overlapping,
            len(pred) - overlapping,
            len(gold) - overlapping,
            covered_spans,
            spurious,
            len(gold) - covered_spans,
            found_chars,
            n_pred - size_of_common(pred_chars, all_gold),
            n_gold - found_chars,
            labelled,
            n_pred - labelled,
            n_gold - labelled,
        )
        self._cells[label] = list(map(add, self._cells[label], counts))
        return counts


def _flat(by_label: _ByLabel) -> list[Range]:
    return [found for ranges in by_label.values() for found in ranges]
