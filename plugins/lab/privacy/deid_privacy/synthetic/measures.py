"""What generated notes are like, what they copied, and whether their generator tells its notes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from deid_assets.extending import Document, InputError
from deid_assets.extending.commands import Annotated
from deid_assets.extending.formats import private_folder
from deid_assets.extending.measuring import auc
from deid_audits.models.auditing import samples
from deid_audits.models.measures import estimate_measure
from deid_audits.models.membership import Setup, scores
from deid_audits.models.opened import open_model
from deid_audits.models.scoring import Scorer
from deid_copying.recalls import ComparedCorpora, recalls
from deid_copying.tokens import SubWordTokens, TokenFile, WordTokens, write_tokens
from deid_privacy.generated import STEMMERS, diversity, marks_of, words_of

ATTACKS = ("loss", "zlib", "min_k", "reference")
MOST = 2_000
"""Stretches of notes that an attack reads at most on each side."""


def recall_figures(
    learnt: Sequence[Document],
    made: Sequence[Document],
    baseline: Sequence[Document],
    *,
    tokenizer: Path,
) -> dict[str, Any]:
    """Return n-gram recall by sub-words of the generator and by words.

    Args:
        learnt: What the generator learnt, with spans.
        made: What it wrote.
        baseline: What it wrote before it learnt these; as much of it is read.
        tokenizer: Folder of the generator.
    """
    rows: list[dict[str, Any]] = []
    tokens: dict[str, list[int]] = {}
    for split in (SubWordTokens(tokenizer), WordTokens()):
        with private_folder() as folder:
            files = [
                write_tokens(_annotate(learnt, with_spans=True), folder / "learnt", split),
                write_tokens(_annotate(made), folder / "made", split),
            ]
            limit = files[1].tokens
            files.append(write_tokens(_annotate(baseline), folder / "baseline", split, limit=limit))
            rows += _rows(files, folder)
            tokens[split.unit] = [one.tokens for one in files]
    return {"rows": rows, "tokens": tokens}


def _rows(files: Sequence[TokenFile], folder: Path) -> list[dict[str, Any]]:
    found = recalls(ComparedCorpora(files[0], files[1], files[2], folder))
    return [one.to_json() for one in found.rows]


def _annotate(documents: Sequence[Document], *, with_spans: bool = False) -> list[Annotated]:
    return [Annotated(one.note, one.spans if with_spans else None) for one in documents]


def descriptors(
    documents: Sequence[Document], lang: str, *, tokens: int, seed: int
) -> dict[str, Any]:
    """Return how diverse notes are, how long, and how much of them is marked.

    Args:
        documents: With spans.
        lang: Of the stemmer.
        tokens: Words at which the diversity is measured.
        seed: Of the draws.
    """
    words = [words_of(one.note.text) for one in documents]
    lengths = [float(len(one)) for one in words]
    marked = [float(sum(marks_of(one.note.text, list(one.spans)))) for one in documents]
    found = {"notes": len(documents), "words": _spread(lengths), "marked": _spread(marked)}
    if lang in STEMMERS and 0 < tokens <= sum(lengths):
        texts = [one.note.text for one in documents]
        found["diversity"] = diversity(texts, lang, tokens=tokens, seed=seed).value
    return found


def words_in(documents: Sequence[Document]) -> int:
    """Return how many words notes have."""
    return sum(len(words_of(one.note.text)) for one in documents)


def _spread(values: Sequence[float]) -> list[float]:
    return [fmean(values), stdev(values) if len(values) > 1 else 0.0]


def membership_figures(
    model: Path,
    base: Path,
    inside: Sequence[Document],
    outside: Sequence[Document],
    *,
    seed: int,
) -> dict[str, Any]:
    """Return how well the notes that a generator learnt are told from others, by attack.

    Args:
        model: The generator.
        base: What it was before: the reference of the attack ``reference``.
        inside: What it learnt.
        outside: Notes of other patients.
        seed: Of draws.
    """
    learnt, others = (
        samples([one.note for one in side], most=MOST, seed=seed) for side in (inside, outside)
    )
    setup = Setup(Scorer(open_model(model)), [Scorer(open_model(base))], (), seed=seed)
    sides = [scores(one.texts, setup, ATTACKS) for one in (learnt, others)]
    owners = (learnt.patients, others.patients)
    try:
        found = {
            name: estimate_measure(
                "AUC",
                sides[0][name],
                sides[1][name],
                auc,
                chance=0.5,
                owners=owners,
                seed=seed,
                unit="patients",
            )
            for name in ATTACKS
        }
    except InputError as error:
        return {"void": str(error)}
    return {
        "attacks": {name: [one.value, one.low, one.high] for name, one in found.items()},
        "patients": [len(set(side)) for side in owners],
    }
