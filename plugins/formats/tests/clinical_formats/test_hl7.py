"""HL7 v2: reports as notes, broken messages as faults, minimal messages out.

Python-hl7 as a second reader.
"""

import tempfile
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from deid_assets.core.errors import InputError
from deid_assets.core.note import Note
from deid_assets.core.span import SpanSet
from deid_assets.formats import (
    Annotated,
    Fault,
    ReadOptions,
    detect_format,
    read_notes,
    write_notes,
)
from deid_assets.formats.identities import Identity, read_identities

DATA = Path(__file__).parent / "data" / "hl7"
FILES = ["batch.hl7", "mllp.hl7", "lines.hl7", "crlf.hl7"]
FAST = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
SECRET = "Zyxwick"


def message(*segments, control="m1", kind="ORU^R01", charset=""):
    header = rf"MSH|^~\&|A|B|C|D|2021||{kind}|{control}|P|2.5||||||{charset}"
    return "\r".join([header, "PID|1||p1", "OBR|1", *segments, ""])


def obx(value, kind="TX"):
    return f"OBX|1|{kind}|C||{value}||||||F"


def read(tmp_path, *messages, **options):
    path = tmp_path / "n.hl7"
    path.write_bytes(
        b"".join(entry if isinstance(entry, bytes) else entry.encode() for entry in messages)
    )
    return list(read_notes(path, options=ReadOptions(**options)))


def text_of(tmp_path, *segments, **fields):
    (found,) = read(tmp_path, message(*segments, **fields))
    assert isinstance(found, Annotated), found.message
    return found.note.text


@pytest.mark.parametrize("name", FILES)
def test_golden_files_hold_the_same_notes_whatever_ends_their_lines(name, golden_text):
    assert detect_format(DATA / name) == "hl7"
    found = [(entry.note, entry.spans) for entry in read_notes(DATA / name)]
    assert found == [
        (Note("a1-1", golden_text, "440044", "en"), None),
        (Note("a1-2", "No finding, A^B|C~D\\E\\Zlocal\\F\nsecond^part", "440044", "en"), None),
        (Note("b2", "Señora sin\nhallazgos.", "440045"), None),
    ]


def test_what_was_read_is_written_without_names_and_read_back(tmp_path):
    found = list(read_notes(DATA / "batch.hl7"))
    assert write_notes(tmp_path / "out.hl7", found) == 3
    assert list(read_notes(tmp_path / "out.hl7")) == found
    assert b"Marrowby" not in (tmp_path / "out.hl7").read_bytes()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (r"a\.br\b", "a\nb"),
        (r"a\.sp+2\b\.sk3\c", "a\n\nb   c"),
        (r"\.in+5\\.ti-2\\.fi\a\.nf\\.ce\b", "a\nb"),
        (r"\F\\S\\T\\R\\E\\P\ ", "|^&~\\# "),
        (r"\XC3A9\ \X0D0A\ \XC3\\XA9\ ", "é \r\n é "),
        (r"\H\bold\N\ ", "bold "),
        (r"C:\temp\F\ ", "C:\\temp| "),
        (r"\Zsite\ \C2842\ \X0\ and\or ", r"\Zsite\ \C2842\ \X0\ and\or "),
        (r"\E\F\E\ ", "\\F\\ "),
        (" two  blanks \t", " two  blanks \t"),
        ("a~b^c&d", "a\nb^c&d"),
        ('""', ""),
        ("", ""),
        ("a\nb", "a\nb"),
    ],
)
@pytest.mark.parametrize("kind", ["TX", "FT", "ST"])
def test_escape_sequences_stand_for_what_the_standard_says_and_others_stay(
    value, text, kind, tmp_path
):
    assert text_of(tmp_path, obx(value, kind)) == text


def test_other_separators_are_those_of_the_header(tmp_path):
    (found,) = read(
        tmp_path, "MSH$%*!@$$$$$$$ORU%R01$m1$P$2.5\rPID$1$$p1%x\rOBX$1$TX$$$a!F!b|^~\\&!S!*c\r"
    )
    assert (found.note.text, found.note.patient_id) == ("a$b|^~\\&%\nc", "p1")


