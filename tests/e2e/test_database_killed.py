"""A PostgreSQL server that is really killed while a batch is published.

The message is true, and the next run completes.
"""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest

from deid_assets.assets import release as release_module

pytestmark = [pytest.mark.slow, pytest.mark.postgres]


class Server:
    """A PostgreSQL server of one's own, on a socket in a private folder."""

    def __init__(self, home: Path, binaries: Path, prefix: list[str]) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port = probe.getsockname()[1]
        self._home, self._binaries, self._prefix = home, binaries, prefix
        self._run(
            "initdb",
            "--auth=trust",
            "--username=deid",
            "--encoding=UTF8",
            "--locale=C",
            "--no-sync",
        )

    @property
    def url(self) -> str:
        return f"postgresql://deid@/postgres?host={self._home}&port={self._port}"

    def start(self) -> None:
        options = f"-k {self._home} -p {self._port} -c listen_addresses=''"
        self._run("pg_ctl", "-w", "-l", str(self._home / "log"), "-o", options, "start")

    def kill(self) -> None:
        self._run("pg_ctl", "-w", "-m", "immediate", "stop")

    def _run(self, program: str, *arguments: str) -> None:
        command = [
            *self._prefix,
            str(self._binaries / program),
            "-D",
            str(self._home / "cluster"),
            *arguments,
        ]
        subprocess.run(
            command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/"
        )


@pytest.fixture
def server():
    pytest.importorskip("psycopg")
    found = [Path(path).parent for path in sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))]
    if shutil.which("initdb"):
        found.append(Path(shutil.which("initdb")).resolve().parent)
    users = {entry.pw_name for entry in pwd.getpwall()} & {"postgres", "nobody"}
    if not found or (os.geteuid() == 0 and not users):
        pytest.skip("no PostgreSQL server that this user may start")
    home = Path(tempfile.mkdtemp(prefix="deid-pg-"))
    prefix = ["runuser", "-u", max(users), "--"] if os.geteuid() == 0 else []
    if prefix:
        shutil.chown(home, user=prefix[2])
    made = Server(home, found[-1], prefix)
    made.start()
    try:
        yield made
    finally:
        with suppress(subprocess.CalledProcessError):  # a test that failed may have left it stopped
            made.kill()
    shutil.rmtree(home, ignore_errors=True)


def released(installation):
    folder = installation.home / "released" / installation.batch
    return {path.name: path.read_bytes() for path in folder.iterdir()} if folder.exists() else {}


MOMENTS = {
    "before the release is recorded": ("record_release", True, False),
    "after the release is recorded": ("record_release", False, False),
    "after all is recorded": ("_release", True, True),
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_what_is_said_of_a_killed_server_is_true_and_the_next_run_completes(
    installation, server, note_records, monkeypatch, moment
):
    name, before, is_released = MOMENTS[moment]
    monkeypatch.setenv("DEID_DATABASE_URL", server.url)
    installation.batch = installation.receive(note_records())
    step = getattr(release_module, name)

    def killed_meanwhile(*arguments, **options):
        if before:
            server.kill()
        step(*arguments, **options)
        if not before:
            server.kill()

    with monkeypatch.context() as patch:
        patch.setattr(release_module, name, killed_meanwhile)
        failures = installation.failures(installation.run(installation.batch))

    if is_released:
        assert "released_corpus" not in failures  # what comes after it cannot be recorded
        assert installation.opened().releases.check(installation.batch)
    else:
        assert "the tables are stored and nothing was released" in failures["released_corpus"]
        assert released(installation) == {}
    server.start()
    assert installation.failures(installation.run(installation.batch, "released_corpus")) == {}
    assert installation.opened().releases.check(installation.batch)["counts"]["notes"] == len(
        note_records()
    )
    assert len(installation.opened().releases.releases().entries) == 1
