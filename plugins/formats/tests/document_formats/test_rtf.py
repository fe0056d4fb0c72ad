"""RTF: every text that a document shows or hides is in the note, in its code page."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from deid_assets.core.errors import InputError
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.span import Span, SpanSet
from deid_assets.formats import Annotated, Fault, ReadOptions, read_notes, write_notes
from deid_document_formats import Documents

CANARY = "Zebulon-7731"
FAST = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
SEED = (Path(__file__).parent / "data" / "rtf" / "letter.rtf").read_bytes()


def read(content, tmp_path, **options):
    blob = content if isinstance(content, bytes) else content.encode()
    (tmp_path / "a.rtf").write_bytes(blob)
    return list(read_notes(tmp_path / "a.rtf", options=ReadOptions(**options)))


def text_of(body, tmp_path, head=r"{\rtf1\ansi\ansicpg1252 "):
    (found,) = read(
        head.encode() + (body if isinstance(body, bytes) else body.encode()) + b"}", tmp_path
    )
    assert isinstance(found, Annotated), found
    return found.note.text


BODIES = [
    ("paragraphs", "a\\par\nb\r\nc\\par\\pard d", "a\nbc\nd"),
    ("escapes", r"\\ \{ \} a\~b a\_b a\-b", "\\ { } a\u00a0b a\u2011b ab"),
    ("a break written as a symbol", "a\\\nb", "a\nb"),
    ("signs", r"a\tab b\line c\emdash d\rquote s", "a\tb\nc\u2014d\u2019s"),
    ("formatting is no text", r"{\b Jane}\i  Doe\i0\fs24 .", "Jane Doe."),
    ("code page of the document", r"Jos\'e9", "Jos\xe9"),
    ("raw bytes", b"Jos\xe9", "Jos\xe9"),
    (
        "code page of a font",
        r"{\fonttbl{\f1\fcharset204 X;}{\f2\fcharset0 Y;}}{\f1\'c8}\f2\'c8",
        "\u0418\xc8",
    ),
    ("code page by number", r"{\fonttbl{\f1\fnil\cpg1250 X;}}\f1\'b3", "\u0142"),
    ("two bytes", r"{\fonttbl{\f1\fcharset128 X;}}\f1\'8e\'52\'83A\plain x", "\u5c71\u30a2x"),
    ("default font", r"\deff1{\fonttbl{\f1\fcharset204 X;}}\plain\'c8", "\u0418"),
    ("letters in a symbol font", r"{\fonttbl{\f1\fcharset2 X;}}{\f1 Ana\'b7}", "Ana\uf0b7"),
    ("code points", r"\u322?\u0060?a{\uc0\u8364 b}\uc2\u8364\'80xc", "\u0142<a\u20acb\u20acc"),
    ("a surrogate pair", r"\u-10179?\u-9105?", "\U0001f46f"),
    ("hidden", r"{\v Jane}", "Jane"),
    (
        "deleted and inserted",
        r"Dr. {\deleted Miller}{\revised Lee} came.",
        "Dr. Lee came.\nDr. Miller came.",
    ),
    ("deleted", r"{\deleted Miller\par}x", "Miller\nx"),
    ("table", r"\trowd a\cell b\cell\row c\cell\cell\row d", "a\tb\nc\t\nd"),
    (
        "field",
        r'a {\field{\*\fldinst{HYPERLINK }{"mailto:x"}}{\fldrslt link}}',
        'a link\nHYPERLINK "mailto:x"',
    ),
    ("footnote", r"a{\footnote note}b", "ab\nnote"),
    ("comment", r"a{\*\atnid JD}{\*\atnauthor Jane}{\*\annotation why}b", "ab\nwhy"),
    ("unknown extension", r"a{\*\vendorpatient Jane}b", "ab\nJane"),
    ("document variable", r"{\*\docvar {patient}{Jane}}a", "a\npatient Jane"),
    ("bookmark, picture, style", r"{\*\bkmkstart x}a{\pict 00ff}{\stylesheet{\s1 y;}}b", "ab"),
    (
        "description of a picture",
        r"a{\pict{\*\picprop{\sp{\sn wzDescription}{\sv Jane}}}00ff}",
        "a\nJane",
    ),
    ("binary", b"a{\\pict\\bin5 }}}{\\}b", "ab"),
    ("a destination that no group is around", r"a\footnote b\annotation c", "a\nb\nc"),
    ("nested table", r"{\*\nesttableprops a\nestcell\nestrow}b", "a\nb"),
    ("result of an object", r"a{\object{\*\objdata 00}{\result seen}}", None),
]


@pytest.mark.parametrize(
    ("body", "expected"), [case[1:] for case in BODIES], ids=[case[0] for case in BODIES]
)
def test_the_text_of_a_body(body, expected, tmp_path):
    if expected is not None:
        assert text_of(body, tmp_path) == expected.rstrip(" ")
        return
    note, fault = read(r"{\rtf1 " + body + "}", tmp_path)
    assert (note.note.text, fault.kind, fault.note_id) == ("aseen", "attachment", "a/attachment-1")
    assert (
        len(read(r"{\rtf1 " + body + "}", tmp_path, formats=(Documents(attachments="skip"),))) == 1
    )


def test_the_golden_letter_has_every_text_in_one_order(golden):
    (found,) = read_notes(golden / "rtf")
    assert found.note.text.split("\n") == [
        "Hillside Clinic\tWard 7",
        "Seen on 3\u00a0May 2021 by Dr. Maria Okafor.",
        "Jos\xe9 Nu\xf1ez, \u0418\u0432\u0430\u043d, \U0001f46f and \uf0b7",
        "Dr. Lee came.",
        "Dr. Miller came.",
        "Name\tTom Abara",
        "MRN\t44-1200",
        "See his mail.",
        "No further findings.",
        "",
        "Printed for Tom Abara",
        "A footnote.",
        "Ask Tom about this.",
        "In a box",
        'HYPERLINK "mailto:tom@example.org"',
        "Tom at home",
    ]


BROKEN = [
    ("no RTF", CANARY, "malformed"),
    ("cut short", r"{\rtf1 " + CANARY, "malformed"),
    ("closed too often", r"{\rtf1 x}}", "malformed"),
    ("content behind the end", r"{\rtf1 x}" + CANARY, "malformed"),
    ("no hexadecimal", r"{\rtf1 \'zz" + CANARY + "}", "malformed"),
    ("binary without end", r"{\rtf1 \bin99999 " + CANARY + "}", "malformed"),
    ("byte outside of its code page", rf"{{\rtf1\ansi\ansicpg1252 {CANARY}\'81}}", "undecodable"),
    ("half of two bytes", r"{\rtf1\ansi\ansicpg932 \'8e}", "undecodable"),
    ("unknown code page", r"{\rtf1\ansi\ansicpg54321 x}", "undecodable"),
    ("half of a character", r"{\rtf1 \u-10179?}", "undecodable"),
    ("deep", r"{\rtf1 " + "{" * 100_000, "malformed"),
    ("no text", r"{\rtf1 {\fonttbl{\f0 Arial;}}}", "empty-file"),
    ("scan", r"{\rtf1 {\pict 00ff}\par}", "no-text-layer"),
]


@pytest.mark.parametrize(
    ("content", "kind"), [case[1:] for case in BROKEN], ids=[case[0] for case in BROKEN]
)
def test_a_broken_document_is_one_fault(content, kind, tmp_path):
    (fault,) = read(content, tmp_path)
    assert (fault.kind, fault.file) == (kind, "a.rtf")
    assert fault.message.startswith("a.rtf: ")
    assert ";" in fault.message
    assert fault.message.isprintable()
    assert CANARY not in fault.message


def test_content_of_zeros_behind_the_end_is_passed_over(tmp_path):
    assert [found.note.text for found in read(b"{\\rtf1 x}\r\n\0", tmp_path)] == ["x"]


def through(text):
    with tempfile.TemporaryDirectory() as folder:
        assert write_notes(Path(folder, "out"), [Annotated(Note("a/b c", text))], format="rtf") == 1
        return list(read_notes(Path(folder, "out")))


@FAST
@given(
    text=st.text(
        st.characters(exclude_categories=["Cs"]) | st.sampled_from("\\{}\t\n\r\0?'*-7"), min_size=1
    )
)
@example(" \t\r\n\n\\par {}\x00\x85\u2028\U0001f468 7")
@example("\n")
def test_any_text_is_read_back(text):
    assert through(text) == [Annotated(Note("a/b c", text))]


SPANS = SpanSet.of(Note("n1", "Ana"), [Span(0, 3, Phi.NAME)])


@pytest.mark.parametrize(
    ("text", "spans", "reason"), [("", None, "empty note"), ("Ana", SPANS, "holds no spans")]
)
def test_what_rtf_cannot_hold_is_refused_and_leaves_nothing(text, spans, reason, tmp_path):
    with pytest.raises(InputError, match=reason):
        write_notes(tmp_path / "out", [Annotated(Note("n1", text), spans)], format="rtf")
    assert not list(tmp_path.iterdir())


PIECES = st.sampled_from(
    [
        b"{",
        b"}",
        b"\\",
        b"\\'",
        b"\\u-1",
        b"\\*",
        b"\\bin9",
        b"\\footnote",
        b"\\f9",
        b"\xff",
        b"\\pict",
    ]
)


@FAST
@given(
    start=st.integers(0, len(SEED)),
    cut=st.integers(0, 40),
    added=st.binary(max_size=8) | PIECES,
    head=st.sampled_from([b"", b"{\\rtf1"]),
    is_mutated=st.booleans(),
)
def test_damaged_documents_give_notes_or_faults(start, cut, added, head, is_mutated):
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "a.rtf").write_bytes(
            SEED[:start] + added + SEED[start + cut :] if is_mutated else head + added
        )
        found = (
            list(read_notes(Path(folder, "a.rtf")))
            if Path(folder, "a.rtf").stat().st_size
            else ["empty"]
        )
        assert found
        for entry in found:
            assert isinstance(entry, Annotated | Fault | str)
            assert not isinstance(entry, Fault) or (
                entry.message.isprintable() and "Okafor" not in entry.message
            )


def test_a_document_of_many_control_words_ends_with_a_fault(tmp_path, monkeypatch):
    monkeypatch.setattr("deid_document_formats.rtf_text._MAX_TOKENS", 100)
    (fault,) = read(r"{\rtf1 " + r"\b " * 101 + "}", tmp_path)
    assert fault.kind == "too-large"


def test_properties_are_left_out_unless_asked_for_and_creators_always(tmp_path):
    blob = (
        r"{\rtf1{\info{\title Letter}{\author kpatel3}{\operator kpatel3}{\manager"
        r" kpatel3}}{\*\revtbl{Unknown;}{kpatel3;}}"
        r"body{\*\atnid kp}{\*\atnauthor kpatel3}}"
    )
    (tmp_path / "a.rtf").write_text(blob)
    texts = [
        next(
            read_notes(
                tmp_path / "a.rtf", options=ReadOptions(formats=(Documents(properties=wanted),))
            )
        ).note.text
        for wanted in (False, True)
    ]
    assert texts == ["body", "body\ntitle: Letter"]
