"""What learned taggers find beside `rules` in a corpus that they have not seen, as Markdown.

DEID_CORPORA=<folder with annotated/> python benchmarks/leave_one_out.py --work FOLDER [--corpus
grascco ...] [--target 0.5]

For every development corpus in turn: a CRF is trained on synthetic notes in eight languages and on
all corpora but that one, and reads it. A batch CRF learns what `rules` found in one half of that
corpus and reads the other, without seeing what `rules` say. Each is scored in union with `rules`,
by character, under the categories that the corpus annotates, at a threshold that is chosen on the
other corpora: the lowest whose mean loss of precision there is at most the target. FOLDER keeps
what the taggers said, so that a killed run goes on, and a corpus at a time can be read.
"""

from __future__ import annotations

import argparse
import os
import pickle
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from batch_crf import (
    GIVEN,
    GROUP,
    REST,
    NoteScores,
    blend,
    group_spans,
    read_batch,
    scores,
    spans_of,
    task_of,
)
from batch_stack import features, probabilities
from conditions import conditions
from score_corpora import CORPORA, PROFILE, _detect, _read

from deid_assets.core.label_maps import label_map
from deid_assets.core.phi import Phi, profile
from deid_assets.core.span import DisjointSpans, SpanSet
from deid_assets.core.trainer import Document
from deid_assets.evaluation.comparison import Ratio, Row
from deid_assets.evaluation.counts import Scheme
from deid_assets.evaluation.resampling import compare
from deid_assets.evaluation.score import Evaluation, evaluate_by_note
from deid_assets.languages import SYNTHESIS, languages
from deid_assets.plugins import load
from deid_assets.training.corpora import owner, read_corpus, split_order
from deid_crf.tagger import CrfTagger
from deid_crf.trainer import fit

LANGUAGES = languages(SYNTHESIS)
SYNTHETIC = 25
MOST = 250
LIMITS = {"meddocan": 60, "turku-ner": 50}
"""Notes read of a corpus, drawn by patient; of long ones fewer."""
LEARNT = 100
"""Notes of each corpus that a CRF learns from, the first of those read."""
THRESHOLDS = (0.3, 0.4, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)
METHODS = ("crf", "synthetic crf", "batch", "batch + synthetic crf", "batch + crf", "stack")
SHOWN = ("crf", "batch + crf", "stack")
"""Methods with a table of their own."""


@dataclass(frozen=True, slots=True)
class Read:
    """A corpus, and what `rules` found in it."""

    documents: Sequence[Document]
    rules: Sequence[SpanSet]


@dataclass(frozen=True, slots=True)
class Point:
    """A method's scores on a corpus at a threshold."""

    evaluation: Evaluation
    rows: Mapping[str, Row]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--work", type=Path, required=True, help="folder for what the taggers said")
    parser.add_argument(
        "--corpus", choices=sorted(CORPORA), action="append", help="read these, and print no table"
    )
    parser.add_argument(
        "--target", type=float, nargs="+", default=[0.5, 1.0], help="points of precision"
    )
    options = parser.parse_args()
    if not _root().is_dir():
        sys.exit(f"{_root()} is not there; set DEID_CORPORA")
    options.work.mkdir(parents=True, exist_ok=True)
    for name in options.corpus or CORPORA:
        _score_left_out(name, options.work)
    if not options.corpus:
        _show({name: _score_left_out(name, options.work) for name in CORPORA}, options.target)


def _root() -> Path:
    return Path(os.environ.get("DEID_CORPORA", "")) / "annotated"


@cache
def corpus_of(name: str) -> Read:
    corpus = CORPORA[name]
    notes, gold = _read(_root() / corpus.path, corpus.labels)
    documents = []
    for note in notes:
        kept: list = []
        for span in sorted(gold[note.note_id], key=lambda span: span.start - span.end):
            if all(span.end <= other.start or other.end <= span.start for other in kept):
                kept.append(span)
        documents.append(
            Document(note, DisjointSpans.of(note, sorted(kept, key=lambda span: span.start)))
        )
    rank = split_order(documents, seed=1)
    documents.sort(key=lambda document: (rank[owner(document)], document.note.note_id))
    documents = documents[: LIMITS.get(name, MOST)]
    notes = [document.note for document in documents]
    found = _detect(load("rules", options={"profile": corpus.annotated_under}), notes)
    return Read(documents, [found[note.note_id] for note in notes])


def _scope(name: str) -> frozenset[Phi]:
    return label_map(CORPORA[name].labels).categories


