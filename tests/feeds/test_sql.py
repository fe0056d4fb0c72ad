"""A feed from a database: what is new is taken once, changes replace, what is deleted goes."""

from __future__ import annotations

import tracemalloc

import pytest
import sqlalchemy as sa

from deid_assets.core.errors import ConfigError, InputError
from deid_assets.intake import grouping
from deid_assets.intake.arrivals import PART_FILE, list_files, sign_replacement
from deid_assets.intake.reader import landing_folder
from deid_assets.intake.states import BatchState, batch_ids, look
from deid_assets.intake.withdrawal import withdraw


def fill(source, count=30, patients=6):
    for n in range(count):
        source.put(n, f"Note {n}.", at=n, person=n % patients)


def test_what_is_new_is_taken_once_in_batches_of_bounded_size(source):
    fill(source)

    first = source.run()
    again = source.run()

    assert (first.counts.new, again.counts.new, again.batches) == (30, 0, ())
    assert source.texts() == {str(n): f"Note {n}." for n in range(30)}
    held = [{entry.note.patient_id for entry in entries} for entries in source.entries().values()]
    assert all(len(entries) <= 10 for entries in source.entries().values())
    assert sum(map(len, held)) == 6, "a patient is in two batches"
    assert len(held) == 3


def test_what_changed_takes_the_place_of_the_note_in_its_batch(source):
    fill(source)
    source.run()
    before = source.entries()
    source.put(7, "Note 7, corrected.", at=100, person=1)

    done = source.run()

    after = source.entries()
    (batch,) = done.batches
    assert (done.counts.changed, done.counts.new, done.counts.deleted) == (1, 0, 0)
    assert after.keys() == before.keys()
    assert [one.note.note_id for one in after[batch]] == [one.note.note_id for one in before[batch]]
    assert source.texts()["7"] == "Note 7, corrected."
    status = look(source.installation.settings(), source.installation.opened().files, batch)
    assert status.attempt == 1


def test_what_is_deleted_leaves_its_batch_by_the_scan(source):
    fill(source)
    source.run()
    source.remove(3, 4)

    done = source.run()

    assert done.counts.deleted == 2
    assert source.texts().keys() == {str(n) for n in range(30)} - {"3", "4"}
    assert source.run().batches == ()


def test_without_a_scan_a_deleted_row_stays_and_a_marked_one_leaves(source):
    source.configure(scan=False, deleted="is_deleted")
    fill(source)
    source.run()
    source.remove(3)
    source.put(4, "Note 4.", at=100, person=4, deleted=True)

    done = source.run()

    assert done.counts.deleted == 1
    assert source.texts().keys() == {str(n) for n in range(30)} - {"4"}


def test_rows_of_the_same_time_as_the_last_are_taken_later(source):
    source.put(1, "One.", at=5)
    source.run()
    source.put(2, "Two.", at=5)
    source.run()

    assert source.texts() == {"1": "One.", "2": "Two."}


def test_rows_that_are_committed_late_are_taken_within_the_overlap(source):
    source.put(1, "One.", at=500)
    source.run()
    source.put(2, "Two.", at=450)
    source.run()
    assert source.texts() == {"1": "One."}

    source.configure(overlap=60)
    source.run()
    assert source.texts() == {"1": "One.", "2": "Two."}


def test_without_a_watermark_every_row_is_compared(source):
    source.configure(watermark="")
    fill(source)
    source.run()
    source.put(7, "Note 7, corrected.", at=0, person=1)
    source.remove(8)

    done = source.run()

    counts = done.counts
    assert (counts.changed, counts.deleted, counts.same) == (1, 1, 28)


def test_everything_is_read_again_when_asked_for(source):
    fill(source)
    source.run()
    source.put(7, "Note 7, corrected in secret.", at=0, person=1)
    assert source.run().counts.changed == 0

    assert source.run(again=True).counts.changed == 1


def test_a_row_that_cannot_be_read_is_withheld_once_and_read_when_it_can(source):
    fill(source, 3)
    source.put(3, None, at=3)
    assert source.run().counts.faults == 1
    assert source.faults() == ["missing-field"]
    assert source.run().batches == ()

    source.put(3, "Now it has one.", at=200)
    source.run()
    assert source.faults() == []
    assert source.texts()["3"] == "Now it has one."


