"""Detectors on the same gold: the notes that every one of them was scored on, so that a comparison is fair."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from deid_assets.assets.detection import read_notes_of, read_outcomes
from deid_assets.assets.merging import against, read_held_out
from deid_assets.assets.shadow import gold_of_sample
from deid_assets.core.assets import Family
from deid_assets.core.phi import profile
from deid_assets.core.span import SpanSet
from deid_assets.evaluation.marginal import MAX_DETECTORS, Coverage, coverage
from deid_assets.evaluation.score import Evaluation, evaluate_corpus
from deid_resources.installation import Installation

Cards = Mapping[str, Mapping[str, Evaluation]]
"""Detector to batch to its score."""


@dataclass(frozen=True, slots=True)
class Compared:
    """Detectors scored on the same notes.

    Args:
        totals: Detector to its score on these notes.
        coverage: Who marks what in them. All subsets are tried, so that of more than ``MAX_DETECTORS`` detectors the
            ensemble and the first others take part.
        notes: Annotated notes that all were scored on.
    """

    totals: Mapping[str, Evaluation]
    coverage: Coverage
    notes: int


def compare(installation: Installation, cards: Cards) -> Compared:
    """Return the detectors on the notes that all of them were scored on; one scored on nothing takes no part."""
    ordered = sorted(
        (name for name in cards if cards[name]), key=lambda name: name not in installation.settings.ensemble
    )
    batches = sorted(set.intersection(*(set(cards[name]) for name in ordered))) if ordered else []
    totals = {name: Evaluation(installation.settings.profile) for name in ordered}
    found = Coverage(tuple(ordered[:MAX_DETECTORS]))
    notes = 0
    for batch in batches:
        of_batch = _of_batch(installation, batch, ordered, cards)
        totals = {name: total + of_batch.totals[name] for name, total in totals.items()}
        found += of_batch.coverage
        notes += of_batch.notes
    return Compared(totals, found, notes)


def _of_batch(installation: Installation, batch: str, detectors: Sequence[str], cards: Cards) -> Compared:
    notes = read_notes_of(batch, installation)
    lengths = {note.note_id: len(note.text) for note in notes}
    counted = profile(installation.settings.profile)
    outcomes = {name: read_outcomes(Family.SPANS.of(name), batch, installation) for name in detectors}
    gold: Mapping[str, SpanSet] = read_held_out(batch, installation, notes)
    for name in detectors:
        gold = gold_of_sample(gold, outcomes[name], installation.files.receipt(Family.SPANS.of(name), batch))
    answers = {name: against(gold, outcomes[name]) for name in detectors}
    totals = {
        # Of as many notes as it was scored on, the score card has the same score already.
        name: card if (card := cards[name][batch]).notes.notes == len(gold)
        else evaluate_corpus(answers[name], profile=counted, lengths=lengths)
        for name in detectors
    }  # fmt: skip
    found = Coverage(tuple(detectors[:MAX_DETECTORS]))
    for at, spans in enumerate(gold.values()):
        preds = {name: answers[name][at][1] for name in found.detectors}
        found += coverage(spans, preds, profile=counted)
    return Compared(totals, found, len(gold))
