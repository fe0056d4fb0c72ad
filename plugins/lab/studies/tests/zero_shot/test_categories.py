"""The category of a found word is learnt from the development notes.

No word that may name somebody is kept.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict

import pytest

from deid_assets import Note, Phi, Span
from deid_assets.testing import parse_marked
from deid_zero_shot.categories import FeatureCounts, cross_counts, learn, shape

NOTES = (
    (
        "Patient: <NAME>Zedmarlow</NAME>\nAdmitted on <DATE>3</DATE> <DATE>May</DATE>, seen by Dr."
        " <NAME>Quillhaven</NAME>."
    ),
    (
        "Patient: <NAME>Borgwarth</NAME>\nMRN: <MRN>4471902</MRN>. Seen by Dr. <NAME>Hask</NAME> on"
        " <DATE>12.04.2021</DATE>."
    ),
    (
        "MRN: <MRN>8830017</MRN>. Referred by Dr. <NAME>Tindlemoor</NAME>, lives in"
        " <CITY>Exwick</CITY>."
    ),
)


def words_of(note: Note) -> list[tuple[int, int]]:
    return [m.span() for m in re.finditer(r"\w+(?:[.@]\w+)*", note.text)]


def learnt(texts: tuple[str, ...] = NOTES, *, others: bool = False) -> FeatureCounts:
    documents = [parse_marked(text, note_id=str(at), lang="en") for at, text in enumerate(texts)]
    return learn(((note, words_of(note), tuple(spans)) for note, spans in documents), others=others)


@pytest.mark.parametrize(
    ("text", "word", "label"),
    [
        ("Seen by Dr. Wexcombe on Monday.", "Wexcombe", Phi.NAME),
        ("Patient: Ablemere", "Ablemere", Phi.NAME),
        ("MRN: 1029384.", "1029384", Phi.MRN),
        ("Admitted on 5 June.", "5", Phi.DATE),
        ("Write to ann@example.org soon.", "ann@example.org", Phi.EMAIL),
    ],
)
def test_neighbours_and_shape_tell_the_category(text: str, word: str, label: Phi) -> None:
    note = Note("new", text, lang="en")
    start = text.index(word)

    assert learnt().of(note, start, start + len(word)) is label


def test_no_word_of_a_note_is_kept_that_is_not_an_ordinary_one() -> None:
    kept = json.dumps(asdict(learnt())).lower()

    assert '"before dr"' in kept
    for name in (
        "zedmarlow",
        "quillhaven",
        "borgwarth",
        "hask",
        "tindlemoor",
        "exwick",
        "4471902",
        "8830017",
        "12.04",
    ):
        assert name not in kept


def test_where_nothing_was_learnt_the_form_decides() -> None:
    note = Note("new", "Seen on 12.04.2021 by Wexcombe", lang="en")
    nothing = learnt(("Stable and well.",))

    assert nothing.labels == frozenset()
    assert nothing.of(note, 8, 18) is Phi.DATE
    assert nothing.of(note, 22, 30) is Phi.OTHER


def test_equal_evidence_gives_the_same_category_in_any_order_of_notes() -> None:
    note = Note("new", "Wexcombe", lang="en")

    assert learnt(NOTES).of(note, 0, 8) is learnt(NOTES[::-1]).of(note, 0, 8)


def test_a_word_in_two_spans_counts_for_both() -> None:
    note = Note("one", "Exwick", lang="en")
    spans = [Span(0, 6, Phi.CITY), Span(0, 6, Phi.HOSPITAL)]

    assert learn([(note, words_of(note), spans)]).labels == {Phi.CITY, Phi.HOSPITAL}


def test_words_that_are_no_phi_by_their_kind_are_told_apart() -> None:
    text = "Patient: Ablemere\nStable and well. Seen by Dr. Wexcombe, ann@example.org."
    note = Note("new", text, lang="en")
    places = words_of(note)

    def spared(known: FeatureCounts) -> set[str]:
        return {text[slice(*places[number])] for number in known.no_phi(note, places)}

    assert {"Patient", "Seen", "by", "Dr"} <= spared(learnt(others=True))
    assert not {"Ablemere", "Wexcombe", "ann@example.org"} & spared(learnt(others=True))
    assert spared(learnt()) == set()


def test_no_document_tells_of_itself() -> None:
    texts = [f"<NAME>Zed</NAME> {word}" for word in ("fever", "cough", "pain", "rash")]
    documents = [parse_marked(text, note_id=text[-4:], lang="en") for text in texts]

    found = cross_counts([(note, words_of(note), tuple(spans)) for note, spans in documents])

    told = [
        sorted(
            word for word in ("fever", "cough", "pain", "rash") if f"after 1 {word}" in one.features
        )
        for one in found
    ]
    assert told == [["cough", "rash"], ["fever", "pain"]] * 2


def test_a_shape_holds_no_letter_of_its_word() -> None:
    assert shape("Zedmarlow-3b") == "Xxx-dx"
    assert shape("ÅSA") == "XX"
