"""The steps of a private training that were begun.

They are counted before each, so that what a killed run drew of the notes is spent, whether its
weights were stored or not.
"""

from __future__ import annotations

import json
from pathlib import Path

from deid_assets.extending import TrainingError
from deid_assets.extending.files import atomic_file
from deid_causal.run import CHECKPOINT

SPENT = "spent.json"


class SpentSteps:
    """The count, in a file of the model's folder.

    Args:
        out: The folder.
        fingerprint: Of notes, settings and seed; the count of another training is not gone on
            with, since its notes may be those of the same patients.
        steps: That were accounted for.

    Raises:
        TrainingError: The folder holds another training, or its count is lost.
    """

    def __init__(self, out: Path, fingerprint: str, steps: int) -> None:
        self._path = out / SPENT
        self._fingerprint = fingerprint
        self._steps = steps
        self._begun = 0
        self.is_done = False
        if self._path.exists():
            self._read()
        elif (out / CHECKPOINT).exists():
            raise TrainingError(
                f"{out.name} holds a training without noise, or one that lost {SPENT}; name another"
                " folder"
            )

    def _read(self) -> None:
        try:
            values = json.loads(self._path.read_text("utf-8"))
            fingerprint = values["training"]
            self._begun = int(values["begun"])
            self.is_done = values["is_done"] is True
        except (OSError, ValueError, KeyError, TypeError):
            raise TrainingError(
                f"{self._path} is broken: what was spent is not known; name another folder"
            ) from None
        if fingerprint != self._fingerprint:
            raise TrainingError(
                f"{self._path.parent.name} holds a private training of other notes or settings,"
                " whose epsilon is spent; name another folder, and add the two"
            )

    def begin_step(self) -> bool:
        """Count a step and return whether there was one left."""
        if self._begun >= self._steps:
            return False
        self._begun += 1
        self._write()
        return True

    def end(self) -> None:
        """Say that the model is written, so that it is not made again."""
        self.is_done = True
        self._write()

    def _write(self) -> None:
        values = {"training": self._fingerprint, "begun": self._begun, "is_done": self.is_done}
        with atomic_file(self._path) as file:
            file.write(json.dumps(values).encode())
