"""How a foreign source is read and how a file is written."""

from __future__ import annotations

import string
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeVar, get_args

from deid_assets.core.errors import ConfigError

OffsetUnit = Literal["codepoint", "utf8", "utf16"]
Discontinuous = Literal["refuse", "split"]
BratLabels = Literal["phi", "native"]
TagScheme = Literal["bio", "iob1", "iob2", "bioes", "bilou"]
Formulas = Literal["plain", "escaped"]

MAX_NOTE_CHARS = 10_000_000

IGNORED = (
    "._*",
    ".DS_Store",
    "*.part",
    "__MACOSX",
    "Thumbs.db",
    "desktop.ini",
    "batch.toml",
    "annotation.conf",
    "visual.conf",
    "tools.conf",
    "kb_shortcuts.conf",
)
"""Names that are no notes.

Unfinished copies, what systems add to folders and archives, settings of brat.
"""


@dataclass(frozen=True, slots=True)
class Columns:
    """Names of the fields in JSON Lines, CSV and Parquet.

    Args:
        note_id: Required in the source.
        text: Required in the source.
        patient_id: Optional in the source, as are all below.
        lang: ISO 639-1 code.
        spans: A list of spans; in CSV, that list as JSON in one cell.
        meta: An object of strings; in CSV, that object as JSON in one cell.
        into_meta: Further fields to keep in ``Note.meta``. Other fields are left out: they may
            identify.
    """

    note_id: str = "id"
    text: str = "text"
    patient_id: str = "patient_id"
    lang: str = "lang"
    spans: str = "spans"
    meta: str = "meta"
    into_meta: tuple[str, ...] = ()

    @property
    def known(self) -> tuple[str, ...]:
        """The six named fields, in the order in which they are written."""
        return (self.note_id, self.lang, self.patient_id, self.text, self.spans, self.meta)

    def show(self, name: str) -> str:
        """Return a required column as a message may name it.

        One that a sender names otherwise stays unsaid.
        """
        return repr(name) if name in ("id", "text") else f"that --read {self.flag(name)} names"

    def flag(self, name: str) -> str:
        """Return the reading option that names a required column."""
        return {self.note_id: "column.id", self.text: "column.text"}.get(name, "column.KEY")

    def __post_init__(self) -> None:
        names = (*self.known, *self.into_meta)
        if len(set(names)) != len(names) or not all(names):
            raise ConfigError("column names must be distinct and not empty")


def _check_scheme(scheme: str) -> None:
    if scheme not in get_args(TagScheme):
        raise ConfigError(f"scheme is {scheme!r}; choose {', '.join(get_args(TagScheme))}")


@dataclass(frozen=True, slots=True)
class Conll:
    """Options for the columns and tags of CoNLL files.

    A first line ``# global.columns = FORM START END TAG``, as the writer gives it, goes before the
    four places.

    Args:
        scheme: ``bio`` and ``iob2`` begin every entity with B-; ``iob1`` only one that follows its
            like.
        repair: Begin an entity at a tag that continues none, and end one whose last tag is missing,
            where the default withholds the note.
        token: Place of the column with tokens, from 0; negative from the end, as in all four.
        tag: Place of the column with tags.
        start: Place of the column with the token's first offset in the note, in the unit of
            ``ReadOptions.offsets``.
        end: Place of the column with the offset behind the token; given with ``start`` or not at
            all.

    Raises:
        ConfigError: The scheme is unknown, two columns have one place, or only one of ``start`` and
            ``end`` is given.
    """

    scheme: TagScheme = "bio"
    repair: bool = False
    token: int = 0
    tag: int = -1
    start: int | None = None
    end: int | None = None

    def __post_init__(self) -> None:
        _check_scheme(self.scheme)
        if (self.start is None) is not (self.end is None):
            raise ConfigError("conll start and end go together; name both columns or neither")
        places = [
            place for place in (self.token, self.tag, self.start, self.end) if place is not None
        ]
        if len(set(places)) != len(places):
            raise ConfigError("conll token, tag, start and end must be distinct columns")


@dataclass(frozen=True, slots=True)
class FormatOptions:
    """Base of the options that formats of a plugin share.

    A frozen dataclass whose fields are all set by default.

    Each field is a string, a truth value or a number, and ``--read GROUP.FIELD=VALUE`` sets it;
    what is not allowed raises ``ConfigError`` when it is made.
    """

    group: ClassVar[str] = ""


_Options = TypeVar("_Options", bound=FormatOptions)


