"""A new installation: what ``deid init`` writes, and that it is never written over."""

import base64
import json
import os
import shutil
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import dagster as dg
import pytest
from dotenv import dotenv_values
from sqlalchemy.engine import make_url
from typer.testing import CliRunner

from deid_assets.cli import app
from deid_assets.cli.installation.diagnosis import _of_folder, _of_installation
from deid_assets.config import Settings
from deid_assets.core.errors import ConfigError, InputError
from deid_assets.operation.environment import (
    enter_folder,
    environment_faults,
    environment_line,
    read_environment,
)
from deid_assets.operation.findings import Condition
from deid_assets.operation.folder import write_folder

SECRETS = (".env", "proxy.secret", "proxy.env")
PRIVATE = ("landing", "store/restricted", "vault", "dagster")


def init(*arguments):
    return CliRunner().invoke(app, ["init", *map(str, arguments)])


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(autouse=True)
def _environment(monkeypatch):
    """What a test takes over of a folder is put back."""
    before = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)


def test_secrets_and_text_are_their_owners_alone_under_any_umask(tmp_path):
    before = os.umask(0)
    try:
        write_folder(tmp_path / "house", login=True)
    finally:
        os.umask(before)

    house = tmp_path / "house"
    assert {name: mode_of(house / name) for name in SECRETS} == dict.fromkeys(SECRETS, 0o600)
    assert {name: mode_of(house / name) for name in PRIVATE} == dict.fromkeys(PRIVATE, 0o700)
    assert mode_of(house) == 0o700


def test_each_file_and_the_next_command_are_said_and_no_secret(tmp_path):
    house = tmp_path / "house"

    done = init(house, "--login")

    assert done.exit_code == 0
    made = [path for path in house.iterdir() if path.name != "store"]
    assert [path.name for path in made if f"{path}: " not in done.output] == []
    assert f"next: cd {house} && deid doctor" in done.output
    key = read_environment(house / ".env")["DEID_KEY"]
    assert len(key) == 64
    assert key not in done.output
    assert (house / "proxy.secret").read_text().strip() not in done.output


def test_what_is_there_is_left_and_what_lacks_is_added(tmp_path):
    house = tmp_path / "house"
    init(house)
    before = {path.name: path.read_bytes() for path in house.iterdir() if path.is_file()}
    (house / "deid.toml").write_text("# ours\n")
    (house / "workspace.yaml").unlink()

    done = init(house)

    assert (house / "deid.toml").read_text() == "# ours\n"
    assert f"{house / 'deid.toml'}: settings (was there, left as it was)" in done.output
    after = {path.name: path.read_bytes() for path in house.iterdir() if path.is_file()}
    assert after == before | {"deid.toml": b"# ours\n"}
    assert mode_of(house / ".env") == 0o600


def test_two_calls_at_once_give_the_proxy_and_the_web_server_one_secret(tmp_path):
    house = tmp_path / "house"
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda _: write_folder(house, login=True), range(8)))

    shown = read_environment(house / "proxy.env")["DEID_PROXY_SECRET"]
    assert shown == (house / "proxy.secret").read_text().strip()


def test_its_settings_and_its_dagster_home_are_those_that_processes_there_use(tmp_path):
    house = tmp_path / "house"
    write_folder(house, login=True)

    assert enter_folder(house)
    settings = Settings.load()

    assert (settings.home, settings.dagster_home) == (house, house / "dagster")
    assert settings.release.approval
    assert settings.approvals.login_secret == house / "proxy.secret"
    assert settings.secret().hex() == os.environ["DEID_KEY"]
    assert not (house / "secret.key").exists()


def test_dagster_loads_its_settings_and_keeps_no_text(tmp_path):
    write_folder(tmp_path / "house")

    with dg.DagsterInstance.from_config(str(tmp_path / "house" / "dagster")) as instance:
        assert type(instance.compute_log_manager).__name__ == "NoOpComputeLogManager"
        assert type(instance.run_coordinator).__name__ == "LoginRunCoordinator"
        assert instance.telemetry_enabled is False
        assert instance.run_retries_enabled
        assert instance.run_retries_retry_on_asset_or_op_failure is False
        assert instance.run_monitoring_enabled
        limits = instance.get_concurrency_config().run_queue_config.tag_concurrency_limits
        assert [(limit["value"], limit["limit"]) for limit in limits] == [("history", 1)]
        assert instance.get_concurrency_config().pool_config.default_pool_limit == 1
        days = instance.get_tick_retention_settings(
            dg._core.definitions.run_request.InstigatorType.SENSOR
        )
        assert set(days.values()) == {2, 30, -1}


def test_what_is_set_already_stays(tmp_path, monkeypatch):
    write_folder(tmp_path / "house")
    monkeypatch.setenv("DEID_HOME", "/elsewhere")

    enter_folder(tmp_path / "house")

    assert os.environ["DEID_HOME"] == "/elsewhere"


