"""What a redaction keeps besides the redacted notes: edit maps, and originals in a vault."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import deid_assets
from deid_assets import plugins
from deid_assets.cli.redaction import Keep, Redaction
from deid_assets.core.detector import Failed
from deid_assets.core.keys import Key
from deid_assets.core.note import Note
from deid_assets.core.redact import Redacted
from deid_assets.core.span import DisjointSpans
from deid_assets.edits.files import write_edit_map, writing_edits
from deid_assets.edits.maps import MadeBy, edit_map


@dataclass(frozen=True, slots=True)
class EditsKept:
    """Writes the edit map of each redacted note.

    Args:
        file: Open to write.
        key: For the marks.
        made_by: What the redaction rests on.
    """

    file: BinaryIO
    key: Key
    made_by: MadeBy

    def __call__(self, note: Note, redacted: Redacted, spans: DisjointSpans) -> None:
        write_edit_map(self.file, edit_map(note, redacted, spans, key=self.key, made_by=self.made_by))


@contextmanager
def recording(redaction: Redaction, *, edits: Path | None, specs: tuple[str, ...]) -> Iterator[Keep | None]:
    """Give what ``Redaction.run`` calls with each note, or ``None`` where nothing is kept.

    Args:
        redaction: Policy and key.
        edits: Edit file to write.
        specs: Detectors that run, as the command line names them.
    """
    kept: list[Keep] = []
    with ExitStack() as stack:
        if edits is not None:
            file = stack.enter_context(writing_edits(edits))
            kept.append(EditsKept(file, redaction.key, _made_by(redaction, specs)))
        yield _in_turn(kept) if kept else None


def _made_by(redaction: Redaction, specs: tuple[str, ...]) -> MadeBy:
    software = f"deid-assets {deid_assets.__version__}"
    return MadeBy.of(redaction.policy, redaction.key, software=software, detectors=versions_of(specs))


def versions_of(specs: tuple[str, ...]) -> dict[str, str]:
    """Return the version of each detector that is named, with the digest of its source."""
    installed = plugins.available()
    names = [spec.partition("=")[0] for spec in specs]
    return {name: installed[name].code_version for name in names if name in installed}


def _in_turn(kept: list[Keep]) -> Keep:
    def keep(note: Note, redacted: Redacted, spans: DisjointSpans) -> Failed | None:
        return next((refused for each in kept if (refused := each(note, redacted, spans)) is not None), None)

    return keep
