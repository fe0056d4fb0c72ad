"""``deid bench``: detectors side by side on the user's own notes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from typing import Annotated as Arg

import typer

from deid_assets.extending import PHI, InputError, LabelMap, Note, SpanSet, label_map
from deid_assets.extending import profile as profile_named
from deid_assets.extending.commands import (
    FORMATS,
    PARTIAL,
    DetectorOption,
    DetectorSettingOption,
    Fault,
    JsonOption,
    NoteSource,
    ProfileOption,
    ReadingWithLabels,
    Withheld,
    check_out,
    group_options,
    parse_option,
    print_json,
    print_line,
    print_table,
    progress,
    say,
)

if TYPE_CHECKING:
    from deid_evaluation.bench import ContestantRun
    from deid_evaluation.bench_entries import Bakeoff
    from deid_evaluation.bench_scores import ReferenceSpans

GoldOption = Arg[bool, typer.Option("--gold", help="Score against the annotations in NOTES.")]
OutOption = Arg[
    Path | None, typer.Option(metavar="FOLDER", help="Folder for bench.html and bench.json.")
]
LimitOption = Arg[
    float | None,
    typer.Option("--limit", metavar="SECONDS", help="Stop a detector that takes longer than this."),
]


@dataclass(frozen=True, slots=True)
class Conditions:
    """Options on how detectors are run and scored."""

    option: DetectorSettingOption = None
    profile: ProfileOption = "harmonised"
    limit_s: LimitOption = None


@group_options
def bench(
    notes: Arg[
        Path,
        typer.Argument(
            metavar="NOTES", help="File or folder of notes, with or without annotations."
        ),
    ],
    *,
    detector: DetectorOption,
    gold: GoldOption = False,
    out: OutOption = None,
    conditions: Conditions,
    reading: ReadingWithLabels,
    as_json: JsonOption = False,
) -> int:
    """Run detectors side by side on your notes.

    Each in a process of its own. With --gold they are scored, else compared with each other.
    """
    from deid_evaluation.bakeoff import (  # noqa: PLC0415 - loads what scores and reports are made with
        judge,
        run_all,
    )
    from deid_evaluation.bench import contestants  # noqa: PLC0415

    source = reading.source(notes, annotations=gold)
    if out is not None:
        check_out(out, inputs=[notes], is_folder=True)
    wanted = contestants(detector, _options(conditions.option or []))
    counted = profile_named(conditions.profile)
    chosen = _labels_of(source, reading.labels)
    found = _read(source, chosen if gold else None)
    runs = run_all(
        wanted,
        found.notes,
        limit_s=conditions.limit_s,
        before=lambda name: say(f"running {name} ..."),
    )
    annotated = f"{len(found.gold):,} annotated notes, label map {chosen.name}"
    result = judge(
        runs,
        profile=counted,
        lengths=found.lengths,
        gold=_gold(found, chosen) if gold else None,
        gold_in_words=annotated,
    )
    title = f"{', '.join(one.name for one in wanted)} on {notes.name}"
    _show(result, runs, out, as_json=as_json, title=title)
    return PARTIAL if len(found.withheld) or any(run.fault or run.failed for run in runs) else 0


def _labels_of(source: NoteSource, name: str | None) -> LabelMap:
    """Return the label map that is named, or that of the format."""
    return label_map(name) if name else FORMATS[source.format_name].labels


def _options(settings: Sequence[str]) -> dict[str, dict[str, Any]]:
    options: dict[str, dict[str, Any]] = {}
    for setting in settings:
        owner, key, value = parse_option(setting)
        options.setdefault(owner, {})[key] = value
    return options


def _show(
    found: Bakeoff, runs: Sequence[ContestantRun], out: Path | None, *, as_json: bool, title: str
) -> None:
    from deid_assets.extending.scoring import best_subset_text  # noqa: PLC0415
    from deid_evaluation.bakeoff import conditions, to_json  # noqa: PLC0415
    from deid_evaluation.pages.bench import bench_html  # noqa: PLC0415
    from deid_evaluation.pages.bench_tables import (  # noqa: PLC0415
        agreement_table,
        explain_columns,
        side_by_side,
        tabulate_missing,
    )

    document = to_json(found, runs)
    if out is not None:
        options = {
            run.contestant.name: ", ".join(sorted(run.contestant.options)) or "defaults"
            for run in runs
        }
        provenance = conditions() | {f"options of {name}": names for name, names in options.items()}
        out.mkdir(parents=True, exist_ok=True)
        (out / "bench.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
        (out / "bench.html").write_text(
            bench_html(found, title=title, provenance=provenance), encoding="utf-8"
        )
        say(f"report written to {out / 'bench.html'}")
    if as_json:
        print_json(document)
        return
    headings, rows = side_by_side(found)
    print_table(headings, rows, numbers_from=1)
    print_line(f"\n{explain_columns(found)}")
    for headings, rows in (agreement_table(found.pairs), tabulate_missing(found.missing)):
        if rows:
            print_line("")
            print_table(headings, rows, numbers_from=1)
    if best := best_subset_text(found.coverage):
        print_line(best)


@dataclass(frozen=True, slots=True)
class _Read:
    """The notes of a bake-off."""

    notes: Sequence[Note] = field(repr=False)
    gold: dict[str, SpanSet]
    withheld: Withheld

    @property
    def lengths(self) -> dict[str, int]:
        return {note.note_id: len(note.text) for note in self.notes}


def _read(source: NoteSource, labels: LabelMap | None) -> _Read:
    withheld, notes = Withheld(), []
    gold: dict[str, SpanSet] = {}
    with progress("reading") as advance:
        for found in source.read(labels):
            advance(1)
            if isinstance(found, Fault):
                if found.kind == "unknown-label":
                    raise InputError(f"{found.message}; choose a label map with --labels")
                withheld.fault(found)
                continue
            notes.append(found.note)
            if labels is not None and found.spans is not None:
                gold[found.note.note_id] = found.spans
    if not notes:
        raise InputError(f"{source.path}: no note could be read; nothing was run")
    if labels is not None and not gold:
        raise InputError(
            f"{source.path}: no note is annotated; give notes with spans, or leave --gold out"
        )
    return _Read(notes, gold, withheld)


def _gold(found: _Read, labels: LabelMap) -> ReferenceSpans:
    from deid_evaluation.bench_scores import ReferenceSpans  # noqa: PLC0415 - loads numpy

    patients = {
        note.note_id: note.patient_id for note in found.notes if note.patient_id is not None
    }
    return ReferenceSpans(
        found.gold, found.lengths, None if labels is PHI else labels.categories, patients
    )
