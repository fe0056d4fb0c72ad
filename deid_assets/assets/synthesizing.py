"""synthetic_corpus_<generator>: notes that look like the site's, made by a plugin, behind gates."""

import json
from collections.abc import Callable, Iterator

import pyarrow as pa

from deid_assets.assets.declarations import AssetOutput, Check
from deid_assets.assets.detection import read_notes_of, read_outcomes
from deid_assets.assets.ingest import GOLD, RAW_NOTES
from deid_assets.assets.merging import read_gold
from deid_assets.core.detector import Failed
from deid_assets.core.errors import InputError, PluginError
from deid_assets.core.resolve import Ensemble, resolve
from deid_assets.core.trainer import Document
from deid_assets.pipeline.resolving import MERGED_SPANS
from deid_assets.plugins import Plugin, load_declaration
from deid_assets.quality import Verdict
from deid_assets.runtime.installation import Installation
from deid_assets.store.frames import notes_to_table, spans_to_tables
from deid_assets.training.synthetic import CopyGate, SyntheticCorpus

NOTES = 200
"""Notes of a corpus."""
SEED = 1
CHECKS = (
    Check("all_made", "As many notes as were asked for are left by the filters.", blocking=False),
    Check(
        "ngrams_by_chance",
        "It has no more of the site's runs of words than notes of who never saw them.",
    ),
    Check("no_passage_copied", "It has no long passage of one patient."),
    Check("no_near_copy", "None of its notes is near to a note of a patient."),
)
_REPORT = pa.schema([pa.field("document", pa.large_string(), nullable=False)])


def make_synthetic_corpus(
    _batch: str, installation: Installation, *, plugin: Plugin
) -> AssetOutput:
    """Make notes after those of all batches, read a batch at a time.

    Annotations count where there are any, else what the ensemble found.

    Args:
        installation: Opened.
        plugin: Entry point of the generator.

    Raises:
        InputError: No batch has spans, or too few patients have notes.
        PluginError: What the plugin names makes no corpus.
    """
    batches = sorted(installation.files.batches(MERGED_SPANS))
    if not batches:
        raise InputError(f"{plugin.name}: no batch has {MERGED_SPANS}; run one first")

    def source() -> Iterator[Document]:
        for batch in batches:
            yield from _documents(batch, installation)

    made = _generator(plugin)(source, notes=NOTES, seed=SEED)
    if not isinstance(made, SyntheticCorpus):
        raise PluginError(f"generator {plugin.name!r}: what its function returns is no corpus")
    span_notes, spans = spans_to_tables([one.spans for one in made.documents])
    report = [{"document": json.dumps(made.report, sort_keys=True)}]
    return AssetOutput(
        tables={
            "notes": notes_to_table([one.note for one in made.documents]),
            "span_notes": span_notes,
            "spans": spans,
            "report": pa.Table.from_pylist(report, _REPORT),
        },
        sources=[
            installation.files.receipt(asset, batch)
            for batch in batches
            for asset in (RAW_NOTES, GOLD, MERGED_SPANS)
        ],
        verdicts=_verdicts(made),
        counts={"notes": len(made.documents), "batches": len(batches), **made.counts},
        metadata={
            "ngrams": made.ngrams.said,
            "passages": made.passages.said,
            "nearest_notes": made.near.said,
        },
    )


def _generator(plugin: Plugin) -> Callable[..., object]:
    make = load_declaration(plugin, "generator")
    if not callable(make):
        raise PluginError(f"generator {plugin.name!r}: what its plugin names is no function")
    return make


def _documents(batch: str, installation: Installation) -> Iterator[Document]:
    """Yield the notes of a batch with their spans; those that are withheld are left out."""
    gold = read_gold(batch, installation)
    outcomes = read_outcomes(MERGED_SPANS, batch, installation)
    for note in read_notes_of(batch, installation):
        found = gold.get(note.note_id, outcomes.get(note.note_id))
        if found is not None and not isinstance(found, Failed):
            yield Document(note, resolve(note, [found], ensemble=Ensemble.of_equals(found)))


def _verdicts(made: SyntheticCorpus) -> list[Verdict]:
    missing = made.asked_for - len(made.documents)
    return [
        Verdict("all_made", passed=not missing, blocking=False, counts={"missing": missing}),
        _gate("ngrams_by_chance", made.ngrams),
        _gate("no_passage_copied", made.passages),
        _gate("no_near_copy", made.near),
    ]


def _gate(name: str, gate: CopyGate) -> Verdict:
    return Verdict(name, passed=gate.holds, blocking=True, description=gate.said)
