import re
import subprocess
import sys

import pytest

from deid_assets.reports import ReleaseSummary, release_html


@pytest.fixture
def html(passing, weak):
    return release_html(ReleaseSummary(**passing, evaluation=weak))


def test_nothing_is_fetched_and_nothing_runs(html, page_of):
    page = page_of(html)

    assert not re.search(r"https?:|//|@import|url\(|javascript:", html, re.IGNORECASE)
    assert page.tags.isdisjoint({"script", "link", "iframe", "object", "embed", "base", "form"})
    assert not {
        name for _, attributes in page.elements for name in attributes if name.startswith("on")
    }
    assert "default-src 'none'" in html


def test_every_element_that_is_opened_is_closed(html, page_of):
    assert page_of(html).open == []


def test_tables_can_be_read_aloud(html, page_of):
    page = page_of(html)

    assert all(attributes.get("scope") for tag, attributes in page.elements if tag == "th")
    assert page.captions == len(page.tables)
    assert ("html", {"lang": "en"}) in page.elements
    assert all(
        attributes.get("aria-label") or attributes.get("aria-hidden") == "true"
        for tag, attributes in page.elements
        if tag == "svg"
    )


def test_the_page_is_styled_for_paper_and_for_dark_screens(html):
    assert "@media print" in html
    assert "prefers-color-scheme: dark" in html


def test_the_same_counts_give_the_same_page(html, passing, weak):
    assert release_html(ReleaseSummary(**passing, evaluation=weak)) == html


def test_importing_the_reports_loads_neither_plots_nor_templates():
    program = (
        "import sys, deid_assets.reports; print(*sorted({name.split('.')[0] for name in"
        " sys.modules}))"
    )

    loaded = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout.split()

    assert {"matplotlib", "jinja2", "numpy", "pandas", "dagster", "PIL"}.isdisjoint(loaded)
