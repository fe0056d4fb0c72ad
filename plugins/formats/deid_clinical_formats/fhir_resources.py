"""The resources of a FHIR R4 file.

One resource, a ``Bundle``, or one resource per line (bulk export).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from deid_assets.extending.formats import (
    MAX_BYTES_PER_CHAR,
    SLACK_BYTES,
    Fault,
    ReadOptions,
    RecordError,
    Source,
    decode_line,
    optional_string,
    parse_json,
    read_bytes,
    records,
)

Element = Mapping[str, object]
FHIR_ID = re.compile(r"[A-Za-z0-9.-]{1,64}")
"""Pattern of a resource's id (FHIR R4, data type ``id``)."""
_TYPE = re.compile(r"[A-Z][A-Za-z]{1,63}")
_PATIENT = re.compile(r"(?:.*/)?Patient/([^/]+)(?:/_history/.*)?", re.DOTALL)
_SERVER_ERROR = "the server reports an error in place of data (OperationOutcome); export it again"
_MAX_DEPTH = 8
_TYPES_READ = frozenset(
    {"Binary", "Bundle", "Composition", "DiagnosticReport", "DocumentReference", "OperationOutcome"}
)
_MISSPELT = {name.casefold(): name for name in _TYPES_READ}


@dataclass(frozen=True, slots=True)
class Resource:
    """One resource and its place.

    Args:
        type: ``resourceType``.
        element: Its JSON object.
        line: Of bulk export; ``None`` where the file is one JSON value.
        place: ``"entry 2: "`` in a ``Bundle``, to begin a reason with.
        binaries: Base64 of the ``Binary`` resources of the same ``Bundle``, by the addresses that
            may name them.
    """

    type: str
    element: Element = field(repr=False)
    line: int | None
    place: str
    binaries: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def id(self) -> str | None:
        """The logical id, where there is one that can be shown."""
        found = self.element.get("id")
        return found if isinstance(found, str) and found.isprintable() else None


def resources(source: Source, options: ReadOptions) -> Iterator[Resource | Fault]:
    """Yield every resource of a file, those of a ``Bundle`` one by one.

    A ``.json`` file is one JSON value; any other has one per line. An error that a server left in
    its place (``OperationOutcome``) is a fault: something was not exported.
    """
    max_bytes = (
        options.max_note_chars * MAX_BYTES_PER_CHAR * 4 // 3 + SLACK_BYTES
    )  # base64 has 4 characters for 3 bytes
    for line, text in _values(source, max_bytes):
        if isinstance(text, Fault):
            yield text
            continue
        try:
            yield from unpack_resources(source, parse_json(text), line)
        except RecordError as error:
            yield source.fault(error.kind, error.reason, line=line)


def _values(source: Source, max_bytes: int) -> Iterator[tuple[int | None, str | Fault]]:
    if source.path.suffix.lower() == ".json":
        blob = read_bytes(source, max_bytes=max_bytes)
        yield None, blob if isinstance(blob, Fault) else _text(source, blob)
        return
    with source.path.open("rb") as file:
        for record in records(file, max_bytes=max_bytes):
            text = decode_line(record, source, "utf-8", max_bytes=max_bytes)
            if isinstance(text, Fault) or (text and not text.isspace()):
                yield record.line, text


def _text(source: Source, blob: bytes) -> str | Fault:
    try:
        return blob.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return source.fault("undecodable", f"byte {error.start} is not utf-8; convert the file")


