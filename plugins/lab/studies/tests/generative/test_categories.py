"""The classifier of untyped placeholders, on notes of other people than it learnt from."""

from __future__ import annotations

from collections import Counter

from deid_assets import DisjointSpans
from deid_assets.core.trainer import Document
from deid_assets.evaluation.rewriting import study_category
from deid_generative.categories import ValueClassifier
from deid_synthesis import make_corpus


def documents(*, seed: int, notes: int) -> list[Document]:
    made = make_corpus(lang="fr", notes=notes, seed=seed, mix="triage")
    return [Document(note, DisjointSpans.of(note, spans)) for note, spans in made]


def test_six_categories_are_told_apart() -> None:
    known = ValueClassifier.learnt(documents(seed=1, notes=600))
    table: Counter[tuple[str | None, str | None]] = Counter()
    for document in documents(seed=77, notes=300):
        for span in document.spans:
            guess = known.guess(document.note.text, span.start, span.end)
            table[study_category(span.label), study_category(guess) if guess else None] += 1

    right = sum(count for (gold, guess), count in table.items() if gold == guess)
    assert {gold for gold, _ in table} >= {"NAME", "DATE", "LOC", "TEL"}
    assert right / table.total() > 0.9
