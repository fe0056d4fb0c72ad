"""raw_notes and gold_annotations: what arrived, read strictly; what cannot be read is set apart, not lost."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from deid_assets.core.detector import Failed
from deid_assets.core.errors import InputError
from deid_assets.core.label_maps import LABEL_MAPS, label_map
from deid_assets.core.note import Note
from deid_assets.core.phi import LabelMap
from deid_assets.core.span import SpanSet
from deid_assets.defs.audit import Check, Draft
from deid_assets.defs.contracts import judge_notes, judge_spans, note_checks, span_checks
from deid_assets.defs.display import label_counts, show_counts, show_labels
from deid_assets.defs.landing import batch_folder, batch_sources
from deid_assets.defs.records import record_notes
from deid_assets.defs.splitting import is_part, part_files
from deid_assets.formats import Annotated, Fault, read_notes
from deid_assets.formats.drafts import read_drafts
from deid_assets.formats.registry import check_drafts
from deid_assets.languages import language_of
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
    blank: list[Failed] = []
    faults: list[tuple[int, Fault]] = []
    for at, found in read_batch(batch, corpus):
        if isinstance(found, Fault):
            faults.append((at, found))
        elif not found.note.text.strip():
            blank.append(Failed(found.note.note_id, RAW_NOTES, "blank-text"))
        else:
            notes.append(with_language_code(found.note))
    failed = [*blank, *_withheld(faults, taken={note.note_id for note in notes} | {found.note_id for found in blank})]
    settings = corpus.settings
    return Draft(
        tables={
            "notes": notes_to_table(notes),
            "failed": failed_to_table(failed),
            "faults": _faults([fault for _, fault in faults]),
        },
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


def as_gold(spans: SpanSet) -> SpanSet:
    """Return the spans under one source, with the native labels that a label map of ours knows.

    Both fields may hold anything, and the annotations are stored where no text may be.
    """
    known = {native for labels in LABEL_MAPS.values() for native in labels.labels}
    kept = (
        replace(span, source="gold", native_label=span.native_label if span.native_label in known else "")
        for span in spans
    )
    return SpanSet(spans.note_id, spans.digest, tuple(kept))


def _withheld(faults: Sequence[tuple[int, Fault]], *, taken: AbstractSet[str]) -> list[Failed]:
    """Return one entry per note that cannot be used, under its place where its id is missing or another note's."""
    withheld: dict[str, Failed] = {}
    for n, (at, fault) in enumerate(faults, start=1):
        place = f"file-{at}-fault-{n}" if fault.line is None else f"file-{at}-line-{fault.line}"
        is_own = fault.note_id is not None and fault.note_id not in taken and fault.kind != "duplicate-id"
        note_id = fault.note_id if is_own and fault.note_id else place
        withheld.setdefault(note_id, Failed(note_id, RAW_NOTES, fault.kind))
    return list(withheld.values())


def with_language_code(note: Note) -> Note:
    """Return the note with an ISO 639-1 code for its language: what it names, else what its text tells, or none.

    The field may hold anything, and what it holds is shown, catalogued and released.
    """
    code = re.split(r"[-_]", note.lang or "", maxsplit=1)[0].lower()
    if code not in LANGUAGES:
        code = language_of(note.text) or ""
    return replace(note, lang=code if code in LANGUAGES else None)


def make_gold_annotations(batch: str, corpus: Corpus) -> Draft:
    """Keep the annotations that came with the batch, offsets and labels only."""
    raw = corpus.files.receipt(RAW_NOTES, batch)
    notes = notes_from_table(corpus.files.read(RAW_NOTES, batch, "notes"))
    known = {note.note_id for note in notes}
    gold = [
        as_gold(found.spans)
        for _, found in read_batch(batch, corpus)
        if isinstance(found, Annotated) and found.spans is not None and found.note.note_id in known
    ]
    note_table, span_table = spans_to_tables(gold)
    return Draft(
        tables={"spans": span_table, "notes": note_table},
        sources=[raw],
        verdicts=judge_spans(notes, gold, sources=["gold"]),
        counts={"annotated_notes": len(gold), "spans": span_table.num_rows},
        metadata=show_labels(label_counts(gold), title="Gold spans"),
    )


def read_batch(batch: str, corpus: Corpus) -> Iterator[tuple[int, Annotated | Fault]]:
    """Yield what the batch's files hold, each with the number of its file; ids are unique over the batch."""
    labels = label_map(corpus.settings.labels)
    if is_part(batch):
        drafts = read_drafts(part_files(batch_folder(corpus.settings, batch)))
        yield from ((1, found) for found in check_drafts(drafts, labels=labels))
        return
    seen: set[str] = set()
    for at, path in enumerate(batch_sources(corpus.settings, batch), start=1):
        for found in _read_arrival(path, labels):
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
        found = read_notes(path, labels=labels)
    except InputError:
        # The message names the path, and a path of a hospital may name a patient.
        yield Fault.at(path.name, "unknown-format", "not one of the formats that deid reads; convert it")
        return
    yield from found


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
