"""Take the pictures of the documentation from a running `make ui`, in headless Chromium.

pip install playwright; python docs/take_screenshots.py http://127.0.0.1:3000 docs --report
.deid/reports/release-….html
"""

from __future__ import annotations

import argparse
from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import Page, sync_playwright

CHROMIUM = "/usr/bin/chromium"
GROUPS = ("intake", "detector_rules", "detector_presidio", "redaction", "release")
SETTLE_MS = 20_000
GRAPH = {"x": 585, "y": 175, "width": 1980, "height": 1770}
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("server", help="address of the web server")
    parser.add_argument("out", type=Path, help="folder for the pictures")
    parser.add_argument("--report", type=Path, help="a release report, to be pictured too")
    parser.add_argument(
        "--serve", help="link that deid serve printed; then nothing else is pictured"
    )
    options = parser.parse_args()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(QUIET))
        if options.serve:
            page = browser.new_page(
                viewport={"width": 1280, "height": 1000}, device_scale_factor=0.8
            )
            take_note(page, options.serve, options.out / "serve.png")
            return
        page = browser.new_page(viewport={"width": 2600, "height": 2300}, device_scale_factor=0.8)
        take_graph(page, options.server, options.out / "asset-graph.png")
        if options.report:
            take_report(
                browser.new_page(viewport={"width": 1100, "height": 1150}),
                options.report,
                options.out,
            )
        browser.close()


def take_graph(page: Page, server: str, path: Path) -> None:
    """Picture the lineage of all assets, with the groups opened that a batch passes through."""
    opened = ",".join(f"global@global:{group}" for group in GROUPS)
    page.goto(f"{server}/asset-groups?{urlencode({'expanded': opened})}")
    page.wait_for_timeout(SETTLE_MS)
    page.screenshot(path=path, clip=GRAPH)


def take_note(page: Page, link: str, path: Path) -> None:
    """Picture the page of `deid serve` on its example, from the spans on."""
    page.goto(link)
    page.click("text=Show under the ticked policies")
    page.wait_for_selector("#redacted")
    page.screenshot(path=path, full_page=True)


def take_report(page: Page, report: Path, folder: Path) -> None:
    """Picture the top of a release report."""
    page.goto(report.resolve().as_uri())
    page.screenshot(path=folder / "release-report.png")


if __name__ == "__main__":
    main()
