"""What the rest of the note and of the batch tells the CRFs of leave_one_out.py, as rows of its
table.

DEID_CORPORA=<folder with annotated/> python benchmarks/leave_one_out_documents.py --work FOLDER
[--variant note ...]

Features of each token that the batch CRF, and the CRF over synthetic notes that it is blended with,
get beside their own:

- `note`: how often its word stands in the note, whether also in lower case, or with a capital
  within a sentence; the heading above it, the shape of its line (upper case, words with a capital
  alone, after an empty line), and its tenth of the note.
- `labels`: what `rules` say of the same word elsewhere in the note, and in the other notes of the
  batch: how often, and the commonest label.
- `two passes`: what a first CRF thinks of the token, of the same word elsewhere in the note and in
  the other notes of the batch. For the notes that are learnt from, the first CRF learnt from the
  other part of them.
- `layouts`: none; the CRF over synthetic notes learns from as many more, of the mix `bare`, in
  which no word announces what follows.
- `layouts, two passes`: both.

FOLDER is that of leave_one_out.py, run before. What is made here is kept there.
"""

from __future__ import annotations

import argparse
import pickle
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path

import leave_one_out as base
import numpy as np
from batch_crf import (
    FOUND,
    GIVEN,
    LEARNING,
    NoteScores,
    blend,
    half_of,
    read_batch,
    scores,
    task_of,
)
from leave_one_out_variants import by_category, part_of, show_apart
from score_corpora import CORPORA

from deid_assets.core.note import Note
from deid_assets.core.span import DisjointSpans, SpanSet
from deid_assets.core.tagging import tokenize
from deid_assets.core.trainer import Document
from deid_assets.plugins import load
from deid_assets.training.corpora import read_corpus
from deid_crf.batch.coarse import coarse, group_spans
from deid_crf.sources import PROFILE, Sources
from deid_crf.tagger import CrfTagger
from deid_crf.trainer import fit
from deid_crf.view import NoteView

Hits = Mapping[str, Sequence[tuple[str, ...]]]
"""Digest of a note to the features of each token."""
VARIANTS = ("note", "labels", "two passes", "layouts", "layouts, two passes")
SHOWN = ("two passes", "layouts", "layouts, two passes")
"""Those that get a row with a threshold for each category, and a table of all corpora."""
BARE_SEED = 7_001
"""Of other people than those of the other synthetic notes."""
STEPS = (0.03, 0.1, 0.3, 0.6, 0.9)
LOOKED_AT = 0.01


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--work", type=Path, required=True, help="folder of leave_one_out.py")
    parser.add_argument(
        "--variant", choices=VARIANTS, action="append", help="of these alone, and no table"
    )
    parser.add_argument(
        "--target", type=float, nargs="+", default=[0.5, 1.0], help="points of precision"
    )
    options = parser.parse_args()
    made = {
        name: _score_variants(name, options.work, options.variant or VARIANTS) for name in CORPORA
    }
    if not options.variant:
        _show(made, options.work, options.target)


def _score_variants(name: str, work: Path, variants: Sequence[str]) -> dict[str, list[NoteScores]]:
    corpus = base.corpus_of(name)
    notes = [document.note for document in corpus.documents]
    first = pickle.loads((work / f"{name}.pickle").read_bytes())
    found: dict[str, list[NoteScores]] = {}
    for variant in variants:
        path = work / f"{name}.documents-{variant.replace(' ', '-')}.pickle"
        if not path.exists():
            started = time.process_time()
            tagger = _tagger(variant)
            if variant == "layouts":
                batch, given = first["batch"], scores(tagger, notes)
            elif variant.endswith("two passes"):
                with hearing(_batch_hits(name, first["batch"])):
                    batch = read_batch(notes, corpus.rules) or first["batch"]
                before = (
                    scores(_tagger("layouts"), notes)
                    if variant != "two passes"
                    else first["synthetic crf"]
                )
                with hearing(_opinion_hits(notes, before)):
                    given = scores(tagger, notes)
            else:
                with hearing(_hits(variant)):
                    batch, given = (
                        read_batch(notes, corpus.rules) or first["batch"],
                        scores(tagger, notes),
                    )
            path.write_bytes(pickle.dumps((batch, given)))
            print(
                f"{name}, {variant}: {time.process_time() - started:.0f} s of CPU",
                file=sys.stderr,
                flush=True,
            )
        found[f"batch, {variant}"], found[f"synthetic crf, {variant}"] = pickle.loads(
            path.read_bytes()
        )
    return found


