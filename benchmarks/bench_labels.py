"""What MEDDOCAN's entity score is under the task's own labels and under categories, as Markdown.

DEID_CORPORA=<folder with annotated/> python benchmarks/bench_labels.py [--train 200] [--test 120]
[--iterations 25]
    [--recipe RECIPE.toml] [--labels native]

One tagger, a CRF or that of a recipe, is trained on the corpus' own labels and one on categories,
on the first notes of the train part; both are scored on the first notes of the development part,
which decides nothing. The official score tells patients' names from staff's, and hospitals from
health centres; the score under categories, as it was before, does not.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from conditions import conditions

from deid_assets.core.detector import Failed, detect
from deid_assets.core.span import SpanSet
from deid_assets.evaluation.counts import Counts
from deid_assets.training import load_recipe, read_corpus
from deid_assets.training.corpora import Corpus
from deid_assets.training.recipe import Recipe
from deid_assets.training.run import Materials, open_model, train_model
from deid_evaluation.meddocan import MeddocanCounts, meddocan_counts

SEED = 1


def main() -> int:
    """Train both taggers and print their scores."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--train", type=int, default=200, help="notes of the train part")
    parser.add_argument("--test", type=int, default=120, help="notes of the development part")
    parser.add_argument("--iterations", type=int, default=25, help="of the CRF")
    parser.add_argument("--recipe", help="TOML file, in place of the CRF")
    parser.add_argument(
        "--labels", choices=("native", "category"), action="append", help="both when not given"
    )
    given = parser.parse_args()
    folder = Path(os.environ["DEID_CORPORA"]) / "annotated" / "meddocan"
    train, test = (
        Corpus(
            f"{part}, {size} notes",
            read_corpus(str(folder / f"{part}.jsonl"), labels="meddocan").documents[:size],
        )
        for part, size in (("train", given.train), ("dev", given.test))
    )
    print(f"{conditions(str(SEED))}\n")
    print("| `labels` | the task's own labels (official) | categories | spans alone | training |")
    print("|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as models:
        for labels in given.labels or ("native", "category"):
            changes = {"labels": labels, "corpora": [], "strategy": "single", "seed": SEED}
            if not given.recipe:
                changes["settings"] = {"max_iterations": given.iterations, "predictions_of": ""}
            recipe = load_recipe(given.recipe or "crf", changes=changes)
            print(_row(recipe, labels, train, test, Path(models) / labels), flush=True)
    return 0


def _row(recipe: Recipe, labels: str, train: Corpus, test: Corpus, out: Path) -> str:
    card = train_model(recipe, Materials(corpora=[train]), out)
    official, categories = MeddocanCounts(), Counts()
    outcomes = detect(open_model(recipe, out), [document.note for document in test.documents])
    for document, outcome in zip(test.documents, outcomes, strict=True):
        found = SpanSet.of(document.note, ()) if isinstance(outcome, Failed) else outcome
        official += meddocan_counts(document.note, document.spans, found)
        categories += Counts.of(
            *({(one.start, one.end, one.label) for one in side} for side in (document.spans, found))
        )
    scores = " | ".join(
        f"{counts.f1 or 0.0:.4f}" for counts in (official.ner, categories, official.spans)
    )
    return f"| `{labels}` | {scores} | {card.seconds:.0f} s |"


if __name__ == "__main__":
    sys.exit(main())
