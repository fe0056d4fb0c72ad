"""The reports over HTTP, for this user of this machine alone, so that Dagster's UI can link them.

No browser opens a file from a page.

``make ui`` starts it, behind what stands before Dagster's web server too. The reports hold no text
of notes; it serves them and nothing else.
"""

from __future__ import annotations

import argparse
import socket
import sys
from collections.abc import Sequence
from http import HTTPStatus
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse
from starlette.routing import Route

from deid_assets.config import Settings
from deid_assets.core.errors import DeidError
from deid_assets.quickstart.local_callers import LocalCallers, callers_of
from deid_assets.quickstart.own_pages import OwnPages, host_names
from deid_assets.quickstart.ports import parse_port

ADDRESS = "127.0.0.1"
_SERVED = frozenset({".html", ".json", ".csv"})


def reports_app(folder: Path) -> Starlette:
    """Return an application that gives out the files that lie in a folder itself and are of a kind
    that reports are.
    """

    def send(request: Request) -> FileResponse:
        path = folder / request.path_params["name"]
        is_report = path.parent == folder and path.suffix in _SERVED and not path.is_symlink()
        if not is_report or not path.is_file():
            raise HTTPException(HTTPStatus.NOT_FOUND)
        return FileResponse(path)

    app = Starlette(routes=[Route("/{name}", send)])
    app.router.redirect_slashes = False
    return app


def guard_reports(folder: Path, port: int, callers: LocalCallers) -> OwnPages:
    """Return the application behind what refuses pages of other sites and other users.

    Args:
        folder: With the reports.
        port: That it is served on.
        callers: Who may ask.
    """
    return OwnPages(reports_app(folder.absolute()), host_names(ADDRESS, port), callers)


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve the reports of the installation until Ctrl-C.

    Returns:
        0, or 2 where the port is taken or the settings are wrong.
    """
    parser = argparse.ArgumentParser(
        prog="python -m deid_assets.quickstart.reports_server", description=__doc__
    )
    parser.add_argument("port", type=parse_port)
    parser.add_argument(
        "--other-users", action="store_true", help="let other users of this machine in"
    )
    options = parser.parse_args(arguments)
    try:
        settings = Settings.load()
        callers = callers_of(settings, lets_others=options.other_users)
        with socket.create_server((ADDRESS, options.port)) as listening:
            app = guard_reports(settings.reports, options.port, callers)
            config = uvicorn.Config(app, log_level="warning", proxy_headers=False)
            uvicorn.Server(config).run(sockets=[listening])
    except KeyboardInterrupt:
        return 0
    except (OSError, DeidError) as error:
        sys.stderr.write(
            f"reports are not served on port {options.port}: {error}; set REPORTS_PORT to another\n"
        )
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
