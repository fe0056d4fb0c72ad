"""``deid audit-gold``: where systems agree against the annotators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from deid_annotation.annotators import NoteReading, of_source
from deid_annotation.lists import check_list, write_list
from deid_assets.extending import DeidError, InputError, Profile, SpanSet, profile
from deid_assets.extending.commands import PARTIAL, Withheld, print_json, print_table, say
from deid_assets.extending.scoring import pair
from deid_evaluation.commands.inputs import NamedFile, ReferenceNotes, check_names, read_systems
from deid_evaluation.gold_review import AnnotationDoubt, doubts, quorum
from deid_evaluation.report.gold import doubt_json

_SHOWN = 20
_COLUMNS = ("note", "start", "end", "label", "gold_label", "systems", "score")


def audit_files(
    gold_path: Path,
    preds: Sequence[str],
    *,
    reading: NoteReading,
    sources: Sequence[str],
    agreeing: int | None,
    out: Path | None,
    profile_name: str,
    as_json: bool,
) -> int:
    """List places where systems agree against the gold; the exit code.

    Args:
        gold_path: Annotated notes.
        preds: ``FILE[=NAME]``; a spans file of several detectors is that many systems.
        reading: How notes are read.
        sources: Detectors of the files that count; all when empty.
        agreeing: How many must agree; more than half, and at least two, where not given.
        out: List to write.
        profile_name: Labels to compare under.
        as_json: Print JSON.

    Raises:
        ConfigError: There are too few systems.
        InputError: Gold and predictions are not of the same notes.
    """
    check_list(out)
    withheld, chosen = Withheld(), profile(profile_name)
    gold = reading.gold(gold_path, withheld)
    systems = _systems([NamedFile.parse(pred) for pred in preds], gold, sources)
    needed = quorum(len(systems), agreeing)
    rows = [doubt_json(doubt) for doubt in _doubts(gold, systems, chosen, needed)]
    rows.sort(key=lambda row: (-len(row["systems"]), -row["score"], row["note"], row["start"]))
    if out is not None:
        write_list(out, rows, columns=_COLUMNS)
    if as_json:
        print_json(
            {"systems": list(systems), "agreeing": needed, "notes": len(gold.spans), "places": rows}
        )
    else:
        _show(rows, needed, len(systems))
    return PARTIAL if len(withheld) else 0


def _systems(
    preds: Sequence[NamedFile], gold: ReferenceNotes, sources: Sequence[str]
) -> dict[str, Mapping[str, SpanSet]]:
    """Return every detector of every file as a system of its own."""
    check_names(preds)
    found: dict[str, Mapping[str, SpanSet]] = {}
    for pred in preds:
        is_alone = len(preds) == 1
        for whole in read_systems(pred, gold, sources=(), is_alone=is_alone, is_sample=False):
            present = sorted({span.source for spans in whole.spans.values() for span in spans})
            if len(present) < 2:
                found[whole.name] = whole.spans
                continue
            if absent := sorted(set(sources) - set(present)):
                raise InputError(
                    f"{pred.path}: no span is from {', '.join(absent)}; it has {', '.join(present)}"
                )
            for source in sources or present:
                name = source if is_alone else f"{pred.shown}: {source}"
                found[name] = of_source(whole.spans, source)
    return found


def _doubts(
    gold: ReferenceNotes, systems: Mapping[str, Mapping[str, SpanSet]], chosen: Profile, needed: int
) -> list[AnnotationDoubt]:
    for name, spans in systems.items():
        try:
            for _ in pair(gold.spans.values(), spans.values()):
                pass
        except DeidError as error:
            raise InputError(f"{name}: {error}") from error
    found: list[AnnotationDoubt] = []
    for note_id, of_note in gold.spans.items():
        by_system = {name: spans[note_id] for name, spans in systems.items()}
        found += doubts(of_note, by_system, profile=chosen, scope=gold.scope, agreeing=needed)
    return found


def _show(rows: Sequence[Mapping[str, Any]], needed: int, systems: int) -> None:
    omitted = Counter(row["label"] for row in rows if row["gold_label"] is None)
    relabelled = Counter(row["label"] for row in rows if row["gold_label"] is not None)
    if rows:
        counts = [
            [name, f"{omitted[name]:,}", f"{relabelled[name]:,}"]
            for name in sorted({*omitted, *relabelled})
        ]
        print_table(("label", "not annotated", "annotated otherwise"), counts, numbers_from=1)
        print_table(
            ("note", "place", "label", "annotated", "systems", "score"),
            [
                [
                    row["note"],
                    f"{row['start']}-{row['end']}",
                    row["label"],
                    row["gold_label"] or "no",
                    ", ".join(row["systems"]),
                    f"{row['score']:.2f}",
                ]
                for row in rows[:_SHOWN]
            ],
        )
    more = f"; {_SHOWN} are shown, --out FILE lists all" if len(rows) > _SHOWN else ""
    say(
        f"{len(rows):,} places where at least {needed} of {systems} systems agree against the"
        f" annotations{more}"
    )
