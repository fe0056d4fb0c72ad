"""Settings of what the privacy audits are given."""

from __future__ import annotations

from pathlib import Path

from deid_assets.config.frozen import Frozen


class PrivacySettings(Frozen):
    """What the privacy audits are given beside the notes with gold.

    An audit that lacks what it needs is not assessed.

    Args:
        model: Folder of a language model that was trained on the notes.
        reference: Folder of one that was not.
        training: Notes that the model was trained on, as a file, folder or
            ``synthetic:LANG:NOTES:SEED``.
        held_out: Notes of the same kind that it was not trained on.
        calibration: Notes for thresholds, in neither.
        canaries: File of secrets that were planted in the training notes.
        population: File of people among whom a patient is to be found.
    """

    model: Path | None = None
    reference: Path | None = None
    training: str = ""
    held_out: str = ""
    calibration: str = ""
    canaries: Path | None = None
    population: Path | None = None
