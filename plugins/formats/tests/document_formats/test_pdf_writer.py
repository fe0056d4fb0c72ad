"""PDF to PDF: what is written holds the redacted text and nothing of the file that was read."""

import importlib.util
import io
import os
import re
import shutil
import subprocess
import zlib
from pathlib import Path

import pypdf
import pytest
from pypdf.annotations import Text
from pypdf.generic import DictionaryObject, NameObject, TextStringObject
from typer.testing import CliRunner

from deid_assets.cli import app
from deid_assets.core.errors import InputError
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.span import Span, SpanSet
from deid_assets.formats import Annotated, ReadOptions, read_notes, write_notes, write_spans
from deid_assets.plugins import available
from deid_document_formats import Documents, pdf_writer
from deid_document_formats.pdf_check import check_written, read_pages_as_written
from deid_document_formats.pdf_rows import read_written_text

NAMES = {
    "en": "Zyxwickford",
    "es": "Núñez-Ibáñez",
    "it": "Dell'Òrtolìn",
    "fr": "Lefèvre-Çagnœux",
    "de": "Müßigänger",
    "nl": "Zoëndijk",
    "sv": "Åkerblåström",
    "fi": "Yöntähdenmäki",
}
SENTENCES = {
    "en": "{} was seen by the ward today and may go home.",
    "es": "{} fue visto en la sala hoy y puede irse a casa.",
    "it": "{} è stato visto in reparto oggi e può tornare a casa.",
    "fr": "{} a été vu dans le service et peut rentrer.",
    "de": "{} wurde heute auf der Station gesehen und darf gehen.",
    "nl": "{} werd vandaag op de afdeling gezien en mag naar huis.",
    "sv": "{} sågs på avdelningen i dag och får gå hem.",
    "fi": "{} nähtiin osastolla tänään ja saa mennä kotiin.",
}
PLACES = ("Header", "Field", "Margin", "Title", "Author", "Xmp", "Mark", "Script", "Attached")
HIDDEN = ("White", "Unseen", "Offpage", "Before")
PLANTED = [*NAMES.values(), *(f"Zy{place}wick" for place in (*PLACES, *HIDDEN))]


def shown(text, *, at=700, before=""):
    glyphs = text.encode("cp1252").hex()
    return f"BT {before} /F1 12 Tf 72 {at} Td <{glyphs}> Tj ET"


def document(languages):
    """A file with a page per language, turned, and a planted value in all that a PDF has."""
    writer = pypdf.PdfWriter()
    font = DictionaryObject(
        {
            NameObject("/Type"): NameObject("/Font"),
            NameObject("/Subtype"): NameObject("/Type1"),
            NameObject("/BaseFont"): NameObject("/Helvetica"),
            NameObject("/Encoding"): NameObject("/WinAnsiEncoding"),
        }
    )
    for number, lang in enumerate(languages):
        page = writer.add_blank_page(595, 842)
        page[NameObject("/Resources")] = DictionaryObject(
            {NameObject("/Font"): DictionaryObject({NameObject("/F1"): font})}
        )
        stream = pypdf.generic.DecodedStreamObject()
        stream.set_data(
            "\n".join(
                [
                    shown("ZyHeaderwick", at=800),
                    shown(SENTENCES[lang].format(NAMES[lang])),
                    shown("ZyWhitewick", at=600, before="1 g"),
                    shown("ZyUnseenwick", at=500, before="3 Tr"),
                    shown("ZyOffpagewick", at=3000),
                ]
            ).encode()
        )
        page[NameObject("/Contents")] = stream
        page.rotate(90 * number)
    writer.add_annotation(0, Text(rect=(50, 50, 90, 90), text="ZyMarginwick"))
    widget = {"/Type": "/Annot", "/Subtype": "/Widget", "/FT": "/Tx"}
    field = DictionaryObject({NameObject(key): NameObject(value) for key, value in widget.items()})
    field |= {
        NameObject("/T"): TextStringObject("name"),
        NameObject("/V"): TextStringObject("ZyFieldwick"),
        NameObject("/Rect"): pypdf.generic.ArrayObject(map(pypdf.generic.NumberObject, range(4))),
    }
    fields = pypdf.generic.ArrayObject([writer._add_object(DictionaryObject(field))])
    writer.root_object[NameObject("/AcroForm")] = DictionaryObject({NameObject("/Fields"): fields})
    writer.add_metadata({"/Title": "ZyBeforewick", "/Author": "ZyAuthorwick"})
    writer.xmp_metadata = b"<x:xmpmeta xmlns:x='adobe:ns:meta/'>ZyXmpwick</x:xmpmeta>"
    writer.add_outline_item(title="ZyMarkwick", page_number=0)
    writer.root_object[NameObject("/OpenAction")] = DictionaryObject(
        {
            NameObject("/S"): NameObject("/JavaScript"),
            NameObject("/JS"): TextStringObject("ZyScriptwick"),
        }
    )
    writer.add_attachment("ZyAttachedwick.txt", b"ZyAttachedwick")
    blob = io.BytesIO()
    writer.write(blob)
    revision = pypdf.PdfWriter(blob, incremental=True)  # what was before stays in the file
    revision.add_metadata({"/Title": "ZyTitlewick"})
    revised = io.BytesIO()
    revision.write(revised)
    return revised.getvalue()