def test_an_environment_that_others_may_read_is_refused(tmp_path, monkeypatch):
    write_folder(tmp_path / "house")
    (tmp_path / "house" / ".env").chmod(0o640)
    monkeypatch.chdir(tmp_path / "house")

    done = CliRunner().invoke(app, ["policies"])

    assert (done.exit_code, "run chmod 600" in done.output) == (2, True)
    with pytest.raises(ConfigError, match="others may read"):
        enter_folder()


def test_a_folder_with_an_environment_alone_is_no_installation(tmp_path):
    (tmp_path / ".env").write_text("DEID_HOME=/elsewhere\n")

    assert not enter_folder(tmp_path)
    assert "DEID_HOME" not in os.environ


@pytest.mark.skipif(os.geteuid() != 0, reason="only the superuser gives a file to another")
def test_the_environment_of_somebody_else_is_not_taken_over(tmp_path):
    write_folder(tmp_path / "house")
    os.chown(tmp_path / "house" / ".env", 12345, -1)

    assert not enter_folder(tmp_path / "house")


URLS = {
    "parameters": "postgresql://deid:pw@db.example.org/deid?sslrootcert=/etc/ssl/ca.pem"
    "&sslmode=verify-full&connect_timeout=5",
    "signs": 'postgresql://deid:a\'b "c" $HOME `x` \\ #; &~+(@db.org:5433/deid?sslmode=require',
    "codes": "postgresql://de%24id:a%27%20b%26%40%2F@db.example.org/deid?target_session_attrs=any",
    "no parameter": "postgresql://deid:~root@db.example.org/deid",
}


def by_shell(house):
    shell = ["bash", "-c", "set -a; . ./.env; exec env -0"]
    done = subprocess.run(shell, cwd=house, env={}, capture_output=True, text=True, check=True)
    return dict(one.split("=", 1) for one in done.stdout.split("\0") if "=" in one)


@pytest.mark.parametrize("url", URLS.values(), ids=URLS)
def test_the_url_of_a_database_is_the_same_to_whoever_reads_it(tmp_path, url):
    house = tmp_path / "house"
    write_folder(house, database_url=url)

    found = read_environment(house / ".env")

    expected, read = make_url(url), make_url(found["DEID_DATABASE_URL"])
    assert (read.username, read.password, read.host, read.port, read.database) == (
        expected.username,
        expected.password,
        expected.host,
        expected.port,
        expected.database,
    )
    assert len(read.query) == min(len(expected.query), 1)
    by_others = [by_shell(house), as_docker_reads(house / ".env"), dotenv_values(house / ".env")]
    assert [{name: one[name] for name in found} for one in by_others] == [found] * 3
    if "&connect" in url:
        assert (found["PGSSLROOTCERT"], found["PGCONNECT_TIMEOUT"]) == ("/etc/ssl/ca.pem", "5")


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
def test_kubernetes_reads_the_same(tmp_path):
    write_folder(tmp_path / "house", database_url=URLS["signs"])
    path = tmp_path / "house" / ".env"
    command = ["kubectl", "create", "secret", "generic", "deid-env", f"--from-env-file={path}"]

    done = subprocess.run(
        [*command, "--dry-run=client", "-o", "json"], capture_output=True, text=True, check=True
    )

    data = json.loads(done.stdout)["data"]
    assert {name: base64.b64decode(one).decode() for name, one in data.items()} == (
        read_environment(path)
    )


def test_a_parameter_that_no_variable_has_is_refused_before_anything_is_written(tmp_path):
    url = "postgresql://deid:pw@db/deid?sslmode=require&keepalives=1"

    with pytest.raises(InputError, match="parameter 'keepalives' of the URL cannot be set beside"):
        write_folder(tmp_path / "house", database_url=url)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("U=postgresql://a@b/c?d=1&e=2", "a shell that reads the file ends it at &"),
        ("U='postgresql://a@b/c?d=1&e=2'", "`docker run --env-file` and `kubectl` keep its quot"),
        ("U=a$HOME", "a shell, Compose or systemd may change it"),
        ("U=~/house", "a shell, Compose or systemd may change it"),
        ("export U=a b", "a shell, Compose or systemd may change it"),
    ],
)
def test_the_doctor_says_who_reads_another_value(tmp_path, monkeypatch, line, told):
    house = tmp_path / "house"
    write_folder(house)
    assert [*environment_faults(house / ".env")] == []
    with (house / ".env").open("a") as file:
        file.write(f"# a remark & more\n{line}\n")
    enter_folder(house)

    (found,) = [one for one in _of_installation() if one.what == "environment"]

    assert found.state is Condition.DOUBTFUL
    assert found.detail.startswith(f"U in {house / '.env'}: {told}")


def refuse(*_args, **_options):
    raise PermissionError(13, "Permission denied")


