"""The interface of a detector, and the function that runs one so that an error never reads as "no
PHI here".
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from deid_assets.core.assets import Family
from deid_assets.core.errors import DetectorError, class_name
from deid_assets.core.label_maps import LABEL_MAPS
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.span import MAX_SPANS, SpanSet
from deid_assets.core.tagging import Token


@runtime_checkable
class Detector(Protocol):
    """Finds PHI in notes.

    Attributes:
        name: Lower case, ``^[a-z][a-z0-9_]{0,40}$``; equals the entry-point name.
        version: Changes whenever the output may change.
        labels: Every category that ``detect`` can return.

    A detector whose spans have a ``native_label`` that no label map of ours knows declares these
    labels as ``native_labels``, a set of strings: spans are kept where no text may be, and so is
    this field of theirs.
    """

    name: str
    version: str
    labels: frozenset[Phi]

    def detect(self, notes: Sequence[Note]) -> Iterable[SpanSet]:
        """Yield one ``SpanSet`` per note, in order, each span with ``name`` as its source.

        The result does not depend on the batch.
        """
        ...


@dataclass(frozen=True, slots=True)
class WordLabels:
    """How probable each label is at each word of a note.

    Args:
        words: Where they are, as ``tokenize`` has them.
        labels: Names of the columns, those of the tags or categories; ``O`` first, for none.
        probabilities: Array of floats, (words, labels), rows that sum to 1.
    """

    words: Sequence[Token]
    labels: Sequence[str]
    probabilities: Any


@runtime_checkable
class ProbabilitySource(Protocol):
    """A detector that gives the probabilities of labels at every word, those it leaves alone
    included.
    """

    def word_labels(self, notes: Sequence[Note]) -> Iterator[WordLabels]:
        """Yield the probabilities of each note, in order; the labels are those of all notes."""
        ...


@dataclass(frozen=True, slots=True)
class Failed:
    """A note that could not be processed.

    It goes to quarantine; it never becomes an empty ``SpanSet``.

    Args:
        note_id: The note, or the place in the source when the note has no id yet.
        stage: Where it failed, for example ``spans_rules``.
        error: Class name of the error. The message is not kept: it may quote the note.
    """

    note_id: str
    stage: str
    error: str


def runs_of(notes: Sequence[Note], *, chars: int) -> Iterator[Sequence[Note]]:
    """Yield runs of notes to be read together, each of at most ``chars`` code points or
    one note.
    """
    first, size = 0, 0
    for index, note in enumerate(notes):
        if index > first and size + len(note.text) > chars:
            yield notes[first:index]
            first, size = index, 0
        size += len(note.text)
    if first < len(notes):
        yield notes[first:]


@contextmanager
def pause_collector() -> Iterator[None]:
    """Keep the collector of cycles still, for work that makes many objects and no cycles.

    It would visit them all again and again.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def detect(
    detector: Detector,
    notes: Sequence[Note],
    *,
    stage: str | None = None,
    interruptible: bool = True,
) -> list[SpanSet | Failed]:
    """Return one result per note, in order: its spans, or why there are none.

    When the batch raises, its notes are replayed one by one; the note that raises alone is
    ``Failed``.

    Args:
        detector: Any object with the ``Detector`` attributes.
        notes: The batch.
        stage: Recorded in ``Failed``; the detector's name when not given.
        interruptible: Whether somebody can stop this process by raising an interrupt in it, which
            is raised on; it is the detector's own otherwise.
    """
    try:
        return list(_detect_checked(detector, notes))
    except BaseException as error:
        if interruptible and is_interrupt(error):
            raise
    return [
        _alone(detector, note, stage or Family.SPANS.of(detector.name), interruptible)
        for note in notes
    ]


def _alone(detector: Detector, note: Note, stage: str, interruptible: bool) -> SpanSet | Failed:
    try:
        return _detect_checked(detector, [note])[0]
    except BaseException as error:
        if interruptible and is_interrupt(error):
            raise
        return Failed(note.note_id, stage, class_name(error))


def is_interrupt(error: BaseException) -> bool:
    """Whether an error is a requested stop of the process.

    The core imports no Dagster and knows its class by name.
    """
    return (
        isinstance(error, KeyboardInterrupt)
        or class_name(error) == "DagsterExecutionInterruptedError"
    )


def _detect_checked(detector: Detector, notes: Sequence[Note]) -> list[SpanSet]:
    span_sets = list(detector.detect(notes))
    if len(span_sets) != len(notes):
        raise DetectorError(
            f"{detector.name}: {len(notes)} notes in, {len(span_sets)} span sets out"
        )
    for note, spans in zip(notes, span_sets, strict=True):
        check_spans(detector, note, spans)
    return span_sets


def check_spans(detector: Detector, note: Note, spans: SpanSet) -> None:
    """Check what a detector returned for a note.

    Raises:
        DigestError: The spans belong to another note or another version of its text.
        OffsetError: A span ends after the note does.
        DetectorError: A label is not declared, or a source is not the detector's name: what an
            ensemble does not know is not redacted. A native label is neither declared nor known,
            and may be text of the note.
    """
    spans.check_against(note)
    if len(spans) > MAX_SPANS:
        raise DetectorError(
            f"{detector.name}: note {note.note_id!r} has more than {MAX_SPANS} spans; join them"
        )
    if undeclared := {span.label for span in spans} - detector.labels:
        raise DetectorError(
            f"{detector.name}: note {note.note_id!r} has undeclared labels"
            f" {', '.join(sorted(undeclared))}"
        )
    if any(span.source != detector.name for span in spans):
        raise DetectorError(
            f"{detector.name}: note {note.note_id!r} has spans of another source; give each"
            f" source={detector.name!r}"
        )
    allowed = getattr(detector, "native_labels", frozenset()) | _KNOWN_LABELS
    if any(span.native_label not in allowed for span in spans):
        raise DetectorError(
            f"{detector.name}: note {note.note_id!r} has undeclared native labels; declare them as"
            " native_labels"
        )


_KNOWN_LABELS = frozenset({"", *Phi}).union(*(labels.labels for labels in LABEL_MAPS.values()))
"""Native labels that need no declaration."""
