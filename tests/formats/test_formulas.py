"""No cell of CSV that the project writes is computed by a spreadsheet, and what was written can be
read back.
"""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_assets.cli import app
from deid_assets.core.errors import ConfigError
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.span import Span, SpanSet
from deid_assets.formats import (
    Annotated,
    ReadOptions,
    WriteOptions,
    read_notes,
    write_notes,
    write_spans,
)
from deid_assets.formats.formulas import escape_formula, unescape_formula

FORMULAS = ('=HYPERLINK("http://x")', "+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1")
FINE = ("Seen by Ana.", " =1", "a=b", "'quoted'", "1-2", "")


def cells(path):
    return list(csv.reader(io.StringIO(path.read_text("utf-8"), newline="")))[1:]


@pytest.mark.parametrize("cell", [*FORMULAS, "'=1", "''-1"])
def test_a_formula_is_escaped_by_one_apostrophe(cell):
    assert escape_formula(cell) == f"'{cell}"


@pytest.mark.parametrize("cell", FINE)
def test_nothing_else_is_touched(cell):
    assert escape_formula(cell) == unescape_formula(cell) == cell


@given(st.text(st.sampled_from("'=+-@\t\ra "), max_size=6))
def test_every_cell_comes_back(cell):
    assert unescape_formula(escape_formula(cell)) == cell
    assert not escape_formula(cell).startswith(("=", "+", "-", "@", "\t", "\r"))


def annotated(text):
    note = Note("-1", text, "+358", "en", {"ward": "x"})
    return Annotated(note, SpanSet.of(note, [Span(1, 2, Phi.NAME)]))


@pytest.mark.parametrize("text", [*FORMULAS[:4], "'=cmd", "Ana was seen."])
def test_notes_are_written_escaped_and_read_back_with_their_spans(tmp_path, text):
    path = tmp_path / "n.csv"
    write_notes(path, [annotated(text)])

    assert not any(cell.startswith(("=", "+", "-", "@", "\t", "\r")) for cell in cells(path)[0])
    assert list(read_notes(path, options=ReadOptions(formulas="escaped"))) == [annotated(text)]
    (as_written,) = read_notes(path)
    (span,) = as_written.spans
    assert as_written.note.text[span.start : span.end] == text[1:2]


def test_who_wants_them_plain_gets_them_plain(tmp_path):
    path = tmp_path / "n.csv"
    write_notes(path, [annotated("-Ana")], options=WriteOptions(formulas="plain"))

    assert list(read_notes(path)) == [annotated("-Ana")]
    with pytest.raises(ConfigError, match="plain or escaped"):
        WriteOptions(formulas="none")


@pytest.mark.parametrize(
    ("option", "expected"), [([], "'=1 [NAME]"), (["--plain-csv"], "=1 [NAME]")]
)
def test_the_command_line_escapes_unless_told(tmp_path, option, expected, capsys):
    note = Note("n1", "=1 Ana")
    spans = SpanSet.of(note, [Span(3, 6, Phi.NAME)])
    write_notes(tmp_path / "n.jsonl", [Annotated(note)])
    write_spans(tmp_path / "s.jsonl", [spans])

    out = tmp_path / "o.csv"
    files = [str(tmp_path / "n.jsonl"), "--spans", str(tmp_path / "s.jsonl")]

    with pytest.raises(SystemExit) as ended:
        app([*option, "redact", *files, "--policy", "tag", "--out", str(out)])

    assert ended.value.code == 0, capsys.readouterr().err
    assert expected in cells(out)[0]
