"""The page in headless Chromium, by keyboard alone."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

from deid_review.queueing import QueueOptions

pytestmark = [pytest.mark.browser, pytest.mark.long]
CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
IDLE = "typeof state === 'undefined' || !state.busy"
QUIET = ("--no-sandbox", "--disable-gpu", "--disable-background-networking")
PICTURES = os.environ.get("REVIEW_PICTURES", "")
"""Folder that pictures of the page are written to, for the documentation."""


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("there is no Chromium")
    with playwright.sync_playwright() as running:
        opened = running.chromium.launch(executable_path=CHROMIUM, args=list(QUIET))
        yield opened
        opened.close()


@pytest.fixture
def desk(settings, batch, desk_of):
    """A desk with every note in the sample, so that each is there."""
    found = desk_of(settings, batch, options=QueueOptions(6, blind=0, double=0))
    yield found
    found.ledger.close()


@pytest.fixture
def page(browser, desk, serve):
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    opened = context.new_page()
    opened.said, opened.asked = [], []
    opened.on("console", lambda line: opened.said.append(line.text))
    opened.on("pageerror", lambda error: opened.said.append(str(error)))
    opened.on("request", lambda one: opened.asked.append(one.url))
    with serve(desk) as (base, reviewers, told):
        opened.base, opened.reviewers, opened.told = base, reviewers, told
        opened.goto(f"{base}/login?code={reviewers.link('a.meier')}")
        yield opened
    context.close()


def at_note(page, desk, note_id):
    place = next(one.place for one in desk.queue() if one.note_id == note_id)
    page.goto(f"{page.base}/note/{place}")
    page.wait_for_selector("mark.current")


def until(page, expression):
    """Wait until an expression holds; the page's policy forbids Playwright's own way, ``eval``."""
    end = time.monotonic() + 60
    while not holds(page, expression):
        assert time.monotonic() < end, expression
        page.wait_for_timeout(20)


def holds(page, expression):
    from playwright.sync_api import Error

    try:
        return page.evaluate(expression)
    except Error:  # the page is being left
        return False


def key(page, *names):
    for name in names:
        with page.expect_response(lambda one: one.request.method == "POST"):
            page.keyboard.press(name)
        until(page, IDLE)


def picture(page, name):
    if PICTURES:
        page.screenshot(path=Path(PICTURES) / f"{name}.png")


def statuses(page):
    return page.eval_on_selector_all("mark", "all => all.map(one => one.dataset.status)")


def current(page):
    return page.inner_text("mark.current")


def test_one_key_decides_and_goes_to_the_next_pending_one(page, desk):
    at_note(page, desk, "n2")
    picture(page, "review-note")
    assert "Zedamar" in current(page)
    key(page, "Enter")
    assert statuses(page)[0] == "accepted"
    assert "9 May 2021" in current(page)
    key(page, "Enter")
    key(page, "1")  # NAME stands on the digit 1
    assert "ward B" in current(page)
    assert "Nobody redacts this yet" in page.inner_text(".panel:not([hidden])")
    key(page, "x")
    assert "All marks are decided" in page.inner_text("#said")
    key(page, "u")
    assert statuses(page)[-1] == "pending"
    key(page, "7", "c")
    page.wait_for_url("**/note/*")
    assert page.said == []
    assert all(url.startswith(page.base) for url in page.asked)


def test_arrows_tab_and_the_count_of_all_occurrences(page, desk):
    at_note(page, desk, "n2")
    key(page, "ArrowRight")
    assert "Zedamar came" in current(page)
    key(page, "ArrowLeft")
    assert "came" not in current(page)
    page.keyboard.press("Tab")
    assert "9 May" in current(page)
    page.keyboard.press("Shift+Tab")
    key(page, "a")
    assert "3 occurrences in 2 notes" in page.inner_text("#said")
    picture(page, "review-all")
    page.keyboard.press("Escape")
    assert statuses(page).count("accepted") == 0
    key(page, "a", "Enter")
    assert statuses(page).count("accepted") == 2


def test_a_warning_stands_before_a_name_is_kept(page, desk):
    at_note(page, desk, "n1")
    key(page, "x")
    assert "could leak" in page.inner_text("#said")
    picture(page, "review-warning")
    assert statuses(page)[0] == "pending"
    key(page, "x")
    assert statuses(page)[0] == "rejected"
    signs = page.eval_on_selector_all("mark small", "all => all.map(one => one.textContent.trim())")
    assert signs[0].startswith("\u2717")
    assert all(sign[0] in "?\u2713\u2717\u25e6" for sign in signs)


def test_a_missed_name_is_added_by_keyboard_and_found_elsewhere(page, desk):
    at_note(page, desk, "n3")
    page.keyboard.press("m")
    page.keyboard.type("lee")
    assert page.inner_text(".w.cursor") == "Lee"
    key(page, "1")
    added = page.locator("mark[data-mark^='-']")
    assert added.inner_text().endswith("NAME")
    start = desk.view.notes["n3"].text.index("Lee")
    mark = next(m for m in desk.state(_note(desk, "n3"), "a.meier").in_order if m.mark < 0)
    assert (mark.start, mark.end) == (start, start + 3)
    added.click()
    key(page, "a")
    assert "1 occurrences in 1 notes" in page.inner_text("#said")


def _note(desk, note_id):
    return next(one for one in desk.queue() if one.note_id == note_id)


def test_keys_that_come_before_the_answer_wait_in_line_and_none_is_lost(page, desk):
    at_note(page, desk, "n2")
    page.route("**/note/*", lambda route: (page.wait_for_timeout(150), route.continue_()))
    for name in ("Enter", "Enter", "Enter", "7"):
        page.keyboard.press(name)
    until(page, IDLE)
    assert [m.status for m in desk.state(_note(desk, "n2"), "a.meier").in_order] == ["accepted"] * 4
    assert statuses(page) == ["accepted"] * 4


def test_keys_after_a_warning_that_was_not_seen_yet_are_dropped(page, desk):
    at_note(page, desk, "n1")
    page.route("**/note/*", lambda route: (page.wait_for_timeout(150), route.continue_()))
    for name in ("x", "x", "Enter"):  # the second is the next mark's
        page.keyboard.press(name)
    until(page, IDLE)
    assert "could leak" in page.inner_text("#said")
    assert "Zedamar" in current(page)
    assert desk.ledger.all_events() == []


def test_counts_jump_and_the_keys_are_shown(page, desk):
    at_note(page, desk, "n2")
    page.click(".count[data-jump='HOSPITAL']")
    assert "ward B" in current(page)
    page.keyboard.press("f")
    page.keyboard.press("2")
    assert "9 May" in current(page)
    page.keyboard.press("?")
    assert page.locator("#keys").is_visible()
    picture(page, "review-keys")
    page.keyboard.press("Escape")
    assert not page.locator("#keys").is_visible()


def test_a_stopped_server_is_told_and_nothing_is_taken_for_stored(page, desk):
    at_note(page, desk, "n1")
    page.context.set_offline(True)
    page.keyboard.press("Enter")
    until(page, "document.getElementById('said').textContent.includes('not answer')")
    assert statuses(page)[0] == "pending"


def test_the_summary_has_intervals_and_approves_and_fits_a_phone(page, desk):
    for note in desk.queue():
        page.goto(f"{page.base}/note/{note.place}")
        while page.locator("mark.pending").count():
            key(page, "Enter")
        with page.expect_navigation():
            page.keyboard.press("c")
    page.wait_for_url("**/summary")
    assert "[" in page.inner_text("text=recall, whole sample >> xpath=..")
    page.click("text=Approve the batch")
    assert "a.meier approved it" in page.inner_text("main")
    picture(page, "review-summary")
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    at = page.base + "/note/1"
    page.goto(at)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_rest_is_accepted_and_a_word_is_found_by_tab(page, desk):
    at_note(page, desk, "n2")
    key(page, "r")
    assert statuses(page) == ["accepted", "accepted", "accepted", "pending"]
    assert "3 marks accepted at once" in page.inner_text("#said")
    assert "ward B" in current(page)
    page.keyboard.press("m")
    page.keyboard.press("Tab")
    assert "no number stands outside" in page.inner_text("#said")
    page.keyboard.type("s")
    first = page.inner_text(".w.cursor")
    page.keyboard.press("Tab")
    assert (first, page.inner_text(".w.cursor")) == ("slept", "slept")
    page.keyboard.press("Escape")
    key(page, "i")
    assert "3 occurrences in 3 notes here, and in every batch" in page.inner_text("#said")
    key(page, "Enter")
    assert "\u2717 HOSPITAL for good" in page.inner_text("mark[data-label='HOSPITAL']")
