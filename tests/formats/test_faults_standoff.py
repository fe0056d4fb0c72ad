"""Faults of brat and i2b2 XML: a broken or unsafe annotation withholds its note."""

import pytest

from deid_assets.formats import Annotated, ReadOptions, read_notes

CANARY = "Zebulon-7731"


def xml(text="Ana Lee", tags="", head=""):
    return f'<?xml version="1.0"?>{head}<deIdi2b2><TEXT>{text}</TEXT><TAGS>{tags}</TAGS></deIdi2b2>'


def tag(start="0", end="3", text="Ana", label="PATIENT"):
    return f'<NAME id="P0" start="{start}" end="{end}" text="{text}" TYPE="{label}"/>'


BOMB = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]>'
XML = [
    ("entity bomb", xml("&b;", head=BOMB), "unsafe-xml"),
    ("document type", xml(head="<!DOCTYPE deIdi2b2>"), "unsafe-xml"),
    (
        "external entity",
        xml("&x;", head='<!DOCTYPE x [<!ENTITY x SYSTEM "file:///etc/passwd">]>'),
        "unsafe-xml",
    ),
    (
        "external document type",
        xml(head='<!DOCTYPE x SYSTEM "http://example.org/x.dtd">'),
        "unsafe-xml",
    ),
    ("undefined entity", xml("&nbsp;"), "malformed"),
    ("truncated", xml(CANARY)[:-12], "malformed"),
    ("control character", xml(f"{CANARY}\0"), "malformed"),
    ("no xml", CANARY, "malformed"),
    ("no text", f"<a><TAGS>{CANARY}</TAGS></a>", "missing-field"),
    ("two texts", f"<a><TEXT>{CANARY}</TEXT><TEXT/></a>", "missing-field"),
    ("element in text", xml(f"<b>{CANARY}</b>"), "missing-field"),
    ("no end", xml(tags='<NAME start="0" TYPE="PATIENT"/>'), "missing-field"),
    ("start is a word", xml(tags=tag(start=CANARY)), "offset"),
    ("out of bounds", xml(tags=tag(end="99")), "offset"),
    ("other text", xml(tags=tag(text=CANARY)), "text-mismatch"),
    ("unknown label", xml(tags=tag(label="PERSON")), "unknown-label"),
    ("unknown encoding", xml().replace("?>", ' encoding="klingon"?>', 1), "undecodable"),
]


@pytest.mark.parametrize(
    ("content", "kind"), [case[1:] for case in XML], ids=[case[0] for case in XML]
)
def test_broken_or_unsafe_xml_is_one_fault(content, kind, faults_of):
    (fault,) = faults_of("n.xml", content)
    assert (fault.kind, fault.file, fault.note_id) == (kind, "n.xml", "n")
    assert CANARY not in fault.message
    assert fault.message.isprintable()


def test_undecodable_xml_names_the_byte(faults_of):
    (fault,) = faults_of("n.xml", xml("ab").encode().replace(b"ab", b"\xff"))
    assert fault.kind == "undecodable"
    assert "byte 37 " in fault.message


BRAT = [
    ("T1\tNAME 0 3;4 7\tAna Lee", "discontinuous"),
    ("T1\tNAME 0 4\tAna", "text-mismatch"),
    ("T1\tNAME 3 3\t", "offset"),
    ("T1\tNAME -1 3\tAna", "offset"),
    ("T1\tNAME 0 30\tAna", "offset"),
    ("T1\tPERSON 0 3\tAna", "unknown-label"),
    ("T1\tNAME 0 3", "malformed"),
    ("T1 NAME 0 3 Ana", "malformed"),
    ("T1\tNAME 0.0 3\tAna", "malformed"),
    (f"{CANARY}", "malformed"),
]


@pytest.mark.parametrize(("ann", "kind"), BRAT)
def test_a_broken_brat_annotation_withholds_its_note(ann, kind, tmp_path):
    (tmp_path / "n1.txt").write_text("Ana Lee")
    (tmp_path / "n1.ann").write_text(
        f"#1\tAnnotatorNotes T1\tsure\nR1\tOf Arg1:T1 Arg2:T1\n{ann}\n"
    )
    (fault,) = read_notes(tmp_path)
    assert (fault.kind, fault.file, fault.line, fault.note_id) == (kind, "n1.ann", 3, "n1")
    assert "Ana" not in fault.message
    assert CANARY not in fault.message


def test_discontinuous_annotations_are_split_when_asked(tmp_path):
    (tmp_path / "n1.txt").write_bytes(b"Ana\r\nMaria\r\nLee")
    (tmp_path / "n1.ann").write_bytes(
        b"\xef\xbb\xbfT1\tNAME 0 3;12 15\tAna Lee\r\nT2\tNAME 0 10\tAna  Maria\r\n"
    )
    (annotated,) = read_notes(tmp_path, options=ReadOptions(discontinuous="split"))
    assert [(span.start, span.end) for span in annotated.spans] == [(0, 3), (0, 10), (12, 15)]


def test_brat_files_without_a_partner(tmp_path):
    (tmp_path / "a.txt").write_text("no annotation")
    (tmp_path / "b.ann").write_text("T1\tNAME 0 3\tAna")
    (tmp_path / "C.TXT").write_text("Ana")
    (tmp_path / "C.ANN").write_text("T1\tNAME 0 3\tAna")
    upper, plain, orphan = read_notes(tmp_path)
    assert (upper.note.note_id, len(upper.spans)) == ("C", 1)
    assert plain == Annotated(plain.note, None)
    assert (orphan.kind, orphan.file) == ("malformed", "b.ann")


def test_undecodable_annotations_withhold_the_note(tmp_path):
    (tmp_path / "a.txt").write_text("Ana")
    (tmp_path / "a.ann").write_bytes(b"T1\tNAME 0 3\t\xff")
    assert [(fault.kind, fault.file) for fault in read_notes(tmp_path)] == [
        ("undecodable", "a.ann")
    ]
