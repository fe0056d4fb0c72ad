"""Mail (RFC 5322, MIME): one file per message, its headers as lines above its text.

Headers come in the order From, Sender, Reply-To, To, Cc, Bcc, Date, Subject and are followed by an
empty line. Of alternatives, plain text is read, else HTML; texts one after the other are joined by
a line break.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator
from dataclasses import replace
from email.message import Message
from pathlib import Path

from deid_assets.extending import ConfigError, Note
from deid_assets.extending.formats import (
    MAX_BYTES_PER_CHAR,
    SLACK_BYTES,
    Annotated,
    Fault,
    ParsedNote,
    ReadOptions,
    RecordError,
    Source,
    WriteOptions,
    format_named,
    private_folder,
    read_bytes,
)
from deid_document_formats.eml_parts import (
    Mail,
    charset_of,
    content_of,
    mail_of,
    message_in,
    parse_message,
)
from deid_document_formats.options import Documents
from deid_document_formats.writing import write_documents

_MAX_ATTACHED_BYTES = 1 << 27
"""Most bytes of a whole message with its attachments; mail servers take 10 to 50 MB."""
_READERS = {".txt": "txt", ".docx": "docx", ".docm": "docx", ".rtf": "rtf", ".pdf": "pdf"}
_SUFFIXES = {
    "text/plain": ".txt",
    "text/rtf": ".rtf",
    "application/rtf": ".rtf",
    "application/pdf": ".pdf",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
    "message/rfc822": ".eml",
}
_MAX_DEPTH = 5


def read(source: Source, options: ReadOptions) -> Iterator[ParsedNote | Fault]:
    """Yield the message as one note, and each attachment.

    An attachment is a fault or, where asked for, its notes.
    """
    max_bytes = options.max_note_chars * MAX_BYTES_PER_CHAR + SLACK_BYTES + _MAX_ATTACHED_BYTES
    blob = read_bytes(source, max_bytes=max_bytes, note_id=source.note_id)
    if isinstance(blob, Fault):
        yield blob
        return
    try:
        message = parse_message(blob)
    except RecordError as error:
        yield source.fault(error.kind, error.reason, note_id=source.note_id)
        return
    yield from _read(source, message, options, depth=0)


def _read(
    source: Source, message: Message, options: ReadOptions, *, depth: int
) -> Iterator[ParsedNote | Fault]:
    try:
        mail = mail_of(message, encoding=options.encoding)
    except RecordError as error:
        yield source.fault(error.kind, error.reason, note_id=source.note_id)
        return
    if mail.text:
        yield ParsedNote(source.name, source.note_id, mail.text)
    else:
        reason = "has neither text nor a header that is read; remove it or export it again"
        yield source.fault("empty-file", reason, note_id=source.note_id)
    yield from _attachments(source, mail, options, depth=depth)


def _attachments(
    source: Source, mail: Mail, options: ReadOptions, *, depth: int
) -> Iterator[ParsedNote | Fault]:
    choice = options.of(Documents).attachments
    if choice == "skip":
        return
    for number, part in enumerate(mail.attachments, start=1):
        suffix = _suffix_of(part)
        note_id = f"{source.note_id}/attachment-{number}"
        if choice == "read" and suffix and depth < _MAX_DEPTH:
            yield from _read_attachment(
                source, part, note_id, suffix=suffix, options=options, depth=depth
            )
            continue
        remedy = (
            "save it as a file of its own"
            if choice == "read"
            else "choose --read documents.attachments=read or skip"
        )
        yield source.fault(
            "attachment", f"attachment {number} is not read; {remedy}", note_id=note_id
        )


def _suffix_of(part: Message) -> str:
    suffix = (
        Path(part.get_filename("").lower()).suffix
        if part.get_content_maintype() == "application"
        else ""
    )
    return _SUFFIXES.get(part.get_content_type(), suffix if suffix in _READERS else "")


def _read_attachment(
    source: Source, part: Message, note_id: str, *, suffix: str, options: ReadOptions, depth: int
) -> Iterator[ParsedNote | Fault]:
    """Yield what another reader finds in an attachment.

    The attachment lies in a private folder meanwhile.
    """
    name = note_id.rpartition("/")[2] + suffix
    with private_folder() as folder:
        attached = Source(folder / name, folder, f"{source.name}!/", f"{source.note_id}/")
        try:
            if suffix == ".eml":
                yield from _read(attached, message_in(part), options, depth=depth + 1)
                return
            attached.path.write_bytes(content_of(part))
            options = replace(options, encoding=charset_of(part) or options.encoding)
        except ConfigError:
            reason = "names an encoding that is not known; save it as a file of its own"
            yield attached.fault("undecodable", reason, note_id=note_id)
            return
        except RecordError as error:
            yield attached.fault(error.kind, error.reason, note_id=note_id)
            return
        if attached.path.stat().st_size:
            yield from format_named(_READERS[suffix]).reader(attached, options)
        else:
            yield attached.fault(
                "empty-file",
                "is empty; remove it, or --read documents.attachments=skip",
                note_id=note_id,
            )


def write(path: Path, notes: Iterable[Annotated], options: WriteOptions) -> None:
    """Write one message per note: its text as text/plain, and no header that names anybody.

    Raises:
        InputError: A note has spans, which mail cannot hold, or no text.
    """
    del options
    write_documents(path, notes, ".eml", _message, kind="mail")


def _message(note: Note) -> str:
    # Base64, because a mail program may change line breaks and blanks of any other.
    body = base64.encodebytes(note.text.encode()).decode("ascii")
    head = (
        "MIME-Version: 1.0\n"
        'Content-Type: text/plain; charset="utf-8"\n'
        "Content-Transfer-Encoding: base64\n\n"
    )
    return head + body