@pytest.mark.parametrize(
    ("charset", "codec"),
    [
        ("", "utf-8"),
        ("UNICODE UTF-8", "utf-8"),
        ("8859/1", "latin-1"),
        ("8859/15~ASCII", "iso8859-15"),
        ("cp1252", "cp1252"),
    ],
)
def test_the_character_set_is_that_of_the_header(charset, codec, tmp_path):
    (found,) = read(tmp_path, message(obx("Señora"), charset=charset).encode(codec))
    assert found.note.text == "Señora"


@pytest.mark.parametrize("charset", ["", "ASCII"])
def test_what_no_header_declares_is_in_the_encoding_that_is_named(charset, tmp_path):
    content = message(obx("Señora"), charset=charset).encode("cp1252")
    (found,) = read(tmp_path, content, encoding="cp1252")
    assert found.note.text == "Señora"
    (fault,) = read(tmp_path, content)
    assert fault.kind == "undecodable"


def test_numbers_and_other_types_of_messages_are_no_notes(tmp_path):
    found = read(
        tmp_path,
        message(obx("72", "NM"), obx("x^y", "CE")),
        message(obx("a"), obx("72", "NM"), obx("b"), control="m2"),
        message(obx(SECRET), kind="ADT^A01", control="m3"),
    )
    assert [(entry.note.note_id, entry.note.text) for entry in found] == [("m2", "a\nb")]


@pytest.mark.parametrize(
    ("kind", "of_value"),
    [("ORU^R01", "tx"), ("oru^R01", "TX"), ("Mdm^T02", " Ft"), (" ORU ^R01", "ST ")],
)
def test_types_are_the_same_in_any_case_and_with_blanks(kind, of_value, tmp_path):
    assert text_of(tmp_path, obx("a", of_value), obx("72", "nm"), kind=kind) == "a"


def test_every_patient_of_a_message_has_their_own_reports(tmp_path):
    first, second = read(tmp_path, message(obx("a"), "PID|2||p2", "OBR|2", obx("b")))
    assert [(entry.note.patient_id, entry.note.text) for entry in (first, second)] == [
        ("p1", "a"),
        ("p2", "b"),
    ]


