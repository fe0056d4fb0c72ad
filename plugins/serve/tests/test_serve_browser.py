"""The page in headless Chromium, by keyboard, without script, on a desk and on a phone."""

import shutil

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.long]
CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
QUIET = ("--no-sandbox", "--disable-gpu", "--disable-background-networking")
NOTE = "Zedamar <script>alert(1)</script> saw Dr. Lee.\n\nMRN: 4471902 & more."


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("there is no Chromium")
    with playwright.sync_playwright() as running:
        opened = running.chromium.launch(executable_path=CHROMIUM, args=list(QUIET))
        yield opened
        opened.close()


@pytest.fixture(params=[False, True], ids=["without script", "with script"])
def page(browser, served, request):
    context = browser.new_context(
        viewport={"width": 1280, "height": 900}, java_script_enabled=request.param
    )
    opened = context.new_page()
    opened.said, opened.asked = [], []
    opened.on("console", lambda line: opened.said.append(line.text))
    opened.on("request", lambda one: opened.asked.append(one.url))
    opened.goto(f"{served.base}/login?code={served.service.keeper.link()}")
    yield opened
    context.close()


def test_a_note_is_pasted_and_shown_by_keyboard_alone(page, served):
    page.focus("#text")  # where the cursor is from the start, see the attribute autofocus
    page.keyboard.press("Control+A")
    page.keyboard.insert_text(NOTE)
    page.keyboard.press("Tab")
    page.keyboard.insert_text("en")
    page.keyboard.press("Enter")
    page.wait_for_selector("#redacted")

    shown = page.inner_text("[aria-label='The note with its spans']")
    assert "1 NAME" in shown
    assert "<script>alert(1)</script>" in shown
    assert page.input_value("#text") == NOTE
    tagged = page.inner_text("[aria-label='Redacted with tag']")
    assert tagged.startswith("[NAME]")
    assert "4471902" not in tagged
    reasons = page.inner_text("table")
    assert "talker: NAME" in reasons
    assert "rules" in reasons
    assert page.said == []
    assert all(url.startswith(served.base) for url in page.asked)


def test_categories_stand_in_words_and_what_is_marked_is_underlined(page):
    page.fill("#text", NOTE)
    page.click("text=Show under all")
    page.wait_for_selector("#redacted")

    marks = page.locator("mark")
    assert marks.count() > 10
    for at in range(marks.count()):
        assert marks.nth(at).locator("small").inner_text().strip()
    style = marks.first.evaluate("e => getComputedStyle(e).borderBottomStyle")
    assert style == "solid"
    assert page.locator("article").count() == page.locator("input[type=checkbox]").count()


def test_a_withheld_note_is_told_and_stays_in_the_form(page):
    page.fill("#text", "Zedamar at the tripwire")
    page.click("text=Show under the ticked")
    page.wait_for_selector("[role=alert]")

    assert "LookupError in spans_talker" in page.inner_text("[role=alert]")
    assert page.input_value("#text") == "Zedamar at the tripwire"
    assert page.locator("article").count() == 0


def test_nothing_is_wider_than_a_phone_and_every_field_has_a_name(page):
    page.set_viewport_size({"width": 390, "height": 844})
    page.click("text=Show under the ticked")
    page.wait_for_selector("#redacted")

    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    for field in page.locator("textarea, input").all():
        assert field.evaluate("e => e.labels.length") == 1
