"""A feed from a database: one row of a query for each note, streamed from the server.

Neither the address nor what the database says of an error stands in a message: both may hold a
password or text.
"""

from __future__ import annotations

import datetime as dt
import os
import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Engine, column, create_engine, literal, or_, select, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SAWarning, SQLAlchemyError
from sqlalchemy.pool import NullPool
from sqlalchemy.sql import Select

from deid_assets.config.feeds import SqlOptions
from deid_assets.core.errors import ConfigError, InputError, class_name
from deid_assets.feeds.marks import higher_mark, is_finite, is_past, lower_mark, mark_of, value_of
from deid_assets.feeds.source import Found, Gone, Unit, Watermark
from deid_assets.formats.annotated import Fault, ParsedNote

QUERY = Unit("query")
"""The only unit of a database."""
_STATE = re.compile(r"[0-9A-Z]{5}")
_TRUE = frozenset({"1", "t", "true", "y", "yes", "x"})
_FALSE = frozenset({"", "0", "f", "false", "n", "no"})
_END = re.compile(r"""[;\s]*;\s*(?:--[^\n'"$`*\]]*\s*|/\*[^'"$`*\]]*\*/\s*)*\Z""")
"""A semicolon at the end, and comments after it that cannot be the end of a string."""


class SqlFeed:
    """Rows of a query.

    Args:
        options: As the settings have them.
        max_chars: Most characters of a note.

    Raises:
        ConfigError: The address cannot be read, or the password's variable is not set.
    """

    def __init__(self, options: SqlOptions, *, max_chars: int) -> None:
        self._options, self._max_chars = options, max_chars
        self._url = url_of(options)
        names = (options.id, options.text, options.patient, options.language)
        self._columns = list(filter(None, [*names, options.watermark, options.deleted]))

    @property
    def is_whole(self) -> bool:
        """Whether every row is read at each run, for want of a watermark."""
        return not self._options.watermark

    def units(self) -> list[Unit]:
        """Return the query, which has no version."""
        return [QUERY]

    def read(self, unit: Unit, since: str) -> Iterator[Found]:
        """Yield each row as a note, a fault or a deletion, and last the highest watermark.

        A row without a watermark is read at each run.

        Raises:
            InputError: The database failed.
        """
        del unit
        highest = value_of(since) if since and self._options.watermark else None
        query = self._rows(self._columns, since=highest)
        with failing(), self._connect() as connection:
            if highest is not None:
                self._higher(highest, connection.execute(self._any_mark()).scalar())
            for row in connection.execute(query).mappings():
                if self._options.watermark:
                    highest = self._higher(highest, row[self._options.watermark])
                yield self._read_row(row)
        if highest is not None:
            yield Watermark(mark_of(highest))

    def ids(self, unit: Unit) -> Iterator[str]:
        """Yield the id of every row that is not marked as deleted.

        Raises:
            InputError: The database failed.
        """
        del unit
        columns = list(filter(None, [self._options.id, self._options.deleted]))
        with failing(), self._connect() as connection:
            for row in connection.execute(self._rows(columns)).mappings():
                note_id = _id(row[self._options.id])
                if note_id and not self._is_deleted(row):
                    yield note_id

    def described(self) -> Mapping[str, str]:
        """Return the address without a password, and how changes are known."""
        options = self._options
        known = f"column {options.watermark}" if options.watermark else "reading every row"
        return {
            "address": self._url.set(password=None).render_as_string(hide_password=True),
            "changes are known by": known,
            "rows marked as deleted": options.deleted or "none",
        }

    def _rows(self, columns: list[str], *, since: Any = None) -> Select[Any]:
        """Return the query for some of its columns, from a watermark on."""
        asked = list(dict.fromkeys(columns))
        # A colon would begin a parameter, and the query has none.
        query_text = _END.sub("", self._options.query.strip()).replace(":", r"\:")
        inner = text(f"{query_text}\n")  # it may end in a comment
        rows = inner.columns(*map(column, asked)).subquery("feed")
        query: Select[Any] = select(*(rows.c[name] for name in asked))
        if since is None:
            return query
        mark = rows.c[self._options.watermark]
        return query.where(
            or_(mark >= literal(lower_mark(since, self._options.overlap)), mark.is_(None))
        )

    def _any_mark(self) -> Select[Any]:
        """Return a query for one watermark.

        Where the column became one of another kind, SQLite finds no row above the last watermark.
        """
        name = self._options.watermark
        mark = self._rows([name]).subquery("one").c[name]
        return select(mark).where(mark.is_not(None)).limit(1)

    def _higher(self, highest: Any, mark: Any) -> Any:
        if mark is None:
            return highest
        try:
            return higher_mark(highest, mark)
        except InputError as error:
            raise InputError(f"column {self._options.watermark}: {error}") from None

    @contextmanager
    def _connect(self) -> Iterator[Connection]:
        """Open the database for reading, some rows at a time."""
        with warnings.catch_warnings(action="ignore", category=SAWarning):
            engine = engine_of(self._url)
            try:
                with engine.connect() as connection:
                    yield connection.execution_options(
                        yield_per=self._options.fetch, postgresql_readonly=True
                    )
            finally:
                engine.dispose()

    def _read_row(self, row: Mapping[Any, Any]) -> Found:
        options = self._options
        note_id, said = _id(row[options.id]), row[options.text]
        if not note_id:
            return Fault.at("query", "missing-field", "a row has no id; give every note one")
        if self._is_deleted(row):
            return Gone(note_id)
        if said is None:
            reason = "the row has no text; leave it out of the query, or fill it"
            return Fault.at("query", "missing-field", reason, note_id=note_id)
        if not isinstance(said, str):
            reason = "the text is no string of characters; convert it in the query"
            return Fault.at("query", "malformed", reason, note_id=note_id)
        if len(said) > self._max_chars:
            reason = f"has more than {self._max_chars:,} characters; raise max_note_chars"
            return Fault.at("query", "too-large", reason, note_id=note_id)
        patient = _id(row[options.patient]) if options.patient else None
        language = row[options.language] if options.language else None
        return ParsedNote(
            "query",
            note_id,
            said,
            patient_id=patient or None,
            lang=language if isinstance(language, str) else None,
        )

    def _is_deleted(self, row: Mapping[Any, Any]) -> bool:
        if not self._options.deleted:
            return False
        try:
            return is_true(row[self._options.deleted])
        except InputError as error:
            raise InputError(f"column {self._options.deleted}: {error}") from None