@cache
def _tagger(variant: str) -> CrfTagger:
    documents = _add_layouts() if variant.startswith("layouts") else base.synthetic()
    if variant == "layouts":
        return CrfTagger(fit(task_of(documents, GIVEN)))
    with hearing(_synthetic_hits(documents) if variant.endswith("two passes") else _hits(variant)):
        return CrfTagger(fit(task_of(documents, GIVEN)))


@cache
def _add_layouts() -> list[Document]:
    more = list(base.synthetic())
    for lang in base.LANGUAGES:
        for document in read_corpus(
            f"synthetic:{lang}/bare:{base.SYNTHETIC}:{BARE_SEED}"
        ).documents:
            note = replace(document.note, note_id=f"bare-{lang}-{document.note.note_id}")
            more.append(Document(note, DisjointSpans.of(note, group_spans(document.spans))))
    return more


@contextmanager
def hearing(hits: Hits) -> Iterator[None]:
    """Make these features of the notes' tokens while it lasts."""
    plain = Sources.views

    def more(self: Sources, notes: Sequence[Note]) -> list[NoteView]:
        return [
            replace(view, hits=hits[note.digest])
            for note, view in zip(notes, plain(self, notes), strict=True)
        ]

    Sources.views = more  # type: ignore[method-assign]
    try:
        yield
    finally:
        Sources.views = plain  # type: ignore[method-assign]


@cache
def _groups() -> dict[str, tuple[list[Note], list[SpanSet]]]:
    """Return notes that are a batch each, and what `rules` found in them."""
    found: dict[str, tuple[list[Note], list[SpanSet]]] = {}
    for name in CORPORA:
        read = base.corpus_of(name)
        found[name] = ([document.note for document in read.documents], list(read.rules))
    by_lang: dict[str, list[Note]] = defaultdict(list)
    for document in base.synthetic():
        by_lang[document.note.lang or ""].append(document.note)
    rules = load("rules", options={"profile": PROFILE})
    return found | {
        f"synthetic-{lang}": (notes, list(rules.detect(notes))) for lang, notes in by_lang.items()
    }


@cache
def _hits(variant: str) -> Hits:
    found: dict[str, list[tuple[str, ...]]] = {}
    for notes, rules in _groups().values():
        features = (
            label_features(notes, rules)
            if variant == "labels"
            else [note_features(note.text) for note in notes]
        )
        found |= zip((note.digest for note in notes), features, strict=True)
    return found


def note_features(text: str) -> list[tuple[str, ...]]:
    """Return features of each token, of the note alone."""
    tokens = tokenize(text)
    words = [text[start:end] for start, end in tokens]
    lower, capital, all_of = set(), set(), Counter(word.lower() for word in words)
    for number, word in enumerate(words):
        if word.islower():
            lower.add(word)
        elif (
            word[:1].isupper()
            and number
            and words[number - 1] not in ".:!?-"
            and "\n" not in text[tokens[number - 1][1] : tokens[number][0]]
        ):
            capital.add(word.lower())
    of_lines: dict[int, tuple[str, ...]] = {}
    starts = [0, *(at + 1 for at, char in enumerate(text) if char == "\n")]
    heading, was_empty = "", True
    for start, end in zip(starts, [*starts[1:], len(text) + 1], strict=True):
        line = text[start:end].strip()
        of_line = line.split()
        if (line.endswith(":") and len(of_line) <= 5) or (
            line.isupper() and 1 <= len(of_line) <= 5
        ):
            heading = of_line[0].lower().strip(":")
        is_capital = (
            bool(of_line) and all(not word[:1].islower() for word in of_line) and len(of_line) <= 6
        )
        of_lines[start] = (
            f"h{heading}",
            f"u{line.isupper()}",
            f"c{is_capital}",
            f"e{was_empty}",
            f"n{min(len(of_line), 6)}",
            f"l{line.isupper()} {is_capital} {was_empty}",
        )
        was_empty = not line
    places = np.array(starts)
    found = []
    for (start, _), word in zip(tokens, words, strict=True):
        low = word.lower()
        features = [
            *of_lines[starts[int(np.searchsorted(places, start, side="right")) - 1]],
            f"t{10 * start // len(text)}",
        ]
        if word.isalpha() and len(word) > 1:
            of_word = f"{min(all_of[low], 4)} {low in lower} {low in capital}"
            features += [f"r{of_word}", f"s{word[:1].isupper()} {low in lower} {low in capital}"]
        found.append(tuple(features))
    return found


