"""The page on privacy audits in a browser, on a desk and on a phone."""

import pytest

from deid_assets.privacy.measurement import Measurement
from deid_assets.privacy.result import AuditResult, Control, Outcome, Rule
from deid_audits.page import model_html

NAMES = ("share of identifiers found", "identifiers left, expected")
LABELS = ("NAME", "ORGANIZATION", "HEALTH_PLAN")


def measurement(name, group, chance="no attacker guesses it"):
    return Measurement(
        name=name,
        value=0.9501,
        low=0.7642,
        high=0.9913,
        chance=chance,
        units=2_016,
        unit="identifiers",
        group=group,
    )


def audit(name, outcome, **parts):
    return AuditResult(
        audit=name,
        version="0.3.0",
        title="Which identifiers were missed, and what was redacted needlessly?",
        outcome=outcome,
        reason="a release has 10 missed identifiers, at least 20 are needed; annotate more notes",
        blind_spots=("The audits `hips` and `residue` count those that were missed.",),
        **parts,
    )


@pytest.fixture
def opened(browser, tmp_path):
    assessed = audit(
        "residue",
        Outcome.PASSED,
        figures=[measurement(name, label) for label in LABELS for name in NAMES]
        + [measurement("picks that are real", "surrogate, recall 0.95", 0.172)],
        controls=[
            Control(
                name="half of the identifiers uncovered",
                expected=True,
                reacted=True,
                description="reacts where the whole interval lies below 0.900",
                measurement=measurement(NAMES[0], "ALL"),
            )
        ],
        rules=[Rule(name="enough found", passed=True, description="lower end 0.953")],
    )
    page = model_html(
        [assessed, audit("reidentification", Outcome.NOT_ASSESSED)], None, None, title="Release"
    )
    path = tmp_path / "privacy.html"
    path.write_text(page, encoding="utf-8")

    def at(width):
        shown = browser.new_page(viewport={"width": width, "height": 900})
        shown.goto(path.as_uri())
        return shown

    return at


@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_is_as_wide_as_the_screen(opened, width):
    assert opened(width).evaluate("document.documentElement.scrollWidth") == width


@pytest.mark.parametrize("width", [390, 1280])
def test_values_are_on_the_screen(opened, width):
    values = opened(width).eval_on_selector_all(
        "table.figures td:nth-child(2)", "all => all.map(e => e.getBoundingClientRect().right)"
    )

    assert len(values) == len(LABELS) * len(NAMES) + 1
    assert max(values) <= width


def test_each_figure_has_a_table_that_says_what_it_means_and_chance_only_where_there_is_one(opened):
    page = opened(1280)
    captions = page.locator("table.figures caption").all_inner_texts()
    heads = page.locator("table.figures thead tr").all_inner_texts()

    assert [caption.split(".")[0].lower() for caption in captions] == [
        *NAMES,
        "picks that are real",
    ]
    assert ["Chance" in head for head in heads] == [False, False, True]


def test_no_mark_of_code_is_left_in_a_sentence(opened):
    assert "`" not in opened(1280).locator("body").inner_text()
