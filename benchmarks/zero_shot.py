"""Masked language models as zero-shot detectors.

The table of Myntti (2025, section 4.2) and beyond, as Markdown.

DEID_CORPORA=<folder with annotated/> python benchmarks/zero_shot.py --model NAME=FOLDER [--model
...]
    [--set NAME ...] [--notes N] [--many] [--variants N] [--against FOLDER] [--window N] [--seed S]

Of each set, the first half chooses the threshold and the second is tested on; where ``--notes`` are
fewer, they are drawn of each half by the seed. Unit: sub-tokens of the model's own vocabulary, PHI
or not. ``--variants`` measures each option apart on the first set. A folder is one that ``deid
pretrain`` or ``deid zero-shot export`` wrote.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from conditions import conditions

from deid_assets.core.errors import OverlapError
from deid_assets.core.label_maps import label_map
from deid_assets.core.span import DisjointSpans, Span, SpanSet
from deid_assets.core.trainer import Document
from deid_assets.formats import Annotated, read_notes
from deid_assets.plugins import load
from deid_assets.training import read_corpus
from deid_assets.training.pretraining import learnt_from
from deid_zero_shot.calibration import choose
from deid_zero_shot.method import Method, Runtime, method_of, read_options
from deid_zero_shot.points import ValueInterval
from deid_zero_shot.protect import Protection
from deid_zero_shot.scorer import FLOOR, KEPT, ScoredNote, ScoredWord
from deid_zero_shot.study import (
    COLUMNS,
    Gain,
    ScoredDocuments,
    StudyRow,
    chance_rows,
    ensemble_gain,
    make_row,
    points,
    score_all,
    zero_shot_row,
)

SETS: Mapping[str, tuple[str, str, str]] = {
    "meddocan": ("es", "meddocan/dev.jsonl", "meddocan"),
    "asq-phi": ("en", "asq-phi/dev.jsonl", "asq_phi"),
    "eds-pseudo": ("fr", "eds-pseudo-templates/dev.jsonl", "eds_pseudo"),
    "grascco": ("de", "grascco-phi/dev.jsonl", "grascco"),
    "deduce": ("nl", "deduce-cases-nl/cases.jsonl", "deduce"),
    "turku": ("fi", "turku-ner-fi/dev.jsonl", "turku_ner"),
    "synthetic-it": ("it", "synthetic:it:60:31", ""),
    "synthetic-sv": ("sv", "synthetic:sv:60:31", ""),
}
"""Language, file below ``annotated`` or made corpus, and label map.

