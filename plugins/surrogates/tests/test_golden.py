"""Golden tables: what becomes of originals of every shape, in eight languages, under one key.

The tables are written by ``python plugins/surrogates/tests/test_golden.py`` and read by eye before
they are committed. A difference means that stored corpora and new ones no longer agree: raise
``files.REVISION`` with it.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from deid_assets.core.keys import Key
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.redact import Context, Replacer
from deid_assets.core.span import Span
from deid_assets.policies.fallbacks import fall_back
from deid_assets.policies.shift import Shift
from deid_surrogates.phones import LABELS as PHONES
from deid_surrogates.shapes import identifier, phone

FOLDER = Path(__file__).parent / "golden"
TABLES = sorted((*FOLDER.glob("dates_*.tsv"), *FOLDER.glob("ids_*.tsv")))
KEY = Key(b"the key of the golden tables")
WEEKS, DAYS = Shift(max_days=364), Shift(max_days=60, whole_weeks=False)


def replaced(text: str, label: Phi, lang: str, replacer: Replacer | None = None) -> str:
    span, context = (
        Span(0, len(text), label),
        Context(Note("n", text, patient_id="golden", lang=lang), KEY),
    )
    if replacer is not None:
        return replacer(text, span, context)
    made = phone(text, context) if label in PHONES else identifier(label, text, context)
    return fall_back(text, span, context) if made is None else made


def written(path: Path) -> str:
    """Return the table with its last columns made again."""
    kind, lang = path.stem.split("_")
    header, *lines = path.read_text("utf-8").splitlines()
    rows = []
    for line in lines:
        if kind == "dates":
            original = line.split("\t")[0]
            rows.append(
                (original, *(replaced(original, Phi.DATE, lang, one) for one in (WEEKS, DAYS)))
            )
        else:
            label, original = line.split("\t")[:2]
            rows.append((label, original, replaced(original, Phi(label), lang)))
    return "".join("\t".join(row) + "\n" for row in (header.split("\t"), *rows))


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.stem)
def test_originals_become_what_the_table_says(path):
    assert written(path) == path.read_text("utf-8")


def test_every_language_has_its_tables_of_at_least_25_originals():
    for lang in ("de", "en", "es", "fi", "fr", "it", "nl", "sv"):
        for kind in ("dates", "ids"):
            assert len((FOLDER / f"{kind}_{lang}.tsv").read_text("utf-8").splitlines()) > 25


if __name__ == "__main__":
    for table in TABLES:
        table.write_text(written(table), "utf-8")
        sys.stdout.write(f"{table.name}\n")
