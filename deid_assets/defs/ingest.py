"""raw_notes and gold_annotations: what arrived, read strictly; what cannot be read is set apart, not lost."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from deid_assets.core.detector import Failed
from deid_assets.core.errors import InputError
from deid_assets.core.label_maps import label_map
from deid_assets.core.note import Note
from deid_assets.core.phi import LabelMap
from deid_assets.defs.audit import Check, Draft
from deid_assets.defs.contracts import judge_notes, judge_spans, note_checks, span_checks
from deid_assets.defs.display import label_counts, show_counts, show_labels
from deid_assets.defs.landing import batch_sources
from deid_assets.defs.records import record_notes
from deid_assets.formats import Annotated, Fault, read_notes
from deid_assets.quality import Verdict, within_share
from deid_assets.quality.contracts import LANGUAGES
from deid_assets.quality.duplicates import near_duplicate_share
from deid_assets.store.frames import failed_to_table, notes_from_table, notes_to_table, spans_to_tables
from deid_resources.corpus import Corpus

RAW_NOTES = "raw_notes"
GOLD = "gold_annotations"

RAW_NOTES_CHECKS = (
    *note_checks(),
    Check("languages_known", "Every note has one of the configured languages.", blocking=False),
    Check("near_duplicates", "Few notes nearly repeat another."),
    Check("readable", "Enough of what arrived could be read, and there is a note."),
)
GOLD_CHECKS = tuple(span_checks())


def make_raw_notes(batch: str, corpus: Corpus) -> Draft:
    """Read a batch's files into notes, and list what could not be read."""
    notes: list[Note] = []
    failed: list[Failed] = []
    faults: list[Fault] = []
    for at, found in _read(batch, corpus):
        if isinstance(found, Fault):
            faults.append(found)
            failed.append(Failed(found.note_id or f"file-{at}-line-{found.line or 0}", RAW_NOTES, found.kind))
        elif not found.note.text.strip():
            failed.append(Failed(found.note.note_id, RAW_NOTES, "blank-text"))
        else:
            notes.append(with_language_code(found.note))
    settings = corpus.settings
    return Draft(
        tables={"notes": notes_to_table(notes), "failed": failed_to_table(failed), "faults": _faults(faults)},
        sources=[],
        verdicts=[
            *judge_notes(notes),
            _languages_known(notes, settings.languages),
            near_duplicate_share(notes, limit=settings.gates.near_duplicates, blocking=True),
            _readable(len(notes), len(failed), settings.gates.quarantined),
        ],
        counts={
            "notes": len(notes),
            "withheld": len(failed),
            "patients": len({note.patient_id for note in notes if note.patient_id}),
            "characters": sum(len(note.text) for note in notes),
        },
        metadata={
            "languages": show_counts(Counter(note.lang or "unknown" for note in notes)),
            "faults": show_counts(Counter(failure.error for failure in failed)),
        },
        publish=lambda _: record_notes(corpus, batch, notes),
    )


def with_language_code(note: Note) -> Note:
    """Return the note with an ISO 639-1 code for its language, or with none.

    The field may hold anything, and what it holds is shown, catalogued and released.
    """
    if note.lang is None:
        return note
    code = re.split(r"[-_]", note.lang, maxsplit=1)[0].lower()
    return replace(note, lang=code if code in LANGUAGES else None)


def make_gold_annotations(batch: str, corpus: Corpus) -> Draft:
    """Keep the annotations that came with the batch, offsets and labels only."""
    raw = corpus.files.receipt(RAW_NOTES, batch)
    notes = notes_from_table(corpus.files.read(RAW_NOTES, batch, "notes"))
    known = {note.note_id for note in notes}
    gold = [
        found.spans
        for _, found in _read(batch, corpus)
        if isinstance(found, Annotated) and found.spans is not None and found.note.note_id in known
    ]
    note_table, span_table = spans_to_tables(gold)
    return Draft(
        tables={"spans": span_table, "notes": note_table},
        sources=[raw],
        verdicts=judge_spans(notes, gold, sources=sorted({span.source for spans in gold for span in spans})),
        counts={"annotated_notes": len(gold), "spans": span_table.num_rows},
        metadata=show_labels(label_counts(gold), title="Gold spans"),
    )


def _read(batch: str, corpus: Corpus) -> Iterator[tuple[int, Annotated | Fault]]:
    """Yield what the batch's files hold, each with the number of its file; ids are unique over the batch."""
    seen: set[str] = set()
    for at, path in enumerate(batch_sources(corpus.settings, batch), start=1):
        for found in _read_arrival(path, label_map(corpus.settings.labels)):
            if isinstance(found, Annotated) and found.note.note_id in seen:
                reason = "the note id appears in an earlier file of the batch; give each note its own id"
                yield at, Fault.at(path.name, "duplicate-id", reason, note_id=found.note.note_id)
                continue
            if isinstance(found, Annotated):
                seen.add(found.note.note_id)
            yield at, found


def _read_arrival(path: Path, labels: LabelMap) -> Iterator[Annotated | Fault]:
    """Yield what a file or folder holds; one that is of no known format is one fault."""
    try:
        yield from read_notes(path, labels=labels)
    except InputError:
        # The message names the path, and a path of a hospital may name a patient.
        yield Fault.at(path.name, "unknown-format", "not one of the formats that deid reads; convert it")


def _readable(kept: int, withheld: int, limit: float) -> Verdict:
    verdict = within_share(
        "readable", "What could not be read goes to quarantine.", part=withheld, whole=kept + withheld, limit=limit
    )
    # Nothing of nothing is within any share; a batch without a note is a mistake somewhere before.
    return replace(verdict, passed=verdict.passed and kept > 0)


def _languages_known(notes: Sequence[Note], languages: Sequence[str]) -> Verdict:
    unknown = sum(note.lang not in languages for note in notes)
    return Verdict(
        "languages_known",
        passed=not unknown,
        blocking=False,
        counts={"notes": len(notes), "unknown": unknown},
        description="Notes in other languages are read by the rules that need no language.",
    )


def _faults(faults: Sequence[Fault]) -> pa.Table:
    """Return the faults with their messages, which name files; the table stays in the restricted zone."""
    columns = {
        "file": pa.string(),
        "line": pa.int64(),
        "note_id": pa.string(),
        "kind": pa.string(),
        "message": pa.string(),
    }
    return pa.table(
        {name: pa.array([getattr(fault, name) for fault in faults], kind) for name, kind in columns.items()}
    )
