"""Dagster's web server and daemon and the server of reports, which start and end together.

``make ui`` calls it.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence

from deid_assets.config import Settings
from deid_assets.core.errors import DeidError
from deid_assets.defs.instance import open_instance
from deid_assets.operation.environment import enter_folder
from deid_assets.operation.preflight import check_safety
from deid_assets.quickstart.ports import parse_port
from deid_assets.runtime.checks import check_snapshot
from deid_assets.runtime.installation import Installation
from deid_assets.runtime.sweeping import remove_unfinished

ADDRESS = "127.0.0.1"
GRACE_S = 15.0
"""Time that Dagster has to end its code servers and runs by itself."""
_LOOK_S = 0.2
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until Ctrl-C, a signal that ends this process, or the end of one of the servers.

    Returns:
        0 if a signal ended it, 2 where the settings or the Dagster home are wrong, else what the
        server that ended gave.
    """
    parser = argparse.ArgumentParser(
        prog="python -m deid_assets.quickstart.ui", description=__doc__
    )
    parser.add_argument("--port", type=parse_port, default=3000, help="of Dagster's web server")
    parser.add_argument("--reports-port", type=parse_port, default=3001, help="of the reports")
    parser.add_argument("--workspace", default="workspace.yaml", help="the code location")
    parser.add_argument(
        "--other-users", action="store_true", help="let other users of this machine in"
    )
    options = parser.parse_args(arguments)
    try:
        enter_folder()
        settings = Settings.load()
        check_safety(settings)
        # Wrong settings are told here, else the servers start and the code location fails to load.
        remove_unfinished(Installation(settings, snapshot=check_snapshot(settings)))
        with open_instance(settings.dagster_home):
            pass  # whole before two processes open it
    except DeidError as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        return 2
    os.environ.setdefault("DAGSTER_HOME", str(settings.dagster_home))
    python = [sys.executable, "-m"]
    web = ["deid_assets.quickstart.web", "--daemon", "--host", ADDRESS]
    web += ["--port", str(options.port), "--workspace", options.workspace]
    reports = ["deid_assets.quickstart.reports_server", str(options.reports_port)]
    others = ["--other-users"] if options.other_users else []
    return serve([[*python, *web, *others], [*python, *reports, *others]])


def serve(commands: Sequence[Sequence[str]], *, grace_s: float = GRACE_S) -> int:
    """Run commands until one ends or a signal comes, and end all that they started.

    Args:
        commands: Programs with their arguments.
        grace_s: Time that each has to end by itself.

    Returns:
        0 after a signal, else the exit code of the command that ended.
    """
    stopped = threading.Event()
    for number in _ENDING:
        signal.signal(number, lambda *_: stopped.set())
    # A session each: what they start can be ended with them, and Ctrl-C does not reach it twice.
    started = [subprocess.Popen(command, start_new_session=True) for command in commands]  # noqa: S603 - our own
    try:
        while not stopped.wait(_LOOK_S):
            for process in started:
                if process.poll() is not None:
                    return process.returncode
        return 0
    finally:
        for process in started:
            _end(process, grace_s)


def _end(process: subprocess.Popen[bytes], grace_s: float) -> None:
    """End a process and all of its group: asked first, then told, then killed."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        if not _signal(process.pid, number, whole_group=number is not signal.SIGINT):
            return
        _wait(process, grace_s)


def _wait(process: subprocess.Popen[bytes], grace_s: float) -> None:
    """Wait until nothing of the process' group is left, but no longer than it has."""
    pause = threading.Event()
    for _ in range(round(grace_s / _LOOK_S)):
        process.poll()  # takes its exit code, so that it is no zombie of the group
        if not _signal(process.pid, 0, whole_group=True):
            return
        pause.wait(_LOOK_S)


def _signal(leader: int, number: int, *, whole_group: bool) -> bool:
    """Send a signal, and return whether there is still somebody of the group."""
    try:
        os.killpg(leader, 0)
        (os.killpg if whole_group else os.kill)(leader, number)
    except ProcessLookupError:
        # The leader may be gone while others of its group are there.
        return not whole_group and _signal(leader, 0, whole_group=True)
    return True


if __name__ == "__main__":
    raise SystemExit(main())
