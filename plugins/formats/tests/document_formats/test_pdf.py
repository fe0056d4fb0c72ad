"""PDF: the text layer is the note, and a scan is a fault.

No file takes more time or memory than it may.
"""

import io
import os
import tempfile
import time
import zlib
from pathlib import Path

import pypdf
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deid_assets.core.errors import ConfigError
from deid_assets.formats import Annotated, Fault, ReadOptions, read_notes
from deid_document_formats import Documents
from deid_document_formats.pdf_lines import running

CANARY = "Zebulon-7731"
DATA = Path(__file__).parent / "data"
SEED = (DATA / "pdf" / "letter.pdf").read_bytes()
# a process for each
SLOW = settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def shown(text, at=700):
    return f"BT /F1 12 Tf 72 {at} Td ({text}) Tj ET"


def pdf(*contents, catalog="", page="", font="/BaseFont /Helvetica", packed=None):
    """A file with one page per content stream."""
    kids = " ".join(f"{5 + 2 * number} 0 R" for number in range(len(contents)))
    objects = {
        1: f"<< /Type /Catalog /Pages 2 0 R {catalog} >>".encode(),
        2: f"<< /Type /Pages /Count {len(contents)} /Kids [{kids}] >>".encode(),
        3: f"<< /Type /Font /Subtype /Type1 {font} >>".encode(),
    }
    for number, content in enumerate(contents):
        objects[5 + 2 * number] = (
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {4 + 2 * number} 0 R "
            f"/Resources << /Font << /F1 3 0 R >> >> {page} >>"
        ).encode()
        blob = packed or content.encode()
        how = b" /Filter /FlateDecode" if packed else b""
        objects[4 + 2 * number] = b"<< /Length %d%s >>\nstream\n%s\nendstream" % (
            len(blob),
            how,
            blob,
        )
    out = io.BytesIO()
    out.write(b"%PDF-1.7\n")
    places = {}
    for number in sorted(objects):
        places[number] = out.tell()
        out.write(b"%d 0 obj\n%s\nendobj\n" % (number, objects[number]))
    start = out.tell()
    out.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1))
    for number in sorted(objects):
        out.write(b"%010d 00000 n \n" % places[number])
    out.write(
        b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start)
    )
    return out.getvalue()


def read(blob, tmp_path, *, max_note_chars=10_000, **documents):
    (tmp_path / "a.pdf").write_bytes(blob)
    options = ReadOptions(max_note_chars=max_note_chars, formats=(Documents(**documents),))
    return list(read_notes(tmp_path / "a.pdf", options=options))


def text_of(blob, tmp_path, **documents):
    (found,) = read(blob, tmp_path, **documents)
    assert isinstance(found, Annotated), found
    return found.note.text


def test_the_golden_letter_of_another_writer(golden):
    (found,) = read_notes(golden / "pdf")
    assert found.note.note_id == "letter"
    assert (
        found.note.text
        == "Hillside Clinic\nWard 7\nSeen on 3 May 2021 by Dr. Maria Okafor.\nName: Tom Abara\n"
        "Jos\xe9 N\xfa\xf1ez, MRN 44-1200\fNo further findings.\n"
        "ward: Seven\nmailto:tom@example.org"
    )


def test_layout_keeps_columns_apart(golden):
    (found,) = read_notes(golden / "pdf", options=ReadOptions(formats=(Documents(layout=True),)))
    first = found.note.text.split("\n")[0]
    assert first.startswith("Hillside Clinic     ")
    assert first.endswith("     Ward 7")


def test_rotated_text_is_not_left_out_of_a_layout(tmp_path):
    turned = "BT /F1 12 Tf 0 1 -1 0 72 700 Tm (Ana) Tj ET"
    assert "Ana" in text_of(pdf(f"{shown('Ward 7')} {turned}"), tmp_path, layout=True)


