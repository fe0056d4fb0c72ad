"""Folders, links and sizes.

Nothing is read from outside, and one huge note costs no more than its bytes.
"""

import json
import os
import shutil
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.span import Span, SpanSet
from deid_assets.formats import (
    Annotated,
    Fault,
    ReadOptions,
    detect_format,
    read_notes,
    write_notes,
)
from deid_assets.formats.options import IGNORED

MIB = 1 << 20


def ids(path, **options):
    """Ids of the notes, and kinds of the faults with their file."""
    return [
        (entry.kind, entry.file) if isinstance(entry, Fault) else entry.note.note_id
        for entry in read_notes(path, **options)
    ]


def test_a_folder_is_read_with_its_subfolders_in_order_of_path(tmp_path):
    for name in (
        "b.txt",
        "a b.txt",
        "sub folder/c.txt",
        "sub folder/deep/d.TXT",
        ".hidden.txt",
        "README.md",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    notes = [".hidden", "a b", "b", "sub folder/c", "sub folder/deep/d"]
    first, *others = notes
    assert ids(tmp_path) == [first, ("other-format", "README.md"), *others]


FOLDER = (
    "a.txt",
    "deep/b.TXT",
    "c.txt",
    "d.doc",
    "deep/scan",
    "e.log",
    ".DS_Store",
    "deep/._b.TXT",
    "__MACOSX/deep/c.txt",
    "f.txt.part",
    "batch.toml",
)


def folder_of(tmp_path, kind):
    """The files of FOLDER as a folder, or packed."""
    folder = tmp_path / "arrived"
    for name in FOLDER:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x")
    if not kind:
        return folder
    return Path(shutil.make_archive(str(tmp_path / "packed"), kind, folder))


@pytest.mark.parametrize("kind", ["", "zip", "tar", "gztar"])
def test_every_file_of_a_folder_or_archive_is_read_or_a_fault_or_ignored_by_a_rule(kind, tmp_path):
    ignored = []
    found = list(
        read_notes(
            folder_of(tmp_path, kind), ignored=lambda name, rule: ignored.append((name, rule))
        )
    )

    read = [entry for entry in found if isinstance(entry, Annotated)]
    faults = [entry for entry in found if isinstance(entry, Fault)]
    assert [len(read), len(faults), len(ignored)] == [3, 3, 5]
    assert {fault.kind for fault in faults} == {"other-format"}
    assert all("--read ignore=NAME" in fault.message for fault in faults)
    assert {rule for _, rule in ignored} == {".DS_Store", "._*", "__MACOSX", "*.part", "batch.toml"}


def test_a_rule_of_ones_own_ignores_files_and_folders(tmp_path):
    options = ReadOptions(ignore=(*IGNORED, "*.DOC", "scan", "e.*", "deep"))
    found = list(read_notes(folder_of(tmp_path, ""), format="txt", options=options))
    assert [entry.note.note_id for entry in found] == ["a", "c"]


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet", ".conll"])
def test_a_folder_of_files_is_one_corpus_and_ids_are_unique_over_it(suffix, tmp_path):
    for number, note_id in enumerate(["n1", "n2", "n1"]):
        write_notes(tmp_path / f"{number}{suffix}", [Annotated(Note(note_id, "x"))])
    assert ids(tmp_path) == ["n1", "n2", ("duplicate-id", f"2{suffix}")]


def test_a_folder_without_a_note_is_a_fault(tmp_path):
    assert ids(tmp_path, format="txt") == [("empty-file", ".")]


@pytest.mark.parametrize("suffix", [".txt", ".xml", ".jsonl", ".csv", ".parquet", ".conll"])
def test_a_link_out_of_the_folder_is_not_followed(suffix, tmp_path):
    outside = tmp_path / f"outside{suffix}"
    outside.write_text("secret")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / f"linked{suffix}").symlink_to(outside)
    assert ids(tmp_path / "in") == [("unsafe-path", f"linked{suffix}")]


def test_links_inside_are_read_and_linked_folders_and_broken_links_are_faults(tmp_path):
    (tmp_path / "a.txt").write_text("x")
    (tmp_path / "b.txt").symlink_to(tmp_path / "a.txt")
    (tmp_path / "c.txt").symlink_to(tmp_path / "nowhere")
    (tmp_path / "d.txt").symlink_to(tmp_path / "d.txt")
    (tmp_path / "folder").symlink_to(tmp_path)
    found = ids(tmp_path)
    assert sorted(found, key=str) == sorted(
        ["a", "b", ("unreadable", "c.txt"), ("unreadable", "d.txt"), ("unsafe-path", "folder")],
        key=str,
    )


def test_an_annotation_linked_from_outside_withholds_its_note(tmp_path):
    (tmp_path / "outside.ann").write_text("")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "n.txt").write_text("Ana")
    (tmp_path / "in" / "n.ann").symlink_to(tmp_path / "outside.ann")
    assert ids(tmp_path / "in") == [("unsafe-path", "n.ann"), ("unsafe-path", "n.txt")]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_does_not_block_the_reader(tmp_path):
    (tmp_path / "a.txt").write_text("x")
    os.mkfifo(tmp_path / "b.txt")
    assert ids(tmp_path) == ["a", ("unreadable", "b.txt")]


