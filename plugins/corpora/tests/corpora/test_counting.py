"""Counts of a corpus worked out by hand, and lengths against tables 3.7 and 4.3 of
Catelli (2021).
"""

from __future__ import annotations

import pytest

from deid_assets.extending import DisjointSpans, Document, Note, Phi, Span
from deid_corpora.sizes import Lengths, lengths_of
from deid_corpora.statistics import CorpusCounts, statistics


def _document(
    note_id: str, text: str, *found: tuple[str, Phi, str], lang: str | None = None
) -> Document:
    note = Note(note_id, text, patient_id=note_id[0], lang=lang)
    spans = [
        Span(text.index(value), text.index(value) + len(value), label, native_label=native)
        for value, label, native in found
    ]
    return Document(note, DisjointSpans.of(note, spans))


NOTES = (
    _document(
        "a1",
        "Jane Roe, 47aa.\nSeen well.",
        ("Jane Roe", Phi.NAME, "PATIENT"),
        ("47", Phi.AGE, ""),
        lang="en",
    ),
    _document("a2", "Seen by Dr Mann.", ("Mann", Phi.NAME, "DOCTOR"), lang="it"),
    _document("b1", "Nothing here.", lang="en"),
)


def test_counts_are_those_of_a_small_corpus_counted_by_hand():
    found = statistics(NOTES, native=False).to_json()

    assert found["notes"] == 3
    assert found["patients"] == 2
    assert found["notes_without_entities"] == 1
    # Jane Roe , 47 aa . Seen well . | Seen by Dr Mann . | Nothing here .
    assert found["tokens"] == 9 + 5 + 3
    assert found["sentences"] == 4
    assert found["sentences_without_entities"] == 2
    assert found["entities"] == 3
    assert found["entity_tokens"] == 4
    assert found["density_tokens"] == round(4 / 17, 4)
    assert found["entities_per_sentence"] == 0.75
    assert found["most_entities_in_a_sentence"] == 2
    assert found["labels"]["NAME"] == {"entities": 2, "tokens": 3, "tokens_per_entity": 1.5}
    assert {lang: counts["notes"] for lang, counts in found["languages"].items()} == {
        "en": 2,
        "it": 1,
    }


def test_published_counts_give_the_published_ratios():
    """Vakili (2025), tables of his papers IV and VI."""
    flagged = CorpusCounts(
        sentences=364_385_114, without=364_385_114 - 49_715_558, entities=83_914_340
    ).to_json()
    assert flagged["entities_per_sentence_with_any"] == pytest.approx(1.688, abs=5e-4)
    assert flagged["share_of_sentences_with_entities"] == 0.1364
    swedish = CorpusCounts(notes=21_553, tokens=282_766, entity_tokens=6_755).to_json()
    assert (swedish["entity_tokens_per_note"], round(swedish["tokens_per_note"], 2)) == (
        0.3134,
        13.12,
    )
    assert (
        CorpusCounts(notes=1_000, entity_tokens=48_733).to_json()["entity_tokens_per_note"]
        == 48.733
    )


def test_native_labels_are_told_apart_where_there_are_any():
    assert list(statistics(NOTES, native=True).labels) == ["AGE", "DOCTOR", "PATIENT"]


def test_groups_end_with_their_note_and_limits_take_the_largest_that_fits():
    lengths = lengths_of([document.note for document in NOTES])
    rows = {row["factor"]: row for row in lengths.rows((1, 2))}

    assert rows[1] == {"factor": 1, "inputs": 4, "mean_tokens": 4.25, "most_tokens": 6}
    assert rows[2]["inputs"] == 3
    assert rows[2]["most_tokens"] == 9
    assert lengths.for_limit(8) == 1
    assert lengths.for_limit(9) == 2
    assert lengths.over(5) == 1


def test_the_limit_of_an_encoder_counts_sub_tokens_and_its_own_two():
    lengths = Lengths([[10, 10, 10]], [[20, 20, 20]])

    assert lengths.for_limit(42) == 2
    assert lengths.for_limit(41) == 1
