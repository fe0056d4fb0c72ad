"""Training windows: pieces of annotated notes, and what each may be."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from deid_compact.augmentation import pools_of
from deid_compact.labels import NO_TARGET, Targets
from deid_compact.notes import MarkedNote, add_copies, targets_of
from deid_encoder.pieces import PieceReader
from deid_encoder.settings import EncoderSettings


@dataclass(frozen=True, slots=True)
class WindowExample:
    """A window of a training note.

    Args:
        pieces: Numbers of its pieces, with the two at its ends.
        targets: Number of each piece's target, or ``NO_TARGET`` of those two.
    """

    pieces: Sequence[int] = field(repr=False)
    targets: Sequence[int] = field(repr=False)


def examples_of(
    notes: Sequence[MarkedNote],
    *,
    targets: Targets,
    reader: PieceReader,
    settings: EncoderSettings,
    seed: int,
    names: Sequence[str] = (),
) -> list[WindowExample]:
    """Return the windows of notes and of their varied copies, the same for one seed.

    Args:
        notes: Annotated notes.
        targets: Receives what pieces may be.
        reader: Of the encoder.
        settings: Of the recipe.
        seed: Of the copies.
        names: Words of names for the copies, beside those in the notes.
    """
    chance = random.Random(seed)  # noqa: S311 - no secret
    pools = pools_of([(note.text, note.marks) for note in notes], names)
    found: list[WindowExample] = []
    for note in notes:
        for copy in add_copies(note, pools, settings.copies, chance):
            found += windows_of(copy, targets=targets, reader=reader, settings=settings)
    return [example for example in found if len(example.pieces) > 2]


def windows_of(
    note: MarkedNote, *, targets: Targets, reader: PieceReader, settings: EncoderSettings
) -> Iterator[WindowExample]:
    """Yield the windows of a note."""
    pieced = reader.read(note.text)
    labels = targets_of(note, pieced.offsets, targets).tolist()
    for window in reader.windows(pieced, length=settings.window, step=settings.step):
        part = labels[window.first : window.first + settings.window]
        yield WindowExample(window.numbers, [NO_TARGET, *part, NO_TARGET])
