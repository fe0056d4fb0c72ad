"""Canary patients: synthetic notes with known spans that are read with every batch.

They stand in tables of their own beside a batch's notes, drawn by the installation's key and the
batch. A detector is asked about both at once, and cannot tell them apart; what it finds is parted
at once. Nothing but their scores goes on from ``merged_spans``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import pyarrow as pa

from deid_assets.assets.declarations import Check
from deid_assets.core.assets import Family
from deid_assets.core.detector import Failed
from deid_assets.core.errors import InputError
from deid_assets.core.note import Note
from deid_assets.core.phi import profile
from deid_assets.core.span import DisjointSpans, Span, SpanSet
from deid_assets.evaluation.counts import Counts, Scheme
from deid_assets.evaluation.score import Evaluation, evaluate_corpus
from deid_assets.languages.grammars import languages
from deid_assets.pipeline.batch import Batch, Outcome
from deid_assets.pipeline.composition import Pipeline
from deid_assets.pipeline.resolving import Resolve, by_note
from deid_assets.pipeline.spreading import Spread
from deid_assets.plugins import load_corpus
from deid_assets.quality import Verdict
from deid_assets.quality.gates import ALL, recall_lower_bound
from deid_assets.runtime.installation import Installation
from deid_assets.store.frames import (
    failed_from_table,
    failed_to_table,
    notes_from_table,
    notes_to_table,
    spans_from_tables,
    spans_to_tables,
)
from deid_assets.training.corpora import SYNTHETIC

CANARY_RECALL = Check(
    "canary_recall",
    "Of what the canary patients' notes hold, enough was found; the lower end of the 95 % interval"
    " is not below its minimum.",
)
CANARIES, GOLD_NOTES, GOLD_SPANS = "canaries", "canary_gold_notes", "canary_gold_spans"
NOTES, SPANS, FAILED = "canary_notes", "canary_spans", "canary_failed"
RAW_NOTES = "raw_notes"

SCORES = pa.schema(
    [
        pa.field("lang", pa.string(), nullable=False),
        pa.field("label", pa.string(), nullable=False),
        pa.field("spans", pa.int32(), nullable=False),
        pa.field("covered", pa.int32(), nullable=False),
    ]
)
"""One row per language and label with spans; ``ALL`` stands for every language or label."""


@dataclass(frozen=True, slots=True)
class CanaryScores:
    """What was found of the canary patients of a batch.

    Args:
        table: Schema ``SCORES``.
        verdicts: One, where canaries are on.
        metadata: Figures that Dagster plots over the batches.
    """

    table: pa.Table
    verdicts: Sequence[Verdict] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)


def list_written_languages(installation: Installation) -> list[str]:
    """Return the languages of the installation that canary patients' notes are written in."""
    return [lang for lang in installation.settings.languages if lang in languages()]


def plant_canaries(
    batch: str, installation: Installation, taken: Collection[str]
) -> dict[str, pa.Table]:
    """Return the canary patients of a batch as tables; none where the settings ask for none.

    Args:
        batch: Partition.
        installation: The installation.
        taken: Ids of the batch's own notes.

    Raises:
        PluginError: The plugin that writes notes is not installed.
        InputError: A canary has the id of a note.
    """
    count = installation.settings.gates.canaries
    if not count:
        return {}
    make = load_corpus(SYNTHETIC)
    pairs = [
        _disguise(note, spans, batch, installation)
        for lang in list_written_languages(installation)
        for note, spans in make(
            lang=lang, notes=count, seed=installation.key.seed("canaries", batch, lang)
        )
    ]
    if same := {note.note_id for note, _ in pairs}.intersection(taken):
        raise InputError(
            f"{len(same)} canary patients have ids of notes of the batch, which are then from an"
            " earlier output of this installation; leave these notes out"
        )
    gold_notes, gold_spans = spans_to_tables(spans for _, spans in pairs)
    return {
        CANARIES: notes_to_table(note for note, _ in pairs),
        GOLD_NOTES: gold_notes,
        GOLD_SPANS: gold_spans,
    }


def _disguise(
    note: Note, spans: Iterable[Span], batch: str, installation: Installation
) -> tuple[Note, SpanSet]:
    """Return a note under ids that follow from the key, without a word on where it comes from."""

    def name(kind: str, value: str) -> str:
        return installation.key.derive("canary", kind, batch, value).hex()[:20]

    patient = name("patient", f"{note.lang} {note.patient_id}")
    own = Note(name("note", note.note_id), note.text, patient, note.lang)
    return own, SpanSet.of(own, [replace(span, source="gold", native_label="") for span in spans])


def read_canaries(batch: str, installation: Installation) -> list[Note]:
    """Return the notes of the canary patients of a batch; none where it has none."""
    files = installation.files
    if CANARIES not in files.receipt(RAW_NOTES, batch).outputs:
        return []
    return notes_from_table(files.read(RAW_NOTES, batch, CANARIES))


def answers_apart(
    outcomes: Iterable[Outcome], canaries: Sequence[Note]
) -> tuple[list[Outcome], dict[str, pa.Table]]:
    """Return the answers on a batch's own notes, and those on its canary patients as tables."""
    ids = {note.note_id for note in canaries}
    own: list[Outcome] = []
    theirs: list[Outcome] = []
    for outcome in outcomes:
        (theirs if outcome.note_id in ids else own).append(outcome)
    if not canaries:
        return own, {}
    notes, spans = spans_to_tables(one for one in theirs if isinstance(one, SpanSet))
    failed = failed_to_table(one for one in theirs if isinstance(one, Failed))
    return own, {NOTES: notes, SPANS: spans, FAILED: failed}


