"""The reports over HTTP, for this machine alone, so that Dagster's UI can link them.

No browser opens a file from a page.

``make ui`` starts it. The reports hold no text of notes; it serves them and nothing else.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import BinaryIO

from deid_assets.config import Settings
from deid_assets.core.errors import DeidError

ADDRESS = "127.0.0.1"
_SERVED = frozenset({".html", ".json", ".csv"})


class Handler(SimpleHTTPRequestHandler):
    """Gives out the files that lie in the folder itself and are of a kind that reports are."""

    def send_head(self) -> BinaryIO | None:
        """Open what is asked for, or answer that there is no such thing.

        A host name other than this machine's is refused: a page from elsewhere may point its own
        name here.
        """
        host = (self.headers.get("Host") or "").rsplit(":", 1)[0]
        path = Path(self.translate_path(self.path))
        is_report = (
            path.parent == Path(self.directory) and path.suffix in _SERVED and not path.is_symlink()
        )
        if host not in (ADDRESS, "localhost") or not is_report or not path.is_file():
            self.send_error(HTTPStatus.NOT_FOUND)
            return None
        return super().send_head()

    def log_message(self, *_: object) -> None:
        """Write nothing: the UI's terminal is for the UI."""


def report_server(folder: Path, port: int) -> ThreadingHTTPServer:
    """Return a server of a folder's reports.

    ``serve_forever`` starts it, and port 0 takes a free one.
    """
    return ThreadingHTTPServer((ADDRESS, port), partial(Handler, directory=str(folder.absolute())))


def main() -> int:
    """Serve the reports of the installation until Ctrl-C.

    Returns:
        0, or 2 where the port is taken or the settings are wrong.
    """
    parser = argparse.ArgumentParser(
        prog="python -m deid_assets.reports.server", description=__doc__
    )
    parser.add_argument("port", type=int)
    port = parser.parse_args().port
    try:
        with report_server(Settings.load().reports, port) as server:
            server.serve_forever()
    except KeyboardInterrupt:
        return 0
    except (OSError, DeidError) as error:
        sys.stderr.write(
            f"reports are not served on port {port}: {error}; set REPORTS_PORT to another\n"
        )
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
