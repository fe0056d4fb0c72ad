"""The catalogue gives back what was saved, once."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone

import pytest
import sqlalchemy as sa
from sqlmodel import Session

from deid_assets.core.errors import InputError
from deid_assets.core.keys import Key
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.span import Span, SpanSet
from deid_assets.evaluation.counts import Counts, Evaluation, NoteCounts, Scheme
from deid_assets.store.database import Database
from deid_assets.store.records import (
    derive_keyed_digest,
    derive_keyed_id,
    erase_batch,
    load_decisions,
    load_evaluation,
    load_notes,
    load_releases,
    load_runs,
    load_spans,
    save_batch,
    save_decision,
    save_detector_version,
    save_evaluation,
    save_notes,
    save_release,
    save_run,
    save_spans,
)
from deid_assets.store.tables import (
    DecisionRow,
    DetectorVersionRow,
    NoteRow,
    ReleaseRow,
    RunRow,
    SpanRow,
)

NOTES = [Note("a", "XCANARYX was seen", "XCANARYX", "en", {"ward": "XCANARYX"}), Note("b", "")]
SPANS = [
    SpanSet.of(
        NOTES[0], [Span(0, 8, Phi.NAME, 0.1 + 0.2, "rules"), Span(0, 3, Phi.DATE, source="rules")]
    ),
    SpanSet.of(NOTES[1], []),
]
KEY = Key(b"0123456789abcdef")
T0 = datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.fixture
def session(database: Database):
    with database.session() as opened:
        save_batch(opened, "b-1", corpus="c")
        save_batch(opened, "b-2", corpus="c")
        yield opened


def count(session: Session, kind: type) -> int:
    return session.scalar(sa.select(sa.func.count()).select_from(kind))


def test_notes_come_back_without_their_text(session: Session) -> None:
    for _ in range(2):
        save_notes(session, "b-1", NOTES, key=KEY)

    rows = load_notes(session, "b-1")

    assert [(row.note_id, row.digest, row.language, row.n_chars) for row in rows] == [
        (
            derive_keyed_id(note.note_id, KEY),
            derive_keyed_digest(note, KEY),
            note.lang,
            len(note.text),
        )
        for note in sorted(NOTES, key=lambda note: derive_keyed_id(note.note_id, KEY))
    ]
    assert "XCANARYX" not in str(rows)
    assert load_notes(session, "b-2") == []


def test_spans_are_replaced_per_batch_and_detector_version(session: Session) -> None:
    first = save_detector_version(session, "rules", "1")
    second = save_detector_version(session, "rules", "2", digest="f" * 64)
    for batch, version in [("b-1", first), ("b-1", second), ("b-2", first)]:
        save_spans(session, batch, version, SPANS, key=KEY)

    save_spans(session, "b-1", first, [SpanSet.of(NOTES[0], [Span(4, 5, Phi.AGE)])], key=KEY)
    save_spans(session, "b-2", first, [], key=KEY)

    assert [
        (row.position, row.start, row.end, row.label) for row in load_spans(session, "b-1", first)
    ] == [(0, 4, 5, "AGE")]
    assert [
        (row.note_id, row.position, row.start, row.end, row.label, row.score)
        for row in load_spans(session, "b-1", second)
    ] == [
        (derive_keyed_id("a", KEY), 0, 0, 3, "DATE", 1.0),
        (derive_keyed_id("a", KEY), 1, 0, 8, "NAME", 0.1 + 0.2),
    ]
    assert load_spans(session, "b-2", first) == []


def test_an_id_that_names_a_patient_is_kept_keyed(session: Session, database: Database) -> None:
    note = Note("clinic/XCANARYX_Zoe", "Seen.")
    version = save_detector_version(session, "rules", "1")
    save_notes(session, "b-1", [note], key=KEY)
    save_spans(session, "b-1", version, [SpanSet.of(note, [Span(0, 4, Phi.NAME)])], key=KEY)

    assert load_notes(session, "b-1")[0].note_id == load_spans(session, "b-1", version)[0].note_id
    assert "CANARY" not in str([load_notes(session, "b-1"), load_spans(session, "b-1", version)])
    assert derive_keyed_id("a", KEY) != derive_keyed_id("a", Key(bytes(16)))


def test_a_detector_version_has_one_id(session: Session) -> None:
    ids = {
        save_detector_version(session, "rules", "1", digest=digest) for digest in ("", "a", "", "a")
    }

    assert len(ids) == 2
    assert count(session, DetectorVersionRow) == 2


def test_spans_of_an_unknown_batch_or_detector_are_refused(database: Database) -> None:
    with database.session() as session:
        save_batch(session, "b-1", corpus="c")
        version = save_detector_version(session, "rules", "1")
        session.commit()
    for batch, version_id in [("b-9", version), ("b-1", version + 1)]:
        with (
            database.session() as session,
            pytest.raises(InputError, match=r"deid_spans: .* save_batch"),
        ):
            save_spans(session, batch, version_id, SPANS, key=KEY)


def test_a_refused_row_is_not_shown_and_what_was_there_stays(database: Database) -> None:
    with database.session() as session:
        save_batch(session, "b-1", corpus="c")
        save_notes(session, "b-1", NOTES, key=KEY)
        session.commit()

    with database.session() as session, pytest.raises(InputError) as caught:
        save_notes(session, "b-1", [Note("YCANARYY", "x"), Note("YCANARYY", "y")], key=KEY)

    assert "CANARY" not in str(caught.value)
    assert caught.value.__cause__ is None
    with database.session(read_only=True) as session:
        assert len(load_notes(session, "b-1")) == 2


def test_a_run_under_a_long_code_version_is_kept(session: Session) -> None:
    long = "0.1.0+3fa3311e3fc8+f3cda0045fb5+0d7c3943b08a+0.1.0+167cf42b0220+sample-200"

    save_run(
        session,
        RunRow(
            asset="spans_compact",
            batch="b-1",
            dagster_run_id="r1",
            code_version=long,
            started=T0,
            seconds=0.5,
            notes=2,
            failed=0,
        ),
    )
    session.flush()
    session.expire_all()

    assert [row.code_version for row in load_runs(session)] == [long]


def test_runs_come_back_latest_first_and_a_retry_replaces_its_record(session: Session) -> None:
    def run(asset: str, batch: str, run_id: str, minutes: int, notes: int = 2) -> RunRow:
        started = T0.astimezone(timezone(timedelta(hours=2))) + timedelta(minutes=minutes)
        return RunRow(
            asset=asset,
            batch=batch,
            dagster_run_id=run_id,
            code_version="1",
            started=started,
            seconds=0.5,
            notes=notes,
            failed=0,
        )

    save_run(session, run("raw_notes", "b-1", "r1", 0))
    save_run(session, run("raw_notes", "b-2", "r1", 1))
    save_run(session, run("spans_rules", "b-1", "r2", 2))
    save_run(session, run("raw_notes", "b-1", "r1", 3, notes=7))
    session.expire_all()

    runs = load_runs(session)

    assert [(row.asset, row.batch, row.notes) for row in runs] == [
        ("raw_notes", "b-1", 7),
        ("spans_rules", "b-1", 2),
        ("raw_notes", "b-2", 2),
    ]
    assert runs[0].started == T0 + timedelta(minutes=3)
    assert runs[0].started.tzinfo is UTC
    assert [row.batch for row in load_runs(session, asset="raw_notes")] == ["b-1", "b-2"]
    assert len(load_runs(session, asset="raw_notes", batch="b-2")) == 1


def cells(**strict: Counts) -> dict[str, dict[Scheme, Counts]]:
    """Cells as scoring makes them: every scheme for every label."""
    rest = {scheme: Counts(1, 2, 3) for scheme in Scheme}
    return {label: rest | {Scheme.STRICT: counts} for label, counts in strict.items()}


EVALUATION = Evaluation(
    "i2b2",
    cells(NAME=Counts(3, 1, 2), DATE=Counts(0, 0, 0)),
    Counts(30, 10, 20),
    NoteCounts(4, 3, 2, 1, 3_000_000_000),
    {"ID": 5},
)
OTHER = Evaluation("i2b2", cells(NAME=Counts(1, 1, 1)), Counts(1, 2, 3), NoteCounts(1, 1, 1, 0, 9))


def test_evaluations_add_up_over_batches(session: Session) -> None:
    version = save_detector_version(session, "rules", "1")
    for _ in range(2):
        save_evaluation(session, "b-1", version, EVALUATION)
        save_evaluation(session, "b-2", version, OTHER)

    assert load_evaluation(session, version, "i2b2", batches=["b-1"]) == EVALUATION
    assert load_evaluation(session, version, "i2b2") == EVALUATION + OTHER
    assert load_evaluation(session, version, "i2b2", batches=[]) == Evaluation("i2b2")
    assert load_evaluation(session, version, "gdpr") == Evaluation("gdpr")


def test_a_new_evaluation_replaces_labels_that_are_gone(session: Session) -> None:
    version = save_detector_version(session, "rules", "1")
    save_evaluation(session, "b-1", version, EVALUATION)
    save_evaluation(session, "b-1", version, OTHER)

    assert load_evaluation(session, version, "i2b2") == OTHER


def test_a_later_decision_on_the_same_range_replaces_the_earlier(session: Session) -> None:
    for action in ("accept", "reject"):
        place = {"batch": "b-1", "note_id": "a", "start": 0, "end": 8}
        save_decision(
            session, DecisionRow(**place, digest=NOTES[0].digest, action=action, reviewer="r1")
        )

    assert [row.action for row in load_decisions(session, "b-1")] == ["reject"]


def test_releases_come_back_latest_first(session: Session) -> None:
    for policy, batch, minutes in [
        ("tag", "b-1", 0),
        ("tag", "b-2", 2),
        ("surrogate", "b-1", 1),
        ("tag", "b-1", 3),
    ]:
        created_at = T0 + timedelta(minutes=minutes)
        save_release(
            session,
            ReleaseRow(
                policy=policy,
                batch=batch,
                manifest_digest="f" * 64,
                notes=2,
                quarantined=0,
                created_at=created_at,
            ),
        )

    assert [(row.policy, row.batch) for row in load_releases(session)] == [
        ("tag", "b-1"),
        ("tag", "b-2"),
        ("surrogate", "b-1"),
    ]
    assert len(load_releases(session, policy="tag")) == 2


def test_erasing_a_batch_deletes_its_notes_spans_and_decisions_and_no_others(
    session: Session,
) -> None:
    version = save_detector_version(session, "rules", "1")
    for batch in ("b-1", "b-2"):
        save_notes(session, batch, NOTES, key=KEY)
        save_spans(session, batch, version, SPANS, key=KEY)
        save_decision(
            session,
            DecisionRow(
                batch=batch,
                note_id="a",
                start=0,
                end=8,
                digest="f" * 64,
                action="accept",
                reviewer="r1",
            ),
        )
    save_evaluation(session, "b-1", version, EVALUATION)

    erase_batch(session, "b-1")

    assert (
        load_notes(session, "b-1"),
        load_spans(session, "b-1", version),
        load_decisions(session, "b-1"),
    ) == (
        [],
        [],
        [],
    )
    assert (count(session, NoteRow), count(session, SpanRow), count(session, DecisionRow)) == (
        2,
        2,
        1,
    )
    assert load_evaluation(session, version, "i2b2") == EVALUATION


def test_many_spans_are_saved_with_little_work_for_each(
    database: Database, calls_of: Callable[..., int]
) -> None:
    found = tuple(Span(10 * n, 10 * n + 5, list(Phi)[n], n / 20, "rules") for n in range(20))
    sets = [SpanSet(f"n{n}", "d" * 64, found) for n in range(500)]

    with database.session() as session:
        save_batch(session, "b-1", corpus="c")
        version = save_detector_version(session, "rules", "1")
        save_spans(session, "b-1", version, sets[:1], key=KEY)  # what is loaded once
        calls = calls_of(lambda: save_spans(session, "b-1", version, sets, key=KEY))
        session.commit()

        assert count(session, SpanRow) == 10_000
    assert calls / 10_000 < 10  # 6 to 7 when this was written