def label_features(notes: Sequence[Note], rules: Sequence[SpanSet]) -> list[list[tuple[str, ...]]]:
    """Return features of each token.

    Labels of its word elsewhere in the note, and in other notes.
    """
    said: list[list[str]] = []
    words: list[list[str]] = []
    for note, spans in zip(notes, rules, strict=True):
        tokens = tokenize(note.text)
        names = [""] * (len(note.text) + 1)
        for span in group_spans(spans):
            names[span.start : span.end] = [span.label.value] * (span.end - span.start)
        said.append([names[start] for start, _ in tokens])
        words.append([note.text[start:end].lower() for start, end in tokens])
    of_notes = [_tally(zip(a, b, strict=True)) for a, b in zip(words, said, strict=True)]
    whole = _tally(
        (word, label)
        for a, b in zip(words, said, strict=True)
        for word, label in zip(a, b, strict=True)
    )
    found = []
    for of_words, of_labels, here in zip(words, said, of_notes, strict=True):
        features = []
        for word, label in zip(of_words, of_labels, strict=True):
            if len(word) < 2 or not any(map(str.isalnum, word)):
                features.append(())
                continue
            inside = here[word] - Counter([label])
            outside = whole[word] - here[word]
            features.append((*_name_best("i", inside), *_name_best("o", outside)))
        found.append(features)
    return found


def _tally(pairs: Iterator[tuple[str, str]] | zip[tuple[str, str]]) -> dict[str, Counter[str]]:
    tally: dict[str, Counter[str]] = defaultdict(Counter)
    for word, label in pairs:
        tally[word][label] += 1
    return tally


def _name_best(prefix: str, counts: Counter[str]) -> list[str]:
    total = counts.total()
    if not total:
        return []
    labelled = total - counts[""]
    if not labelled:
        return [f"{prefix}none{min(total, 3)}"]
    best = max((label for label in counts if label), key=lambda label: (counts[label], label))
    return [f"{prefix}{best}", f"{prefix}{best} {4 * labelled // total} {min(labelled, 3)}"]


def _batch_hits(name: str, read: Sequence[NoteScores]) -> Hits:
    """Return the features of a second pass over a batch.

    A note is first read by a CRF of the other part of its own half.

    So what a half has heard when it is learnt from, and when it is read, is of one kind.
    """
    corpus = base.corpus_of(name)
    documents = [
        coarse(each.note, spans) for each, spans in zip(corpus.documents, corpus.rules, strict=True)
    ]
    notes = [document.note for document in documents]
    crossed: dict[int, NoteScores] = {}
    for half in (0, 1):
        for part in (0, 1):
            learnt = [
                each
                for each in documents
                if half_of(each.note) == half and part_of(each.note) == part
            ]
            wanted = [
                at
                for at, note in enumerate(notes)
                if half_of(note) == half and part_of(note) != part
            ]
            if not any(span.label in FOUND for each in learnt for span in each.spans):
                crossed |= {at: read[at] for at in wanted}
                continue
            tagger = CrfTagger(fit(task_of(learnt, LEARNING)))
            crossed |= zip(wanted, scores(tagger, [notes[at] for at in wanted]), strict=True)
    return _opinion_hits(notes, [crossed[at] for at in range(len(notes))])


