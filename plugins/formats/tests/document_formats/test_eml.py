"""Mail: headers and text are in the note, attachments are named or read, and nothing is guessed."""

import email
import email.policy
import tempfile
from email.message import EmailMessage
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
from deid_document_formats.html_text import text_of_html

CANARY = "Zebulon-7731"
DATA = Path(__file__).parent / "data"
SEED = (DATA / "eml" / "letter.eml").read_bytes()
FAST = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def read(content, tmp_path, **documents):
    (tmp_path / "a.eml").write_bytes(content if isinstance(content, bytes) else content.encode())
    return list(
        read_notes(tmp_path / "a.eml", options=ReadOptions(formats=(Documents(**documents),)))
    )


def text_of(content, tmp_path):
    (found,) = read(content, tmp_path)
    assert isinstance(found, Annotated), found
    return found.note.text


def mixed(*parts, kind="mixed"):
    body = "".join(f"--B\n{part}\n" for part in parts)
    return f"Content-Type: multipart/{kind}; boundary=B\n\n{body}--B--\n"


PLAIN = "Content-Type: text/plain\n\n"
HTML = "Content-Type: text/html\n\n"
SCAN = 'Content-Type: image/png; name="Ana.png"\n\nx'


def test_the_golden_mail_has_its_headers_above_its_text(golden):
    (found,) = read_notes(golden / "eml")
    assert found.note.note_id == "letter"
    assert (
        found.note.text == "From: Maria Okafor <m.okafor@example.org>\n"
        "To: Jos\xe9 N\xfa\xf1ez <jose@example.org>\n"
        "Cc: ward7@example.org\n"
        "Date: Mon, 03 May 2021 10:15:00 +0200\n"
        "Subject: Discharge of Tom Abara \u2013 Gr\xf6\xdfe\n"
        "\n"
        "Dear Jos\xe9,\n\nTom Abara (MRN 44-1200) went home today.\n\nMaria Okafor\n"
    )


TEXTS = [
    ("no header that is shown", "X-Id: 7\n\nbody\n", "body\n"),
    (
        "order of headers",
        "Subject: s\nTO: a\nX-Id: 7\nfrom: b\nTo: c\n\nbody",
        "From: b\nTo: a\nTo: c\nSubject: s\n\nbody",
    ),
    ("headers only", "Subject: Ana died\n\n", "Subject: Ana died\n\n"),
    ("folded header", "Subject: Ana\n Lee\n\nx", "Subject: Ana Lee\n\nx"),
    (
        "encoded words",
        "Subject: =?utf-8?q?Jos=C3=A9?= =?iso-8859-1?q?_Mu=F1oz?= x\n\ny",
        "Subject: Jos\xe9 Mu\xf1oz x\n\ny",
    ),
    ("raw header", "Subject: Jos\xe9\n\ny", "Subject: Jos\xe9\n\ny"),
    ("line breaks are kept", "X: 1\r\n\r\na\r\nb\rc\nd", "a\r\nb\rc\nd"),
    ("text without an encoding", "X: 1\n\nJos\xe9", "Jos\xe9"),
    (
        "text in its encoding",
        b"Content-Type: text/plain; charset=windows-1252\n\nJos\xe9",
        "Jos\xe9",
    ),
    ("ASCII that is UTF-8", "Content-Type: text/plain; charset=us-ascii\n\nJos\xe9", "Jos\xe9"),
    (
        "quoted-printable",
        "Content-Transfer-Encoding: Quoted-Printable\n\nJos=C3=A9 a=\nb",
        "Jos\xe9 ab",
    ),
    ("base64", "Content-Transfer-Encoding: base64\n\nSm9zw6k=\n", "Jos\xe9"),
    ("HTML", f"{HTML}<p>a</p>b", "a\nb"),
    ("plain before HTML", mixed(f"{PLAIN}plain", f"{HTML}<p>html", kind="alternative"), "plain"),
    ("plain after HTML", mixed(f"{HTML}<p>html", f"{PLAIN}plain", kind="alternative"), "plain"),
    ("plain that is blank", mixed(f"{PLAIN} \n", f"{HTML}<p>html", kind="alternative"), "html"),
    (
        "HTML with pictures",
        mixed(
            f"{PLAIN} \n",
            mixed(f"{HTML}<p>html", kind="related").replace("B", "C"),
            kind="alternative",
        ),
        "html",
    ),
    ("texts in order", mixed(f"{PLAIN}one", f"{HTML}<b>two", f"{PLAIN}three"), "one\ntwo\nthree"),
    ("byte order mark", "\ufeffX: 1\n\nbody", "body"),
]


@pytest.mark.parametrize(
    ("content", "expected"), [case[1:] for case in TEXTS], ids=[case[0] for case in TEXTS]
)
def test_the_text_of_a_message(content, expected, tmp_path):
    assert text_of(content, tmp_path) == expected


