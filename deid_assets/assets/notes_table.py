"""landed_notes: the rows of a table of notes that somebody else's asset holds, as arrivals.

A row is taken once. A store table says which rows were, by keyed digests, so that a table that is
made again every night brings only what is new or changed.
"""

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa

from deid_assets.assets.declarations import AssetOutput, Check
from deid_assets.core.errors import InputError, did_you_mean
from deid_assets.intake.landing import take_entry
from deid_assets.quality import Verdict
from deid_assets.runtime.installation import Installation
from deid_assets.store.files import ALL
from deid_assets.system.atomic import atomic_path

LANDED_NOTES = "landed_notes"
ROWS = pa.schema(
    [
        pa.field("note_id", pa.string(), nullable=False),
        pa.field("row", pa.string(), nullable=False),
        pa.field("arrival", pa.string(), nullable=False),
    ]
)
"""What was taken: note id, keyed digest of the row, and the arrival that it is in."""
CHECKS = (
    Check("ids_usable", "Every row has an id of its own."),
    Check(
        "earlier_versions",
        "No batch holds an earlier version of a row, or a row that the table has no more.",
        blocking=False,
    ),
)
_AT_MOST = 5
"""Batches that a reason names."""


@dataclass(frozen=True, slots=True)
class NotesTable:
    """An asset of somebody else that holds notes, and its columns.

    Args:
        asset: Key, its parts joined by slashes.
        id: Column of the note's id.
        text: Column of its text.
        patient: Column of the patient's id; none where empty.
        lang: Column of its ISO 639-1 code; none where empty: the language is detected.
    """

    asset: str
    id: str
    text: str
    patient: str = ""
    lang: str = ""

    @property
    def columns(self) -> dict[str, str]:
        """Attribute to the column that it names."""
        named = asdict(self)
        return {name: named[name] for name in ("id", "text", "patient", "lang") if named[name]}


@dataclass(frozen=True, slots=True)
class _Row:
    """A row with its keyed digest."""

    note_id: str
    record: Mapping[str, str]
    digest: str


def make_landed_notes(
    _batch: str, installation: Installation, *, table: NotesTable, frame: Any
) -> AssetOutput:
    """Drop the rows that are new or changed as one arrival.

    Args:
        installation: Opened.
        table: Which columns are what.
        frame: A pandas, Polars or Arrow table, or a mapping of partition to one.

    Raises:
        InputError: It is no table, a column is missing, or one holds what it cannot.
    """
    columns = _columns(frame, table)
    ids = [_identifier(value, table, "id") for value in columns["id"]]
    usable = _ids_usable(ids, table)
    known = _read_known(installation)
    if usable.failed:
        return AssetOutput(tables={"rows": _rows_table({})}, sources=[], verdicts=[usable])
    rows = {row.note_id: row for row in _rows(ids, columns, table, installation)}
    fresh = [row for row in rows.values() if known.get(row.note_id, ("",))[0] != row.digest]
    stale = {note_id: known[note_id] for note_id in known if _is_stale(note_id, rows, known)}
    changed = sum(note_id in rows for note_id in stale)
    arrival = _drop(fresh, installation) if fresh else ""
    taken = {note_id: entry for note_id, entry in known.items() if note_id in rows}
    taken |= {row.note_id: (row.digest, arrival) for row in fresh}
    return AssetOutput(
        tables={"rows": _rows_table(taken)},
        sources=[],
        verdicts=[usable, _earlier_versions(stale, changed)],
        counts={
            "rows": len(rows),
            "new": len(fresh) - changed,
            "changed": changed,
            "unchanged": len(rows) - len(fresh),
            "gone": len(stale) - changed,
        },
        metadata={"arrival": arrival or "none"},
    )


def _is_stale(note_id: str, rows: Mapping[str, _Row], known: Mapping[str, tuple[str, str]]) -> bool:
    return note_id not in rows or rows[note_id].digest != known[note_id][0]


def _read_known(installation: Installation) -> dict[str, tuple[str, str]]:
    """Return by note id the digest and arrival of the rows that were taken."""
    if installation.files.find(LANDED_NOTES, ALL) is None:
        return {}
    stored = installation.files.read(LANDED_NOTES, ALL, "rows").to_pylist()
    return {row["note_id"]: (row["row"], row["arrival"]) for row in stored}


def _rows_table(taken: Mapping[str, tuple[str, str]]) -> pa.Table:
    rows = [
        {"note_id": note_id, "row": digest, "arrival": arrival}
        for note_id, (digest, arrival) in sorted(taken.items())
    ]
    return pa.Table.from_pylist(rows, schema=ROWS)


def _columns(frame: Any, table: NotesTable) -> dict[str, list[Any]]:
    """Return by attribute the values of its column.

    Raises:
        InputError: It is no table, or a column is not there.
    """
    frames = list(frame.values()) if isinstance(frame, Mapping) else [frame]
    found: dict[str, list[Any]] = {name: [] for name in table.columns}
    for one in frames:
        for name, values in _columns_of(one, table).items():
            found[name] += values
    return found


