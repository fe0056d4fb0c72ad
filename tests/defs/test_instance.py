"""The Dagster instance that keeps no text."""

import logging
import sqlite3
import subprocess
import sys
from contextlib import closing

import dagster as dg
import pytest

from deid_assets.core.errors import ConfigError
from deid_assets.defs.instance import ENVIRONMENT, harden_process, open_instance, write_instance


@pytest.mark.long
def test_a_new_home_gets_settings_without_logs_and_telemetry(tmp_path):
    home = write_instance(tmp_path / "home")

    with dg.DagsterInstance.from_config(str(home)) as instance:
        assert type(instance.compute_log_manager).__name__ == "NoOpComputeLogManager"
        assert instance.telemetry_enabled is False
        assert instance.get_settings("run_retries")["retry_on_asset_or_op_failure"] is False


def test_settings_that_are_there_stay_as_they_are(tmp_path):
    own = write_instance(tmp_path) / "dagster.yaml"
    own.write_text(own.read_text() + "# ours\n")
    before = own.read_text()

    write_instance(tmp_path)

    assert own.read_text() == before


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "class: NoOpComputeLogManager",
            "class: LocalComputeLogManager # not NoOpComputeLogManager",
        ),
        ("enabled: false", "enabled: true"),
        ("telemetry:", "sensors:"),
        ("telemetry:", "telemetry: ["),
    ],
)
def test_settings_that_would_keep_text_are_refused_with_the_remedy(tmp_path, old, new):
    path = write_instance(tmp_path) / "dagster.yaml"
    path.write_text(path.read_text().replace(old, new))

    with pytest.raises(ConfigError, match="take over compute_logs and telemetry"):
        write_instance(tmp_path)


def test_a_process_is_hardened_but_keeps_what_the_user_set(monkeypatch):
    for name in ENVIRONMENT:
        monkeypatch.setenv(name, "")  # so that it is put back afterwards
        monkeypatch.delenv(name)
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")

    harden_process()

    import os

    assert os.environ["DAGSTER_REDACT_USER_CODE_ERRORS"] == "1"
    assert os.environ["HF_HUB_OFFLINE"] == "0"


def test_what_dagster_redacts_goes_nowhere_else(capfd):
    harden_process()

    logging.getLogger("dagster.redacted_errors").error("text of a note")

    assert capfd.readouterr() == ("", "")


FULL = """
import resource
import signal
import sys
from pathlib import Path
from deid_assets.defs.instance import write_instance

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
write_instance(Path(sys.argv[1]))
"""


def test_settings_that_could_not_be_written_whole_are_written_by_the_next(tmp_path):
    """As on a full disk; another process that begins meanwhile reads all of them or none."""
    done = subprocess.run(
        [sys.executable, "-c", FULL, tmp_path], check=False, capture_output=True, text=True
    )

    assert done.returncode == 1
    assert "File too large" in done.stderr
    assert list(tmp_path.iterdir()) == []
    assert "NoOpComputeLogManager" in (write_instance(tmp_path) / "dagster.yaml").read_text()


OPENING = """
import sys
from pathlib import Path
from deid_assets.defs.instance import open_instance

sys.stdin.readline()
with open_instance(Path(sys.argv[1])) as instance:
    instance.add_dynamic_partitions("batches", [sys.argv[2]])
"""


@pytest.mark.long
def test_processes_that_open_a_new_home_at_once_make_it_whole(tmp_path):
    home, names = tmp_path / "home", ["a", "b", "c", "d"]
    started = [
        subprocess.Popen(
            [sys.executable, "-c", OPENING, home, name], stdin=subprocess.PIPE, text=True
        )
        for name in names
    ]
    for process in started:
        process.stdin.write("\n")
        process.stdin.flush()
    for process in started:
        process.communicate(timeout=120)

    assert [process.returncode for process in started] == [0] * len(names)
    with open_instance(home) as instance:
        assert sorted(instance.get_dynamic_partitions("batches")) == names
    for database in home.rglob("*.db"):
        with closing(sqlite3.connect(database)) as connection:
            assert len(connection.execute("SELECT * FROM alembic_version").fetchall()) == 1


def two_heads(path):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("INSERT INTO alembic_version VALUES ('0')")
        connection.commit()


def without_tables(path):
    with closing(sqlite3.connect(path)) as connection:
        for (name,) in connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
            " AND name != 'alembic_version'"
        ).fetchall():
            connection.execute(f'DROP TABLE "{name}"')
        connection.commit()


def a_folder(path):
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize(
    "database", ["history/runs.db", "history/runs/index.db", "schedules/schedules.db"]
)
@pytest.mark.parametrize(
    "harm",
    [
        two_heads,
        lambda path: path.write_bytes(b"no database at all" * 100),
        without_tables,
        a_folder,
    ],
    ids=["two heads", "no database", "no tables", "a folder"],
)
def test_a_damaged_home_is_told_in_one_line_with_the_remedy(tmp_path, database, harm):
    with open_instance(tmp_path):
        pass
    for journal in tmp_path.rglob("*.db-*"):
        journal.unlink()
    harm(tmp_path / database)

    with (
        pytest.raises(ConfigError, match="move the folder away and run again") as told,
        open_instance(tmp_path),
    ):
        pass

    assert "\n" not in str(told.value)
