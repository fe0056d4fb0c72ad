"""A batch's files read: notes, and faults with a place and a reason that may be shown anywhere."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from deid_assets.config import Settings
from deid_assets.core.errors import ConfigError
from deid_assets.core.label_maps import LABEL_MAPS
from deid_assets.formats import Annotated, Fault, read_notes
from deid_assets.formats.parsed_notes import read_parsed_notes
from deid_assets.formats.registry import FormatError, check_parsed_notes
from deid_assets.formats.source import OnIgnored, pass_over_silently, printable
from deid_assets.intake.arrivals import (
    PART_FILE,
    Arrival,
    check_arrival,
    find_arrival,
    is_part,
    part_files,
    whole_of,
)
from deid_assets.intake.reading import ReadingPlan, how_to_read
from deid_assets.store.files import StoreFiles

_LABEL = re.compile(r"label '([^']*)' is not in label map '(\w+)'")
_OF_THE_FILE = (
    (re.compile(r"the character set '[^']*'"), "the character set"),
    (re.compile(r"holds [a-z0-9.+/, -]+ only"), "holds other types only"),
    (re.compile(r"the \w+ has no id"), "a resource has no id"),
    (re.compile(r"a document \([^)]*\)"), "a document"),
)
"""Words of a message that come from the file, and what stands for them where no text may be."""
_SHOWN = 8


@dataclass(frozen=True, slots=True)
class ReadItem:
    """A note or fault of a batch.

    Args:
        place: Position of the file among those that arrived, and line or row: ``file-3-line-7``. No
            name.
        what: The note, or what is wrong.
    """

    place: str
    what: Annotated | Fault

    @property
    def reason(self) -> str:
        """Fault and remedy, without file names, note ids and labels that no label map knows.

        Empty for a note.
        """
        return safe_reason(self.what) if isinstance(self.what, Fault) else ""


@dataclass(slots=True)
class _Places:
    """Numbers for files, by their printable names, and for what archives hold."""

    files: Mapping[str, int]
    members: dict[str, dict[str, int]] = field(default_factory=dict)

    @classmethod
    def among(cls, arrival: Arrival) -> _Places:
        return cls({printable(file.name): at for at, file in enumerate(arrival.files, start=1)})

    def of(self, file: str, line: int | None) -> str:
        outer, _, member = file.partition("!/")
        place = f"file-{self.files[outer]}" if outer in self.files else "batch"
        if member:
            seen = self.members.setdefault(outer, {})
            place += f"-member-{seen.setdefault(member, len(seen) + 1)}"
        return place if line is None else f"{place}-line-{line}"


def landing_store(settings: Settings) -> Path:
    """Return the restricted folder of what arrived."""
    return settings.store / "restricted" / "landing"


def landing_folder(settings: Settings, batch: str) -> Path:
    """Return the restricted folder that holds a batch's files as they arrived."""
    return landing_store(settings) / batch


def sources_of(landing: Path) -> list[Path]:
    """Return the files and folders of a batch, sorted."""
    return (
        sorted(path for path in landing.iterdir() if not path.name.startswith("."))
        if landing.is_dir()
        else []
    )


def read_batch(
    settings: Settings, files: StoreFiles, batch: str, *, ignored: OnIgnored = pass_over_silently
) -> Iterator[ReadItem]:
    """Yield what a batch's files hold; ids are unique over the batch.

    Args:
        settings: Of the installation.
        files: The store.
        batch: Whose files are read.
        ignored: OnIgnored the name and the rule of each file that is passed over.

    Raises:
        ProvenanceError: The files are not those that arrived.
    """
    landing = landing_folder(settings, batch)
    arrival = check_arrival(files, batch, landing=landing)
    listed = find_arrival(files, whole_of(batch)) or arrival
    places, seen = _Places.among(listed), set[str]()
    is_parsed = holds_parsed_notes(batch, arrival)
    sources = filter(None, [source_of(settings, batch)]) if is_parsed else sources_of(landing)
    for source in sources:
        folder = source.name if source.is_dir() else ""
        entries = _read_part(source, landing, settings, arrival) if is_parsed else None
        for found in entries or _read(source, settings, arrival, ignored):
            if isinstance(found, Fault):
                name = f"{folder}/{found.file}" if folder and found.file != "." else found.file
                yield ReadItem(places.of(name, found.line), found)
            elif found.note.note_id in seen:
                reason = (
                    "the note id came before in an earlier file of the batch; give every note its"
                    " own id"
                )
                fault = Fault.at(source.name, "duplicate-id", reason, note_id=found.note.note_id)
                yield ReadItem(places.of(source.name, None), fault)
            else:
                seen.add(found.note.note_id)
                yield ReadItem("", found)


def read_whole(batch: str, *, settings: Settings) -> tuple[list[ReadItem], list[tuple[str, str]]]:
    """Return what ``read_batch`` yields, and name and rule of each file that it passes over.

    For a worker process, since a library that a format needs may abort on a damaged file. The key
    is read there.
    """
    ignored: list[tuple[str, str]] = []
    files = StoreFiles(settings.store, key=settings.receipt_key())
    found = list(
        read_batch(settings, files, batch, ignored=lambda name, rule: ignored.append((name, rule)))
    )
    return found, ignored


