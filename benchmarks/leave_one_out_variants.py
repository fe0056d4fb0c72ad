"""Ways to make the batch CRF of leave_one_out.py better, as rows of its table.

DEID_CORPORA=<folder with annotated/> python benchmarks/leave_one_out_variants.py --work FOLDER
[--corpus grascco ...]

- `cleaned N %`: `rules`, whose labels a batch CRF learns, miss mentions, and those are labelled as
  none. Each half is cross-fitted in two parts, and the share N of its sentences that the CRF of the
  other part believes least is left out of training (self-confidence; Northcutt, Jiang and Chuang
  2021).
- `n-grams`: every sequence of three characters of a word, its ends marked, is a feature.
- `threshold by category`: one threshold for each of NAME, LOCATION, DATE and ORGANIZATION, in place
  of one for their sum: for each the lowest that loses the other corpora, on average, a quarter of
  the target.

FOLDER may be that of leave_one_out.py, run before: then each row is there blended with its CRF too.
What is made here is kept there.
"""

from __future__ import annotations

import argparse
import hashlib
import pickle
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import leave_one_out as base
import numpy as np
from batch_crf import FOUND, LEARNING, NoteScores, blend, read_batch, scores, task_of
from score_corpora import CORPORA

import deid_crf.channels
from deid_assets.core.note import Note
from deid_assets.core.span import DisjointSpans, Span, SpanSet
from deid_assets.core.tagging import sentences
from deid_assets.core.trainer import Document
from deid_crf.batch.coarse import owner_of
from deid_crf.tagger import CrfTagger
from deid_crf.trainer import fit

SHARES = (0.05, 0.2)
GRAMS = 3


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--work", type=Path, required=True, help="folder of leave_one_out.py")
    parser.add_argument(
        "--corpus",
        choices=sorted(CORPORA),
        action="append",
        help="of these alone; one prints no table",
    )
    parser.add_argument(
        "--target", type=float, nargs="+", default=[0.5, 1.0], help="points of precision"
    )
    options = parser.parse_args()
    made = {name: _score_variants(name, options.work) for name in options.corpus or CORPORA}
    if len(made) > 1:
        _show(made, options.work, options.target)


def _score_variants(name: str, work: Path) -> dict[str, list[NoteScores]]:
    path = work / f"{name}.variants.pickle"
    if path.exists():
        return pickle.loads(path.read_bytes())
    started = time.process_time()
    corpus = base.corpus_of(name)
    notes = [document.note for document in corpus.documents]
    found = {"batch": _batch(name, notes, corpus.rules, list)}
    found |= {
        f"batch cleaned {share:.0%}": _batch(
            name, notes, corpus.rules, partial(clean_documents, share=share)
        )
        for share in SHARES
    }
    with _grams():
        found["batch n-grams"] = _batch(name, notes, corpus.rules, list)
    path.write_bytes(pickle.dumps(found))
    print(f"{name}: {time.process_time() - started:.0f} s of CPU", file=sys.stderr, flush=True)
    return found


def _batch(
    name: str,
    notes: Sequence[Note],
    labels: Sequence[SpanSet],
    prepared: Callable[[list[Document]], list[Document]],
) -> list[NoteScores]:
    found = read_batch(notes, labels, prepared=prepared)
    if found is None:
        sys.exit(f"{name}: rules found nothing to learn from")
    return found


def clean_documents(documents: Sequence[Document], *, share: float) -> list[Document]:
    """Return documents without the sentences whose labels a cross-fitted CRF believes least.

    A sentence is believed as its least believed token: of a token with a label the probability of
    that label, of another that of none of ``FOUND``. What stands between two sentences that are
    left out is a document of its own.
    """
    parts = [part_of(document.note) for document in documents]
    believed: dict[int, list[tuple[float, range]]] = {}
    found: dict[int, NoteScores] = {}
    for fold in (0, 1):
        learnt = [
            document for document, place in zip(documents, parts, strict=True) if place != fold
        ]
        if not any(span.label in FOUND for document in learnt for span in document.spans):
            return list(documents)
        tagger = CrfTagger(fit(task_of(learnt, LEARNING)))
        wanted = [number for number, place in enumerate(parts) if place == fold]
        found |= zip(
            wanted, scores(tagger, [documents[number].note for number in wanted]), strict=True
        )
    for number, document in enumerate(documents):
        tokens = found[number].tokens
        own = 1.0 - found[number].values.sum(axis=1)
        for span in document.spans:
            inside = np.array([span.start <= start < span.end for start, _ in tokens], dtype=bool)
            own[inside] = (
                found[number].values[inside, FOUND.index(span.label)]
                if span.label in FOUND
                else 1.0
            )
        believed[number] = [
            (float(own[part.start : part.stop].min()), part)
            for part in sentences(document.note.text, tokens)
        ]
    every = sorted(value for of_note in believed.values() for value, _ in of_note)
    least = every[int(share * len(every))]
    pieces = []
    for number, document in enumerate(documents):
        parts = [(value >= least, part) for value, part in believed[number]]
        pieces += _pieces(document, found[number].tokens, parts)
    return pieces


