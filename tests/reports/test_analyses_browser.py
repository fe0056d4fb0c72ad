"""The page of an analysis in headless Chromium.

Its view is drawn, turns, hides labels and fits the window.
"""

import numpy as np
import pytest

analysis_html = pytest.importorskip("deid_tagger_analysis.page").analysis_html

pytestmark = [pytest.mark.long, pytest.mark.browser]
INK = (
    "canvas => canvas.getContext('2d').getImageData(0, 0, canvas.width,"
    " canvas.height).data.reduce((a, b) => a + b)"
)


@pytest.fixture
def html():
    points = np.random.default_rng(1).normal(size=(40, 3)).round(3).tolist()
    labels = ["NAME"] * 15 + ["CITY"] * 10 + ["O"] * 15
    layers = {"embeddings": 0.2, "encoder": 0.9}
    kinds = dict.fromkeys(("missed", "boundary", "label", "spurious"), 0)
    six = {
        level: dict.fromkeys(("sub_category", "category", "binary"), 1.0)
        for level in ("entity", "token")
    }
    model = {
        "name": "full",
        "plugin": "flair",
        "plugin_version": "1",
        "fingerprint": "f",
        "trained_at": "2026",
        "learnt_from": [],
        "these_are_its": "",
        "seconds": 1.0,
        "size_bytes": 1,
        "f1": None,
        "failed": 0,
        "six": six,
        "changes": [],
        "difference": None,
    }
    vectors = {
        "tokens": 40,
        "nearest": 10,
        "layers": [{"name": name, "width": 3} for name in layers],
        "apart": [],
        "alike": [{"label": "ALL", "tokens": 40, "chance": 0.3, "layers": layers}],
        "labels": labels,
        "languages": ["en"] * 20 + ["it"] * 20,
        "projections": [
            {"layer": name, "explained": [0.4, 0.3, 0.2], "points": points} for name in layers
        ],
    }
    return analysis_html(
        {
            "schema": "deid-assets/tagger-analysis",
            "version": 1,
            "restricted": False,
            "notes": {
                "name": "dev",
                "digest": "d",
                "notes": 4,
                "spans": 0,
                "languages": ["en", "it"],
            },
            "models": [model],
            "labels": {
                "ALL": {"tp": 0, "fp": 0, "fn": 0, "precision": None, "recall": None, "f1": None}
            },
            "drawn": {"unit": "note", "units": 4, "resamples": 1000, "seed": 0},
            "errors": {
                "errors": 0,
                "kinds": kinds,
                "tokens_missed": 0,
                "tokens_spurious": 0,
                "labels": [],
                "confused": [],
            },
            "vectors": vectors,
        }
    )


@pytest.fixture
def opened(browser, html, tmp_path):
    """Open the page; a request that leaves the file, or an error, fails the test."""
    contexts = []

    def made(**options):
        path = tmp_path / "analysis.html"
        path.write_text(html, encoding="utf-8")
        contexts.append(browser.new_context(**options))
        page, faults = contexts[-1].new_page(), []
        page.on(
            "request",
            lambda one: (
                faults.append(one.url) if not one.url.startswith(("file:", "data:")) else None
            ),
        )
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on(
            "console",
            lambda message: faults.append(message.text) if message.type == "error" else None,
        )
        page.goto(path.as_uri())
        return page, faults

    yield made
    for context in contexts:
        context.close()


def settled(page):
    page.evaluate(
        "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
    )


def test_the_view_turns_by_mouse_and_by_key_and_turns_back(opened):
    page, faults = opened()
    view = page.locator(".spaces canvas").first
    settled(page)
    start = view.evaluate(INK)
    assert page.locator(".spaces canvas").count() == 4  # two layers of two languages
    assert not page.locator("#picture").is_visible()

    view.focus()
    page.keyboard.press("ArrowRight")
    settled(page)
    by_key = view.evaluate(INK)
    view.drag_to(view, source_position={"x": 40, "y": 40}, target_position={"x": 120, "y": 90})
    settled(page)
    by_mouse = view.evaluate(INK)
    page.get_by_role("button", name="Turn back").click()
    settled(page)

    assert len({start, by_key, by_mouse}) == 3
    assert view.evaluate(INK) == start
    assert faults == []


def test_a_key_hides_its_label_and_shows_it_again(opened):
    page, faults = opened()
    view, key = page.locator(".spaces canvas").first, page.get_by_role("button", name="NAME")
    settled(page)
    start = view.evaluate(INK)
    key.click()
    settled(page)

    assert key.get_attribute("aria-pressed") == "false"
    assert view.evaluate(INK) < start
    key.click()
    settled(page)
    assert view.evaluate(INK) == start
    assert faults == []


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_is_wider_than_the_window(opened, width):
    page, faults = opened(viewport={"width": width, "height": 800})
    settled(page)

    assert page.evaluate("() => document.documentElement.scrollWidth") <= width
    assert faults == []


def test_on_paper_and_without_script_the_picture_stands_for_the_view(opened):
    page, _ = opened()
    page.emulate_media(media="print")
    assert page.locator("#picture img").is_visible()
    assert not page.locator("#view").is_visible()

    page, faults = opened(java_script_enabled=False)
    assert page.locator("#picture img").is_visible()
    assert not page.locator("#view").is_visible()
    assert faults == []
