"""What the study of generated notes compares, and which notes stand in which part of a fold."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from deid_assets import Note
from deid_assets.extending import DisjointSpans, Document, InputError, Span, sentences, tokenize
from deid_privacy.utility.jobs import split

LARGER, SMALLER = "larger", "smaller"
SHARES, VOLUMES = (5, 25, 50, 95), (5, 100, 400)
"""Percent of a fold's notes that are learnt, and of them that are generated, as published."""
DEV = 0.05
"""Share of the notes beside the test fold that generated ones begin as."""
STARTER, EACH = 3, 80
"""Words of a starter, and notes that are generated of it."""
EXPERIMENTS = {
    "total": "generator and annotator learn the same notes",
    "generator": "the generator learns fewer notes",
    "annotator": "the annotator learns fewer notes",
    "size": "a smaller generator",
    "volume": "fewer generated notes",
}
UNITS = ("notes", "sentences")
_STARTER = re.compile(rf"\s*(?:\S+\s+){{0,{STARTER - 1}}}\S+")


@dataclass(frozen=True, slots=True, order=True)
class SynthesisCell:
    """One setting of an experiment.

    Args:
        adapted: Percent of a fold's notes that the generator learns; 0 for none.
        annotated: Percent of them that the annotator learns.
        volume: Generated notes, in percent of a fold's notes.
        base: ``larger`` or ``smaller``.
    """

    adapted: int
    annotated: int
    volume: int
    base: str = LARGER

    @property
    def name(self) -> str:
        """Part of the names of its files."""
        return f"{self.adapted}-{self.annotated}-{self.volume}-{self.base}"


@dataclass(frozen=True, slots=True)
class StudiedNotes:
    """The annotated notes of the study.

    Args:
        source: Their file or folder.
        digest: Of their texts and spans.
        lang: Their language.
        unit: What a document is: a note, or a sentence of one, as the Swedish ones were.
        limit: Notes that are taken, the first ones; 0 for all.
    """

    source: str
    digest: str
    lang: str
    unit: str
    limit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratorPlan:
    """How generators are made, and how they write.

    Args:
        larger: Folder of the base model; empty for one that is made here.
        smaller: The same of the smaller one.
        base_notes: Notes that a base made here learns.
        base_epochs: Passes over them.
        method: ``lora`` or ``full``.
        bits: Of the base's weights under an adapter.
        epochs: Of the adaptation.
        learning_rate: Of it.
        length: Most tokens that a generator reads, and of a base made here, writes.
        each: Notes of a starter.
        is_free: Whether a starter ends before the first identifier.
    """

    larger: str = ""
    smaller: str = ""
    base_notes: str
    base_epochs: int = 6
    method: str = "lora"
    bits: int = 32
    epochs: int = 6
    learning_rate: float = 1e-4
    length: int = 512
    each: int = EACH
    is_free: bool = False

    def find_given(self, base: str) -> str:
        """Return the folder of a base that is not made here, else nothing."""
        return self.larger if base == LARGER else self.smaller


@dataclass(frozen=True, slots=True, kw_only=True)
class SynthesisPlan:
    """The whole study.

    Args:
        notes: That it is of.
        generator: How notes are generated.
        tagger: Digest of the recipe of annotators and taggers.
        folds: Of the cross-validation.
        seed: Of everything random.
        shares: Percent of a fold's notes.
        volumes: Percent of generated notes.
        experiments: Of ``EXPERIMENTS``.
        is_attacked: Whether membership is inferred from the generators.

    Raises:
        InputError: A share, a volume, a unit or an experiment is none.
    """

    notes: StudiedNotes
    generator: GeneratorPlan
    tagger: str
    folds: int = 5
    seed: int = 1
    shares: Sequence[int] = SHARES
    volumes: Sequence[int] = VOLUMES
    experiments: Sequence[str] = ("total",)
    is_attacked: bool = False

    def __post_init__(self) -> None:
        if unknown := [name for name in self.experiments if name not in EXPERIMENTS]:
            raise InputError(
                f"unknown experiment {unknown[0]!r}; choose of {', '.join(EXPERIMENTS)}"
            )
        if self.notes.unit not in UNITS:
            raise InputError(f"unknown unit {self.notes.unit!r}; choose of {', '.join(UNITS)}")
        if wrong := [one for one in self.shares if not 1 <= one <= 95]:
            raise InputError(
                f"share {wrong[0]}: 5 % of the notes beside the test fold begin generated ones, so"
                " take 1 to 95"
            )
        if wrong := [one for one in self.volumes if one < 1]:
            raise InputError(f"volume {wrong[0]}: take 1 % or more")
        if "size" in self.experiments and bool(self.generator.larger) != bool(
            self.generator.smaller
        ):
            raise InputError("one of two bases is given; give both, or none")

    @property
    def claimed(self) -> dict[str, Any]:
        """What every file of the folder rests on.

        Shares, volumes and experiments may be added to later.
        """
        own = asdict(self)
        return {name: own[name] for name in ("notes", "generator", "tagger", "folds", "seed")}

    @property
    def cells(self) -> dict[str, list[SynthesisCell]]:
        """Settings by experiment; what two experiments have is made once."""
        most, volume = max(self.shares), max(self.volumes)
        whole = SynthesisCell(most, most, volume)
        every = {
            "total": [SynthesisCell(one, one, volume) for one in self.shares],
            "generator": [SynthesisCell(one, most, volume) for one in (0, *self.shares)],
            "annotator": [SynthesisCell(most, one, volume) for one in self.shares],
            "size": [SynthesisCell(most, most, volume, SMALLER), whole],
            "volume": [SynthesisCell(most, most, one) for one in self.volumes],
        }
        return {name: every[name] for name in self.experiments}

    @property
    def wanted(self) -> list[SynthesisCell]:
        """Every setting once, in order."""
        return sorted({cell for cells in self.cells.values() for cell in cells})