def unpack_resources(
    source: Source,
    value: object,
    line: int | None = None,
    place: str = "",
    *,
    depth: int = 0,
    binaries: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[Resource | Fault]:
    """Yield the resource of a JSON value, of a ``Bundle`` all that lie in it.

    Args:
        source: Named by faults.
        value: Of JSON.
        line: Of bulk export.
        place: ``"entry 2: "`` in a ``Bundle``.
        depth: Number of bundles around it.
        binaries: Of the bundle around it.

    Raises:
        RecordError: It is no resource, or bundles lie too deep.
    """
    resource = _resource(value, line, place)
    if resource.type == "OperationOutcome":
        if _tells_of_error(resource):
            yield source.fault("malformed", f"{place}{_SERVER_ERROR}", line=line)
        return
    if resource.type != "Bundle":
        yield replace(resource, binaries=binaries)
        return
    if depth >= _MAX_DEPTH:
        raise RecordError(
            "malformed", f"{place}a Bundle lies more than {_MAX_DEPTH} Bundles deep; export it flat"
        )
    entries = objects(resource.element, "entry", place=place)
    own = dict(pair for entry in entries for pair in _binaries(entry))
    for number, entry in enumerate(entries, start=1):
        inner = f"{place}entry {number}: "
        if entry.get("resource") is None:  # an entry may be a response or a deletion only
            continue
        try:
            yield from unpack_resources(
                source, _read_resource(entry), line, inner, depth=depth + 1, binaries=own
            )
        except RecordError as error:
            yield source.fault(error.kind, error.reason, line=line)


def _tells_of_error(outcome: Resource) -> bool:
    issues = objects(outcome.element, "issue")
    return any(issue.get("severity") in ("error", "fatal") for issue in issues)


def _binaries(entry: Element) -> Iterator[tuple[str, str]]:
    resource, url = entry.get("resource"), entry.get("fullUrl")
    if isinstance(resource, dict) and resource.get("resourceType") == "Binary":
        encoded = resource.get("data")
        for address in (url, f"Binary/{resource.get('id')}"):
            if isinstance(encoded, str) and isinstance(address, str):
                yield address, encoded


def _read_resource(entry: Element) -> object:
    """The resource of an entry.

    Where it has no id, its temporary name is one (FHIR R4, ``Bundle.entry.fullUrl``).
    """
    resource, url = entry["resource"], entry.get("fullUrl")
    if isinstance(resource, dict) and resource.get("id") is None and isinstance(url, str):
        return {**resource, "id": url.rsplit("/", 1)[-1].removeprefix("urn:uuid:")}
    return resource


def _resource(value: object, line: int | None, place: str) -> Resource:
    kind = value.get("resourceType") if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(kind, str) or not _TYPE.fullmatch(kind):
        raise RecordError(
            "malformed",
            f"{place}no FHIR resource with a resourceType; remove it or export it again",
        )
    meant = _MISSPELT.get(kind.casefold(), kind)
    if meant != kind:
        raise RecordError(
            "malformed", f"{place}the resourceType {meant} is written otherwise; export it again"
        )
    return Resource(kind, value, line, place)


def objects(element: Element, name: str, *, place: str = "") -> list[Element]:
    """Return the objects of a list; an absent list has none.

    Raises:
        RecordError: It is no list of objects.
    """
    found = element.get(name)
    if found is None:
        return []
    if not isinstance(found, list) or not all(isinstance(entry, dict) for entry in found):
        raise RecordError("malformed", f"{place}{name} is no list of objects; export it again")
    return found


def check_contained(resource: Resource, kinds: frozenset[str]) -> None:
    """Check that no resource of these types lies in another (``contained``).

    Its text would be neither read nor handed on.

    Raises:
        RecordError: One does, or what lies in it is no list of resources.
    """
    for inner in objects(resource.element, "contained"):
        found = _resource(inner, resource.line, "contained: ").type
        if found in kinds:
            raise RecordError(
                "malformed",
                f"a {found} lies in it (contained), whose text is not read; export it as a"
                " resource of its own",
            )


def child(element: Element, name: str, *, place: str = "") -> Element:
    """Return an object; an absent one is empty.

    Raises:
        RecordError: It is no object.
    """
    found = element.get(name)
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise RecordError("malformed", f"{place}{name} is no object; export it again")
    return found


def patient_of(element: Element, *names: str, place: str = "") -> str | None:
    """Return the patient that the first of the named references points to.

    The id of ``Patient/<id>`` (relative, absolute or of a version) or of ``urn:uuid:<id>``; else
    the value of the reference's identifier. ``None`` for a reference to something else, such as a
    group or a device.
    """
    for name in names:
        reference = child(element, name, place=place)
        target = optional_string(reference, "reference", owner=f"{place}{name}: ")
        if target is None:
            value = optional_string(
                child(reference, "identifier", place=place), "value", owner=f"{place}{name}: "
            )
            if value:
                return value
        elif target.startswith("urn:uuid:"):
            return target.removeprefix("urn:uuid:")
        elif match := _PATIENT.fullmatch(target):
            return match[1]
    return None
