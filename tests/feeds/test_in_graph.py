"""A feed in the graph and from the shell: its job, its schedule, its commands, and its batches."""

from __future__ import annotations

import json
import sys

import dagster as dg
import pytest
from typer.testing import CliRunner

from deid_assets.cli import app
from deid_assets.core.errors import ConfigError, InputError
from deid_assets.defs.jobs import runs_of_arrivals
from deid_assets.defs.placing import Place
from deid_assets.feeds.running import run_feed
from deid_assets.intake.states import BatchState, look_at_all
from deid_assets.store.manifests import MANIFEST

STORIES = (
    "Chest pain since noon, relieved by rest; troponin negative twice.",
    "Fell on ice and landed on the left hip. Films show no break.",
    "Fever and productive cough for four days, crackles at the right base.",
    "Reviewed after cataract surgery: the wound is clean.",
    "Insulin dose raised because morning sugars stay above target.",
    "Migraine with aura twice a week. Started on a low dose of propranolol.",
)


def fill(table):
    for n, story in enumerate(STORIES):
        table.put(n, f"Zedmarlow, record 400000{n}. {story}", at=n, person=n)


def said_of(table, batch):
    """The released notes of a batch, as text."""
    folder = table.installation.settings().released / batch
    assert (folder / MANIFEST).is_file()
    opened = table.installation.opened()
    rows = opened.files.read("released_corpus", batch, "notes").to_pylist()
    return " ".join(row["text"] for row in rows)


@pytest.mark.long
def test_a_feeds_job_takes_notes_and_the_sensor_starts_the_graph_on_them_and_on_changes(table):
    fill(table)
    installation = table.installation
    definitions = installation.definitions()
    job = definitions.resolve_job_def("feed__ward")
    assert job.execute_in_process(instance=installation.instance).success

    def ticked():
        with dg.build_sensor_context(
            instance=installation.instance, resources=installation.resources()
        ) as context:
            return runs_of_arrivals(context.instance, context.resources.installation, Place())

    (request,) = ticked().run_requests
    batch = request.partition_key
    assert installation.failures(installation.run(batch)) == {}
    first = said_of(table, batch)
    assert "Films show no break" in first
    assert "Zedmarlow" not in first

    table.put(1, "Zedmarlow, record 4000001. Films show a fracture.", at=50, person=1)
    table.remove(2)
    assert job.execute_in_process(instance=installation.instance).success
    (again,) = ticked().run_requests
    assert (again.partition_key, again.run_key) == (batch, f"{batch}.1")
    assert installation.failures(installation.run(batch)) == {}
    second = said_of(table, batch)
    assert "a fracture" in second
    assert "no break" not in second
    assert "productive cough" not in second
    (status,) = look_at_all(installation.settings(), installation.opened().files)
    assert (status.state, status.tally.released) == (BatchState.RELEASED, 5)


def test_each_feed_has_a_job_and_a_schedule_that_somebody_starts(table):
    definitions = table.installation.definitions()
    (schedule,) = [one for one in definitions.schedules if one.name == "feed__ward_schedule"]
    assert schedule.cron_schedule == "0 1 * * *"
    assert schedule.default_status is dg.DefaultScheduleStatus.STOPPED
    assert schedule.job_name == "feed__ward"

    table.configure(schedule="")
    schedules = [one.name for one in table.installation.definitions().schedules]
    assert not [name for name in schedules if name.startswith("feed__")]


def test_a_source_that_fails_is_one_line_without_text_in_the_event_log(table):
    table.configure(query="SELECT 'Zedmarlow' AS note_id FROM nowhere")
    installation = table.installation
    job = installation.definitions().resolve_job_def("feed__ward")
    done = job.execute_in_process(instance=installation.instance, raise_on_error=False)

    (said,) = installation.failures(done).values()
    assert "feed ward: the database failed" in said
    assert "Zedmarlow" not in said


def test_the_commands_run_show_and_list(table):
    fill(table)

    def run(*arguments):
        ran = CliRunner().invoke(app, ["feed", *arguments])
        assert ran.exit_code == 0, ran.stderr
        return ran.stdout

    assert "6 new, 0 changed, 0 deleted" in run("run", "ward")
    assert json.loads(run("run", "ward", "--json"))["counts"]["new"] == 0
    shown = run("show", "ward")
    assert "changes are known by: column changed_at" in shown
    assert "deletions are known by: a scan of all ids at each run" in shown
    (row,) = json.loads(run("list", "--json"))
    assert (row["feed"], row["notes"], row["batches"]) == ("ward", 6, 1)


def test_a_feed_that_is_not_there_is_said_with_those_that_are(table):
    ran = CliRunner().invoke(app, ["feed", "run", "wart"])

    assert ran.exit_code == 2
    assert "there is no feed 'wart'; did you mean 'ward'?" in ran.stderr


FEED = '''
"""Test feed: notes that a plugin makes up."""

from deid_assets.extending.feeds import ParsedNote, Unit


class Feed:
    is_whole = True

    def __init__(self, *, count, fails=False):
        self.count, self.fails = count, fails

    def units(self):
        return [Unit("all")]

    def read(self, unit, since):
        for n in range(self.count):
            yield ParsedNote("all", str(n), f"Note {n}.")
        if self.fails:
            raise LookupError("Zedmarlow was here")

    def ids(self, unit):
        return iter(())

    def described(self):
        return {"address": "nowhere"}
'''


@pytest.fixture
def plugin(tmp_path, monkeypatch):
    """A distribution that brings the kind of feed ``made_up``."""
    site = tmp_path / "site"
    package, info = site / "deid_made_up", site / "deid_made_up-1.0.dist-info"
    package.mkdir(parents=True)
    info.mkdir()
    (package / "__init__.py").write_text(FEED)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: deid_made_up\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[deid_assets.feeds]\nmade_up = deid_made_up:Feed\n")
    monkeypatch.syspath_prepend(str(site))
    yield
    sys.modules.pop("deid_made_up", None)


def declare(installation, more):
    installation.configure(
        f'{installation.default_settings}\n[feeds.ward]\nkind = "made_up"\n{more}\n'
    )


def test_a_kind_of_a_plugin_is_taken_from(installation, plugin, texts_of):
    declare(installation, "count = 3")
    run_feed(installation.settings(), "ward")
    declare(installation, "count = 2")

    assert run_feed(installation.settings(), "ward").counts.deleted == 1
    assert texts_of() == {"0": "Note 0.", "1": "Note 1."}


def test_of_what_a_plugin_raises_the_class_alone_is_said_and_nothing_is_taken(
    installation, plugin, texts_of
):
    declare(installation, "count = 3\nfails = true")
    with pytest.raises(InputError, match="feed ward: LookupError") as caught:
        run_feed(installation.settings(), "ward")

    assert "Zedmarlow" not in str(caught.value)
    assert texts_of() == {}


def test_a_kind_that_nothing_brings_is_refused(installation):
    declare(installation, "count = 3")
    with pytest.raises(ConfigError, match=r"there is no 'made_up'.*one of sql, objects"):
        installation.settings()
