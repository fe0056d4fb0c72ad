"""Detectors in shadow run on a sample of each batch.

Enough to score them, at a small part of the cost.
"""

from collections.abc import Mapping, Sequence

from deid_assets.config import Settings
from deid_assets.core.note import Note
from deid_assets.core.span import SpanSet
from deid_assets.pipeline.batch import Outcome
from deid_assets.runtime.installation import Installation
from deid_assets.store.files import Receipt

SAMPLED, RECEIVED = "sampled_notes", "received_notes"
"""Counts in the receipt of spans that are of a sample; spans of a whole batch have neither."""


def sample_size(settings: Settings, detector: str) -> int:
    """Return how many notes of a batch a detector runs on.

    0 for all, as every detector of the ensemble does.
    """
    return 0 if detector in settings.ensemble else settings.shadow_sample


def draw_notes(notes: Sequence[Note], detector: str, installation: Installation) -> Sequence[Note]:
    """Return the notes that a detector runs on, in order.

    All detectors in shadow get the same ones.

    Which ones follows from the key and the notes' ids alone, so nobody without the key knows, and a
    second run draws the same.
    """
    size = sample_size(installation.settings, detector)
    if not size or len(notes) <= size:
        return notes
    ranked = sorted(
        notes, key=lambda note: (installation.key.seed("shadow sample", note.note_id), note.note_id)
    )
    chosen = {note.note_id for note in ranked[:size]}
    return [note for note in notes if note.note_id in chosen]


def sample_counts(drawn_notes: Sequence[Note], notes: Sequence[Note]) -> dict[str, int]:
    """Return what the receipt says of a sample; nothing where all notes were taken."""
    return (
        {SAMPLED: len(drawn_notes), RECEIVED: len(notes)} if len(drawn_notes) < len(notes) else {}
    )


def gold_of_sample(
    gold: Mapping[str, SpanSet], outcomes: Mapping[str, Outcome], receipt: Receipt
) -> dict[str, SpanSet]:
    """Return the gold that a detector can be scored on: that of the notes it ran on.

    A note that was not drawn is no note where nothing was found. Where no sample was drawn, every
    note counts.
    """
    if SAMPLED not in receipt.counts:
        return dict(gold)
    return {note_id: spans for note_id, spans in gold.items() if note_id in outcomes}


def sample_in_words(receipts: Sequence[Receipt]) -> str:
    """Return what a detector's scores say of the notes that they are of."""
    sampled = [receipt for receipt in receipts if SAMPLED in receipt.counts]
    if not sampled:
        return "every annotated note"
    notes = sum(int(receipt.counts[SAMPLED]) for receipt in sampled)
    received = sum(int(receipt.counts[RECEIVED]) for receipt in sampled)
    return (
        f"a sample: in {len(sampled):,} of {len(receipts):,} batches it ran, scored and not used,"
        f" on {notes:,} of {received:,} notes, drawn at random by key; shadow_sample = 0 takes all"
    )
