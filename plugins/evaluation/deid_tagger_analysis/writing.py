"""Inputs and outputs of ``deid analyse``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from deid_assets.extending import ConfigError, InputError
from deid_assets.extending.commands import print_json, print_table, say
from deid_assets.extending.corpora import read_corpus
from deid_assets.extending.pages import check_restricted, write_files
from deid_assets.extending.taggers import CARD, read_card
from deid_tagger_analysis.analysis import AnalysisOptions, analyse
from deid_tagger_analysis.page import KINDS, analysis_html

PAGE, DOCUMENT = "analysis.html", "analysis.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalysisRequest:
    """Options of the command.

    Args:
        models: Folders; the first is shown, the others are compared with it.
        notes: Annotated notes, as recipes name them.
        out: Folder of the report.
        labels: Label map of the notes; that of the first model's recipe where not given.
        learnt: Training notes, to count words in.
        words: To show the neighbours of.
        tokens: Words whose vectors are compared.
        seed: Of draws.
        restricted: Show words, in files that only their owner may read.

    Raises:
        ConfigError: Words are asked for on a page that shows none.
    """

    models: Sequence[Path]
    notes: str
    out: Path
    labels: str | None = None
    learnt: Sequence[str] = ()
    words: Sequence[str] = field(default=(), repr=False)
    tokens: int
    seed: int = 0
    restricted: bool = False

    def __post_init__(self) -> None:
        for option, value in (("--word", self.words), ("--train", self.learnt)):
            if value and not self.restricted:
                raise ConfigError(
                    f"{option} is for a page with words; add --restricted, or leave it out"
                )


def write_analysis(wanted: AnalysisRequest, *, as_json: bool) -> int:
    """Analyse models, write the report and print what it says.

    Raises:
        InputError: A model or the notes cannot be read, or ``out`` holds a model or is open to
            others.
    """
    if (wanted.out / CARD).exists():
        raise InputError(
            f"--out {wanted.out}: it holds a model; name another folder for the report"
        )
    if wanted.restricted:
        check_restricted(wanted.out)
    labels = wanted.labels or str(read_card(wanted.models[0]).recipe["label_map"])
    options = AnalysisOptions(
        tokens=wanted.tokens,
        seed=wanted.seed,
        with_words=wanted.restricted,
        asked=wanted.words,
        learnt=[
            document
            for name in wanted.learnt
            for document in read_corpus(name, labels=labels).documents
        ],
    )
    document = analyse(wanted.models, read_corpus(wanted.notes, labels=labels), options=options)
    files = {
        DOCUMENT: json.dumps(document, ensure_ascii=False, allow_nan=False) + "\n",
        PAGE: analysis_html(document),
    }
    write_files(wanted.out, files, restricted=wanted.restricted)
    if as_json:
        print_json({"out": str(wanted.out), **drop_words(document)})
        return 0
    _show(document)
    note = ", with words of the notes: for you alone" if wanted.restricted else ""
    say(f"report written to {wanted.out / PAGE}{note}")
    return 0


def drop_words(document: dict[str, Any]) -> dict[str, Any]:
    """Return what may be printed: figures, without words and without the thousands of points."""
    points = ("labels", "languages", "projections")
    shown = {key: value for key, value in document.items() if key not in ("words", "evidence")}
    shown["vectors"] = {
        key: value for key, value in document["vectors"].items() if key not in points
    }
    return shown


def _show(document: dict[str, Any]) -> None:
    if len(document["models"]) > 1:
        rows = [_model_row(model) for model in document["models"]]
        print_table(
            ("model", "F1", "low", "high", "difference", "low", "high", "p", "what differs"), rows
        )
    errors = document["errors"]
    shown = [
        (row["label"], f"{row['gold']:,}", *(f"{row['kinds'][kind]:,}" for kind in KINDS))
        for row in errors["labels"]
        if row["errors"]
    ]
    shown.append(
        (
            "ALL",
            f"{document['notes']['spans']:,}",
            *(f"{errors['kinds'][kind]:,}" for kind in KINDS),
        )
    )
    print_table(
        ("label", "annotated", *(words.lower() for words in KINDS.values())), shown, numbers_from=1
    )
    vectors = document["vectors"]
    if "left_out" in vectors:
        say(vectors["left_out"])
        return
    layers = vectors["alike"][0]["layers"]
    shares = ", ".join(f"{share:.2f} in the {name}" for name, share in layers.items())
    say(
        f"of a word's {vectors['nearest']} nearest other words, the share with its label is"
        f" {shares} ({vectors['alike'][0]['chance']:.2f} by chance)"
    )


def _model_row(model: dict[str, Any]) -> list[str]:
    gap = model["difference"]
    found = [model["name"], *(_ratio(model["f1"], key) for key in ("value", "low", "high"))]
    found += [f"{gap[key]:+.4f}" for key in ("value", "low", "high")] if gap else ["", "", ""]
    changed = "; ".join(f"{row['key']} {row['other']}" for row in model["changes"][:3])
    return [*found, f"{gap['p']:.3f}" if gap else "", changed]


def _ratio(found: dict[str, float] | None, key: str) -> str:
    return "-" if found is None else f"{found[key]:.4f}"
