"""What it costs to attack a model with a release.

Measured on a share of the notes, and extrapolated.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from deid_audits.models.membership import ATTACKS, NEED_REFERENCE, Setup, scores
from deid_audits.models.scoring import Scorer, ScoringWork


@dataclass(frozen=True, slots=True)
class AttackCost:
    """Cost of one attack.

    Args:
        attack: Its name.
        samples: Texts that it was measured on.
        sequences: That a network read, for the target and the reference together.
        seconds: Of CPU.
    """

    attack: str
    samples: int
    sequences: int
    seconds: float

    def hours(self, samples: int, *, cores: int) -> float:
        """Return the hours that so many texts take where cores share the work evenly.

        Start-up is not in it.
        """
        return self.seconds / self.samples * samples / cores / 3_600


def costs(
    texts: Sequence[str], target: Scorer, reference: Scorer | None, calibration: Sequence[str]
) -> list[AttackCost]:
    """Return the cost of each membership attack on texts, each measured by itself.

    What an attack needs of another is in both, so that the sum is more than all together take.

    Args:
        texts: A share of the notes, cut to samples.
        target: The model under attack.
        reference: A model that did not read them; without it the attacks that need one are left
            out.
        calibration: Other texts.
    """
    found = []
    for attack in ATTACKS:
        if attack in NEED_REFERENCE and reference is None:
            continue
        references = [reference] if reference is not None and attack in NEED_REFERENCE else []
        scorers = [target, *references]
        for one in scorers:
            one.spent = ScoringWork()
        began = time.process_time()
        scores(texts, Setup(target, references, calibration), [attack])
        seconds = time.process_time() - began
        found.append(
            AttackCost(attack, len(texts), sum(one.spent.sequences for one in scorers), seconds)
        )
    return found
