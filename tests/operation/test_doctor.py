"""What ``deid doctor`` says of an installation, and that nothing is read while it is unsafe."""

import json
import os
import socket
import stat
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from typer.testing import CliRunner

from deid_assets.cli import app
from deid_assets.cli.installation import diagnosis
from deid_assets.config import Settings
from deid_assets.core.errors import ConfigError
from deid_assets.defs.instance import open_instance, write_instance
from deid_assets.operation import machine
from deid_assets.operation.access import access_findings, is_open, server_findings
from deid_assets.operation.dagster_yaml import dagster_findings, dagster_yaml
from deid_assets.operation.databases import database_findings
from deid_assets.operation.environment import read_environment
from deid_assets.operation.findings import Condition, Finding, exit_code
from deid_assets.operation.folder import write_folder
from deid_assets.operation.preflight import check_safety

NEEDED = ["typer>=999", "nopackage", "x; extra=='s3'"]
HANDLERS = "python_logs:\n  managed_python_loggers: [root]\nretention:"
UNWATCHED = "run_monitoring:\n  enabled: false"
OPEN = Path("/tmp")
"""A folder that every user may enter; pytest's are its user's alone."""


@pytest.fixture
def house(tmp_path, monkeypatch):
    """An installation in the working directory, in whose environment this process is."""
    write_folder(tmp_path / "house", login=True)
    monkeypatch.chdir(tmp_path / "house")
    for name, value in read_environment(tmp_path / "house" / ".env").items():
        monkeypatch.setenv(name, value)
    return tmp_path / "house"


@pytest.fixture
def reachable(house, monkeypatch):
    """The same where other users come through the folders above it."""
    monkeypatch.setattr("deid_assets.operation.access._ways_in", lambda path: [OPEN])
    return house


def states(findings):
    return {finding.what: finding.state for finding in findings}


def unsafe(settings):
    with pytest.raises(ConfigError) as caught:
        check_safety(settings)
    return str(caught.value)


def test_a_new_installation_is_safe(house):
    check_safety(Settings.load())


def test_the_worst_finding_decides_the_exit_code():
    def code(*found):
        return exit_code([Finding("it", state, "") for state in found])

    assert code(Condition.OK, Condition.MISSING, Condition.DOUBTFUL) == 0
    assert code(Condition.OK, Condition.BROKEN, Condition.DOUBTFUL) == 1
    assert code(Condition.UNSAFE, Condition.BROKEN) == 4
    assert code() == 0


@pytest.mark.parametrize(
    ("place", "mode"), [("landing", 0o755), ("store/restricted", 0o750), (".env", 0o644)]
)
def test_what_others_may_read_is_unsafe_and_refused_with_the_remedy(reachable, place, mode):
    (reachable / place).chmod(mode)

    said = unsafe(Settings.load())

    assert f"{reachable / place}: other users" in said
    assert f"run chmod {'600' if place == '.env' else '700'} on it" in said


def test_what_a_link_leads_to_is_looked_at_where_it_lies(house):
    (house / "landing").rmdir()
    with TemporaryDirectory(dir=OPEN) as elsewhere:
        Path(elsewhere).chmod(0o755)
        (house / "landing").symlink_to(elsewhere)

        assert is_open(house / "landing")
        assert f"{house / 'landing'}: other users" in unsafe(Settings.load())


def test_tables_secrets_of_channels_and_lists_of_patients_are_looked_at(reachable):
    for name in ("a.csv", "agreed.txt", "mail.secret", "proxy.env"):
        (reachable / name).write_text("x")
        (reachable / name).chmod(0o644)
    (reachable / "deid.toml").write_text(
        (reachable / "deid.toml").read_text()
        + f"""
[tables.a]
file = "{reachable}/a.csv"
patient = "pid"
[studies.heart]
policy = "safe_harbor"
consent = "{reachable}/agreed.txt"
[alerts.mail]
host = "localhost"
sender = "a@b.example"
to = ["c@d.example"]
user = "a"
password_file = "{reachable}/mail.secret"
"""
    )

    said = [one.detail for one in access_findings(Settings.load())]

    for name in ("a.csv", "agreed.txt", "mail.secret", "proxy.env"):
        assert any(line.startswith(f"{reachable / name}: other users") for line in said), name