def test_a_query_with_colons_and_percent_signs_is_passed_on_as_it_is(source):
    source.put(1, "ten past 10:10, 5 %", at=1)
    source.configure(query="SELECT * FROM notes WHERE body LIKE '%10:10%';")
    source.run()

    assert source.texts() == {"1": "ten past 10:10, 5 %"}


def test_the_last_note_of_a_batch_takes_the_batch_with_it(source):
    source.put(1, "One.", at=1)
    source.put(2, "Two.", at=2)
    source.run()
    source.put(3, "Three.", at=3)
    (second,) = source.run().batches
    source.remove(3)

    source.run()

    opened = source.installation.opened()
    assert look(opened.settings, opened.files, second).state is BatchState.WITHDRAWN
    assert source.texts().keys() == {"1", "2"}


def test_a_withdrawn_batch_stays_withdrawn_when_a_note_of_it_changes(table):
    fill(table, 5)
    (batch,) = table.run().batches
    opened = table.installation.opened()
    withdraw(
        opened.settings, opened.files, opened.releases, look(opened.settings, opened.files, batch)
    )
    table.put(1, "Changed.", at=50, person=1)
    table.run()

    assert look(opened.settings, opened.files, batch).state is BatchState.WITHDRAWN


def test_a_note_that_was_erased_from_its_batch_stays_out_when_it_changes(table):
    fill(table, 5)
    (batch,) = table.run().batches
    opened = table.installation.opened()
    landing = landing_folder(opened.settings, batch)
    lines = (landing / PART_FILE).read_bytes().splitlines(keepends=True)
    (landing / PART_FILE).write_bytes(b"".join(lines[1:]))
    sign_replacement(opened.files, batch, list_files([landing / PART_FILE], root=landing))
    table.put(0, "Changed.", at=50, person=0)

    done = table.run()

    assert (done.counts.left, "0" in table.texts()) == (1, False)
    assert len(table.texts()) == 4


def test_a_source_that_lost_most_of_its_rows_takes_nothing_away(table):
    fill(table)
    table.run()
    table.remove(*range(5, 30))

    with pytest.raises(InputError, match="25 of 30 notes are there no more"):
        table.run()
    assert len(table.texts()) == 30

    assert table.run(accept_deletions=True).counts.deleted == 25
    assert table.texts().keys() == {str(n) for n in range(5)}


def test_a_source_that_is_empty_takes_nothing_away(table):
    fill(table, 4)
    table.run()
    table.remove(*range(4))

    with pytest.raises(InputError, match="--accept-deletions"):
        table.run()


def test_state_holds_no_text_and_no_id(table):
    for n in (700_700_701, 700_700_702):
        table.put(n, "Zedmarlow was here.", at=n - 700_700_700, person=800_800_801)
    table.run()
    engine = sa.create_engine(table.installation.settings().sql_url)
    with engine.connect() as connection:
        rows = [
            str(row)
            for name in ("deid_feeds", "deid_feed_units", "deid_feed_notes")
            for row in connection.exec_driver_sql(f"SELECT * FROM {name}")
        ]
    engine.dispose()

    assert len(rows) == 4
    for value in ("Zedmarlow", "7007007", "8008008", "2024-11-0", "query"):
        assert not any(value in row for row in rows)


@pytest.mark.postgres
def test_a_password_stands_in_no_settings_message_or_listing(
    postgres_server, installation, source_of, monkeypatch
):

    source = source_of(postgres_server)
    source.put(1, "One.", at=1)
    monkeypatch.setenv("WARD_PASSWORD", "hunter2secret")
    source.configure(password_env="WARD_PASSWORD", query="SELECT * FROM nowhere")
    with pytest.raises(InputError) as caught:
        source.run()
    source.configure(password_env="WARD_PASSWORD")
    source.run()

    dumped = installation.settings().model_dump_json()
    files = b"".join(path.read_bytes() for path in installation.root.rglob("*") if path.is_file())
    assert "SQLSTATE 42P01" in str(caught.value)
    for said in (str(caught.value), dumped, repr(installation.settings())):
        assert "hunter2" not in said
    assert b"hunter2" not in files


def test_a_password_that_is_not_set_is_said_by_its_variable(table):
    table.configure(password_env="NO_SUCH_VARIABLE")
    with pytest.raises(ConfigError, match="NO_SUCH_VARIABLE is not set"):
        table.run()