FULL = "The patient was seen on the ward this morning by Dr. Jane"


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        ([FULL, "Miller and went home."], f"{FULL} Miller and went home."),
        ([f"{FULL} Mil-", "ler and went home."], f"{FULL} Miller and went home."),
        (["Dr. Jane Miller-", "Graf, 555-123-", "4567"], "Dr. Jane Miller-Graf, 555-123-4567"),
        (["Dr. Ste\xad", "vens, Lee\xadman, Gra\ufb01n"], "Dr. Stevens, Leeman, Grafin"),
        (["Name: Tom", "Ward: 7", FULL], f"Name: Tom\nWard: 7\n{FULL}"),
        ([FULL, "- aspirin", "- ibuprofen"], f"{FULL}\n- aspirin\n- ibuprofen"),
    ],
)
def test_what_was_broken_because_a_row_was_full_is_joined(rows, text):
    assert running("\n".join(rows)) == text


def test_rows_are_joined_in_time_that_grows_as_their_number():
    row = "this row is full of words and goes on in the next one"
    fast, slow = (min(_seconds(row, count) for _ in range(3)) for count in (2_000, 16_000))
    assert slow < 24 * fast


def _seconds(row, count):
    text = "\n".join([row] * count)
    start = time.perf_counter()
    running(text)
    return time.perf_counter() - start


def test_a_name_that_a_row_of_a_page_cuts_is_read_whole(tmp_path):
    content = f"{shown(FULL + ' Mil-')} {shown('ler and', at=686)}"
    assert text_of(pdf(content), tmp_path) == f"{FULL} Miller and"
    assert "\n" in text_of(pdf(content), tmp_path, layout=True)


def test_pages_are_joined_by_form_feeds(tmp_path):
    assert text_of(pdf(shown("one"), shown("two")), tmp_path) == "one\ftwo"


def test_notes_in_the_margin_are_in_the_note(tmp_path):
    page = (
        "/Annots [<< /Type /Annot /Subtype /Text /Rect [0 0 9 9] /Contents (Ask Ana) /T (Dr."
        " Lee) >>]"
    )
    assert text_of(pdf(shown("x"), page=page), tmp_path) == "x\nAsk Ana"


def test_a_scan_is_no_empty_note(tmp_path):
    (fault,) = read(pdf("0 0 m 9 9 l S"), tmp_path, blank_pages="keep")
    assert (fault.kind, fault.note_id) == ("no-text-layer", "a")


def test_a_page_without_text_among_others_withholds_the_note_unless_it_may_be_blank(tmp_path):
    blob = pdf(shown("one"), "", shown("three"))
    (fault,) = read(blob, tmp_path)
    assert fault.kind == "no-text-layer"
    assert "page 2" in fault.message
    assert text_of(blob, tmp_path, blank_pages="keep") == "one\f\fthree"


def test_an_embedded_file_is_named_or_left_out_on_purpose(tmp_path):
    names = (
        "/Names << /EmbeddedFiles << /Names [(Ana.txt) << /Type /Filespec /F (Ana.txt) /EF << >>"
        " >>] >> >>"
    )
    note, fault = read(pdf(shown("x"), catalog=names), tmp_path)
    assert (note.note.text, fault.kind, fault.note_id) == ("x", "attachment", "a/attachment-1")
    assert "Ana" not in fault.message
    assert text_of(pdf(shown("x"), catalog=names), tmp_path, attachments="skip") == "x"


def encrypted():
    writer = pypdf.PdfWriter(io.BytesIO(pdf(shown(CANARY))))
    writer.encrypt("secret", algorithm="RC4-128")
    blob = io.BytesIO()
    writer.write(blob)
    return blob.getvalue()


