"""training_corpus: what the recipes learn from, each corpus once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import starmap
from pathlib import Path

import pyarrow as pa

from deid_assets.assets.declarations import AssetOutput, Check
from deid_assets.assets.detection import read_notes_of
from deid_assets.assets.display import Markdown
from deid_assets.assets.ingest import GOLD as GOLD_ASSET
from deid_assets.assets.ingest import RAW_NOTES
from deid_assets.assets.judging import judge_notes, note_checks
from deid_assets.assets.merging import read_gold
from deid_assets.assets.repeats import gold_batches
from deid_assets.core.errors import InputError
from deid_assets.core.note import Note
from deid_assets.core.span import DisjointSpans
from deid_assets.core.trainer import Document
from deid_assets.quality import Verdict
from deid_assets.reports.tables import escape_name, table_md
from deid_assets.runtime.installation import Installation
from deid_assets.store.files import ALL, Receipt
from deid_assets.store.frames import (
    notes_from_table,
    notes_to_table,
    spans_from_tables,
    spans_to_tables,
)
from deid_assets.training import Corpus, Materials, Recipe, read_corpus
from deid_assets.training.corpora import GOLD, RECEIVED, disjoint, read_raw

TRAINING_CORPUS = "training_corpus"
CORPORA = pa.schema(
    [
        pa.field("table", pa.string(), nullable=False),
        pa.field("corpus", pa.string(), nullable=False),
        pa.field("labels", pa.string(), nullable=False),
        pa.field("annotated", pa.bool_(), nullable=False),
    ]
)
CORPUS_CHECKS = (
    *note_checks(),
    Check("annotated", "There are spans to learn, of more than one category."),
)

_Key = tuple[str, str, bool]
"""Name of a corpus, its label map, and whether it is annotated."""


def make_training_corpus(
    _batch: str, installation: Installation, *, recipes: Sequence[Recipe]
) -> AssetOutput:
    """Gather the recipes' training sets, each corpus once, so that a model's receipt proves what it
    saw.
    """
    tables: dict[str, pa.Table] = {}
    rows: list[tuple[str, str, str, bool]] = []
    notes: list[Note] = []
    spans: list[DisjointSpans] = []
    sources: list[Receipt] = []
    for number, corpus in enumerate(_list_wanted(recipes)):
        documents, receipts = _gather(corpus, installation)
        sources += receipts
        rows.append((f"corpus_{number}", *corpus))
        found = [document.spans for document in documents]
        tables[f"corpus_{number}"] = notes_to_table([document.note for document in documents])
        tables[f"corpus_{number}_sets"], tables[f"corpus_{number}_spans"] = spans_to_tables(found)
        notes += (_number(number, document.note) for document in documents)
        spans += found
    columns = [list(column) for column in zip(*rows, strict=True)] or [[], [], [], []]
    return AssetOutput(
        tables={"corpora": pa.table(columns, schema=CORPORA), **tables},
        sources=sources,
        verdicts=[*judge_notes(notes), _judge_annotated(spans)],
        counts={"corpora": len(rows), "notes": len(notes), "spans": sum(map(len, spans))},
        metadata={"corpora": Markdown(_corpora_md(rows, tables))},
    )


def _gather(
    corpus: _Key, installation: Installation
) -> tuple[Sequence[Document], Sequence[Receipt]]:
    """Return what a corpus holds, and the receipts of it where it is of this installation.

    Raises:
        InputError: It is of this installation, and there is nothing in it yet.
    """
    name, _, annotated = corpus
    if name == GOLD:
        documents, receipts = _gold(installation, learnt=True)
        if not documents:
            raise InputError(
                "no note of a patient to learn from is annotated; annotate some, or name"
                " another corpus"
            )
        return documents, receipts
    if name == RECEIVED and not annotated:
        return _gather_received(installation)
    (documents,) = installation.detectors.map(_read, [corpus])
    return documents, ()


def _gather_received(installation: Installation) -> tuple[list[Document], list[Receipt]]:
    batches = installation.files.batches(RAW_NOTES)
    received = (
        (at, note)
        for at, batch in enumerate(batches)
        for note in read_notes_of(batch, installation)
    )
    documents = [Document(note, DisjointSpans.of(note, ())) for note in starmap(_number, received)]
    if not documents:
        raise InputError(
            "no note has arrived to learn from; run the job train_taggers when one has"
        )
    return documents, [installation.files.receipt(RAW_NOTES, batch) for batch in batches]


def _read(corpus: _Key) -> list[Document]:
    """Return what a corpus holds, in a worker process: a library that reads files may abort."""
    name, labels, annotated = corpus
    if annotated:
        return list(read_corpus(name, labels=labels).documents)
    return [Document(note, DisjointSpans.of(note, ())) for note in read_raw(name)]


def _judge_annotated(found: Sequence[DisjointSpans]) -> Verdict:
    labels = {span.label for spans in found for span in spans}
    counts = {"spans": sum(map(len, found)), "categories": len(labels)}
    return Verdict(
        "annotated", len(labels) > 1, True, counts, "One category alone is no corpus to redact by."
    )


def _list_wanted(recipes: Sequence[Recipe]) -> list[_Key]:
    named = [(name, recipe.label_map, True) for recipe in recipes for name in recipe.corpora]
    named += [(name, "", False) for recipe in recipes for name in recipe.raw]
    return list(dict.fromkeys(named))


def _number(number: int, note: Note) -> Note:
    """Return the note under an id of its own among all corpora.

    Two may number their notes alike.
    """
    return Note(f"{number}/{note.note_id}"[:200], note.text, note.patient_id, note.lang)


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Gold of patients that no tagger learns from, and the receipts of it."""

    documents: Sequence[Document] = field(default=(), repr=False)
    receipts: Sequence[Receipt] = ()