def learnt_from(name: str) -> list[Document]:
    """Return a corpus as others learn from it.

    Of a category that it does not annotate, what `rules` found is kept.
    """
    annotated = {GROUP.get(label, REST) for label in _scope(name)} | {REST}
    found = []
    for document, rules in list(zip(corpus_of(name).documents, corpus_of(name).rules, strict=True))[
        :LEARNT
    ]:
        gold = group_spans(document.spans)
        added = [
            span
            for span in group_spans(rules)
            if span.label not in annotated and not _meets(span, gold)
        ]
        spans = [
            replace(span, source="gold", score=1.0)
            for span in sorted([*gold, *added], key=lambda s: s.start)
        ]
        note = replace(document.note, note_id=f"{name}-{document.note.note_id}")
        found.append(Document(note, DisjointSpans.of(note, spans)))
    return found


def _meets(span: object, others: Sequence[object]) -> bool:
    return any(span.start < other.end and other.start < span.end for other in others)  # type: ignore[attr-defined]


@cache
def synthetic() -> list[Document]:
    found = []
    for lang in LANGUAGES:
        for document in read_corpus(f"synthetic:{lang}:{SYNTHETIC}").documents:
            note = replace(document.note, note_id=f"synthetic-{lang}-{document.note.note_id}")
            found.append(Document(note, DisjointSpans.of(note, group_spans(document.spans))))
    return found


@cache
def _synthetic_tagger() -> CrfTagger:
    return CrfTagger(fit(task_of(synthetic(), GIVEN)))


def _score_left_out(name: str, work: Path) -> dict[str, list[NoteScores]]:
    """Return what each tagger says of a corpus that it was not trained on; made once."""
    path = work / f"{name}.pickle"
    if path.exists():
        return pickle.loads(path.read_bytes())
    started = time.process_time()
    notes = [document.note for document in corpus_of(name).documents]
    others = [document for other in CORPORA if other != name for document in learnt_from(other)]
    batch = read_batch(notes, corpus_of(name).rules)
    if batch is None:
        sys.exit(f"{name}: rules found nothing to learn from")
    learnt = time.process_time()
    found = {"batch": batch}
    found["crf"] = scores(CrfTagger(fit(task_of([*synthetic(), *others], GIVEN))), notes)
    found["synthetic crf"] = scores(_synthetic_tagger(), notes)
    path.write_bytes(pickle.dumps(found))
    print(
        f"{name}: batch {learnt - started:.0f} s, both CRFs {time.process_time() - learnt:.0f} s"
        " of CPU",
        file=sys.stderr,
        flush=True,
    )
    return found


def _show(said: Mapping[str, Mapping[str, list[NoteScores]]], targets: Sequence[float]) -> None:
    methods = {
        name: {
            **found,
            "batch + synthetic crf": blend(found["batch"], found["synthetic crf"]),
            "batch + crf": blend(found["batch"], found["crf"]),
        }
        for name, found in said.items()
    }
    tables = {
        name: features(
            corpus_of(name).documents, corpus_of(name).rules, found["batch"], found["crf"]
        )
        for name, found in said.items()
    }
    for name, found in methods.items():
        found["stack"] = probabilities(tables, name, blend(found["batch"], found["crf"]))
    for shown in show_targets(methods, METHODS, targets):
        for method in SHOWN:
            shown.show(method)


@dataclass(frozen=True, slots=True)
class Shown:
    """What methods reach at a target.

    Args:
        target: Points of precision.
        zero: Of each corpus, `rules` alone.
        points: Of each method and corpus, by threshold.
        chosen: Of each method and corpus, the threshold that the others chose.
    """

    target: float
    zero: Mapping[str, Point]
    points: Mapping[str, Points]
    chosen: Mapping[str, Mapping[str, float | None]]

    def show(self, method: str) -> None:
        """Print a method's table."""
        show_method(method, self.zero, self.points[method], self.chosen[method])


def show_targets(
    said: Mapping[str, Mapping[str, Sequence[NoteScores]]],
    methods: Sequence[str],
    targets: Sequence[float],
) -> Iterator[Shown]:
    """Print the conditions, and for each target the means of methods; yield what they rest on.

    Args:
        said: Of each corpus and method, the scores of its notes.
        methods: In the order of the table.
        targets: Points of precision.
    """
    zero = {name: point_of(name, None, 0.0) for name in said}
    points = {
        method: {
            name: {at: point_of(name, found[method], at) for at in THRESHOLDS}
            for name, found in said.items()
        }
        for method in methods
    }
    print(f"{conditions('1')}\n")
    for target in targets:
        print(f"\n## At most {target:g} points of precision, on average of the other corpora\n")
        chosen = {
            method: {name: choose_threshold(points[method], zero, name, target) for name in said}
            for method in methods
        }
        show_means(zero, points, chosen)
        yield Shown(target, zero, points, chosen)


