"""Whether the ensemble would cover more with a detector in shadow: what is to be seen before the
settings take it.
"""

from collections.abc import Mapping, Sequence

from deid_assets.assets.declarations import Check
from deid_assets.assets.detection import read_notes_of, read_outcomes
from deid_assets.assets.merging import pair_with_gold
from deid_assets.assets.repeats import Repeats, read_scored
from deid_assets.assets.shadow import gold_of_sample
from deid_assets.core.assets import Family
from deid_assets.core.phi import profile
from deid_assets.core.resolve import Ensemble
from deid_assets.evaluation.comparison import Ratio, Row
from deid_assets.evaluation.resampling import compare
from deid_assets.evaluation.score import Scheme, evaluate_by_note
from deid_assets.pipeline.resolving import LEAVABLE, by_note, resolve_all
from deid_assets.quality import Verdict
from deid_assets.runtime.installation import Installation

PROMOTED = Check(
    "promoted",
    "With this detector the ensemble covers more of the annotated spans, beyond chance. It enters"
    " by the settings alone.",
    blocking=False,
)
_BEFORE, _AFTER = "ensemble", "with it"


def judge_candidate(
    installation: Installation, detector: str, batches: Sequence[str], repeated: Repeats
) -> Verdict:
    """Return whether the 95 % interval of the paired difference in covered spans lies above zero.

    Notes are those that the detector and the whole ensemble ran on. What a wider ensemble costs in
    precision is told beside.

    Args:
        installation: The installation.
        detector: In shadow.
        batches: With gold and its spans.
        repeated: Notes of them that stand in an earlier batch too.
    """
    rows: dict[str, dict[str, Row]] = {_BEFORE: {}, _AFTER: {}}
    patients: dict[str, str] = {}
    ensemble = [Family.SPANS.of(name) for name in installation.settings.ensemble]
    for batch in batches:
        if not all(installation.files.find(asset, batch) for asset in ensemble):
            continue
        of_batch = _rows(installation, detector, batch, repeated)
        for name, found in of_batch.items():
            rows[name] |= {f"{batch}/{note}": row for note, row in found.items()}
        patients |= {
            f"{batch}/{note.note_id}": note.patient_id
            for note in read_notes_of(batch, installation)
            if note.patient_id is not None and note.note_id in of_batch[_BEFORE]
        }
    verdict = Verdict(PROMOTED.name, True, False)
    if not rows[_BEFORE]:
        return verdict.unless(True, "no annotated notes that it and the ensemble ran on")
    compared = compare(rows, patients=patients)
    recall = compared.difference(_AFTER, Scheme.COVERED, Ratio.RECALL)
    if recall is None:
        return verdict.unless(True, "nothing is annotated in the notes that they ran on")
    precision = compared.difference(_AFTER, Scheme.CHARACTERS, Ratio.PRECISION)
    counts = {
        "recall_gained": round(recall.value, 4),
        "lower_recall_gained": round(recall.low, 4),
        "upper_recall_gained": round(recall.high, 4),
        **({"precision_lost": round(-precision.value, 4)} if precision else {}),
        "annotated_notes": len(rows[_BEFORE]),
        f"{compared.unit}s": compared.units,
    }
    told = "Add it to `ensemble` there" if recall.low > 0 else "Leave it scored and not used"
    return Verdict(PROMOTED.name, recall.low > 0, False, counts, f"{PROMOTED.description} {told}.")


def _rows(
    installation: Installation, detector: str, batch: str, repeated: Repeats
) -> Mapping[str, dict[str, Row]]:
    """Return the counts of each note of a batch, of the ensemble without and with the detector."""
    notes = read_notes_of(batch, installation)
    settings, counted = installation.settings, profile(installation.settings.profile)
    lengths = {note.note_id: len(note.text) for note in notes}
    names = (*settings.ensemble, detector)
    predictions = {
        name: read_outcomes(Family.SPANS.of(name), batch, installation) for name in names
    }
    receipt = installation.files.receipt(Family.SPANS.of(detector), batch)
    scored = read_scored(batch, installation, notes, repeated)
    gold = gold_of_sample(scored, predictions[detector], receipt)
    found: dict[str, dict[str, Row]] = {}
    for name, sources in ((_BEFORE, settings.ensemble), (_AFTER, names)):
        together = Ensemble(sources, yielding=LEAVABLE)
        chosen = [note for note in notes if note.note_id in gold]
        outcomes = resolve_all(chosen, predictions, resolve_by=settings.resolve, ensemble=together)
        pairs = pair_with_gold(gold, by_note(outcomes))
        _, found[name] = evaluate_by_note(pairs, profile=counted, lengths=lengths)
    return found