@pytest.mark.parametrize(("mode", "state"), [(0o775, Condition.DOUBTFUL), (0o777, "unsafe")])
def test_a_home_that_others_may_change_is_said(reachable, mode, state):
    reachable.chmod(mode)
    try:
        (found,) = access_findings(Settings.load())
    finally:
        reachable.chmod(0o700)

    assert (found.state, "run chmod go-w on it" in found.detail) == (state, True)


def test_what_a_system_does_not_list_is_said_to_be_unseen(house, monkeypatch):
    monkeypatch.setattr("deid_assets.operation.access._PROC", house / "none")
    monkeypatch.setattr(machine, "_lines", lambda path: [])

    assert states(server_findings(Settings.load())) == {"web server": Condition.DOUBTFUL}
    assert states(machine.memory_findings())["swap"] is Condition.DOUBTFUL


def test_a_web_server_whose_home_stands_in_a_file_beside_it_is_seen(house, serve, monkeypatch):
    monkeypatch.delenv("DAGSTER_HOME")
    serve("--host", "0.0.0.0")

    assert states(server_findings(Settings.load())) == {"web server": Condition.DOUBTFUL}


def test_a_folder_that_nobody_else_gets_to_is_not_open(house):
    (house / "landing").chmod(0o777)
    house.chmod(0o700)

    assert not is_open(house / "landing")
    assert states(access_findings(Settings.load())) == {"access": Condition.OK}


def test_a_way_in_goes_through_every_folder_above(tmp_path_factory):
    root = tmp_path_factory.mktemp("open")
    inner = root / "inner"
    inner.mkdir()
    inner.chmod(0o755)
    above = [stat.S_IMODE(path.stat().st_mode) & 0o011 for path in inner.parents]

    assert is_open(inner) is all(above)


@pytest.mark.parametrize(
    ("old", "new", "state", "remedy"),
    [
        ("NoOpComputeLogManager", "LocalComputeLogManager", "unsafe", "take over compute_logs"),
        ("enabled: false", "enabled: true", "unsafe", "take over compute_logs"),
        (
            "retention:",
            "python_logs:\n  managed_python_loggers: [root]\nretention:",
            "unsafe",
            "out",
        ),
        ("_failure: false", "_failure: true", "doubtful", "retry_on_asset_or_op_failure: false"),
        (
            "run_monitoring:\n  enabled: true",
            "run_monitoring:\n  enabled: false",
            "doubtful",
            "true",
        ),
        ("nux:", "nux: [", "unsafe", "cannot be read"),
    ],
)
def test_settings_of_dagster_that_are_not_safe_are_named(tmp_path, old, new, state, remedy):
    (tmp_path / "dagster.yaml").write_text(dagster_yaml().replace(old, new, 1))

    (found,) = dagster_findings(tmp_path)

    assert found.state == state
    assert remedy in found.detail


def test_an_instance_whose_settings_take_over_what_libraries_log_is_not_opened(tmp_path):
    path = write_instance(tmp_path) / "dagster.yaml"
    path.write_text(path.read_text() + "python_logs:\n  managed_python_loggers: [root]\n")

    with pytest.raises(ConfigError, match="python_logs"), open_instance(tmp_path):
        pass


SERVER = """
import socket, sys
with socket.create_connection(("127.0.0.1", int(sys.argv[-1]))) as told:
    told.recv(1)
"""


@pytest.fixture
def serve(house, tmp_path):
    """A process that looks like a web server on this Dagster home."""
    program = tmp_path / "dagster-webserver"
    program.write_text(SERVER)
    processes, told = [], []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def start(*options):
            command = [sys.executable, program, *options, str(server.getsockname()[1])]
            processes.append(subprocess.Popen(command, env=os.environ))
            told.append(server.accept()[0])

        yield start
        for one in told:
            one.close()
        for process in processes:
            process.wait(timeout=30)


@pytest.mark.parametrize("options", [("--host", "0.0.0.0"), ("-h", "10.1.2.3"), ("--host=::",)])
def test_a_web_server_beyond_this_machine_without_a_login_is_unsafe(house, serve, options):
    settings = Settings.load()
    serve(*options)

    assert states(server_findings(settings)) == {"web server": Condition.DOUBTFUL}
    without = settings.model_copy(update={"approvals": type(settings.approvals)()})
    assert states(server_findings(without)) == {"web server": Condition.UNSAFE}
    assert "--host 127.0.0.1" in unsafe(without)


