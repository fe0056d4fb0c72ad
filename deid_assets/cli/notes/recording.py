"""Outputs of a redaction besides the redacted notes: edit maps, and originals in a vault."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import deid_assets
from deid_assets.cli.endings import say
from deid_assets.cli.ensemble import Named, versions_of
from deid_assets.cli.notes.redaction import Redaction, key_of_edits
from deid_assets.core.detector import Failed
from deid_assets.core.errors import PolicyError
from deid_assets.core.keys import Key
from deid_assets.core.note import Note
from deid_assets.core.redact import Redacted
from deid_assets.core.span import DisjointSpans
from deid_assets.edits.files import write_edit_map, writing_edits
from deid_assets.edits.maps import MadeBy, edit_map
from deid_assets.vault.opening import open_vault

if TYPE_CHECKING:
    from deid_assets.vault.store import Vault, VaultEntry

_AT_ONCE = 500


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
        write_edit_map(
            self.file, edit_map(note, redacted, spans, key=self.key, made_by=self.made_by)
        )


@dataclass(frozen=True, slots=True)
class VaultOptions:
    """A vault as the command line names it.

    Args:
        url: Its database.
        key_file: Its keys; those of the environment when not given.
        by_note: Let a note without patient id count as a patient of its own; else it is withheld.
    """

    url: str
    key_file: Path | None
    by_note: bool


class VaultKept:
    """Puts each original into a vault, some hundreds at a time."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault
        self._waiting: list[VaultEntry] = []

    def __call__(self, note: Note, redacted: Redacted) -> Failed | None:
        from deid_assets.vault.store import VaultEntry  # noqa: PLC0415 - loads SQLAlchemy

        try:
            self._vault.check_patient(note)
        except PolicyError as error:
            say(f"{error}")
            return Failed(note.note_id, "vault", "MissingPatientId")
        self._waiting.append(VaultEntry(note, redacted))
        if len(self._waiting) == _AT_ONCE:
            self.flush()
        return None

    def flush(self) -> None:
        """Store what waits."""
        self._vault.store(self._waiting)
        self._waiting.clear()


class Recorder:
    """Callback of ``Redaction.run`` for each note; stores what is to be kept of it.

    Args:
        edits: Edit file, if one is written.
        vault: Vault, if there is one; it may refuse a note, so it is asked first.
    """

    def __init__(self, edits: EditsKept | None, vault: VaultKept | None) -> None:
        self._edits, self._vault = edits, vault

    def __call__(self, note: Note, redacted: Redacted, spans: DisjointSpans) -> Failed | None:
        refused = self._vault(note, redacted) if self._vault else None
        if refused is None and self._edits:
            self._edits(note, redacted, spans)
        return refused

    def finish(self) -> None:
        """Store what waits; called before the redacted notes appear under their name."""
        if self._vault:
            self._vault.flush()


@contextmanager
def recording(
    redaction: Redaction, *, edits: Path | None, named: Named, vault: VaultOptions | None
) -> Iterator[Recorder]:
    """Open the stores for edits and originals, and close them.

    Args:
        redaction: Policy and key.
        edits: Edit file to write.
        named: Detectors that run, as the command line names them.
        vault: Where originals are kept.
    """
    with ExitStack() as stack:
        kept_edits = kept_in = None
        if edits is not None:
            key = key_of_edits()
            file = stack.enter_context(writing_edits(edits))
            kept_edits = EditsKept(file, key, _describe_maker(redaction, named))
        if vault is not None:
            opened, _ = stack.enter_context(
                open_vault(vault.url, vault.key_file, require_patient=not vault.by_note)
            )
            kept_in = VaultKept(opened)
        yield Recorder(kept_edits, kept_in)


def _describe_maker(redaction: Redaction, named: Named) -> MadeBy:
    software = f"deid-assets {deid_assets.__version__}"
    return MadeBy.of(
        redaction.policy, redaction.key, software=software, detectors=versions_of(named)
    )
