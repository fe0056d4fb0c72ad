"""A message taken apart: headers, texts and attachments, each with what can be wrong with it."""

from __future__ import annotations

import binascii
import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from email import message_from_bytes
from email.errors import HeaderParseError, MessageError
from email.header import decode_header
from email.message import Message

from deid_assets.extending.formats import RecordError
from deid_document_formats.html_text import text_of_html

_SHOWN = ("From", "Sender", "Reply-To", "To", "Cc", "Bcc", "Date", "Subject")
_ENCODINGS = frozenset({"", "7bit", "8bit", "binary", "base64", "quoted-printable"})
_NOT_FOR_TEXT = frozenset(
    {
        "punycode",
        "idna",
        "unicode-escape",
        "raw-unicode-escape",
        "undefined",
        "utf-7",
        "mbcs",
        "oem",
    }
)
"""Codecs of Python that no mail is in, of which some take quadratic time."""
_MAX_HEADER_CHARS = 1 << 18
_MAX_PARAMETER_CHARS = 1 << 13
"""Most characters of Content-Type and similar headers: their parsing takes quadratic time."""
_MAX_WORK = 200_000_000
"""Most lines times boundaries, as each line is compared with each of them: about a minute."""
_FOLD = re.compile(r"\r?\n(?=[ \t])")
_IS_HEADER = re.compile(rb"[!-9;-~]+[ \t]*:")


@dataclass(slots=True)
class Mail:
    """One message.

    Args:
        text: Headers that are shown, an empty line and the body.
        attachments: Parts that are not its text.
    """

    text: str = field(repr=False)
    attachments: list[Message]


def parse_message(blob: bytes) -> Message:
    """Return the message that the bytes are.

    Raises:
        RecordError: They do not begin as one.
    """
    plain = blob.removeprefix(b"\xef\xbb\xbf")
    if plain.count(b"\n") * (1 + plain.lower().count(b"boundary")) > _MAX_WORK:
        raise RecordError(
            "too-large", "has too many lines for the number of its parts; save its parts apart"
        )
    if not _IS_HEADER.match(plain):
        raise RecordError(
            "malformed", "does not begin with a header, so it is no mail; save it again as .eml"
        )
    try:
        return message_from_bytes(plain)
    except (MessageError, RecursionError, ValueError, LookupError):
        raise RecordError(
            "malformed", "has parts that cannot be distinguished; save it again"
        ) from None


def mail_of(message: Message, *, encoding: str) -> Mail:
    """Return a message taken apart; ``encoding`` is that of text that names none.

    Raises:
        RecordError: It is cut short or encrypted, or has text that cannot be decoded.
    """
    try:
        texts, attachments = _walk(message, encoding)
        headers = [f"{name}: {value}" for name, value in _headers(message, encoding)]
    except RecordError:
        raise
    except (MessageError, RecursionError, ValueError, LookupError):
        raise RecordError(
            "malformed", "has parts or headers that cannot be distinguished; save it again"
        ) from None
    body = "\n".join(texts)
    return Mail("\n".join([*headers, "", body]) if headers else body, attachments)


def _headers(message: Message, encoding: str) -> Iterator[tuple[str, str]]:
    raw: list[tuple[str, str]] = [(name, value) for name, value in message.raw_items()]
    for shown in _SHOWN:
        for name, value in raw:
            if name.lower() == shown.lower():
                yield shown, _decode_header(value, encoding)


def _decode_header(value: str, encoding: str) -> str:
    if len(value) > _MAX_HEADER_CHARS:
        raise RecordError(
            "too-large", f"has a header of more than {_MAX_HEADER_CHARS} characters; remove it"
        )
    unfolded = _decode(_FOLD.sub("", value).encode("utf-8", "surrogateescape"), encoding)
    if "=?" not in unfolded:
        return unfolded.strip()
    if not unfolded.isascii():
        raise RecordError("undecodable", "has a header that is encoded in part; save it again")
    try:
        pieces = decode_header(unfolded)
    except (HeaderParseError, binascii.Error):
        raise RecordError(
            "undecodable", "has a header that is not in its encoding; save it again"
        ) from None
    return "".join(
        piece if isinstance(piece, str) else _decode(piece, charset or encoding)
        for piece, charset in pieces
    ).strip()


