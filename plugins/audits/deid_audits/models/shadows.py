"""Shadow models: trained as the target was, each on a random half of the notes, so that it is known
what each has read.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from deid_assets import Note
from deid_assets.extending import InputError
from deid_audits.models.auditing import stretches
from deid_audits.models.membership import Floats, shadow_ratio
from deid_audits.models.opened import open_model
from deid_audits.models.scoring import Scorer

SETTINGS = "shadows.json"
FEWEST = 4
"""Fewest shadow models.

With one taken out for a target, a text is still inside one and outside another.
"""


@dataclass(frozen=True, slots=True)
class Shadows:
    """What a folder of shadow models holds.

    Args:
        folder: It.
        count: Models.
        seed: Of the halves.
        notes: Digest of all notes that halves are drawn from.
    """

    folder: Path
    count: int
    seed: int
    notes: str

    def scores(
        self, notes: Sequence[Note], texts: Sequence[str], target: Scorer
    ) -> tuple[Floats, NDArray[np.bool_]]:
        """Return each model's scores of texts and which texts each has read.

        (shadow models, texts) both.

        Raises:
            InputError: They were trained on other notes, or a model is of another kind than the
                target.
        """
        if digest(notes) != self.notes:
            raise InputError(
                "the shadow models were trained on halves of other notes; give the training and"
                " held-out notes of deid privacy shadows"
            )
        rows = []
        for number in range(self.count):
            scorer = Scorer(open_model(self.folder / model_name(number)))
            if scorer.lm.kind != target.lm.kind:
                raise InputError(
                    f"the shadow models are {scorer.lm.kind} and the target is {target.lm.kind}"
                )
            rows.append([-one.loss for one in scorer.tokens(texts)])
            target.spent.sequences += scorer.spent.sequences
            target.spent.seconds += scorer.spent.seconds
        return np.array(rows), _read(notes, texts, halves(notes, self.count, seed=self.seed))


def ratios(own: Floats, scores: Floats, read: NDArray[np.bool_]) -> Floats:
    """Return the likelihood ratio of each text; see ``shadow_ratio``."""
    return shadow_ratio(own, np.where(read, scores, np.nan), np.where(read, np.nan, scores))


def halves(notes: Sequence[Note], count: int, *, seed: int) -> NDArray[np.bool_]:
    """Return which shadow model reads which note: (models, notes).

    Every text is in half of the models, drawn by the seed and the text, so that equal texts go
    together.
    """
    found = np.zeros((count, len(notes)), dtype=bool)
    for at, note in enumerate(notes):
        drawn = hashlib.sha256(f"{seed} {note.digest}".encode()).digest()
        found[np.random.default_rng(list(drawn)).permutation(count)[: count // 2], at] = True
    return found


def digest(notes: Sequence[Note]) -> str:
    """Return what stands for a set of notes."""
    return hashlib.sha256(" ".join(sorted(note.digest for note in notes)).encode()).hexdigest()


def read_shadows(folder: Path) -> Shadows:
    """Return the shadow models of a folder.

    Raises:
        InputError: It is none, or not all of them are there.
    """
    try:
        known = json.loads((folder / SETTINGS).read_text("utf-8"))
        found = Shadows(folder, int(known["count"]), int(known["seed"]), str(known["notes"]))
    except (OSError, ValueError, KeyError):
        raise InputError(
            f"{folder.name}: no folder of shadow models; deid privacy shadows makes one"
        ) from None
    if lacking := [
        number for number in range(found.count) if not (folder / model_name(number)).exists()
    ]:
        raise InputError(
            f"{folder.name}: {len(lacking)} of {found.count} shadow models are not trained; run it"
            " again"
        )
    return found


def model_name(number: int) -> str:
    """Return the folder of a shadow model, inside the folder of all."""
    return f"shadow-{number:03d}"


def _read(
    notes: Sequence[Note], texts: Sequence[str], drawn: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Return which texts stand in a note that a model read: (models, texts)."""
    place = {text: at for at, text in enumerate(texts)}
    found = np.zeros((len(drawn), len(texts)), dtype=bool)
    for note, inside in zip(notes, drawn.T, strict=True):
        for text in stretches(note):
            if text in place:
                found[inside, place[text]] = True
    return found
