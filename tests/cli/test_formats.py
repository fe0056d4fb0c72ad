"""What a command reads and writes: every format, whatever the annotations in it are worth."""

from pathlib import Path

import pytest

from deid_assets.formats import FORMATS, read_notes

TEXT = "Seen by Zyxwick."
BAD_SPANS = {
    "unknown label": [{"start": 8, "end": 15, "label": "NOMBRE_SUJETO_ASISTENCIA"}],
    "out of bounds": [{"start": 8, "end": 1500, "label": "NAME"}],
    "no list": "none",
    "no object": [7],
}


def folder(name, files):
    path = Path(name)
    path.mkdir()
    for file, content in files.items():
        (path / file).write_text(content)
    return path


def found_by(deid, path):
    ran = deid("redact", path, "--detector", "xnames", "--policy", "tag", "--out", "out.jsonl")
    return ran.code, [found.note.text for found in read_notes(Path("out.jsonl"))]


@pytest.mark.parametrize("fault", BAD_SPANS)
def test_annotations_of_json_lines_withhold_no_note(deid, write, fault):
    path = write("notes.jsonl", {"id": "a", "text": TEXT, "spans": BAD_SPANS[fault]})

    assert found_by(deid, path) == (0, ["Seen by [NAME]."])


def test_annotations_of_csv_withhold_no_note(deid):
    path = Path("notes.csv")
    path.write_text(f"id,text,spans\na,{TEXT},not json\n")

    assert found_by(deid, path) == (0, ["Seen by [NAME]."])


def test_annotations_of_parquet_withhold_no_note(deid):
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(
        pa.table({"id": ["a"], "text": [TEXT], "spans": ["not a list"]}), "notes.parquet"
    )

    assert found_by(deid, "notes.parquet") == (0, ["Seen by [NAME]."])


def test_annotations_of_brat_withhold_no_note(deid):
    path = folder("brat", {"a.txt": TEXT, "a.ann": "T1\tDoctor 8 15\tanother text\nT2 broken\n"})

    assert found_by(deid, path) == (0, ["Seen by [NAME]."])


def test_annotations_of_i2b2_withhold_no_note(deid):
    tags = '<TAGS><NAME id="P0" start="80" end="x" text="?" TYPE="NOVEL"/></TAGS>'
    path = folder("xml", {"a.xml": f"<deIdi2b2><TEXT>{TEXT}</TEXT>{tags}</deIdi2b2>"})

    assert found_by(deid, path) == (0, ["Seen by [NAME]."])


@pytest.mark.parametrize(
    "name", [name for name, known in FORMATS.items() if known.writer_module is not None]
)
def test_redacted_notes_are_written_in_every_format(deid, notes, name):
    known = FORMATS[name]
    out = Path("redacted" if known.is_folder else f"redacted{known.suffixes[0]}")
    ran = deid(
        "redact", notes, "--detector", "xnames", "--policy", "tag", "--out", out, "--to", name
    )

    assert ran.code == 0, ran.err
    assert [found.note.text for found in read_notes(out, format=name)] == [
        "[NAME] came on 1999-12-31 with rheumatoid pain.",
        "No rheumatoid signs.",
        "Seen by [NAME].\r\nThen [NAME] left.",
    ]


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet"])
def test_the_suffix_chooses_the_format(deid, suffix):
    ran = deid("corpus", "make", "--notes", "3", "--out", f"corpus{suffix}", "--json")

    assert ran.json == {"notes": 3, "out": f"corpus{suffix}"}
    assert [found.spans is not None for found in read_notes(Path(f"corpus{suffix}"))] == [True] * 3


def test_the_same_seed_makes_the_same_corpus(deid):
    for name, seed in (("one", 4), ("two", 4), ("three", 5)):
        assert (
            deid("corpus", "make", "--notes", "2", "--seed", seed, "--out", f"{name}.jsonl").code
            == 0
        )

    assert (
        Path("one.jsonl").read_bytes()
        == Path("two.jsonl").read_bytes()
        != Path("three.jsonl").read_bytes()
    )


def test_settings_of_a_format_reach_its_reader(deid):
    rows = "# newdoc id = a\nSeen\tO\nby\tO\nXavier\tI-NAME\nhere\tO\n"
    Path("a.conll").write_text(rows)

    assert deid("detect", "a.conll", "--detector", "xnames", "--out", "spans.jsonl").code == 0
    strict = deid("evaluate", "--gold", "a.conll", "--pred", "spans.jsonl", "--out", "r1")
    loose = deid(
        "evaluate",
        "--gold",
        "a.conll",
        "--pred",
        "spans.jsonl",
        "--read",
        "conll.scheme=iob1",
        "--out",
        "r2",
    )

    assert (strict.code, loose.code) == (2, 0), loose.err
