"""The page in headless Chromium.

It filters, keeps causes, obeys its own policy and fits the window.
"""

import csv
import json

import pytest

from deid_evaluation.causes import parse_causes
from deid_evaluation.pages.report import report_html

pytestmark = pytest.mark.browser


@pytest.fixture
def opened(browser, tmp_path):
    """Open a document as a page.

    A request that leaves the file, an error or a dialog fails the test.
    """
    contexts = []

    def made(report, **options):
        path = tmp_path / "report.html"
        path.write_text(report_html(report), encoding="utf-8")
        context = browser.new_context(accept_downloads=True, **options)
        contexts.append(context)
        page = context.new_page()
        faults = []
        page.on(
            "request",
            lambda one: (
                faults.append(one.url) if not one.url.startswith(("file:", "blob:")) else None
            ),
        )
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on(
            "console",
            lambda message: faults.append(message.text) if message.type == "error" else None,
        )
        page.on("dialog", lambda dialog: (faults.append("a dialog"), dialog.dismiss()))
        page.goto(path.as_uri())
        return page, faults

    yield made
    for context in contexts:
        context.close()


def rows(page):
    return page.locator("#rows tbody tr").count()


def test_errors_are_filtered_by_system_kind_category_and_note(opened, document):
    report = document()
    page, faults = opened(report)
    every = sum(len(report["results"][name]["errors"]["rows"]) for name in ("first", "second"))

    assert rows(page) == every
    page.select_option("[name=system]", "first")
    assert rows(page) == 3
    page.select_option("[name=kind]", "missed")
    assert rows(page) == 1
    assert page.locator("#rows tbody tr th").inner_text() == "n1"
    assert "1 errors pass the filters." in page.locator("#count").inner_text()
    page.select_option("[name=kind]", "")
    page.fill("[name=note]", "n0")
    assert rows(page) == 1
    page.select_option("[name=label]", "DATE")
    assert rows(page) == 0
    assert faults == []


def test_causes_are_saved_as_files_that_are_read_back(opened, document, tmp_path):
    page, faults = opened(document())
    page.select_option("[name=kind]", "missed")
    page.locator("#rows tbody tr").first.locator("input").nth(0).check()
    page.locator("#rows tbody tr").first.locator("input").nth(3).check()
    assert page.locator("#unsaved").inner_text() == "Causes are not saved yet."
    found = {}
    for kind in ("json", "csv"):
        with page.expect_download() as saved:
            page.click(f"#save-{kind}")
        path = tmp_path / saved.value.suggested_filename
        saved.value.save_as(path)
        found[kind] = path.read_text(encoding="utf-8")
    page.select_option("[name=cause]", "AB")

    assert parse_causes(found["json"], name="j") == parse_causes(found["csv"], name="c")
    (entry,) = json.loads(found["json"])["causes"]
    assert (entry["kind"], entry["note"], entry["causes"]) == ("missed", "n1", ["AB", "S"])
    assert [row["causes"] for row in csv.DictReader(found["csv"].splitlines())] == ["AB;S"]
    assert rows(page) == 1
    assert faults == []


def test_hostile_values_are_text_in_the_browser_too(opened, hostile):
    word, report = hostile
    page, faults = opened(report)

    assert page.locator("#rows tbody tr td").first.inner_text().strip() in word
    assert page.locator("img").count() == 0
    assert faults == []


def test_a_script_that_is_not_ours_does_not_run(opened, document):
    page, faults = opened(document())
    page.evaluate(
        "document.body.append(Object.assign(document.createElement('script'), {textContent:"
        " 'window.ran=1'}))"
    )

    assert page.evaluate("window.ran === undefined")
    assert any("Content Security Policy" in fault for fault in faults)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_fits_the_window(opened, document, width, scheme):
    page, _ = opened(document(), viewport={"width": width, "height": 900}, color_scheme=scheme)

    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_without_a_script_and_on_paper_the_errors_are_a_table(opened, document):
    page, _ = opened(document(), java_script_enabled=False)
    assert page.locator("#static").is_visible()
    assert not page.locator("#browser").is_visible()

    page, _ = opened(document())
    assert not page.locator("#static").is_visible()
    page.emulate_media(media="print")
    assert page.locator("#static").is_visible()
    assert not page.locator("#browser").is_visible()