def read_held_out_gold(installation: Installation, recipe: Recipe) -> HeldOut:
    """Return what people annotated of other patients than those that a recipe with the corpus
    ``gold`` learns from.
    """
    if GOLD not in recipe.corpora:
        return HeldOut()
    documents, receipts = _gold(installation, learnt=False)
    notes = [_number(number, document.note) for number, document in enumerate(documents)]
    spans = [document.spans for document in documents]
    return HeldOut(
        [
            Document(note, DisjointSpans.of(note, found))
            for note, found in zip(notes, spans, strict=True)
        ],
        receipts,
    )


def _gold(installation: Installation, *, learnt: bool) -> tuple[list[Document], list[Receipt]]:
    """Return what people annotated of the patients to learn from, or of the others, and the
    receipts of it.
    """
    documents: list[Document] = []
    receipts: list[Receipt] = []
    for batch in gold_batches(installation):
        gold = read_gold(batch, installation)
        receipts += [
            installation.files.receipt(RAW_NOTES, batch),
            installation.files.receipt(GOLD_ASSET, batch),
        ]
        documents += (
            Document(note, disjoint(note, gold[note.note_id]))
            for note in read_notes_of(batch, installation)
            if note.note_id in gold and installation.is_learnt_from(note) is learnt
        )
    return documents, receipts


def _corpora_md(rows: Sequence[tuple[str, str, str, bool]], tables: Mapping[str, pa.Table]) -> str:
    shown = [
        (
            escape_name(_file_name(name)),
            f"{tables[table].num_rows:,}",
            f"{tables[f'{table}_spans'].num_rows:,}",
        )
        for table, name, _, _ in rows
    ]
    return table_md(["Corpus", "Notes", "Spans"], shown, left=1)


def _file_name(source: str) -> str:
    """Return what a corpus is called where paths are not shown."""
    return Path(source).name if "/" in source else source


def read_materials(installation: Installation, recipe: Recipe) -> Materials:
    """Return a recipe's corpora as they were gathered."""
    files = installation.files
    rows = files.read(TRAINING_CORPUS, ALL, "corpora").to_pylist()
    tables = {(row["corpus"], row["labels"], row["annotated"]): row["table"] for row in rows}

    def documents(key: _Key) -> list[Document]:
        if key not in tables:
            raise InputError(
                f"recipe {recipe.name}: corpus {key[0]} was not gathered; materialize"
                f" {TRAINING_CORPUS}"
            )
        table = tables[key]
        notes = notes_from_table(files.read(TRAINING_CORPUS, ALL, table))
        stored = (files.read(TRAINING_CORPUS, ALL, f"{table}_{part}") for part in ("sets", "spans"))
        found = spans_from_tables(*stored, disjoint=True)
        return [Document(note, spans) for note, spans in zip(notes, found, strict=True)]

    return Materials(
        corpora=[
            Corpus(_file_name(name), tuple(documents((name, recipe.label_map, True))))
            for name in recipe.corpora
        ],
        raw=[document.note for name in recipe.raw for document in documents((name, "", False))],
    )
