"""Whether the ensemble would cover more with a detector in shadow."""

import dagster as dg
import pytest

pytestmark = pytest.mark.long
ASSETS = ("raw_notes", "gold_annotations", "spans_stencil", "spans_shade")


def judged(installation, result):
    (found,) = [
        evaluation
        for evaluation in result.get_asset_check_evaluations()
        if evaluation.check_name == "promoted"
    ]
    assert found.asset_key == dg.AssetKey("scorecard_shade")
    assert found.severity is dg.AssetCheckSeverity.WARN
    return found.passed, {name: value.value for name, value in found.metadata.items()}


@pytest.mark.parametrize(("skipped", "is_better"), [("MRN", True), ("", False)])
def test_a_candidate_passes_where_the_ensemble_finds_more_with_it(
    installation, note_records, skipped, is_better
):
    """The ensemble's detector misses record numbers, or nothing; the candidate finds all."""
    installation.configure(
        f'{installation.default_settings}[detectors.stencil]\nskip = "{skipped}"\n'
    )
    batch = installation.receive(note_records())
    assert installation.failures(installation.run(batch, *ASSETS)) == {}
    cards = ("scorecard_stencil", "scorecard_shade")
    result = installation.run(None, *cards, job="nightly_scorecards")
    assert installation.failures(result) == {}

    passed, figures = judged(installation, result)
    assert passed == is_better
    assert figures["recall_gained"] == (0.5 if is_better else 0.0)
    assert (figures["annotated_notes"], figures["patients"]) == (8, 8)


def test_without_annotations_there_is_nothing_to_judge(installation, note_records):
    batch = installation.receive(note_records(gold=False))
    assert installation.failures(installation.run(batch, *ASSETS)) == {}
    result = installation.run(None, "scorecard_shade", job="nightly_scorecards")

    passed, figures = judged(installation, result)
    assert not passed
    assert figures["verdict"] == "not applicable"
