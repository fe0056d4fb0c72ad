"""The search for survivors on annotated corpora.

Quiet where all PHI is covered, loud where one name is not.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from deid_assets.core.label_maps import label_map
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.redact import Edit
from deid_assets.core.span import Span, SpanSet
from deid_assets.pipeline.redacting import survival_by_note
from deid_assets.quality.text_checks import survival_verdict
from deid_assets.quality.verdict import Verdict

CORPORA = [
    ("meddocan/dev", "meddocan"),
    ("grascco-phi/dev", "grascco"),
    ("asq-phi/dev", "asq_phi"),
    ("eds-pseudo-templates/dev", "eds_pseudo"),
]


def read(corpus: str, labels: str) -> Iterator[tuple[Note, SpanSet]]:
    folder = os.environ.get("DEID_CORPORA")
    if folder is None:
        pytest.skip("DEID_CORPORA is not set")
    known = label_map(labels)
    for line in (Path(folder) / "annotated" / f"{corpus}.jsonl").read_text().splitlines():
        row = json.loads(line)
        note = Note(row["id"], row["text"])
        spans = [(span, known[span["label"]]) for span in row["spans"]]
        yield (
            note,
            SpanSet.of(
                note, [Span(span["start"], span["end"], label) for span, label in spans if label]
            ),
        )


Audit = tuple[Note, SpanSet, list[Edit]]


def survivors(audits: list[Audit]) -> Verdict:
    found, values = survival_by_note(audits)
    return survival_verdict(found, values=values)


def hiding(note: Note, gold: SpanSet, *, but: Span | None = None) -> Audit:
    edits, cursor = [], 0
    for span in gold:
        if span != but and span.end > cursor:
            edits.append(Edit(max(span.start, cursor), span.end, 0, 0, span.label))
            cursor = span.end
    return note, gold, edits


@pytest.mark.parametrize(("corpus", "labels"), CORPORA)
def test_hidden_gold_leaves_next_to_no_survivors(corpus: str, labels: str) -> None:
    verdict = survivors([hiding(note, gold) for note, gold in read(corpus, labels)])

    # GraSCCo has a patient whose name is also an organ, EDS-Pseudo a hospital annotated once of
    # twice.
    assert verdict.counts["missed"] <= 2


@pytest.mark.parametrize(("corpus", "labels"), CORPORA)
def test_one_name_left_in_a_note_is_found(corpus: str, labels: str) -> None:
    leaking = []
    for note, gold in read(corpus, labels):
        names = [span for span in gold if span.label is Phi.NAME and span.end - span.start >= 6]
        if names:
            leaking.append(hiding(note, gold, but=names[0]))

    verdict = survivors(leaking)

    assert verdict.counts["notes_with_missed"] >= 0.98 * len(leaking) > 0