def test_a_web_server_of_this_machine_alone_or_of_another_home_is_fine(house, serve, monkeypatch):
    settings = Settings.load()
    serve("--host", "127.0.0.1")
    monkeypatch.setenv("DAGSTER_HOME", str(house / "another"))
    serve("--host", "0.0.0.0")
    monkeypatch.setenv("DAGSTER_HOME", str(house / "dagster"))

    assert states(server_findings(settings)) == {"web server": Condition.OK}


def test_little_room_is_said(house, monkeypatch):
    monkeypatch.setattr(machine, "FREE_BYTES", 2**80)

    found = {one.what: one for one in machine.room_findings(Settings.load())}

    assert found["room"].state is Condition.DOUBTFUL
    assert found["file system"].state is Condition.OK


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="needs a second file system")
def test_a_zone_on_another_file_system_is_broken(house):
    if Path("/dev/shm").stat().st_dev == house.stat().st_dev:
        pytest.skip("needs a second file system")
    (house / "released").rmdir()
    (house / "released").symlink_to("/dev/shm")

    found = {one.what: one for one in machine.room_findings(Settings.load())}

    assert found["file system"].state is Condition.BROKEN


def test_a_package_of_another_version_is_broken(monkeypatch):
    monkeypatch.setattr(
        machine, "requires", lambda _: ["typer>=999", "nopackage", "x; extra=='s3'"]
    )

    found = {one.what: one for one in machine.package_findings()}

    assert found["typer"].state is found["nopackage"].state is Condition.BROKEN
    assert "pip install 'typer>=999'" in found["typer"].detail


def test_a_model_that_was_altered_is_broken(house):
    from deid_assets.operation.models import model_findings

    folder = house / "training" / "crf"
    folder.mkdir(parents=True)
    (folder / "card.json").write_text("{}")

    (found,) = model_findings(Settings.load())

    assert (found.what, found.state) == ("model crf", Condition.BROKEN)


@pytest.mark.long
def test_two_keys_are_doubtful(house):
    (house / "secret.key").write_text("5a" * 32)
    (house / "secret.key").chmod(0o600)

    done = CliRunner().invoke(app, ["doctor", "--json"])

    found = {one["what"]: one for one in json.loads(done.stdout)}
    assert found["key"]["state"] == "doubtful"
    assert os.environ["DEID_KEY"] not in done.stdout


@pytest.mark.long
def test_nothing_is_read_by_any_way_in_while_something_is_unsafe(house):
    path = house / "dagster" / "dagster.yaml"
    path.write_text(path.read_text().replace("NoOpComputeLogManager", "LocalComputeLogManager"))
    (house / "landing" / "notes.txt").write_text("Seen by Dr. Zedmarlow.")
    for command in (
        ["-m", "deid_assets.quickstart"],
        ["-m", "deid_assets.backfill"],
        ["-m", "deid_assets.quickstart.ui"],
        ["-c", "import deid_assets.definitions"],
    ):
        done = subprocess.run(
            [sys.executable, *command], capture_output=True, text=True, check=False
        )
        assert done.returncode != 0, command
        assert "compute logs or telemetry are on" in done.stdout + done.stderr, command
    assert [one.name for one in (house / "landing").iterdir()] == ["notes.txt"]


@pytest.mark.parametrize(
    ("url", "state"),
    [("", Condition.OK), ("sqlite:///a.db", Condition.OK), ("nonsense", Condition.BROKEN)],
)
def test_the_database_is_named(house, url, state, monkeypatch):
    settings = Settings.load().model_copy(update={"database_url": url})

    assert states(database_findings(settings)) == {"database": state}


def test_a_database_that_does_not_answer_is_broken_and_its_password_not_shown(house):
    url = "postgresql://deid:hunter2@127.0.0.1:1/deid?connect_timeout=2"
    settings = Settings.load().model_copy(update={"database_url": url})

    found = {one.what: one for one in database_findings(settings)}

    assert found["database"].state is Condition.BROKEN
    assert "hunter2" not in found["database"].detail


