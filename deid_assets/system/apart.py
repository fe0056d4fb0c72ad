"""The process of a detector that runs in an environment of its own.

It is started with the numbers of open pipes and of two files without a name: notes come in by one,
spans go out by the other, and the pipes say how many bytes there are. Nothing it prints or logs is
kept, and it ends with the process that started it. The standard library and the core alone are
imported, so that the environment needs the plugin's requirements and no others.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any, BinaryIO

from deid_assets.core.detector import check_spans
from deid_assets.core.errors import DetectorError, class_name
from deid_assets.core.note import Note
from deid_assets.core.span import SpanSet
from deid_assets.system.silence import protect_memory, silence_for_good

GROUP = "deid_assets.detectors"


def main(arguments: Sequence[str]) -> None:
    """Answer until the other process is gone.

    Args:
        arguments: Numbers of the pipes for life, requests and answers, and of the files for notes
            and spans. The first request is a document of JSON: ``plugin``, the entry point's name;
            ``options``, keyword arguments; ``only_import``, whether its import is all that is
            asked for. Each other one is the number of bytes of the notes.
    """
    life, requests, answers, notes, spans = map(int, arguments)
    protect_memory()
    silence_for_good()
    threading.Thread(target=_end_with, args=(life,), daemon=True).start()
    with suppress(BrokenPipeError), os.fdopen(requests, "rb") as asked:
        wanted = json.loads(asked.readline())
        _serve(asked, _Files(answers, notes, spans), **wanted)
    os._exit(0)  # what a plugin does at exit is of no interest


@dataclass(frozen=True, slots=True)
class _Files:
    """Numbers of what this process writes to and reads from."""

    answers: int
    notes: int
    spans: int

    def answer(self, document: dict[str, Any]) -> None:
        """Answer one request."""
        os.write(self.answers, json.dumps(document).encode() + b"\n")


def _end_with(life: int) -> None:
    """End this process once the other one's end of a pipe is closed."""
    os.read(life, 1)
    os._exit(1)


def _serve(
    asked: BinaryIO, files: _Files, *, plugin: str, options: dict[str, Any], only_import: bool
) -> None:
    is_imported = False
    try:
        loaded = _entry_point(plugin).load()
        is_imported = True
        detector = None if only_import else loaded(**options)
        about = {"imported": True} if detector is None else _about(detector)
    except BaseException as error:  # noqa: BLE001 - only the class of a foreign error is safe to show
        files.answer({"fault": class_name(error), "imported": is_imported})
        return
    files.answer(about)
    if detector is not None:
        for request in asked:
            files.answer(_detect(detector, files, int(request)))


def _entry_point(name: str) -> EntryPoint:
    """Return the first entry point of a name, as the environment's path has them.

    Raises:
        LookupError: There is none.
    """
    return next(iter(entry_points(group=GROUP, name=name)))


def _about(detector: Any) -> dict[str, Any]:
    return {
        "name": detector.name,
        "version": str(detector.version),
        "labels": sorted(detector.labels),
        "native_labels": sorted(getattr(detector, "native_labels", ())),
    }


def _detect(detector: Any, files: _Files, size: int) -> dict[str, Any]:
    """Read notes, write their spans and say how many bytes these are; or which error it was."""
    try:
        rows = json.loads(os.pread(files.notes, size, 0))
        os.ftruncate(files.notes, 0)
        notes = [Note(**row) for row in rows]
        found = [*detector.detect(notes)]
        if len(found) != len(notes):
            raise DetectorError  # noqa: TRY301 - its class is all that is told
        for note, spans in zip(notes, found, strict=True):
            check_spans(detector, note, spans)
        content = json.dumps([_row(spans) for spans in found]).encode()
    except BaseException as error:  # noqa: BLE001 - as above
        return {"fault": class_name(error)}
    _write(files.spans, content)
    return {"spans": len(content)}


def _row(spans: SpanSet) -> list[list[Any]]:
    return [
        [span.start, span.end, span.label, span.score, span.source, span.native_label]
        for span in spans
    ]


def _write(file: int, content: bytes) -> None:
    os.ftruncate(file, 0)
    at = 0
    while at < len(content):
        at += os.pwrite(file, content[at:], at)