def _columns_of(frame: Any, table: NotesTable) -> dict[str, list[Any]]:
    frame = frame.to_pandas() if hasattr(frame, "to_pandas") else frame
    if not hasattr(frame, "columns") or not hasattr(frame, "__getitem__"):
        raise InputError(
            f"notes.asset: {table.asset} holds a {type(frame).__name__} and no table; return a"
            " pandas, Polars or Arrow table from it"
        )
    there = [str(column) for column in frame.columns]
    for name, column in table.columns.items():
        # What else is there is not listed: of a file that was read without a header, the first row
        # is.
        if there.count(column) != 1:
            raise InputError(
                f"notes.{name}: {table.asset} has {_how_many(there.count(column))} column"
                f" {column!r} among its {len(there)}{did_you_mean(column, there)}; name one of its"
                f" columns in notes.{name}"
            )
    return {name: frame[column].tolist() for name, column in table.columns.items()}


def _how_many(times: int) -> str:
    return f"{times} times the" if times else "no"


def _rows(
    ids: Sequence[str | None],
    columns: Mapping[str, Sequence[Any]],
    table: NotesTable,
    installation: Installation,
) -> Iterator[_Row]:
    for at, note_id in enumerate(ids):
        record = {"id": note_id or "", "text": _text(columns["text"][at], table)}
        for name, field in (("patient", "patient_id"), ("lang", "lang")):
            value = _identifier(columns[name][at], table, name) if name in columns else None
            if value is not None:
                record[field] = value
        parts = (f"{field}={value}" for field, value in sorted(record.items()))
        digest = installation.key.derive("row", *map(_encodable, parts)).hex()
        yield _Row(note_id or "", record, digest)


def _encodable(text: str) -> str:
    """Return a text without lone surrogates, which have no bytes in UTF-8."""
    return text.encode(errors="backslashreplace").decode()


def _is_missing(value: Any) -> bool:
    """Whether a cell is empty: None, NaN, or NA of a library, which equals nothing."""
    if value is None or type(value).__name__ in {"NAType", "NaTType"}:
        return True
    return isinstance(value, float) and math.isnan(value)


def _identifier(value: Any, table: NotesTable, name: str) -> str | None:
    """Return an id or code as text, or None of an empty cell.

    Whole numbers count as such also where an empty cell made the column one of floats.

    Raises:
        InputError: It is neither text nor a whole number.
    """
    if _is_missing(value) or value == "":
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise InputError(
            f"notes.{name}: column {table.columns[name]!r} of {table.asset} holds a"
            f" {type(value).__name__}; make it text or whole numbers, or name another column"
        )
    return str(value)


def _text(value: Any, table: NotesTable) -> str:
    """Return a note's text; an empty cell is a note without text, which is withheld later.

    Raises:
        InputError: It is no text.
    """
    if _is_missing(value):
        return ""
    if not isinstance(value, str):
        raise InputError(
            f"notes.text: column {table.text!r} of {table.asset} holds a {type(value).__name__}"
            " where text is needed; name the column of the text in notes.text"
        )
    return value


def _ids_usable(ids: Sequence[str | None], table: NotesTable) -> Verdict:
    times = Counter(note_id for note_id in ids if note_id is not None)
    missing = len(ids) - sum(times.values())
    doubled = sum(count for count in times.values() if count > 1)
    reasons = []
    if doubled:
        reasons.append(
            f"notes.id: {doubled:,} rows of {table.asset} share their id in column"
            f" {table.id!r} with another row; keep one row per note, or name a column that is"
            " unique in notes.id"
        )
    if missing:
        reasons.append(
            f"notes.id: {missing:,} rows of {table.asset} have no id in column {table.id!r}; give"
            " them one, or leave them out"
        )
    return Verdict(
        "ids_usable",
        passed=not reasons,
        blocking=True,
        counts={"rows": len(ids), "doubled": doubled, "missing": missing},
        description="Every row has an id of its own.",
        reasons=reasons,
    ).unless(not ids, "the table has no rows")


def _earlier_versions(stale: Mapping[str, tuple[str, str]], changed: int) -> Verdict:
    arrivals = sorted({arrival for _, arrival in stale.values()})
    shown = ", ".join(arrivals[:_AT_MOST]) + (" …" if arrivals[_AT_MOST:] else "")
    reason = (
        f"{changed:,} rows changed and {len(stale) - changed:,} are gone since they were taken;"
        f" their earlier versions are in {shown}, released or not: take such a batch back with"
        " `deid batches withdraw BATCH --with-release`"
    )
    return Verdict(
        "earlier_versions",
        passed=not stale,
        blocking=False,
        counts={"changed": changed, "gone": len(stale) - changed},
        description="Batches hold no earlier version of a row.",
        reasons=[reason] if stale else [],
    )


def _drop(rows: Sequence[_Row], installation: Installation) -> str:
    """Take rows in as one arrival, and return its id.

    Sorted, so that the same rows are the same arrival: after a crash between this and the storing
    of what was taken, they are not doubled.
    """
    settings = installation.settings
    name = f"rows-{installation.key.derive('rows', *sorted(row.digest for row in rows)).hex()[:16]}"
    path = settings.landing / f"{name}.jsonl"
    settings.landing.mkdir(parents=True, exist_ok=True, mode=0o700)
    with atomic_path(path, mode=0o600) as part, part.open("w", encoding="utf-8") as file:
        for row in sorted(rows, key=lambda row: row.note_id):
            file.write(json.dumps(row.record) + "\n")
    return take_entry(settings, path)