def spans_of(note):
    pattern = "|".join(map(re.escape, PLANTED))
    found = (Span(*match.span(), Phi.NAME) for match in re.finditer(pattern, note.text))
    return SpanSet.of(note, found)


def redacted(folder, languages):
    """Write the document, redact it by the command, and return the file that is released."""
    (folder / "in").mkdir()
    (folder / "in" / "visit.pdf").write_bytes(document(languages))
    options = ReadOptions(formats=(Documents(attachments="skip"),))
    (found,) = read_notes(folder / "in", options=options)
    read = [NAMES[lang] for lang in languages]
    read += [f"Zy{place}wick" for place in ("Header", "Field", "Margin", *HIDDEN[:-1])]
    assert [value for value in read if value not in found.note.text] == []
    write_spans(folder / "spans.jsonl", [spans_of(found.note)])
    told = ["--lang", languages[0], "--read", "documents.attachments=skip", "--policy", "tag"]
    given = ["redact", folder / "in", "--spans", folder / "spans.jsonl", *told]
    ran = CliRunner().invoke(app, [*map(str, given), "--to", "pdf", "--out", str(folder / "out")])
    assert ran.exit_code == 0, ran.output
    return folder / "out" / "visit.pdf"


def streams(blob):
    """Every stream of a file, unpacked, and the bytes around them: no library reads them."""
    yield blob
    for match in re.finditer(rb"stream\n(.*?)\nendstream", blob, re.DOTALL):
        yield zlib.decompress(match[1])


def raw_text(blob):
    """The glyphs of all pages by the file's own table, without a library."""
    parts = list(streams(blob))
    table = next(part for part in parts if b"beginbfchar" in part)
    pairs = re.findall(rb"<([0-9A-F]{4})> <([0-9A-F]+)>", table)
    chars = {code: bytes.fromhex(text.decode()).decode("utf-16-be") for code, text in pairs}
    rows = [row for part in parts for row in re.findall(rb"<([0-9A-F]*)> Tj", part)]
    return "\n".join(
        "".join(chars[row[at : at + 4]] for at in range(0, len(row), 4)) for row in rows
    )


def planted_in(blob):
    """Which values are anywhere in a file, by two ways of reading its text, or in its bytes."""
    pages = "\n".join(page.extract_text() for page in pypdf.PdfReader(io.BytesIO(blob)).pages)
    texts = f"{pages}\n{raw_text(blob)}".casefold()
    contents = b"\n".join(streams(blob)).lower()
    codes = ("utf-8", "cp1252", "utf-16-be")
    coded = {
        value: [raw for code in codes for raw in _forms(value.encode(code))] for value in PLANTED
    }
    return [
        value
        for value in PLANTED
        if value.casefold() in texts or any(raw in contents for raw in coded[value])
    ]