def is_true(flag: Any) -> bool:
    """Whether a column says that a note is deleted; a time says when it was.

    Raises:
        InputError: It is neither true nor false, or a time to come; it is not shown.
    """
    if isinstance(flag, bytes | bytearray | memoryview):
        flag = _decode(bytes(flag))
    if flag is None:
        return False
    if isinstance(flag, str):
        word = flag.strip().lower()
        if word in _TRUE or is_past(flag.strip()):
            return True
        if word in _FALSE:
            return False
    elif isinstance(flag, dt.date):
        if is_past(flag):
            return True
    elif isinstance(flag, int | float | Decimal) and is_finite(flag) and flag == int(flag):
        return bool(flag)
    raise InputError(
        "the column that says which notes are deleted is neither true nor false in a row; write a"
        " condition in the query, such as state = 'D' AS deleted"
    )


def _decode(flag: bytes) -> int | str:
    """Return the bit or the word that a driver gives as bytes."""
    if not any(flag[:-1]) and flag[-1:] in {b"", b"\x00", b"\x01"}:
        return int.from_bytes(flag)
    return flag.decode("utf-8", errors="replace")


def url_of(options: SqlOptions) -> URL:
    try:
        url = make_url(options.url)
    except ArgumentError:  # its message quotes the address
        raise ConfigError(
            "url cannot be read; write such as postgresql://user@host/name, with special characters"
            " escaped"
        ) from None
    if url.drivername == "postgresql":
        url = url.set(drivername="postgresql+psycopg")
    if url.get_backend_name() == "sqlite" and not Path(url.database or "").is_file():
        raise ConfigError("url names an SQLite file that is not there; write its absolute path")
    if not options.password_env:
        return url
    password = os.environ.get(options.password_env)
    if not password:
        raise ConfigError(
            f"the environment variable {options.password_env} is not set; set it to the password"
        )
    return url.set(password=password)


def engine_of(url: URL) -> Engine:
    # Errors must not show the rows that caused them.
    return create_engine(url, hide_parameters=True, poolclass=NullPool)


@contextmanager
def failing() -> Iterator[None]:
    """Say of what the database raises its kind alone.

    Raises:
        InputError: It raised something.
    """
    try:
        yield
    except (SQLAlchemyError, ImportError, KeyError, TypeError, ValueError, OSError) as error:
        if isinstance(error, InputError):
            raise
        origin = getattr(error, "orig", None) if isinstance(error, DBAPIError) else None
        state = str(getattr(origin, "sqlstate", None) or "")
        kind = f"{class_name(error)}, SQLSTATE {state}" if _STATE.fullmatch(state) else None
        raise InputError(
            f"the database failed ({kind or class_name(error)}); check the address, the driver, the"
            " query, its columns and the rights"
        ) from None


def _id(value: Any) -> str:
    """Return an id as a string, empty where there is none."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, bool) or value is None:
        return ""
    if isinstance(value, float | Decimal) and value == int(value):
        return str(int(value))
    return str(value) if isinstance(value, int | float | Decimal | UUID) else ""
