"""What is asked of every set of notes and spans, and which of it has a check of its own in the UI."""

from collections.abc import Sequence

from deid_assets.core.note import Note
from deid_assets.core.span import SpanSet
from deid_assets.defs.audit import Check
from deid_assets.quality import Verdict, contracts, expectations, folded, frames

WELL_FORMED = "Ids, scores, sources and digests have the form they must have."

NOTES_APART = ("ids_unique", "not_empty", "encoding")
SPANS_APART = ("digests_match", "in_bounds", "labels_known", "no_overlap")


def note_checks() -> list[Check]:
    """Return the checks that ``judge_notes`` answers."""
    return _checks(contracts.raw_notes(), NOTES_APART)


def span_checks(*, disjoint: bool = False) -> list[Check]:
    """Return the checks that ``judge_spans`` answers."""
    sets, spans = contracts.span_sets(), (contracts.merged if disjoint else contracts.spans)(sources=())
    return _checks(contracts.Contract("spans", (*sets.expectations, *spans.expectations)), SPANS_APART)


def judge_notes(notes: Sequence[Note]) -> list[Verdict]:
    """Hold notes to their contract. Odd language codes are not judged here: they must not stop a batch."""
    verdicts = expectations.run(contracts.raw_notes(), frames.notes_frame(notes))
    judged = (verdict for verdict in verdicts if verdict.name != "language")
    return folded("well_formed", WELL_FORMED, judged, apart=NOTES_APART)


def judge_spans(
    notes: Sequence[Note], span_sets: Sequence[SpanSet], *, sources: Sequence[str], disjoint: bool = False
) -> list[Verdict]:
    """Hold span sets to their contract.

    Args:
        notes: The batch.
        span_sets: What was found or annotated in it.
        sources: Who may have found them.
        disjoint: Whether overlaps are forbidden.
    """
    spans = contracts.merged(sources=sources) if disjoint else contracts.spans(sources=sources)
    verdicts = [
        *expectations.run(contracts.span_sets(), frames.span_sets_frame(notes, span_sets)),
        *expectations.run(spans, frames.spans_frame(notes, span_sets)),
    ]
    return folded("well_formed", WELL_FORMED, verdicts, apart=SPANS_APART)


def _checks(contract: contracts.Contract, apart: Sequence[str]) -> list[Check]:
    own = [
        Check(expectation.name, expectation.description, expectation.blocking)
        for expectation in contract.expectations
        if expectation.name in apart
    ]
    return [*own, Check("well_formed", WELL_FORMED)]
