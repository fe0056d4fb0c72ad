"""``deid diff`` and ``deid why``.

What changed between two releases, and why a range was redacted.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated as Arg
from typing import Any

import typer

from deid_assets.extending import InputError, Note, Span, SpanSet
from deid_assets.extending.commands import (
    Fault,
    FileReading,
    JsonOption,
    NoteSource,
    SpansFile,
    check_out,
    group_options,
    print_json,
    print_table,
    say,
)
from deid_assets.extending.edits import (
    Change,
    Ensemble,
    Policy,
    compare,
    load_policy,
    read_edits,
    resolve,
)
from deid_assets.extending.files import atomic_file


def diff(
    old: Arg[
        Path,
        typer.Argument(
            metavar="OLD", help="Edit maps of one redaction, as deid redact --edits writes them."
        ),
    ],
    new: Arg[Path, typer.Argument(metavar="NEW", help="Edit maps of the other.")],
    *,
    out: Arg[
        Path | None, typer.Option(metavar="FOLDER", help="Folder for diff.html and diff.json.")
    ] = None,
    as_json: JsonOption = False,
) -> int:
    """Compare two redactions of the same notes.

    Replacements gained, lost, relabelled, moved and rewritten, per category and note, and what is
    responsible.
    """
    if out is not None:
        check_out(out, inputs=[old, new], is_folder=True)
    document = compare(read_edits(old), read_edits(new)).to_json()
    if out is not None:
        _write(out, document, old, new)
    if as_json:
        print_json(document)
        return 0
    _show(document)
    if out is not None:
        say(f"written to {out / 'diff.html'} and {out / 'diff.json'}")
    return 0


@group_options
def why(
    notes: Arg[Path, typer.Argument(metavar="NOTES", help="The original notes.")],
    *,
    note: Arg[str, typer.Option(metavar="ID", help="Id of the note.")],
    at: Arg[int, typer.Option(metavar="OFFSET", min=0, help="A code point of its text, from 0.")],
    spans: Arg[
        Path,
        typer.Option(
            metavar="FILE", help="Spans with every prediction, as deid detect writes them."
        ),
    ],
    resolve_by: Arg[
        str, typer.Option("--resolve", metavar="POLICY", help="Overlap policy that was used.")
    ] = "union",
    policy: Arg[
        str | None,
        typer.Option(metavar="NAME|FILE", help="Redaction policy, to show its action there."),
    ] = None,
    reading: FileReading,
    as_json: JsonOption = False,
) -> int:
    """Say why a place was redacted, or why not.

    Which detectors marked it, as what and by which rule, what the overlap policy makes of them, and
    what the policy does with it. No text is shown.
    """
    found = _note(reading.source(notes), note)
    if at >= len(found.text):
        raise InputError(
            f"--at {at} is outside note {note!r}, which has {len(found.text)} characters"
        )
    predictions = SpansFile(spans).take(note)
    if predictions is None:
        raise InputError(f"{spans}: does not know note {note!r}; nothing was looked for there")
    answer = _answer(
        found,
        predictions.check_against(found),
        at,
        resolve_by,
        None if policy is None else load_policy(policy),
    )
    if as_json:
        print_json(answer)
    else:
        _tell(answer)
    return 0


def _note(source: NoteSource, note_id: str) -> Note:
    for found in source.read():
        if not isinstance(found, Fault) and found.note.note_id == note_id:
            return found.note
    raise InputError(f"{source.path}: no note {note_id!r} could be read; check the id")


def _answer(
    note: Note, predictions: SpanSet, at: int, resolve_by: str, policy: Policy | None
) -> dict[str, Any]:
    yielding = policy.may_leave if policy else frozenset()
    ensemble = Ensemble.of_equals(predictions, yielding=yielding)
    resolved = resolve(note, [predictions], policy=resolve_by, ensemble=ensemble)
    final = next((span for span in resolved if span.start <= at < span.end), None)
    return {
        "note": note.note_id,
        "at": at,
        "predictions": [_show_span(span) for span in predictions if span.start <= at < span.end],
        "resolve": resolve_by,
        "span": _show_span(final) if final else None,
        "joined": [_show_span(span) for span in predictions if final and span.overlaps(final)],
        "policy": policy.name if policy else None,
        "action": _action(policy, final),
    }


def _action(policy: Policy | None, span: Span | None) -> str | None:
    if policy is None or span is None:
        return None
    replacer = policy.action(span.label)
    return "kept" if replacer is None else type(replacer).__name__


def _show_span(span: Span) -> dict[str, Any]:
    return {
        "source": span.source,
        "start": span.start,
        "end": span.end,
        "label": span.label.value,
        "score": span.score,
        "native_label": span.native_label,
    }


def _tell(answer: dict[str, Any]) -> None:
    rows = [_row(span) for span in answer["joined"] or answer["predictions"]]
    if rows:
        print_table(
            ("Detector", "Category", "Rule or own label", "From", "To", "Score"),
            rows,
            numbers_from=3,
        )
    span, where = answer["span"], f"note {answer['note']!r} at {answer['at']}"
    if not answer["predictions"]:
        typer.echo(f"{where}: no detector marked it")
    if span is None:
        typer.echo(f"{where}: not redacted by overlap policy {answer['resolve']!r}")
        return
    typer.echo(
        f"{where}: {answer['resolve']} makes it {span['label']} [{span['start']}, {span['end']}), "
        f"named by {span['source']}"
    )
    if answer["policy"]:
        typer.echo(f"policy {answer['policy']!r}: {answer['action']}")


def _row(span: dict[str, Any]) -> list[str]:
    own = span["native_label"] or "-"
    return [
        span["source"],
        span["label"],
        own,
        str(span["start"]),
        str(span["end"]),
        f"{span['score']:.3f}",
    ]


def _write(out: Path, document: dict[str, Any], old: Path, new: Path) -> None:
    from deid_assets.extending.pages import release_diff_html  # noqa: PLC0415 - loads Jinja

    page = release_diff_html(document, title="Two redactions", old=old.name, new=new.name)
    for name, content in (
        ("diff.html", page),
        ("diff.json", json.dumps(document, indent=1) + "\n"),
    ):
        with atomic_file(out / name) as file:
            file.write(content.encode())


def _show(document: dict[str, Any]) -> None:
    kinds = [change.value for change in Change]
    notes, uncovered = document["notes"], document["uncovered"]
    typer.echo(
        f"{notes['same']:,} notes as they were, {notes['changed']:,} with a difference,"
        f" {notes['other_text']:,} with another text, {notes['only_old']:,} only in the old,"
        f" {notes['only_new']:,} only in the new"
    )
    if uncovered["characters"]:
        typer.echo(
            f"{uncovered['characters']:,} characters of {uncovered['replacements']:,} replacements"
            " were replaced in the old and are not in the new"
        )
    rows = [
        [row["category"], *(f"{row[name]:,}" for name in ("unchanged", *kinds))]
        for row in document["by_category"]
    ]
    print_table(("Category", "unchanged", *kinds), rows, numbers_from=1)
    causes = [[row["cause"], row["why"], f"{row['all']:,}"] for row in document["by_cause"]]
    if causes:
        print_table(("Cause", "What changed", "Differences"), causes, numbers_from=2)