def _synthetic_hits(documents: Sequence[Document]) -> Hits:
    """Return the features of a second pass over the synthetic notes, each read by a CRF of the
    other part of them.
    """
    crossed: dict[int, NoteScores] = {}
    for part in (0, 1):
        tagger = CrfTagger(
            fit(task_of([each for each in documents if part_of(each.note) == part], GIVEN))
        )
        wanted = [at for at, each in enumerate(documents) if part_of(each.note) != part]
        crossed |= zip(wanted, scores(tagger, [documents[at].note for at in wanted]), strict=True)
    found: dict[str, Sequence[tuple[str, ...]]] = {}
    for lang in base.LANGUAGES:
        of_lang = [at for at, each in enumerate(documents) if each.note.lang == lang]
        found |= _opinion_hits(
            [documents[at].note for at in of_lang], [crossed[at] for at in of_lang]
        )
    return found


def _opinion_hits(
    notes: Sequence[Note], found: Sequence[NoteScores]
) -> dict[str, Sequence[tuple[str, ...]]]:
    """Return features of each token.

    What is thought of it, and of its word elsewhere in the note and in other notes.
    """
    words = [
        [note.text[start:end].lower() for start, end in of_note.tokens]
        for note, of_note in zip(notes, found, strict=True)
    ]
    inside = []
    whole: dict[str, np.ndarray] = defaultdict(lambda: np.zeros(len(FOUND) + 1))
    for of_words, of_note in zip(words, found, strict=True):
        own: dict[str, np.ndarray] = defaultdict(lambda: np.zeros(len(FOUND) + 1))
        for word, values in zip(of_words, of_note.values, strict=True):
            own[word] += (*values, 1)
        inside.append(own)
        for word, total in own.items():
            whole[word] += total
    result: dict[str, Sequence[tuple[str, ...]]] = {}
    for note, of_words, of_note, own in zip(notes, words, found, inside, strict=True):
        features = []
        for word, values in zip(of_words, of_note.values, strict=True):
            here = (*values, 1)
            sides = [("f", np.array(here))]
            if len(word) > 1 and any(map(str.isalnum, word)):
                sides += [("i", own[word] - here), ("o", whole[word] - own[word])]
            features.append(
                tuple(name for prefix, side in sides for name in _name_step(prefix, side))
            )
        result[note.digest] = features
    return result


def _name_step(prefix: str, sums: np.ndarray) -> list[str]:
    count = sums[-1]
    if count < 0.5:
        return []
    means = sums[:-1] / count
    step = int(np.searchsorted(STEPS, means.sum()))
    return (
        [f"{prefix}{step}", f"{prefix}{step} {FOUND[int(means.argmax())].value}"]
        if means.sum() > LOOKED_AT
        else [f"{prefix}0"]
    )


def _show(
    made: Mapping[str, Mapping[str, list[NoteScores]]], work: Path, targets: Sequence[float]
) -> None:
    methods: dict[str, dict[str, list[NoteScores]]] = {}
    for name, found in made.items():
        known = pickle.loads((work / f"{name}.pickle").read_bytes())
        methods[name] = {
            "batch": known["batch"],
            "batch + synthetic crf": blend(known["batch"], known["synthetic crf"]),
            "batch + crf": blend(known["batch"], known["crf"]),
        }
        for variant in VARIANTS:
            batch, crf = found[f"batch, {variant}"], found[f"synthetic crf, {variant}"]
            methods[name][f"batch + synthetic crf, {variant}"] = blend(batch, crf)
            if variant.startswith("layouts"):
                continue
            methods[name] |= {
                f"batch, {variant}": batch,
                f"batch + synthetic crf, {variant} in the batch alone": blend(
                    batch, known["synthetic crf"]
                ),
                f"batch + crf, {variant} in the batch alone": blend(batch, known["crf"]),
            }
    varied = [f"batch + synthetic crf, {variant}" for variant in SHOWN]
    divided = ["batch + synthetic crf", *varied]
    apart = {
        method: {name: by_category(name, methods[name][method]) for name in made}
        for method in divided
    }
    for shown in base.show_targets(methods, list(next(iter(methods.values()))), targets):
        for method in varied:
            shown.show(method)
        for method in divided:
            said = {name: methods[name][method] for name in made}
            show_apart(
                f"{method}, threshold by category", apart[method], shown.zero, said, shown.target
            )


if __name__ == "__main__":
    main()
