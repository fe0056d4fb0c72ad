"""Every installed format keeps the contract, and the contract finds what breaks it."""

import pytest

from deid_assets.core.errors import PluginError
from deid_assets.formats import FORMATS
from deid_assets.formats.contract import check_format


@pytest.mark.parametrize("name", FORMATS)
def test_every_installed_format_keeps_the_contract(name, tmp_path):
    check_format(FORMATS[name], tmp_path)


def test_the_format_of_these_tests_keeps_it(add, tmp_path):
    add("shout")
    check_format(FORMATS["shout"], tmp_path / "tried")


BREAKS = {
    "an exception": ('errors="replace"', 'errors="strict"', "raises UnicodeDecodeError"),
    "text in a message": (
        '"has no patient; add one"',
        "f'no {patient[:99]!a}'",
        "shows text of the file",
    ),
    "another answer": (
        "if bar and",
        (
            "import time\n    text += str(time.monotonic_ns()) if source.note_id == 'a1' else ''\n "
            "   if bar and"
        ),
        "second time",
    ),
    "text changed": (
        "f\"{note.patient_id or ''}|{note.text}\"",
        'f"{note.patient_id or 0}|{note.text.strip()} "',
        "changed",
    ),
    "line breaks changed": (
        "{note.text}",
        "{note.text.replace(chr(13), chr(10))}",
        "awkward text 2 comes back changed",
    ),
    "the patient lost": ("patient_id=patient", "", "patient_id is lost"),
    "more than it says": ("patient_id=patient", "patient_id=patient, lang='fr'", "lang is kept"),
    "a folder half written": (
        "with atomic_folder(path) as folder:",
        "path.mkdir()\n    for folder in [path]:",
        "leaves files behind",
    ),
    "text in an error": (
        "note = annotated.note",
        (
            "note = annotated.note\n            if chr(13) in note.text or note.lang == 'en':\n    "
            "            raise InputError(note.text)"
        ),
        "shows its text",
    ),
    "a suffix of another": ('".@NAME@", f"', '".txt", f"', "is taken for|notes written"),
    "no writer": ("def write(", "def writes(", "has no function write"),
}


@pytest.mark.parametrize("what", BREAKS)
def test_the_contract_finds(what, add, tmp_path):
    before, after, reason = BREAKS[what]
    files = add.files.replace(before, after)
    assert files != add.files
    add("broken", files=files)

    with pytest.raises(PluginError, match=reason):
        check_format(FORMATS["broken"], tmp_path / "tried")