def _forms(coded):
    return coded.lower(), coded.hex().encode()


def test_nothing_of_a_pdf_in_eight_languages_is_left_in_what_is_written(tmp_path):
    blob = redacted(tmp_path, list(NAMES)).read_bytes()
    assert planted_in(blob) == []
    reader = pypdf.PdfReader(io.BytesIO(blob))
    assert dict(reader.metadata) == {"/Producer": "deid-formats"}
    assert reader.root_object.keys() == {"/Type", "/Pages"}
    assert blob.count(b"%%EOF") == 1
    shown_text = "\n".join(page.extract_text() for page in reader.pages)
    for sentence in SENTENCES.values():
        assert sentence.format("[NAME]") in shown_text
    assert [row for row in raw_text(blob).split("\n") if "naar huis" in row]


def test_values_that_nobody_covers_are_found_by_this_test(tmp_path):
    text = "".join(f"{name} " for name in NAMES.values())
    write_notes(tmp_path / "out", [Annotated(Note("a", text))], format="pdf")
    found = planted_in((tmp_path / "out" / "a.pdf").read_bytes())
    assert found == list(NAMES.values())


TEXTS = {
    "feeds": "a\fb\f\fc\n\n",
    "long": "word " * 200 + "\n" + "y" * 400,
    "blanks": "\n\n  lead\tand tab\r\n",
    "signs": "()<>[]{}/% \\ Łódź ěščř \ufb01n ½ ≥ → ☐ Ж\u2011x \U0001f468\u200d\u2695\ufe0f",
    "pages": "row\n" * 130,
    "wide": "| wide | " * 14,
}


def test_text_is_written_and_read_to_the_character_and_the_same_bytes(tmp_path):
    notes = [Annotated(Note(name, text)) for name, text in TEXTS.items()]
    for folder in ("one", "two"):
        write_notes(tmp_path / folder, notes, format="pdf")
    for name, text in TEXTS.items():
        one, two = (tmp_path / folder / f"{name}.pdf" for folder in ("one", "two"))
        assert one.read_bytes() == two.read_bytes()
        pages = pypdf.PdfReader(one).pages
        assert "".join(read_written_text(page) for page in pages) == text
    (found,) = read_notes(tmp_path / "one" / "feeds.pdf")
    assert found.note.text == TEXTS["feeds"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Zyx \u05d3\u05d5\u05d3", "U\\+05D3 at offset 4 runs from right to left"),
        ("Zyx \u4e2d", "U\\+4E2D at offset 4 is not in the font"),
        ("Zyx\x00", "U\\+0000 at offset 3 is no character of text"),
        ("Zyx\ue000", "U\\+E000 at offset 3 is no character of text"),
    ],
)
def test_what_cannot_be_shown_is_refused_without_a_file(tmp_path, text, said):
    notes = [Annotated(Note("a", "fine")), Annotated(Note("b", text))]
    with pytest.raises(InputError, match=f"^note 'b': {said}.*; write docx or txt$") as caught:
        write_notes(tmp_path / "out", notes, format="pdf")
    assert "Zyx" not in str(caught.value)
    assert not list(tmp_path.iterdir())


@pytest.fixture
def visits(tmp_path, monkeypatch):
    """A folder with a PDF, and a function that de-identifies it into PDF."""
    monkeypatch.setenv("DEID_KEY", "5a" * 32)
    folder = tmp_path / "visits"
    write_notes(folder, [Annotated(Note("a", "Mail zyx@example.com\fStable."))], format="pdf")
    given = ["deidentify", folder, "--lang", "en", "--detector", "rules", "--policy", "tag"]
    out = tmp_path / "out"

    def run(*more):
        ran = CliRunner().invoke(app, [*map(str, given), "--to", "pdf", "--out", str(out), *more])
        return ran, out

    return run


