"""Text, sub-tokens and words stand over one another in every kind of vocabulary."""

from __future__ import annotations

from pathlib import Path

import pytest
import spacy
from models_here import KINDS, tokenizer_of

from deid_assets import Note
from deid_assets.core.errors import ConfigError
from deid_zero_shot.encoding import NoteEncoder, Specials, pieces_of
from deid_zero_shot.guard import load
from deid_zero_shot.lemmas import groups, lemmatizer
from deid_zero_shot.words import SEGMENTERS, segmenter, words_of

TEXT = (
    "Patient: Anna Berg,\nage 47. Discharged  12/03/2020 (anna.berg@example.org)\u00a0José\u0301"
    " Niño."
)


@pytest.mark.parametrize("kind", KINDS)
def test_sub_tokens_lie_where_their_text_does(folders: dict[str, Path], kind: str) -> None:
    loaded = load(str(folders[kind]))
    encoded = NoteEncoder(loaded.tokenizer, loaded.specials).encode(TEXT)
    words = words_of(TEXT, "en", SEGMENTERS["plain"])

    found = pieces_of(encoded, words)

    assert all(len(pieces) for pieces in found)
    for (start, end), pieces in zip(words, found, strict=True):
        if loaded.specials.unknown not in encoded.ids[pieces.start : pieces.stop]:
            # unknown neighbours are one
            assert (encoded.starts[pieces.start], encoded.ends[pieces.stop - 1]) == (start, end)
        assert encoded.starts[pieces.start] <= start < end <= encoded.ends[pieces.stop - 1]
    covered = {
        place
        for start, end in zip(encoded.starts, encoded.ends, strict=True)
        for place in range(start, end)
    }
    assert {place for place, char in enumerate(TEXT) if not char.isspace()} <= covered


@pytest.mark.parametrize("kind", KINDS)
def test_words_are_the_same_for_every_vocabulary(folders: dict[str, Path], kind: str) -> None:
    from deid_zero_shot import ZeroShotDetector

    detector = ZeroShotDetector(model=folders[kind], threshold=2.0, threads=1)

    (spans,) = detector.detect([Note("n", TEXT, lang="en")])

    assert [(span.start, span.end) for span in spans] == words_of(TEXT, "en", SEGMENTERS["plain"])


def test_a_line_s_end_is_a_sub_token_where_the_vocabulary_has_one() -> None:
    tokenizer = tokenizer_of("wordpiece")
    line = tokenizer.convert_tokens_to_ids("[LINE]")
    specials = Specials(before=2, after=3, pad=0, mask=4, unknown=1, line=line, window=64)

    encoded = NoteEncoder(tokenizer.backend_tokenizer.to_str(), specials).encode(
        "fever\n\ncough\r\nfever\n"
    )

    assert encoded.ids.tolist().count(line) == 2


@pytest.mark.parametrize("kind", KINDS)
def test_text_that_looks_like_a_special_sub_token_is_none(kind: str) -> None:
    tokenizer = tokenizer_of(kind)
    specials = Specials(before=2, after=3, pad=0, mask=4, unknown=1, line=5, window=64)

    encoded = NoteEncoder(tokenizer.backend_tokenizer.to_str(), specials).encode(
        "[MASK] [SEP] [CLS]"
    )

    assert not {0, 2, 3, 4, 5} & set(encoded.ids.tolist())


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("plain", "O'Brien-Lee, 1.5 mg; 12/03/2020", ["O'Brien-Lee", "1.5", "mg", "12/03/2020"]),
        (
            "plain",
            "a.b@example.org. www.example.org, J45",
            ["a.b@example.org", "www.example.org", "J45"],
        ),
        ("blanks", "(Dr. Lee), tel: 617-555-0143!", ["Dr", "Lee", "tel", "617-555-0143"]),
        ("blanks", "-- ... a", ["a"]),
        ("characters", "王明 Lee 3", ["王", "明", "Lee", "3"]),
        ("parsed", "del Dr. Pérez, 3 años.", ["del", "Dr.", "Pérez", "3", "años"]),
    ],
)
def test_words_by_segmenter(name: str, text: str, words: list[str]) -> None:
    found = words_of(text, "es", SEGMENTERS[name])

    assert [text[start:end] for start, end in found] == words


def test_a_segmenter_may_be_a_function() -> None:
    _, halves = segmenter(lambda text, _lang: [(0, len(text) // 2), (len(text) // 2, len(text))])

    assert words_of("abcd", None, halves) == [(0, 2), (2, 4)]


def test_each_language_may_have_a_segmenter_of_its_own() -> None:
    name, found = segmenter({"fi": "parsed", "en": "blanks"})
    text = "3,5 mg/ml"

    assert name == {"en": "blanks", "fi": "parsed"}
    assert words_of(text, "en", found) == words_of(text, "en", SEGMENTERS["blanks"])
    assert words_of(text, "sv", found) == words_of(text, "sv", SEGMENTERS["plain"])
    assert words_of(text, "en", found) != words_of(text, "sv", found)
    with pytest.raises(ConfigError, match="did you mean 'parsed'"):
        segmenter({"fi": "parse"})


def test_a_segmenter_that_goes_back_is_refused() -> None:
    with pytest.raises(ConfigError, match="must rise"):
        words_of("abcd", None, lambda _text, _lang: [(2, 4), (0, 2)])


def test_an_unknown_segmenter_is_named_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match="did you mean 'plain'"):
        segmenter("plane")


@pytest.mark.parametrize(
    ("lang", "words", "same"),
    [
        ("fi", ("Juha", "Juhan"), True),
        ("fi", ("potilas", "potilaalle"), True),
        ("fi", ("potilas", "kuume"), False),
        ("es", ("paciente", "pacientes"), True),
        ("es", ("dolor", "tos"), False),
        ("en", ("Lee", "LEE"), True),
        ("zz", ("Lee", "Lees"), False),
    ],
)
def test_forms_of_one_lemma_are_one_group(lang: str, words: tuple[str, str], *, same: bool) -> None:
    one, other = groups(words, lang, lemmatizer("simple"))

    assert (one == other) is same


def test_a_pipeline_of_spacy_tells_which_forms_are_of_one_lemma(tmp_path: Path) -> None:
    pipeline = spacy.blank("fi")
    pipeline.add_pipe("attribute_ruler").add([[{"LOWER": "potilaalle"}]], {"LEMMA": "potilas"})
    pipeline.to_disk(tmp_path / "fi_lemmas")

    one, other, none = groups(
        ["potilas", "Potilaalle", "kuume"], "fi", lemmatizer(f"spacy:{tmp_path / 'fi_lemmas'}")
    )

    assert one == other != none


def test_an_unknown_lemmatiser_is_refused() -> None:
    with pytest.raises(ConfigError, match="spacy:NAME"):
        lemmatizer("stems")
    with pytest.raises(ConfigError, match="does not load"):
        lemmatizer("spacy:no_such_pipeline")
