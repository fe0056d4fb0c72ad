"""CDA R2 documents.

Parsed without a document type, an entity or a network, and their elements by name.
"""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring

from deid_assets.extending.formats import (
    MAX_BYTES_PER_CHAR,
    SLACK_BYTES,
    Fault,
    ReadOptions,
    RecordError,
    Source,
    read_bytes,
)

V3 = "{urn:hl7-org:v3}"
"""Namespace of HL7 version 3."""
_MAX_DEPTH = 200


def parse(source: Source, options: ReadOptions) -> Element | Fault:
    """Return the ``ClinicalDocument`` of a file, or why it cannot be read."""
    note_id = source.note_id
    max_bytes = options.max_note_chars * MAX_BYTES_PER_CHAR + SLACK_BYTES
    blob = read_bytes(source, max_bytes=max_bytes, note_id=note_id)
    if isinstance(blob, Fault):
        return blob
    try:
        root: Element = fromstring(blob, forbid_dtd=True)
        _check(root)
    except DefusedXmlException:
        reason = "declares a document type or an entity; remove the DOCTYPE"
        return source.fault("unsafe-xml", reason, note_id=note_id)
    except ParseError as error:
        reason = "is not well-formed XML; export the file again"
        return source.fault("malformed", reason, line=error.position[0], note_id=note_id)
    except RecordError as error:
        return source.fault(error.kind, error.reason, note_id=note_id)
    except (LookupError, ValueError):
        return source.fault(
            "undecodable", "declares an unknown encoding; convert it to UTF-8", note_id=note_id
        )
    return root


def _check(root: Element) -> None:
    if root.tag != f"{V3}ClinicalDocument":
        raise RecordError(
            "malformed", "is no ClinicalDocument of urn:hl7-org:v3; name the format that it is in"
        )
    level = [root]
    for _ in range(_MAX_DEPTH):
        level = [inner for element in level for inner in element]
        if not level:
            return
    raise RecordError(
        "malformed", f"has elements more than {_MAX_DEPTH} deep; export the file again"
    )


def local(element: Element) -> str:
    """Return the name of an element of HL7 version 3 without its namespace.

    Of another namespace, with it.
    """
    return str(element.tag).removeprefix(V3)


def path_of(*names: str) -> str:
    """Return the path of ``ElementTree`` to elements of HL7 version 3."""
    return "/".join(V3 + name for name in names)


def find_elements(element: Element, *names: str) -> Iterator[Element]:
    """Yield the elements at the end of a path of names."""
    yield from element.iterfind(path_of(*names))


def instance(identifier: Element) -> str:
    """Return what an instance identifier holds: its extension, or its root where it has none."""
    return identifier.get("extension") or identifier.get("root") or ""


def patient_id(root: Element) -> str | None:
    """Return the first identifier of the first record target that has a value."""
    for identifier in find_elements(root, "recordTarget", "patientRole", "id"):
        if value := instance(identifier):
            return value
    return None
