"""Search: what the ensemble still finds in redacted text is redacted too.

A draw of the notes by key is searched, and all of them where the draw is not clean. What is found
in text that was kept of the original is covered too, and the note is searched again; one that stays
without an end is withheld.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from math import exp, lgamma, log, log1p
from typing import ClassVar

from deid_assets.core.detector import Failed
from deid_assets.core.errors import ConfigError, InputError
from deid_assets.core.keys import Key
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.redact import Edit, Redacted
from deid_assets.core.resolve import Ensemble
from deid_assets.core.span import Span, SpanSet
from deid_assets.pipeline.batch import Batch, Hits, SearchResult
from deid_assets.pipeline.denying import witnesses
from deid_assets.pipeline.resolving import Detect, Resolve

REDACTIONS = 4
"""How often a note with hits is redacted again before it is withheld."""

_STEPS = 60
"""Halvings of [0, 1]: the bound is found to 1e-18, which is finer than a float near 1."""


@dataclass(frozen=True, slots=True)
class SearchSample:
    """Draw of the notes that are searched.

    Args:
        key: Which notes are drawn follows from it and their ids, and nobody without it knows.
        size: Notes drawn; 0 takes all.
        limit: Largest share of notes with a hit that the draw may leave likely; above it all are
            searched.
    """

    key: Key = field(repr=False)
    size: int = 1000
    limit: float = 0.01

    def __str__(self) -> str:
        if not self.size:
            return "all redacted notes"
        limit = f"over {100 * self.limit:g}%"
        return f"{self.size:,} redacted notes drawn by key, in all if {limit} may have hits"

    def of(self, note_ids: Iterable[str]) -> frozenset[str]:
        """Return the ids that are drawn."""
        ranked = sorted(
            note_ids, key=lambda note_id: (self.key.seed("residual sample", note_id), note_id)
        )
        return frozenset(ranked[: self.size or len(ranked)])


@dataclass(frozen=True, slots=True)
class Search:
    """The ensemble reads redacted notes, and what it still finds is redacted too.

    Args:
        detect: The ensemble.
        resolve_by: Its overlap policy.
        draw: Which redacted notes are searched.
    """

    detect: Detect
    resolve_by: str
    draw: SearchSample
    name: ClassVar[str] = "search"

    def __str__(self) -> str:
        return f"{self.resolve_by} of {self.detect} in {self.draw}"

    def run(self, batch: Batch) -> Batch:
        """Return the batch with hits redacted, and notes withheld in which they do not end.

        Raises:
            ConfigError: The batch is not redacted.
        """
        if batch.redact is None:
            raise ConfigError("only redacted notes can be searched; put search after redact")
        redact = batch.redact

        def look(note_ids: Collection[str]) -> Hits:
            return self.look(batch, note_ids)

        def redo(hits: Mapping[str, Sequence[Span]]) -> Collection[str]:
            nonlocal batch
            again = redact(batch.select_with_hits(hits))
            batch = batch.update(again)
            return searchable(again)

        result = search_until_clean(searchable(batch), look=look, redo=redo, draw=self.draw)
        return replace(batch, search=result).withholding(result.withhold(self.name))

    def look(self, batch: Batch, note_ids: Collection[str]) -> Hits:
        """Return what the ensemble finds in text that was kept of these notes' originals."""
        chosen = frozenset(note_ids)
        redacted = [
            (note, batch.redacted[note.note_id]) for note in batch.notes if note.note_id in chosen
        ]
        keep = batch.policy.keep if batch.policy else frozenset[Phi]()
        return hits_in(redacted, detect=self.detect, resolve_by=self.resolve_by, keep=keep)


def searchable(batch: Batch) -> list[str]:
    """Return the ids of the notes that are searched: redacted ones that verify will let through."""
    return [
        note.note_id
        for note in batch.notes
        if note.note_id in batch.redacted
        and note.note_id not in batch.withheld
        and not batch.left[note.note_id].whole
    ]


def search_until_clean(
    note_ids: Sequence[str],
    *,
    look: Callable[[Collection[str]], Hits],
    redo: Callable[[Mapping[str, tuple[Span, ...]]], Collection[str]],
    draw: SearchSample,
) -> SearchResult:
    """Search notes, have those with hits redacted again, and search these until nothing is found.

    A note in which something is found after ``REDACTIONS`` more redactions is withheld.

    Args:
        note_ids: Of the redacted notes.
        look: Searches the notes with these ids, as they stand.
        redo: Covers what was found, by note id, in the note and the patient's other notes, redacts
            these notes again, and returns the ids of those among them that can be searched.
        draw: Which notes are searched.
    """
    chosen = draw.of(note_ids)
    hits = dict(look(chosen))
    drawn_hits = sum(map(bool, hits.values()))
    if len(chosen) < len(note_ids) and upper_bound(drawn_hits, len(chosen)) > draw.limit:
        hits |= look([note_id for note_id in note_ids if note_id not in chosen])
    again = _redact_until_clean(hits, look, redo)
    return SearchResult(hits, again, len(chosen), drawn_hits, len(note_ids))


