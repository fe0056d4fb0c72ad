"""Dagster's web server for its own pages and this user's programs alone.

With --daemon also the daemon and one code server for both, as `dagster dev` starts them.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NoReturn

import dagster as dg
import uvicorn
from dagster._cli.proxy_server_manager import ProxyServerManager
from dagster._core.workspace.context import WorkspaceProcessContext
from dagster._core.workspace.load_target import WorkspaceFileTarget
from dagster_webserver.app import create_app_from_workspace_process_context
from dagster_webserver.version import __version__

from deid_assets.config import Settings
from deid_assets.core.errors import DeidError, InputError
from deid_assets.defs.instance import open_instance
from deid_assets.operation.environment import enter_folder
from deid_assets.quickstart.local_callers import callers_of
from deid_assets.quickstart.own_pages import OwnPages, host_names
from deid_assets.quickstart.ports import parse_port

_GRACE_S = 10.0
_STATEMENT_MS, _RECYCLE_S, _OVERFLOW = 15_000, 3_600, 20
"""What Dagster's own server gives statements and connections of its databases."""
_POLL_MS = 2_000


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until a signal comes.

    Returns:
        0, 1 where the daemon ended, or 2 where the port is taken or the settings are wrong.
    """
    options = options_of(arguments)
    signal.signal(signal.SIGTERM, _end)
    try:
        enter_folder()
        settings = Settings.load()
        os.environ.setdefault("DAGSTER_HOME", str(settings.dagster_home))
        return _serve(settings, options)
    except DeidError as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        return 2
    except KeyboardInterrupt:
        return 0


def options_of(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return the options of a command line."""
    parser = argparse.ArgumentParser(
        prog="python -m deid_assets.quickstart.web", description=__doc__
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
    parser.add_argument("--port", type=parse_port, default=3000, help="of it")
    parser.add_argument("--workspace", default="workspace.yaml", help="the code location")
    parser.add_argument(
        "--host-name", action="append", default=[], help="name that a proxy has, may be repeated"
    )
    parser.add_argument("--read-only", action="store_true", help="take no changes")
    parser.add_argument("--daemon", action="store_true", help="start daemon and code server too")
    parser.add_argument(
        "--other-users", action="store_true", help="let other users of this machine in"
    )
    return parser.parse_args(arguments)


def _end(*_: object) -> NoReturn:
    raise SystemExit(0)


def _serve(settings: Settings, options: argparse.Namespace) -> int:
    if not Path(options.workspace).is_file():
        raise InputError(f"{options.workspace}: no such file; name one by --workspace")
    callers = callers_of(settings, lets_others=options.other_users)
    hosts = host_names(options.host, options.port, options.host_name)
    with ExitStack() as stack:
        instance = stack.enter_context(open_instance(settings.dagster_home))
        workspace, daemon = options.workspace, None
        if options.daemon:
            workspace = stack.enter_context(_one_code_server(instance, workspace))
            daemon = stack.enter_context(_daemon(workspace))
        instance.optimize_for_webserver(_STATEMENT_MS, _RECYCLE_S, _OVERFLOW)
        context = stack.enter_context(
            WorkspaceProcessContext(
                instance,
                WorkspaceFileTarget([workspace]),
                version=__version__,
                read_only=options.read_only,
            )
        )
        app = create_app_from_workspace_process_context(context, live_data_poll_rate=_POLL_MS)
        server = uvicorn.Server(
            uvicorn.Config(
                OwnPages(app, hosts, callers),
                host=options.host,
                port=options.port,
                log_level="warning",
                proxy_headers=False,
                timeout_graceful_shutdown=2,
            )
        )
        sys.stdout.write(f"Dagster is served on http://{options.host}:{options.port}\n")
        sys.stdout.flush()
        return _run(server, daemon)


def _run(server: uvicorn.Server, daemon: subprocess.Popen[bytes] | None) -> int:
    """Serve until a signal comes or the daemon ends, and return the exit code."""
    if daemon is not None:

        def wait() -> None:
            daemon.wait()
            server.should_exit = True

        threading.Thread(target=wait, daemon=True).start()
    try:
        server.run()
    except SystemExit as error:
        if error.code in (None, 0):
            raise
        return 2  # uvicorn has said why it could not start
    return int(daemon is not None and daemon.poll() is not None)


@contextmanager
def _one_code_server(instance: dg.DagsterInstance, workspace: str) -> Iterator[str]:
    """Start a code server for each location, and yield a workspace that leads to them.

    Server and daemon share it, so that one reload in the browser is one of the daemon too.
    """
    target = WorkspaceFileTarget([workspace])
    with ProxyServerManager(instance, target) as servers, TemporaryDirectory() as folder:
        path = Path(folder) / "workspace.yaml"
        # JSON is YAML.
        path.write_text(json.dumps({"load_from": [*servers.get_code_server_specs()]}), "utf-8")
        yield str(path)


@contextmanager
def _daemon(workspace: str) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "dagster._daemon", "run", "--workspace", workspace]
    process = subprocess.Popen(command)  # noqa: S603 - our own
    try:
        yield process
    finally:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            process.send_signal(number)
            with suppress(subprocess.TimeoutExpired):
                process.wait(_GRACE_S)
                break


if __name__ == "__main__":
    raise SystemExit(main())
