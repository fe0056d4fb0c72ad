"""Keyed names of what a feed gives: its state holds no id, no path and no plain digest of text."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV

from deid_assets.core.errors import InputError, ProvenanceError
from deid_assets.core.keys import Key
from deid_assets.formats.annotated import Fault, ParsedNote

MAX_MARK = 60
"""Most bytes of a mark; encrypted, it has to fit into its column."""
_PLACES = frozenset({"file", "line", "annotation_file", "message"})
"""Fields that say where a note stood, which is no change of the note."""


class FeedKeys:
    """Names under which a feed's notes and units are kept.

    Args:
        key: Of the installation.
        feed: Name of the feed.
    """

    def __init__(self, key: Key, feed: str) -> None:
        self._key, self._feed = key, feed
        halves = (key.derive("feed mark", feed, half) for half in ("mac", "encrypt"))
        self._cipher = AESSIV(b"".join(halves))

    def note(self, note_id: str) -> str:
        """Return what stands for the id of a note, 32 hexadecimal digits."""
        return self._name("feed note", note_id)

    def unit(self, name: str) -> str:
        """Return what stands for the name of a unit."""
        return self._name("feed unit", name)

    def version(self, version: str) -> str:
        """Return what stands for the version of a unit; empty where it has none."""
        return self._key.derive("feed version", self._feed, version).hex() if version else ""

    def identity(self, entry: ParsedNote | Fault) -> str:
        """Return what stands for a note or a fault: its id, else its place.

        A fault of a note that came before is not the note, which keeps its own.
        """
        if isinstance(entry, ParsedNote):
            return self.note(entry.note_id)
        if entry.note_id is not None and entry.kind != "duplicate-id":
            return self.note(entry.note_id)
        place = json.dumps([entry.kind, entry.note_id, entry.line, entry.file])
        return self._name("feed fault", place)

    def digest(self, entry: ParsedNote | Fault) -> str:
        """Return what stands for all that a note says, wherever it stood: 64 digits."""
        said = {name: value for name, value in asdict(entry).items() if name not in _PLACES}
        said["annotations"] = _drop_places(said.get("annotations"))
        content = json.dumps([type(entry).__name__, said], sort_keys=True)
        return self._key.derive("feed text", self._feed, content).hex()

    def arrival(self, generation: int) -> str:
        """Return the id of what is taken at once; its batches are parts of it."""
        return "b-" + self._key.derive("feed arrival", self._feed, str(generation)).hex()[:16]

    def plan(self, content: bytes) -> str:
        """Return what stands for a plan in the catalogue."""
        digest = hashlib.sha256(content).hexdigest()
        return self._key.derive("feed plan", self._feed, digest).hex()

    def seal(self, mark: str) -> str:
        """Return a mark encrypted, in hexadecimal digits; an empty one stays empty.

        Raises:
            InputError: It is too long.
        """
        if len(mark.encode()) > MAX_MARK:
            raise InputError(
                f"feed {self._feed}: a mark has more than {MAX_MARK} bytes; use a column of times"
                " or numbers as the watermark"
            )
        return self._cipher.encrypt(mark.encode(), None).hex() if mark else ""

    def open(self, sealed: str) -> str:
        """Return a mark that was sealed.

        Raises:
            ProvenanceError: It was altered, or sealed under another key.
        """
        try:
            return self._cipher.decrypt(bytes.fromhex(sealed), None).decode() if sealed else ""
        except (InvalidTag, ValueError):
            raise ProvenanceError(
                f"feed {self._feed}: its watermark was altered or kept under another key; check"
                " DEID_KEY"
            ) from None

    def _name(self, kind: str, name: str) -> str:
        # as JSON has it: an id may hold what UTF-8 cannot
        return self._key.derive(kind, self._feed, json.dumps(name)).hex()[:32]


def _drop_places(annotations: Any) -> Any:
    if annotations is None:
        return None
    return [_drop_line(annotation) for annotation in annotations]


def _drop_line(annotation: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in annotation.items() if name != "line"}
