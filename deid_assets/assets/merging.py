"""merged_spans: the ensemble's predictions resolved, then spread over each patient's notes."""

from collections.abc import Iterable, Mapping

from deid_assets.assets import gates
from deid_assets.assets.declarations import AssetOutput, Check
from deid_assets.assets.detection import read_notes_of, read_outcomes
from deid_assets.assets.display import label_counts, show_labels, show_scores
from deid_assets.assets.gates import judge_gold, measured
from deid_assets.assets.ingest import GOLD, RAW_NOTES
from deid_assets.assets.judging import judge_spans, span_checks
from deid_assets.config import Gates
from deid_assets.core.assets import Family
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi, profile
from deid_assets.core.resolve import Ensemble
from deid_assets.core.span import SpanSet
from deid_assets.evaluation.score import Counts, Evaluation, Scheme
from deid_assets.pipeline.batch import Batch, Outcome
from deid_assets.pipeline.composition import Pipeline
from deid_assets.pipeline.resolving import MERGED_SPANS, Resolve
from deid_assets.pipeline.spreading import SPREAD, Spread, is_found
from deid_assets.quality import Verdict
from deid_assets.quality.text_checks import recall_floor
from deid_assets.runtime.installation import Installation
from deid_assets.store.frames import (
    failed_to_table,
    scores_to_table,
    spans_from_tables,
    spans_to_tables,
)

CHECKS = (
    *span_checks(disjoint=True),
    Check(
        gates.RECALL,
        "On annotated notes, where the batch has any, recall is not below the configured minimum.",
    ),
    *gates.CHECKS,
)


def checks_of(limits: Gates) -> list[Check]:
    """Return the checks of merged spans under these settings.

    A gate that they switch off is none.
    """
    off = gates.switched_off(limits)
    return [check for check in CHECKS if check.name not in off]


def make_merged_spans(
    batch: str, installation: Installation, *, yielding: frozenset[Phi]
) -> AssetOutput:
    """Resolve the ensemble's spans, spread what they cover, and compare with gold where there is
    any.

    Args:
        batch: Partition.
        installation: The installation.
        yielding: Categories that one of the redaction policies may leave in the text; see
            ``Ensemble``.
    """
    settings = installation.settings
    notes = read_notes_of(batch, installation)
    predictions = {
        name: read_outcomes(Family.SPANS.of(name), batch, installation)
        for name in settings.ensemble
    }
    resolve = Resolve(settings.resolve, Ensemble(settings.ensemble, yielding=yielding))
    done = Pipeline((resolve, Spread())).run(Batch(notes, predictions=predictions))
    merged = list(done.spans.values())
    note_table, span_table = spans_to_tables(merged)
    gold = read_held_out(batch, installation, notes)
    found = measured(notes, against(gold, done.spans), counted=profile(settings.profile))
    scores = found.scores
    on_gold = [recall_gate(scores, settings.gates), *judge_gold(found, installation, batch)]
    return AssetOutput(
        tables={
            "spans": span_table,
            "notes": note_table,
            "failed": failed_to_table(done.withheld.values()),
            "scores": scores_to_table({MERGED_SPANS: scores} if gold else {}),
        },
        sources=[
            installation.files.receipt(asset, batch)
            for asset in (RAW_NOTES, GOLD, *(Family.SPANS.of(name) for name in settings.ensemble))
        ],
        verdicts=[
            *judge_spans(notes, merged, sources=(*settings.ensemble, SPREAD), disjoint=True),
            *(
                verdict
                for verdict in on_gold
                if verdict.name not in gates.switched_off(settings.gates)
            ),
        ],
        counts={
            "notes": len(merged),
            "failed": len(done.withheld),
            "spans": span_table.num_rows,
            "spread": sum(not is_found(span) for spans in merged for span in spans),
        },
        metadata=(
            show_scores(scores, title="Ensemble on annotated notes")
            if gold
            else show_labels(label_counts(merged), title="Merged spans")
        ),
    )


def recall_gate(scores: Evaluation, gates: Gates) -> Verdict:
    """Check recall, as covered characters, against the floors of the labels that have
    enough gold.
    """
    characters: dict[str, Counts] = {"ALL": scores.characters}
    characters |= {label: scores.counts(label, Scheme.CHARACTERS) for label in scores.labels}
    floors = {
        label: floor
        for label, floor in gates.recall.items()
        if characters.get(label, Counts()).gold >= gates.min_gold_characters
    }
    return recall_floor(characters, floors)


def read_gold(batch: str, installation: Installation) -> dict[str, SpanSet]:
    """Return the gold spans of a batch by note id; notes without annotation are absent."""
    files = installation.files
    found = spans_from_tables(files.read(GOLD, batch, "notes"), files.read(GOLD, batch, "spans"))
    return {spans.note_id: spans for spans in found}


def read_held_out(
    batch: str, installation: Installation, notes: Iterable[Note]
) -> dict[str, SpanSet]:
    """Return the gold that scores and gates may use: without the notes that taggers learn from."""
    learnt = {note.note_id for note in notes if installation.is_learnt_from(note)}
    return {
        note_id: spans
        for note_id, spans in read_gold(batch, installation).items()
        if note_id not in learnt
    }


def against(
    gold: Mapping[str, SpanSet], outcomes: Mapping[str, Outcome]
) -> list[tuple[SpanSet, SpanSet]]:
    """Pair gold with outcomes for scoring.

    A note without an answer counts as one where nothing was found.
    """
    pairs = []
    for note_id, spans in gold.items():
        outcome = outcomes.get(note_id)
        found = outcome if isinstance(outcome, SpanSet) else SpanSet(note_id, spans.digest)
        pairs.append((spans, found))
    return pairs