BROKEN = {
    "a document": (message(obx(f"{SECRET}^PDF", "ED")), "malformed"),
    "a pointer": (message(obx("x"), obx(SECRET, "RP")), "malformed"),
    "no type": (message(obx(SECRET, "")), "malformed"),
    "a type that is none": (message(obx(SECRET, "TXT")), "malformed"),
    "a type of two": (message(obx("x"), obx(SECRET, "TX^FT")), "malformed"),
    "a type with its name": (message(obx(SECRET, "TX - Text")), "malformed"),
    "text of a site": (message(obx(SECRET, "ZTX")), "malformed"),
    "a text in lower case of none": (message(obx(SECRET, "text")), "malformed"),
    "a text with a code": (message(obx(f"1^{SECRET}", "CF")), "malformed"),
    "no type of message": (message(obx(SECRET), kind=""), "malformed"),
    "a structure for a type": (message(obx(SECRET), kind="ORU_R01"), "malformed"),
    "an unknown message": (message(obx(SECRET), kind="ORV^R01"), "malformed"),
    "a message of a site": (message(obx(SECRET), kind="ZRU^Z01"), "malformed"),
    "no control id": (message(obx(SECRET), control=""), "missing-field"),
    "no segment": (message(f"{SECRET} came", obx("x")), "malformed"),
    "mixed line ends": (message("OBR|2\nOBX|1|TX|||x"), "malformed"),
    "a charset unknown": (message(obx("x"), charset=SECRET), "undecodable"),
    "no charset": (message(obx("x"), charset="hex"), "undecodable"),
    "another charset": (message(obx("x"), charset="utf-16"), "undecodable"),
    "bytes of none": (message(obx("x")).encode() + b"OBX|2|TX|||\xff\r", "undecodable"),
    "an escape of none": (message(obx(r"\XFF\ ")), "undecodable"),
    "no separators": ("MSH|||A\rOBX|1|TX|||x\r", "malformed"),
    "the same separators": ("MSH|^^^^|A\rOBX|1|TX|||x\r", "malformed"),
    "text before": (f"{SECRET}\r", "malformed"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_message_is_one_fault_and_the_rest_is_read(case, tmp_path):
    broken, kind = BROKEN[case]
    fault, rest = read(tmp_path, broken, message(obx("x"), control="m9"))
    assert isinstance(fault, Fault)
    assert (fault.kind, fault.line) == (kind, 1)
    assert SECRET not in fault.message
    assert rest.note.note_id == "m9"


def test_a_batch_that_is_not_closed_is_a_fault(tmp_path):
    note, fault = read(tmp_path, "BHS|^~\\&|x\r", message(obx("x")))
    assert isinstance(note, Annotated)
    assert "1 file or batch headers but 0 trailers" in fault.message


def test_a_file_without_reports_is_a_fault(tmp_path):
    for content in (message(obx("x"), kind="ADT^A01"), "BHS|^~\\&|x\rBTS|0\r", "\r\n"):
        (fault,) = read(tmp_path, content)
        assert fault.kind == "empty-file"


def test_lines_are_counted_over_messages(tmp_path):
    first, second = read(tmp_path, message(obx("x")), message(SECRET, control="m2"))
    assert (first.note.note_id, second.line) == ("m1", 5)


@pytest.mark.parametrize("name", FILES)
def test_messages_are_found_wherever_a_read_ends(name, monkeypatch):
    whole = list(read_notes(DATA / name))
    for size in (1, 2, 3, 5, 16, 100):
        monkeypatch.setattr("deid_clinical_formats.hl7_messages._CHUNK_BYTES", size)
        assert list(read_notes(DATA / name)) == whole


def test_a_message_of_50_mib_is_a_fault_and_is_not_held(tmp_path):
    path = tmp_path / "n.hl7"
    with path.open("wb") as file:
        file.write(message(obx("a")).encode())
        file.write(message(control="m2").encode() + b"OBX|1|TX|||")
        for _ in range(50):
            file.write(b"x" * (1 << 20))
        file.write(b"\r" + message(obx("b"), control="m3").encode())
    tracemalloc.start()
    first, fault, last = read_notes(path, options=ReadOptions(max_note_chars=1_000_000))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (first.note.note_id, fault.kind, fault.line, last.note.note_id) == (
        "m1",
        "too-large",
        5,
        "m3",
    )
    assert peak < 20 << 20


def test_spans_are_refused_rather_than_lost(tmp_path):
    note = Note("n", "x")
    with pytest.raises(InputError, match="holds no spans"):
        write_notes(tmp_path / "n.hl7", [Annotated(note, SpanSet.of(note, []))])


AWKWARD = [
    "\r",
    "\n",
    "\r\n",
    "|",
    "^",
    "~",
    "\\",
    "&",
    "\\F\\",
    "\\.br\\",
    '""',
    "\rMSH|^~\\&|",
    "\x0b",
    "\x1c",
    "\ufeff",
    "\0",
]
any_text = st.lists(st.sampled_from(AWKWARD) | st.text(max_size=8), max_size=8).map("".join)
printable = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=8)


@FAST
@given(
    texts=st.lists(any_text, min_size=1, max_size=3),
    prefix=printable,
    patient_id=st.none() | printable,
)
@example(texts=['""\n""', "\n"], prefix="|", patient_id='""')
def test_any_text_id_and_patient_come_back(texts, prefix, patient_id):
    notes = [
        Annotated(Note(f"{prefix}{number}", text, patient_id, "en"))
        for number, text in enumerate(texts)
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "n.hl7")
        write_notes(path, notes)
        assert list(read_notes(path)) == notes


@FAST
@given(
    text=st.text(
        st.characters(codec="ascii", categories=["L", "N", "P", "S"]) | st.sampled_from("|^~\\&"),
        min_size=1,
    )
)
def test_python_hl7_reads_what_is_written(text):
    hl7 = pytest.importorskip("hl7")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "n.hl7")
        write_notes(path, [Annotated(Note("n1", text, "p1"))])
        parsed = hl7.parse(path.read_bytes().decode())
    assert (str(parsed["MSH.F9.R1.C1"]), str(parsed["MSH.F10"]), str(parsed["PID.F3"])) == (
        "MDM",
        "n1",
        "p1",
    )
    assert parsed["OBX.F5"] == text


