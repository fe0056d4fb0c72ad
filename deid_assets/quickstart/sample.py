"""The bundled sample: landing batches of JSON Lines files with gold spans."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from deid_assets import plugins
from deid_assets.core.note import Note
from deid_assets.core.span import SpanSet

LANGS = ("en", "es")
NOTES_PER_BATCH = 100
NOTES_PER_FILE = 25


def note_line(note: Note, spans: SpanSet) -> str:
    """Return the note and its spans as one line of the exchange format, newline included."""
    record = {
        "id": note.note_id,
        "lang": note.lang,
        "text": note.text,
        "spans": [
            {"start": span.start, "end": span.end, "label": span.label.value}
            | ({"native_label": span.native_label} if span.native_label else {})
            for span in spans
        ],
        "patient_id": note.patient_id,
        "meta": dict(note.meta),
    }
    return json.dumps(record, ensure_ascii=False) + "\n"


def write_sample(
    folder: Path, *, notes: int, seed: int, langs: Sequence[str] = LANGS
) -> list[Path]:
    """Write a sample as landing batches and return the files, in the order of their paths.

    Languages share the notes evenly and have batches of their own,
    ``<folder>/<lang>-0000/notes-00.jsonl`` and so on: at most 100 notes per batch folder, 25 per
    file. The bytes depend on the arguments only.

    Args:
        folder: Made if it does not exist; files of the same names are replaced.
        notes: Over all languages.
        seed: As in ``make_corpus``.
        langs: Languages to write.

    Raises:
        InputError: A language is not known, or ``notes`` is negative.
        PluginError: The plugin that makes notes is not installed.
    """
    make_corpus = plugins.load_corpus("synthetic")
    written = []
    for index, lang in enumerate(langs):
        share = notes // len(langs) + (index < notes % len(langs))
        lines = [
            note_line(note, spans) for note, spans in make_corpus(lang=lang, notes=share, seed=seed)
        ]
        for start in range(0, len(lines), NOTES_PER_FILE):
            batch, part = divmod(start, NOTES_PER_BATCH)
            path = folder / f"{lang}-{batch:04d}" / f"notes-{part // NOTES_PER_FILE:02d}.jsonl"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(
                "".join(lines[start : start + NOTES_PER_FILE]), encoding="utf-8", newline="\n"
            )
            written.append(path)
    return written