@pytest.mark.skipif("rules" not in available(), reason="needs the rules detector")
def test_deidentify_writes_the_pdf_that_redact_does_and_signs_it(visits):
    ran, out = visits()

    assert ran.exit_code == 0, ran.output
    assert sorted(path.name for path in out.iterdir()) == [
        "manifest.json",
        "notes",
        "release-public-key.pem",
        "report.json",
    ]
    path = out / "notes" / "a.pdf"
    check_written(Note("a", "Mail [EMAIL]\fStable."), path.read_bytes())
    verify = ["verify", str(out), "--public-key", str(out / "release-public-key.pem")]
    assert CliRunner().invoke(app, verify).exit_code == 0
    path.with_name("b.pdf").write_bytes(path.read_bytes())
    ran = CliRunner().invoke(app, verify)
    assert (ran.exit_code, "notes/b.pdf missing or not named" in ran.output) == (2, True)
    path.with_name("b.pdf").unlink()
    path.write_bytes(path.read_bytes() + b" ")
    assert CliRunner().invoke(app, verify).exit_code == 2


@pytest.mark.skipif("rules" not in available(), reason="needs the rules detector")
def test_deidentify_keeps_no_pdf_that_reads_otherwise(visits, monkeypatch):
    monkeypatch.setattr(pdf_writer, "_pages", lambda rows, _: [list(rows)[:1]])

    ran, out = visits()

    assert ran.exit_code == 2
    assert "the text read from its PDF is another" in ran.output
    assert list(out.iterdir()) == []


def titled(writer):
    writer.add_metadata({"/Title": "Zyx"})


def opened(writer):
    writer.root_object[NameObject("/OpenAction")] = DictionaryObject()


def noted(writer):
    writer.add_annotation(0, Text(rect=(0, 0, 9, 9), text="Zyx"))


def relabelled(writer):
    writer.pages[0].merge_page(writer.pages[1])


@pytest.mark.parametrize("change", [titled, opened, noted, relabelled])
def test_a_file_with_more_than_its_text_is_withheld(tmp_path, change):
    write_notes(tmp_path / "out", [Annotated(Note("a", "x\fy"))], format="pdf")
    blob = (tmp_path / "out" / "a.pdf").read_bytes()
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(blob))
    change(writer)
    changed = io.BytesIO()
    writer.write(changed)
    check_written(Note("a", "x\fy"), blob)
    with pytest.raises(InputError, match="so none is written"):
        check_written(Note("a", "x\fy"), changed.getvalue())


def drawn(content, *, before=b"", replaced=(b"", b"")):
    """A change that draws more on the first page, or other rows."""

    def change(writer):
        page = writer.pages[0]
        stream = pypdf.generic.DecodedStreamObject()
        rows = page.get_contents().get_data().replace(*replaced)
        stream.set_data(before + rows + content)
        page[NameObject("/Contents")] = writer._add_object(stream)

    return change


def stamped(writer):
    """Another font and the words of a stamp, as an overlay draws them."""
    name = NameObject("/F2")
    fonts = writer.pages[0]["/Resources"]["/Font"]
    keys = {
        "/Type": "/Font",
        "/Subtype": "/Type1",
        "/BaseFont": "/Helvetica",
        "/Encoding": "/WinAnsiEncoding",
    }
    fonts[name] = DictionaryObject({NameObject(key): NameObject(at) for key, at in keys.items()})
    drawn(b"\nBT /F2 12 Tf 50 100 Td (Zyx was stamped) Tj ET")(writer)


def merged(writer):
    """The pages of another file behind, under this one's properties."""
    for page in pypdf.PdfReader(io.BytesIO(document(["en"]))).pages:
        writer.add_page(page)


def with_blank_page(writer):
    writer.add_blank_page(595, 842)


def with_empty_stream(writer):
    page = writer.add_blank_page(595, 842)
    page[NameObject("/Contents")] = writer._add_object(pypdf.generic.DecodedStreamObject())


