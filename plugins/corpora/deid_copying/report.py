"""What a corpus has of a source, measured whole and judged by limits."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from deid_assets.extending import InputError
from deid_assets.extending.audits import secret_of_environment
from deid_assets.extending.commands import Annotated
from deid_assets.extending.formats import private_folder
from deid_copying.neighbours import SHINGLE, NearestNote, NearestNotes, neighbours
from deid_copying.passages import Passage, Passages, longest_of, passages
from deid_copying.recalls import SIZES, ComparedCorpora, GramRecall, Recalls, recalls
from deid_copying.tokens import SubWordTokens, TokenFile, WordTokens, write_tokens

Notes = Callable[[], Iterable[Annotated]]
"""Reads a corpus from its beginning."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyLimits:
    """What a corpus may have of a source.

    Args:
        excess: Most recall above that of the baseline, for each n, of all n-grams and of those of
            identifiers.
        longest: Words of the longest passage of one to three patients, unless the baseline has one
            as long.
        near: Distance below which no drawn note may have a note of the source.
    """

    excess: float = 0.005
    longest: int = 20
    near: float = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Measuring:
    """How it is measured.

    Args:
        passage: Words of the shortest passage that is found.
        draws: Notes whose nearest notes are looked for.
        tokenizer: Folder of a model whose sub-words are counted too.
    """

    passage: int = 10
    draws: int = 1_000
    tokenizer: Path | None = None


@dataclass(frozen=True, slots=True)
class CopyVerdict:
    """What one limit says.

    Args:
        limit: Its name.
        holds: Whether it is kept.
        said: Figure and limit, in words.
    """

    limit: str
    holds: bool
    said: str


@dataclass(frozen=True, slots=True)
class ListedPassage:
    """A passage by ids.

    Args:
        passage: Numbers of it.
        note: Id of the note that has it.
        source: Id of the note of the source.
        digest: The same for equal passages under one secret.
    """

    passage: Passage
    note: str
    source: str
    digest: str

    def to_json(self) -> dict[str, Any]:
        """Return it as a document; it holds no text."""
        return {
            "note": self.note,
            "from": self.source,
            "words": self.passage.tokens,
            "patients": self.passage.patients,
            "digest": self.digest,
        }


@dataclass(frozen=True, slots=True)
class CopyGaps:
    """What the corpora do not tell, so that less was measured.

    Args:
        too_short: Synthetic notes of fewer than three words, which nothing is compared with.
        not_annotated: Notes of the source whose identifiers are not marked.
        of_nobody: Notes of the source that name no patient: each counts as a patient, and what
            more than three of them say as the site's template.
    """

    too_short: int
    not_annotated: int
    of_nobody: int


@dataclass(frozen=True, slots=True)
class CopyReport:
    """What was found; it holds no text.

    Args:
        sizes: Notes and words by corpus.
        gaps: What could not be measured.
        rows: Recalls.
        found: Counts of passages.
        found_baseline: The same of the baseline; none where there is no baseline.
        listed: The longest passages.
        nearest: Of the drawn notes.
        nearest_baseline: Of the baseline's; none where there is no baseline.
        near: Ids of a drawn note and of its nearest, with the distance, nearest first.
        verdicts: Of each limit.
        measuring: How it was measured.
        limits: What it was judged by.
    """

    sizes: dict[str, tuple[int, int]]
    gaps: CopyGaps
    rows: tuple[GramRecall, ...]
    found: Passages = field(repr=False)
    found_baseline: Passages | None = field(repr=False)
    listed: tuple[ListedPassage, ...]
    nearest: NearestNotes = field(repr=False)
    nearest_baseline: NearestNotes | None = field(repr=False)
    near: tuple[tuple[str, str, float], ...]
    verdicts: tuple[CopyVerdict, ...]
    measuring: Measuring
    limits: CopyLimits

    @property
    def holds(self) -> bool:
        """Whether every limit is kept."""
        return all(one.holds for one in self.verdicts)

    def to_json(self) -> dict[str, Any]:
        """Return it as a document; it holds no text."""
        own = self.nearest_baseline
        other = self.found_baseline
        return {
            "corpora": {
                name: {"notes": notes, "words": words}
                for name, (notes, words) in self.sizes.items()
            },
            "gaps": asdict(self.gaps),
            "ngrams": [one.to_json() for one in self.rows],
            "passages": self.found.to_json() | {"shortest": self.measuring.passage},
            "passages_baseline": other.to_json() if other is not None else None,
            "longest": [one.to_json() for one in self.listed],
            "nearest": self.nearest.to_json(),
            "nearest_baseline": own.to_json() if own is not None else None,
            "near": [
                {"note": note, "from": source, "distance": distance}
                for note, source, distance in self.near
            ],
            "limits": asdict(self.limits),
            "verdicts": [asdict(one) for one in self.verdicts],
            "holds": self.holds,
        }


