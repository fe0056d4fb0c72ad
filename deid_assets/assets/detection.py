"""spans_<detector>: one detector's predictions on every note, kept apart from all others."""

from collections.abc import Mapping, Sequence

import pyarrow as pa

from deid_assets.assets.answering import (
    VERSION,
    Asked,
    BatchAnswers,
    add_questions,
    answer_notes,
    discard_begun,
)
from deid_assets.assets.canaries import NOTES as CANARY_NOTES
from deid_assets.assets.canaries import answers_apart, read_canaries
from deid_assets.assets.declarations import AssetOutput, Check
from deid_assets.assets.display import label_counts, show_labels
from deid_assets.assets.ingest import RAW_NOTES
from deid_assets.assets.judging import judge_spans, span_checks
from deid_assets.assets.records import record_spans
from deid_assets.assets.shadow import draw_notes, sample_counts
from deid_assets.config import Gates
from deid_assets.core.detector import Failed
from deid_assets.core.note import Note
from deid_assets.core.span import SpanSet
from deid_assets.pipeline.batch import Outcome
from deid_assets.pipeline.resolving import by_note
from deid_assets.quality import Verdict, check_share
from deid_assets.runtime.installation import Installation
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

    Notes that are unchanged since it read them are not read again. A note that it raises on is
    listed as failed, never as empty. Canary patients' notes are read with the others, and parted
    from them then. Where the graph trains the model that it runs, ``model`` is the asset of that.
    """
    received = read_notes_of(batch, installation)
    notes = draw_notes(received, detector, installation)
    is_used = detector in installation.settings.ensemble
    canaries = read_canaries(batch, installation) if is_used else []
    asked = Asked(
        installation,
        detector,
        batch,
        [*notes, *canaries],
        source=installation.files.receipt(RAW_NOTES, batch),
        model=installation.taggers.receipt(model) if model else None,
    )
    return _make_output(asked, answer_notes(asked), received, notes, canaries)


def _make_output(
    asked: Asked,
    every: BatchAnswers,
    received: Sequence[Note],
    notes: Sequence[Note],
    canaries: Sequence[Note],
) -> AssetOutput:
    """Return the answers as they are stored.

    Args:
        asked: The question.
        every: The answers, those on canary patients among them.
        received: All notes of the batch.
        notes: Those of them that were asked about.
        canaries: Notes of canary patients.
    """
    outcomes, of_canaries = answers_apart(every.outcomes, canaries)
    answers = every.drop({note.note_id for note in canaries}, outcomes)
    found = [outcome for outcome in outcomes if isinstance(outcome, SpanSet)]
    failed = [outcome for outcome in outcomes if isinstance(outcome, Failed)]
    note_table, span_table = spans_to_tables(found)
    return AssetOutput(
        tables={
            "spans": span_table,
            "notes": add_questions(note_table, answers.questions),
            "failed": failed_to_table(failed),
            **_add_questions(of_canaries, every.questions),
        },
        sources=asked.sources,
        verdicts=[
            *judge_spans(notes, found, sources=[asked.detector]),
            _judge_answered(failed, answers, asked.installation.settings.gates),
        ],
        counts={
            "notes": len(found),
            "failed": len(failed),
            "spans": span_table.num_rows,
            VERSION: answers.version,
            **sample_counts(notes, received),
        },
        metadata={
            "read": answers.in_words,
            "notes_read": answers.read,
            "detection_seconds": round(answers.seconds, 3),
            **show_labels(label_counts(found), title=f"Spans of {asked.detector}"),
        },
        remarks=answers.remarks,
        publish=lambda _: _publish(asked, found, answers),
    )


def _judge_answered(failed: Sequence[Failed], answers: BatchAnswers, limits: Gates) -> Verdict:
    return check_share(
        "answered",
        "Notes without an answer go to quarantine.",
        part=len(failed),
        whole=len(answers.outcomes),
        limit=limits.quarantined,
    )


def _publish(asked: Asked, found: Sequence[SpanSet], answers: BatchAnswers) -> None:
    """Record the spans in the database; what a killed run left is of no use any more."""
    record_spans(
        asked.installation,
        asked.batch,
        asked.detector,
        found,
        notes=answers.read,
        seconds=answers.seconds,
    )
    discard_begun(asked)


def _add_questions(
    tables: Mapping[str, pa.Table], questions: Mapping[str, str]
) -> dict[str, pa.Table]:
    """Return the tables on canary patients, so that they answer as those of other notes do."""
    return {
        name: add_questions(table, questions) if name == CANARY_NOTES else table
        for name, table in tables.items()
    }


def read_notes_of(batch: str, installation: Installation) -> list[Note]:
    """Return the notes of a batch."""
    return notes_from_table(installation.files.read(RAW_NOTES, batch, "notes"))


def read_outcomes(asset: str, batch: str, installation: Installation) -> dict[str, Outcome]:
    """Return a stored run by note id: its spans, or why there are none."""
    files = installation.files
    found = spans_from_tables(files.read(asset, batch, "notes"), files.read(asset, batch, "spans"))
    return by_note([*found, *failed_from_table(files.read(asset, batch, "failed"))])
