"""Bars for Dutch on public development cases and on synthetic notes.

The cases are read where ``DEID_CORPORA`` points to them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path

import pytest

from deid_assets.core.label_maps import label_map
from deid_assets.core.note import Note
from deid_assets.core.phi import PROFILES
from deid_assets.core.span import Span, SpanSet
from deid_assets.evaluation.counts import Evaluation, Scheme
from deid_assets.evaluation.score import evaluate_corpus
from deid_rules import RulesDetector
from deid_synthesis import make_corpus

CORPORA = Path(os.environ.get("DEID_CORPORA", ""))
CASES = CORPORA / "annotated/deduce-cases-nl/cases.jsonl"


def scored(pairs: Iterable[tuple[Note, SpanSet]]) -> Evaluation:
    notes, gold = zip(*pairs, strict=True)
    found = RulesDetector(langs=("nl",), profile="i2b2_fine").detect(notes)
    lengths = {note.note_id: len(note.text) for note in notes}
    return evaluate_corpus(
        zip(gold, found, strict=True), profile=PROFILES["i2b2_fine"], lengths=lengths
    )


@pytest.mark.skipif(
    "DEID_CORPORA" not in os.environ, reason="DEID_CORPORA is not set to a folder of public corpora"
)
def test_dutch_snippets_reach_the_bars() -> None:
    """Words and phrases of a few characters without a sentence around them.

    Titles and bare towns are missed.
    """
    labels = label_map("deduce")
    pairs = []
    for line in CASES.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        note = Note(row["id"], row["text"], lang="nl")
        marked = ((span, labels[span["label"]]) for span in row["spans"])
        spans = [
            Span(span["start"], span["end"], label) for span, label in marked if label is not None
        ]
        pairs.append((note, SpanSet.of(note, spans)))
    characters = scored(pairs).micro(Scheme.CHARACTERS)
    assert (characters.recall or 0.0) >= 0.7


def test_dutch_synthetic_notes_reach_the_bars() -> None:
    characters = scored(make_corpus(lang="nl", notes=60, seed=4)).micro(Scheme.CHARACTERS)
    assert (characters.recall or 0.0) >= 0.95
    assert (characters.precision or 0.0) >= 0.95
