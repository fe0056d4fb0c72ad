"""What somebody has yet to do before batches leave, or may do next, as ``make run`` says it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from deid_assets.assets.evidence import page_of
from deid_assets.assets.measuring import measure
from deid_assets.assets.repeats import repeats
from deid_assets.core.errors import ProvenanceError
from deid_assets.intake.states import BatchState, BatchStatus, earlier_line
from deid_assets.pipeline.resolving import MERGED_SPANS
from deid_assets.quality.measurement import BatchMeasurement
from deid_assets.reports.advice import CURVE
from deid_assets.runtime.installation import Installation

SAMPLE = "deid sample NOTES --notes 50 --out sample.jsonl"


@dataclass(frozen=True, slots=True)
class Waiting:
    """Batches for which somebody has yet to do something.

    Args:
        unmeasured: Stay until people annotated more of them.
        unapproved: Stay until somebody approved their pages.
        unknown: Were released without being measured.
        outdated: Have an earlier release that the present settings, or the present checks, would
            not let out.
        repeated: Batch to how many of its notes arrived before.
    """

    unmeasured: Mapping[str, BatchMeasurement]
    unapproved: Mapping[str, Path]
    unknown: Mapping[str, BatchMeasurement]
    outdated: Sequence[BatchStatus]
    repeated: Mapping[str, int]

    def lines(self) -> list[str]:
        """Return a line for each kind of them."""
        lines = []
        if self.unmeasured:
            needed = next(iter(self.unmeasured.values())).needed
            lines.append(
                f"{_name_batches(self.unmeasured)} not released yet, since not measured: {needed}."
                ' Annotate a sample with `deid sample`, or set release.require = "none" to release'
                " without knowing what was missed"
            )
        if self.unapproved:
            page = next(iter(self.unapproved.values()))
            lines.append(
                f"{_name_batches(self.unapproved)} not released yet, since not approved: read"
                f" {page} and run `deid approve` with it"
            )
        if self.unknown:
            needed = next(iter(self.unknown.values())).needed
            lines.append(
                f"{_name_batches(self.unknown)} released without being measured: {needed}. What was"
                " missed is unknown; annotate a sample with `deid sample`"
            )
        if self.outdated:
            lines.append(earlier_line(self.outdated))
        if self.repeated:
            lines.append(
                f"{_name_batches(self.repeated)} here before, in part or whole:"
                f" {sum(self.repeated.values()):,} notes are in an earlier batch too, and are"
                " scored once. `deid batches withdraw BATCH` takes a batch out; it keeps the"
                " original files"
            )
        return lines

    def next_step(self, found: Sequence[BatchStatus]) -> str:
        """Return what helps most now."""
        bad = next(
            (
                one.batch
                for one in found
                if one.state in (BatchState.UNREADABLE, BatchState.STOPPED)
            ),
            "",
        )
        if bad:
            return f"see what stopped {bad}: deid batches show {bad}"
        if self.unmeasured:
            return f"annotate a sample, so that batches can be released: {SAMPLE}"
        if self.unapproved:
            return (
                f"read the page, then: deid approve {next(iter(self.unapproved.values()))} --by"
                " NAME"
            )
        if self.unknown:
            return f"annotate a sample, so that what was missed is known: {SAMPLE}"
        return f"annotate ten of your notes and see what they add: {CURVE}"


def waiting(installation: Installation, found: Sequence[BatchStatus]) -> Waiting:
    """Return what waits, of batches as they were looked at."""
    short = _short(installation, found)
    unmeasured = {batch: one for batch, one in short.items() if one.wanted.gold}
    waits = [
        one.batch
        for one in found
        if one.state is BatchState.WAITING and one.batch not in unmeasured
    ]
    pages = {batch: page_of(installation.settings, batch) for batch in waits}
    released = {one.batch for one in found if one.state is BatchState.RELEASED}
    return Waiting(
        unmeasured=unmeasured,
        unapproved=pages if installation.settings.release.approval else {},
        unknown={
            batch: one for batch, one in short.items() if batch in released - unmeasured.keys()
        },
        outdated=[one for one in found if one.keeps_release],
        repeated=_find_repeated(installation, found),
    )


def _short(installation: Installation, found: Sequence[BatchStatus]) -> dict[str, BatchMeasurement]:
    """Return what is known of the batches that have too few annotations."""
    short = {}
    for one in found:
        with suppress(ProvenanceError):  # its stop says more
            is_done = one.state in (BatchState.MADE, BatchState.WAITING, BatchState.RELEASED)
            if is_done and installation.files.find(MERGED_SPANS, one.batch):
                measured = measure(one.batch, installation)
                if measured.shortfall:
                    short[one.batch] = measured
    return short


def _find_repeated(installation: Installation, found: Sequence[BatchStatus]) -> dict[str, int]:
    present = [one.batch for one in found if one.state is not BatchState.WITHDRAWN]
    with suppress(ProvenanceError):  # the stop of the batch says more
        return {
            batch: len(notes) for batch, notes in repeats(installation, present).items() if notes
        }
    return {}


def _name_batches(batches: Mapping[str, object]) -> str:
    """Return one batch, or the first of several, as the subject of a sentence with its verb."""
    first = next(iter(batches))
    return (
        f"batch {first} was"
        if len(batches) == 1
        else f"batch {first} and {len(batches) - 1:,} more were"
    )