def holds_parsed_notes(batch: str, arrival: Arrival) -> bool:
    """Whether a batch's folder holds notes as they were read, and not the files that arrived.

    That is so of parts of larger arrivals, and of batches from which a patient was erased.
    """
    return is_part(batch) or [file.name for file in arrival.files] == [PART_FILE]


def source_of(settings: Settings, batch: str) -> Path | None:
    """Return the file or folder that arrived as a batch.

    Of a part, what it was cut from, where that is still there.
    """
    landing = landing_folder(settings, batch).parent
    places = (landing / batch, landing / ".whole" / batch, landing / ".whole" / whole_of(batch))
    return next((found[0] for place in reversed(places) if (found := sources_of(place))), None)


def _read_part(
    source: Path, landing: Path, settings: Settings, arrival: Arrival
) -> Iterator[Annotated | Fault]:
    """Yield what a part holds; ``source`` is what it was cut from, and says how it is read."""
    try:
        how = how_of(settings, arrival, source)
    except ConfigError:  # each file is a fault already
        how = how_to_read(settings, arrival.overrides)
    return check_parsed_notes(
        read_parsed_notes(part_files(landing)), labels=how.labels, options=how.options
    )


def how_of(settings: Settings, arrival: Arrival, source: Path) -> ReadingPlan:
    """Return how a file or folder of a batch is read.

    Raises:
        ConfigError: Its ``batch.toml`` is wrong.
    """
    return how_to_read(settings, arrival.overrides, source if source.is_dir() else None)


def _read(
    source: Path, settings: Settings, arrival: Arrival, ignored: OnIgnored
) -> Iterator[Annotated | Fault]:
    try:
        how = how_of(settings, arrival, source)
        notes = read_notes(
            source, format=how.format, labels=how.labels, options=how.options, ignored=ignored
        )
    except FormatError as error:
        yield from _every(source, arrival, "unknown-format", error.reason)
    except ConfigError as error:
        yield from _every(source, arrival, "wrong-setting", str(error))
    else:
        yield from notes


def _every(source: Path, arrival: Arrival, kind: str, reason: str) -> Iterator[Fault]:
    """Yield a fault for each file of a source, since none of it is read."""
    prefix = f"{printable(source.name)}/"
    for file in arrival.files:
        name = printable(file.name)
        if not source.is_dir():
            yield Fault.at(name, kind, reason)
        elif name.startswith(prefix):
            yield Fault.at(name.removeprefix(prefix), kind, reason)


def safe_reason(fault: Fault) -> str:
    """Return fault and remedy without file names, note ids and labels that no label map knows."""
    if fault.kind == "duplicate-id":
        return "the note id or name came before; give every note its own"
    place = fault.file if fault.line is None else f"{fault.file}:{fault.line}"
    reason = fault.message.removeprefix(f"{place}: ")
    for told, instead in _OF_THE_FILE:
        reason = told.sub(instead, reason)
    if fault.kind != "unknown-label":
        return reason
    quoted = _LABEL.search(reason)
    if quoted is None:
        return "a label is in no label map; name the map that has it with --labels"
    maps = sorted(name for name, known in LABEL_MAPS.items() if quoted[1] in known.labels)
    if not maps:
        return (
            f"a label is not in label map {quoted[2]!r} nor in any other; name the map that has it"
            " with --labels"
        )
    return (
        f"label {quoted[1]!r} is not in label map {quoted[2]!r}; name one that has it with"
        f" --labels: {', '.join(maps)}"
    )


def summarize(reasons: Iterable[tuple[str, str, str]]) -> list[str]:
    """Return one line per kind and reason, the most frequent first.

    Beyond ``_SHOWN`` lines the rest is counted in one.

    Args:
        reasons: Kind, place and reason of each note or file that is withheld.
    """
    counts: Counter[tuple[str, str]] = Counter()
    first: dict[tuple[str, str], str] = {}
    for kind, place, reason in reasons:
        counts[kind, reason] += 1
        first.setdefault((kind, reason), place)
    lines = [
        _line(kind, first[kind, reason], reason, count)
        for (kind, reason), count in counts.most_common(_SHOWN)
    ]
    rest = sum(counts.values()) - sum(count for _, count in counts.most_common(_SHOWN))
    return [
        *lines,
        *([f"and {rest:,} more of {len(counts) - _SHOWN} further kinds"] if rest else []),
    ]


def _line(kind: str, place: str, reason: str, count: int) -> str:
    return (
        f"{kind} at {place}: {reason}"
        if count == 1
        else f"{kind}, {count:,} times, first at {place}: {reason}"
    )


def languages_word(counts: Mapping[str, int]) -> str:
    """Return notes per language as one word: ``en:12+de:3``, the most frequent first."""
    ranked = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    return "+".join(f"{lang}:{count}" for lang, count in ranked[:10])


def languages_of_word(word: str) -> dict[str, int]:
    """Return what ``languages_word`` wrote, in its order."""
    pairs = (part.split(":") for part in word.split("+") if part)
    return {lang: int(count) for lang, count in pairs}
