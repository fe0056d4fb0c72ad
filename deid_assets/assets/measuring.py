"""Measurement of what was missed in a batch, read back from signed tables."""

from dataclasses import dataclass

from deid_assets.assets.detection import read_outcomes
from deid_assets.assets.gates import score_pairs
from deid_assets.assets.ingest import GOLD, RAW_NOTES
from deid_assets.assets.merging import pair_with_gold, read_gold
from deid_assets.assets.studies import read_received
from deid_assets.config import Settings
from deid_assets.core.phi import profile
from deid_assets.evaluation.counts import Counts, Scheme
from deid_assets.evaluation.score import Evaluation
from deid_assets.pipeline.resolving import MERGED_SPANS
from deid_assets.quality.measurement import BatchMeasurement, ReleaseRequirements
from deid_assets.runtime.installation import Installation
from deid_assets.store.frames import notes_from_table, scores_from_table


def read_requirements(settings: Settings) -> ReleaseRequirements:
    """Return what a release must show under these settings."""
    asked = settings.release
    return ReleaseRequirements(
        asked.require == "gold",
        settings.gates.min_gold_spans,
        notes=asked.annotated_notes,
        lower_bound=asked.lower_bound,
    )


@dataclass(frozen=True, slots=True)
class ScoredNotes:
    """The notes of a batch that a release takes, as far as people annotated them.

    Args:
        notes: Notes that it takes.
        annotated: Those that people annotated.
        scores: What the merged spans of those show that no tagger is trained on; ``None`` where
            there is none.
    """

    notes: int
    annotated: int
    scores: Evaluation | None


def score(batch: str, installation: Installation) -> ScoredNotes:
    """Return what people's annotations show of the merged spans: of all notes of a batch, or of
    those alone that a study takes.
    """
    files = installation.files
    annotated = int(files.receipt(GOLD, batch).counts["annotated_notes"])
    if installation.study is None:
        scores = scores_from_table(files.read(MERGED_SPANS, batch, "scores")).get(MERGED_SPANS)
        return ScoredNotes(int(files.receipt(RAW_NOTES, batch).counts["notes"]), annotated, scores)
    notes = notes_from_table(read_received(batch, installation).notes)
    if not annotated:
        return ScoredNotes(len(notes), 0, None)
    gold = read_gold(batch, installation)
    own = [note for note in notes if note.note_id in gold]
    held_out = {
        note.note_id: gold[note.note_id] for note in own if not installation.is_learnt_from(note)
    }
    if not held_out:
        return ScoredNotes(len(notes), len(own), None)
    pairs = pair_with_gold(held_out, read_outcomes(MERGED_SPANS, batch, installation))
    counted = profile(installation.settings.profile)
    return ScoredNotes(len(notes), len(own), score_pairs(own, pairs, counted=counted).scores)


def measure(batch: str, installation: Installation) -> BatchMeasurement:
    """Return what people's annotations show of what is missed in the notes of a release."""
    return measurement(score(batch, installation), installation.settings)


def measurement(found: ScoredNotes, settings: Settings) -> BatchMeasurement:
    """Return what scores show of what is missed, beside what a release must show."""
    return BatchMeasurement(
        notes=found.notes,
        annotated=found.annotated,
        held_out=found.scores.notes.notes if found.scores else 0,
        covered=found.scores.micro(Scheme.COVERED) if found.scores else Counts(),
        wanted=read_requirements(settings),
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