@pytest.mark.skipif(not Path("/proc/swaps").exists(), reason="Linux alone")
def test_memory_that_may_be_written_to_a_disk_is_doubtful(monkeypatch):
    lines = ["Filename Type Size Used Priority", "/dev/sda9 partition 1 0 -2"]
    monkeypatch.setattr(machine, "_lines", lambda path: lines if path.name == "swaps" else [])

    assert states(machine.memory_findings())["swap"] is Condition.DOUBTFUL


DRIVERS = {
    "hangs": "#!/bin/sh\nsleep 60\n",
    "hangs behind a wrapper": "#!/bin/sh\nsleep 60 &\nwait\n",
    "is no program": "ELFjunk",
    "has no interpreter": "#!/nowhere/sh\n",
    "writes no text": "#!/bin/sh\nprintf '\\377\\376GPU '\n",
}


@pytest.mark.parametrize("script", DRIVERS.values(), ids=DRIVERS.keys())
def test_a_driver_that_does_not_answer_hides_nothing_unsafe(house, tmp_path, monkeypatch, script):
    tool = tmp_path / "nvidia-smi"
    tool.write_text(script)
    tool.chmod(0o755)
    monkeypatch.setattr(diagnosis.shutil, "which", lambda name: str(tool))
    monkeypatch.setattr(diagnosis, "_DRIVER_S", 0.2)
    monkeypatch.setattr(diagnosis, "_detectors", list)
    monkeypatch.setattr(diagnosis, "safety_looks", lambda settings: {"access": found_unsafe})

    found = states(diagnosis.diagnose())

    assert found["accelerator"] is Condition.DOUBTFUL
    assert found["access"] is Condition.UNSAFE


def found_unsafe():
    return [Finding("access", Condition.UNSAFE, "open")]


def fail():
    raise RuntimeError("secret")


@pytest.mark.parametrize("look", ["access", "dagster", "server"])
def test_a_look_at_safety_that_fails_is_unsafe_and_hides_no_other(house, monkeypatch, look):
    looks = dict.fromkeys(("access", "dagster", "server"), list) | {
        look: fail,
        "last": found_unsafe,
    }
    monkeypatch.setattr(diagnosis, "safety_looks", lambda settings: looks)

    found = [*diagnosis._of_installation()]

    assert [one.what for one in found if one.state is Condition.UNSAFE] == [look, "access"]
    assert "secret" not in "".join(one.detail for one in found)
    assert {"settings", "key"} <= states(found).keys()


@pytest.mark.parametrize(
    "name",
    ["python_findings", "package_findings", "_detectors", "_formats", "memory_findings"],
)
def test_a_look_that_fails_is_broken_and_the_others_are_told(house, monkeypatch, name):
    monkeypatch.setattr(diagnosis, "_detectors", list)
    monkeypatch.setattr(diagnosis, name, fail)

    found = diagnosis.diagnose()

    assert Condition.BROKEN in {one.state for one in found}
    assert {"access", "settings"} <= states(found).keys()


ENVIRONMENTS = {
    "in the first line": (b"A=\0\n", "line 1 has a NUL byte"),
    "in a value": (b"A=1\nB=2\0\nC=3\n", "line 2 has a NUL byte"),
    "at the start of a line": (b"A=1\r\nB=2\r\n\0C=3", "line 3 has a NUL byte"),
    "in a comment": (b"# a\0b\n", "line 1 has a NUL byte"),
    "UTF-16": ("A=1\n".encode("utf-16-le"), "line 1 has a NUL byte"),
    "= in a name": (b"'A=B'=1\n", "a name with ="),
}


@pytest.mark.parametrize(("content", "told"), ENVIRONMENTS.values(), ids=ENVIRONMENTS.keys())
def test_an_environment_that_no_process_can_have_is_told_in_one_line(
    house, monkeypatch, content, told
):
    monkeypatch.delenv("DEID_CONFIG")
    (house / ".env").write_bytes(content)
    monkeypatch.setattr(diagnosis, "_detectors", list)

    ran = CliRunner().invoke(app, ["batches", "list"])
    doctor = diagnosis.diagnose()

    assert (ran.exit_code, ran.stderr.count("\n")) == (2, 1)
    assert told in ran.stderr
    assert any(told in one.detail for one in doctor if one.what == "environment")