PAGES = [
    ("<p>a</p><p>b</p>", "a\nb"),
    ("<div><div>a</div></div>  <div>b<br>c<br><br>d</div>", "a\nb\nc\n\nd"),
    ("a <b> b</b>\n c", "a b c"),
    ("<table><tr><td>a <td>b</tr><tr><td> c</td></tr></table>", "a\tb\nc"),
    ("<pre> a\n  b</pre>c", " a\n  b\nc"),
    ("a&amp;&#233;&nbsp;b &lt;c&gt; 5 < 6", "a&\xe9\xa0b <c> 5 < 6"),
    ("<style>p{}</style><script>x</script><!-- y -->a", "a"),
    ("<title>T</title><body>a", "T\na"),
    (
        'a<img alt="Ana"><a href="MAILTO:b@c.org">mail</a><a href="https://x">x</a>',
        "amailx\nAna\nMAILTO:b@c.org",
    ),
    ("<p style='display:none'>hidden</p>", "hidden"),
    ('<a title=5" x>seen</a>', 'seen\n5"'),
    ("<div>" * 5000 + "deep", "deep"),
    (" ", ""),
    ("a\0b", "a\ufffdb"),
]


@pytest.mark.parametrize(("html", "expected"), PAGES)
def test_the_text_of_a_page(html, expected):
    assert text_of_html(html) == expected


ATTACHED = mixed(f"{PLAIN}body", SCAN, f"{PLAIN.replace(chr(10), '; name=b.txt' + chr(10), 1)}Ana")


def test_attachments_are_named_by_number_and_the_text_is_read(tmp_path):
    note, *faults = read(ATTACHED, tmp_path)
    assert note.note.text == "body"
    assert [(fault.kind, fault.note_id) for fault in faults] == [
        ("attachment", "a/attachment-1"),
        ("attachment", "a/attachment-2"),
    ]
    assert all("Ana" not in fault.message for fault in faults)


def test_attachments_are_left_out_on_purpose_only(tmp_path):
    assert [found.note.text for found in read(ATTACHED, tmp_path, attachments="skip")] == ["body"]


def test_attachments_that_are_text_or_documents_are_read_as_notes(golden, tmp_path):
    message = EmailMessage()
    message.set_content("body")
    attached = {
        name: (golden / name).read_bytes() for name in ("docx/letter.docx", "rtf/letter.rtf")
    }
    for name, content in (attached | {"a1.txt": b"Seen by Ann Lee."}).items():
        message.add_attachment(
            content, maintype="application", subtype="octet-stream", filename=Path(name).name
        )
    message.add_attachment("latin: \xe9", cte="8bit", charset="latin-1", filename="x.txt")
    message.add_attachment(email.message_from_bytes(ATTACHED.encode(), policy=email.policy.default))
    found = read(message.as_bytes(), tmp_path, attachments="read")
    assert [
        entry.note_id if isinstance(entry, Fault) else entry.note.note_id for entry in found
    ] == [
        "a",
        *(f"a/attachment-{number}" for number in range(1, 6)),
        "a/attachment-5/attachment-1",
        "a/attachment-5/attachment-2",
    ]
    assert found[1].note.text == (golden / "docx" / "letter.docx.expected").read_text()
    assert (found[4].note.text, found[7].note.text) == ("latin: \xe9\n", "Ana")
    assert (found[6].kind, found[6].file) == ("attachment", "a.eml!/attachment-5.eml")


def test_messages_in_messages_end_at_a_depth(tmp_path):
    content = "Subject: 0\n\nx"
    for number in range(1, 9):
        content = f"Subject: {number}\nContent-Type: message/rfc822\n\n{content}"
    found = read(content, tmp_path, attachments="read")
    assert [type(entry) for entry in found] == [Annotated] * 6 + [Fault]


