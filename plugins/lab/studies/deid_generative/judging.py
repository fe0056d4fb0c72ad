"""What a model does with annotated notes: the study's table, from outputs written one by one."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from deid_assets.extending import Detector, Document
from deid_assets.extending.measuring import Rewritten, StudyTable, union
from deid_generative.placeholders import PLACEHOLDER
from deid_generative.reading import Status
from deid_generative.written import OutputWriter, WrittenOutput, cut, find_doubted, is_in, stitch

_HOLES = re.compile(r"\[[^\[\]\n]{1,40}\]")


@dataclass(slots=True)
class Judgement:
    """What a model did.

    Args:
        table: The study's measures.
        statuses: How its outputs ended.
        tokens: Written.
        seconds: Wall clock of writing.
        cpu_seconds: Of this process.
        covers: Note id to what it removed there, for the audit of annotations.
    """

    table: StudyTable = field(default_factory=StudyTable)
    statuses: Counter[str] = field(default_factory=Counter)
    tokens: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    covers: dict[str, list[tuple[int, int]]] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return what a curve and a card keep."""
        return {
            **self.table.to_json(),
            "outputs": dict(sorted(self.statuses.items())),
            "tokens_per_second": round(self.tokens / self.seconds, 1) if self.seconds else None,
            "notes_per_hour": (
                round(self.table.notes / self.seconds * 3600) if self.seconds else None
            ),
        }


def judge(
    backend: OutputWriter, documents: Sequence[Document], *, checker: Detector | None = None
) -> Judgement:
    """Return what a model does with annotated notes.

    Args:
        backend: Writes the outputs.
        documents: Annotated notes that it did not learn from.
        checker: What it finds where the model found less is removed too; none to measure the model
            alone.
    """
    found = Judgement()
    for document in documents:
        _one(backend, document, checker, found)
    return found


def _one(
    backend: OutputWriter, document: Document, checker: Detector | None, found: Judgement
) -> None:
    note = document.note
    wall, cpu = time.perf_counter(), time.process_time()
    cuts = cut(note.text, backend)
    outputs = backend.write([note.text[one.start : one.end] for one in cuts])
    found.seconds += time.perf_counter() - wall
    found.cpu_seconds += time.process_time() - cpu
    found.tokens += sum(one.tokens for one in outputs)
    status = next((one.status for one in outputs if not one.status.is_usable), outputs[0].status)
    found.statuses[status.value] += 1
    cover: list[tuple[int, int]] | None = None
    silent = all(one.status is Status.ANONYMOUS for one in outputs)
    if status.is_usable:
        cover = [
            (hole.start, hole.end)
            for hole in stitch([(one, w.holes) for one, w in zip(cuts, outputs, strict=True)])
        ]
        if checker is not None:
            (asked,) = checker.detect([note])
            places = [(span.start, span.end) for span in asked]
            less = find_doubted(cuts, outputs, places)
            cover = union(
                [*cover, *(place for place in places if any(is_in(one, place) for one in less))]
            )
        found.covers[note.note_id] = cover
    output = outputs[0].output if len(outputs) == 1 else _join(note.text, outputs, cover)
    found.table.add(Rewritten(note, document.spans, cover, output, silent), placeholder=_HOLES)


def _join(
    text: str, outputs: Sequence[WrittenOutput], cover: Sequence[tuple[int, int]] | None
) -> str | None:
    """Return the output of several windows; none where one of them is not the note's own words."""
    if cover is None or any(one.edits for one in outputs):
        return None
    pieces, cursor = [], 0
    for start, end in union(cover):
        pieces += [text[cursor:start], PLACEHOLDER]
        cursor = end
    return "".join([*pieces, text[cursor:]])
