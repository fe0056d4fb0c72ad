"""Parts of an evidence file: statements with the sources they follow from, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from deid_assets.core.errors import InputError
from deid_assets.store.receipts import Receipt


class Regime(StrEnum):
    """For whom the document is written."""

    HIPAA = "hipaa"
    DPIA = "dpia"


class MeasureStanding(StrEnum):
    """Result of one measure; the later, the worse."""

    PASSED = "passed"
    WARNED = "passed with warnings"
    UNMEASURED = "not measured"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class CitedSource:
    """One entry of the appendix.

    Args:
        number: From 1, in the order in which the document first names them.
        kind: What it is, in a word or two: ``receipt``, ``manifest``, ``settings``.
        name: As the release shows it: ``merged_spans@b-0001``.
        digest: Of its content; keyed where an original could be guessed from it.
        made_at: UTC, ISO 8601; empty where it has no time.
        version: Of the code that made it.
        checked: What was checked of it for this document, a sentence.
    """

    number: int
    kind: str
    name: str
    digest: str
    made_at: str = ""
    version: str = ""
    checked: str = ""

    @property
    def anchor(self) -> str:
        """Target of links to it."""
        return f"source-{self.number}"


class SourceBook:
    """The sources of a document, numbered as they are first named.

    Args:
        shown: Receipt name, ``asset@batch``, to the name and the digest that the manifest shows; of
            others, their own.
    """

    def __init__(self, shown: Mapping[str, tuple[str, str]]) -> None:
        self._shown = shown
        self._entries: dict[tuple[str, str], CitedSource] = {}

    @property
    def entries(self) -> list[CitedSource]:
        """All of them, by number."""
        return list(self._entries.values())

    def receipt(self, receipt: Receipt) -> CitedSource:
        """Return the entry of a receipt whose signature was checked."""
        name, digest = self._shown.get(receipt.name, (receipt.name, receipt.digest))
        checked = "Signature, and the digest that names it where it was used, hold."
        if receipt.outputs:
            checked = "Signature, digest and the SHA-256 of its files hold."
        return self.other(
            "receipt",
            name,
            digest,
            made_at=receipt.created_at,
            version=receipt.code_version,
            checked=checked,
        )

    def other(self, kind: str, name: str, digest: str, **about: str) -> CitedSource:
        """Return the entry of something else; the same for the same kind and name.

        Args:
            kind: What it is.
            name: How it is called.
            digest: Of its content.
            about: ``made_at``, ``version`` and ``checked``.
        """
        key = kind, name
        if key not in self._entries:
            number = len(self._entries) + 1
            self._entries[key] = CitedSource(number, kind, name, digest, **about)
        return self._entries[key]


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence with what it follows from.

    Args:
        text: In plain words.
        sources: At least one.

    Raises:
        InputError: It names no source.
    """

    text: str
    sources: tuple[CitedSource, ...]

    def __post_init__(self) -> None:
        if not self.sources:
            raise InputError("a statement of an evidence file names no receipt; name one")


def make_statement(text: str, *sources: CitedSource) -> Statement:
    """Return a statement; a source that is named twice counts once."""
    return Statement(text, tuple(dict.fromkeys(sources)))


@dataclass(frozen=True, slots=True)
class EvidenceRow:
    """A row of a table: its cells, the first of them its head, and what they follow from."""

    cells: tuple[str, ...]
    sources: tuple[CitedSource, ...]


@dataclass(frozen=True, slots=True)
class EvidenceTable:
    """A table.

    Args:
        title: What it shows, a sentence.
        columns: Headings.
        rows: As many cells each.
        numeric: Columns, from 0, that are set as numbers.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[EvidenceRow, ...]
    numeric: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class EvidencePart:
    """A part of a section: a subtitle, statements, and tables.

    Args:
        title: Empty for what stands right under the heading of the section.
        statements: One paragraph each, or items of a list.
        tables: Below the statements.
        listed: Whether the statements are a list.
    """

    title: str
    statements: tuple[Statement, ...] = ()
    tables: tuple[EvidenceTable, ...] = ()
    listed: bool = False


@dataclass(frozen=True, slots=True)
class EvidenceSection:
    """A section.

    Args:
        name: By which links and regimes know it.
        parts: In order.
    """

    name: str
    parts: tuple[EvidencePart, ...]

    @property
    def statements(self) -> list[Statement]:
        """All statements of it."""
        return [one for part in self.parts for one in part.statements]


@dataclass(frozen=True, slots=True)
class FlowStage:
    """One stage of the way of the notes, as the drawing shows it.

    Args:
        title: What happens.
        figure: How many notes, or spans, come out of it, in words.
        detail: A few words more.
        zone: Where it is kept, in words.
        sources: What the counts are from.
        withheld: Notes that go no further from here.
    """

    title: str
    figure: str
    detail: str
    zone: str
    sources: tuple[CitedSource, ...]
    withheld: int = 0


@dataclass(frozen=True, slots=True)
class MissingMeasure:
    """A measure that the document must have and has not.

    Args:
        measure: What it is.
        reason: Why it does not count: it was not made, or is of something else.
        remedy: What makes it, a command.
    """

    measure: str
    reason: str
    remedy: str

    def __str__(self) -> str:
        return f"missing: {self.measure}: {self.reason}; make it with {self.remedy}"


@dataclass(frozen=True, slots=True)
class MeasuredResult:
    """One measure with its result, for the verdict.

    Args:
        standing: The result.
        measure: What was measured.
        reason: Why this is the result.
        sources: The receipts of it.
    """

    standing: MeasureStanding
    measure: str
    reason: str
    sources: tuple[CitedSource, ...]


@dataclass(frozen=True, slots=True)
class LawItem:
    """What a law asks for, and where the document answers it.

    Args:
        asked: What it asks, with the paragraph.
        answer: Where it is answered, or that somebody has to write it.
        section: Name of the section; empty where people answer it.
    """

    asked: str
    answer: str
    section: str = ""


@dataclass(frozen=True, slots=True)
class EvidenceFile:
    """The document.

    Args:
        regime: For whom it is written.
        release: Name of the release.
        checked_at: When everything was checked, in words.
        software: Version that wrote the document.
        results: Every measure, the worst first.
        sections: In order.
        flow: Stages of the way of the notes.
        sources: The appendix.
        missing: What is missing; such a document is a draft.
        is_draft: Whether it was asked for as a draft.
    """

    regime: Regime
    release: str
    checked_at: str
    software: str
    results: Sequence[MeasuredResult]
    sections: Sequence[EvidenceSection]
    flow: Sequence[FlowStage]
    sources: Sequence[CitedSource]
    missing: Sequence[MissingMeasure] = field(default=())
    is_draft: bool = False

    @property
    def verdict(self) -> MeasureStanding:
        """The worst of what was measured; nothing better than *not measured* where a measure is
        missing.
        """
        found = [result.standing for result in self.results]
        if self.missing:
            found.append(MeasureStanding.UNMEASURED)
        return worst_of(found)


def worst_of(found: Iterable[MeasureStanding]) -> MeasureStanding:
    """Return the worst result; *not measured* where there is none."""
    order = list(MeasureStanding)
    return max(found, key=order.index, default=MeasureStanding.UNMEASURED)
