"""raw_notes and gold_annotations: what arrived, read strictly.

What cannot be read is set apart, not lost.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import partial

import pyarrow as pa

from deid_assets.assets.canaries import plant_canaries
from deid_assets.assets.declarations import AssetOutput, Check
from deid_assets.assets.display import (
    label_counts,
    show_arrival,
    show_counts,
    show_labels,
    show_lines,
)
from deid_assets.assets.judging import judge_notes, judge_spans, note_checks, span_checks
from deid_assets.assets.records import record_notes
from deid_assets.core.detector import Failed
from deid_assets.core.errors import ConfigError, InputError
from deid_assets.core.label_maps import LABEL_MAPS
from deid_assets.core.note import Note
from deid_assets.core.span import SpanSet
from deid_assets.formats import Annotated, Fault
from deid_assets.formats.options import IGNORED
from deid_assets.intake.arrivals import Arrival, check_arrival
from deid_assets.intake.reader import (
    ReadItem,
    landing_folder,
    languages_word,
    read_whole,
    source_of,
    summarize,
)
from deid_assets.intake.reading import ReadingPlan, how_to_read
from deid_assets.languages import CODES, language_of
from deid_assets.quality import Verdict, check_share
from deid_assets.quality.duplicates import near_duplicate_share
from deid_assets.runtime.installation import Installation
from deid_assets.store.frames import (
    failed_to_table,
    notes_from_table,
    notes_to_table,
    spans_to_tables,
)
from deid_assets.store.withdrawals import Withdrawals

RAW_NOTES = "raw_notes"
GOLD = "gold_annotations"
REASONS = ("note_id", "error", "place", "remedy")
BLANK = "the note has no text; remove it or export it again"

Withheld = tuple[str, str, str, str]
"""One of ``REASONS`` each: note id or place, kind of fault, place, and fault with remedy."""

RAW_NOTES_CHECKS = (
    *note_checks(),
    Check("languages_known", "Every note has one of the configured languages.", blocking=False),
    Check("near_duplicates", "Few notes are near-duplicates of another."),
    Check("readable", "Enough of what arrived could be read, and there is a note."),
)
GOLD_CHECKS = tuple(span_checks())


def make_raw_notes(batch: str, installation: Installation) -> AssetOutput:
    """Read a batch's files into notes, and list what could not be read."""
    settings, files = installation.settings, installation.files
    if Withdrawals(files).is_withdrawn(batch):
        raise InputError(
            f"batch {batch} was withdrawn; `deid batches retry {batch}` brings it back"
        )
    arrival, how = _arrival_of(batch, installation)
    entries, ignored = _read(batch, installation)
    notes, faults = _sort_out(entries, lang=how.lang)
    withheld = _list_withheld(faults, taken={note.note_id for note in notes})
    failed = [Failed(note_id, RAW_NOTES, kind) for note_id, kind, _, _ in withheld]
    languages = Counter(note.lang or "unknown" for note in notes)
    reasons = summarize((kind, place, reason) for _, kind, place, reason in withheld)
    return AssetOutput(
        tables={
            "notes": notes_to_table(notes),
            "failed": failed_to_table(failed),
            "reasons": reasons_table(withheld),
            "faults": _faults([found.what for found in faults if isinstance(found.what, Fault)]),
            "ignored": _tabulate_ignored(ignored),
            **plant_canaries(batch, installation, {note.note_id for note in notes}),
        },
        sources=[arrival.receipt],
        verdicts=[
            *judge_notes(notes),
            _languages_known(notes, settings.languages),
            near_duplicate_share(notes, limit=settings.gates.near_duplicates),
            _readable(len(notes), len(failed), settings.gates.quarantined, reasons),
        ],
        counts={
            "notes": len(notes),
            "withheld": len(failed),
            "patients": len({note.patient_id for note in notes if note.patient_id}),
            "characters": sum(len(note.text) for note in notes),
            "ignored_files": len(ignored),
            "languages": languages_word(languages),
            "sender": how.sender,
        },
        metadata={
            **show_arrival(arrival),
            "languages": show_counts(languages),
            "faults": show_counts(Counter(failure.error for failure in failed)),
            "reasons": show_lines(reasons),
            "ignored": show_counts(Counter(_show_rule(rule) for _, rule in ignored), of="Files"),
        },
        publish=lambda _: record_notes(installation, batch, notes),
    )


def _show_rule(rule: str) -> str:
    """Return the rule by which a file is ignored.

    A pattern that a sender may have written is not quoted.
    """
    return (
        rule if rule in IGNORED or rule.startswith("a file of ") else "a pattern of [read] ignore"
    )


def _read(batch: str, installation: Installation) -> tuple[list[ReadItem], list[tuple[str, str]]]:
    """Return what a batch's files hold and what was passed over, read in a worker process."""
    (read,) = installation.detectors.map(
        partial(read_whole, settings=installation.settings), [batch]
    )
    return read


def _arrival_of(batch: str, installation: Installation) -> tuple[Arrival, ReadingPlan]:
    """Return what arrived, checked, and what is said of all of it: language and sender."""
    arrival = check_arrival(
        installation.files, batch, landing=landing_folder(installation.settings, batch)
    )
    source = source_of(installation.settings, batch)
    try:
        return arrival, how_to_read(
            installation.settings, arrival.overrides, source if source and source.is_dir() else None
        )
    except ConfigError:  # of its batch.toml; reading gives it as the fault of every file
        return arrival, how_to_read(installation.settings, arrival.overrides)


