"""``deid corrections``: what a correction of the gold changed, and what that does to scores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from deid_annotation.annotators import NoteReading
from deid_annotation.gold_changes import ChangeKind, SpanChange, corrections
from deid_annotation.lists import check_list, write_list
from deid_assets.extending import DeidError, InputError, Profile, profile
from deid_assets.extending.commands import PARTIAL, Withheld, print_json, print_table, say
from deid_assets.extending.scoring import (
    UNDEFINED,
    Evaluation,
    Scheme,
    evaluate_corpus,
    pair,
    ratio,
)
from deid_evaluation.commands.inputs import NamedFile, ReferenceNotes, check_names, read_systems
from deid_evaluation.report import System

_COLUMNS = (
    "note",
    "kind",
    "before_start",
    "before_end",
    "before_label",
    "after_start",
    "after_end",
    "after_label",
)
_MEASURES = (
    ("covered", Scheme.COVERED, "recall"),
    ("strict_precision", Scheme.STRICT, "precision"),
    ("strict_recall", Scheme.STRICT, "recall"),
    ("strict_f1", Scheme.STRICT, "f1"),
)


def correct_files(
    original: Path,
    corrected: Path,
    *,
    reading: NoteReading,
    preds: Sequence[str],
    out: Path | None,
    profile_name: str,
    as_json: bool,
) -> int:
    """Print what changed between two golds, and the scores on both; the exit code.

    Args:
        original: Annotated notes as they were.
        corrected: The same notes, corrected.
        reading: How notes are read.
        preds: ``FILE[=NAME]``: spans files to score.
        out: List of changes to write.
        profile_name: Labels to compare and score under.
        as_json: Print JSON.

    Raises:
        InputError: The two are not of the same notes, or a spans file does not fit.
        DigestError: A note has another text.
    """
    check_list(out)
    withheld, chosen = Withheld(), profile(profile_name)
    before, after = reading.gold(original, withheld), reading.gold(corrected, withheld)
    changes = list(corrections(before.spans, after.spans, profile=chosen))
    named = [NamedFile.parse(pred) for pred in preds]
    check_names(named)
    scores: dict[str, dict[str, dict[str, float | None]]] = {}
    for pred in named:
        is_alone = len(named) == 1
        for system in read_systems(pred, before, sources=(), is_alone=is_alone, is_sample=False):
            scores[system.name] = {
                "before": _score(before, system, chosen, pred.path),
                "after": _score(after, system, chosen, pred.path),
            }
    rows = [_row(change) for change in changes]
    if out is not None:
        write_list(out, rows, columns=_COLUMNS)
    if as_json:
        print_json(
            {"profile": chosen.name, "notes": len(before.spans), "changes": rows, "scores": scores}
        )
    else:
        _show(changes, scores)
    return PARTIAL if len(withheld) else 0


def _score(
    gold: ReferenceNotes, system: System, chosen: Profile, path: Path
) -> dict[str, float | None]:
    lengths = {note_id: len(note.text) for note_id, note in gold.notes.items()}
    try:
        pairs = pair(gold.spans.values(), system.spans.values())
        found: Evaluation = evaluate_corpus(
            pairs, profile=chosen, scope=gold.scope, lengths=lengths
        )
    except DeidError as error:
        raise InputError(f"{path}: {error}") from error
    return {name: getattr(found.micro(scheme), of) for name, scheme, of in _MEASURES}


def _row(change: SpanChange) -> dict[str, Any]:
    row: dict[str, Any] = {"note": change.note_id, "kind": str(change.kind)}
    for side, place in (("before", change.before), ("after", change.after)):
        if place is not None:
            row |= {f"{side}_start": place[0], f"{side}_end": place[1], f"{side}_label": place[2]}
    return row


def _show(
    changes: Sequence[SpanChange], scores: Mapping[str, Mapping[str, Mapping[str, float | None]]]
) -> None:
    table: Counter[tuple[str, ChangeKind]] = Counter()
    for change in changes:
        table[(change.after or change.before or (0, 0, ""))[2], change.kind] += 1
    kinds = list(ChangeKind)
    labels = sorted({label for label, _ in table})
    rows = [[label, *(f"{table[label, kind]:,}" for kind in kinds)] for label in labels]
    if rows:
        print_table(("label", *map(str, kinds)), rows, numbers_from=1)
    measures = [name for name, _, _ in _MEASURES]
    for name, sides in scores.items():
        lines = [
            [side, *(ratio(values[measure]) for measure in measures)]
            for side, values in sides.items()
        ]
        lines.append(
            ["change", *(_change(sides["before"][one], sides["after"][one]) for one in measures)]
        )
        print_table(
            (name, *(measure.replace("_", " ") for measure in measures)), lines, numbers_from=1
        )
    notes = len({change.note_id for change in changes})
    say(f"{len(changes):,} spans changed in {notes:,} notes")


def _change(before: float | None, after: float | None) -> str:
    return UNDEFINED if before is None or after is None else f"{after - before:+.3f}"
