"""From notes and spans to redacted notes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from deid_assets.cli.line_up import Detection
from deid_assets.cli.streams import SpansFile, Withheld
from deid_assets.core.detector import Failed
from deid_assets.core.errors import ConfigError, DeidError
from deid_assets.core.keys import Key
from deid_assets.core.note import Note
from deid_assets.core.pipeline import redact_all
from deid_assets.core.redact import Policy
from deid_assets.core.resolve import LineUp, resolve
from deid_assets.core.span import DisjointSpans, SpanSet
from deid_assets.formats import Annotated

Found = Mapping[str, DisjointSpans | Failed]
Find = Callable[[Sequence[Note]], Found]
"""Gives the spans of notes by id; a note that is not in it has none of its own."""


@dataclass(frozen=True, slots=True)
class Redaction:
    """A policy with its key.

    Args:
        policy: What stands for each category.
        key: For surrogates.
        keep_patient_ids: Whether they are written.
    """

    policy: Policy
    key: Key
    keep_patient_ids: bool

    @classmethod
    def load(cls, policy: str, *, keep_patient_ids: bool) -> Self:
        """Load a policy by name or file, and the key from ``DEID_KEY``.

        Raises:
            ConfigError: There is no such policy, or it or the key is wrong.
            PolicyError: The policy needs a key and there is none.
        """
        from deid_assets.policies import check_key, load_policy  # noqa: PLC0415 - loads Faker for surrogates

        chosen = load_policy(policy)
        return cls(chosen, check_key(chosen, _secret()), keep_patient_ids)

    def run(
        self, notes: Sequence[Note], found: Found, withheld: Withheld, counted: dict[str, int]
    ) -> Iterator[Annotated]:
        """Yield each note redacted; one without spans of its own, or that fails, is withheld."""
        disjoint = {note_id: spans for note_id, spans in found.items() if isinstance(spans, DisjointSpans)}
        outcomes = redact_all(notes, disjoint, self.policy, key=self.key, stage="redact")
        for note, outcome in zip(notes, outcomes, strict=True):
            if isinstance(outcome, Failed):
                earlier = found.get(note.note_id)
                withheld.failed(earlier if isinstance(earlier, Failed) else outcome)
                continue
            counted["notes"] += 1
            counted["edits"] += len(outcome.edits)
            patient_id = note.patient_id if self.keep_patient_ids else None
            yield Annotated(Note(note.note_id, outcome.text, patient_id, note.lang))


def spans_from_file(stored: SpansFile) -> Find:
    """Return what finds spans in a file; opinions that overlap are united, the label by name of the detector."""

    def find(notes: Sequence[Note]) -> Found:
        taken = ((note, stored.take(note.note_id)) for note in notes)
        return {note.note_id: _united(note, spans) for note, spans in taken if spans is not None}

    return find


def spans_from_detectors(detection: Detection) -> Find:
    """Return what finds spans by running detectors, whose overlaps are resolved."""

    def find(notes: Sequence[Note]) -> Found:
        outcomes = zip(notes, detection.opinions(notes), strict=True)
        return {
            note.note_id: outcome if isinstance(outcome, Failed) else _united(note, outcome)
            for note, outcome in outcomes
        }

    return find


def _united(note: Note, spans: SpanSet) -> DisjointSpans | Failed:
    if isinstance(spans, DisjointSpans):
        return spans
    sources = sorted({span.source for span in spans}) or ["none"]
    try:
        return resolve(note, [spans], line_up=LineUp(sources))
    except DeidError as error:  # the spans are of another text
        return Failed(note.note_id, "redact", type(error).__name__)


def _secret() -> bytes | None:
    value = os.environ.get("DEID_KEY")
    try:
        return bytes.fromhex(value) if value else None
    except ValueError:
        raise ConfigError("DEID_KEY is not hexadecimal; set it to the output of `openssl rand -hex 32`") from None
