"""Notes in several languages, in none that is known, and scans: which rules read them."""

from __future__ import annotations

import pytest

from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.testing import mark
from deid_rules import RulesDetector

DETECTOR = RulesDetector()
GERMAN = "Die Patientin wurde gestern mit Fieber und Husten aufgenommen, Zustand jetzt stabil, Entlassung geplant. "
FRENCH = "La patiente a été hospitalisée hier pour de la fièvre et une toux, son état est stable, sortie prévue. "


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
    assert "Frau <NAME>Zedmarlow</NAME>" in marked_by(f"{GERMAN}Überwiesen von Frau Zedmarlow.", "en")


def test_an_unknown_language_is_read_with_the_rules_that_need_none() -> None:
    text = (
        "Pacjentka została przyjęta wczoraj z gorączką i kaszlem, stan stabilny. Kontakt: zed@example.org, 2021-05-03."
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
    assert [span for span in spans if span.label is Phi.AGE and span.native_label == "over_89"] == []


def test_a_disease_keeps_its_name_in_the_note_of_a_namesake() -> None:
    text = "Seen: Mr. Parkinson. No sign of Parkinson's disease. Parkinson left at noon."
    assert marked_by(text, "en") == (
        "Seen: Mr. <NAME>Parkinson</NAME>. No sign of Parkinson's disease. <NAME>Parkinson</NAME> left at noon."
    )


def test_a_scan_is_read_with_its_confusions_mended() -> None:
    scan = RulesDetector(langs=("en",), ocr=True)
    text = "Seen by Dr. Zedmarlow on O3/l2/2O21, SSN 5l2-34-S678, BP l2O/8O."
    assert marked_by(text, "en", detector=scan) == (
        "Seen by Dr. <NAME>Zedmarlow</NAME> on <DATE>O3/l2/2O21</DATE>, SSN <NATIONAL_ID>5l2-34-S678</NATIONAL_ID>, BP l2O/8O."
    )
    assert "<DATE>" not in marked_by(text, "en")


def test_what_is_found_as_it_stands_stays_in_a_scan() -> None:
    text = "Seen by Dr. Zedmarlow on 03/12/2021, MRN B123456."
    scan = RulesDetector(langs=("en",), ocr=True)
    assert marked_by(text, "en", detector=scan) == marked_by(text, "en")
