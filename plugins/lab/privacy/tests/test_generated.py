"""Generated notes: copies and repeats are dropped and others kept, labels in the text come back,
stems are counted.
"""

from __future__ import annotations

import json

import pytest
from privacy_shell import main
from tiny_worlds import CAUSAL, train_causal

from deid_assets.core.errors import InputError
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.span import DisjointSpans, Span
from deid_assets.extending import Document
from deid_privacy.generated import (
    Filters,
    Sieve,
    diversity,
    identifiers_of,
    inline,
    marks_of,
    parse_tagged,
    starter_of,
    words_of,
)

TRAINING = (
    "Olive Smith came in today because of a fall at home and was seen on the ward by the surgeon."
)
OTHER = "The wound is clean and dry, there is no fever, and the knee can be bent without pain."


def sieve(**changes):
    spans = [Span(0, 11, Phi.NAME)]
    own = Filters(**{"copied": 8, "sensitive": 3, "longest": 30} | changes)
    return Sieve(own, [words_of(TRAINING)], [marks_of(TRAINING, spans)])


def test_planted_copies_and_repeats_are_dropped_and_others_kept():
    planted = {
        "too short": "No.",
        "too long": (
            OTHER
            + " It will be looked at again next week by the nurse who comes to the house on each"
            " second day."
        ),
        "repeats itself": "He has no pain and no fever at all and no fever at all",
        "said before": OTHER.upper(),
        "copy of a training note": (
            "Yesterday she had a fall at home and was seen on the ward again."
        ),
        "identifier with what stands beside it": "I saw that Olive Smith came late.",
        "another language": (
            "Patienten har ingen feber och mår bra, såret är rent och torrt i dag och hon går hem."
        ),
    }
    kept, dropped = sieve(lang="en").sieve(
        [OTHER, *planted.values(), "Olive has no pain in the left knee."]
    )
    assert kept == [OTHER, "Olive has no pain in the left knee."]
    assert dropped == dict.fromkeys(planted, 1)
    everything = sieve(copied=None, sensitive=None, longest=None, shortest=0).sieve(
        list(planted.values())
    )
    assert everything[1] == {"repeats itself": 1}


def document(text, **labelled):
    spans = [
        Span(text.index(words), text.index(words) + len(words), Phi(label))
        for label, words in labelled.items()
    ]
    note = Note("n", text, lang="en")
    return Document(note, DisjointSpans.of(note, spans))


@pytest.mark.parametrize(
    ("text", "labelled", "begins"),
    [
        ("Olive Smith came in today.", {"NAME": "Olive Smith"}, ""),
        ("Mrs Olive Smith came in today.", {"NAME": "Olive Smith"}, "Mrs"),
        ("Seen by Dr. O'Hara in the ward.", {"NAME": "O'Hara"}, "Seen by Dr."),
        ("pat.Olive came in.", {"NAME": "Olive"}, ""),
        ("On 3 May she fell.", {"DATE": "3 May"}, "On"),
        ("No fever and no pain.", {}, "No fever and"),
    ],
)
def test_no_word_of_an_identifier_begins_a_generated_note(text, labelled, begins):
    assert starter_of(document(text, **labelled), 3) == begins


def test_names_and_numbers_of_real_notes_are_dropped_wherever_they_stand():
    read = document(
        "Olive Smith, MRN 4471, lives at 12 Elm Row, aged 45.",
        NAME="Olive Smith",
        MRN="4471",
        STREET="12 Elm Row",
        AGE="45",
    )
    began = document("Basil Reed was seen.", NAME="Basil Reed")
    own = Sieve(
        Filters(copied=None, sensitive=None, lang=""), [], [], identifiers_of([read, began])
    )
    said = [
        "Today Mrs Smith has no pain at all.",
        "The number 4471 stands on the chart.",
        "He moved to 12 Elm Row last week.",
        "basil came in with a cough today.",
        "OLIVE SMITH has gone home again.",
    ]
    kept, dropped = own.sieve([*said, "A patient of 45 has no pain.", "Elm Row is a long way off."])
    assert kept == ["A patient of 45 has no pain.", "Elm Row is a long way off."]
    assert dropped == {"identifier of a real note": len(said)}
    open_ = Sieve(Filters(copied=None, sensitive=None, names=False), [], [], identifiers_of([read]))
    assert open_.sieve(said[:1])[0] == said[:1]


