"""From notes and spans to redacted notes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Self

from deid_assets.cli.ensemble import Detection, Named
from deid_assets.cli.streams import CHUNK_CHARS, NoteSource, SpansFile, Withheld
from deid_assets.config.secret import secret_of_environment
from deid_assets.core.detector import Failed
from deid_assets.core.errors import ConfigError, DeidError
from deid_assets.core.keys import Key
from deid_assets.core.note import Note, chunks_of
from deid_assets.core.phi import Phi
from deid_assets.core.redact import Policy, Redacted
from deid_assets.core.resolve import Ensemble, resolve
from deid_assets.core.span import DisjointSpans, SpanSet
from deid_assets.formats import Annotated
from deid_assets.pipeline.resolving import Outcome, Predictions, by_note

if TYPE_CHECKING:
    from deid_assets.pipeline.batch import Pipeline

Found = Mapping[str, DisjointSpans | Failed]
"""Spans by note id, or why a note has none."""

Advance = Callable[[float], object]

Keep = Callable[[Note, Redacted, DisjointSpans], Failed | None]
"""Keeps what was done to a note, or says why it cannot."""


@dataclass(slots=True)
class Done:
    """Running counts of a redaction.

    Args:
        notes: Notes redacted.
        edits: Replacements in them.
        fallbacks: Per category, replacements that are tags because the policy's action could not be
            carried out.
    """

    notes: int = 0
    edits: int = 0
    fallbacks: Counter[str] = field(default_factory=Counter)

    def add(self, redacted: Redacted) -> None:
        """Count a note."""
        self.notes += 1
        self.edits += len(redacted.edits)
        self.fallbacks.update({label.value: count for label, count in redacted.fallbacks.items()})

    def fallback_line(self) -> str | None:
        """Return a line on the fallbacks, where there are any."""
        if not self.fallbacks:
            return None
        figures = ", ".join(f"{label} {count:,}" for label, count in sorted(self.fallbacks.items()))
        return f"tagged, because the policy's action could not be carried out: {figures}"


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
        from deid_assets.policies import check_key, load_policy  # noqa: PLC0415 - loads pydantic

        chosen = load_policy(policy)
        return cls(chosen, check_key(chosen, secret_of_environment()), keep_patient_ids)

    def require_packs(self, source: NoteSource) -> None:
        """Look through the languages of the notes before anything is detected or written.

        Raises:
            PolicyError: The policy writes surrogates, and one of the languages has no locale pack.
        """
        from deid_assets.policies.batches import (  # noqa: PLC0415 - loads pydantic
            needs_packs,
            require_packs,
        )

        if needs_packs(self.policy):
            require_packs(
                self.policy,
                {found.note.lang for found in source.read() if isinstance(found, Annotated)},
            )

    def run(
        self,
        notes: Sequence[Note],
        found: Found,
        withheld: Withheld,
        done: Done,
        *,
        keep: Keep | None = None,
    ) -> Iterator[Annotated]:
        """Yield each note redacted.

        One without spans of its own, in which a value survives or that fails is withheld.

        What is found in one note is covered in the patient's other notes, and no surrogate is a
        value of the batch.

        Args:
            notes: A batch, all notes of each patient together.
            found: Their spans.
            withheld: Called after each note that is withheld.
            done: Counted up.
            keep: Called with each redacted note before it is given; withholds it where it returns
                why.
        """
        from deid_assets.pipeline.redacting import (  # noqa: PLC0415 - loads pydantic
            Batch,
            redact_batch,
        )
        from deid_assets.pipeline.spreading import spread  # noqa: PLC0415

        disjoint = {
            note_id: spans for note_id, spans in found.items() if isinstance(spans, DisjointSpans)
        }
        batch = Batch(notes, spread(notes, disjoint))
        redacted = redact_batch(batch, self.policy, key=self.key)
        outcomes = {note.note_id: one for note, one in redacted.redacted}
        failed = {one.note_id: one for one in redacted.withheld}
        for note in notes:
            outcome = outcomes.get(note.note_id)
            if outcome is None:
                earlier = found.get(note.note_id)
                withheld.failed(earlier if isinstance(earlier, Failed) else failed[note.note_id])
                continue
            refused = keep(note, outcome, batch.spans[note.note_id]) if keep else None
            if refused is not None:
                withheld.failed(refused)
                continue
            done.add(outcome)
            yield Annotated(self.released(note, outcome))

    def detect_and_run(
        self,
        notes: Sequence[Note],
        pipeline: Pipeline,
        withheld: Withheld,
        done: Done,
        *,
        keep: Keep,
    ) -> Iterator[Annotated]:
        """Yield each note redacted by the whole pipeline, as ``run`` does with spans that are there."""
        made = pipeline.deidentify(notes)
        for note, outcome in zip(notes, made.outcomes, strict=True):
            refused = (
                outcome
                if isinstance(outcome, Failed)
                else keep(note, outcome, made.spans[note.note_id])
            )
            if refused is not None:
                withheld.failed(refused)
            elif not isinstance(outcome, Failed):
                done.add(outcome)
                yield Annotated(self.released(note, outcome))

    def released(self, note: Note, redacted: Redacted) -> Note:
        """Return the note that is written."""
        return Note(
            note.note_id,
            redacted.text,
            note.patient_id if self.keep_patient_ids else None,
            note.lang,
        )


@dataclass(frozen=True, slots=True)
class StoredSpans:
    """Spans from a file.

    Predictions that overlap are united, with the label of the source first by name.

    Args:
        file: Where they are.
        yielding: Categories that never name a range which has another one too; see ``Ensemble``.
    """

    file: SpansFile
    yielding: frozenset[Phi]

    def over(self, chunks: Iterable[list[Note]]) -> Iterator[tuple[list[Note], Found]]:
        """Yield each chunk with its spans; a note that the file does not know has none."""
        for chunk in chunks:
            taken = ((note, self.file.take(note.note_id)) for note in chunk)
            yield (
                chunk,
                {
                    note.note_id: _united(note, spans, self.yielding)
                    for note, spans in taken
                    if spans is not None
                },
            )

    def left_over(self) -> int:
        """Return how many notes of the file were not asked for, after reading it to its end."""
        return len(self.file.rest())


def check_source_of_spans(spans: Path | None, named: Named) -> None:
    """Check that spans come from a file, or from detectors.

    Raises:
        ConfigError: Neither is given, or both, or detectors' options beside a file.
    """
    if (spans is None) is (not named.specs):
        raise ConfigError(
            "give either --spans with a file made by deid detect, or --detector to detect at once"
        )
    if spans is not None and named != Named((), (), None):
        raise ConfigError(
            "--option, --resolve and --jobs go with --detector; spans files are resolved by deid"
            " detect --resolve"
        )


def pipeline_of(
    detection: Detection, redaction: Redaction, resolve_by: str, advance: Advance
) -> Pipeline:
    """Return the pipeline of the commands that detect.

    ``advance`` is called with the number of notes read.
    """
    from deid_assets.pipeline.batch import Pipeline  # noqa: PLC0415 - loads pydantic

    sources = tuple(detector.name for detector in detection.detectors)

    def predict(notes: Sequence[Note]) -> Predictions:
        found: dict[str, list[Outcome]] = {source: [] for source in sources}
        for chunk, runs in detection.apart(chunks_of(notes, CHUNK_CHARS)):
            for source, outcomes in zip(sources, runs, strict=True):
                found[source] += outcomes
            advance(len(chunk) / 2)  # detected once before and once after redaction
        return {source: by_note(outcomes) for source, outcomes in found.items()}

    return Pipeline(
        predict=predict,
        sources=sources,
        policy=redaction.policy,
        key=redaction.key,
        resolve_by=resolve_by,
    )


def _united(note: Note, spans: SpanSet, yielding: frozenset[Phi]) -> DisjointSpans | Failed:
    if isinstance(spans, DisjointSpans):
        return spans
    try:
        return resolve(note, [spans], ensemble=Ensemble.of_equals(spans, yielding=yielding))
    except DeidError as error:  # the spans are of another text
        return Failed(note.note_id, "redact", type(error).__name__)


def key_of_edits() -> Key:
    """Return the key that the digests in edit maps are sealed with.

    Raises:
        ConfigError: ``DEID_KEY`` is not set: digests of originals that need no key could be guessed
            at.
    """
    secret = secret_of_environment()
    if secret is None:
        raise ConfigError(
            "edit maps hold digests of the originals, sealed with a key; set DEID_KEY to the output"
            " of `openssl rand -hex 32`, and keep it to read them again"
        )
    return Key(secret)