BROKEN = {
    "no PDF": (CANARY.encode, "malformed"),
    "only its signature": (lambda: b"%PDF-1.7\n" + CANARY.encode(), "malformed"),
    "cut short": (lambda: pdf(shown(CANARY))[:-60], "malformed"),
    "encrypted": (encrypted, "encrypted"),
    "no pages": (pdf, "no-text-layer"),
    "too many characters": (lambda: pdf(*[shown("x" * 3000)] * 4), "too-large"),
    "a bomb": (lambda: pdf("", packed=zlib.compress(bytes(100 << 20))), "too-large"),
    "form of another kind": (
        lambda: pdf(shown(CANARY), catalog="/AcroForm << /Fields [] /XFA [(a) 4 0 R] >>"),
        "malformed",
    ),
    "letters without a table": (
        lambda: pdf(
            shown("\\001\\002\\003"),
            font="/BaseFont /X /Encoding << /Differences [1 /g1 /g2 /g3] >>",
        ),
        "undecodable",
    ),
    "letters of no table at all": (
        lambda: pdf(shown("\\001\\002\\003"), font="/BaseFont /ABCDEF+X"),
        "undecodable",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_one_fault_without_its_text(name, tmp_path):
    make, kind = BROKEN[name]
    (fault,) = read(make(), tmp_path)
    assert isinstance(fault, Fault), fault
    assert fault.kind == kind
    assert fault.message.startswith("a.pdf: ")
    assert ";" in fault.message
    assert fault.message.isprintable()
    assert CANARY not in fault.message


def test_levels_of_the_spine_are_no_names_of_glyphs(tmp_path):
    assert "C3/C4/C5/C6" in text_of(
        pdf(shown("Disc disease at C3/C4/C5/C6, " + "conservative treatment " * 10)), tmp_path
    )


def test_a_file_that_takes_too_long_is_a_fault_when_its_time_is_up(tmp_path):
    (fault,) = read(pdf(shown("x")), tmp_path, timeout_s=0.001)
    assert (fault.kind, fault.note_id) == ("timed-out", "a")


@pytest.mark.skipif(os.name == "nt", reason="memory is bounded by POSIX limits")
def test_a_file_that_needs_more_memory_than_allowed_is_a_fault(tmp_path):
    blob = pdf("", packed=zlib.compress(shown("x" * 30_000_000).encode()))
    (fault,) = read(blob, tmp_path, max_memory_mib=150, max_note_chars=10**9)
    assert fault.kind in ("too-large", "malformed")


def test_a_module_beside_the_notes_is_not_run(tmp_path, monkeypatch):
    (tmp_path / "pypdf.py").write_text("raise SystemExit('run')")
    monkeypatch.chdir(tmp_path)
    assert text_of(pdf(shown("x")), tmp_path) == "x"


def test_neighbours_of_a_broken_file_are_read(tmp_path):
    (tmp_path / "b.pdf").write_bytes(b"%PDF-1.7")
    (tmp_path / "c.pdf").write_bytes(pdf(shown("x")))
    fault, note = read_notes(tmp_path)
    assert (fault.file, note.note.note_id) == ("b.pdf", "c")


@pytest.mark.parametrize(
    ("wrong", "options"),
    [
        ("blank_pages is 'drop'; choose refuse or keep", {"blank_pages": "drop"}),
        ("attachments is 'drop'; choose fault, read or skip", {"attachments": "drop"}),
        ("greater than 0", {"timeout_s": 0}),
        ("greater than 0", {"max_memory_mib": 0}),
    ],
)
def test_options_are_checked_when_they_are_made(wrong, options):
    with pytest.raises(ConfigError, match=wrong):
        Documents(**options)


PIECES = st.sampled_from(
    [
        b"<<",
        b">>",
        b"[",
        b"(",
        b" 0 R",
        b"/Kids [2 0 R]",
        b"99999999999",
        b"stream\n",
        b"%",
        b"\xff",
    ]
)


@pytest.mark.long
@SLOW
@given(
    at=st.floats(0, 1),
    cut=st.integers(0, 40),
    added=st.binary(max_size=8) | PIECES,
    is_mutated=st.booleans(),
)
def test_damaged_files_give_notes_or_faults(at, cut, added, is_mutated):
    start = int(at * len(SEED))
    with tempfile.TemporaryDirectory() as folder:
        found = read(
            SEED[:start] + added + SEED[start + cut :] if is_mutated else b"%PDF-1.7" + added,
            Path(folder),
        )
        assert found
        for entry in found:
            assert isinstance(entry, Annotated | Fault)
            assert isinstance(entry, Annotated) or (
                entry.message.isprintable() and "Okafor" not in entry.message
            )


def test_properties_are_left_out_unless_asked_for_and_authors_always(golden):
    texts = [
        next(
            read_notes(golden / "pdf", options=ReadOptions(formats=(Documents(properties=wanted),)))
        ).note.text
        for wanted in (False, True)
    ]
    assert texts[1] == texts[0] + "\nTitle: Discharge letter\nSubject: unspecified"
