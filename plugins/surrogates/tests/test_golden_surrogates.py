"""Golden tables: fifty values of all shapes per language and their surrogates under one key, read
by eye.

``python plugins/surrogates/tests/test_golden_surrogates.py`` writes the surrogates anew, to be read
before they are committed.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from deid_assets.core.keys import Key
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.redact import Context
from deid_assets.core.span import Span
from deid_surrogates.surrogate import Surrogate

GOLDEN = Path(__file__).with_name("golden")
LANGS = ("de", "en", "es", "fi", "fr", "it", "nl", "pt", "sv")
KEY = Key(b"a key for tests, 24 bytes")
PATIENT = "patient 25"
HEADER = ("label", "before", "original", "surrogate")


def rows_of(lang: str) -> list[list[str]]:
    """Return the rows of a language's table: category, text before the value, value, surrogate."""
    lines = (GOLDEN / f"{lang}.tsv").read_text("utf-8").splitlines()
    return [line.split("\t") for line in lines[1:]]


def surrogate_of(lang: str, label: str, before: str, original: str) -> str:
    """Return the surrogate of a value in a note of its own.

    All values of a language are of one patient.
    """
    note = Note("golden", before + original, patient_id=PATIENT, lang=lang)
    span = Span(len(before), len(note.text), Phi(label))
    return Surrogate()(original, span, Context(note, KEY))


@pytest.mark.parametrize("lang", LANGS)
def test_surrogates_are_those_of_the_golden_table(lang):
    rows = rows_of(lang)

    assert len(rows) >= 50
    assert [(*row[:3], surrogate_of(lang, *row[:3])) for row in rows] == [
        tuple(row) for row in rows
    ]


@pytest.mark.long
def test_another_worker_draws_the_same():
    """Sets are ordered by a seed of the process, which must not show."""
    code = (
        f"import runpy; run = runpy.run_path({__file__!r}); print([run['surrogate_of']('fi',"
        " *r[:3]) for r in run['rows_of']('fi')])"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }

    assert found == {f"{[row[3] for row in rows_of('fi')]}\n"}


def main() -> None:
    for lang in LANGS:
        rows = [(*row[:3], surrogate_of(lang, *row[:3])) for row in rows_of(lang)]
        table = "".join("\t".join(row) + "\n" for row in (HEADER, *rows))
        (GOLDEN / f"{lang}.tsv").write_text(table, "utf-8")


if __name__ == "__main__":
    main()
