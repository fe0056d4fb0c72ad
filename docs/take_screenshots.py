"""Take the pictures of the documentation from a running `make ui`, in headless Chromium.

pip install playwright; python docs/take_screenshots.py http://127.0.0.1:3000 docs
"""

from __future__ import annotations

import argparse
from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import Page, sync_playwright

CHROMIUM = "/usr/bin/chromium"
GROUPS = ("intake", "detector_rules", "detector_presidio", "redaction", "release", "scores")
SETTLE_MS = 12_000
GRAPH = {"x": 540, "y": 110, "width": 2060, "height": 2190}
QUIET = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("server", help="address of the web server")
    parser.add_argument("out", type=Path, help="folder for the pictures")
    options = parser.parse_args()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(QUIET))
        page = browser.new_page(viewport={"width": 2600, "height": 2300}, device_scale_factor=0.65)
        take_graph(page, options.server, options.out / "asset-graph.png")
        browser.close()


def take_graph(page: Page, server: str, path: Path) -> None:
    """Picture the lineage of all assets with every group opened."""
    opened = ",".join(f"global@global:{group}" for group in GROUPS)
    page.goto(f"{server}/asset-groups?{urlencode({'expanded': opened})}")
    page.wait_for_timeout(SETTLE_MS)
    page.screenshot(path=path, clip=GRAPH)


if __name__ == "__main__":
    main()
