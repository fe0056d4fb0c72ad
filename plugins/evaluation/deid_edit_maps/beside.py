"""``deid side-by-side``.

The same notes under several policies, on one page for the eyes of those who may read them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated as Arg

import typer

from deid_assets.extending import DisjointSpans, InputError, Note, label_map
from deid_assets.extending.commands import (
    Annotated,
    Fault,
    FormatOption,
    LabelsOption,
    ReadOption,
    SpansFile,
    check_out,
    note_source,
    print_table,
    say,
)
from deid_assets.extending.edits import (
    Ensemble,
    Key,
    Policy,
    Redacted,
    load_policy,
    redact,
    resolve,
)

PAGE = "side-by-side.html"
MOST = 20
_PACKAGE = "deid_edit_maps"


@dataclass(frozen=True, slots=True)
class LabelledText:
    """A stretch of a text.

    Args:
        text: It; nothing where a stretch was taken away.
        label: Category that was replaced there, empty where nothing was.
    """

    text: str = field(repr=False)
    label: str = ""


@dataclass(frozen=True, slots=True)
class Column:
    """A policy over all notes.

    Args:
        name: Of the policy.
        replaced: Stretches that it replaced.
        kept: Share of the characters of the notes that it left as they were.
    """

    name: str
    replaced: int
    kept: float


def side_by_side(
    notes: Arg[Path, typer.Argument(metavar="NOTES", help="Annotated notes, or any with --spans.")],
    *,
    policy: Arg[
        list[str], typer.Option(metavar="NAME|FILE", help="Redaction policy; several times.")
    ],
    out: Arg[
        Path, typer.Option(metavar="FOLDER", help="Folder for the page, which only you may read.")
    ],
    spans: Arg[
        Path | None,
        typer.Option(metavar="FILE", help="Spans of a detector; the annotations when not given."),
    ] = None,
    note: Arg[
        list[str] | None,
        typer.Option(metavar="ID", help="A note to show; the first when not given."),
    ] = None,
    format_name: FormatOption = None,
    labels: LabelsOption = None,
    read: ReadOption = None,
) -> int:
    """Show notes under several policies side by side.

    The page holds the text of the notes: it is written for its owner alone, loads nothing, and is
    no release.
    """
    from deid_assets.extending.audits import (  # noqa: PLC0415 - loads NumPy
        check_key,
        secret_of_environment,
    )
    from deid_assets.extending.pages import write_files  # noqa: PLC0415 - loads Jinja

    check_out(out, inputs=[notes, *filter(None, [spans])], is_folder=True)
    policies = [load_policy(name) for name in policy]
    secret = secret_of_environment()
    keys = [check_key(one, secret) for one in policies]
    source = note_source(notes, format_name, read, annotations=spans is None)
    entries = source.read(label_map(labels) if labels else None)
    stored = None if spans is None else SpansFile(spans)
    found = list(_choose(notes, entries, stored, note or []))
    if not found:
        raise InputError("no note could be read; name another file")
    columns, rows = beside(found, policies, keys)
    write_files(out, {PAGE: beside_html(columns, rows)}, restricted=True)
    shown = [[one.name, f"{one.replaced:,}", f"{one.kept:.1%}"] for one in columns]
    print_table(("Policy", "Replaced", "Characters kept"), shown, numbers_from=1)
    say(f"{len(rows)} notes; written to {out / PAGE}")
    return 0


def beside(
    notes: Sequence[tuple[Note, DisjointSpans]], policies: Sequence[Policy], keys: Sequence[Key]
) -> tuple[list[Column], list[tuple[str, list[list[LabelledText]]]]]:
    """Return what each policy does over all notes, and the pieces of each note.

    The pieces of a note are those of the original and of every version.

    Raises:
        DeidError: A policy cannot be carried out.
    """
    rows: list[tuple[str, list[list[LabelledText]]]] = []
    replaced, changed = [0] * len(policies), [0] * len(policies)
    for note, spans in notes:
        versions = [_original(note, spans)]
        for at, (policy, key) in enumerate(zip(policies, keys, strict=True)):
            found = redact(note, spans, policy, key=key)
            versions.append(list(_pieces(found)))
            replaced[at] += len(found.edits)
            changed[at] += sum(edit.end - edit.start for edit in found.edits)
        rows.append((note.note_id, versions))
    total = max(1, sum(len(note.text) for note, _ in notes))
    return [
        Column(policy.name, count, 1 - gone / total)
        for policy, count, gone in zip(policies, replaced, changed, strict=True)
    ], rows


def beside_html(
    columns: Sequence[Column], rows: Sequence[tuple[str, list[list[LabelledText]]]]
) -> str:
    """Return the page; it holds the text of the notes."""
    from deid_assets.extending.pages import render  # noqa: PLC0415 - loads Jinja

    return render("beside.html.j2", package=_PACKAGE, columns=columns, rows=rows)


def _original(note: Note, spans: DisjointSpans) -> list[LabelledText]:
    pieces, at = [], 0
    for span in spans:
        pieces += [
            LabelledText(note.text[at : span.start]),
            LabelledText(note.text[span.start : span.end], span.label.value),
        ]
        at = span.end
    return [one for one in [*pieces, LabelledText(note.text[at:])] if one.text]


def _pieces(found: Redacted) -> Iterator[LabelledText]:
    at = 0
    for edit in found.edits:
        if before := found.text[at : edit.new_start]:
            yield LabelledText(before)
        yield LabelledText(found.text[edit.new_start : edit.new_end], edit.label.value)
        at = edit.new_end
    if rest := found.text[at:]:
        yield LabelledText(rest)


def _choose(
    path: Path,
    entries: Iterable[Annotated | Fault],
    spans: SpansFile | None,
    wanted: Sequence[str],
) -> Iterator[tuple[Note, DisjointSpans]]:
    left = list(dict.fromkeys(wanted))
    if len(left) > MOST:
        raise InputError(f"{len(left)} notes are asked for; a page shows {MOST}")
    for found in entries:
        if isinstance(found, Fault) or (wanted and found.note.note_id not in left):
            continue
        marked = found.spans if spans is None else spans.take(found.note.note_id)
        if marked is None:
            raise InputError(
                f"nothing is known of what to replace in note {found.note.note_id!r}; annotate it,"
                " or --spans"
            )
        yield found.note, resolve(found.note, [marked], ensemble=Ensemble.of_equals(marked))
        if not wanted:
            return
        left.remove(found.note.note_id)
    if left:
        raise InputError(f"{path}: no note {left[0]!r} could be read; check the id")
