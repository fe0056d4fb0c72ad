"""DOCX: every text that a document shows or hides is in the note.

What is written is plain paragraphs.
"""

import io
import tempfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from deid_assets.cli.streams import NoteSource
from deid_assets.core.errors import InputError
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.span import Span, SpanSet
from deid_assets.formats import Annotated, Fault, ReadOptions, read_notes, write_notes
from deid_document_formats import Documents

CANARY = "Zebulon-7731"
W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
SPACES = (
    f'xmlns:w="{W}" xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" '
    'xmlns:v="urn:schemas-microsoft-com:vml" xmlns:wp="urn:wp" xmlns:m="urn:m" xmlns:r="urn:r"'
)
FAST = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def document(body, **parts):
    """A package with this body and further parts.

    A slash in a name is written as two underscores.
    """
    blob = io.BytesIO()
    with zipfile.ZipFile(blob, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("_rels/.rels", "<Relationships/>")
        archive.writestr(
            "word/document.xml", f"<w:document {SPACES}><w:body>{body}</w:body></w:document>"
        )
        for name, content in parts.items():
            archive.writestr(name.replace("__", "/").replace("_xml", ".xml"), content)
    return blob.getvalue()


def part(root, body):
    return f"<w:{root} {SPACES}>{body}</w:{root}>"


def p(*runs):
    return f"<w:p>{''.join(runs)}</w:p>"


def r(text, tag="t"):
    return f'<w:r><w:rPr><w:b/></w:rPr><w:{tag} xml:space="preserve">{text}</w:{tag}></w:r>'


def read(blob, tmp_path, **options):
    (tmp_path / "a.docx").write_bytes(blob)
    return list(read_notes(tmp_path / "a.docx", options=ReadOptions(**options)))


def text_of(blob, tmp_path):
    (found,) = read(blob, tmp_path)
    assert isinstance(found, Annotated), found
    return found.note.text


BODIES = [
    ("paragraphs", p(r("one "), r("two")) + p() + p(r("three")), "one two\n\nthree"),
    (
        "signs",
        p(r("a"), "<w:r><w:tab/><w:t>b</w:t><w:br/><w:noBreakHyphen/><w:softHyphen/></w:r>"),
        "a\tb\n\u2011",
    ),
    ("symbol", p('<w:r><w:sym w:font="Wingdings" w:char="F04A"/></w:r>'), "\uf04a"),
    ("tab stops are no tabs", p("<w:pPr><w:tabs><w:tab/></w:tabs></w:pPr>", r("x")), "x"),
    (
        "table",
        f"<w:tbl><w:tblPr/><w:tr><w:tc><w:tcPr/>{p(r('a'))}{p(r('b'))}</w:tc><w:tc>{p(r('c'))}</w:tc></w:tr>"
        f"<w:tr><w:sdt><w:sdtContent><w:tc>{p(r('d'))}</w:tc></w:sdtContent></w:sdt><w:tc>{p()}</w:tc></w:tr></w:tbl>"
        + p(),
        "a\nb\tc\nd\t\n",
    ),
    (
        "table in a table",
        f"<w:tbl><w:tr><w:tc><w:tbl><w:tr><w:tc>{p(r('a'))}</w:tc></w:tr></w:tbl>{p(r('b'))}</w:tc></w:tr></w:tbl>",
        "a\nb",
    ),
    ("content control", f"<w:sdt><w:sdtPr/><w:sdtContent>{p(r('x'))}</w:sdtContent></w:sdt>", "x"),
    ("link", p('<w:hyperlink r:id="r1">', r("site"), "</w:hyperlink>"), "site"),
    ("inserted", p(r("Dr. "), "<w:ins>", r("Lee"), "</w:ins>", r(".")), "Dr. Lee."),
    (
        "changed",
        p(
            r("Dr. "),
            "<w:del>",
            r("Miller", "delText"),
            "</w:del><w:ins>",
            r("Lee"),
            "</w:ins>",
            r(" came."),
        ),
        "Dr. Lee came.\nDr. Miller came.",
    ),
    ("deleted", p("<w:del>", r("Miller", "delText"), "</w:del>"), "Miller"),
    (
        "moved",
        p("<w:moveFrom>", r("Miller"), "</w:moveFrom>", r("x"))
        + p("<w:moveTo>", r("Miller"), "</w:moveTo>"),
        None,
    ),
    ("hidden", p("<w:r><w:rPr><w:vanish/></w:rPr><w:t>Miller</w:t></w:r>"), "Miller"),
    (
        "text box",
        p(
            r("a"),
            f"<w:r><w:pict><w:txbxContent>{p(r('b'))}</w:txbxContent></w:pict></w:r>",
            r("c"),
        ),
        "ac\nb",
    ),
    (
        "text box for two programs",
        p(
            "<w:r><mc:AlternateContent><mc:Choice><w:txbxContent>",
            p(r("b")),
            "</w:txbxContent></mc:Choice><mc:Fallback><w:pict><w:txbxContent>",
            p(r("b")),
            "</w:txbxContent></w:pict></mc:Fallback></mc:AlternateContent></w:r>",
        ),
        "\nb",
    ),
    (
        "another text for older programs",
        p(
            "<mc:AlternateContent><mc:Choice>",
            r("new"),
            "</mc:Choice><mc:Fallback>",
            r("old"),
            "</mc:Fallback></mc:AlternateContent>",
        ),
        "newold",
    ),
    (
        "field",
        p(
            "<w:r><w:fldChar/><w:instrText> MERGEFIELD </w:instrText><w:instrText>Ana"
            " </w:instrText><w:fldChar/></w:r>",
            r("x"),
        ),
        "x\nMERGEFIELD Ana",
    ),
    (
        "simple field",
        p('<w:fldSimple w:instr="QUOTE Ana">', r("x"), "</w:fldSimple>"),
        "x\nQUOTE Ana",
    ),
    (
        "picture with a description",
        p(r("x"), '<w:r><wp:docPr name="Picture 1" descr="Ana at home"/></w:r>'),
        "x\nAna at home",
    ),
    (
        "WordArt",
        p(
            r("x"),
            '<w:r><w:pict><v:shape alt="Bo"><v:textpath string="Ana"/></v:shape></w:pict></w:r>',
        ),
        "x\nBo\nAna",
    ),
    ("author of a change", p('<w:ins w:author="Ana Lee">', r("x"), "</w:ins>"), "x"),
    ("formula", p("<m:oMath><m:r><m:t>pH</m:t></m:r></m:oMath>"), "pH"),
]


@pytest.mark.parametrize(
    ("body", "expected"), [case[1:] for case in BODIES], ids=[case[0] for case in BODIES]
)
def test_the_text_of_a_body(body, expected, tmp_path):
    assert text_of(document(body), tmp_path) == (expected or "x\nMillerx\nMiller")


def test_strict_ooxml_is_read_the_same(tmp_path):
    blob = io.BytesIO()
    with zipfile.ZipFile(blob, "w") as archive:
        strict = f"<w:document {SPACES}><w:body>{p(r('Ana'))}</w:body></w:document>"
        archive.writestr(
            "any/name.xml", strict.replace(W, "http://purl.oclc.org/ooxml/wordprocessingml/main")
        )
    assert text_of(blob.getvalue(), tmp_path) == "Ana"


def test_every_part_with_text_is_in_the_note_in_one_order(tmp_path):
    blob = document(
        p(r("body")),
        word__endnotes_xml=part(
            "endnotes", f"<w:endnote>{p()}</w:endnote><w:endnote>{p(r('endnote'))}</w:endnote>"
        ),
        word__footnotes_xml=part("footnotes", f"<w:footnote>{p(r('footnote'))}</w:footnote>"),
        word__comments_xml=part(
            "comments", f'<w:comment w:author="commenter">{p(r("comment"))}</w:comment>'
        ),
        word__header2_xml=part("hdr", p(r("header 2"))),
        word__header10_xml=part("hdr", p(r("header 10"))),
        word__footer1_xml=part("ftr", p(r("footer"))),
        word__glossary__document_xml=part(
            "glossaryDocument", f"<w:docParts>{p(r('building block'))}</w:docParts>"
        ),
        word__charts__chart1_xml='<c:chartSpace xmlns:c="urn:c"><c:v>chart</c:v></c:chartSpace>',
        customXml__item1_xml="<patient><name>custom</name></patient>",
        word__settings_xml=part(
            "settings", '<w:docVars><w:docVar w:name="a" w:val="variable"/></w:docVars>'
        ),
        **{
            "word___rels__document_xml.rels": (
                '<Relationships><Relationship Target="mailto:link" '
                'TargetMode="External"/><Relationship Target="styles.xml"/></Relationships>'
            )
        },
        docProps__core_xml=(
            '<c:coreProperties xmlns:c="urn:c" xmlns:d="urn:d"><d:creator>author</d:creator>'
            "<c:revision>3</c:revision></c:coreProperties>"
        ),
        docProps__app_xml=(
            "<Properties><Application>Word</Application><Manager>manager</Manager></Properties>"
        ),
        docProps__custom_xml='<Properties><property name="MRN"><vt>77</vt></property></Properties>',
    )
    assert text_of(blob, tmp_path).split("\n") == [
        *(
            "header 2",
            "header 10",
            "body",
            "footer",
            "footnote",
            "endnote",
            "comment",
            "building block",
        ),
        *("custom", "chart", "variable", "mailto:link"),
    ]


CREATORS = (
    '<c:coreProperties xmlns:c="urn:c"'
    ' xmlns:d="urn:d"><d:creator>kpatel3</d:creator><d:title>Discharge'
    " letter</d:title><c:lastModifiedBy>kpatel3</c:lastModifiedBy></c:coreProperties>"
)
MANAGER = "<Properties><Manager>kpatel3</Manager><Company>St. Elsewhere</Company></Properties>"
COMMENT = part(
    "comments", f'<w:comment w:author="kpatel3" w:initials="kp">{p(r("comment"))}</w:comment>'
)


def test_properties_are_left_out_unless_asked_for_and_creators_always(tmp_path):
    blob = document(
        p('<w:ins w:author="kpatel3">', r("body"), "</w:ins>"),
        docProps__core_xml=CREATORS,
        docProps__app_xml=MANAGER,
        docProps__custom_xml='<Properties><property name="MRN"><vt>77</vt></property></Properties>',
        word__comments_xml=COMMENT,
    )
    assert text_of(blob, tmp_path) == "body\ncomment"

    (found,) = read(blob, tmp_path, formats=(Documents(properties=True),))
    assert (
        found.note.text == "body\ncomment\ntitle: Discharge letter\nCompany: St. Elsewhere\nMRN: 77"
    )


GERMAN = "Pat. stabil, RR 130/80. Entlassung in gutem Allgemeinzustand, Kontrolle beim Hausarzt."


@pytest.mark.parametrize("with_properties", [True, False])
def test_the_language_is_told_from_the_body(tmp_path, with_properties):
    title = (
        "This letter was written for the patient who came to the outpatient clinic after an"
        " operation " * 3
    )
    core = (
        '<c:coreProperties xmlns:c="urn:c"'
        f' xmlns:d="urn:d"><d:title>{title}</d:title></c:coreProperties>'
    )
    (tmp_path / "a.docx").write_bytes(document(p(r(GERMAN)), docProps__core_xml=core))

    source = NoteSource(
        tmp_path / "a.docx",
        None,
        None,
        ReadOptions(formats=(Documents(properties=with_properties),)),
    )
    (found,) = source.read()

    assert ("title: " in found.note.text) is with_properties
    assert (found.body, found.note.lang) == (GERMAN, "de")


def test_the_golden_letter_of_another_writer(golden):
    (found,) = read_notes(golden / "docx" / "letter.docx")
    assert found == Annotated(
        Note("letter", (golden / "docx" / "letter.docx.expected").read_text())
    )


BROKEN = [
    ("no zip", CANARY.encode(), "malformed"),
    ("old Word or encrypted", b"\xd0\xcf\x11\xe0" + bytes(600), "encrypted"),
    ("no body", document("").replace(b"word/document.xml", b"word/nothing.txt0"), "malformed"),
    ("two bodies", document(p(r(CANARY)), word__b_xml=part("document", p(r("x")))), "malformed"),
    (
        "an unknown encoding",
        document("", word__x_xml="<?xml version='1.0' encoding='klingon'?><x/>"),
        "malformed",
    ),
    ("no XML", document(f"<w:p>{CANARY}"), "malformed"),
    (
        "document type",
        document("", word__x_xml=f"<!DOCTYPE x [<!ENTITY e '{CANARY}'>]><x>&e;</x>"),
        "unsafe-xml",
    ),
    ("inserted document", document(p(r(CANARY)) + '<w:altChunk r:id="r1"/>'), "malformed"),
    ("symbol", document(p('<w:r><w:sym w:char="none"/></w:r>')), "malformed"),
    ("surrogate", document(p('<w:r><w:sym w:char="D800"/></w:r>')), "undecodable"),
    ("deep", document("<w:p>" * 5000 + "</w:p>" * 5000), "malformed"),
    ("deep cells", document("<w:tr>" + "<w:x>" * 5000 + "</w:x>" * 5000 + "</w:tr>"), "malformed"),
    ("no text", document(""), "empty-file"),
    ("scan", document(p() + p(), word__media__image1__png=b"") or b"", "no-text-layer"),
    (
        "more tags than text",
        document("<w:p/>" * 1_000_000 + "<w:p></w:p>" * 1_600_000),
        "too-large",
    ),
    ("bomb", document(" " * (80 << 20)), "too-large"),
]


@pytest.mark.parametrize(
    ("blob", "kind"), [case[1:] for case in BROKEN], ids=[case[0] for case in BROKEN]
)
def test_a_broken_document_is_one_fault_and_its_neighbours_are_read(blob, kind, tmp_path):
    if kind == "no-text-layer":
        blob = document(p() + p(), **{"word__media__image1.png": b"\x89PNG"})
    (tmp_path / "b.docx").write_bytes(document(p(r("fine"))))
    fault, good = read(blob, tmp_path) + list(read_notes(tmp_path / "b.docx"))
    assert isinstance(good, Annotated)
    assert (fault.kind, fault.file) == (kind, "a.docx")
    assert fault.message.startswith("a.docx: ")
    assert ";" in fault.message
    assert CANARY not in fault.message


def test_a_package_with_a_part_twice_is_refused(tmp_path):
    blob = io.BytesIO(document(p(r("Ana"))))
    with zipfile.ZipFile(blob, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr(
            "word/document.xml", f"<w:document {SPACES}><w:body>{p(r('Bo'))}</w:body></w:document>"
        )
    assert [fault.kind for fault in read(blob.getvalue(), tmp_path)] == ["malformed"]


def test_an_embedded_document_is_named_or_left_out_on_purpose_and_the_text_is_read(tmp_path):
    blob = document(p(r("x")), **{"word__embeddings__Microsoft_Excel.xlsx": b"PK"})
    note, fault = read(blob, tmp_path)
    assert (note.note.text, fault.kind, fault.note_id) == ("x", "attachment", "a/attachment-1")
    assert [
        found.note.text for found in read(blob, tmp_path, formats=(Documents(attachments="skip"),))
    ] == ["x"]


def through(text):
    with tempfile.TemporaryDirectory() as folder:
        assert (
            write_notes(Path(folder, "out"), [Annotated(Note("a/b c", text))], format="docx") == 1
        )
        blob = Path(folder, "out", "a", "b c.docx").read_bytes()
        return blob, list(read_notes(Path(folder, "out")))


XML_TEXT = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff")
    | st.sampled_from("\t\n\r"),
    min_size=1,
)


@FAST
@given(text=XML_TEXT)
@example(" \t\r\n\n<&>]]>\x85\u2028 ")
@example("\n")
def test_any_text_that_xml_can_hold_is_read_back(text):
    assert through(text)[1] == [Annotated(Note("a/b c", text))]


def test_what_is_written_opens_elsewhere_and_has_no_properties():
    blob, _ = through("Seen by [NAME].\n\nWard\t7")
    docx = pytest.importorskip("docx", reason="python-docx opens what is written")
    opened = docx.Document(io.BytesIO(blob))
    assert [paragraph.text for paragraph in opened.paragraphs] == ["Seen by [NAME].", "", "Ward\t7"]
    with zipfile.ZipFile(io.BytesIO(blob)) as archive:
        assert sorted(archive.namelist()) == [
            "[Content_Types].xml",
            "_rels/.rels",
            "word/document.xml",
        ]
    assert blob == through("Seen by [NAME].\n\nWard\t7")[0]


SPANS = SpanSet.of(Note("n1", "Ana"), [Span(0, 3, Phi.NAME)])


@pytest.mark.parametrize(
    ("text", "spans", "reason"),
    [
        ("", None, "empty note"),
        ("Ana", SPANS, "holds no spans"),
        ("ab\0", None, r"U\+0000 at offset 2"),
    ],
)
def test_what_docx_cannot_hold_is_refused_and_leaves_nothing(text, spans, reason, tmp_path):
    with pytest.raises(InputError, match=reason):
        write_notes(tmp_path / "out", [Annotated(Note("n1", text), spans)], format="docx")
    assert not list(tmp_path.iterdir())


SEED = document(p(r("Seen by Ana Lee")), word__footnotes_xml=part("footnotes", p(r("x"))))


@FAST
@given(
    start=st.integers(0, len(SEED)),
    cut=st.integers(0, 40),
    added=st.binary(max_size=8),
    is_mutated=st.booleans(),
)
def test_damaged_packages_give_notes_or_faults(start, cut, added, is_mutated):
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "a.docx").write_bytes(
            SEED[:start] + added + SEED[start + cut :] if is_mutated else added
        )
        check(list(read_notes(Path(folder, "a.docx"))))


BODY = "<w:p><w:r><w:t>Ana Lee</w:t></w:r></w:p><w:tbl><w:tr><w:tc><w:p/></w:tc></w:tr></w:tbl>"
PIECES = st.sampled_from(
    [
        "<w:p>",
        "</w:p>",
        "<w:ins>",
        "</w:ins>",
        "<w:tr>",
        '<w:sym w:char="-1"/>',
        "<w:altChunk/>",
        "x",
        "&",
        "",
    ]
)


@FAST
@given(
    start=st.integers(0, len(BODY)),
    end=st.integers(0, len(BODY)),
    added=st.lists(PIECES, max_size=3),
)
def test_damaged_bodies_give_notes_or_faults(start, end, added):
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "a.docx").write_bytes(document(BODY[:start] + "".join(added) + BODY[end:]))
        check(list(read_notes(Path(folder, "a.docx"))))


def check(found):
    assert found
    for entry in found:
        assert isinstance(entry, Annotated | Fault)
        assert isinstance(entry, Annotated) or (
            entry.message.isprintable() and "Ana" not in entry.message
        )