def _redact_until_clean(
    hits: Hits,
    look: Callable[[Collection[str]], Hits],
    redo: Callable[[Mapping[str, tuple[Span, ...]]], Collection[str]],
) -> Hits:
    """Return the last look at each note that was redacted again.

    A detector that learnt from context may find more where a neighbour is covered, so that one more
    redaction is not always the last.
    """
    covered: dict[str, tuple[Span, ...]] = {}
    last: dict[str, tuple[Span, ...] | Failed] = {}
    found = _spans(hits)
    for _ in range(REDACTIONS):
        if not found:
            break
        covered |= {note_id: covered.get(note_id, ()) + spans for note_id, spans in found.items()}
        looked = look(redo(covered))
        last |= looked
        found = _spans(looked)
    return last


def _spans(hits: Hits) -> dict[str, tuple[Span, ...]]:
    return {note_id: hit for note_id, hit in hits.items() if hit and not isinstance(hit, Failed)}


def hits_in(
    redacted: Sequence[tuple[Note, Redacted]],
    *,
    detect: Detect,
    resolve_by: str,
    keep: frozenset[Phi],
) -> dict[str, tuple[Span, ...] | Failed]:
    """Return what an ensemble finds in text that was kept of the original.

    Each hit names all detectors that marked some of it, and as what, as native label.

    Args:
        redacted: Each note with its redaction.
        detect: The ensemble.
        resolve_by: Its overlap policy.
        keep: Categories that the policy keeps, which are no hit.
    """
    notes = [Note(note.note_id, one.text, note.patient_id, note.lang) for note, one in redacted]
    resolve = Resolve(resolve_by, Ensemble(detect.sources, yielding=keep))
    again = resolve.run(detect.run(Batch(notes)))
    return {
        one.note_id: again.withheld.get(one.note_id)
        or _keep_hits(_add_witnesses(one.note_id, again), one, keep)
        for _, one in redacted
    }


def _add_witnesses(note_id: str, batch: Batch) -> list[Span]:
    outcomes = [of[note_id] for of in batch.predictions.values() if note_id in of]
    said = [span for one in outcomes if isinstance(one, SpanSet) for span in one]
    return [
        replace(span, native_label=witnesses(one for one in said if one.overlaps(span)))
        for span in batch.spans[note_id]
    ]


def _keep_hits(outcome: Iterable[Span], found: Redacted, keep: frozenset[Phi]) -> tuple[Span, ...]:
    kept = [piece for piece in residual_hits(outcome, found.edits) if piece.label not in keep]
    starts = [found.to_redacted(piece.start) for piece in kept]
    texts = [
        found.text[start : start + piece.end - piece.start]
        for start, piece in zip(starts, kept, strict=True)
    ]
    return tuple(
        piece for piece, text in zip(kept, texts, strict=True) if any(map(str.isalnum, text))
    )


def residual_hits(hits: Iterable[Span], edits: Sequence[Edit]) -> list[Span]:
    """Return the parts of hits on a redacted text that lie in text kept from the original, in its
    offsets.

    A hit inside a replacement is a surrogate or a tag doing its work. A hit that reaches over the
    border of a replacement counts with its part outside.
    """
    kept: list[Span] = []
    for hit in hits:
        first = bisect_right(edits, hit.start, key=lambda edit: edit.new_end)
        cursor, shift = hit.start, edits[first - 1].end - edits[first - 1].new_end if first else 0
        for edit in islice(edits, first, None):
            if edit.new_end <= cursor:
                shift = edit.end - edit.new_end
            elif edit.new_start >= hit.end:
                break
            else:
                kept += _piece(hit, cursor, edit.new_start, shift)
                cursor, shift = max(cursor, edit.new_end), edit.end - edit.new_end
        kept += _piece(hit, cursor, hit.end, shift)
    return kept


def _piece(hit: Span, start: int, end: int, shift: int) -> list[Span]:
    if start >= end:
        return []
    return [Span(start + shift, end + shift, hit.label, hit.score, hit.source, hit.native_label)]


def upper_bound(hits: int, trials: int, *, confidence: float = 0.95) -> float:
    """Return the one-sided upper confidence bound of a proportion, exact for a draw with
    replacement.

    For a draw without replacement from few it is too high, never too low. 0 of 1,000 gives 0.0030.

    Args:
        hits: ``0 <= hits <= trials``.
        trials: Size of the sample; 0 says nothing, and gives 1.
        confidence: In (0, 1).

    Raises:
        InputError: A number is outside its range.

    Source:
        Clopper and Pearson (1934), Biometrika 26(4), 404-413.
    """
    if not (0 <= hits <= trials and 0 < confidence < 1):
        raise InputError(
            f"a bound needs 0 <= hits <= trials and a confidence in (0, 1), got {hits} of {trials}"
        )
    if hits == trials:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if _at_most(hits, trials, middle) > 1 - confidence:
            low = middle
        else:
            high = middle
    return high


def _at_most(hits: int, trials: int, share: float) -> float:
    """Return the probability of at most so many hits."""
    if share in {0.0, 1.0}:
        return 1.0 - share
    whole = lgamma(trials + 1)
    return sum(
        exp(
            whole
            - lgamma(count + 1)
            - lgamma(trials - count + 1)
            + count * log(share)
            + (trials - count) * log1p(-share)
        )
        for count in range(hits + 1)
    )