def test_a_file_name_that_breaks_a_line_is_shown_escaped_and_is_no_id(tmp_path):
    (tmp_path / "a\nb.txt").write_text("x")
    (fault,) = read_notes(tmp_path)
    assert (fault.kind, fault.file, fault.note_id) == ("malformed", "a\\nb.txt", None)
    assert fault.message.isprintable()


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["n.jsonl"], "jsonl"),
        (["n.NDJSON"], "jsonl"),
        (["n.csv"], "csv"),
        (["n.pq"], "parquet"),
        (["n.conll", "sub/n.IOB2"], "conll"),
        (["a.txt"], "txt"),
        (["a.txt", "a.ann", "annotation.conf"], "brat"),
        (["sub/a.xml", "README.md"], "i2b2"),
    ],
)
def test_formats_are_told_by_suffix_and_by_what_a_folder_holds(names, expected, tmp_path):
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert detect_format(tmp_path) == expected
    if len(names) == 1:
        assert detect_format(tmp_path / names[0]) == expected


def huge_file(path, before, after):
    """Write ``before``, 50 MiB of text and ``after`` without holding them."""
    with path.open("wb") as file:
        file.write(before)
        for _ in range(50):
            file.write(b"x" * MIB)
        file.write(after)


def good_line(note_id):
    return json.dumps({"id": note_id, "text": "fine"}).encode() + b"\n"


@pytest.mark.parametrize(
    ("name", "before", "after", "around"),
    [
        (
            "n.jsonl",
            good_line("n1") + b'{"id": "n2", "text": "',
            b'"}\n' + good_line("n3"),
            ["n1", "n3"],
        ),
        ("n.csv", b'id,text\r\nn1,fine\r\nn2,"a ""', b'"\r\nn3,fine\r\n', ["n1", "n3"]),
        ("n.conll", b"# id = n1\nfine O\n# id = n2\n", b" O\n# id = n3\nfine O\n", ["n1", "n3"]),
        ("n.txt", b"", b"", []),
        ("n.xml", b"<deIdi2b2><TEXT>", b"</TEXT></deIdi2b2>", []),
    ],
)
def test_a_note_of_50_mib_is_a_fault_held_once_at_most(name, before, after, around, tmp_path):
    huge_file(tmp_path / name, before, after)
    tracemalloc.start()
    found = list(read_notes(tmp_path / name))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [entry.note.note_id for entry in found if isinstance(entry, Annotated)] == around
    (fault,) = (entry for entry in found if isinstance(entry, Fault))
    assert fault.kind == "too-large"
    assert peak < 50 * MIB
    assert len(repr(found)) < 10_000


def test_a_huge_cell_of_parquet_is_a_fault_and_makes_no_string(tmp_path):
    path = tmp_path / "n.parquet"
    pq.write_table(
        pa.table({"id": ["n1", "n2", "n3"], "text": ["fine", "x" * (50 * MIB), "fine"]}), path
    )
    tracemalloc.start()
    first, fault, last = read_notes(path)
    peak = tracemalloc.get_traced_memory()[1]  # of Python; Arrow holds the batch once outside of it
    tracemalloc.stop()
    assert (first.note.note_id, fault.kind, fault.line, last.note.note_id) == (
        "n1",
        "too-large",
        2,
        "n3",
    )
    assert peak < 5 * MIB


@pytest.mark.parametrize("name", ["n.jsonl", "n.csv", "n.parquet", "n.conll"])
@pytest.mark.parametrize(("limit", "kept"), [(4, True), (3, False)])
def test_the_limit_counts_characters(name, limit, kept, tmp_path):
    write_notes(tmp_path / name, [Annotated(Note("n1", "\U0001f468éab"))])
    (entry,) = read_notes(tmp_path / name, options=ReadOptions(max_note_chars=limit))
    assert (
        isinstance(entry, Annotated) if kept else (entry.kind, entry.note_id) == ("too-large", "n1")
    )


def test_a_note_of_two_million_spans_is_one_fault_and_they_are_never_objects(tmp_path):
    path = tmp_path / "n.jsonl"
    span = '{"start":0,"end":1,"label":"NAME"},'
    with path.open("w") as file:
        file.write('{"id":"n1","text":"fine","spans":[' + span * 1_000_000 + span[:-1] + "]}\n")
        file.write(json.dumps({"id": "n2", "text": 'says "start"', "spans": []}) + "\n")
    tracemalloc.start()
    fault, last = read_notes(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (fault.kind, fault.line, last.note.note_id) == ("too-large", 1, "n2")
    assert "1000001 spans, more than 200000; cut the note into several" in fault.message
    assert peak < 4 * path.stat().st_size


@pytest.mark.parametrize("name", ["n.parquet", "n.csv"])
def test_more_spans_than_a_note_may_have_are_one_fault(name, tmp_path, monkeypatch):
    monkeypatch.setattr("deid_assets.formats.fields.MAX_SPANS", 2)
    note = Note("n1", "abc")
    spans = SpanSet.of(note, [Span(n, n + 1, Phi.NAME) for n in range(3)])
    write_notes(tmp_path / name, [Annotated(note, spans)])
    (fault,) = read_notes(tmp_path / name)
    assert fault.kind == "too-large"


def test_reading_lines_takes_the_memory_of_one_line(tmp_path):
    path = tmp_path / "n.jsonl"
    with path.open("w") as file:
        for number in range(400):
            file.write(json.dumps({"id": str(number), "text": "x" * 50_000}) + "\n")
    tracemalloc.start()
    count = sum(isinstance(entry, Annotated) for entry in read_notes(path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 400
    assert peak < 2 * MIB  # of a file of 20 MB


def test_importing_the_formats_loads_no_heavy_library():
    program = (
        "import sys, deid_assets.formats; print(*{'pyarrow', 'pandas', 'numpy', 'dagster'} &"
        " set(sys.modules))"
    )
    shown = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert shown.stdout.strip() == ""
