"""Formats of plugins: found, broken, doubled and missing, tried with distributions made on disk."""

import importlib.metadata
import json
import sys

import pytest
import typer
from typer.testing import CliRunner

from deid_assets import plugins
from deid_assets.cli import app
from deid_assets.cli.endings import guard_command
from deid_assets.core.errors import ConfigError, InputError
from deid_assets.core.note import Note
from deid_assets.formats import (
    FORMATS,
    Annotated,
    Fault,
    detect_format,
    format_named,
    read_notes,
    write_notes,
)
from deid_assets.formats.catalogue import OUTSIDE, load_installed
from deid_assets.formats.read_settings import read_options
from deid_assets.own_plugins import BRINGS, command
from deid_assets.plugins import installed as installed_plugins

DECLARATION = """
from deid_assets.extending.formats import Format

FORMAT = Format("@NAME@", (".@NAME@",), "deid_@NAME@.files", is_folder=True, keeps=frozenset())
"""
OPTIONS = """
from dataclasses import dataclass
from typing import ClassVar

from deid_assets.extending.formats import Format, FormatOptions


@dataclass(frozen=True)
class Options(FormatOptions):
    group: ClassVar[str] = "@GROUP@"
    loud: bool = False


FORMAT = Format(
    "@NAME@",
    (".@NAME@",),
    "deid_@NAME@.files",
    is_folder=True,
    keeps=frozenset(),
    options=Options,
)
"""


@pytest.fixture
def nothing_installed(monkeypatch):
    """No distribution with a format is installed."""

    def found():
        every = importlib.metadata.entry_points()
        others = every.groups - {plugins.FORMATS}
        return importlib.metadata.EntryPoints(
            one for group in others for one in every.select(group=group)
        )

    monkeypatch.setattr(installed_plugins, "entry_points", found)
    load_installed.cache_clear()
    yield
    load_installed.cache_clear()


def test_a_format_of_a_plugin_is_detected_read_and_written(add, tmp_path):
    add("shout")
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.shout").write_text("7|fine")

    assert detect_format(folder) == detect_format(folder / "a.shout") == "shout"
    assert list(read_notes(folder)) == [Annotated(Note("a", "fine", "7"))]
    write_notes(tmp_path / "out", [Annotated(Note("b", "quiet", "8"))], format="shout")
    assert (tmp_path / "out" / "b.shout").read_text() == "8|quiet"


def test_listing_imports_no_plugin(add):
    add("shout", declaration="raise RuntimeError('imported')")

    assert plugins.available(plugins.FORMATS)["shout"].fault == ""
    assert "deid_shout" not in sys.modules


@pytest.mark.parametrize(
    ("declaration", "entry", "reason"),
    [
        ("raise RuntimeError('Jane Doe')", None, "cannot be imported (RuntimeError)"),
        ("FORMAT = 7", None, "names no Format of that name"),
        (DECLARATION, "other", "names no Format of that name"),
        (DECLARATION, "Bad-Name", "name must match"),
    ],
)
def test_a_broken_plugin_is_listed_with_its_fault_and_hides_no_other(
    add, declaration, entry, reason, tmp_path
):
    add("broken", declaration=declaration, entry=entry)
    add("shout")
    (tmp_path / "a.jsonl").write_text(json.dumps({"id": "n1", "text": "fine"}))

    assert reason in load_installed().faults[entry or "broken"]
    assert "Jane Doe" not in load_installed().faults[entry or "broken"]
    assert "shout" in FORMATS
    assert detect_format(tmp_path / "a.jsonl") == "jsonl"
    with pytest.raises(InputError, match="cannot be used"):
        format_named(entry or "broken")


def test_options_of_a_plugin_are_told_as_settings_and_reach_the_reader(add):
    add("shout", declaration=OPTIONS.replace("@GROUP@", "shout"))
    options = FORMATS["shout"].options
    assert options is not None

    assert read_options([], annotations=True).of(options).loud is False
    assert read_options(["shout.loud=true"], annotations=True).of(options).loud is True
    with pytest.raises(ConfigError, match=r"give true or false"):
        read_options(["shout.loud=7"], annotations=True)
    with pytest.raises(ConfigError, match=r"'shout\.quiet=true' must read .*shout\.loud"):
        read_options(["shout.quiet=true"], annotations=True)


@pytest.mark.parametrize("group", ["conll", "documents", "", "a b"])
def test_a_group_of_options_that_is_taken_or_no_word_is_a_fault(add, group):
    add("shout", declaration=OPTIONS.replace("@GROUP@", group))

    assert "is no word or is taken" in load_installed().faults["shout"]


@pytest.mark.usefixtures("nothing_installed")
def test_options_of_a_missing_plugin_name_it():
    with pytest.raises(ConfigError, match="make add PLUGIN=document_formats"):
        read_options(["documents.layout=true"], annotations=True)


def test_a_name_that_is_taken_does_not_replace_the_format_that_has_it(add):
    add("shout", entry="jsonl")
    add("broken", declaration=DECLARATION.replace("@NAME@", "docx"), entry="docx")

    assert FORMATS["jsonl"].module == "deid_assets.formats.jsonl"
    assert "rename" in load_installed().faults["jsonl of deid_shout"]
    assert "named by both" in load_installed().faults["docx"]


