"""What the tagger looks at around a token."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.span import Span
from deid_assets.core.tagging import tokenize
from deid_assets.gazetteers import Entry, write_gazetteer
from deid_crf.channels import channels
from deid_crf.evidence import Evidence
from deid_crf.examples import NoteExample, examples, sequences
from deid_crf.keys import Keys, keys_of
from deid_crf.lists import CompiledLists
from deid_crf.sources import Sources, add_predictions
from deid_crf.statistics import UNSEEN, WordStatistics, describe_word, select_known, tally, total
from deid_crf.statistics import keys as statistics_of
from deid_crf.view import NoteView, TokenCache, views_of
from deid_crf.vocabulary import Vocabulary
from deid_crf.words import attributes, normal, shape, short_shape


@pytest.mark.parametrize(
    ("word", "low", "long", "short"),
    [
        ("Moss", "moss", "Xxxx", "Xx"),
        ("ICU", "icu", "XXX", "XX"),
        ("A", "a", "X", "X"),
        ("McKay", "mckay", "XxXxx", "XxXx"),
        ("2021", "0000", "0000", "0"),
        (":", ":", ":", ":"),
        ("\u00c9tang", "\u00e9tang", "Xxxxx", "Xx"),
        ("\u4e2d\u6587", "\u4e2d\u6587", "xx", "x"),
    ],
)
def test_words_have_forms(word: str, low: str, long: str, short: str) -> None:
    assert (normal(word), shape(word), short_shape(word)) == (low, long, short)


def test_a_nearer_word_says_all_that_a_farther_one_says_and_more() -> None:
    named = [set(attributes("Larkham", distance)) for distance in range(4)]

    assert named[3] < named[2] < named[1] < named[0]


def keys_by_channel(*views: NoteView) -> dict[str, list]:
    """The key of each token of all notes."""
    found = keys_of(views, Vocabulary(), WordStatistics({}))
    return {
        channel.name: keys.of_tokens() for channel, keys in zip(channels(1), found, strict=True)
    }


def test_a_field_is_the_words_before_the_last_colon_of_the_line() -> None:
    view = NoteView.of("Treating physician: Ada Moss\nno colon here\nWard: 3 Tel: 12")
    fields = {
        word: field for word, (field, _) in zip(view.words, keys_by_channel(view)["f"], strict=True)
    }

    assert fields["Ada"][:2] == ("physician", "treating physician")
    assert fields["Ada"][2] < fields["Moss"][2]
    assert fields["here"][0] == ""
    assert (fields["3"][0], fields["12"][0]) == ("ward", "tel")


def test_a_line_is_known_by_its_first_words_and_the_field_before_it() -> None:
    view = NoteView.of("Ward: 3\nTel:\nlast line here")
    found = dict(zip(view.words, keys_by_channel(view)["i"], strict=True))

    assert (found["3"], found["Tel"], found["here"]) == (
        ("ward :", ""),
        ("tel :", "ward"),
        ("last line", ""),
    )


TEXTS = (
    "",
    " \n\r\n",
    "a",
    "\n\na: b\n",
    "x\u2028y z",
    "a\r\n\r\nb c.d@e.f\n",
    "\x00 \x1f\ufeffq",
    "\ud800 a",
)


@given(
    st.lists(
        st.text(st.sampled_from("aB\u0301\u0300é7²٣_.\n\r\u2028\x1c\x85\xa0 \U0001d400\ud800文")),
        min_size=1,
        max_size=5,
    )
)
def test_words_and_offsets_of_many_notes_are_those_of_each(texts: list[str]) -> None:
    for view, text in zip(views_of(texts, TokenCache()), texts, strict=True):
        assert view.tokens == tokenize(text)
        assert view.words == [text[start:end] for start, end in view.tokens]


def test_of_overlapping_predictions_the_first_has_the_token() -> None:
    views = [NoteView.of("ab cd ef"), NoteView.of(""), NoteView.of("gh-ij kl")]
    found = [
        [Span(1, 4, Phi.NAME), Span(3, 8, Phi.DATE), Span(3, 5, Phi.AGE)],
        [],
        [Span(2, 3, Phi.AGE), Span(5, 6, Phi.DATE), Span(5, 7, Phi.NAME)],
    ]

    told = [view.predictions for view in add_predictions(views, found)]

    assert told == [[(0, 2, "NAME"), (2, 3, "DATE")], [], [(1, 2, "AGE"), (3, 4, "NAME")]]


def test_every_token_has_its_keys_and_notes_do_not_see_each_other() -> None:
    views = [
        replace(
            view, predictions=[(number, number + 1, "NAME") for number in range(len(view.words))]
        )
        for view in [*map(NoteView.of, TEXTS), NoteView.of("Ward: Moss 3\nDear Moss")]
    ]
    together = keys_by_channel(*views)
    apart = [keys_by_channel(view) for view in views]

    for view, alone in zip(views, apart, strict=True):
        assert {len(keys) for keys in alone.values()} == {len(tokenize(view.text))}
    for name, keys in together.items():
        assert keys == [key for alone in apart for key in alone[name]]


def test_what_is_written_without_blanks_is_one_chunk() -> None:
    view = NoteView.of("on 3/14/2021 by a.moss@x.org")

    assert [chunk for chunk in keys_by_channel(view)["c"] if chunk[0]][:5] == [
        ("0/0/0", number) for number in range(5)
    ]


def test_a_name_is_known_by_the_field_it_has_elsewhere_but_not_by_its_own() -> None:
    view = NoteView.of("Patient: Moss\nDear Moss,\nClinic: Holt")
    found = dict(zip(view.tokens, keys_by_channel(view)["e"], strict=True))
    by_word = {(view.text[start:end], start): names for (start, end), names in found.items()}

    assert by_word[("Moss", 19)] == ("fpatient",)
    assert by_word[("Moss", 9)] == ()
    assert by_word[("Holt", 33)] == ()


def test_predictions_before_and_after_a_token_are_seen_from_it() -> None:
    predictions = [(0, 1, "RELATIVE"), (3, 5, "AGE")]
    found = keys_by_channel(replace(NoteView.of("a b c d e f"), predictions=predictions))["n"]

    assert [(before, after) for before, _, after, _ in found] == [
        ("", "AGE"),
        ("RELATIVE", "AGE"),
        ("RELATIVE", "AGE"),
        ("RELATIVE", ""),
        ("RELATIVE", ""),
        ("AGE", ""),
    ]


def test_a_training_note_does_not_see_its_own_words_in_the_statistics() -> None:
    notes = [
        tally(["moss", "ward"], ["NAME", "O"]),
        tally(["moss"], ["CITY"]),
        tally(["ward"], ["O"]),
    ]
    counted = total(notes)

    assert statistics_of(["moss", "ward"], counted, notes[0], min_patients=1) == [
        describe_word({"CITY": 1}),
        describe_word({"O": 1}),
    ]
    assert statistics_of(["moss"], counted, notes[0], min_patients=2) == [UNSEEN]


def test_in_use_a_word_of_too_few_notes_is_unseen() -> None:
    counted = total([tally(["moss", "ward"], ["NAME", "O"]), tally(["ward"], ["O"])])
    memory = WordStatistics(select_known(counted, min_patients=2))

    assert memory["moss"] == memory["never"] == UNSEEN
    assert memory["ward"] == ("O:5", "O:5:1")


@pytest.mark.parametrize(
    ("grouping", "keep_empty", "expected"),
    [
        (1, 1.0, ["A b.", "C Moss d.", "E f.", "G Holt."]),
        (2, 1.0, ["A b.C Moss d.", "E f.G Holt."]),
        (100, 1.0, ["A b.C Moss d.E f.G Holt."]),
        (100, 0.0, ["C Moss d.", "G Holt."]),
        (1, 0.0, ["C Moss d.", "G Holt."]),
    ],
)
def test_sentences_without_span_or_prediction_may_be_left_out(
    grouping: int, keep_empty: float, expected: list[str]
) -> None:
    view = NoteView.of("A b.\nC Moss d.\nE f.\nG Holt.\n")
    tags = ["S-NAME" if word == "Moss" else "O" for word in view.words]
    note = NoteExample(
        replace(
            view,
            predictions=[
                (at, at + 1, "NAME") for at, word in enumerate(view.words) if word == "Holt"
            ],
        ),
        tags,
    )

    parts = sequences(
        note, grouping=grouping, longest=100, keep_empty=keep_empty, draw=random.Random(0)
    )

    texts = [
        view.text[view.tokens[part.start][0] : view.tokens[part.stop - 1][1]].replace("\n", "")
        for part in parts
    ]
    assert texts == expected


def test_a_sequence_is_never_longer_than_allowed_and_no_token_is_lost() -> None:
    view = NoteView.of("word " * 25)
    note = NoteExample(view, ["O"] * 25)

    parts = list(sequences(note, grouping=1, longest=10, keep_empty=1.0, draw=random.Random(0)))

    assert max(map(len, parts)) <= 10
    assert [number for part in parts for number in part] == list(range(25))


def test_attributes_of_too_few_patients_are_left_out() -> None:
    views = [NoteView.of("Seen by Moss"), NoteView.of("Seen by Holt"), NoteView.of("Dear Holt")]
    found, keys, _ = examples(
        views, [["O"] * len(view.words) for view in views], "abc", min_patients=2
    )
    names = Evidence(found, keys, channels(1), min_patients=2).names

    assert "w0:wHolt" in names
    assert "w0:wMoss" not in names
    assert "w1:lmoss" not in names


def test_two_notes_of_one_patient_do_not_make_a_word_common() -> None:
    views = [NoteView.of("Seen by Moss"), NoteView.of("Seen by Moss"), NoteView.of("Seen by Holt")]
    found, keys, counted = examples(views, [["O"] * 3] * 3, "aab", min_patients=2)

    assert "w0:wMoss" not in Evidence(found, keys, channels(1), min_patients=2).names
    assert set(select_known(counted, min_patients=2)) == {"seen", "by"}


def test_training_and_use_name_the_same_attributes() -> None:
    view = NoteView.of("Patient: Ada Moss\nSeen on 3 May.")
    found, keys, _ = examples([view], [["O"] * len(view.words)], "a", min_patients=1)
    evidence = Evidence(found, keys, channels(3), min_patients=1)
    named = evidence.positions(evidence.first[0] + np.arange(len(view.tokens))) @ evidence.features
    in_training = [{evidence.names[number] for number in row.indices} for row in named]

    for at in range(len(view.tokens)):
        in_use = set()
        for channel, of_channel in zip(channels(3), map(Keys.of_tokens, keys), strict=True):
            for offset in channel.offsets:
                inside = 0 <= at + offset < len(view.tokens)
                in_use.update(
                    channel.name_attributes(
                        of_channel[at + offset] if inside else channel.edge, offset
                    )
                )
        assert in_training[at] == in_use


def test_lists_hit_words_and_phrases(tmp_path: Path) -> None:
    write_gazetteer(tmp_path / "names.gaz", [Entry("Moss", 1.0)], kind="last_names")
    write_gazetteer(
        tmp_path / "towns.gaz", [Entry("Great Larkham", 1.0), Entry("Great", 1.0)], kind="cities"
    )
    view = NoteView.of("Moss of Great Larkham")

    (found,) = Sources("", [tmp_path / "names.gaz", tmp_path / "towns.gaz"]).views(
        [Note("n", view.text)]
    )

    assert found.hits == [("last_names",), (), ("B-cities",), ("I-cities",)]
    assert CompiledLists([tmp_path / "names.gaz"]).hits(["MOSS"]) == [("last_names",)]
