"""A page as a PDF with real text and tags, printed by a Chromium that is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from deid_assets.core.errors import ConfigError, InputError

BROWSERS = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "microsoft-edge",
)
"""Programs that print a page, sought in this order."""
_TIMEOUT_S = 120
_REMEDY = "write the page as .html, open it in a browser and print it to a PDF"


def browser() -> str:
    """Return the program that prints.

    Raises:
        ConfigError: None is installed.
    """
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        raise ConfigError(
            f"a PDF is printed by Chromium or Chrome, and none is installed: install one, or"
            f" {_REMEDY}"
        )
    return found


def pdf_of(html: str) -> bytes:
    """Return a page as a PDF. The browser reaches no network and keeps nothing.

    Args:
        html: A page that loads nothing.

    Raises:
        ConfigError: No browser is installed.
        InputError: The browser printed nothing, or not all.
    """
    program = browser()
    with TemporaryDirectory(prefix="deid-evidence-") as folder:
        page, out = Path(folder) / "page.html", Path(folder) / "page.pdf"
        page.write_text(html, encoding="utf-8")
        command = [program, *_options(Path(folder)), f"--print-to-pdf={out}", page.as_uri()]
        try:
            subprocess.run(  # noqa: S603 - a program of the system, on a page of ours
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=_TIMEOUT_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            raise InputError(f"{program}: printed nothing; {_REMEDY}") from None
        content = out.read_bytes() if out.is_file() else b""
        if not content.rstrip().endswith(b"%%EOF"):
            raise InputError(f"{program}: printed no whole PDF; {_REMEDY}")
        return content


def _options(folder: Path) -> list[str]:
    # as root there is no sandbox to enter
    as_root = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    return [
        *as_root,
        "--headless",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-extensions",
        "--disable-sync",
        "--host-resolver-rules=MAP * ~NOTFOUND",
        f"--user-data-dir={folder / 'profile'}",
        "--export-tagged-pdf",
        "--generate-pdf-document-outline",
        "--no-pdf-header-footer",
    ]