def score(batch: str, installation: Installation, resolve: Resolve) -> CanaryScores:
    """Resolve and spread what the ensemble found of the canary patients, and score it."""
    if not installation.settings.gates.canaries:
        return CanaryScores(SCORES.empty_table())
    notes = read_canaries(batch, installation)
    predictions = {
        name: _read_outcomes(Family.SPANS.of(name), batch, installation)
        for name in installation.settings.ensemble
    }
    done = Pipeline((resolve, Spread())).run(Batch(notes, predictions=predictions))
    gold = _read_gold(batch, installation) if notes else {}
    scores = _scores(notes, gold, done.spans, installation)
    wanted = installation.settings.gates.canaries * len(list_written_languages(installation))
    missing = max(wanted - len(gold), 0) if wanted else 1
    verdict = _judge_recall(scores, installation, missing=missing, unanswered=len(done.withheld))
    return CanaryScores(_table(scores), [verdict], _figures(scores))


def _scores(
    notes: Sequence[Note],
    gold: Mapping[str, SpanSet],
    found: Mapping[str, DisjointSpans],
    installation: Installation,
) -> dict[str, Evaluation]:
    """Return scores by language, and of all."""
    counted = profile(installation.settings.profile)
    lengths = {note.note_id: len(note.text) for note in notes}
    by_lang: dict[str, list[tuple[SpanSet, SpanSet]]] = {ALL: []}
    for note in notes:
        true = gold[note.note_id]
        pair = true, found.get(note.note_id, SpanSet(note.note_id, true.digest))
        by_lang[ALL].append(pair)
        by_lang.setdefault(note.lang or "", []).append(pair)
    return {
        lang: evaluate_corpus(pairs, profile=counted, lengths=lengths)
        for lang, pairs in by_lang.items()
    }


def _judge_recall(
    scores: Mapping[str, Evaluation], installation: Installation, *, missing: int, unanswered: int
) -> Verdict:
    """Check the lower end of recall, of all, of each label, and of each language.

    What is missing or has no answer does not pass, whatever was found of the rest.
    """
    gates = installation.settings.gates
    floors = dict(gates.canary_recall)
    every = scores[ALL]
    counts = {label: every.counts(label, Scheme.COVERED) for label in every.labels}
    for lang in scores.keys() - {ALL}:
        counts[lang] = scores[lang].micro(Scheme.COVERED)
        floors.setdefault(lang, floors.get(ALL, 0.0))
    large = {name: one for name, one in counts.items() if one.gold >= gates.min_gold_spans}
    large[ALL] = every.micro(Scheme.COVERED)
    found = recall_lower_bound(large, floors, min_gold=1)
    reasons = _reasons(found, missing=missing, unanswered=unanswered)
    return replace(
        found,
        name=CANARY_RECALL.name,
        passed=found.passed and not reasons,
        applicable=True,
        counts={**found.counts, "missing": missing, "unanswered": unanswered},
        description="Share of the canary patients' spans covered, lower end of its 95 % interval.",
        reasons=reasons,
    )


def _reasons(found: Verdict, *, missing: int, unanswered: int) -> list[str]:
    reasons = []
    if missing:
        reasons.append(
            f"{missing:,} notes of canary patients are missing: materialize raw_notes again, and"
            " name in `languages` one that synthetic notes are written in"
        )
    if unanswered:
        reasons.append(f"{unanswered:,} notes of canary patients have no answer of a detector")
    if found.failed:
        reasons.append(
            "too little of what canary patients' notes hold was found: see which detector changed"
            " (`deid canaries`), or ask for more of them with gates.canaries"
        )
    return reasons


def _table(scores: Mapping[str, Evaluation]) -> pa.Table:
    rows = [
        {"lang": lang, "label": label, "spans": one.gold, "covered": one.tp}
        for lang, found in sorted(scores.items())
        for label, one in _counts(found)
        if one.gold
    ]
    return pa.Table.from_pylist(rows, schema=SCORES)


def _counts(found: Evaluation) -> Iterable[tuple[str, Counts]]:
    own = ((label, found.counts(label, Scheme.COVERED)) for label in found.labels)
    return chain([(ALL, found.micro(Scheme.COVERED))], own)


def _figures(scores: Mapping[str, Evaluation]) -> dict[str, Any]:
    """Return recall by language, and by label over all, for Dagster's plots."""
    figures = {}
    for lang, found in sorted(scores.items()):
        for label, one in _counts(found):
            if one.gold and ALL in (lang, label):
                name = label if lang == ALL else lang
                figures[f"canary_recall {name}"] = round(one.tp / one.gold, 4)
    return figures


def _read_gold(batch: str, installation: Installation) -> dict[str, SpanSet]:
    read = installation.files.read
    tables = read(RAW_NOTES, batch, GOLD_NOTES), read(RAW_NOTES, batch, GOLD_SPANS)
    return {spans.note_id: spans for spans in spans_from_tables(*tables)}


def _read_outcomes(asset: str, batch: str, installation: Installation) -> dict[str, Outcome]:
    """Return what a detector answered; nothing where it was not asked."""
    files = installation.files
    if NOTES not in files.receipt(asset, batch).outputs:
        return {}
    found = spans_from_tables(files.read(asset, batch, NOTES), files.read(asset, batch, SPANS))
    return by_note([*found, *failed_from_table(files.read(asset, batch, FAILED))])