def measure_copies(
    synthetic: Notes,
    source: Notes,
    baseline: Notes | None = None,
    *,
    measuring: Measuring | None = None,
    limits: CopyLimits | None = None,
    most: int = 20,
) -> CopyReport:
    """Return what a corpus has of a source.

    Files of about 30 bytes for each word lie in a temporary folder on the way; memory does not
    grow with them, but for 16 bytes a note.

    Args:
        synthetic: The notes that must not tell of the source.
        source: Notes of patients.
        baseline: Notes of a generator that never saw the source; as many words are read as the
            synthetic notes have, since recall grows with the size of a corpus.
        measuring: How.
        limits: What it is judged by.
        most: Passages and near notes that are listed.

    Raises:
        InputError: A corpus has no three words in a row, or an option cannot be.
    """
    measuring = measuring or Measuring()
    limits = limits or CopyLimits()
    _check(measuring, limits)
    with private_folder() as folder:
        corpora = _corpora(synthetic, source, baseline, folder / "words", WordTokens())
        found = recalls(corpora, SIZES, passage=measuring.passage)
        rows = list(found.rows)
        if measuring.tokenizer is not None:
            pieces = SubWordTokens(measuring.tokenizer)
            own = _corpora(synthetic, source, baseline, folder / "pieces", pieces)
            rows += recalls(own, SIZES).rows
        return _judge(corpora, found, rows, measuring=measuring, limits=limits, most=most)


def _check(measuring: Measuring, limits: CopyLimits) -> None:
    if not 3 <= measuring.passage <= 64:
        raise InputError(f"passages are of 3 to 64 words at least, not {measuring.passage}")
    if limits.longest < measuring.passage - 1:
        raise InputError(
            f"the longest passage allowed has {limits.longest} words, and passages are looked for"
            f" from {measuring.passage} on; look for shorter ones"
        )
    if measuring.draws < 1:
        raise InputError("draw at least one note, so that its nearest can be looked for")
    if not (0 <= limits.excess <= 1 and 0 <= limits.near <= 1):
        raise InputError("limits of recall and distance are between 0 and 1")


def _corpora(
    synthetic: Notes,
    source: Notes,
    baseline: Notes | None,
    folder: Path,
    tokenizer: WordTokens | SubWordTokens,
) -> ComparedCorpora:
    folder.mkdir()
    made = write_tokens(synthetic(), folder / "synthetic", tokenizer)
    real = write_tokens(source(), folder / "source", tokenizer)
    for name, one in (("synthetic corpus", made), ("source", real)):
        if one.lengths.max(initial=0) < SHINGLE:
            raise InputError(
                f"the {name} has no three {tokenizer.unit} in a row in {one.notes:,} notes; nothing"
                " was compared"
            )
    other = None
    if baseline is not None:
        other = write_tokens(baseline(), folder / "baseline", tokenizer, limit=made.tokens)
    return ComparedCorpora(real, made, other, folder)


