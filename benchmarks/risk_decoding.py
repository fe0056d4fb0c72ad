"""Spans chosen for the greatest expected F1, from one tagger or from several that differ, on
MEDDOCAN, as Markdown.

DEID_CORPORA=<folder with annotated/> python benchmarks/risk_decoding.py --work FOLDER [--train crf
...]

Taggers learn MEDDOCAN's own labels from nine tenths of its train part. Each gives the exact
probability of every span that is not next to impossible (forward and backward sums over its chain).
Spans are then chosen, without overlap, so that the F1 that is to be expected is greatest: those of
a probability above half of that F1 (Lipton, Elkan and Naryanaswamy 2014), found by Dinkelbach's
iteration. Of several taggers the probabilities are averaged with weights that are chosen on the
tenth of the train part that none learnt. The development part decides nothing; intervals are of a
paired bootstrap over its notes. FOLDER keeps each tagger and what it said, so that a killed run
goes on.
"""

from __future__ import annotations

import argparse
import itertools
import os
import pickle
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from bench_crf import _documents
from conditions import conditions
from utility import compare_paired, train_tagger

from deid_assets import plugins
from deid_assets.core.note import Note
from deid_assets.core.trainer import Document, tag_label
from deid_assets.evaluation.comparison import Comparison, Ratio
from deid_assets.evaluation.counts import Counts, Scheme
from deid_assets.training.recipe import Recipe
from deid_crf.lattice import Posterior, SequenceBatch, TransitionWeights, posterior
from deid_crf.model import read_model
from deid_crf.tagger import CrfTagger

SEED = 1
HELD = 10
LEAST = 0.02
"""Spans of a lower probability are not looked at; a chosen one has about a half."""
WHOLE = 1_000
Found = Mapping[tuple[int, int, str], float]
"""Probability of each span of a note, by first character, the one behind the last, and label."""
NEW = {"layers": 3, "hidden": 128, "heads": 4, "vocabulary": 5_000}
MEMBERS: Mapping[str, tuple[str, int, Mapping[str, Any]]] = {
    "crf": ("crf", WHOLE, {}),
    "crf without rules": ("crf", WHOLE, {"predictions_of": "", "window": 2, "c1": 0.0, "c2": 0.15}),
    "encoder": (
        "transformers",
        4,
        {
            "encoder": "new",
            "epochs": 8,
            "batch": 8,
            "keep_empty": 0.1,
            "learning_rate": 1.5e-3,
            "collapse_after": 8,
            "threads": 1,
            "new": NEW,
        },
    ),
}
"""Plugin, sentences in an input, settings; nothing is chosen by notes that are held out."""
STACKS = (("crf", "crf without rules"), ("crf", "encoder"), ("crf", "crf without rules", "encoder"))
STEPS = 10


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--work", type=Path, required=True, help="folder for the taggers and what they said"
    )
    parser.add_argument(
        "--train", choices=MEMBERS, action="append", help="make these alone, and print no table"
    )
    options = parser.parse_args()
    folder = Path(os.environ.get("DEID_CORPORA", "")) / "annotated" / "meddocan"
    if not folder.is_dir():
        sys.exit(f"{folder} is not there; set DEID_CORPORA")
    train, test = (_documents(folder / f"{part}.jsonl", "meddocan") for part in ("train", "dev"))
    held = train[::HELD]
    learnt = [document for number, document in enumerate(train) if number % HELD]
    for name in options.train or MEMBERS:
        _train_and_score(name, learnt, [*held, *test], options.work)
    if not options.train:
        _show(options.work, held, test)


def _train_and_score(
    name: str, learnt: Sequence[Document], read_: Sequence[Document], work: Path
) -> None:
    """Train a tagger and write what it says of notes; once."""
    said = work / f"{name}.pickle"
    if said.exists():
        return
    plugin, grouping, settings = MEMBERS[name]
    recipe = Recipe(
        name=plugin, plugin=plugin, labels="native", grouping=grouping, seed=SEED, settings=settings
    )
    out = work / name
    started = time.process_time()
    if not (out / "done").exists():
        out.mkdir(parents=True, exist_ok=True)
        train_tagger(recipe, [learnt], out)
        (out / "done").write_text(f"{time.process_time() - started:.0f}")
    notes = [document.note for document in read_]
    found = _of_crf(out, notes) if plugin == "crf" else _of_network(plugin, out, notes)
    detector = plugins.load(plugin, options={"model": str(out)})
    own = [
        {(span.start, span.end, tag_label(span, native=True)) for span in spans}
        for spans in detector.detect(notes)
    ]
    said.write_bytes(pickle.dumps((found, own)))
    print(f"{name}: {time.process_time() - started:.0f} s of CPU", file=sys.stderr, flush=True)


