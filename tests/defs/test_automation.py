"""When assets are made by themselves: the condition alone, then the real graph."""

import dagster as dg
import pytest

from deid_assets.defs.automation import deps_gated, eager_and_gated

batches = dg.DynamicPartitionsDefinition(name="batches")
BATCH = "b-1"
VERDICTS = {
    "passed": {"passed": True},
    "failed": {"passed": False},
    "not applicable": {"passed": False, "severity": dg.AssetCheckSeverity.WARN},
}


def link(name, deps=(), condition=None):
    """Return an asset with a blocking check.

    A tag of the run says how it ends, and a failure stores nothing.
    """

    @dg.asset(
        name=name,
        deps=list(deps),
        partitions_def=batches,
        automation_condition=condition,
        check_specs=[
            dg.AssetCheckSpec("verdict", asset=name, blocking=True, partitions_def=batches)
        ],
    )
    def made(context: dg.AssetExecutionContext):
        answer = context.run.tags.get(f"say/{name}", "passed")
        result = dg.AssetCheckResult(check_name="verdict", **VERDICTS[answer])
        if answer == "failed":
            yield result
            raise dg.Failure("not stored")
        yield dg.MaterializeResult(check_results=[result])

    return made


def chain(condition):
    """Three assets in a row, the first made by hand."""
    return [link("head"), link("middle", ["head"], condition), link("tail", ["middle"], condition)]


def fork(condition):
    """Two assets made by hand, and one that needs both."""
    return [link("head"), link("middle"), link("tail", ["head", "middle"], condition)]


class Ticks:
    """A definition, an instance, and the automation sensor's ticks on them."""

    def __init__(self, defs, instance):
        self.defs, self.instance, self._cursor = defs, instance, None

    def requested(self):
        """Run a tick and return what it requests, as asset to partitions."""
        result = dg.evaluate_automation_conditions(
            defs=self.defs, instance=self.instance, cursor=self._cursor
        )
        self._cursor = result.cursor
        return {
            key.to_user_string(): result.get_requested_partitions(key)
            for key in self.defs.resolve_all_asset_keys()
            if result.get_num_requested(key)
        }


@pytest.fixture
def ticks():
    with dg.DagsterInstance.ephemeral() as instance:
        instance.add_dynamic_partitions("batches", [BATCH])
        yield lambda assets: Ticks(dg.Definitions(assets), instance)


def make(found, *assets, **said):
    """Make assets by hand; ``said`` is the verdict of those that do not pass."""
    by_name = {asset.key.to_user_string(): asset for asset in found.defs.assets}
    dg.materialize(
        list(by_name.values()),
        selection=[by_name[name] for name in assets],
        partition_key=BATCH,
        instance=found.instance,
        raise_on_error=False,
        tags={f"say/{name}": verdict for name, verdict in said.items()},
    )


EAGER = dg.AutomationCondition.eager()


@pytest.mark.parametrize(
    ("verdict", "expected"),
    [("passed", {"middle", "tail"}), ("not applicable", {"middle", "tail"}), ("failed", set())],
)
def test_what_a_new_head_starts(ticks, verdict, expected):
    found = ticks(chain(eager_and_gated))
    found.requested()
    make(found, "head", head=verdict)

    assert set(found.requested()) == expected


def test_a_batch_with_nothing_to_judge_flows_on_when_it_is_made_again(ticks):
    found = ticks(chain(eager_and_gated))
    make(found, "head", "middle", "tail", head="not applicable", middle="not applicable")
    found.requested()
    make(found, "middle", middle="not applicable")

    assert set(found.requested()) == {"tail"}


@pytest.mark.parametrize(("condition", "expected"), [(EAGER, {"tail"}), (eager_and_gated, set())])
def test_an_asset_that_fails_when_made_again_holds_back_what_needs_it(ticks, condition, expected):
    """Else it would be made from what was stored of that asset before."""
    found = ticks(fork(condition))
    make(found, "head", "middle", "tail")
    found.requested()
    make(found, "middle", middle="failed")
    make(found, "head")

    assert set(found.requested()) == expected


def test_the_gate_opens_again_when_the_parent_is_mended(ticks):
    found = ticks(fork(eager_and_gated))
    make(found, "head", "middle", "tail")
    found.requested()
    make(found, "head", head="failed")
    blocked = set(found.requested())
    make(found, "head")

    assert (blocked, set(found.requested())) == (set(), {"tail"})


def test_a_dependency_without_blocking_checks_is_no_obstacle():
    @dg.asset
    def plain():
        return dg.MaterializeResult()

    @dg.asset(deps=[plain], automation_condition=eager_and_gated)
    def child():
        return dg.MaterializeResult()

    with dg.DagsterInstance.ephemeral() as instance:
        found = Ticks(dg.Definitions([plain, child]), instance)
        found.requested()
        dg.materialize([plain], instance=instance)

        assert set(found.requested()) == {"child"}


def test_the_condition_is_labelled_for_the_ui():
    assert deps_gated.get_label() == "deps_gated"


BELOW_RAW_NOTES = {
    "gold_annotations",
    "spans_stencil",
    "spans_shade",
    "merged_spans",
    "redacted_notes_tag",
    "redacted_notes_blackout",
    "quarantine",
    "released_corpus",
    "release_diff",
    "release_report",
}
SCORES = {
    "scorecard_stencil",
    "scorecard_shade",
    "evaluation_report_stencil",
    "evaluation_report_shade",
    "leaderboard",
}


@pytest.mark.long
def test_new_raw_notes_start_everything_below_them(installation, note_records):
    batch = installation.receive(note_records())
    installation.instance.add_dynamic_partitions("batches", [batch])
    found = Ticks(installation.definitions(), installation.instance)
    assert found.requested() == {}, "a batch without raw notes starts nothing"

    assert installation.failures(installation.run(batch, "raw_notes")) == {}
    assert found.requested() == {key: {batch} for key in BELOW_RAW_NOTES}


@pytest.mark.slow
def test_the_real_graph_runs_nothing_twice_and_nothing_past_a_failed_gate(
    installation, note_records
):
    """One story, because each chapter needs the events of those before it."""
    batch = installation.receive(note_records())
    installation.instance.add_dynamic_partitions("batches", [batch])
    found = Ticks(installation.definitions(), installation.instance)
    found.requested()

    assert installation.failures(installation.run(batch)) == {}
    assert found.requested().keys() == SCORES, (
        "after the main job only what sums up over batches is left"
    )

    assert installation.failures(installation.run_scores()) == {}
    assert found.requested() == {}

    installation.run(batch, "raw_notes")
    assert found.requested() == {key: {batch} for key in BELOW_RAW_NOTES}, (
        "new notes flow all the way down in one run"
    )

    installation.configure(GATED)
    installation.run(batch, "spans_stencil")
    found.requested()
    stopped = installation.run(batch, "merged_spans")
    assert list(installation.failures(stopped)) == ["merged_spans"]
    assert found.requested() == {}, "a failed gate starts nothing below it"


GATED = """
ensemble = ["stencil"]
recipes = []
policies = ["tag", "blackout"]
release_policy = "tag"
languages = ["en"]
release.require = "none"
[detectors.stencil]
skip = "MRN"
[gates]
min_gold_characters = 1
"""
