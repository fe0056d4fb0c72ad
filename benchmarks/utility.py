"""What a tagger loses when it learns from redacted text: strict F1 on original notes, as Markdown.

DEID_CORPORA=<folder with annotated/> python benchmarks/utility.py [--notes N] [--seed S]

Notes of MEDDOCAN's train part are drawn at random and redacted from their gold spans; the spans are
moved along. One tagger is trained on the original notes and one on each redaction, with the same
settings; all read the original development notes. A span is right when its boundaries and
MEDDOCAN's own label are. Intervals are of a paired bootstrap over the development notes: they do
not hold what another draw of training notes or another key would change.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, NamedTuple

from conditions import conditions

from deid_assets import plugins
from deid_assets.core.keys import Key
from deid_assets.core.phi import Phi
from deid_assets.core.redact import Policy, redact
from deid_assets.core.span import DisjointSpans
from deid_assets.core.trainer import Document, Epoch, Task, label_inventory
from deid_assets.evaluation.comparison import COLUMNS, Comparison, Ratio
from deid_assets.evaluation.counts import Counts, Scheme
from deid_assets.evaluation.resampling import compare
from deid_assets.policies import load_policy
from deid_assets.policies.collisions import Originals
from deid_assets.training.corpora import read_corpus
from deid_assets.training.recipe import Recipe
from deid_assets.training.scoring import TagScores, score

KEY = Key(bytes(range(32)))
SETTINGS = {"predictions_of": "rules", "prediction_dropout": 0.3, "keep_empty": 0.25}
"""Settings of the CRF, beside its defaults; no span that it finds is left out for its score."""
GROUPING = 1000
"""More sentences than a note has: one sequence per note."""
ORIGINAL = "original"
NOT_REPLACED = frozenset({Phi.SEX, Phi.RELATIVE, Phi.OTHER})
"""Categories that ``surrogate`` tags, since it has no other value for them.

Neither HIPAA nor i2b2 2014 count them.
"""


class Trained(NamedTuple):
    """A tagger's scores and what stood in its training notes."""

    scores: TagScores
    cpu_s: float
    spans: int
    tagged: int


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--notes", type=int, default=200, help="training notes, drawn at random; 500 are all"
    )
    parser.add_argument(
        "--seed", type=int, default=1, help="of the draw, the training and the bootstrap"
    )
    parser.add_argument(
        "--plain", action="store_true", help="train without the predictions of the rules"
    )
    options = parser.parse_args()
    folder = Path(os.environ.get("DEID_CORPORA", "")) / "annotated" / "meddocan"
    if not folder.is_dir():
        sys.exit(f"{folder} is not there; set DEID_CORPORA")
    recipe = crf_recipe(labels="native", seed=options.seed, plain=options.plain)
    train, test = (
        read_corpus(str(folder / f"{part}.jsonl"), labels="meddocan").documents
        for part in ("train", "dev")
    )
    drawn = random.Random(options.seed).sample(train, min(options.notes, len(train)))
    print(conditions(str(options.seed)), flush=True)
    found = {name: _train(recipe, *text, test) for name, text in _texts(drawn).items()}
    gaps = compare_paired(
        {name: one.scores.notes for name, one in found.items()}, test, seed=options.seed
    )
    print(
        f"\n{len(drawn)} training notes, {len(test)} test notes, {found[ORIGINAL].spans:,} and"
        f" {_gold(test):,} spans"
    )
    print(f"Predictions of the rules: {'not asked' if options.plain else 'asked'}\n")
    _show(found, gaps)
    _show_labels(found)


def _texts(documents: Sequence[Document]) -> dict[str, tuple[list[Document], int]]:
    """Return the training notes of each tagger, and how many of their spans are tags."""
    originals = Originals.of(KEY, ((document.note, document.spans) for document in documents))
    surrogate = load_policy("surrogate")
    policies = {
        "surrogate": surrogate,
        "surrogate, sex, relatives and other kept": replace(
            surrogate,
            actions={
                label: action
                for label, action in surrogate.actions.items()
                if label not in NOT_REPLACED
            },
            keep=surrogate.keep | NOT_REPLACED,
        ),
        "tag": load_policy("tag"),
    }
    texts = {
        name: redact_and_move(documents, policy, originals) for name, policy in policies.items()
    }
    return {ORIGINAL: (list(documents), 0), **texts}


def redact_and_move(
    documents: Iterable[Document], policy: Policy, originals: Originals
) -> tuple[list[Document], int]:
    """Return the notes redacted from their spans, with the spans where they lie now, and the number
    of tags.

    Args:
        documents: Annotated notes.
        policy: One that takes no more than its spans.
        originals: Values that no surrogate may be.
    """
    found, tags = [], 0
    for document in documents:
        redacted = redact(document.note, document.spans, policy, key=KEY, originals=originals)
        note = replace(document.note, text=redacted.text)
        spans = [
            replace(
                span, start=redacted.to_redacted(span.start), end=redacted.to_redacted(span.end)
            )
            for span in document.spans
        ]
        tags += sum(redacted.text[span.start : span.end] == f"[{span.label}]" for span in spans)
        found.append(Document(note, DisjointSpans.of(note, spans)))
    return found, tags


