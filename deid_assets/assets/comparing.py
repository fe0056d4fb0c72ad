"""Detectors on the same gold.

The notes that every one of them was scored on, so that a comparison is fair.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from deid_assets.assets.detection import read_notes_of, read_outcomes
from deid_assets.assets.merging import pair_with_gold
from deid_assets.assets.repeats import Repeats, find_annotated_repeats, read_scored
from deid_assets.assets.shadow import gold_of_sample
from deid_assets.core.assets import Family
from deid_assets.core.phi import profile
from deid_assets.core.span import SpanSet
from deid_assets.evaluation.marginal import MAX_DETECTORS, Coverage, coverage
from deid_assets.evaluation.score import Evaluation, evaluate_corpus
from deid_assets.pipeline.resolving import MERGED_SPANS
from deid_assets.runtime.installation import Installation

Cards = Mapping[str, Mapping[str, Evaluation]]
"""Detector to batch to its score."""


@dataclass(frozen=True, slots=True)
class _DetectorScores:
    """Detectors scored on the same notes.

    Args:
        totals: Detector to its score on these notes.
        coverage: Who marks what in them. All subsets are tried, so that of more than
            ``MAX_DETECTORS`` detectors the ensemble and the first others take part.
        notes: Annotated notes that all were scored on.
        ensemble: What the merged spans of the ensemble score on them; ``None`` where a batch has
            none.
        batches: Batches of these notes with merged spans.
    """

    totals: Mapping[str, Evaluation]
    coverage: Coverage
    notes: int
    ensemble: Evaluation | None = None
    batches: Sequence[str] = ()


def compare(installation: Installation, cards: Cards) -> _DetectorScores:
    """Return the detectors on the notes that all of them were scored on.

    One scored on nothing takes no part.
    """
    ordered = sorted(
        (name for name in cards if cards[name]),
        key=lambda name: name not in installation.settings.ensemble,
    )
    batches = sorted(set.intersection(*(set(cards[name]) for name in ordered))) if ordered else []
    merged = [batch for batch in batches if installation.files.find(MERGED_SPANS, batch)]
    repeated = find_annotated_repeats(installation)
    totals = {name: Evaluation(installation.settings.profile) for name in ordered}
    ensemble = Evaluation(installation.settings.profile)
    found = Coverage(tuple(ordered[:MAX_DETECTORS]))
    notes = 0
    for batch in batches:
        of_batch = _of_batch(installation, batch, ordered, cards, repeated)
        totals = {name: total + of_batch.totals[name] for name, total in totals.items()}
        found += of_batch.coverage
        notes += of_batch.notes
        if of_batch.ensemble:
            ensemble += of_batch.ensemble
    return _DetectorScores(totals, found, notes, ensemble if merged == batches else None, merged)


def _of_batch(
    installation: Installation,
    batch: str,
    detectors: Sequence[str],
    cards: Cards,
    repeated: Repeats,
) -> _DetectorScores:
    notes = read_notes_of(batch, installation)
    lengths = {note.note_id: len(note.text) for note in notes}
    counted = profile(installation.settings.profile)
    outcomes = {
        name: read_outcomes(Family.SPANS.of(name), batch, installation) for name in detectors
    }
    gold: Mapping[str, SpanSet] = read_scored(batch, installation, notes, repeated)
    for name in detectors:
        gold = gold_of_sample(
            gold, outcomes[name], installation.files.receipt(Family.SPANS.of(name), batch)
        )
    answers = {name: pair_with_gold(gold, outcomes[name]) for name in detectors}
    # Of as many notes as it was scored on, the score card has the same score already.
    totals = {name: cards[name][batch] for name in detectors}
    for name, card in totals.items():
        if card.notes.notes != len(gold):
            totals[name] = evaluate_corpus(answers[name], profile=counted, lengths=lengths)
    found = Coverage(tuple(detectors[:MAX_DETECTORS]))
    for at, spans in enumerate(gold.values()):
        preds = {name: answers[name][at][1] for name in found.detectors}
        found += coverage(spans, preds, profile=counted)
    ensemble = None
    if installation.files.find(MERGED_SPANS, batch):
        merged = read_outcomes(MERGED_SPANS, batch, installation)
        ensemble = evaluate_corpus(pair_with_gold(gold, merged), profile=counted, lengths=lengths)
    return _DetectorScores(totals, found, len(gold), ensemble)
