"""Options, encodings and paths: refused early when wrong, kept to when right."""

import json
import os
from pathlib import Path

import pytest

from deid_assets.core.errors import ConfigError, InputError
from deid_assets.core.label_maps import LABEL_MAPS
from deid_assets.formats import (
    Columns,
    Conll,
    Fault,
    ReadOptions,
    WriteOptions,
    detect_format,
    read_notes,
)

LINE = json.dumps({"id": "n1", "text": "fine"})


@pytest.mark.parametrize(
    ("wrong", "options"),
    [
        ("offsets", {"offsets": "bytes"}),
        ("discontinuous", {"discontinuous": "drop"}),
        ("max_note_chars", {"max_note_chars": 0}),
        ("encoding", {"encoding": "klingon"}),
        ("encoding", {"encoding": "hex"}),
        ("delimiter", {"delimiter": '"'}),
    ],
)
def test_a_wrong_option_is_refused_when_it_is_made(wrong, options):
    with pytest.raises(ConfigError, match=wrong):
        ReadOptions(**options)


def test_columns_must_differ():
    with pytest.raises(ConfigError, match="distinct"):
        Columns(text="id")


@pytest.mark.parametrize(
    ("wrong", "options"),
    [
        ("scheme is 'io'; choose bio", {"scheme": "io"}),
        ("go together", {"start": 1}),
        ("distinct", {"token": 1, "tag": 1}),
    ],
)
def test_wrong_columns_or_tags_of_conll_are_refused(wrong, options):
    with pytest.raises(ConfigError, match=wrong):
        Conll(**options)


def test_a_scheme_that_is_unknown_is_not_written():
    with pytest.raises(ConfigError, match="scheme is 'io'"):
        WriteOptions(conll_scheme="io")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32-le", "cp037"])
def test_encodings_that_cannot_be_cut_into_lines_are_refused(encoding, tmp_path):
    (tmp_path / "n.jsonl").write_bytes(LINE.encode(encoding))
    with pytest.raises(ConfigError, match="convert the file to utf-8"):
        list(read_notes(tmp_path / "n.jsonl", options=ReadOptions(encoding=encoding)))


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16"])
def test_text_in_a_named_encoding_is_read(encoding, tmp_path):
    (tmp_path / "n.txt").write_bytes("José\r\n".encode(encoding))
    (annotated,) = read_notes(tmp_path / "n.txt", options=ReadOptions(encoding=encoding))
    assert annotated.note.text == "José\r\n"


def test_a_missing_path_an_unknown_format_and_an_unclear_one_are_refused_at_once(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        read_notes(tmp_path / "none.jsonl")
    (tmp_path / "a.xml").touch()
    with pytest.raises(InputError, match="choose one of brat, cda, conll, csv"):
        read_notes(tmp_path, format="odt")
    (tmp_path / "a.csv").touch()
    with pytest.raises(
        InputError, match="csv or i2b2; name one with --format: brat, cda, conll, csv"
    ):
        detect_format(tmp_path)
    with pytest.raises(InputError, match="is unknown"):
        detect_format(tmp_path / "a.odt")


def test_further_fields_are_kept_as_meta_only_when_named(tmp_path):
    (tmp_path / "n.csv").write_text("id,text,site,ward\nn1,x,Oslo,7\n")
    plain, named = (
        next(read_notes(tmp_path / "n.csv", options=ReadOptions(columns=Columns(into_meta=names))))
        for names in ((), ("site",))
    )
    assert (plain.note.meta, named.note.meta) == ({}, {"site": "Oslo"})


def test_meddocan_reads_without_a_fault():
    corpora = os.environ.get("DEID_CORPORA")
    if not corpora:
        pytest.skip("DEID_CORPORA is not set")
    path = Path(corpora, "annotated", "meddocan", "dev.jsonl")
    found = list(read_notes(path, labels=LABEL_MAPS["meddocan"]))
    assert not [entry for entry in found if isinstance(entry, Fault)]
    assert sum(len(entry.spans) for entry in found) == 5801