def test_the_doctor_says_that_an_environment_cannot_be_read(tmp_path, monkeypatch):
    house = tmp_path / "house"
    write_folder(house)
    monkeypatch.chdir(house)
    content = (house / ".env").read_bytes()
    for change, told in (("caf\xe9", "is not UTF-8"), ("", "cannot be read (Permission denied)")):
        (house / ".env").write_bytes(content + b"# " + change.encode("latin-1") + b"\n")
        with monkeypatch.context() as patch:
            if not change:
                patch.setattr("dotenv.dotenv_values", refuse)
            other = CliRunner().invoke(app, ["policies"])
            (found,) = _of_folder()

            assert (other.exit_code, told in other.output) == (2, True)
            assert (found.what, found.state) == ("environment", Condition.BROKEN)
            assert ".env: " in found.detail
            assert told in found.detail


@pytest.mark.long
def test_the_doctor_runs_where_the_environment_is_not_utf_8(tmp_path, monkeypatch):
    write_folder(tmp_path / "house")
    monkeypatch.chdir(tmp_path / "house")
    with Path(".env").open("ab") as file:
        file.write(b"# caf\xe9\n")

    done = CliRunner().invoke(app, ["doctor", "--json"])

    found = [one for one in json.loads(done.stdout) if one["what"] == "environment"]
    assert [one["state"] for one in found] == ["broken"]
    assert done.exit_code in (1, 4)


def test_a_shell_and_dagster_read_the_same(tmp_path):
    house = tmp_path / "das-Haus_ä.1"
    write_folder(house)
    read = by_shell(house)

    from dagster._core.secrets.env_file import get_env_var_dict

    by_dagster = get_env_var_dict(str(house))
    assert by_dagster == {name: read[name] for name in by_dagster}
    assert by_dagster == read_environment(house / ".env")


@pytest.mark.parametrize(
    "name",
    ["a $HOME", "o'clock", 'the "house"', "a house", "a;b", "a#b", "(a)", "a*", "a\\b", "a\tb"],
)
def test_a_folder_whose_name_a_shell_would_change_is_refused_before_anything_is_written(
    tmp_path, name
):
    with pytest.raises(InputError, match="choose a folder without them"):
        write_folder(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def as_docker_reads(path):
    """Variables of a file as ``docker run --env-file`` has them: what follows the first ``=``."""
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    return dict(line.split("=", 1) for line in lines)


def test_no_value_has_quotes_since_docker_would_keep_them(tmp_path):
    write_folder(
        tmp_path / "house",
        database_url="postgresql://deid:a%27%20b@db.example.org/deid?sslmode=verify-full&port=5432",
        login=True,
    )

    for name in (".env", "proxy.env"):
        path = tmp_path / "house" / name
        assert not {"'", '"'} & set(path.read_text())
        assert as_docker_reads(path) == read_environment(path)
    with pytest.raises(InputError, match="A: blanks, quotes"):
        environment_line("A", "/srv/de id")


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "file").touch()

    assert "is a file" in init(tmp_path / "file").output


def test_postgresql_needs_its_url_from_the_environment(tmp_path, monkeypatch):
    monkeypatch.delenv("DEID_DATABASE_URL", raising=False)

    assert "set DEID_DATABASE_URL=" in init(tmp_path / "house", "--postgresql").output
    monkeypatch.setenv("DEID_DATABASE_URL", "mysql://a:secret@host/b")
    done = init(tmp_path / "house", "--postgresql")

    assert (done.exit_code, "secret" in done.output) == (2, False)
    assert not (tmp_path / "house").exists()


def test_the_url_stands_in_the_private_file_alone(tmp_path, monkeypatch):
    url = "postgresql://deid:hunter2@db.example.org/deid?sslmode=verify-full"
    monkeypatch.setenv("DEID_DATABASE_URL", url)

    done = init(tmp_path / "house", "--postgresql")

    assert "hunter2" not in done.output
    holds = [path for path in (tmp_path / "house").rglob("*") if path.is_file()]
    holds = [path.name for path in holds if "hunter2" in path.read_text()]
    assert holds == [".env"]
    assert "env: DEID_DATABASE_URL" in (tmp_path / "house/dagster/dagster.yaml").read_text()


@pytest.mark.long
def test_no_file_is_half_written_by_a_call_that_was_killed(tmp_path, killed_at):
    step, whole = 1, tmp_path / "1"
    while killed_at(step, partial(write_folder, whole)):
        write_folder(whole)
        assert (whole / ".env").read_text().count("\n") == 9
        assert (whole / "workspace.yaml").read_text().startswith("load_from")
        assert (whole / "store" / "generation").read_text() == "3\n"
        step += 1
        whole = tmp_path / str(step)
    assert step > 20


@pytest.mark.long
def test_commands_of_the_graph_become_its_programs(tmp_path):
    write_folder(tmp_path / "house")
    deid = Path(sys.executable).with_name("deid")
    clean = {name: value for name, value in os.environ.items() if not name.startswith("DEID_")}

    done = subprocess.run(
        [deid, "backfill", "--batch", "b-none"],
        cwd=tmp_path / "house",
        env=clean,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 2
    assert "no such open batch" in done.stdout