def part_of(note: Note) -> int:
    """Return which part of a half a note is in, 0 or 1."""
    return hashlib.sha256(f"part of {owner_of(note)}".encode()).digest()[0] % 2


def _pieces(
    document: Document, tokens: Sequence[tuple[int, int]], kept: Sequence[tuple[bool, range]]
) -> Iterator[Document]:
    begun: int | None = None
    for at, (is_kept, part) in enumerate([*kept, (False, range(len(tokens), len(tokens)))]):
        if is_kept and begun is None:
            begun = tokens[part.start][0]
        if is_kept or begun is None:
            continue
        end = tokens[part.start - 1][1]
        spans = [
            Span(span.start - begun, span.end - begun, span.label, 1.0, "gold")
            for span in document.spans
            if begun <= span.start and span.end <= end
        ]
        note = document.note
        piece = Note(
            f"{note.note_id}-{at}", note.text[begun:end], lang=note.lang, patient_id=note.patient_id
        )
        yield Document(piece, DisjointSpans.of(piece, spans))
        begun = None


@contextmanager
def _grams() -> Iterator[None]:
    """Make a word's sequences of characters features while it lasts."""
    plain = deid_crf.channels.attributes

    def more(word: str, distance: int) -> Sequence[str]:
        if distance:
            return plain(word, distance)
        marked = f"^{word.lower()}$"
        return [
            *plain(word, distance),
            *{f"g{marked[at : at + GRAMS]}" for at in range(len(marked) - GRAMS + 1)},
        ]

    deid_crf.channels.attributes = more
    try:
        yield
    finally:
        deid_crf.channels.attributes = plain


def _show(
    made: Mapping[str, Mapping[str, list[NoteScores]]], work: Path, targets: Sequence[float]
) -> None:
    methods = {name: dict(variants) for name, variants in made.items()}
    if has_crf := all((work / f"{name}.pickle").exists() for name in made):
        for name, variants in made.items():
            known = pickle.loads((work / f"{name}.pickle").read_bytes())
            methods[name] |= {
                f"{key} + crf": blend(found, known["crf"]) for key, found in variants.items()
            }
            methods[name]["batch + synthetic crf"] = blend(
                variants["batch"], known["synthetic crf"]
            )
    divided = (
        ["batch + crf", "batch cleaned 20% + crf", "batch + synthetic crf"]
        if has_crf
        else ["batch"]
    )
    apart = {
        method: {name: by_category(name, methods[name][method]) for name in made}
        for method in divided
    }
    for shown in base.show_targets(methods, list(next(iter(methods.values()))), targets):
        for method in divided:
            said = {name: methods[name][method] for name in made}
            show_apart(
                f"{method}, threshold by category", apart[method], shown.zero, said, shown.target
            )


def _only(found: Sequence[NoteScores], thresholds: Sequence[float | None]) -> list[NoteScores]:
    """Return scores of 1 where a category's own threshold is reached, otherwise of 0."""
    least = np.array([2.0 if at is None else at for at in thresholds])
    return [
        NoteScores(one.tokens, np.where(one.values >= least, one.values + 1.0, 0.0))
        for one in found
    ]


def by_category(name: str, found: Sequence[NoteScores]) -> list[dict[float, base.Point]]:
    """Return the scores of each category alone, by threshold."""
    points = []
    for number in range(len(FOUND)):
        of_category = {}
        for at in base.THRESHOLDS:
            thresholds: list[float | None] = [None] * len(FOUND)
            thresholds[number] = at
            of_category[at] = base.point_of(name, _only(found, thresholds), 1.0)
        points.append(of_category)
    return points


def show_apart(
    method: str,
    apart: Mapping[str, Sequence[Mapping[float, base.Point]]],
    zero: Mapping[str, base.Point],
    said: Mapping[str, list[NoteScores]],
    target: float,
) -> None:
    points, chosen = {}, {}

    def thresholds_for(name: str) -> list[float | None]:
        return [
            base.choose_threshold(
                {other: apart[other][number] for other in apart}, zero, name, target / len(FOUND)
            )
            for number in range(len(FOUND))
        ]

    for name in apart:
        thresholds = thresholds_for(name)
        chosen[name] = " ".join("none" if at is None else f"{at:g}" for at in thresholds)
        points[name] = {chosen[name]: base.point_of(name, _only(said[name], thresholds), 1.0)}
    base.show_means(zero, {method: points}, {method: chosen})
    base.show_method(method, zero, points, chosen)
    every = " ".join("none" if at is None else f"{at:g}" for at in thresholds_for(""))
    print(f"\nOn all corpora: {every}.")


if __name__ == "__main__":
    main()