PICTURE = b"\nq 9 0 0 9 0 0 cm BI /W 1 /H 1 /CS /G /BPC 8 ID \x00 EI Q"
ROW = b"<0001> Tj"
MORE = {
    "a title": titled,
    "an action": opened,
    "a note in the margin": noted,
    "pages merged": relabelled,
    "a stamp": stamped,
    "another file's pages": merged,
    "a blank page": with_blank_page,
    "a page of nothing": with_empty_stream,
    "a picture": drawn(PICTURE),
    "a drawing": drawn(b"\n0 0 m 9 9 l S"),
    "another row": drawn(b"\nBT /F 9 Tf 50 700 Td <0001> Tj ET"),
    "a row before": drawn(b"", before=b"BT /F 9 Tf 50 700 Td <0001> Tj ET\n"),
    "an unmarked row": drawn(b"", replaced=(b"EMC T*", b"EMC T* <0001> Tj T*")),
    "more in a row": drawn(b"", replaced=(ROW, b"<00010001> Tj")),
    "a row that shows nothing": drawn(b"", replaced=(ROW, b"<> Tj")),
    "another exact text": drawn(b"", replaced=(b"FEFF0078", b"FEFF0079")),
    "blanks in the exact text": drawn(b"", replaced=(b"FEFF0078", b"FEFF00200078")),
    "an expansion": drawn(b"", replaced=(b"> >> BDC", b"> /E (Zyx) >> BDC")),
    "other marks": drawn(b"\n/Span << /ActualText (Zyx) >> BDC EMC"),
    "a font's size": drawn(b"", replaced=(b"12 TL", b"12 TL 1 Tr")),
}


@pytest.mark.parametrize("change", MORE.values(), ids=MORE)
def test_rows_are_not_believed_of_a_file_that_somebody_changed(tmp_path, change):
    write_notes(tmp_path / "out", [Annotated(Note("a", "x\fy"))], format="pdf")
    path = tmp_path / "out" / "a.pdf"
    writer = pypdf.PdfWriter(clone_from=path)
    writer.write(path)
    assert read_pages_as_written(path) == ["x\f", "y"]
    change(writer)
    writer.write(path)
    assert read_pages_as_written(path) is None


def test_a_file_with_a_later_revision_is_read_as_any_other(tmp_path):
    write_notes(tmp_path / "out", [Annotated(Note("a", "x"))], format="pdf")
    path = tmp_path / "out" / "a.pdf"
    revision = pypdf.PdfWriter(path, incremental=True)
    revision.add_blank_page(595, 842)
    revision.write(path)
    assert read_pages_as_written(path) is None


@pytest.mark.parametrize("change", [stamped, merged])
def test_what_was_added_to_a_written_file_is_read(tmp_path, change):
    write_notes(tmp_path / "out", [Annotated(Note("a", "Seen today."))], format="pdf")
    writer = pypdf.PdfWriter(clone_from=tmp_path / "out" / "a.pdf")
    change(writer)
    writer.write(tmp_path / "a.pdf")
    (found,) = read_notes(tmp_path / "a.pdf")
    assert "Seen today." in found.note.text
    assert "Zyx" in found.note.text


def test_a_page_without_text_behind_a_written_one_is_a_fault(tmp_path):
    write_notes(tmp_path / "out", [Annotated(Note("a", "Seen today."))], format="pdf")
    writer = pypdf.PdfWriter(clone_from=tmp_path / "out" / "a.pdf")
    with_blank_page(writer)
    writer.write(tmp_path / "a.pdf")
    (found,) = read_notes(tmp_path / "a.pdf")
    assert (found.kind, "page 2" in found.message) == ("no-text-layer", True)