@pytest.mark.parametrize("name", FILES)
def test_patients_relatives_and_staff_are_known_identities(name):
    found = list(read_identities(DATA / name))
    expected = [
        ("440044", kind, value)
        for kind, value in [
            ("name", "Odette Fay Marrowby"),
            ("family_name", "Marrowby"),
            ("given_name", "Odette"),
            ("given_name", "Fay"),
            ("relative", "Odette Quale"),
            ("birth_date", "1961-06-15"),
            ("address", "12 Quillan Lane"),
            ("address", "Flat 2"),
            ("city", "Easthollow"),
            ("zip", "04999"),
            ("phone", "555-0100"),
            ("email", "odette@example.org"),
            ("phone", "1 207 5550103"),
            ("record_number", "OLD77"),
            ("record_number", "440044"),
            ("national_id", "900-12-3456"),
            ("record_number", "VISIT-9"),
            ("national_id", "900123456"),
            ("relative", "Ivo Marrowby"),
            ("address", "12 Quillan Lane"),
            ("city", "Easthollow"),
            ("zip", "04999"),
            ("phone", "555-0101"),
            ("staff", "Tamsin Orlebar"),
            ("record_number", "E-3"),
        ]
    ] + [("440045", "record_number", "440045"), ("440046", "record_number", "440046")]
    assert found == [Identity(patient_id, kind, value) for patient_id, kind, value in expected]


@pytest.mark.parametrize(
    ("pid", "known"),
    [
        (f"PID|1||||{SECRET}", []),
        (f"PID|1||p1||||{SECRET}", [Identity("p1", "record_number", "p1")]),
    ],
)
def test_what_cannot_be_read_of_a_patient_is_a_fault_and_the_rest_is_known(pid, known, tmp_path):
    path = tmp_path / "n.hl7"
    path.write_text(f"MSH|^~\\&|A|||||||m1\r{pid}\r")
    found = list(read_identities(path))
    (fault,) = (entry for entry in found if isinstance(entry, Fault))
    assert SECRET not in fault.message
    assert [entry for entry in found if entry is not fault] == known


def test_a_field_of_a_million_repetitions_takes_no_longer_than_its_length(tmp_path):
    path = tmp_path / "n.hl7"
    path.write_text(f"MSH|^~\\&|A|||||||m1\rPID|1||p1||{'~' * 1_000_000}Qua\r")
    assert [entry.value for entry in read_identities(path)] == ["Qua", "Qua", "p1"]


@st.composite
def damaged(draw, seed):
    start = draw(st.integers(0, len(seed)))
    end = draw(st.integers(start, min(len(seed), start + 40)))
    added = st.binary(max_size=8) | st.sampled_from(
        [b"\r", b"\n", b"\x0b", b"|", b"\\", b"\\X", b"\rMSH|", b"~", b"^"]
    )
    return seed[:start] + draw(added) + seed[end:]


@pytest.mark.parametrize("name", ["batch.hl7", "lines.hl7", "random"])
def test_damaged_files_give_notes_or_faults(name):
    random = st.lists(
        st.sampled_from([b"MSH|^~\\&|", b"\r", b"OBX|1|TX|||", b"\\X"]) | st.binary(max_size=9)
    ).map(b"".join)
    contents = random if name == "random" else damaged((DATA / name).read_bytes())

    @FAST
    @given(content=contents)
    def reads(content):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "n.hl7")
            path.write_bytes(content)
            for found in (list(read_notes(path)), list(read_identities(path))):
                assert found
                assert not [
                    entry
                    for entry in found
                    if isinstance(entry, Fault) and "Marrowby" in entry.message
                ]

    reads()
