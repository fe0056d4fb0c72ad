"""Notes in several languages, in none that is known, and scans: which rules read them."""

from __future__ import annotations

import pytest

from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.languages import language
from deid_assets.testing import mark
from deid_rules import RulesDetector, spoken

DETECTOR = RulesDetector()
GERMAN = (
    "Die Patientin wurde gestern mit Fieber und Husten aufgenommen, Zustand jetzt stabil,"
    " Entlassung geplant. "
)
FRENCH = (
    "La patiente a été hospitalisée hier pour de la fièvre et une toux, son état est stable, sortie"
    " prévue. "
)


def marked_by(text: str, lang: str | None = None, *, detector: RulesDetector = DETECTOR) -> str:
    note = Note("n", text, lang=lang)
    (spans,) = detector.detect([note])
    return mark(note, spans)


@pytest.mark.parametrize("lang", ["de", "fr", None])
def test_each_part_of_a_mixed_note_is_read_with_its_rules(lang: str | None) -> None:
    text = f"{GERMAN}Überwiesen von Frau Zedmarlow.\n\n{FRENCH}Adressée par le docteur Quillhaven."
    marked = marked_by(text, lang)
    assert "Frau <NAME>Zedmarlow</NAME>" in marked
    assert "docteur <NAME>Quillhaven</NAME>" in marked


def test_a_note_that_names_the_wrong_language_is_read_with_the_rules_of_its_text_too() -> None:
    assert "Frau <NAME>Zedmarlow</NAME>" in marked_by(
        f"{GERMAN}Überwiesen von Frau Zedmarlow.", "en"
    )


TELLING = spoken.Telling({code: language(code).telling for code in ("de", "en", "fr")})


@pytest.mark.parametrize("declared", ["de", None])
def test_a_long_text_without_words_of_another_language_is_told_by_its_words(
    declared: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(spoken, "languages_in", lambda text, declared: asked.append(text) or ())
    sentence = (
        "Sie ist nicht zu uns und war seit Stunden mit dem Mann bei uns, wurde für ihn auf, nach,"
        " ohne das, bis vor die Tür. "
    )
    text = GERMAN + sentence * 20
    assert TELLING.languages(text, declared=declared) == ("de",)
    assert not asked
    others = [
        f"{text} {FRENCH}",
        f"{text} After that she was well.",
        text[: spoken.MIN_CHARS - 1],
        "12 mg 1-0-1 " * 300,
    ]
    for other in others[: 4 if declared is None else 3]:
        TELLING.languages(other, declared=declared)
    assert asked == others[: 4 if declared is None else 3]


@pytest.mark.parametrize(
    ("added", "told"),
    [
        ("", "de"),
        ("hund, påse, håns", "de"),
        ("PÅ", "de"),
        ("på2", "fr"),
        ("en hund_på_taket", "fr"),
        ("(På)", "fr"),
        ("ø", "fr"),
        ("xØx", "fr"),
    ],
)
def test_whole_words_tell_in_any_case_of_ascii_and_letters_anywhere(
    added: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    telling = spoken.Telling({"de": ("und", "ß"), "sv": ("på",), "da": ("ø",)})
    monkeypatch.setattr(spoken, "languages_in", lambda text, declared: ("fr",))
    assert telling.languages(f"{'und Und UND ' * 200}{added}", declared="de") == (told,)


def test_a_language_without_telling_words_leaves_all_texts_to_the_library() -> None:
    telling = spoken.Telling({"en": language("en").telling, "fr": ()})
    assert telling.languages(FRENCH * 30, declared="en") == ("fr",)


def test_an_unknown_language_is_read_with_the_rules_that_need_none() -> None:
    text = (
        "Pacjentka została przyjęta wczoraj z gorączką i kaszlem, stan stabilny. Kontakt:"
        " zed@example.org, 2021-05-03."
    )
    assert marked_by(text).endswith("<EMAIL>zed@example.org</EMAIL>, <DATE>2021-05-03</DATE>.")


@pytest.mark.parametrize(
    ("text", "lang"),
    [
        ("Säugling, 96 Tage alt", "de"),
        ("bambino di 92 giorni", "it"),
        ("nourrisson de 95 jours", "fr"),
        ("kind van 92 dagen oud", "nl"),
        ("pojke 92 dagar gammal", "sv"),
        ("lapsi, 92 päivän ikäinen", "fi"),
    ],
)
def test_days_are_no_years(text: str, lang: str) -> None:
    (spans,) = DETECTOR.detect([Note("n", text, lang=lang)])
    assert [
        span for span in spans if span.label is Phi.AGE and span.native_label == "over_89"
    ] == []


def test_a_disease_keeps_its_name_in_the_note_of_a_namesake() -> None:
    text = "Seen: Mr. Parkinson. No sign of Parkinson's disease. Parkinson left at noon."
    assert (
        marked_by(text, "en") == "Seen: Mr. <NAME>Parkinson</NAME>. No sign of Parkinson's disease."
        " <NAME>Parkinson</NAME> left at noon."
    )


def test_a_scan_is_read_with_its_confusions_mended() -> None:
    scan = RulesDetector(langs=("en",), ocr=True)
    text = "Seen by Dr. Zedmarlow on O3/l2/2O21, SSN 5l2-34-S678, BP l2O/8O."
    assert (
        marked_by(text, "en", detector=scan)
        == "Seen by Dr. <NAME>Zedmarlow</NAME> on <DATE>O3/l2/2O21</DATE>, SSN"
        " <NATIONAL_ID>5l2-34-S678</NATIONAL_ID>, BP l2O/8O."
    )
    assert "<DATE>" not in marked_by(text, "en")


def test_what_is_found_as_it_stands_stays_in_a_scan() -> None:
    text = "Seen by Dr. Zedmarlow on 03/12/2021, MRN B123456."
    scan = RulesDetector(langs=("en",), ocr=True)
    assert marked_by(text, "en", detector=scan) == marked_by(text, "en")