def test_what_the_database_says_of_an_error_is_not_shown(table):
    table.configure(query="SELECT note_id, 'Zedmarlow' AS body FROM nowhere")
    with pytest.raises(InputError) as caught:
        table.run()

    assert "Zedmarlow" not in str(caught.value)
    assert "OperationalError" in str(caught.value)
    assert batch_ids(table.installation.settings()) == []


def test_the_feed_cannot_write_to_postgresql(source):
    if source.url.startswith("sqlite"):
        pytest.skip("SQLite has no read-only transactions")
    source.configure(
        query="WITH gone AS (DELETE FROM notes RETURNING *) SELECT * FROM gone", scan=False
    )
    source.put(1, "One.", at=1)
    with pytest.raises(InputError):
        source.run()

    with source.engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM notes").scalar() == 1


@pytest.mark.long
def test_memory_is_that_of_a_few_notes_not_of_the_table(table, monkeypatch):
    monkeypatch.setattr(grouping, "_BUFFER_BYTES", 2**16)

    def peak(first, count):
        with table.engine.begin() as connection:
            connection.execute(
                sa.text(
                    "WITH RECURSIVE n(i) AS (SELECT :first UNION ALL SELECT i + 1 FROM n"
                    " WHERE i < :last) INSERT INTO notes SELECT i, hex(zeroblob(2500)) || i,"
                    " i / 3, 'en', '2024-11-02 00:00:00.000000', 0 FROM n"
                ),
                {"first": first, "last": first + count - 1},
            )
        tracemalloc.start()
        assert table.run().counts.new == count
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    table.configure(watermark="", scan=False, notes=100, fetch=50)
    peak(1, 20)  # what is loaded once
    small, large = peak(1_000, 400), peak(10_000, 3_000)
    assert large < small + 2**20


def write_texts(table, **columns):
    """Fill the columns of every row with texts, whatever their declared types."""
    with table.engine.begin() as connection:
        for name, value in columns.items():
            connection.exec_driver_sql(f"UPDATE notes SET {name} = ?", (value,))


@pytest.mark.parametrize(
    ("column", "value"),
    [("is_deleted", "geloescht"), ("changed_at", "31.12.2025"), ("changed_at", "9999-12-31")],
)
def test_one_wrong_value_names_its_column_and_nothing_is_taken(table, column, value):
    table.configure(deleted="is_deleted")
    table.put(0, "Note 0.", at=0)
    write_texts(table, **{column: value})
    for n in range(1, 4):
        table.put(n, f"Note {n}.", at=n)
    with pytest.raises(InputError, match=f"column {column}: ") as caught:
        table.run()
    assert value not in str(caught.value)
    assert table.texts() == {}

    table.put(0, "Note 0.", at=0)
    assert table.run().counts.new == 4


def test_a_watermark_that_became_a_number_is_told_and_read_again(table):
    table.put(1, "One.", at=1)
    table.run()
    table.put(2, "Two.", at=2)
    table.configure(
        query="SELECT note_id, body, person, lang, unixepoch(changed_at) AS changed_at FROM notes"
    )
    with pytest.raises(InputError, match="--again"):
        table.run()

    assert table.run(again=True).counts.new == 1
    assert table.run().counts.new == 0


def test_a_later_time_that_sorts_lower_is_read_and_refused(table):
    table.put(1, "One.", at=1)
    write_texts(table, changed_at="2024-01-01T10:00:05Z")
    table.configure(
        query="SELECT note_id, body, person, lang, changed_at || '' AS changed_at FROM notes"
    )
    table.run()
    table.put(2, "Two.", at=2)
    with table.engine.begin() as connection:
        connection.exec_driver_sql(
            "UPDATE notes SET changed_at = '2024-01-01T10:00:05.5Z' WHERE note_id = 2"
        )
    with pytest.raises(InputError, match=r"column changed_at: .* two kinds or forms"):
        table.run()


ENDS = [
    " -- all notes",
    ";",
    "; ",
    " /* all */",
    "; -- all: notes",
    ";\n-- all\n-- of it\n",
    " ; ;",
]
ENDS += ["; /* the end */ -- all", " WHERE body <> '; -- x'"]


@pytest.mark.parametrize("end", ENDS)
def test_a_query_may_end_in_a_comment(source, end):
    fill(source, 3)
    source.configure(query=f"SELECT * FROM notes{end}")
    assert source.run().counts.new == 3
