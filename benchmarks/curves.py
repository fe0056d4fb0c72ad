"""What a few annotated notes of one's own add to `rules`, drawn by chance or chosen by the model,
as Markdown.

DEID_CORPORA=<folder with annotated/> python benchmarks/curves.py --work FOLDER [--set grascco ...]
[--recipe own] [--draws 3]

Each draw splits the patients of a development set anew: one half is drawn from, the other is scored
on, as `deid train own --curve` does. Gains are in points of the characters of identifiers, `rules`
and tagger together against `rules` alone, under the categories of `score_corpora.py`; the least
score that counts is chosen by cross-validation over the notes drawn. FOLDER keeps the curves.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from conditions import conditions
from score_corpora import CORPORA, PROFILE

from deid_assets.core.phi import profile
from deid_assets.training import Corpus, load_recipe, read_corpus
from deid_assets.training.choosing import QueryStrategy
from deid_assets.training.corpora import owner, split, split_order
from deid_assets.training.curve import CurveRequest, learning_curve

SETS = ("asq-phi", "grascco", "eds-pseudo", "turku-ner", "meddocan")
SIZES = {"asq-phi": (5, 10, 20, 50), "grascco": (5, 8), "eds-pseudo": (5, 10, 20, 40)}
SOME = (5, 10, 20)
"""Where not said otherwise: what half of the set gives, and what a core trains in minutes."""
MOST = {"meddocan": 80, "turku-ner": 60}
"""Notes that are split, drawn by patient."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument(
        "--set", choices=SETS, action="append", help="draw these, and print no table"
    )
    parser.add_argument("--choose", choices=[*QueryStrategy], action="append")
    parser.add_argument("--recipe", default="own")
    parser.add_argument("--draws", type=int, default=3)
    options = parser.parse_args()
    if not _root().is_dir():
        sys.exit(f"{_root()} is not there; set DEID_CORPORA")
    options.work.mkdir(parents=True, exist_ok=True)
    for name in options.set or ():
        for choice in options.choose or QueryStrategy:
            for seed in range(1, options.draws + 1):
                _run_draw(name, QueryStrategy(choice), seed, options.recipe, options.work)
    if not options.set:
        _show(options.recipe, options.work, options.draws)


def _root() -> Path:
    return Path(os.environ.get("DEID_CORPORA", "")) / "annotated"


def _file(name: str, choice: QueryStrategy, seed: int, recipe: str, work: Path) -> Path:
    return work / f"{recipe}-{name}-{choice}-{seed}.json"


def _run_draw(name: str, choice: QueryStrategy, seed: int, recipe: str, work: Path) -> None:
    path = _file(name, choice, seed, recipe, work)
    if path.exists():
        return
    own = read_corpus(str(_root() / CORPORA[name].path), labels=CORPORA[name].labels)
    place = split_order(own.documents, seed=0)
    documents = sorted(
        own.documents, key=lambda document: (place[owner(document)], document.note.note_id)
    )
    loaded = load_recipe(recipe, changes={"seed": seed})
    pool, held = split(documents[: MOST.get(name, len(documents))], share=0.5, seed=seed)
    wanted = CurveRequest(
        recipe=loaded,
        own=Corpus(name, tuple(pool)),
        test=Corpus(name, tuple(held)),
        beside=[read_corpus(source) for source in loaded.corpora],
        sizes=SIZES.get(name, SOME),
        choice=choice,
        options={"profile": CORPORA[name].annotated_under},
        profile=profile(PROFILE),
    )
    started = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        curve = learning_curve(wanted, Path(folder), progress=lambda *_: None)
    seconds = time.process_time() - started
    path.write_text(
        json.dumps(
            {
                "scored": curve.scored,
                "seconds": seconds,
                "points": [one.to_json() for one in curve.points],
            }
        )
    )
    print(f"{name}, {choice}, draw {seed}: {seconds:.0f} s of CPU", file=sys.stderr, flush=True)


def _show(recipe: str, work: Path, draws: int) -> None:
    print(f"{conditions(f'1 to {draws}')}; recipe {recipe}\n")
    print(
        "| set | notes chosen by | own notes | draws | `rules` recall | recall gained | of draw 1 |"
        " precision | notes covered | training, s |"
    )
    print("|:--|:--|--:|--:|--:|--:|--:|--:|--:|--:|")
    for name in SETS:
        for choice in QueryStrategy:
            files = [_file(name, choice, seed, recipe, work) for seed in range(1, draws + 1)]
            curves = [json.loads(path.read_text()) for path in files if path.exists()]
            for at in range(1, min((len(curve["points"]) for curve in curves), default=0)):
                _show_row(name, choice, curves, at)


def _show_row(
    name: str, choice: QueryStrategy, curves: Sequence[Mapping[str, Any]], at: int
) -> None:
    points = [curve["points"][at] for curve in curves]
    alone = [curve["points"][0] for curve in curves]
    first = points[0]["gain"]
    more = [point["covered"] - base["covered"] for point, base in zip(points, alone, strict=True)]
    print(
        f"| {name} | {choice} | {points[0]['notes']} | {len(points)} "
        f"| {100 * statistics.mean(base['recall'] for base in alone):.2f} "
        f"| {_spread([100 * point['gain'][0] for point in points])} "
        f"| {100 * first[0]:+.2f} [{100 * first[1]:+.2f}, {100 * first[2]:+.2f}] "
        f"| {_spread([100 * point['loss'][0] for point in points])} "
        f"| {statistics.mean(base['covered'] for base in alone):.0f} {statistics.mean(more):+.1f} "
        f"of {statistics.mean(curve['scored'] for curve in curves):.0f} "
        f"| {statistics.mean(point['seconds'] for point in points):.0f} |"
    )


def _spread(values: Sequence[float]) -> str:
    mean = f"{statistics.mean(values):+.2f}"
    return mean if len(values) < 2 else f"{mean} ± {statistics.stdev(values):.2f}"


if __name__ == "__main__":
    main()
