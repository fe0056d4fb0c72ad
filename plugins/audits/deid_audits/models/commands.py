"""``deid privacy plant``: a corpus in which it is known what a model may remember."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated as Arg

import typer

from deid_assets import Note

_REPEATS = (1, 5, 10, 25, 100)


def plant(
    out: Arg[Path, typer.Argument(metavar="OUT", help="New folder.")],
    *,
    notes: Arg[int, typer.Option(metavar="N", min=1, help="Sentences in each part.")] = 200,
    repeats: Arg[
        list[int] | None,
        typer.Option(
            "--repeat",
            metavar="N",
            min=1,
            help="How often secrets are said; 1, 5, 10, 25 and 100 times.",
        ),
    ] = None,
    people: Arg[
        int, typer.Option(metavar="N", min=1, help="People for each number of repeats.")
    ] = 5,
    canaries: Arg[
        int, typer.Option(metavar="N", min=1, help="Canaries for each number of repeats.")
    ] = 4,
    seed: Arg[int, typer.Option(metavar="N", help="Of notes and models.")] = 1,
) -> int:
    """Write notes with planted people and canaries, and their lists."""
    from deid_audits.models.canaries import write_canaries  # noqa: PLC0415 - loads PyTorch
    from deid_audits.models.planted import name_matched, planted_corpus, planted_notes  # noqa: PLC0415

    corpus = planted_corpus(
        notes=notes, people=people, repeats=repeats or _REPEATS, canaries=canaries, seed=seed
    )
    out.mkdir(parents=True)
    names = {one.patient_id: one.name for one in corpus.people}
    once = [note for note in planted_notes(corpus.people) if note.note_id.endswith("-000")]
    parts = {name: getattr(corpus, name) for name in ("training", "held_out", "calibration")}
    for part, of_part in {**parts, "named": once, "matched": name_matched(corpus.people)}.items():
        lines = [_line(note, names) for note in of_part]
        (out / f"{part}.jsonl").write_text("".join(lines), encoding="utf-8")
    write_canaries(out / "canaries.json", corpus.canaries)
    typer.echo(f"{len(corpus.training)} training notes; written to {out}")
    return 0


def _line(note: Note, names: dict[str, str]) -> str:
    """Return a note as a line of the exchange format, its planted name annotated."""
    name = names.get(note.patient_id or "", "")
    begin = note.text.find(name) if name else -1
    spans = (
        [{"start": begin, "end": begin + len(name), "label": "NAME", "native_label": "PATIENT"}]
        if begin >= 0
        else []
    )
    record = {
        "id": note.note_id,
        "lang": note.lang,
        "text": note.text,
        "patient_id": note.patient_id,
        "spans": spans,
    }
    return json.dumps(record, ensure_ascii=False) + "\n"
