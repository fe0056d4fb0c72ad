"""What the audits share.

From estimates to measurements, texts cut to samples, and the rate of the work.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from deid_assets import Note
from deid_assets.extending import InputError
from deid_assets.extending.audits import Control, Measurement
from deid_audits.models.measures import AttackEstimate
from deid_audits.models.opened import check_reads, open_model
from deid_audits.models.scoring import Scorer

_WORD = re.compile(r"\S+")
WORDS = 48
"""Words of a sample."""
SURE = 0.6
"""Lower end of an AUC's interval above which a negative control counts as having reacted."""


@dataclass(frozen=True, slots=True)
class Samples:
    """Texts cut to samples.

    Args:
        texts: Samples.
        notes: Id of each one's note.
        patients: Id of each one's patient; the note's where it has none.
    """

    texts: tuple[str, ...] = field(repr=False)
    notes: tuple[str, ...]
    patients: tuple[str, ...] = field(repr=False)


@dataclass(slots=True)
class AuditProgress:
    """Tells the steps of an audit as they begin.

    Args:
        report: Of the material.
        steps: What they are, in their order.
    """

    report: Callable[[int, int, str], None]
    steps: Sequence[str]
    _begun: int = 0

    def begin(self) -> None:
        """Tell that the next step begins."""
        self.report(self._begun, len(self.steps), self.steps[self._begun])
        self._begun += 1


def samples(notes: Sequence[Note], *, most: int, seed: int) -> Samples:
    """Return stretches of whole words of notes, at most so many, drawn note by note.

    Equal texts stand once.
    """
    order = random.Random(seed).sample(list(notes), len(notes))  # noqa: S311 - a subset
    found: dict[str, tuple[str, str]] = {}
    for note in order:
        for text in stretches(note):
            found.setdefault(text, (note.note_id, note.patient_id or note.note_id))
        if len(found) >= most:
            break
    kept = list(found.items())[:most]
    return Samples(
        tuple(text for text, _ in kept),
        tuple(one for _, (one, _) in kept),
        tuple(p for _, (_, p) in kept),
    )


def stretches(note: Note) -> list[str]:
    """Return the samples of a note.

    ``WORDS`` words at a time, with blanks and line ends as the model read them.
    """
    words = [found.span() for found in _WORD.finditer(note.text)]
    parts = [words[at : at + WORDS] for at in range(0, len(words), WORDS)]
    return [note.text[part[0][0] : part[-1][1]] for part in parts]


def open_scorer(folder: Path | None, texts: Sequence[str]) -> Scorer:
    """Return a scorer of a model, once it has shown that it reads such texts.

    Raises:
        InputError: The model is none, or has the tokenizer of another.
    """
    if folder is None:
        raise InputError("there is no model; give its folder")
    scorer = Scorer(open_model(folder))
    read = scorer.tokens(texts[:20])
    check_reads(
        scorer.lm.name,
        [one.loss for one in read],
        sum(len(one.logp) for one in read),
        scorer.lm.vocabulary,
    )
    return scorer


def make_measurements(
    estimates: Iterable[AttackEstimate], *, group: str, unit: str
) -> list[Measurement]:
    """Return estimates as an audit gives them."""
    return [
        Measurement(
            name=one.name,
            value=float(one.value),
            low=float(one.low),
            high=float(one.high),
            chance=one.chance,
            units=one.units,
            unit=unit,
            group=group,
        )
        for one in estimates
    ]


def control(
    name: str, found: AttackEstimate, *, expected: bool, border: float, description: str, unit: str
) -> Control:
    """Return a control that reacts when the lower end of its interval is above a border."""
    return Control(
        name=name,
        expected=expected,
        reacted=bool(found.low > border),
        description=(
            f"{description} It reacts when the lower end of the interval is above {border:g}."
        ),
        measurement=make_measurements([found], group=name, unit=unit)[0],
    )


def work(*scorers: Scorer) -> dict[str, int]:
    """Return counts of the work.

    Sequences read and sequences per second of CPU, the latter rounded.
    """
    sequences = sum(one.spent.sequences for one in scorers)
    seconds = sum(one.spent.seconds for one in scorers)
    return {
        "sequences read": sequences,
        "sequences per second of CPU": round(sequences / seconds) if seconds else 0,
    }