def crf_recipe(*, labels: Literal["category", "native"], seed: int, plain: bool) -> Recipe:
    """Return what every tagger of a table is trained by.

    ``plain`` is without the predictions of the rules.

    It is not the ``crf`` recipe of the package, whose threshold on the score is for models of
    synthetic notes.
    """
    settings = {**SETTINGS, "predictions_of": ""} if plain else SETTINGS
    return Recipe(
        name="crf", plugin="crf", labels=labels, grouping=GROUPING, seed=seed, settings=settings
    )


def train_tagger(recipe: Recipe, phases: Sequence[Sequence[Document]], out: Path) -> None:
    """Train on all of the documents, phase by phase, as a recipe says.

    None is held out: nothing is chosen by one.
    """
    trainer = plugins.load_trainer(recipe.plugin)
    every = [document for phase in phases for document in phase]
    task = Task(
        phases=phases,
        dev=[],
        labels=label_inventory(every, native=recipe.native),
        native=recipe.native,
        scheme=recipe.scheme,
        grouping=1 if recipe.grouping == "auto" else recipe.grouping,
        seed=recipe.seed,
        settings=trainer.settings(recipe.settings),
    )
    trainer.train(task, out, _progress)


def _train(
    recipe: Recipe, documents: Sequence[Document], tagged: int, test: Sequence[Document]
) -> Trained:
    with tempfile.TemporaryDirectory() as folder:
        cpu = time.process_time()
        train_tagger(recipe, [documents], Path(folder))
        cpu = time.process_time() - cpu
        detector = plugins.load(
            recipe.name, plugin=recipe.plugin, options={"model": folder, "name": recipe.name}
        )
        return Trained(score(detector, test, native=recipe.native), cpu, _gold(documents), tagged)


def compare_paired(
    counts: Mapping[str, Sequence[Counts]], documents: Sequence[Document], *, seed: int
) -> Comparison:
    """Return the strict scores with intervals, and the differences to the first.

    Only ``STRICT`` is to be read.

    ``compare`` wants counts for each of its schemes; the one that was counted stands under all of
    them.

    Args:
        counts: By tagger, one per document and in their order.
        documents: What was scored.
        seed: Of the draws.
    """
    ids = [document.note.note_id for document in documents]
    rows = {
        name: {
            note_id: (one.tp, one.fp, one.fn) * len(COLUMNS)
            for note_id, one in zip(ids, of_notes, strict=True)
        }
        for name, of_notes in counts.items()
    }
    return compare(rows, seed=seed)


def _show(found: Mapping[str, Trained], gaps: Comparison) -> None:
    print(
        "| Trained on | Spans that are tags | Precision | Recall | F1 | F1 to original | p |"
        " Training, s CPU |"
    )
    print("|:--|--:|--:|--:|--:|--:|--:|--:|")
    for name, one in found.items():
        cells = [
            _interval(gaps, name, ratio) for ratio in (Ratio.PRECISION, Ratio.RECALL, Ratio.F1)
        ]
        gap = gaps.difference(name, Scheme.STRICT, Ratio.F1)
        apart = (
            f"{gap.value:+.4f} [{gap.low:+.4f}, {gap.high:+.4f}] | {gap.p:.3f}" if gap else "- | -"
        )
        print(
            f"| {name} | {one.tagged / one.spans:.1%} | {' | '.join(cells)} | {apart} |"
            f" {one.cpu_s:.0f} |"
        )


def _interval(gaps: Comparison, name: str, ratio: Ratio) -> str:
    found = gaps.interval(name, Scheme.STRICT, ratio)
    if found is None:
        return "-"
    return (
        f"{found.value:.4f} [{found.low:.4f}, {found.high:.4f}]"
        if ratio is Ratio.F1
        else f"{found.value:.4f}"
    )


def _show_labels(found: Mapping[str, Trained]) -> None:
    print(
        "\n| Label | Annotated | " + " | ".join(found) + " |\n|:--|--:" + "|--:" * len(found) + "|"
    )
    labels = found[ORIGINAL].scores.labels
    for label in sorted(labels, key=lambda name: -labels[name].gold):
        ratios = [
            one.scores.labels[label].f1 if label in one.scores.labels else None
            for one in found.values()
        ]
        cells = ["-" if ratio is None else f"{ratio:.3f}" for ratio in ratios]
        print(f"| {label} | {labels[label].gold:,} | {' | '.join(cells)} |")


def _gold(documents: Iterable[Document]) -> int:
    return sum(len(document.spans) for document in documents)


def _progress(epoch: Epoch) -> None:
    print(
        f"\r{epoch.phase} {epoch.epoch:4} {epoch.loss:12,.3f}", end="", file=sys.stderr, flush=True
    )


if __name__ == "__main__":
    main()
