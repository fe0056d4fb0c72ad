"""The site of the documentation: each page is in it, no link is broken, no other place is asked."""

import functools
import http.server
import os
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
DOCS_PYTHON = ROOT / ".venv-docs" / "bin" / "python"
GENERATED = {"Plugins", "Results"}
"""Sections of the navigation that ``docs/website/hooks.py`` fills from the tree."""
OUTSIDE = {"benchmarks", "plugins"}


class Tolerant(yaml.SafeLoader):
    """Reads ``mkdocs.yml``, whose tags name functions of what builds the site."""


Tolerant.add_multi_constructor("tag:yaml.org,2002:python/", lambda *_: None)


def listed(nav):
    """Pages of a navigation."""
    for one in nav:
        if isinstance(one, str):
            yield one
        else:
            for below in one.values():
                yield from [below] if isinstance(below, str) else listed(below)


@pytest.fixture(scope="module")
def config():
    return yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), Tolerant)


def test_every_page_is_in_the_navigation_and_no_other(config):
    pages = {
        path.relative_to(ROOT / "docs").as_posix()
        for path in (ROOT / "docs").rglob("*.md")
        if "website" not in path.parts
    }
    named = {*listed(config["nav"])}

    made = {"index.md", "all-pages.md", "readme.md", "reference/settings.md"}
    assert pages - {"README.md"} <= named
    assert [one for one in named - pages - made if not (ROOT / one).is_file()] == []
    assert {*config["extra"]["questions"].values()} <= pages
    assert {next(iter(one)) for one in config["nav"]} >= GENERATED


def test_every_page_of_the_checkout_is_taken_in(config):
    source = (ROOT / "docs" / "website" / "hooks.py").read_text(encoding="utf-8")
    patterns = re.findall(r'^    "([\w/*.]+\.md)",$', source, re.MULTILINE)
    taken = {path for pattern in patterns for path in ROOT.glob(pattern)}
    found = {
        ROOT / path
        for path in subprocess.run(
            ["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.split()
        if not path.startswith("docs/") and "tests" not in Path(path).parts
    }

    assert {path for path in found - taken if path.is_file()} == {ROOT / "README.md"}
    by_hand = {*listed(config["nav"])}
    left = {path.relative_to(ROOT).as_posix() for path in taken} - by_hand
    assert {one for one in left if one.partition("/")[0] not in OUTSIDE} == set()


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site as ``make docs`` builds it."""
    if not DOCS_PYTHON.is_file():
        pytest.skip(f"{DOCS_PYTHON.parents[1].name} is not there; make docs makes it")
    out = tmp_path_factory.mktemp("site")
    reference = [sys.executable, "docs/website/reference.py", "--out", str(out / "reference")]
    build = [str(DOCS_PYTHON), "-m", "mkdocs", "build", "--strict", "-d", str(out / "site")]
    for command in (reference, build):
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=os.environ | {"DEID_REFERENCE": str(out / "reference")},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
    return out / "site"


@pytest.mark.slow
def test_links_and_anchors_lead_to_pages_of_the_site(site):
    pages = {path: path.read_text(encoding="utf-8") for path in site.rglob("*.html")}
    names = {path: {*re.findall(r'\bid="([^"]+)"', text)} for path, text in pages.items()}
    broken = []
    for path, text in pages.items():
        for target in re.findall(r'\b(?:href|src)="([^"]*)"', text):
            place, _, anchor = target.partition("#")
            if re.match(r"[a-z]+:|//", place) or path.name == "404.html":
                continue
            there = Path(os.path.normpath(path.parent / place)) if place else path
            there = there / "index.html" if there.is_dir() else there
            if not there.is_file() or (anchor and anchor not in names.get(there, {anchor})):
                broken.append(f"{path.relative_to(site)}: {target}")

    assert len(pages) > 140
    assert broken == []


@pytest.mark.slow
def test_what_is_asked_of_the_reference_is_there(site):
    settings = (site / "reference" / "settings.html").read_text(encoding="utf-8")
    train = (site / "reference" / "commands" / "train-taggers.html").read_text(encoding="utf-8")
    detectors = (site / "reference" / "python" / "deid_assets.extending.protocols.html").read_text(
        encoding="utf-8"
    )

    assert "[studies.NAME.release]" in settings
    assert "recall_lower_bound" in settings
    assert "deid models add" in train
    assert "MakesDetector" in detectors


@pytest.mark.slow
@pytest.mark.browser
def test_no_page_asks_anything_of_another_place(site):
    """A hospital reads it where there is no network."""
    sync_api = pytest.importorskip("playwright.sync_api")
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("chromium is not installed")
    handler = functools.partial(Quiet, directory=str(site))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{server.server_port}/"
    asked, faults = [], []
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 390, "height": 844})
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: faults.append(str(error)))
        for name in ("index", "operating", "figures", "reference/settings", "formats/pdf"):
            page.goto(f"{base}{name}.html")
            assert page.evaluate("document.documentElement.scrollWidth") <= 390, name
        page.set_viewport_size({"width": 1360, "height": 900})
        page.goto(f"{base}index.html")
        page.fill("input.md-search__input", "kubernetes")
        page.wait_for_selector(".md-search-result__item a[href*='kubernetes.html']")
        browser.close()
    server.shutdown()

    assert len(asked) > 10
    assert [url for url in asked if not url.startswith(base)] == []
    assert faults == []


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files and writes no log."""

    def log_message(self, *_):
        """Write nothing."""