@dataclass(frozen=True, slots=True)
class FoldParts:
    """The notes of a fold.

    Args:
        rest: All that may be learnt, in an order drawn at random; shares are its beginnings.
        dev: Those that generated notes begin as.
        test: Those that scores are of.
    """

    rest: Sequence[Document]
    dev: Sequence[Document]
    test: Sequence[Document]

    @property
    def size(self) -> int:
        """Notes beside the test fold, of which shares and volumes are."""
        return len(self.rest) + len(self.dev)

    def volume(self, percent: int) -> int:
        """Return how many generated notes a volume is."""
        return math.ceil(percent / 100 * self.size)

    def share(self, percent: int) -> Sequence[Document]:
        """Return a share of the notes; 95 % are all that may be learnt."""
        count = max(1, round(percent / 100 * self.size))
        return self.rest if percent == round(100 * (1 - DEV)) else self.rest[:count]


def fold_parts(documents: Sequence[Document], fold: int, plan: SynthesisPlan) -> FoldParts:
    """Return the parts of a fold; all that is of one patient is in one of them.

    Raises:
        InputError: There are fewer patients than two a fold.
    """
    of_owner: dict[str, list[Document]] = {}
    for one in documents:
        of_owner.setdefault(owner_of(one), []).append(one)
    rest, test = split(sorted(of_owner), fold, folds=plan.folds, seed=plan.seed)
    wanted = DEV * sum(len(of_owner[name]) for name in rest)
    dev: list[Document] = []
    while len(dev) < wanted and len(rest) > 1:
        dev += of_owner[rest.pop()]
    return FoldParts(
        [one for name in rest for one in of_owner[name]],
        dev,
        [one for name in test for one in of_owner[name]],
    )


def check_volumes(parts: FoldParts, plan: SynthesisPlan) -> None:
    """Check that as many notes are generated of the starters of a fold as its settings want.

    Raises:
        InputError: There are too few.
    """
    most = max(cell.volume for cell in plan.wanted)
    made = len(parts.dev) * plan.generator.each
    if parts.volume(most) > made:
        raise too_few(most, wanted=parts.volume(most), made=made)


def too_few(percent: int, *, wanted: int, made: int) -> InputError:
    """Return the error that fewer notes are generated than a volume is."""
    return InputError(
        f"volume {percent} % is {wanted:,} notes, and {made:,} are generated; give a smaller"
        " --volume, or a greater --each"
    )


def owner_of(document: Document) -> str:
    """Return whose note it is: its patient's, else its own."""
    return document.note.patient_id or document.note.note_id


def sentences_of(document: Document) -> list[Document]:
    """Return the sentences of a note as notes of the same patient.

    Sentences that a span crosses stay one.
    """
    text = document.note.text
    tokens = tokenize(text)
    found: list[tuple[int, int]] = []
    for part in sentences(text, tokens):
        start, end = tokens[part[0]][0], tokens[part[-1]][1]
        if found and any(one.start < start < one.end for one in document.spans):
            start = found.pop()[0]
        found.append((start, end))
    return [_piece(document, number, *place) for number, place in enumerate(found)]


def _piece(document: Document, number: int, start: int, end: int) -> Document:
    note = Note(
        f"{document.note.note_id}#{number:04d}",
        document.note.text[start:end],
        patient_id=owner_of(document),
        lang=document.note.lang,
    )
    inside = [
        Span(max(one.start, start) - start, min(one.end, end) - start, one.label)
        for one in document.spans
        if one.start < end and start < one.end
    ]
    return Document(note, DisjointSpans.of(note, inside))


def starters_of(dev: Sequence[Document], *, is_free: bool) -> list[str]:
    """Return what generated notes begin with: the first words of each note, as they stand there.

    Args:
        dev: Annotated notes.
        is_free: Whether a starter ends before the first identifier; it may be empty then.
    """
    from deid_privacy.generated import starter_of  # noqa: PLC0415 - loads NLTK and PyTorch

    if is_free:
        return [starter_of(one, STARTER) for one in dev]
    matches = (_STARTER.match(one.note.text) for one in dev)
    return [found[0] if found else "" for found in matches]