BROKEN = [
    ("no mail", f"{CANARY}\n\nx", "malformed"),
    ("mbox", f"From {CANARY} Mon May\nFrom: x\n\nx", "malformed"),
    ("nothing shown", "X-Id: 7\n\n", "empty-file"),
    ("cut short", mixed(f"{PLAIN}{CANARY}")[:-5], "malformed"),
    ("no boundary", f"Content-Type: multipart/mixed\n\n{CANARY}", "malformed"),
    (
        "encrypted",
        "Content-Type: multipart/encrypted; boundary=B\n\n--B\n\nx\n--B--\n",
        "encrypted",
    ),
    ("S/MIME", "Content-Type: application/pkcs7-mime\n\nx", "encrypted"),
    ("unknown encoding", f"Content-Type: text/plain; charset=klingon\n\n{CANARY}", "undecodable"),
    (
        "encoding of no mail",
        f"Content-Type: text/plain; charset=punycode\n\n{CANARY}",
        "undecodable",
    ),
    (
        "encoding of no text",
        f"Content-Type: text/plain; charset=hex\n\n{CANARY}\xe9",
        "undecodable",
    ),
    ("wrong encoding", b"Content-Type: text/plain; charset=utf-8\n\nJos\xe9", "undecodable"),
    ("raw bytes", b"X: 1\n\nJos\xe9", "undecodable"),
    ("base64", f"Content-Transfer-Encoding: base64\n\n{CANARY}*", "malformed"),
    ("transfer encoding", f"Content-Transfer-Encoding: rot13\n\n{CANARY}", "undecodable"),
    ("header in an unknown encoding", "Subject: =?klingon?q?x?=\n\ny", "undecodable"),
    ("header encoded in part", "Subject: \xe9 =?utf-8?q?x?=\n\ny", "undecodable"),
    ("header of bytes", b"Subject: Jos\xe9\n\ny", "undecodable"),
    ("long header", f"Subject: {CANARY * 50_000}\n\ny", "too-large"),
    ("long parameter", f"Content-Type: text/plain; x={CANARY * 5000}\n\ny", "malformed"),
    ("a line that is no header", f"Subject: x\n{CANARY}\n\ny", "malformed"),
    (
        "many lines for many parts",
        mixed(*[f"boundary\n{PLAIN}x"] * 1000) + "\n" * 200_000,
        "too-large",
    ),
    ("many tags", HTML + "<b>" * 1_000_001, "too-large"),
    (
        "deep",
        "".join(f"Content-Type: multipart/mixed; boundary=B{n}\n\n--B{n}\n" for n in range(2000)),
        "malformed",
    ),
]


@pytest.mark.parametrize(
    ("content", "kind"), [case[1:] for case in BROKEN], ids=[case[0] for case in BROKEN]
)
def test_a_broken_message_is_one_fault(content, kind, tmp_path):
    (fault,) = read(content, tmp_path)
    assert (fault.kind, fault.file) == (kind, "a.eml")
    assert fault.message.startswith("a.eml: ")
    assert ";" in fault.message
    assert fault.message.isprintable()
    assert CANARY not in fault.message


def through(text):
    with tempfile.TemporaryDirectory() as folder:
        assert write_notes(Path(folder, "out"), [Annotated(Note("a/b c", text))], format="eml") == 1
        blob = Path(folder, "out", "a", "b c.eml").read_bytes()
        return blob, list(read_notes(Path(folder, "out")))


@FAST
@given(
    text=st.text(
        st.characters(exclude_categories=["Cs"]) | st.sampled_from("\r\n\0\ufeff"), min_size=1
    )
)
@example("From: x\n\n.\n--B--\r\n\ufeff")
@example("\n")
def test_any_text_is_read_back(text):
    blob, found = through(text)
    assert found == [Annotated(Note("a/b c", text))]
    assert email.message_from_bytes(blob).get_payload(decode=True).decode() == text


SPANS = SpanSet.of(Note("n1", "Ana"), [Span(0, 3, Phi.NAME)])


@pytest.mark.parametrize(
    ("text", "spans", "reason"), [("", None, "empty note"), ("Ana", SPANS, "holds no spans")]
)
def test_what_mail_cannot_hold_is_refused_and_leaves_nothing(text, spans, reason, tmp_path):
    with pytest.raises(InputError, match=reason):
        write_notes(tmp_path / "out", [Annotated(Note("n1", text), spans)], format="eml")
    assert not list(tmp_path.iterdir())


PIECES = st.sampled_from(
    [
        b"--B\n",
        b"\n\n",
        b"=?utf-8?b?x?=",
        b"; charset=",
        b"; name*=x''%",
        b"Content-Type: message/rfc822\n",
        b"\xff",
        b"<",
        b"=",
        b"(",
    ]
)


@FAST
@given(
    seed=st.sampled_from([SEED, ATTACHED.encode(), (HTML + "<p title='x'>Ana<table>").encode()]),
    at=st.floats(0, 1),
    cut=st.integers(0, 40),
    added=st.binary(max_size=8) | PIECES,
    attachments=st.sampled_from(["fault", "read"]),
    is_mutated=st.booleans(),
)
def test_damaged_messages_give_notes_or_faults(*, seed, at, cut, added, attachments, is_mutated):
    start = int(at * len(seed))
    content = seed[:start] + added + seed[start + cut :] if is_mutated else added
    with tempfile.TemporaryDirectory() as folder:
        for entry in read(content or b"x", Path(folder), attachments=attachments):
            assert isinstance(entry, Annotated | Fault)
            assert isinstance(entry, Annotated) or (
                entry.message.isprintable() and "Okafor" not in entry.message
            )
