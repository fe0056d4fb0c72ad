"""When assets are made by themselves: the condition alone, then the real graph."""

import dagster as dg
import pytest

from deid_assets.defs.automation import deps_gated, eager_and_gated

batches = dg.DynamicPartitionsDefinition(name="batches")
BATCH = "b-1"


def chain(condition):
    """Three assets in a row, the first two with a blocking check that fails when its config says so."""

    def link(name, deps, automation):
        @dg.asset(
            name=name,
            deps=deps,
            partitions_def=batches,
            automation_condition=automation,
            check_specs=[dg.AssetCheckSpec("verdict", asset=name, blocking=True, partitions_def=batches)],
        )
        def made(context: dg.AssetExecutionContext):
            passed = not context.run.tags.get(f"fail/{name}")
            yield dg.MaterializeResult(check_results=[dg.AssetCheckResult(check_name="verdict", passed=passed)])

        return made

    return [link("head", [], None), link("middle", ["head"], condition), link("tail", ["middle"], condition)]


class Ticks:
    """A definition, an instance, and the automation sensor's ticks on them."""

    def __init__(self, defs, instance):
        self.defs, self.instance, self._cursor = defs, instance, None

    def requested(self):
        """Run a tick and return what it requests, as asset to partitions."""
        result = dg.evaluate_automation_conditions(defs=self.defs, instance=self.instance, cursor=self._cursor)
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
        yield lambda condition: Ticks(dg.Definitions(chain(condition)), instance)


def make(found, *assets, fail=""):
    """Make assets of the chain by hand; the named one fails its check."""
    by_name = {asset.key.to_user_string(): asset for asset in found.defs.assets}
    dg.materialize(
        list(by_name.values()),
        selection=[by_name[name] for name in assets],
        partition_key=BATCH,
        instance=found.instance,
        raise_on_error=False,
        tags={f"fail/{fail}": "true"} if fail else {},
    )


EAGER = dg.AutomationCondition.eager()


@pytest.mark.parametrize(
    ("condition", "fail", "expected"),
    [
        pytest.param(EAGER, "", {"middle", "tail"}, id="eager, good parent: the whole chain in one tick"),
        pytest.param(EAGER, "head", {"middle", "tail"}, id="eager, failed parent: runs anyway"),
        pytest.param(eager_and_gated, "", {"middle", "tail"}, id="gated, good parent: the whole chain in one tick"),
        pytest.param(eager_and_gated, "head", set(), id="gated, failed parent: nothing"),
    ],
)
def test_what_a_new_head_starts(ticks, condition, fail, expected):
    found = ticks(condition)
    found.requested()
    make(found, "head", fail=fail)

    assert set(found.requested()) == expected


@pytest.mark.parametrize(("condition", "expected"), [(EAGER, {"tail"}), (eager_and_gated, set())])
def test_a_middle_asset_made_by_hand_that_fails_holds_its_child_back(ticks, condition, expected):
    found = ticks(condition)
    make(found, "head", "middle", "tail")
    found.requested()
    make(found, "middle", fail="middle")

    assert set(found.requested()) == expected


def test_the_gate_opens_again_when_the_parent_is_mended(ticks):
    found = ticks(eager_and_gated)
    make(found, "head", "middle", "tail")
    found.requested()
    make(found, "head", fail="head")
    blocked = set(found.requested())
    make(found, "head")

    assert (blocked, set(found.requested())) == (set(), {"middle", "tail"})


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
    "gold_annotations", "spans/stencil", "spans/shade", "merged_spans", "redacted_notes/tag", "redacted_notes/blackout",
    "quarantine", "released_corpus", "release_diff", "release_report",
}  # fmt: skip
SCORES = {
    "scorecard/stencil", "scorecard/shade", "evaluation_report/stencil", "evaluation_report/shade", "leaderboard",
}  # fmt: skip


def test_new_raw_notes_start_everything_below_them(installation, note_records):
    batch = installation.receive(note_records())
    installation.instance.add_dynamic_partitions("batches", [batch])
    found = Ticks(installation.definitions(), installation.instance)
    assert found.requested() == {}, "a batch without raw notes starts nothing"

    assert installation.failures(installation.run(batch, "raw_notes")) == {}
    assert found.requested() == {key: {batch} for key in BELOW_RAW_NOTES}


@pytest.mark.slow
def test_the_real_graph_runs_nothing_twice_and_nothing_past_a_failed_gate(installation, note_records):
    """One story, because each chapter needs the events of those before it."""
    batch = installation.receive(note_records())
    installation.instance.add_dynamic_partitions("batches", [batch])
    found = Ticks(installation.definitions(), installation.instance)
    found.requested()

    assert installation.failures(installation.run(batch)) == {}
    assert found.requested().keys() == SCORES, "after the main job only what sums up over batches is left"

    assert installation.failures(installation.run_scores()) == {}
    assert found.requested() == {}

    installation.run(batch, "raw_notes")
    assert found.requested() == {key: {batch} for key in BELOW_RAW_NOTES}, "new notes flow all the way down in one run"

    installation.configure(GATED)
    installation.run(batch, "spans/stencil")
    found.requested()
    stopped = installation.run(batch, "merged_spans")
    assert list(installation.failures(stopped)) == ["merged_spans"]
    assert found.requested() == {}, "a failed gate starts nothing below it"


GATED = """
line_up = ["stencil"]
recipes = []
policies = ["tag", "blackout"]
release_policy = "tag"
languages = ["en"]
[detectors.stencil]
skip = "MRN"
[gates]
min_gold_characters = 1
"""