def _of_crf(folder: Path, notes: Sequence[Note]) -> list[Found]:
    tagger = CrfTagger(read_model(folder))
    views = tagger.views(notes)
    found: list[dict[tuple[int, int, str], float]] = [{} for _ in notes]
    for solved in tagger.solve(views):
        for part in solved.parts:
            tokens = views[part.note].tokens[part.first : part.first + len(part.rows)]
            found[part.note].update(
                spans_of(solved.posterior, part.rows, tokens, tagger.model.tags)
            )
    return found


def _of_network(plugin: str, folder: Path, notes: Sequence[Note]) -> list[Found]:
    tagger: Any = plugins.load(plugin, options={"model": str(folder), "threads": 1})
    tagger = tagger.tagger
    chain = TransitionWeights(tagger.chain.transitions, tagger.chain.start, tagger.chain.end)
    found: list[Found] = []
    for note in notes:
        of_note: dict[tuple[int, int, str], float] = {}
        parts = tagger.inputs(note)
        for part, scores in zip(
            parts, tagger.network.emissions(parts) if parts else [], strict=True
        ):
            rows = range(len(part.tokens))
            of_note.update(
                spans_of(
                    posterior(scores, SequenceBatch.of([rows]), chain),
                    rows,
                    part.tokens,
                    tagger.folder.tags,
                )
            )
        found.append(of_note)
    return found


def spans_of(
    of: Posterior, rows: range, tokens: Sequence[tuple[int, int]], tags: Sequence[str]
) -> dict[tuple[int, int, str], float]:
    """Return the probability that just this span stands there, of each that is likely enough.

    Tags are BIO.
    """
    place = {tag: number for number, tag in enumerate(tags)}
    at = of.places[rows.start : rows.stop]
    likely = (of.forward * of.backward)[at]
    found = {}
    for tag, begin in place.items():
        if not tag.startswith("B-"):
            continue
        inner = place.get(f"I-{tag[2:]}")
        for first in np.flatnonzero(likely[:, begin] > LEAST).tolist():
            path, last, now = float(of.forward[at[first], begin]), first, begin
            going = path * float(of.backward[at[last], now])
            while going > LEAST:
                longer = 0.0
                if inner is not None and last + 1 < len(rows):
                    path *= float(of.moves[now, inner] * of.emitted[at[last + 1], inner])
                    longer = path * float(of.backward[at[last + 1], inner])
                if going - longer > LEAST:
                    found[tokens[first][0], tokens[last][1], tag[2:]] = going - longer
                last, now, going = last + 1, inner if inner is not None else now, longer
    return found


def mix(found: Sequence[Found], weights: Sequence[float]) -> dict[tuple[int, int, str], float]:
    """Return the weighted mean of what several taggers say of a note."""
    total: dict[tuple[int, int, str], float] = {}
    for one, weight in zip(found, weights, strict=True):
        for span, probability in one.items():
            total[span] = total.get(span, 0.0) + weight * probability
    return total


def choose_spans(notes: Sequence[Found]) -> list[set[tuple[int, int, str]]]:
    """Return the spans of each note by which the expected F1 over all notes is greatest."""
    expected = sum(sum(note.values()) for note in notes)
    f1 = 1.0
    for _ in range(20):
        picked = [_best(note, f1 / 2) for note in notes]
        right = sum(note[span] for note, spans in zip(notes, picked, strict=True) for span in spans)
        now = 2 * right / max(expected + sum(map(len, picked)), 1e-9)
        if abs(now - f1) < 1e-6:
            break
        f1 = now
    return picked


