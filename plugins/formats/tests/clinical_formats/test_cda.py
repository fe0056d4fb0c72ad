"""CDA R2: what a reader sees is the note, broken documents are faults, minimal documents out."""

import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from deid_assets.core.errors import InputError
from deid_assets.core.note import Note
from deid_assets.core.span import SpanSet
from deid_assets.formats import Annotated, Fault, detect_format, read_notes, write_notes
from deid_assets.formats.identities import Identity, read_identities

DATA = Path(__file__).parent / "data" / "cda"
FAST = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
SECRET = "Zyxwick"
ROOT = '<ClinicalDocument xmlns="urn:hl7-org:v3">{}</ClinicalDocument>'


def document(narrative, header=""):
    section = f"<component><section><text>{narrative}</text></section></component>"
    return ROOT.format(f"{header}<component><structuredBody>{section}</structuredBody></component>")


def sections(inner, *, around="<component>{}</component>"):
    body = f"<structuredBody>{around.format(inner)}</structuredBody>"
    return ROOT.format(f"<component>{body}</component>")


def unstructured(text):
    return ROOT.format(f"<component><nonXMLBody>{text}</nonXMLBody></component>")


def read(tmp_path, content):
    path = tmp_path / "n.xml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    (found,) = read_notes(path, format="cda")
    return found


def test_the_golden_document_is_told_and_read_as_it_is_seen():
    assert detect_format(DATA) == detect_format(DATA / "a1.xml") == "cda"
    (found,) = read_notes(DATA)
    assert (found.note.note_id, found.note.patient_id, found.note.lang, found.spans) == (
        "a1",
        "440044",
        "en",
        None,
    )
    assert found.note.text.split("\n") == [
        "History of Present Illness",
        "Seen by Dr. Ann Leé, ward 7.",
        "Came on 3 May 2021.",
        "Problems",
        "Asthma (mild)",
        "Hypertension",
        "Date\tDose",
        "1 May\t5<7 mg",
        "\tnone",
        "A line & no more.",
        "Inner",
        "MRN44",
        "  two",
        " lines ",
    ]


def test_a_document_that_is_written_names_nobody_and_reads_the_same(tmp_path):
    found = list(read_notes(DATA))
    assert write_notes(tmp_path / "out", found, format="cda") == 1
    assert list(read_notes(tmp_path / "out")) == found
    written = (tmp_path / "out" / "a1.xml").read_text()
    assert not [name for name in ("Marrowby", "Orlebar", "Quillan", "20210503") if name in written]


@pytest.mark.parametrize(
    ("narrative", "text"),
    [
        ("a<br/>b<br/><br/>c", "a\nb\n\nc"),
        ("a<paragraph>b</paragraph><paragraph/>c", "a\nb\nc"),
        (" a\n b<content> c</content> <content>d </content> e ", "a b c d e"),
        ("a<sub>1</sub><unknown>b</unknown>", "a1b"),
        ("<renderMultiMedia><caption>a</caption></renderMultiMedia>b", "a\nb"),
        ("a<!-- x --><?y z?>b", "ab"),
        ('<content xml:space="preserve"> a  b\t</content>', " a  b\t"),
        ("<![CDATA[<a> & b]]>", "<a> & b"),
        ("&#xe9;\U0001f468", "é\U0001f468"),
        ("", ""),
    ],
)
def test_white_space_is_folded_and_blocks_are_lines(narrative, text, tmp_path):
    assert read(tmp_path, document(narrative)).note.text == text


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "iso-8859-1"])
def test_the_encoding_is_the_declared_one(encoding, tmp_path):
    content = f'<?xml version="1.0" encoding="{encoding}"?>{document("Señora")}'.encode(encoding)
    assert read(tmp_path, content).note.text == "Señora"
    assert detect_format(tmp_path / "n.xml") == "cda"


def test_a_body_of_plain_text_is_the_note(tmp_path):
    assert read(tmp_path, unstructured("<text>a\n b</text>")).note.text == "a\n b"
    encoded = '<text mediaType="text/plain" representation="B64">w6kKYQ==</text>'
    assert read(tmp_path, unstructured(encoded)).note.text == "é\na"


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (ROOT.format(SECRET), "missing-field"),
        (
            unstructured(f'<text mediaType="application/pdf" representation="B64">{SECRET}</text>'),
            "malformed",
        ),
        (
            unstructured(f'<text mediaType="text/plain"><reference value="{SECRET}"/></text>'),
            "malformed",
        ),
        (unstructured(f'<text representation="B64">{SECRET}!</text>'), "malformed"),
        (unstructured(f'<text representation="b64">{SECRET}!</text>'), "malformed"),
        (unstructured(f'<text representation="base64">{SECRET}</text>'), "malformed"),
        (unstructured(f'<text compression="GZ">{SECRET}</text>'), "malformed"),
        (sections(f"<section><text>{SECRET}</text></section>", around="{}"), "malformed"),
        (sections(f"<Section><text>{SECRET}</text></Section>"), "malformed"),
        (sections(f"<section><txt>{SECRET}</txt></section>"), "malformed"),
        (sections(f"<section><title/>{SECRET}<text>x</text></section>"), "malformed"),
        (
            sections(f"<section><section><text>{SECRET}</text></section></section>"),
            "malformed",
        ),
        (document(f"<{SECRET}>"), "malformed"),
        (f"<ClinicalDocument>{SECRET}</ClinicalDocument>", "malformed"),
        (f'<!DOCTYPE a [<!ENTITY b "{SECRET}">]>{document("&b;")}', "unsafe-xml"),
        (f'<!DOCTYPE a SYSTEM "http://127.0.0.1/{SECRET}">{document("")}', "unsafe-xml"),
        (f'<?xml version="1.0" encoding="{SECRET}"?>{document("")}', "undecodable"),
        (document("<content>" * 250 + "</content>" * 250), "malformed"),
        (b"\xff\xfe\0", "malformed"),
    ],
)
def test_a_broken_document_is_a_fault_without_its_text(content, kind, tmp_path):
    fault = read(tmp_path, content)
    assert isinstance(fault, Fault)
    assert (fault.kind, fault.note_id) == (kind, "n")
    assert SECRET not in fault.message


