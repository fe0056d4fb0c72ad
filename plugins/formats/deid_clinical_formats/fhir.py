"""FHIR R4: texts of ``DocumentReference`` and ``DiagnosticReport``.

They are read in resources, ``Bundle`` and bulk export. A note is an attachment of ``text/plain``,
or the ``conclusion`` of a report. Several attachments of one resource are the same content in other
formats or languages (FHIR R4, ``DocumentReference.content``): those of ``text/plain`` are read, and
a resource that has attachments but none of ``text/plain`` is a fault. Other resources hold no
notes.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from deid_assets.extending import InputError
from deid_assets.extending.formats import (
    Annotated,
    Fault,
    ParsedNote,
    ReadOptions,
    RecordError,
    Source,
    WriteOptions,
    atomic_file,
    optional_string,
    to_json,
)
from deid_clinical_formats.charsets import from_base64, to_text
from deid_clinical_formats.fhir_resources import (
    FHIR_ID,
    Element,
    Resource,
    check_contained,
    child,
    objects,
    patient_of,
    resources,
)

NOTE_SYSTEM = "urn:deid-assets:note-id"
"""Identifier system under which the writer keeps an id that is no FHIR id."""
_WITH_NOTES = frozenset({"DiagnosticReport", "DocumentReference"})
_MEDIA_TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]*/[a-z0-9][a-z0-9!#$&^_.+-]*")
"""RFC 6838, section 4.2, in lower case."""
_LANGUAGE = re.compile(r"([A-Za-z]{2})(?:-.*)?", re.DOTALL)


def read(source: Source, options: ReadOptions) -> Iterator[ParsedNote | Fault]:
    """Yield a parsed note per text, or one fault for a resource whose texts cannot all be read."""
    for resource in resources(source, options):
        if isinstance(resource, Fault):
            yield resource
            continue
        try:
            yield from notes_of(resource, source, options)
        except RecordError as error:
            reason = error.reason.removeprefix(resource.place)
            yield source.fault(
                error.kind, resource.place + reason, line=resource.line, note_id=resource.id
            )


def notes_of(resource: Resource, source: Source, options: ReadOptions) -> list[ParsedNote]:
    """Return a note per text of a resource: its attachments of ``text/plain`` in order, then its
    conclusion.

    Raises:
        RecordError: One of its texts cannot be read.
    """
    check_contained(resource, _WITH_NOTES)
    texts = list(_texts(resource, options))
    if not texts:
        return []
    note_id = _note_id(resource)
    patient_id = patient_of(resource.element, "subject", "patient")
    language = optional_string(resource.element, "language")
    ids = [note_id]
    if len(texts) > 1:
        ids = [f"{note_id}-{number}" for number in range(1, len(texts) + 1)]
    return [
        ParsedNote(
            source.name,
            each,
            text,
            line=resource.line,
            patient_id=patient_id,
            lang=_lang(own or language),
        )
        for each, (text, own) in zip(ids, texts, strict=True)
    ]


def _note_id(resource: Resource) -> str:
    for identifier in objects(resource.element, "identifier"):
        if identifier.get("system") == NOTE_SYSTEM and isinstance(identifier.get("value"), str):
            return str(identifier["value"])
    found = optional_string(resource.element, "id")
    if not found:
        raise RecordError(
            "missing-field", f"the {resource.type} has no id; give every resource one"
        )
    return found


def _lang(tag: str | None) -> str | None:
    """Return the language of a BCP 47 tag as an ISO 639-1 code, where there is one."""
    match = _LANGUAGE.fullmatch(tag or "")
    return match[1].lower() if match else None


def _texts(resource: Resource, options: ReadOptions) -> Iterator[tuple[str, str | None]]:
    """Yield each text and its own language, if it has one."""
    if resource.type == "DocumentReference":
        attachments = [
            child(content, "attachment") for content in objects(resource.element, "content")
        ]
        if not attachments:
            raise RecordError(
                "missing-field", "the DocumentReference has no content; export it again"
            )
    elif resource.type == "DiagnosticReport":
        attachments = objects(resource.element, "presentedForm")
    else:
        return
    plain = [
        attachment for attachment in attachments if _content_type(attachment)[0] == "text/plain"
    ]
    if attachments and not plain:
        kinds = ", ".join(
            sorted({_show(_content_type(attachment)[0]) for attachment in attachments})
        )
        raise RecordError(
            "malformed", f"the {resource.type} holds {kinds} only; export it as text/plain, too"
        )
    for attachment in attachments:
        _check_content_type(attachment)
    for number, attachment in enumerate(plain, start=1):
        owner = f"attachment {number}"
        yield (
            _text(attachment, resource.binaries, options, owner=owner),
            optional_string(attachment, "language", owner=f"{owner}: "),
        )
    if resource.type == "DiagnosticReport":
        conclusion = optional_string(resource.element, "conclusion", encodable=False)
        if conclusion:
            yield conclusion, None


def _content_type(attachment: Element) -> tuple[str, str | None]:
    """Return the media type in lower case, and its character set."""
    kind, *parameters = (optional_string(attachment, "contentType") or "").split(";")
    pairs = [parameter.partition("=") for parameter in parameters]
    charsets = [
        value.strip().strip('"') for name, _, value in pairs if name.strip().lower() == "charset"
    ]
    return kind.strip().lower(), charsets[0] if charsets else None


def _check_content_type(attachment: Element) -> None:
    """Refuse an attachment that may be a text of its own: its type says nothing."""
    if _MEDIA_TYPE.fullmatch(_content_type(attachment)[0]):
        return
    if attachment.get("data") is not None or attachment.get("url") is not None:
        raise RecordError(
            "malformed", "an attachment has no contentType such as text/plain; export it with one"
        )


def _show(content_type: str) -> str:
    return content_type if re.fullmatch(r"[a-z0-9.+/-]{3,60}", content_type) else "an unknown type"


def _text(
    attachment: Element, binaries: Mapping[str, str], options: ReadOptions, *, owner: str
) -> str:
    url, size = optional_string(attachment, "url", owner=f"{owner}: "), attachment.get("size")
    encoded = optional_string(attachment, "data", owner=f"{owner}: ")
    if encoded is None:
        encoded = "" if url is None and size == 0 else binaries.get(url or "")
    if encoded is None:
        lacking = "has no data" if url is None else "names a url in place of data"
        raise RecordError("missing-field", f"{owner} {lacking}; export it with the data inside")
    blob = from_base64(encoded, what=owner)
    if size is not None and size != len(blob):
        raise RecordError(
            "text-mismatch", f"{owner} is {len(blob)} bytes, not as its size says; export it again"
        )
    digest = optional_string(attachment, "hash", owner=f"{owner}: ")
    if digest is not None and from_base64(digest, what=f"the hash of {owner}") != _sha1(blob):
        raise RecordError(
            "text-mismatch", f"{owner} has another SHA-1 than its hash says; export it again"
        )
    return to_text(blob, _content_type(attachment)[1] or options.encoding, what=owner)


def _sha1(blob: bytes) -> bytes:
    """Return the SHA-1 digest that ``Attachment.hash`` holds (FHIR R4, data types)."""
    return hashlib.sha1(blob, usedforsecurity=False).digest()


def write(path: Path, notes: Iterable[Annotated], options: WriteOptions) -> None:
    """Write one minimal ``DocumentReference`` per note.

    Id, language, patient where given, and the text.

    They are the entries of one ``Bundle`` in a ``.json`` file, and the lines of any other.

    Raises:
        InputError: A note has spans, which FHIR has no place for.
    """
    del options
    documents = (_document(annotated) for annotated in notes)
    with atomic_file(path) as file:
        for piece in _bundle(documents) if path.suffix.lower() == ".json" else _lines(documents):
            file.write(piece.encode())


def _lines(documents: Iterable[dict[str, object]]) -> Iterator[str]:
    yield from (f"{to_json(document)}\n" for document in documents)


def _bundle(documents: Iterable[dict[str, object]]) -> Iterator[str]:
    mark = '{"resourceType": "Bundle", "type": "collection", "entry": [\n'
    for document in documents:
        yield mark + to_json({"resource": document})
        mark = ",\n"
    yield "\n]}\n" if mark == ",\n" else '{"resourceType": "Bundle", "type": "collection"}\n'


def _document(annotated: Annotated) -> dict[str, object]:
    note = annotated.note
    if annotated.spans is not None:
        raise InputError(
            f"note {note.note_id!r}: FHIR holds no spans; write another format, or leave them out"
        )
    is_id = FHIR_ID.fullmatch(note.note_id)
    document: dict[str, object] = {
        "resourceType": "DocumentReference",
        "id": note.note_id if is_id else hashlib.sha256(note.note_id.encode()).hexdigest(),
    }
    if note.lang:
        document["language"] = note.lang
    if not is_id:
        document["identifier"] = [{"system": NOTE_SYSTEM, "value": note.note_id}]
    document["status"] = "current"
    if note.patient_id is not None:
        is_id = FHIR_ID.fullmatch(note.patient_id)
        reference = {"reference": f"Patient/{note.patient_id}"}
        document["subject"] = reference if is_id else {"identifier": {"value": note.patient_id}}
    document["content"] = [{"attachment": attachment_of(note.text)}]
    return document


def attachment_of(text: str) -> dict[str, object]:
    """Return an attachment that holds a text."""
    blob = text.encode()
    attachment: dict[str, object] = {"contentType": "text/plain; charset=utf-8"}
    if blob:  # FHIR has no empty strings
        attachment["data"] = base64.b64encode(blob).decode()
    return attachment | {"size": len(blob), "hash": base64.b64encode(_sha1(blob)).decode()}