@pytest.mark.parametrize(
    ("text", "change"),
    [
        ("another", lambda blob: blob),
        ("x", lambda blob: blob + b"%%EOF"),
        ("x", lambda blob: blob[:-200]),
    ],
)
def test_a_file_of_another_text_or_two_revisions_is_withheld(tmp_path, text, change):
    write_notes(tmp_path / "out", [Annotated(Note("a", "x"))], format="pdf")
    blob = (tmp_path / "out" / "a.pdf").read_bytes()
    with pytest.raises(InputError, match="so none is written"):
        check_written(Note("a", text), change(blob))


def scan(path, text="Seen by Zyxwickford"):
    from PIL import Image, ImageDraw, ImageFont

    pictures = []
    font = ImageFont.truetype(font_file(), 48)
    for line in text.split("\f"):
        picture = Image.new("L", (1700, 400), 255)
        ImageDraw.Draw(picture).text((80, 150), line, fill=0, font=font)
        pictures.append(picture)
    pictures[0].save(path, save_all=True, append_images=pictures[1:])


def font_file():
    folder = Path(importlib.util.find_spec("matplotlib").origin).parent
    return folder / "mpl-data" / "fonts" / "ttf" / "DejaVuSans.ttf"


def read_scan(tmp_path, **documents):
    scan(tmp_path / "a.pdf")
    options = ReadOptions(formats=(Documents(**documents),))
    (found,) = read_notes(tmp_path / "a.pdf", options=options)
    return found


@pytest.mark.skipif(os.name == "nt", reason="the engine is a script of a shell")
@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("cat > /dev/null; printf 'Seen by %s\\n\\f' \"$4\"", "Seen by deu+eng"),
        ("cat > /dev/null; exit 1", "fails on; see that it has the languages"),
        ("cat > /dev/null", "has no text layer"),
        (None, "is missing; install it"),
    ],
)
def test_a_scan_is_read_by_an_engine_or_is_a_fault(tmp_path, monkeypatch, script, expected):
    (tmp_path / "bin").mkdir()
    if script is not None:
        (tmp_path / "bin" / "tesseract").write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / "bin" / "tesseract").chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    else:
        monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    found = read_scan(tmp_path, ocr="tesseract", ocr_languages="deu+eng")
    if isinstance(found, Annotated):
        assert found.note.text == expected
    else:
        assert (found.kind, expected in found.message) == ("no-text-layer", True), found.message


@pytest.mark.slow
@pytest.mark.parametrize(
    ("engine", "is_there"),
    [
        ("tesseract", shutil.which("tesseract")),
        ("rapidocr", importlib.util.find_spec("rapidocr")),
    ],
)
def test_an_installed_engine_reads_a_scan(tmp_path, engine, is_there):
    if not is_there:
        pytest.skip(f"{engine} is not installed")
    found = read_scan(tmp_path, ocr=engine, max_memory_mib=8192)
    assert "Zyxwickford" in found.note.text


@pytest.mark.slow
@pytest.mark.parametrize("lang", NAMES)
def test_other_programs_find_nothing_either(tmp_path, lang):
    """Poppler and PDFium read the text; Tesseract reads the pages that PDFium draws."""
    path = redacted(tmp_path, [lang])
    assert planted_in(path.read_bytes()) == []
    texts = []
    if shutil.which("pdftotext"):
        done = subprocess.run(["pdftotext", path, "-"], capture_output=True, check=True, text=True)
        texts.append(done.stdout)
    if importlib.util.find_spec("pypdfium2"):
        import pypdfium2

        for page in pypdfium2.PdfDocument(path):
            texts.append(page.get_textpage().get_text_range())
            if shutil.which("tesseract"):
                page.render(scale=4).to_pil().save(tmp_path / "page.png")
                command = ["tesseract", tmp_path / "page.png", "-"]
                texts.append(
                    subprocess.run(command, capture_output=True, check=True, text=True).stdout
                )
    if not texts:
        pytest.skip("neither pdftotext nor pypdfium2 is installed")
    for text in texts:
        assert "NAME" in text
        assert [value for value in PLANTED if value.casefold() in text.casefold()] == []