def _sort_out(
    entries: Iterable[ReadItem], *, lang: str | None
) -> tuple[list[Note], list[ReadItem]]:
    """Return notes with a language code, and what is to be withheld.

    Faults, and notes without text.
    """
    notes: list[Note] = []
    faults: list[ReadItem] = []
    for found in entries:
        if isinstance(found.what, Fault):
            faults.append(found)
        elif not found.what.note.text.strip():
            note_id = found.what.note.note_id
            faults.append(
                ReadItem(
                    "", Fault(file="", line=None, note_id=note_id, kind="blank-text", message=BLANK)
                )
            )
        else:
            notes.append(set_language_code(found.what.note, lang, body=found.what.body))
    return notes, faults


def make_gold(spans: SpanSet) -> SpanSet:
    """Return the spans under one source, with the native labels that a label map of ours knows.

    Both fields may hold anything, and the annotations are stored where no text may be.
    """
    known = {native for labels in LABEL_MAPS.values() for native in labels.labels}
    kept = (
        replace(
            span,
            source="gold",
            native_label=span.native_label if span.native_label in known else "",
        )
        for span in spans
    )
    return SpanSet(spans.note_id, spans.digest, tuple(kept))


def _list_withheld(faults: Sequence[ReadItem], *, taken: AbstractSet[str]) -> list[Withheld]:
    """Return one entry per note that cannot be used, under its place where its id is missing or
    another note's.
    """
    withheld: dict[str, Withheld] = {}
    for n, found in enumerate(faults, start=1):
        fault = found.what
        if not isinstance(fault, Fault):
            continue
        is_own = (
            fault.note_id is not None
            and fault.note_id not in taken
            and fault.kind != "duplicate-id"
        )
        place = (
            found.place if fault.line is not None or not found.place else f"{found.place}-fault-{n}"
        )
        note_id = fault.note_id if is_own and fault.note_id else place
        withheld.setdefault(note_id, (note_id, fault.kind, found.place, found.reason))
    return list(withheld.values())


def set_language_code(note: Note, lang: str | None = None, *, body: str | None = None) -> Note:
    """Return the note with an ISO 639-1 code for its language.

    What it names, else ``lang``, else what its body tells.

    The field may hold anything, and what it holds is shown, catalogued and released.
    """
    code = re.split(r"[-_]", note.lang or "", maxsplit=1)[0].lower()
    if code not in CODES:
        code = lang or language_of(note.text if body is None else body) or ""
    return replace(note, lang=code if code in CODES else None)


def make_gold_annotations(batch: str, installation: Installation) -> AssetOutput:
    """Keep the annotations that came with the batch, offsets and labels only."""
    raw = installation.files.receipt(RAW_NOTES, batch)
    notes = notes_from_table(installation.files.read(RAW_NOTES, batch, "notes"))
    known = {note.note_id for note in notes}
    gold = [
        make_gold(found.what.spans)
        for found in _read(batch, installation)[0]
        if isinstance(found.what, Annotated)
        and found.what.spans is not None
        and found.what.note.note_id in known
    ]
    note_table, span_table = spans_to_tables(gold)
    return AssetOutput(
        tables={"spans": span_table, "notes": note_table},
        sources=[raw],
        verdicts=judge_spans(notes, gold, sources=["gold"]),
        counts={"annotated_notes": len(gold), "spans": span_table.num_rows},
        metadata=show_labels(label_counts(gold), title="Annotated spans"),
    )


def _readable(kept: int, withheld: int, limit: float, reasons: Sequence[str]) -> Verdict:
    told = "What could not be read goes to quarantine."
    verdict = check_share("readable", told, part=withheld, whole=kept + withheld, limit=limit)
    if not kept + withheld:
        reasons = [
            "no-notes: nothing that arrived is a note; `deid batches show` names what was ignored"
        ]
    # Nothing of nothing is within any share; a batch without a note is a mistake somewhere before,
    # and fails.
    passed = kept > 0 and verdict.passed
    return replace(verdict, passed=passed, applicable=True, description=told, reasons=reasons)


def _languages_known(notes: Sequence[Note], languages: Sequence[str]) -> Verdict:
    unknown = sum(note.lang not in languages for note in notes)
    return Verdict(
        "languages_known",
        passed=not unknown,
        blocking=False,
        counts={"notes": len(notes), "unknown": unknown},
        description="Notes in other languages are read by the rules that need no language.",
    ).unless(not notes, "no notes")


def _faults(faults: Sequence[Fault]) -> pa.Table:
    """Return the faults with their messages, which name files.

    The table stays in the restricted zone.
    """
    columns = {
        "file": pa.string(),
        "line": pa.int64(),
        "note_id": pa.string(),
        "kind": pa.string(),
        "message": pa.string(),
    }
    return pa.table(
        {
            name: pa.array([getattr(fault, name) for fault in faults], kind)
            for name, kind in columns.items()
        }
    )


def reasons_table(withheld: Iterable[Withheld]) -> pa.Table:
    """Return place, fault and remedy of each note that could not be read.

    No text and no names of files.
    """
    rows = list(withheld)
    return pa.table({name: _strings(row[at] for row in rows) for at, name in enumerate(REASONS)})


def _tabulate_ignored(ignored: Sequence[tuple[str, str]]) -> pa.Table:
    """Return the files that were passed over, each with the rule by which it was."""
    return pa.table(
        {
            "file": _strings(name for name, _ in ignored),
            "rule": _strings(rule for _, rule in ignored),
        }
    )


def _strings(values: Iterable[str]) -> pa.Array:
    return pa.array(list(values), pa.string())