def _decode(blob: bytes, charset: str) -> str:
    try:
        return blob.decode(_codec_of(charset))
    except UnicodeError:
        reason = (
            "has text that is not in the encoding that it names; save it again, or name it with"
            " --read encoding=NAME"
        )
        raise RecordError("undecodable", reason) from None
    except (LookupError, ValueError):
        raise RecordError(
            "undecodable", "names an encoding that is not known; save it again as UTF-8"
        ) from None


def _codec_of(charset: str) -> str:
    name = codecs.lookup(charset).name
    if name in _NOT_FOR_TEXT:
        raise LookupError
    return name


def _walk(message: Message, encoding: str) -> tuple[list[str], list[Message]]:
    """Return the texts of a message and its attachments, both in order."""
    _check(message)
    content_type = message.get_content_type()
    if content_type == "multipart/alternative":
        return _alternative(message, encoding)
    if message.is_multipart() and message.get_content_maintype() == "multipart":
        texts: list[str] = []
        attachments: list[Message] = []
        for part in _parts(message):
            found, attached = _walk(part, encoding)
            texts += found
            attachments += attached
        return texts, attachments
    is_attached = (
        message.get_content_disposition() == "attachment" or message.get_filename() is not None
    )
    if content_type in ("text/plain", "text/html") and not is_attached:
        text = _decode(content_of(message), charset_of(message) or encoding)
        return [text if content_type == "text/plain" else text_of_html(text)], []
    return [], [message]


def _alternative(message: Message, encoding: str) -> tuple[list[str], list[Message]]:
    """Choose among forms of one text: plain text where it has a word, else the last that has.

    Attachments of all.
    """
    chosen: list[str] = []
    attachments: list[Message] = []
    is_plain = False
    for part in _parts(message):
        texts, attached = _walk(part, encoding)
        attachments += attached
        if any(map(str.strip, texts)) and not is_plain:
            chosen = texts
            is_plain = part.get_content_type() == "text/plain"
    return chosen, attachments


def _parts(message: Message) -> Iterator[Message]:
    payload = message.get_payload()
    for part in payload if isinstance(payload, list) else ():
        if isinstance(part, Message):
            yield part


def _check(message: Message) -> None:
    kind = message.get_content_type()
    if kind in ("multipart/encrypted", "application/pkcs7-mime", "application/x-pkcs7-mime"):
        raise RecordError(
            "encrypted", "is encrypted, or signed in a form that hides its text; save it decrypted"
        )
    if any(
        len(value) > _MAX_PARAMETER_CHARS
        for name, value in message.raw_items()
        if name.lower()[:8] == "content-"
    ):
        raise RecordError(
            "malformed",
            f"has a part whose header is longer than {_MAX_PARAMETER_CHARS}; save it again",
        )
    if message.defects:
        raise RecordError(
            "malformed", "is cut short, or its parts do not end as they begin; save it again"
        )


def charset_of(message: Message) -> str | None:
    """Return the encoding that a part names, if it says more than ASCII."""
    charset = message.get_param("charset")
    if isinstance(charset, tuple):
        charset = charset[2]
    # ASCII is what programs write when they do not know; UTF-8 has all of it.
    return None if charset is None or charset.lower() in ("us-ascii", "ascii") else charset


def content_of(part: Message) -> bytes:
    """Return the bytes of a part, decoded.

    Raises:
        RecordError: They are not in the encoding that the part names.
    """
    if str(part.get("Content-Transfer-Encoding", "")).strip().lower() not in _ENCODINGS:
        raise RecordError(
            "undecodable", "names a transfer encoding that is not known; save it again"
        )
    content = part.get_payload(decode=True)
    if not isinstance(content, bytes) or part.defects:
        raise RecordError(
            "malformed", "has content that is not in its transfer encoding; save it again"
        )
    return content


def message_in(part: Message) -> Message:
    """Return the message that is attached as a part.

    Raises:
        RecordError: There is none in it.
    """
    inner = next(_parts(part), None)
    if inner is None:
        raise RecordError("malformed", "is a message without content; save it again")
    return inner
