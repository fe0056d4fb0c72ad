"""What the shipped tagger and Presidio add to `rules` on notes that none of them has seen.

deid train crf --out MODEL
DEID_CORPORA=<folder with annotated/> python benchmarks/bench_ensemble.py --model MODEL [--notes
100] [--seeds 11 12]

Each set is read by `rules` alone and by the union of `rules` with the others, as the graph merges
them. Printed are the share of gold characters and of gold spans covered, the precision by
character, and each detector's processor time for 1,000 notes, which has no start-up in it. Sets are
synthetic notes of other seeds than the tagger's, and the development sets of `score_corpora.py`.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from conditions import conditions
from score_corpora import CORPORA, PROFILE, _detect, _read, _union

from deid_assets.core.detector import Detector
from deid_assets.core.label_maps import label_map
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi, profile
from deid_assets.core.span import SpanSet
from deid_assets.evaluation.score import Evaluation, Scheme, evaluate_corpus
from deid_assets.plugins import load
from deid_synthesis import languages, make_corpus

ENSEMBLES = (("rules",), ("rules", "crf"), ("rules", "presidio"), ("rules", "crf", "presidio"))
Gold = Mapping[str, SpanSet]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", type=Path, required=True, help="the trained recipe crf")
    parser.add_argument(
        "--notes", type=int, default=100, help="synthetic notes per language and seed"
    )
    parser.add_argument("--seeds", type=int, nargs="+", default=[11, 12])
    options = parser.parse_args()
    print(f"{conditions(' and '.join(map(str, options.seeds)))}; profile {PROFILE}\n")
    print(
        "| set | notes | ensemble | characters covered | spans covered | precision | CPU s per"
        " 1,000 notes |"
    )
    print("|:--|--:|:--|--:|--:|--:|--:|")
    others = {
        "crf": load("crf", options={"model": str(options.model)}),
        "presidio": load("presidio"),
    }
    for name, notes, gold, scope, rules in _sets(options.notes, options.seeds):
        _print(name, notes, gold, scope, {"rules": rules, **others})


def _sets(
    count: int, seeds: Sequence[int]
) -> Iterator[tuple[str, list[Note], Gold, frozenset[Phi] | None, Detector]]:
    """Yield each set's name, notes, gold, the categories it annotates, and `rules` as its gold
    wants them.
    """
    for lang in languages():
        pairs = [pair for seed in seeds for pair in make_corpus(lang=lang, notes=count, seed=seed)]
        notes = [
            Note(f"{number}", note.text, lang=note.lang) for number, (note, _) in enumerate(pairs)
        ]
        gold = {
            note.note_id: SpanSet.of(note, spans.spans)
            for note, (_, spans) in zip(notes, pairs, strict=True)
        }
        yield f"synthetic {lang}", notes, gold, None, load("rules")
    root = Path(os.environ.get("DEID_CORPORA", "")) / "annotated"
    for name, corpus in CORPORA.items():
        if (root / corpus.path).exists():
            notes, gold = _read(root / corpus.path, corpus.labels)
            rules = load("rules", options={"profile": corpus.annotated_under})
            yield name, notes, gold, label_map(corpus.labels).categories, rules


def _print(
    name: str,
    notes: Sequence[Note],
    gold: Gold,
    scope: frozenset[Phi] | None,
    detectors: Mapping[str, Detector],
) -> None:
    found, seconds = {}, {}
    for source, detector in detectors.items():
        list(detector.detect(notes[:5]))  # what is loaded once
        started = time.process_time()
        found[source] = _detect(detector, notes)
        seconds[source] = (time.process_time() - started) * 1000 / len(notes)
    for ensemble in ENSEMBLES:
        spans = _union(notes, {source: found[source] for source in ensemble})
        scores = _scores(notes, gold, spans, scope)
        characters, covered = scores.characters, scores.micro(Scheme.COVERED).recall
        print(
            f"| {name} | {len(notes):,} | {' + '.join(ensemble)} | {characters.recall:.4f} |"
            f" {covered:.4f} | {characters.precision:.4f} |"
            f" {sum(seconds[source] for source in ensemble):.2f} |",
            flush=True,
        )


def _scores(
    notes: Sequence[Note], gold: Gold, found: Gold, scope: frozenset[Phi] | None
) -> Evaluation:
    pairs = ((spans, found[note_id]) for note_id, spans in gold.items())
    lengths = {note.note_id: len(note.text) for note in notes}
    return evaluate_corpus(pairs, profile=profile(PROFILE), scope=scope, lengths=lengths)


if __name__ == "__main__":
    main()
