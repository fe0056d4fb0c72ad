"""Saving to and loading from the catalogue. Every function takes a session; the caller commits.

Saving again replaces what the same key held, so a re-materialization leaves no double rows.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from typing import Any

from sqlalchemy import Connection, Table, delete, func, insert
from sqlalchemy import select as sql_select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import IntegrityError
from sqlmodel import Session, col, select

from deid_assets.core.errors import InputError
from deid_assets.core.keys import Key
from deid_assets.core.note import Note
from deid_assets.core.span import SpanSet
from deid_assets.evaluation.counts import Counts, Evaluation, NoteCounts, Scheme
from deid_assets.store.tables import (
    ALL_LABELS,
    OUT_OF_SCOPE,
    BatchRow,
    CorpusRow,
    DecisionRow,
    DetectionRow,
    DetectorVersionRow,
    NoteRow,
    NoteScoreRow,
    ReleaseRow,
    RunRow,
    ScoreRow,
    SpanRow,
    StoredRow,
)

__all__ = [
    "batches_with",
    "derive_keyed_digest",
    "derive_keyed_id",
    "erase_batch",
    "load_decisions",
    "load_evaluation",
    "load_notes",
    "load_releases",
    "load_runs",
    "load_spans",
    "save_batch",
    "save_decision",
    "save_detection",
    "save_detector_version",
    "save_evaluation",
    "save_notes",
    "save_release",
    "save_run",
    "save_spans",
    "seconds_per_note",
]

_ASKED_AT_ONCE = 1000
"""Values in one condition; SQLite of older systems takes few more."""


def save_batch(session: Session, batch: str, *, corpus: str) -> None:
    """Make the batch, and its corpus, known; does nothing where they are."""
    _insert_new(session, CorpusRow(corpus=corpus))
    _insert_new(session, BatchRow(batch=batch, corpus=corpus))


def save_notes(session: Session, batch: str, notes: Iterable[Note], *, key: Key) -> None:
    """Replace the notes of a batch.

    Their texts are not stored, and their ids and digests only keyed.

    Raises:
        InputError: The batch is not known, or a note id occurs twice.
    """
    session.execute(delete(NoteRow).where(col(NoteRow.batch) == batch))
    columns = ("batch", "note_id", "digest", "language", "n_chars")
    rows = (
        (
            batch,
            derive_keyed_id(note.note_id, key),
            derive_keyed_digest(note, key),
            note.lang,
            len(note.text),
        )
        for note in notes
    )
    _insert_many(session, NoteRow, columns, rows)


def derive_keyed_id(note_id: str, key: Key) -> str:
    """Return what the catalogue has for a note's id, which may be the name of a file, and so of a
    patient.
    """
    return key.derive("catalogue note", note_id).hex()[:32]


def derive_keyed_digest(note: Note, key: Key) -> str:
    """Return what the catalogue keeps of a note's digest, which tells nothing to who has not the
    key.
    """
    return key.derive("catalogue", note.digest).hex()


def load_notes(session: Session, batch: str) -> Sequence[NoteRow]:
    """Return the notes of a batch, by id."""
    return session.exec(
        select(NoteRow).where(NoteRow.batch == batch).order_by(col(NoteRow.note_id))
    ).all()


def batches_with(session: Session, notes: Iterable[Note], *, key: Key) -> dict[str, set[str]]:
    """Return the batches that have some texts, each with the digests of those that it has."""
    digest_of = {derive_keyed_digest(note, key): note.digest for note in notes}
    found: dict[str, set[str]] = {}
    wanted = sorted(digest_of)
    for at in range(0, len(wanted), _ASKED_AT_ONCE):
        some = wanted[at : at + _ASKED_AT_ONCE]
        holding = select(NoteRow.batch, NoteRow.digest).where(col(NoteRow.digest).in_(some))
        for batch, digest in session.exec(holding):
            found.setdefault(batch, set()).add(digest_of[digest])
    return found


def save_detector_version(session: Session, name: str, version: str, *, digest: str = "") -> int:
    """Return the id of a detector version, made known if it was not.

    Args:
        session: Open session.
        name: Detector name.
        version: Its version.
        digest: Digest of its model or settings, where it has some.
    """
    _insert_new(session, DetectorVersionRow(name=name, version=version, digest=digest))
    known = select(DetectorVersionRow.id).where(
        DetectorVersionRow.name == name,
        DetectorVersionRow.version == version,
        DetectorVersionRow.digest == digest,
    )
    return session.exec(known).one()  # type: ignore[return-value]  # only a row not yet stored has no id


def save_spans(
    session: Session,
    batch: str,
    detector_version_id: int,
    span_sets: Iterable[SpanSet],
    *,
    key: Key,
) -> None:
    """Replace what a detector version found in a batch; ids of notes are keyed.

    Raises:
        InputError: The batch or the detector version is not known, or a note has two span sets.
    """
    mine = (col(SpanRow.batch) == batch, col(SpanRow.detector_version_id) == detector_version_id)
    session.execute(delete(SpanRow).where(*mine))
    columns = (
        "batch",
        "detector_version_id",
        "note_id",
        "position",
        "start",
        "end",
        "label",
        "score",
    )

    def rows() -> Iterator[tuple[Any, ...]]:
        for spans in span_sets:
            owner = (batch, detector_version_id, derive_keyed_id(spans.note_id, key))
            for position, span in enumerate(spans):
                yield (*owner, position, span.start, span.end, span.label.value, span.score)

    _insert_many(session, SpanRow, columns, rows())


def load_spans(session: Session, batch: str, detector_version_id: int) -> Sequence[SpanRow]:
    """Return what a detector version found in a batch, by note and position.

    A note without rows had no spans or was never read; the catalogue does not know which. Span
    sets, which do, are in the Parquet files.
    """
    found = select(SpanRow).where(
        SpanRow.batch == batch, SpanRow.detector_version_id == detector_version_id
    )
    return session.exec(found.order_by(col(SpanRow.note_id), col(SpanRow.position))).all()


def save_run(session: Session, run: RunRow) -> None:
    """Record a materialization in place of an earlier record of the same asset, batch and Dagster
    run.
    """
    same = (
        col(RunRow.asset) == run.asset,
        col(RunRow.batch) == run.batch,
        col(RunRow.dagster_run_id) == run.dagster_run_id,
    )
    session.execute(delete(RunRow).where(*same))
    session.add(run)
    session.flush()


def load_runs(
    session: Session, *, asset: str | None = None, batch: str | None = None
) -> Sequence[RunRow]:
    """Return materializations, the latest first."""
    runs = select(RunRow).order_by(col(RunRow.started).desc(), col(RunRow.id).desc())
    if asset is not None:
        runs = runs.where(RunRow.asset == asset)
    if batch is not None:
        runs = runs.where(RunRow.batch == batch)
    return session.exec(runs).all()


def save_evaluation(
    session: Session, batch: str, detector_version_id: int, evaluation: Evaluation
) -> None:
    """Replace a detector version's scores on a batch under the evaluation's profile."""
    profile = evaluation.profile
    mine = {"detector_version_id": detector_version_id, "batch": batch, "profile": profile}
    session.execute(delete(ScoreRow).filter_by(**mine))
    session.execute(delete(NoteScoreRow).filter_by(**mine))
    columns = ("detector_version_id", "batch", "profile", "label", "scheme", "tp", "fp", "fn")
    rows = (
        (detector_version_id, batch, profile, label, scheme, counts.tp, counts.fp, counts.fn)
        for label, scheme, counts in _cells(evaluation)
    )
    _insert_many(session, ScoreRow, columns, rows)
    notes = tuple(getattr(evaluation.notes, name) for name in NoteCounts.__slots__)
    columns = ("detector_version_id", "batch", "profile", *NoteCounts.__slots__)
    _insert_many(session, NoteScoreRow, columns, [(detector_version_id, batch, profile, *notes)])


def load_evaluation(
    session: Session,
    detector_version_id: int,
    profile: str,
    *,
    batches: Sequence[str] | None = None,
) -> Evaluation:
    """Return a detector version's scores under a profile, summed over batches.

    Zero where there are none.

    Args:
        session: Open session.
        detector_version_id: As ``save_detector_version`` gave it.
        profile: Name of the profile.
        batches: Those to sum; all when not given.
    """
    label, scheme = col(ScoreRow.label), col(ScoreRow.scheme)
    scores = (
        sql_select(
            label,
            scheme,
            *(func.sum(col(column)) for column in (ScoreRow.tp, ScoreRow.fp, ScoreRow.fn)),
        )
        .where(
            col(ScoreRow.detector_version_id) == detector_version_id,
            col(ScoreRow.profile) == profile,
        )
        .group_by(label, scheme)
    )
    sums = [func.sum(getattr(NoteScoreRow, name)) for name in NoteCounts.__slots__]
    notes = sql_select(*sums).where(
        col(NoteScoreRow.detector_version_id) == detector_version_id,
        col(NoteScoreRow.profile) == profile,
    )
    if batches is not None:
        scores = scores.where(col(ScoreRow.batch).in_(batches))
        notes = notes.where(col(NoteScoreRow.batch).in_(batches))
    cells = [(row[0], row[1], Counts(*map(int, row[2:]))) for row in session.execute(scores)]
    return _evaluation(
        profile, cells, NoteCounts(*(int(total or 0) for total in session.execute(notes).one()))
    )


def save_decision(session: Session, decision: DecisionRow) -> None:
    """Record a reviewer's decision in place of an earlier one on the same range.

    The batch must be known.
    """
    session.merge(decision)
    session.flush()


def load_decisions(session: Session, batch: str) -> Sequence[DecisionRow]:
    """Return the decisions on a batch, by note and offset."""
    order = (col(DecisionRow.note_id), col(DecisionRow.start), col(DecisionRow.end))
    return session.exec(
        select(DecisionRow).where(DecisionRow.batch == batch).order_by(*order)
    ).all()


def save_release(session: Session, release: ReleaseRow) -> None:
    """Record a release; the same manifest released again replaces its record."""
    session.merge(release)
    session.flush()


def load_releases(session: Session, *, policy: str | None = None) -> Sequence[ReleaseRow]:
    """Return releases, the latest first."""
    releases = select(ReleaseRow).order_by(col(ReleaseRow.created_at).desc(), col(ReleaseRow.batch))
    if policy is not None:
        releases = releases.where(ReleaseRow.policy == policy)
    return session.exec(releases).all()


def erase_batch(session: Session, batch: str) -> None:
    """Delete a batch with its notes, spans and decisions.

    Runs, scores and releases hold counts only and stay.
    """
    session.execute(delete(BatchRow).where(col(BatchRow.batch) == batch))


def _cells(evaluation: Evaluation) -> Iterator[tuple[str, str, Counts]]:
    for label, by_scheme in evaluation.cells.items():
        for scheme, counts in by_scheme.items():
            yield label, scheme.value, counts
    yield ALL_LABELS, Scheme.CHARACTERS.value, evaluation.characters
    for label, predictions in evaluation.out_of_scope.items():
        yield label, OUT_OF_SCOPE, Counts(fp=predictions)


def _evaluation(
    profile: str, cells: Iterable[tuple[str, str, Counts]], notes: NoteCounts
) -> Evaluation:
    """The inverse of ``_cells``."""
    by_label: dict[str, dict[Scheme, Counts]] = {}
    characters, out_of_scope = Counts(), {}
    for label, scheme, counts in cells:
        if scheme == OUT_OF_SCOPE:
            out_of_scope[label] = counts.fp
        elif label == ALL_LABELS:
            characters = counts
        else:
            by_label.setdefault(label, {})[Scheme(scheme)] = counts
    return Evaluation(profile, by_label, characters, notes, out_of_scope)


def _insert_new(session: Session, row: StoredRow) -> None:
    """Insert a row unless its key is there; two processes may do so at once."""
    table, values = type(row), row.model_dump(exclude={"id"})
    dialect = sqlite if session.get_bind().dialect.name == "sqlite" else postgresql
    session.execute(dialect.insert(table).values(**values).on_conflict_do_nothing())


def _insert_many(
    session: Session, kind: type[StoredRow], columns: Sequence[str], rows: Iterable[tuple[Any, ...]]
) -> None:
    table: Table = kind.__table__  # type: ignore[attr-defined]  # made by the metaclass
    connection = session.connection()
    try:
        if connection.dialect.name == "postgresql":
            _copy(connection, table, columns, rows)
        else:
            _insert_plain(connection, table, columns, rows)
    except IntegrityError:
        raise InputError(
            f"{table.name}: a row is there twice, or its batch or detector version is unknown; "
            "save_batch and save_detector_version come first"
        ) from None


def _insert_plain(
    connection: Connection, table: Table, columns: Sequence[str], rows: Iterable[tuple[Any, ...]]
) -> None:
    """Insert by SQLite's own driver, which takes the rows of a batch one by one as they are."""
    statement = insert(table).compile(dialect=connection.dialect, column_keys=list(columns))
    places = [columns.index(name) for name in statement.positiontup or ()]
    cursor: sqlite3.Cursor = connection.connection.cursor()  # type: ignore[assignment]  # of SQLite
    try:
        cursor.executemany(str(statement), map(itemgetter(*places), rows))
    except sqlite3.IntegrityError as error:
        raise IntegrityError(None, None, type(error)()) from None
    finally:
        cursor.close()