def point_of(name: str, found: Sequence[NoteScores] | None, threshold: float) -> Point:
    corpus = corpus_of(name)
    pairs = []
    for number, (document, rules) in enumerate(zip(corpus.documents, corpus.rules, strict=True)):
        spans = list(rules)
        if found is not None:
            spans = spans_of(
                document.note, found[number], rules, min_score=threshold, source="learnt"
            )
        pairs.append((document.spans, SpanSet.of(document.note, spans)))
    scope = _scope(name)
    return Point(
        *evaluate_by_note(
            pairs,
            profile=profile(PROFILE),
            scope=scope | {GROUP[label] for label in scope if label in GROUP},
            lengths={
                document.note.note_id: len(document.note.text) for document in corpus.documents
            },
        )
    )


def _change(point: Point, base: Point) -> tuple[float, float, int]:
    """Return what recall and precision of characters change by, in points, and how many notes more
    are covered.
    """
    new, old = point.evaluation.characters, base.evaluation.characters
    return (
        100 * ((new.recall or 0.0) - (old.recall or 0.0)),
        100 * ((new.precision or 0.0) - (old.precision or 0.0)),
        point.evaluation.notes.covered - base.evaluation.notes.covered,
    )


Points = Mapping[str, Mapping[float, Point]]


def choose_threshold(
    points: Points, base: Mapping[str, Point], name: str, target: float
) -> float | None:
    """Return the lowest threshold that costs the other corpora no more than the target, if there is
    one.
    """
    others = [other for other in points if other != name]
    for threshold in THRESHOLDS:
        lost = [-_change(points[other][threshold], base[other])[1] for other in others]
        if sum(lost) / len(lost) <= target:
            return threshold
    return None


def show_means(
    base: Mapping[str, Point],
    points: Mapping[str, Points],
    chosen: Mapping[str, Mapping[str, float | None]],
) -> None:
    print(
        "| beside `rules` | recall gained | precision | more notes covered | of what `rules`"
        " misses |"
    )
    print("|:--|--:|--:|--:|--:|")
    for method, thresholds in chosen.items():
        changes = [
            _change(_at(points[method][name], base[name], at), base[name])
            for name, at in thresholds.items()
        ]
        missed = [
            100 * (1 - (base[name].evaluation.characters.recall or 0.0)) for name in thresholds
        ]
        share = sum(gain / miss for (gain, _, _), miss in zip(changes, missed, strict=True)) / len(
            changes
        )
        gain, loss = (sum(change[at] for change in changes) / len(changes) for at in (0, 1))
        print(
            f"| {method} | {gain:+.2f} | {loss:+.2f} | {sum(change[2] for change in changes):+d} |"
            f" {share:.0%} |"
        )


def _at(points: Mapping[float, Point], base: Point, threshold: float | None) -> Point:
    return base if threshold is None else points[threshold]


def show_method(
    method: str, base: Mapping[str, Point], points: Points, chosen: Mapping[str, float | None]
) -> None:
    print(f"\n### {method}\n")
    print(
        "| left out | language | notes | threshold | `rules` recall, precision | recall | precision"
        " | notes covered |"
    )
    print("|:--|:--|--:|--:|--:|--:|--:|--:|")
    for name, threshold in chosen.items():
        documents, point = corpus_of(name).documents, _at(points[name], base[name], threshold)
        rows = {"rules": base[name].rows, "both": point.rows}
        compared = compare(
            rows, patients={document.note.note_id: owner(document) for document in documents}
        )
        cells = []
        for ratio in (Ratio.RECALL, Ratio.PRECISION):
            gap = compared.difference("both", Scheme.CHARACTERS, ratio)
            cells.append(
                "-"
                if gap is None
                else f"{100 * gap.value:+.2f} [{100 * gap.low:+.2f}, {100 * gap.high:+.2f}]"
            )
        old, notes = base[name].evaluation, point.evaluation.notes
        languages = ", ".join(sorted({document.note.lang or "?" for document in documents}))
        print(
            f"| {name} | {languages} | {len(documents)} |"
            f" {'none' if threshold is None else threshold} |"
            f" {100 * (old.characters.recall or 0):.2f},"
            f" {100 * (old.characters.precision or 0):.2f} | {' | '.join(cells)} |"
            f" {old.notes.covered} to {notes.covered} of {notes.with_phi} |"
        )


if __name__ == "__main__":
    main()