@pytest.mark.parametrize(
    ("ids", "patient_id"),
    [
        ('<id root="1.2" extension="7"/><id root="1.3" extension="8"/>', "7"),
        ('<id nullFlavor="UNK"/><id root="1.2"/>', "1.2"),
        ('<id nullFlavor="UNK"/>', None),
        ("", None),
    ],
)
def test_the_patient_is_the_first_identifier_with_a_value(ids, patient_id, tmp_path):
    header = f"<recordTarget><patientRole>{ids}</patientRole></recordTarget>"
    assert read(tmp_path, document("a", header)).note.patient_id == patient_id


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (["<deIdi2b2><TEXT>a</TEXT></deIdi2b2>"], "i2b2"),
        (['\ufeff<?xml version="1.0"?>\n<!-- <a> --><?b c?>\n<x:ClinicalDocument/>'], "cda"),
        (["<!DOCTYPE a [<!ENTITY b 'c'>]><ClinicalDocument/>"], "cda"),
        ([document("a"), "<deIdi2b2/>"], None),
    ],
)
def test_a_file_of_xml_is_told_by_its_root_or_the_user_is_asked(files, expected, tmp_path):
    for number, content in enumerate(files):
        (tmp_path / f"{number}.xml").write_text(content, encoding="utf-8")
    if expected:
        assert detect_format(tmp_path) == expected
    else:
        with pytest.raises(InputError, match="could be cda or i2b2"):
            detect_format(tmp_path)


def test_what_xml_cannot_hold_and_spans_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"note 'n': U\+0001 at offset 1"):
        write_notes(tmp_path / "o", [Annotated(Note("n", "a\x01"))], format="cda")
    note = Note("n", "x")
    with pytest.raises(InputError, match="holds no spans"):
        write_notes(tmp_path / "o", [Annotated(note, SpanSet.of(note, []))], format="cda")
    assert not list(tmp_path.iterdir())


FORBIDDEN = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
AWKWARD = [
    "\n",
    "\r\n",
    "\r",
    "\t",
    "  ",
    "<",
    "]]>",
    "&#10;",
    "<br/>",
    "\ufeff",
    "\x85",
    "\u2028",
    "\u00a0",
]
any_text = st.lists(st.sampled_from(AWKWARD) | st.text(max_size=8), max_size=8).map("".join)


@FAST
@given(
    text=any_text.filter(lambda text: not FORBIDDEN.search(text)),
    patient_id=st.none() | st.just('"<&7'),
)
@example(text="\n", patient_id=None)
@example(text="", patient_id=None)
def test_any_text_comes_back(text, patient_id):
    notes = [Annotated(Note("a/b", text, patient_id, "en"))]
    with tempfile.TemporaryDirectory() as folder:
        write_notes(Path(folder, "out"), notes, format="cda")
        assert list(read_notes(Path(folder, "out"))) == notes


def test_patients_guardians_and_authors_are_known_identities():
    assert list(read_identities(DATA)) == [
        Identity("440044", kind, value)
        for kind, value in [
            ("record_number", "440044"),
            ("national_id", "900-12-3456"),
            ("address", "12 Quillan Lane"),
            ("city", "Easthollow"),
            ("zip", "04999"),
            ("phone", "+1-555-0100"),
            ("email", "odette@example.org"),
            ("name", "Odette Fay Marrowby"),
            ("given_name", "Odette"),
            ("given_name", "Fay"),
            ("family_name", "Marrowby"),
            ("alias", "Odie"),
            ("birth_date", "1961-06-15"),
            ("relative", "Ivo Marrowby"),
            ("phone", "555-0101"),
            ("staff", "Tamsin Orlebar"),
        ]
    ]


def test_a_patient_without_an_identifier_is_a_fault(tmp_path):
    name = f"<patient><name>{SECRET}</name></patient>"
    (tmp_path / "n.xml").write_text(
        document("", f"<recordTarget><patientRole>{name}</patientRole></recordTarget>")
    )
    (fault,) = read_identities(tmp_path)
    assert isinstance(fault, Fault)
    assert SECRET not in fault.message


@st.composite
def damaged(draw, seed):
    start = draw(st.integers(0, len(seed)))
    end = draw(st.integers(start, min(len(seed), start + 40)))
    added = st.binary(max_size=8) | st.sampled_from(
        [b"<", b"&", b"<br/>", b"</text>", b"<!--", b'"', b"\0", b"<text>"]
    )
    return seed[:start] + draw(added) + seed[end:]


@pytest.mark.parametrize("name", ["a1.xml", "random"])
def test_damaged_files_give_notes_or_faults(name):
    @FAST
    @given(
        content=st.binary(max_size=99) if name == "random" else damaged((DATA / name).read_bytes())
    )
    def reads(content):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "n.xml")
            path.write_bytes(content)
            for found in (
                list(read_notes(path, format="cda")),
                list(read_identities(path, format="cda")),
            ):
                assert found
                assert not [
                    entry
                    for entry in found
                    if isinstance(entry, Fault) and "Marrowby" in entry.message
                ]

    reads()
