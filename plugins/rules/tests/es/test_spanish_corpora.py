"""Bars for Spanish on public development sets, read where ``DEID_CORPORA`` points to them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from deid_assets.core.label_maps import label_map
from deid_assets.core.note import Note
from deid_assets.core.phi import PROFILES
from deid_assets.core.span import Span, SpanSet
from deid_assets.evaluation.counts import Scheme
from deid_assets.evaluation.score import evaluate_corpus
from deid_rules import RulesDetector

CORPORA = Path(os.environ.get("DEID_CORPORA", ""))

pytestmark = pytest.mark.skipif(
    "DEID_CORPORA" not in os.environ, reason="DEID_CORPORA is not set to a folder of public corpora"
)

STRICT_RECALL = {
    "NOMBRE_SUJETO_ASISTENCIA": 0.97,
    "FECHAS": 0.96,
    "EDAD_SUJETO_ASISTENCIA": 0.96,
    "TERRITORIO": 0.94,
    "CALLE": 0.89,
    "PAIS": 0.97,
    "CORREO_ELECTRONICO": 0.97,
    "ID_ASEGURAMIENTO": 0.97,
    "ID_TITULACION_PERSONAL_SANITARIO": 0.97,
}
"""Below what was measured on the development set when the rules were written.

It is below that by one to two points.
"""


def rows(path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (CORPORA / path).read_text(encoding="utf-8").splitlines()]


def test_spanish_cases_with_planted_identifiers_reach_the_bars() -> None:
    notes, gold = [], []
    for row in rows("annotated/meddocan/dev.jsonl"):
        note = Note(row["id"], row["text"], lang="es")
        found = ((span, label_map("meddocan")[span["label"]]) for span in row["spans"])
        notes.append(note)
        gold.append(
            SpanSet.of(
                note,
                [
                    Span(span["start"], span["end"], label)
                    for span, label in found
                    if label is not None
                ],
            )
        )
    scores = evaluate_corpus(
        zip(gold, RulesDetector(profile="meddocan").detect(notes), strict=True),
        profile=PROFILES["meddocan"],
        scope=label_map("meddocan").categories,
        lengths={note.note_id: len(note.text) for note in notes},
    )
    assert (scores.micro(Scheme.STRICT).f1 or 0.0) >= 0.94
    assert (scores.micro(Scheme.CHARACTERS).recall or 0.0) >= 0.95
    for label, bar in STRICT_RECALL.items():
        assert (scores.counts(label, Scheme.STRICT).recall or 0.0) >= bar, label


def test_hospital_sentences_are_left_alone() -> None:
    """NUBes keeps surrogate dates, physicians and hospitals.

    Three percent of its text is the bar.
    """
    notes = [
        Note(str(number), row["text"], lang="es")
        for number, row in enumerate(rows("raw/case-reports-ccby/es-nubes.jsonl"))
    ]
    marked = sum(span.end - span.start for spans in RulesDetector().detect(notes) for span in spans)
    assert marked <= 0.03 * sum(len(note.text) for note in notes)
