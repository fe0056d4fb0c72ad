"""Files of the study's folder: each stage is there whole, or not at all."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deid_assets import Note
from deid_assets.extending import DisjointSpans, Document, InputError, Phi, Span
from deid_assets.extending.files import atomic_file

TIMES = "times.json"


@dataclass(frozen=True, slots=True)
class StageStore:
    """A folder of stages, each made once.

    Args:
        folder: That they stand in.
        say: Told the name of each stage that is made.
    """

    folder: Path
    say: Callable[[str], None]

    def path(self, name: str) -> Path:
        """Return where a stage stands."""
        return self.folder / name

    def figures(self, name: str, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Return the figures of a stage, made now or before."""
        path = self.path(f"{name}.json")
        if not path.exists():
            began = time.perf_counter()
            used = time.process_time()
            found = make()
            found |= _measure_spent(began, used)
            with atomic_file(path) as file:
                file.write(json.dumps(found, indent=1).encode())
            self.say(f"{self.folder.name}/{name}")
        read: dict[str, Any] = json.loads(path.read_text("utf-8"))
        return read

    def model(self, name: str, make: Callable[[Path], None]) -> Path:
        """Return the folder of a model, made now or before.

        It is made in a folder beside it, in which a killed training is resumed.
        """
        path = self.path(name)
        if not path.exists():
            part = path.with_name(f"{name}.part")
            part.mkdir(parents=True, exist_ok=True)
            began = time.perf_counter()
            used = time.process_time()
            make(part)
            (part / TIMES).write_text(json.dumps(_measure_spent(began, used)), encoding="utf-8")
            part.rename(path)
            self.say(f"{self.folder.name}/{name}")
        return path

    def notes(self, name: str, make: Callable[[Path], Sequence[Document]]) -> list[Document]:
        """Return notes with their spans, made now or before.

        What a stage keeps on its way stands in the folder that ``make`` is given.
        """
        path = self.path(f"{name}.jsonl")
        if not path.exists():
            part = self.path(f"{name}.part")
            part.mkdir(parents=True, exist_ok=True)
            write_documents(path, make(part))
            shutil.rmtree(part)
            self.say(f"{self.folder.name}/{name}")
        return read_documents(path)


def _measure_spent(began: float, used: float) -> dict[str, float]:
    return {
        "seconds": round(time.perf_counter() - began, 2),
        "cpu_seconds": round(time.process_time() - used, 2),
    }


def write_documents(path: Path, documents: Sequence[Document]) -> None:
    """Write notes with their spans, a line each, as ``deid`` reads them."""
    lines = [
        {
            "id": one.note.note_id,
            "lang": one.note.lang,
            "text": one.note.text,
            "spans": [
                {"start": span.start, "end": span.end, "label": span.label.value}
                for span in one.spans
            ],
        }
        for one in documents
    ]
    with atomic_file(path) as file:
        for line in lines:
            file.write(f"{json.dumps(line, ensure_ascii=False)}\n".encode())


def read_documents(path: Path) -> list[Document]:
    """Return what ``write_documents`` wrote.

    Raises:
        InputError: It is damaged.
    """
    found = []
    try:
        for line in path.read_text("utf-8").split("\n")[:-1]:
            one = json.loads(line)
            note = Note(one["id"], one["text"], lang=one["lang"])
            spans = [Span(own["start"], own["end"], Phi(own["label"])) for own in one["spans"]]
            found.append(Document(note, DisjointSpans.of(note, spans)))
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(f"{path.name} is damaged; remove it, and it is made again") from None
    return found
