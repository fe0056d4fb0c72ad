"""A hospital's own suites gate the assets that they name, and are checked before
anything starts.
"""

import json

import dagster as dg
import pytest

from deid_assets.core.errors import ConfigError

NOTES = [{"id": f"n{at}", "text": f"Zedmarlow {at} is well.", "lang": "en"} for at in range(3)]


def expectation(kind, severity="critical", description="", **kwargs):
    return {"type": kind, "kwargs": kwargs, "severity": severity, "description": description}


@pytest.fixture
def suite(installation):
    """Write a suite of the installation."""

    def write(asset, *expectations):
        path = installation.settings().suites_folder / f"{asset}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"expectations": expectations}))

    return write


@pytest.fixture
def batch(installation):
    return installation.receive(NOTES)


def checks_of(result, asset):
    return {
        found.check_name: found
        for found in result.get_asset_check_evaluations()
        if found.asset_key == dg.AssetKey(asset)
    }


def test_an_expectation_that_is_not_met_stops_the_batch_and_says_why_without_text(
    installation, suite, batch
):
    suite(
        "raw_notes",
        expectation(
            "expect_table_row_count_to_be_between",
            min_value=500,
            description="A night has 500 notes",
        ),
        expectation("expect_column_values_to_be_in_set", column="note_id", value_set=["n0"]),
        expectation("expect_column_mean_to_be_between", column="n_chars", min_value=1),
    )

    result = installation.run(batch, "raw_notes")

    assert not result.success
    assert installation.opened().files.find("raw_notes", batch) is None
    own = checks_of(result, "raw_notes")["own_expectations"]
    assert (own.passed, own.blocking) == (False, True)
    shown = own.metadata["reasons"].value
    assert "A night has 500 notes (observed_value 3)" in shown
    assert "unexpected_count 2" in shown
    assert "mean" not in shown
    assert "Zed" not in str(own)
    assert "n1" not in shown


@pytest.mark.long
def test_a_warning_stops_nothing_and_a_family_is_asked_member_by_member(installation, suite, batch):
    suite(
        "spans",
        expectation(
            "expect_table_row_count_to_equal", "warning", value=0, description="Nothing is found"
        ),
    )

    installation.run(batch, "raw_notes")
    result = installation.run(batch, "spans_stencil")

    own = checks_of(result, "spans_stencil")["own_warnings"]
    assert not own.passed
    assert own.severity is dg.AssetCheckSeverity.WARN
    assert installation.opened().files.find("spans_stencil", batch) is not None


def test_a_suite_that_changes_makes_what_it_names_stale_and_nothing_else(installation, suite):
    def versions():
        specs = installation.definitions().resolve_all_asset_specs()
        return {spec.key.to_user_string(): spec.code_version for spec in specs}

    before = versions()
    suite("merged_spans", expectation("expect_column_to_exist", column="label"))
    after = versions()

    assert {key for key in before if before[key] != after[key]} == {"merged_spans"}


def test_an_expectation_about_a_column_that_is_not_there_stops_the_batch(
    installation, suite, batch
):
    suite("raw_notes", expectation("expect_column_values_to_be_unique", column="mrn"))

    result = installation.run(batch, "raw_notes")

    assert not result.success
    assert (
        "is a column missing"
        in checks_of(result, "raw_notes")["own_expectations"].metadata["reasons"].value
    )


@pytest.mark.parametrize(
    ("asset", "content", "said"),
    [
        (
            "raw_note",
            {"expectations": [{"type": "expect_column_to_exist"}]},
            "did you mean 'raw_notes'",
        ),
        (
            "raw_notes",
            {"expectations": [{"type": "expect_column_to_exists"}]},
            "did you mean 'expect_column_to_exist'",
        ),
        ("raw_notes", {"expectations": [{"type": "unexpected_rows_expectation"}]}, "there is no"),
        (
            "raw_notes",
            {"expectations": [{"type": "expect_column_to_exist", "severity": "bad"}]},
            "critical, warning",
        ),
        (
            "raw_notes",
            {"expectations": [{"type": "expect_column_to_exist", "kwarg": {}}]},
            "did you mean 'kwargs'",
        ),
        ("raw_notes", {"expectations": []}, "it expects nothing"),
        ("raw_notes", {"expectation": []}, "a list `expectations`"),
        ("raw_notes", [], "not a suite"),
        ("raw_notes", "{", "not JSON"),
    ],
)
def test_a_fault_in_a_suite_is_one_line_before_anything_starts(installation, asset, content, said):
    folder = installation.settings().suites_folder
    folder.mkdir(parents=True)
    (folder / f"{asset}.json").write_text(
        content if isinstance(content, str) else json.dumps(content)
    )

    with pytest.raises(ConfigError) as caught:
        installation.definitions()

    assert said in str(caught.value)
    assert asset in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1
