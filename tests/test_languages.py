"""The language of a note, detected from its text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_assets.languages import language_of, languages_in

SENTENCES = {
    "en": (
        "The patient was admitted with chest pain and shortness of breath since yesterday evening."
    ),
    "es": (
        "El paciente ingresa por dolor torácico y dificultad para respirar desde ayer por la tarde."
    ),
    "it": "Il paziente viene ricoverato per dolore toracico e difficoltà a respirare da ieri sera.",
    "fr": (
        "Le patient est hospitalisé pour une douleur thoracique et un essoufflement depuis hier"
        " soir."
    ),
    "de": (
        "Der Patient wurde wegen Schmerzen in der Brust und Atemnot seit gestern Abend aufgenommen."
    ),
    "nl": "De patiënt werd opgenomen wegens pijn op de borst en kortademigheid sinds gisteravond.",
    "sv": "Patienten läggs in på grund av bröstsmärta och andnöd sedan i går kväll efter middagen.",
    "fi": "Potilas otettiin osastolle rintakivun ja hengenahdistuksen vuoksi eilen illalla.",
    "pl": (
        "Pacjent został przyjęty z powodu bólu w klatce piersiowej i duszności od wczoraj"
        " wieczorem."
    ),
}


@pytest.mark.parametrize("lang", SENTENCES)
def test_a_sentence_tells_its_language(lang):
    assert language_of(SENTENCES[lang]) == lang


def test_a_note_may_be_in_two_languages():
    text = f"{SENTENCES['de']} {SENTENCES['de']}\n\n{SENTENCES['fr']} {SENTENCES['fr']}"
    assert set(languages_in(text)) == {"de", "fr"}


def test_a_language_that_is_told_stands_against_a_few_words_of_another():
    assert languages_in(SENTENCES["de"], declared="fr") == ("de",)
    assert languages_in("The lungs are clear on both sides.", declared="it") == ()
    assert languages_in("The lungs are clear on both sides.") == ("en",)


@pytest.mark.parametrize("text", ["", "RR 120/80", "Lee, Anna\n12-34-567\n", "Zoloft 50 mg p.o."])
def test_words_and_numbers_alone_do_not_tell(text):
    assert languages_in(text) == ()


def test_what_follows_the_beginning_is_not_read():
    assert language_of(SENTENCES["en"] + " " * 20_000 + SENTENCES["de"] * 500) == "en"


@given(st.text(max_size=300))
def test_no_text_stops_it(text):
    assert all(code.isascii() for code in languages_in(text))


def test_control_characters_do_not_stop_it():
    assert language_of(SENTENCES["fi"].replace(" ", "\x00\x0b ")) == "fi"
