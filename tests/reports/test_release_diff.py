"""The page of a release diff: every value escaped, long tables cut and said so."""

import pytest

from deid_assets.core.phi import Phi
from deid_assets.edits.diff import compare
from deid_assets.edits.maps import EditMap, MadeBy, Replaced
from deid_assets.reports.release_diff import release_diff_html, release_diff_md

HOSTILE = "<script>alert(1)</script>"


def document(notes, *, source="rules"):
    by = MadeBy("deid-assets 1", HOSTILE, "a" * 64, (), "k", {HOSTILE: "1"})
    old, new = [], []
    for number in range(notes):
        edits = (Replaced(1, 5, 1, 5, Phi.NAME, source, "m"),)
        old.append(EditMap(f"{HOSTILE}{number}", "d" * 64, "e" * 64, 9, 9, edits, by))
        new.append(EditMap(f"{HOSTILE}{number}", "d" * 64, "e" * 64, 9, 9, (), by))
    return compare(old, new).to_json()


def page(found):
    return release_diff_html(found, title=HOSTILE, old=HOSTILE, new=HOSTILE)


def test_every_value_is_escaped():
    html = page(document(2, source=HOSTILE))

    assert "<script" not in html
    assert html.count("&lt;script&gt;") > 10


def test_long_tables_are_cut_and_say_so():
    html = page(document(450))

    assert "350 more are in the JSON document" in html
    assert "150 more are in the JSON document" in html
    assert len(html) < 400_000


@pytest.mark.parametrize(
    ("notes", "heading"),
    [
        (0, "Nothing differs"),
        (1, "4 characters that were replaced before"),
        (2, "in 2 replacements, 2 of them lost"),
    ],
)
def test_the_page_opens_with_the_answer(notes, heading):
    assert heading in page(document(notes))


def test_the_table_for_metadata_has_a_row_per_category():
    assert release_diff_md(document(3)).splitlines()[-1] == "| NAME | 0 | 0 | 3 | 0 | 0 | 0 |"