FILES_OF = {
    "brat": ("a.ann", "T1\tNAME 0 3\tAnn"),
    "i2b2": ("a.xml", "<deIdi2b2><TEXT>Ann</TEXT></deIdi2b2>"),
    "conll": ("a.conll", "Ann B-NAME"),
    "cda": ("a.xml", '<ClinicalDocument xmlns="urn:hl7-org:v3"/>'),
    "fhir": ("a.ndjson", '{"resourceType": "DocumentReference"}'),
    "hl7": ("a.hl7", "MSH|^~\\&|"),
    "omop": ("a.omop", "url_env = 'DB'"),
    "docx": ("a.docx", "PK"),
    "eml": ("a.eml", "From: a"),
    "pdf": ("a.pdf", "%PDF-"),
    "rtf": ("a.rtf", "{\\rtf1"),
}


@pytest.mark.parametrize("name", OUTSIDE)
@pytest.mark.usefixtures("nothing_installed")
def test_a_file_whose_plugin_is_missing_is_an_error_that_names_the_plugin(name, tmp_path):
    file, content = FILES_OF[name]
    path = tmp_path / "notes" / file
    path.parent.mkdir()
    path.write_text(content)

    for place in (path, path.parent):
        with pytest.raises(
            InputError, match=f"is {name}: .*{command(BRINGS[plugins.FORMATS][name])}"
        ):
            list(read_notes(place))
    with pytest.raises(InputError, match=command(BRINGS[plugins.FORMATS][name])):
        list(read_notes(path, format=name))


@pytest.mark.usefixtures("nothing_installed")
def test_a_file_whose_plugin_is_missing_beside_others_is_not_passed_over(tmp_path):
    (tmp_path / "a.jsonl").write_text(json.dumps({"id": "n1", "text": "fine"}))
    (tmp_path / "b.docx").write_bytes(b"PK")

    with pytest.raises(InputError, match="could be docx or jsonl"):
        list(read_notes(tmp_path))
    found = list(read_notes(tmp_path, format="jsonl"))
    assert found[0] == Annotated(Note("n1", "fine"))
    assert [entry.kind for entry in found[1:] if isinstance(entry, Fault)] == ["other-format"]


def test_what_is_known_of_formats_outside_is_what_their_plugins_say():
    assert set(FORMATS) >= set(OUTSIDE), "the plugins of this project are installed for the tests"
    for name, known in OUTSIDE.items():
        options = FORMATS[name].options
        said = (FORMATS[name].suffixes, FORMATS[name].is_told, options.group if options else "")
        assert said == (known.suffixes, known.is_told, known.group)


TALKS = {
    "an error of ours": "raise InputError(text)",
    "a class of its own that derives from ours": "raise type(text, (InputError,), {})(text)",
    "an error of another library": "raise RuntimeError(text)",
    "a reason": "yield source.fault('malformed', text)",
    "a kind": "yield source.fault(text, 'has no patient; add one')",
    "a name of a file": "yield Fault.at(text, 'malformed', 'has no patient; add one')",
    "a line": "yield Fault.at(source.name, 'malformed', 'has no patient; add one', line=text)",
    "a kind of a problem": (
        "yield ParsedNote(source.name, 'n', 'x', problems=(Problem(text, 'wrong'),))"
    ),
    "a reason of a problem": (
        "yield ParsedNote(source.name, 'n', 'x', problems=(Problem('offset', text),))"
    ),
    "the file of a problem": (
        "yield ParsedNote(source.name, 'n', 'x', problems=(Problem('offset', 'wrong'),),"
        " annotation_file=text)"
    ),
    "a record error let through": "raise RecordError('malformed', text)",
    "a chained error": (
        "try:\n        int(text)\n    except ValueError as error:\n        raise InputError(text)"
        " from error"
    ),
    "what our own code says of it": "label_map(text)",
    "what our own code says of it in a callback": "sorted([text], key=label_map)",
    "a line beside": "yield ParsedNote(text, '', text)",
    "a warning": "import warnings\n    warnings.warn(text)",
    "a log record": "import logging\n    logging.getLogger('x').error(text)",
    "a line of its own on a kept stream": "import sys\n    print(text, file=sys.__stderr__)",
    "a hook": "import sys\n    sys.excepthook(KeyError, KeyError(text), None)",
}


@pytest.mark.parametrize("statement", TALKS.values(), ids=TALKS)
def test_nothing_that_a_foreign_reader_says_shows_the_file(statement, add, tmp_path, capfd):
    files = (
        "from deid_assets.extending import InputError, label_map\n"
        "from deid_assets.extending.formats import Fault, ParsedNote, Problem, RecordError\n\n\n"
        "def read(source, options):\n"
        "    text = source.path.read_text()\n"
        f"    {statement}\n"
        "    yield from ()\n"
    )
    add("shout", files=files)
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.shout").write_text("Zedmarlow")

    done = CliRunner().invoke(
        app, ["detect", str(notes), "--detector", "rules", "--out", str(tmp_path / "out.jsonl")]
    )

    assert done.exit_code in (1, 2, 3)
    assert "Zedmarlow" not in done.output + "".join(capfd.readouterr())


def test_a_kind_that_a_plugin_declares_is_shown_with_its_sentence(add, tmp_path):
    declaration = DECLARATION.replace(
        "keeps=frozenset()", "keeps=frozenset(), faults={'no-head': 'has no head; add it'}"
    )
    files = "def read(source, options):\n    yield source.fault('no-head', 'Zedmarlow', line=3)\n"
    add("shout", declaration=declaration, files=files)
    (tmp_path / "a.shout").write_text("Zedmarlow")

    assert list(read_notes(tmp_path / "a.shout")) == [
        Fault.at("a.shout", "no-head", "has no head; add it", line=3)
    ]


def test_a_command_of_a_plugin_speaks_for_itself():
    def mine() -> int:
        raise InputError("no such table")

    single = typer.Typer()
    single.command()(guard_command(mine))
    done = CliRunner().invoke(single, [])
    assert (done.exit_code, done.output) == (2, "error: no such table\n")
