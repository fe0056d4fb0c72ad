"""Jobs and schedules of feeds: one of each for a feed of the settings."""

from collections.abc import Mapping
from dataclasses import asdict

import dagster as dg

from deid_assets.config.feeds import FeedSettings
from deid_assets.defs.guard import guard_step
from deid_assets.defs.jobs import step_job
from deid_assets.defs.placing import place
from deid_assets.runtime.installation import Installation
from deid_assets.store.files import ALL


def feed_job(name: str) -> dg.JobDefinition:
    """Return the job that takes what is new, changed or deleted in a feed."""

    def take(context: dg.OpExecutionContext, installation: Installation) -> None:
        from deid_assets.feeds.running import run_feed  # noqa: PLC0415 - loads the store

        with guard_step(context, f"feed {name}", ALL):
            installation.snapshot.check_promised()
            done = run_feed(installation.settings, name)
        context.add_output_metadata({**asdict(done.counts), "batches": len(done.batches)})

    return step_job(
        f"feed__{name}",
        f"take_{name}",
        take,
        description=(
            f"What is new, changed or deleted in the feed {name}. The landing sensor starts the"
            " graph on its batches."
        ),
        step_description=f"Takes what is new, changed or deleted in the feed {name}, as batches.",
    )


def feed_schedule(name: str, feed: FeedSettings, job: dg.JobDefinition) -> dg.ScheduleDefinition:
    """Return the schedule of a feed, which somebody has to start."""
    return dg.ScheduleDefinition(
        name=place().name(f"feed__{name}_schedule"),
        job=job,
        cron_schedule=feed.schedule,
        default_status=dg.DefaultScheduleStatus.STOPPED,
        description=f"Takes from the feed {name}.",
    )


def feed_jobs(
    feeds: Mapping[str, FeedSettings],
) -> tuple[list[dg.JobDefinition], list[dg.ScheduleDefinition]]:
    """Return the jobs of feeds, and the schedules of those that have one."""
    jobs = {name: feed_job(name) for name in feeds}
    schedules = [
        feed_schedule(name, feed, jobs[name]) for name, feed in feeds.items() if feed.schedule
    ]
    return [*jobs.values()], schedules