def _best(note: Found, cost: float) -> set[tuple[int, int, str]]:
    """Return spans without overlap whose probabilities, each less a cost, have the greatest sum."""
    worth = sorted((span for span in note if note[span] > cost), key=lambda span: span[1])
    best: list[tuple[float, frozenset[tuple[int, int, str]]]] = [(0.0, frozenset())]
    for number, span in enumerate(worth):
        before = max((at for at in range(number) if worth[at][1] <= span[0]), default=-1)
        value, kept = best[before + 1]
        best.append(
            max(best[-1], (value + note[span] - cost, kept | {span}), key=lambda pair: pair[0])
        )
    return set(best[-1][1])


def _counts(
    documents: Sequence[Document], found: Iterable[set[tuple[int, int, str]]]
) -> list[Counts]:
    return [
        Counts.of(
            {(span.start, span.end, tag_label(span, native=True)) for span in document.spans}, spans
        )
        for document, spans in zip(documents, found, strict=True)
    ]


def _f1(counts: Sequence[Counts]) -> float:
    total = sum(counts, Counts())
    return 2 * total.tp / max(2 * total.tp + total.fp + total.fn, 1)


def _show(work: Path, held: Sequence[Document], test: Sequence[Document]) -> None:
    said = {name: pickle.loads((work / f"{name}.pickle").read_bytes()) for name in MEMBERS}
    count = len(held)
    rows: dict[str, list[Counts]] = {}
    on_held: dict[str, float] = {}
    for name, (found, own) in said.items():
        rows[f"{name}, best sequence"] = _counts(test, own[count:])
        rows[f"{name}, expected F1"] = _counts(test, choose_spans(found[count:]))
        on_held[f"{name}, best sequence"] = _f1(_counts(held, own[:count]))
        on_held[f"{name}, expected F1"] = _f1(_counts(held, choose_spans(found[:count])))
    for stack in STACKS:
        founds = [said[name][0] for name in stack]
        weights, f1 = _best_weights(held, [found[:count] for found in founds])
        name = f"{' + '.join(stack)} ({', '.join(f'{weight:.1f}' for weight in weights)})"
        rows[name] = _counts(
            test, choose_spans(_mix_taggers([found[count:] for found in founds], weights))
        )
        on_held[name] = f1
    gaps = compare_paired(rows, test, seed=SEED)
    print(f"{conditions(str(SEED))}\n")
    print(
        "| tagger, decoding | F1 of the tenth held out | precision | recall | F1 | to the first"
        " | p |"
    )
    print("|:--|--:|--:|--:|--:|--:|--:|")
    for name, counts in rows.items():
        print(_row(name, counts, gaps, on_held[name]))


def _best_weights(
    held: Sequence[Document], founds: Sequence[Sequence[Found]]
) -> tuple[tuple[float, ...], float]:
    """Return the weights of a stack that do best on the notes held out, and their F1."""
    tried = {
        weights: _f1(_counts(held, choose_spans(_mix_taggers(founds, weights))))
        for weights in _weights(len(founds))
    }
    best = max(tried, key=lambda one: tried[one])
    return best, tried[best]


def _mix_taggers(founds: Sequence[Sequence[Found]], weights: Sequence[float]) -> list[Found]:
    """Return what the taggers of a stack say together of each note."""
    return [mix(of_note, weights) for of_note in zip(*founds, strict=True)]


def _row(name: str, counts: Sequence[Counts], gaps: Comparison, on_held: float) -> str:
    total = sum(counts, Counts())
    own = gaps.interval(name, Scheme.STRICT, Ratio.F1)
    gap = gaps.difference(name, Scheme.STRICT, Ratio.F1)
    f1 = f"{own.value:.4f} [{own.low:.4f}, {own.high:.4f}]" if own else "-"
    against = "- | -"
    if gap:
        against = f"{gap.value:+.4f} [{gap.low:+.4f}, {gap.high:+.4f}] | {gap.p:.3f}"
    return (
        f"| {name} | {on_held:.4f} | {total.precision:.4f} | {total.recall:.4f} |"
        f" {f1} | {against} |"
    )


def _weights(count: int) -> list[tuple[float, ...]]:
    steps = itertools.product(range(1, STEPS), repeat=count)
    return [tuple(part / STEPS for part in parts) for parts in steps if sum(parts) == STEPS]


if __name__ == "__main__":
    main()
