"""Measurement of what was missed in a batch, read back from signed tables."""

from deid_assets.assets.ingest import GOLD, RAW_NOTES
from deid_assets.config import Settings
from deid_assets.evaluation.counts import Counts, Scheme
from deid_assets.pipeline.resolving import MERGED_SPANS
from deid_assets.quality.measurement import BatchMeasurement, ReleaseRequirements
from deid_assets.runtime.installation import Installation
from deid_assets.store.frames import scores_from_table


def wanted(settings: Settings) -> ReleaseRequirements:
    """Return what a release must show under these settings."""
    asked = settings.release
    return ReleaseRequirements(
        asked.require == "gold",
        settings.gates.min_gold_spans,
        notes=asked.annotated_notes,
        lower_bound=asked.lower_bound,
    )


def measure(batch: str, installation: Installation) -> BatchMeasurement:
    """Return what the gold of a batch shows of its merged spans."""
    files = installation.files
    scores = scores_from_table(files.read(MERGED_SPANS, batch, "scores")).get(MERGED_SPANS)
    return BatchMeasurement(
        notes=int(files.receipt(RAW_NOTES, batch).counts["notes"]),
        annotated=int(files.receipt(GOLD, batch).counts["annotated_notes"]),
        held_out=scores.notes.notes if scores else 0,
        covered=scores.micro(Scheme.COVERED) if scores else Counts(),
        wanted=wanted(installation.settings),
    )


def consequence(found: BatchMeasurement) -> str:
    """Return what follows for the release where a batch does not show what is asked, a sentence."""
    if found.wanted.gold and found.shortfall:
        stays = "The batch is not released, because release.require asks for annotated notes."
        return f"{found.shortfall} {stays}" if found.measured else stays
    return (
        ""
        if found.measured
        else "It may leave all the same, because release.require asks for none."
    )