def test_labels_in_the_text_come_back_and_broken_ones_are_no_labels():
    spans = [Span(0, 11, Phi.NAME), Span(20, 25, Phi.DATE)]
    written = inline(TRAINING, spans)
    assert written.startswith("<NAME>Olive Smith</NAME> came in <DATE>today</DATE> because")
    assert parse_tagged(written) == (TRAINING, spans)
    for broken in (
        "<NAME>a",
        "a</NAME>",
        "<NAME>a</DATE>",
        "<NAME><DATE>a</DATE></NAME>",
        "<WHO>a</WHO>",
        "<NAME></NAME>",
        "<NAM",
    ):
        assert parse_tagged(f"b {broken} c") is None
    with pytest.raises(InputError, match="holds a tag"):
        inline("<NAME> came", [])


def test_stems_are_counted_at_the_same_size():
    found = diversity(["He walks.", "He walked.", "He is walking."], "en", tokens=7)
    assert (found.value, found.low, found.high) == pytest.approx((3 / 7,) * 3)  # he, is, walk
    rich = diversity([f"word{number} " * 3 for number in range(40)], "en", tokens=30)
    assert rich.value == pytest.approx(1 / 3)
    with pytest.raises(InputError, match="there is no Snowball stemmer for 'ja'"):
        diversity(["a"], "ja", tokens=1)
    with pytest.raises(InputError, match="3 words, 4 are asked for"):
        diversity(["a b c"], "sv", tokens=4)


def test_a_generator_writes_notes_with_labels_that_are_filtered_and_described(tmp_path, capsys):
    names = [
        f"{first} {last}"
        for first in ("Olive", "Hazel", "Basil", "Reed")
        for last in ("Smith", "Jones", "Brown")
    ]
    notes = [
        f"{name} was seen today for pain in the {side} knee."
        for name in names
        for side in ("left", "right")
    ]
    gold = tmp_path / "gold.jsonl"
    gold.write_text(
        "".join(
            json.dumps(
                {
                    "id": f"n{at}",
                    "lang": "en",
                    "text": text,
                    "spans": [{"start": 0, "end": text.index(" was"), "label": "NAME"}],
                }
            )
            + "\n"
            for at, text in enumerate(notes)
        )
    )
    assert main(["inline", str(gold), str(tmp_path / "inline.jsonl")]) == 0
    texts = [
        json.loads(line)["text"] for line in (tmp_path / "inline.jsonl").read_text().splitlines()
    ]
    before = gold.read_bytes()
    assert main(["inline", str(gold), str(gold)]) != 0
    assert "also an input" in capsys.readouterr().err
    assert gold.read_bytes() == before
    model = train_causal(
        [Note(f"n{at}", text) for at, text in enumerate(texts)],
        tmp_path / "model",
        **CAUSAL | {"epochs": 25},
    )
    out = tmp_path / "made.jsonl"
    command = ["generate", str(model), str(gold), str(out), "--training", str(gold), "--inline"]
    assert main([*command, "--each", "8", "--copied", "0", "--sensitive", "0"]) == 2
    assert "dropped, identifier of a real note: " in capsys.readouterr().out
    command.append("--with-names")
    assert main([*command, "--each", "8", "--copied", "0", "--sensitive", "0"]) == 0
    told = capsys.readouterr().out
    assert "labels that can be read: " in told
    assert "generated: unique stems by tokens" in told
    made = [json.loads(line) for line in out.read_text().splitlines()]
    labelled = [one for one in made if one["spans"]]
    assert labelled
    assert {
        one["text"][span["start"] : span["end"]].split()[0]
        for one in labelled
        for span in one["spans"]
    } & set(" ".join(names).split())
    assert main([*command, "--each", "2", "--copied", "6"]) in {0, 1, 2}
    assert "dropped, copy of a training note: " in capsys.readouterr().out
