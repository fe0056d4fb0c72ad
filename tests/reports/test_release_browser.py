"""The release page in a browser, on a desk and on a phone."""

from dataclasses import replace

import pytest

from deid_assets.reports import ProvenanceStep, ReleaseSummary, release_html

CODE = "0.1.0+c04f7ed5e161+0d7c3943b08a+0.1.0+105da8d5184d+sample-200"
CHAIN = tuple(
    ProvenanceStep(name, "b-2026-11-20.03", "0a1b2c3d" * 8, CODE, "2026-11-05T22:00:10.525+00:00")
    for name in ("arrival", "raw_notes", "redacted_notes_safe_harbor")
)


@pytest.fixture
def opened(browser, tmp_path, passing, weak):
    release = replace(ReleaseSummary(**passing, evaluation=weak), chain=CHAIN)
    path = tmp_path / "release.html"
    path.write_text(release_html(release), encoding="utf-8")

    def at(width):
        page = browser.new_page(viewport={"width": width, "height": 900})
        page.goto(path.as_uri())
        return page

    return at


def boxes(page, selector):
    script = "all => all.map(e => e.getBoundingClientRect()).map(b => [b.right, b.height])"
    return page.eval_on_selector_all(selector, script)


@pytest.mark.parametrize("width", [390, 1280])
def test_digests_are_on_the_screen_in_rows_of_a_few_lines(opened, width):
    page = opened(width)
    rows = "h2:has-text('Provenance') + table tbody tr"
    digests = boxes(page, f"{rows} code")
    heights = [height for _, height in boxes(page, rows)]

    assert len(digests) == 2 * len(CHAIN)
    assert max(right for right, _ in digests) <= width
    assert max(heights) < {1280: 75, 390: 160}[width]


def test_on_a_phone_no_drawing_takes_the_place_of_figures(opened):
    phone, desk = (boxes(opened(width), "svg.mark, svg.bar") for width in (390, 1280))

    assert sum(height > 0 for _, height in desk) == len(desk) > 0
    assert sum(height > 0 for _, height in phone) == 0


def test_only_wide_tables_scroll_on_a_phone(opened):
    assert opened(390).evaluate("document.documentElement.scrollWidth") == 390
