"""``deid suites``: what is expected can be read, and Data Docs hold no text and load nothing."""

import json

import pytest
from typer.testing import CliRunner

from deid_assets.cli import app

pytestmark = pytest.mark.long

NOTE = {"id": "n1", "text": "Zedmarlow 7431552 is well.", "lang": "en"}


@pytest.fixture
def made(installation):
    """An installation with a batch of which spans are stored."""
    batch = installation.receive([NOTE])
    for asset in ("raw_notes", "spans_stencil"):
        installation.run(batch, asset)
    return batch


def test_data_docs_have_a_page_for_each_asset_and_hold_no_text(installation, made, tmp_path):
    own = installation.settings().suites_folder / "spans_stencil.json"
    own.parent.mkdir(parents=True)
    own.write_text(
        json.dumps(
            {
                "expectations": [
                    {"type": "expect_table_row_count_to_equal", "kwargs": {"value": 77}},
                    {
                        "type": "expect_column_distinct_values_to_be_in_set",
                        "kwargs": {"column": "label", "value_set": []},
                    },
                ]
            }
        )
    )

    ran = CliRunner().invoke(app, ["suites", "docs", str(tmp_path / "docs")])

    assert ran.exit_code == 0, ran.stderr
    pages = {path.name: path.read_text() for path in (tmp_path / "docs").iterdir()}
    assert set(pages) == {"index.html", f"raw_notes-{made}.html", f"spans_stencil-{made}.html"}
    assert "Every note has text" in pages[f"raw_notes-{made}.html"]
    assert "77" in pages[f"spans_stencil-{made}.html"]
    for page in pages.values():
        assert "Zedmarlow" not in page
        assert "7431552" not in page
        assert "://" not in page


def test_without_anything_stored_there_is_one_line(installation, tmp_path):
    installation.settings()

    ran = CliRunner().invoke(app, ["suites", "docs", str(tmp_path / "docs")])

    assert ran.exit_code == 2
    assert "nothing is stored" in ran.stderr
    assert not (tmp_path / "docs").exists()


def test_the_list_names_what_every_check_expects(installation):
    rows = json.loads(CliRunner().invoke(app, ["suites", "list", "--json"]).stdout)

    assert {row["check"] for row in rows} >= {
        "ids_unique",
        "in_bounds",
        "no_overlap",
        "digests_match",
    }
    assert {row["of"] for row in rows} == {"every installation"}
