"""Expectations on every set of notes and spans, and which of them are checks of their own in the
UI.
"""

from collections.abc import Sequence

from deid_assets.assets.declarations import Check
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.span import SpanSet
from deid_assets.quality import Verdict, fold_verdicts, frames
from deid_assets.quality.expectations import run
from deid_assets.quality.suites import Suite, builtin

WELL_FORMED = "Ids, scores, sources and digests have the form they must have."

NOTES_APART = ("ids_unique", "not_empty", "encoding")
SPANS_APART = ("digests_match", "in_bounds", "labels_known", "no_overlap")


def note_checks() -> list[Check]:
    """Return the checks that ``judge_notes`` answers."""
    return _checks([builtin("raw_notes")], NOTES_APART)


def span_checks(*, disjoint: bool = False) -> list[Check]:
    """Return the checks that ``judge_spans`` answers."""
    return _checks([builtin("span_sets"), *_span_suites(disjoint=disjoint)], SPANS_APART)


def judge_notes(notes: Sequence[Note]) -> list[Verdict]:
    """Return what the suite of notes says of a batch."""
    verdicts = run(builtin("raw_notes"), frames.notes_frame(notes))
    return fold_verdicts("well_formed", WELL_FORMED, verdicts, apart=NOTES_APART)


def judge_spans(
    notes: Sequence[Note],
    span_sets: Sequence[SpanSet],
    *,
    sources: Sequence[str],
    disjoint: bool = False,
) -> list[Verdict]:
    """Return what the suites of span sets and of spans say.

    Args:
        notes: The batch.
        span_sets: What was found or annotated in it.
        sources: Who may have found them.
        disjoint: Whether overlaps are forbidden.
    """
    spans = frames.spans_frame(notes, span_sets)
    verdicts = run(builtin("span_sets"), frames.span_sets_frame(notes, span_sets))
    for suite in _span_suites(disjoint=disjoint):
        verdicts += run(suite, spans, sources=sources, labels=[label.value for label in Phi])
    return fold_verdicts("well_formed", WELL_FORMED, verdicts, apart=SPANS_APART)


def _span_suites(*, disjoint: bool) -> list[Suite]:
    return [builtin("spans"), *([builtin("disjoint_spans")] if disjoint else [])]


def _checks(suites: Sequence[Suite], apart: Sequence[str]) -> list[Check]:
    own: list[Check] = []
    for suite in suites:
        own += [_check(suite, name) for name in suite.checks if name in apart]
    return [*own, Check("well_formed", WELL_FORMED)]


def _check(suite: Suite, name: str) -> Check:
    """Return the check that a suite's expectations of one name make together."""
    parts = suite.checks[name]
    return Check(
        name,
        "; ".join(each.description for each in parts),
        blocking=any(each.is_blocking for each in parts),
    )