None is a test set of its makers.
"""
LEAST = 2
ALONE = "each word alone"
HEADING = (
    "| System | Threshold | Redacted | Accuracy | F1 | Recall | Precision | PR-AUC | ROC-AUC"
    " |\n|---" + "|--:" * 8 + "|"
)


class Notes(NamedTuple):
    """Notes of a set: to calibrate on and to test on, and what the rules find in both."""

    dev: Sequence[Document]
    test: Sequence[Document]
    dev_by_rules: Sequence[SpanSet]
    test_by_rules: Sequence[SpanSet]


def main() -> None:
    options = _options()
    print(conditions(str(options.seed)), flush=True)
    models = dict(model.split("=", 1) for model in options.model)
    for number, name in enumerate(options.set or SETS):
        parts = halves(documents_of(name), options.notes, seed=options.seed)
        if min(map(len, parts)) < LEAST:
            print(f"\n{name}: skipped; set DEID_CORPORA to a folder with annotated/", flush=True)
            continue
        rules = load("rules")
        notes = Notes(
            *parts, *(list(rules.detect([document.note for document in part])) for part in parts)
        )
        found = _table(name, notes, models, options)
        if options.variants and not number:
            for system, folder in models.items():
                _variants(system, folder, found[system], notes, options)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", action="append", required=True, metavar="NAME=FOLDER")
    parser.add_argument("--set", action="append", choices=SETS)
    parser.add_argument("--notes", type=int, default=10_000, help="of each set, at most")
    parser.add_argument(
        "--variants", type=int, default=0, metavar="N", help="notes of each half to try options on"
    )
    parser.add_argument(
        "--option",
        action="append",
        metavar="NAME",
        help="of those that score again; all when not given",
    )
    parser.add_argument("--against", help="folder of a model of general text")
    parser.add_argument("--window", type=int, default=512)
    parser.add_argument("--precision", default="fp32")
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument(
        "--many", action="store_true", help="mask words that stand apart together: alone = false"
    )
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def documents_of(name: str) -> Sequence[Document]:
    """Return the annotated notes of a set, or nothing where it is not at hand."""
    _, source, labels = SETS[name]
    if source.startswith("synthetic:"):
        return read_corpus(source).documents
    path = Path(os.environ.get("DEID_CORPORA", "")) / "annotated" / source
    return [*_read(path, labels)] if path.exists() else ()


def halves(
    documents: Sequence[Document], most: int, *, seed: int
) -> tuple[Sequence[Document], Sequence[Document]]:
    """Return notes to calibrate on and notes to test on, drawn of either half, ``most`` in all."""
    half = len(documents) // 2
    draw = random.Random(seed)
    first, second = (
        draw.sample(part, min(len(part), most // 2))
        for part in (documents[:half], documents[half:])
    )
    return first, second


def _read(path: Path, labels: str) -> Iterator[Document]:
    """Yield annotated notes but those in which annotations overlap.

    A sub-token has one category.
    """
    for found in read_notes(path, labels=label_map(labels)):
        if isinstance(found, Annotated):
            with suppress(OverlapError):
                yield Document(found.note, DisjointSpans.of(found.note, found.spans))


def _runtime(options: argparse.Namespace) -> Runtime:
    return Runtime(precision=options.precision, threads=options.threads)


def _method(
    folder: str, options: argparse.Namespace, runtime: Runtime, **scoring: object
) -> Method:
    return method_of(
        folder,
        read_options({"window": options.window, "alone": not options.many} | scoring),
        runtime,
    )


def _table(
    name: str, given: Notes, models: Mapping[str, str], options: argparse.Namespace
) -> Mapping[str, ScoredDocuments]:
    """Print the table of a set, and return what was scored, by model."""
    scored: dict[str, ScoredDocuments] = {}
    parts, found = (given.dev, given.test), (given.dev_by_rules, given.test_by_rules)
    notes = [document.note for part in parts for document in part]
    print(f"\n## {name} ({SETS[name][0]}), {len(parts[0])} notes calibrate, {len(parts[1])} test\n")
    print(HEADING, flush=True)
    remarks = []
    for number, (system, folder) in enumerate(models.items()):
        if learnt := learnt_from(Path(folder), notes):
            sys.exit(f"{system} was pre-trained on note {learnt[0]}; choose other notes")
        method = _method(folder, options, _runtime(options))
        began = time.process_time()
        judged = scored[system] = ScoredDocuments(*(score_all(method, part) for part in parts))
        spent = time.process_time() - began
        if not number:
            prevalence = float(points(judged.dev).gold.mean())
            chances = chance_rows(judged.test, prevalence, seed=options.seed)
            for row in [*chances, make_row("rules", judged.test, found[1])]:
                print(_line(row))
        row = zero_shot_row(system, judged, seed=options.seed)
        print(_line(row), flush=True)
        cost = method.scorer.spent
        recalls = ", ".join(f"{label} {value:.2f}" for label, value in row.recalls.items())
        costs = (
            f"{spent / len(notes):.2f} CPU s a note, {cost.variants / len(notes):.0f} variants in "
            f"{cost.runs / len(notes):.0f} runs"
        )
        remarks += [
            f"- `{system}`: {costs}. Recall: {recalls}.",
            _show_gain(system, ensemble_gain(judged, *found, seed=options.seed)),
        ]
    print("", *remarks, sep="\n", flush=True)
    return scored


def _show_gain(system: str, gain: Gain) -> str:
    (recall, precision), (with_model, precise) = gain.alone, gain.together
    return (
        f"- `rules` + `{system}`: recall {_short(recall)} to {_short(with_model)}, difference "
        f"{_interval(gain.difference)}; precision {_short(precision)} to {_short(precise)}."
    )


def _variants(
    system: str, folder: str, found: ScoredDocuments, given: Notes, options: argparse.Namespace
) -> None:
    few = options.variants
    base = ScoredDocuments(found.dev[:few], found.test[:few])
    spans = [part[:few] for part in (given.dev_by_rules, given.test_by_rules)]
    print(
        f"\n### Each option apart, {system}, {len(base.dev)} notes calibrate, {len(base.test)}"
        f" test\n\n{HEADING}"
    )
    for name, judged in _change_documents(base, folder, options):
        print(_line(zero_shot_row(name, judged, seed=options.seed)), flush=True)
    print(
        "",
        _show_gain(f"{system}, typed", ensemble_gain(base.drop_typed(), *spans, seed=options.seed)),
        sep="\n",
        flush=True,
    )


def _kinds_alone(base: ScoredDocuments) -> ScoredDocuments:
    """Return the words with one score for all that may be PHI by their kind.

    What typing does without the model.
    """

    def blind(part: Sequence[tuple[Document, ScoredNote]]) -> list[tuple[Document, ScoredNote]]:
        rows = []
        for one, scored in part:
            words = [
                word if word.score >= KEPT else word._replace(score=-1.0) for word in scored.words
            ]
            rows.append((one, scored._replace(words=words)))
        return rows

    typed = base.drop_typed()
    return ScoredDocuments(blind(typed.dev), blind(typed.test))


def _numbers_by_rules(base: ScoredDocuments) -> ScoredDocuments:
    """Return words scored by the model and numbers decided by the rules, with the allow-list and
    field labels.
    """
    rules, scored = (
        load("rules"),
        base.change(protection=Protection(allow=True, fields=True, numbers=True)),
    )

    def decide(
        part: Sequence[tuple[Document, ScoredNote]],
    ) -> Iterator[tuple[Document, ScoredNote]]:
        found = rules.detect([document.note for document, _ in part])
        for (document, own), spans in zip(part, found, strict=True):
            text = document.note.text
            words = [
                (
                    word._replace(score=FLOOR)
                    if _is_number(text[word.start : word.end], word, spans)
                    else word
                )
                for word in own.words
            ]
            yield document, own._replace(words=words)

    return ScoredDocuments([*decide(scored.dev)], [*decide(scored.test)])


def _is_number(text: str, word: ScoredWord, spans: Iterable[Span]) -> bool:
    return any(map(str.isdigit, text)) and any(
        span.start < word.end and span.end > word.start for span in spans
    )


def _change_documents(
    base: ScoredDocuments, folder: str, options: argparse.Namespace
) -> Iterator[tuple[str, ScoredDocuments]]:
    yield "as above", base
    yield "allow-list", base.change(protection=Protection(allow=True))
    yield "field labels stay", base.change(protection=Protection(fields=True))
    yield "numbers left to rules", base.change(protection=Protection(numbers=True))
    yield (
        "allow-list and field labels",
        base.change(protection=Protection(allow=True, fields=True)),
    )
    yield "these three", base.change(protection=Protection(allow=True, fields=True, numbers=True))
    yield "these three, numbers by rules", _numbers_by_rules(base)
    yield "geometric mean", base.change(mean=True)
    yield "typed", base.drop_typed()
    yield "the types alone, without the model", _kinds_alone(base)
    parts = [[document for document, _ in part] for part in (base.dev, base.test)]

    runtime = _runtime(options)

    def again(runtime: Runtime = runtime, **scoring: object) -> ScoredDocuments:
        method = _method(folder, options, runtime, **scoring)
        return ScoredDocuments(*(score_all(method, part) for part in parts))

    rescored: dict[str, Callable[[], ScoredDocuments]] = {
        "no lemmas": partial(again, lemmas="none"),
        "same words visible": partial(again, together=False),
        "mutual information": partial(again, prior=1.0),
        "against the other model": partial(again, against=options.against),
        "fp32": partial(again, replace(runtime, precision="fp32")),
    }
    if not options.against:
        del rescored["against the other model"]
    wanted = options.option or [*rescored, ALONE]
    yield from ((name, make()) for name, make in rescored.items() if name in wanted)
    if ALONE not in wanted:
        return
    alone = again(alone=True) if options.many else base
    yield ALONE, alone
    below = choose(points(alone.dev), "f1").log_threshold
    staged = score_all(_method(folder, options, runtime, alone=True), parts[1], below=below)
    yield "alone, in two stages", ScoredDocuments(alone.dev, staged)


def _line(row: StudyRow) -> str:
    threshold = f"{row.threshold.probability:.2g}" if row.threshold else ""
    values = " | ".join(_interval(row.values[column]) for column in COLUMNS)
    return f"| {row.system} | {threshold} | {row.redacted:.0%} | {values} |"


def _interval(found: ValueInterval) -> str:
    if found.value is None:
        return ""
    around = (
        "" if found.low is None or found.high is None else f" ({found.low:.3f} to {found.high:.3f})"
    )
    return f"{found.value:.3f}{around}"


def _short(value: float | None) -> str:
    return "none" if value is None else f"{value:.3f}"


if __name__ == "__main__":
    main()