def _copy(
    connection: Connection, table: Table, columns: Sequence[str], rows: Iterable[tuple[Any, ...]]
) -> None:
    """COPY takes 100,000 rows in a fraction of the time of INSERT."""
    import psycopg  # noqa: PLC0415 - an optional dependency

    names = ", ".join(connection.dialect.identifier_preparer.quote(name) for name in columns)
    cursor: psycopg.Cursor = connection.connection.cursor()  # type: ignore[assignment]  # the only driver we set
    try:
        with cursor, cursor.copy(f"COPY {table.name} ({names}) FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)
    except (psycopg.IntegrityError, psycopg.DataError) as error:
        # The server's message quotes the row.
        raise IntegrityError(None, None, type(error)()) from None


def save_detection(
    session: Session, batch: str, detector_version_id: int, *, notes: int, seconds: float
) -> None:
    """Record how long a detector version took for a batch, in place of an earlier record."""
    session.merge(
        DetectionRow(
            detector_version_id=detector_version_id, batch=batch, notes=notes, seconds=seconds
        )
    )
    session.flush()


def seconds_per_note(
    session: Session, name: str, version: str, *, digest: str = ""
) -> float | None:
    """Return what a detector version took per note over all batches.

    ``None`` where it ran on none.
    """
    sums = sql_select(func.sum(col(DetectionRow.notes)), func.sum(col(DetectionRow.seconds)))
    of_version = sums.join(
        DetectorVersionRow, col(DetectorVersionRow.id) == col(DetectionRow.detector_version_id)
    )
    found = of_version.where(
        col(DetectorVersionRow.name) == name,
        col(DetectorVersionRow.version) == version,
        col(DetectorVersionRow.digest) == digest,
    )
    notes, seconds = session.execute(found).one()
    return float(seconds) / int(notes) if notes else None
