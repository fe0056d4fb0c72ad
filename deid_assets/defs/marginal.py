"""What each detector adds to the others, over the batches that all of them were scored on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from deid_assets.core.marginal import MAX_DETECTORS, Coverage, coverage, marginals
from deid_assets.core.phi import profile
from deid_assets.core.score import Evaluation
from deid_assets.core.span import SpanSet
from deid_assets.defs.detection import read_notes_of, read_outcomes
from deid_assets.defs.merging import against, read_held_out
from deid_assets.defs.shadow import gold_of_sample
from deid_assets.reports.bench_entries import Bakeoff, Entry, Expense
from deid_assets.reports.bench_tables import best_line_up, marginal_table, table_md
from deid_resources.corpus import Corpus

SCHEMA = pa.schema(
    [
        pa.field("detector", pa.string(), nullable=False),
        pa.field("recall_gained", pa.float64(), nullable=False),
        pa.field("char_recall_gained", pa.float64(), nullable=False),
        pa.field("precision_lost", pa.float64()),
        pa.field("recall_alone", pa.float64(), nullable=False),
        pa.field("seconds_per_1000_notes", pa.float64()),
    ]
)


@dataclass(frozen=True, slots=True)
class Marginals:
    """Each detector's value, as a table to keep and one to show."""

    table: pa.Table
    shown: str


def marginal_value(corpus: Corpus, cards: Mapping[str, Mapping[str, Evaluation]]) -> Marginals:
    """Return what each detector adds: recall gained, precision lost, seconds spent, and the best subset.

    All subsets are tried, so that of more than ``MAX_DETECTORS`` detectors the line-up and the first others take part.

    Args:
        corpus: The installation.
        cards: Detector to batch to its score.
    """
    chosen = sorted(cards, key=lambda name: name not in corpus.settings.line_up)[:MAX_DETECTORS]
    batches = sorted(set.intersection(*(set(cards[name]) for name in chosen))) if chosen else []
    found = Coverage(tuple(chosen))
    for batch in batches:
        found += _of_batch(corpus, batch, chosen)
    if not found.spans:
        return Marginals(SCHEMA.empty_table(), "No gold spans that all detectors were scored on.")
    seconds = {name: _seconds_per_note(corpus, name, batches) for name in chosen}
    rows = [
        {
            "detector": one.detector,
            "recall_gained": one.recall_gained,
            "char_recall_gained": one.char_recall_gained,
            "precision_lost": one.precision_lost,
            "recall_alone": one.alone.recall,
            "seconds_per_1000_notes": None if (spent := seconds[one.detector]) is None else 1_000 * spent,
        }
        for one in marginals(found)
    ]
    return Marginals(pa.Table.from_pylist(rows, SCHEMA), _shown(corpus, found, seconds))


def _of_batch(corpus: Corpus, batch: str, detectors: Sequence[str]) -> Coverage:
    gold: Mapping[str, SpanSet] = read_held_out(batch, corpus, read_notes_of(batch, corpus))
    outcomes = {name: read_outcomes(f"spans/{name}", batch, corpus) for name in detectors}
    for name in detectors:
        gold = gold_of_sample(gold, outcomes[name], corpus.files.receipt(f"spans/{name}", batch))
    answers: dict[str, dict[str, SpanSet]] = {
        name: {spans.note_id: spans for _, spans in against(gold, outcomes[name])} for name in detectors
    }
    total = Coverage(tuple(detectors))
    for note_id, spans in gold.items():
        preds = {name: answers[name][note_id] for name in detectors}
        total += coverage(spans, preds, profile=profile(corpus.settings.profile))
    return total


def _seconds_per_note(corpus: Corpus, detector: str, batches: Sequence[str]) -> float | None:
    """Return what the detector's asset took per note of these batches, start-up and storing included."""
    from deid_assets.store import records  # noqa: PLC0415 - SQLModel takes 0.3 s to import

    with corpus.database.session() as session:
        latest_first = records.load_runs(session, asset=f"spans/{detector}")
        runs = {run.batch: run for run in reversed(latest_first)}
    taken = [runs[batch] for batch in batches if batch in runs]
    notes = sum(run.notes for run in taken)
    return sum(run.seconds for run in taken) / notes if notes else None


def _shown(corpus: Corpus, found: Coverage, seconds: Mapping[str, float | None]) -> str:
    entries = [
        Entry(name, expense=Expense(0, 1 / spent, 0.0, 0.0, 0) if spent else None) for name, spent in seconds.items()
    ]
    board = Bakeoff(profile(corpus.settings.profile), entries, notes=0, coverage=found)
    return "\n\n".join(filter(None, (table_md(marginal_table(board)), best_line_up(found)))) or "One detector alone."
