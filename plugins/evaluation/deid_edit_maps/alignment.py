"""``deid map-spans``.

Annotations of the original text, carried over to the redacted one, and back.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated as Arg

import typer

from deid_assets.extending import InputError
from deid_assets.extending.commands import PARTIAL, JsonOption, check_out, print_json, say
from deid_assets.extending.edits import (
    DigestSeal,
    EditsFile,
    atomic_file,
    check_suffix,
    key_of_edits,
    read_lines,
)
from deid_edit_maps.annotations import Carrier, CarryTally
from deid_edit_maps.carry import Meeting


def map_spans(
    *,
    edits: Arg[
        Path, typer.Option(metavar="FILE", help="Edit maps that deid redact --edits wrote.")
    ],
    spans: Arg[
        Path,
        typer.Option(
            metavar="FILE",
            help="Annotations with any labels, .jsonl: id and spans with start and end.",
        ),
    ],
    out: Arg[Path, typer.Option(metavar="FILE", help="Annotations to write, .jsonl.")],
    to_original: Arg[
        bool, typer.Option("--to-original", help="From the redacted text to the original.")
    ] = False,
    drop_overlapping: Arg[
        bool, typer.Option("--drop-overlapping", help="Leave out spans that overlap a replacement.")
    ] = False,
    keep: Arg[
        list[str] | None,
        typer.Option(metavar="FIELD", help="Also carry over this field of a span; several times."),
    ] = None,
    as_json: JsonOption = False,
) -> int:
    """Carry annotations over to the redacted text.

    A span that begins or ends inside a replacement is widened to hold all of it; one in text that
    was taken out is lost. Both are counted. A note without edit map is left out and named.
    """
    check_suffix(spans)
    check_suffix(out)
    check_out(out, inputs=[edits, spans], is_folder=False)
    fields = _check_fields(keep or [])
    take, seal = EditsFile(edits).take, DigestSeal(key_of_edits())
    carrier = Carrier(take, seal, to_original, drop_overlapping, fields)
    tally, unknown = CarryTally(), list[str]()
    with atomic_file(out) as file:
        for record in carrier.carry(read_lines(spans), tally, unknown=unknown.append):
            file.write(f"{json.dumps(record, ensure_ascii=False)}\n".encode())
    for note_id in unknown:
        say(f"note {note_id!r}: no edit map; left out")
    _show(tally, unknown, out, as_json=as_json)
    return PARTIAL if unknown else 0


def _check_fields(keep: Sequence[str]) -> frozenset[str]:
    """Return the fields of a span that are carried over.

    Raises:
        InputError: The text is among them.
    """
    if "text" in keep:
        raise InputError(
            "--keep text would carry original text over to the redacted notes; name another field"
        )
    return frozenset(keep)


def _show(tally: CarryTally, unknown: list[str], out: Path, *, as_json: bool) -> None:
    if as_json:
        print_json({**tally.to_json(), "without_edit_map": unknown, "out": str(out)})
        return
    met = tally.meetings
    say(
        f"{tally.written:,} of {tally.spans:,} spans of {tally.notes:,} notes written to {out}: "
        f"{met[Meeting.CLEAR]:,} as they were, {met[Meeting.WHOLE]:,} with a replacement in them, "
        f"{met[Meeting.WIDENED]:,} widened, {met[Meeting.LOST]:,} lost, {tally.dropped:,} dropped"
    )
    if tally.fields:
        names = ", ".join(f"{name!r}" for name in sorted(tally.fields))
        say(
            f"fields left out, because they may hold text: {names}; name one with --keep if it"
            " does not"
        )
