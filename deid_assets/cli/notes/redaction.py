"""From notes and spans to redacted notes."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

from deid_assets.cli.endings import say
from deid_assets.cli.ensemble import Detection, Named
from deid_assets.cli.streams import CHUNK_CHARS, NoteSource, SpansFile, Withheld
from deid_assets.config.secret import secret_of_environment
from deid_assets.core.detector import Failed
from deid_assets.core.errors import ConfigError, DeidError, class_name
from deid_assets.core.keys import Key
from deid_assets.core.note import Note, chunks_of
from deid_assets.core.phi import Phi
from deid_assets.core.redact import Policy, Redacted
from deid_assets.core.resolve import Ensemble, resolve
from deid_assets.core.span import DisjointSpans, SpanSet
from deid_assets.formats import Annotated
from deid_assets.pipeline.batch import Batch, Outcome, Predictions
from deid_assets.pipeline.resolving import LEAVABLE, Detect, by_note

if TYPE_CHECKING:
    from deid_assets.pipeline.composition import Pipeline

Advance = Callable[[float], object]

LEARN_FOR = 5.0  # seconds of redaction that an estimate rests on
WORTH_TELLING = 20.0  # seconds; a shorter rest is not told


def _untold(_: float) -> None:
    """Tell nobody how far a command is."""


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
        from deid_assets.policies.needs import (  # noqa: PLC0415 - loads pydantic
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
        pipeline: Pipeline,
        *,
        withheld: Withheld,
        done: Done,
        keep: Keep,
    ) -> Iterator[Annotated]:
        """Yield each note redacted that no step of the pipeline withholds.

        Args:
            notes: A batch, all notes of each patient together.
            pipeline: The steps.
            withheld: Called after each note that is withheld.
            done: Counted up.
            keep: Called with each redacted note before it is given; withholds it where it returns
                why.
        """
        batch = pipeline.deidentify(notes)
        for note, outcome in zip(notes, batch.outcomes, strict=True):
            if isinstance(outcome, Failed):
                withheld.report_failed(outcome)
                continue
            refused = keep(note, outcome, batch.replaced[note.note_id])
            if refused is not None:
                withheld.report_failed(refused)
                continue
            done.add(outcome)
            yield Annotated(self.release(note, outcome))

    def release(self, note: Note, redacted: Redacted) -> Note:
        """Return the note that is written."""
        return Note(
            note.note_id,
            redacted.text,
            note.patient_id if self.keep_patient_ids else None,
            note.lang,
        )


@dataclass(frozen=True, slots=True)
class StoredSpans:
    """Spans from a file enter the pipeline.

    Predictions that overlap are united, with the label of the source first by name. A note that the
    file does not know has no spans.

    Args:
        file: Where they are.
        yielding: Categories that never name a range which has another one too; see ``Ensemble``.
        advance: Called with the number of notes read.
    """

    file: SpansFile
    yielding: frozenset[Phi]
    advance: Advance = _untold
    name: ClassVar[str] = "spans"

    def __str__(self) -> str:
        return "from a file"

    def run(self, batch: Batch) -> Batch:
        """Return the batch with its spans; withheld is a note whose spans are of another text."""
        stored = [(note, self.file.take(note.note_id)) for note in batch.notes]
        united = [_unite(note, spans, self.yielding) for note, spans in stored if spans is not None]
        self.advance(len(batch.notes))
        spans = {one.note_id: one for one in united if isinstance(one, DisjointSpans)}
        failed = {one.note_id: one for one in united if isinstance(one, Failed)}
        return replace(batch, spans=spans).withholding(failed)


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


def pipeline_of(detection: Detection, redaction: Redaction, advance: Advance) -> Pipeline:
    """Return the pipeline of the commands that detect.

    Overlaps are united where no overlap policy is named.
    ``advance`` is called with the number of notes read.
    """
    from deid_assets.pipeline.composition import Pipeline  # noqa: PLC0415 - loads pydantic

    sources = tuple(detector.name for detector in detection.detectors)

    def predict(notes: Sequence[Note]) -> Predictions:
        found: dict[str, list[Outcome]] = {source: [] for source in sources}
        for chunk, runs in detection.apart(chunks_of(notes, CHUNK_CHARS)):
            for source, outcomes in zip(sources, runs, strict=True):
                found[source] += outcomes
            advance(len(chunk) / 2)  # detected once before and once after redaction
        return {source: by_note(outcomes) for source, outcomes in found.items()}

    return Pipeline.of(
        Detect(predict, sources),
        policy=redaction.policy,
        key=redaction.key,
        resolve_by=detection.named.resolve_by or "union",
        following=Forecast(say),
    )


def pipeline_on(file: SpansFile, redaction: Redaction, advance: Advance) -> Pipeline:
    """Return the pipeline of spans from a file: nothing is detected, and nothing searched."""
    from deid_assets.pipeline.composition import Pipeline  # noqa: PLC0415 - loads pydantic
    from deid_assets.pipeline.redacting import Redact, Verify  # noqa: PLC0415
    from deid_assets.pipeline.spreading import Spread  # noqa: PLC0415

    stored = StoredSpans(file, LEAVABLE | redaction.policy.may_leave, advance)
    redact = Redact(redaction.policy, redaction.key, following=Forecast(say))
    return Pipeline((stored, Spread(), redact, Verify()))


def _unite(note: Note, spans: SpanSet, yielding: frozenset[Phi]) -> DisjointSpans | Failed:
    if isinstance(spans, DisjointSpans):
        return spans
    try:
        return resolve(note, [spans], ensemble=Ensemble.of_equals(spans, yielding=yielding))
    except DeidError as error:  # the spans are of another text
        return Failed(note.note_id, "redact", class_name(error))


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


@dataclass(frozen=True, slots=True)
class Forecast:
    """Gives the notes of a batch, and tells once how long those that are left will take.

    The estimate rests on the seconds a word of the notes after the first, which may load a model.
    A policy that is done within seconds, as those of lists are, tells nothing.

    Args:
        tell: Called with a line.
        clock: Seconds.
    """

    tell: Callable[[str], object]
    clock: Callable[[], float] = time.monotonic

    def __call__(self, notes: Sequence[Note]) -> Iterator[Note]:
        """Yield the notes in order; each is taken as redacted when the next is asked for."""
        words, is_told = 0, False
        started = 0.0
        for number, note in enumerate(notes):
            if number == 1:
                started = self.clock()
            elif number > 1 and not is_told:
                words += _words([notes[number - 1]])
                spent = self.clock() - started
                if spent >= LEARN_FOR:
                    self._tell(notes[number:], spent / max(words, 1), number - 1, spent)
                    is_told = True
            yield note

    def _tell(self, left: Sequence[Note], rate: float, seen: int, spent: float) -> None:
        words = _words(left)
        seconds = rate * words
        if seconds < WORTH_TELLING:
            return
        took = f"{seen:,} {'note' if seen == 1 else 'notes'} took {spent:,.0f} s"
        rest = f"{len(left):,} notes ({words:,} words)" if len(left) > 1 else "the last note"
        self.tell(f"redacting: {took}; {rest} left of this batch, about {_time(seconds)}")


def _words(notes: Sequence[Note]) -> int:
    return sum(len(note.text.split()) for note in notes)


def _time(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:,.0f} s"
    minutes = seconds / 60
    return f"{minutes:,.0f} min" if minutes < 120 else f"{minutes / 60:,.1f} h"