def _judge(
    corpora: ComparedCorpora,
    found: Recalls,
    rows: list[GramRecall],
    *,
    measuring: Measuring,
    limits: CopyLimits,
    most: int,
) -> CopyReport:
    source, synthetic, baseline = corpora.source, corpora.synthetic, corpora.baseline
    taken = passages(source, synthetic, found.shared, measuring.passage)
    by_others = None
    if baseline is not None:
        by_others = passages(source, baseline, found.by_chance, measuring.passage)
    nearest = neighbours(source, synthetic, draws=measuring.draws)
    by_chance = neighbours(source, baseline, draws=measuring.draws) if baseline else None
    near = nearest.near(limits.near)
    secret = secret_of_environment() or secrets.token_bytes(32)
    sizes = {"synthetic": synthetic, "source": source}
    if baseline is not None:
        sizes["baseline"] = baseline
    return CopyReport(
        {name: (one.notes, one.tokens) for name, one in sizes.items()},
        CopyGaps(
            int((synthetic.lengths < SHINGLE).sum()),
            source.notes - source.annotated,
            source.notes - source.named,
        ),
        tuple(rows),
        taken,
        by_others,
        tuple(
            _list_passage(one, source, synthetic, secret)
            for one in longest_of([*taken.longest, *taken.shared], most)
        ),
        nearest,
        by_chance,
        tuple(_near(one, source, synthetic) for one in near[:most]),
        (
            _grams_verdict(rows, limits, synthetic.tokens),
            _passages_verdict(found, taken, by_others, limits),
            _near_verdict(nearest, limits),
        ),
        measuring,
        limits,
    )


def _list_passage(
    passage: Passage, source: TokenFile, synthetic: TokenFile, secret: bytes
) -> ListedPassage:
    return ListedPassage(
        passage,
        synthetic.note_id(passage.note),
        source.note_id(passage.source),
        passage.digest(synthetic, secret),
    )


def _near(one: NearestNote, source: TokenFile, synthetic: TokenFile) -> tuple[str, str, float]:
    return synthetic.note_id(one.note), source.note_id(one.source), one.distance


def _grams_verdict(rows: list[GramRecall], limits: CopyLimits, tokens: int) -> CopyVerdict:
    worst = max(rows, key=lambda one: one.excess)
    # a corpus has at most as many n-grams as tokens
    is_idle = all(tokens <= limits.excess * one.source for one in rows)
    idle = "; so few notes cannot exceed it, which proves nothing" if is_idle else ""
    what = " with an identifier" if worst.marked else ""
    beside = "" if worst.baseline is None else " above the baseline"
    return CopyVerdict(
        "ngrams",
        worst.excess <= limits.excess,
        f"at most {worst.excess:.4f} of the source's n-grams{beside} (runs of {worst.n}"
        f" {worst.unit}{what}); limit {limits.excess}{idle}",
    )


def _passages_verdict(
    found: Recalls, taken: Passages, by_others: Passages | None, limits: CopyLimits
) -> CopyVerdict:
    longest = max(taken.most, taken.most_of_several)
    chance = max(by_others.most, by_others.most_of_several) if by_others else 0
    several = f", of two or three {taken.most_of_several}" if taken.shared else ""
    beside = f", of the baseline {chance}" if by_others else ""
    cut = "; more is shared than was looked at" if found.cut else ""
    return CopyVerdict(
        "passages",
        longest <= max(limits.longest, chance) and not found.cut,
        f"longest passage of one patient {taken.most} words{several}{beside};"
        f" limit {limits.longest}{cut}",
    )


def _near_verdict(nearest: NearestNotes, limits: CopyLimits) -> CopyVerdict:
    compared, near = len(nearest.found), len(nearest.near(limits.near))
    what = f"{near:,} of {compared:,} drawn notes" if compared else "no note was compared, so none"
    return CopyVerdict(
        "near",
        compared > 0 and not near,
        f"{what} nearer than {limits.near} to a note of the source; limit 0",
    )