@dataclass(frozen=True, slots=True)
class Archives:
    """Limits on unpacking archives.

    Args:
        max_depth: Archives in archives; 1 reads no archive inside of another.
        max_members: Of one archive with those inside of it. A member takes 1.5 ms of a core.
        max_member_bytes: Of one member, unpacked.
        max_total_bytes: Of one archive with those inside of it, unpacked.
        max_ratio: Unpacked to packed bytes, beyond the first MiB. Clinical text packs about 3 to 10
            to 1.

    Raises:
        ConfigError: A limit is below 1.
    """

    max_depth: int = 3
    max_members: int = 50_000
    max_member_bytes: int = 1 << 30
    max_total_bytes: int = 1 << 32
    max_ratio: int = 200

    def __post_init__(self) -> None:
        limits = (
            self.max_depth,
            self.max_members,
            self.max_member_bytes,
            self.max_total_bytes,
            self.max_ratio,
        )
        if min(limits) < 1:
            raise ConfigError("every limit of archives must be at least 1")


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Options of a reader.

    Args:
        offsets: Unit in which the source counts; offsets are converted to code points as they are
            read.
        discontinuous: What to do with a brat annotation of several fragments: ``refuse`` withholds
            the note, ``split`` makes one span of each fragment.
        max_note_chars: Longer notes become a fault, in code points.
        encoding: Of text, brat, CSV, JSON Lines and CoNLL; XML declares its own and Parquet is
            UTF-8.
        columns: Names of the fields.
        delimiter: Of CSV; one ASCII character.
        formulas: Of CSV: ``escaped`` takes the apostrophe away that keeps a cell from being
            computed, ``plain`` reads every cell as it is.
        conll: Columns and tags of CoNLL.
        annotations: Whether annotations are read. Where they are not, every note comes with
            ``spans=None``, and a fault in its annotations does not withhold it.
        archives: Limits of what is unpacked.
        ignore: Patterns, as of a shell, of files in folders and archives that are no notes and are
            passed over.
        formats: Options of the formats of plugins, one of a kind.

    Raises:
        ConfigError: A value is not one of those allowed.
    """

    offsets: OffsetUnit = "codepoint"
    discontinuous: Discontinuous = "refuse"
    max_note_chars: int = MAX_NOTE_CHARS
    encoding: str = "utf-8"
    columns: Columns = Columns()
    delimiter: str = ","
    formulas: Formulas = "plain"
    annotations: bool = True
    conll: Conll = Conll()
    archives: Archives = Archives()
    ignore: tuple[str, ...] = IGNORED
    formats: tuple[FormatOptions, ...] = ()

    def of(self, kind: type[_Options]) -> _Options:
        """Return the options of a plugin's formats: those that were told, or the default ones."""
        return next((told for told in self.formats if isinstance(told, kind)), kind())

    @property
    def fields(self) -> tuple[str, ...]:
        """The named fields that are read."""
        return tuple(
            name for name in self.columns.known if self.annotations or name != self.columns.spans
        )

    def __post_init__(self) -> None:
        if self.offsets not in ("codepoint", "utf8", "utf16"):
            raise ConfigError(f"offsets is {self.offsets!r}; choose codepoint, utf8 or utf16")
        if self.discontinuous not in ("refuse", "split"):
            raise ConfigError(f"discontinuous is {self.discontinuous!r}; choose refuse or split")
        if self.max_note_chars < 1:
            raise ConfigError(f"max_note_chars is {self.max_note_chars}; it must be at least 1")
        _check_delimiter(self.delimiter)
        _check_formulas(self.formulas)
        _check_encoding(self.encoding)


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """Options of a writer. Text is always UTF-8.

    Args:
        columns: Names of the fields; ``into_meta`` is not used, ``Note.meta`` is written to the
            ``meta`` field.
        delimiter: Of CSV; one ASCII character.
        formulas: Of CSV: ``escaped`` puts an apostrophe before what a spreadsheet would compute,
            and moves the spans of such a text by one; ``plain`` writes every cell as it is.
        brat_labels: ``phi`` writes the category, ``native`` the native label where a span has one.
        conll_scheme: How CoNLL tags spell an entity.

    Raises:
        ConfigError: A value is not one of those allowed.
    """

    columns: Columns = Columns()
    delimiter: str = ","
    formulas: Formulas = "escaped"
    brat_labels: BratLabels = "phi"
    conll_scheme: TagScheme = "bio"

    def __post_init__(self) -> None:
        if self.brat_labels not in ("phi", "native"):
            raise ConfigError(f"brat_labels is {self.brat_labels!r}; choose phi or native")
        _check_scheme(self.conll_scheme)
        _check_delimiter(self.delimiter)
        _check_formulas(self.formulas)


def _check_encoding(encoding: str) -> None:
    try:
        b"none".decode(encoding)
    except UnicodeDecodeError:
        return  # known, and these bytes are not in it
    except (LookupError, ValueError):
        raise ConfigError(
            f"encoding {encoding!r} is not known to Python; try utf-8, latin-1 or cp1252"
        ) from None


def _check_formulas(formulas: str) -> None:
    if formulas not in get_args(Formulas):
        raise ConfigError(f"formulas is {formulas!r}; choose {' or '.join(get_args(Formulas))}")


def _check_delimiter(delimiter: str) -> None:
    if (
        len(delimiter) != 1
        or not delimiter.isascii()
        or delimiter in f'"\r\n{string.ascii_letters}{string.digits}'
    ):
        raise ConfigError(
            f"delimiter is {delimiter!r}; choose one ASCII character such as ',', ';' or a tab"
        )
