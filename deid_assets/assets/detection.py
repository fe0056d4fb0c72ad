"""spans_<detector>: one detector's predictions on every note, kept apart from all others."""

from deid_assets.assets.declarations import AssetOutput, Check
from deid_assets.assets.display import label_counts, show_labels
from deid_assets.assets.ingest import RAW_NOTES
from deid_assets.assets.judging import judge_spans, span_checks
from deid_assets.assets.records import record_spans
from deid_assets.assets.shadow import drawn, sample_counts
from deid_assets.core.assets import Family
from deid_assets.core.detector import Failed
from deid_assets.core.note import Note
from deid_assets.core.span import SpanSet
from deid_assets.pipeline.batch import Outcome
from deid_assets.pipeline.resolving import by_note
from deid_assets.quality import within_share
from deid_assets.runtime.installation import Installation
from deid_assets.store.files import ALL
from deid_assets.store.frames import (
    failed_from_table,
    failed_to_table,
    notes_from_table,
    spans_from_tables,
    spans_to_tables,
)

CHECKS = (
    *span_checks(),
    Check("answered", "The detector gave an answer for enough notes; the others go to quarantine."),
)


def make_spans(
    batch: str, installation: Installation, *, detector: str, model: str = ""
) -> AssetOutput:
    """Run a detector on a batch, in shadow on a sample of it.

    A note that it raises on is listed as failed, never as empty.

    Args:
        batch: Partition.
        installation: The installation.
        detector: Which.
        model: Asset of the model that it runs, where the graph trains it.
    """
    received = read_notes_of(batch, installation)
    notes = drawn(received, detector, installation)
    answers = installation.detectors.answer(detector, notes, stage=Family.SPANS.of(detector))
    outcomes = answers.outcomes
    found = [outcome for outcome in outcomes if isinstance(outcome, SpanSet)]
    failed = [outcome for outcome in outcomes if isinstance(outcome, Failed)]
    note_table, span_table = spans_to_tables(found)
    return AssetOutput(
        tables={"spans": span_table, "notes": note_table, "failed": failed_to_table(failed)},
        sources=[
            installation.files.receipt(RAW_NOTES, batch),
            *([installation.files.receipt(model, ALL)] if model else []),
        ],
        verdicts=[
            *judge_spans(notes, found, sources=[detector]),
            within_share(
                "answered",
                "Notes without an answer go to quarantine.",
                part=len(failed),
                whole=len(outcomes),
                limit=installation.settings.gates.quarantined,
            ),
        ],
        counts={
            "notes": len(found),
            "failed": len(failed),
            "spans": span_table.num_rows,
            **sample_counts(notes, received),
        },
        metadata={
            "detection_seconds": round(answers.seconds, 3),
            **show_labels(label_counts(found), title=f"Spans of {detector}"),
        },
        publish=lambda _: record_spans(
            installation, batch, detector, found, notes=len(notes), seconds=answers.seconds
        ),
    )


def read_notes_of(batch: str, installation: Installation) -> list[Note]:
    """Return the notes of a batch."""
    return notes_from_table(installation.files.read(RAW_NOTES, batch, "notes"))


def read_outcomes(asset: str, batch: str, installation: Installation) -> dict[str, Outcome]:
    """Return a stored run by note id: its spans, or why there are none."""
    files = installation.files
    found = spans_from_tables(files.read(asset, batch, "notes"), files.read(asset, batch, "spans"))
    return by_note([*found, *failed_from_table(files.read(asset, batch, "failed"))])
