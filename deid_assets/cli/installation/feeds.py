"""``deid feed``: the feeds of the settings, and taking from one."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deid_assets.cli.app import app
from deid_assets.cli.arguments import JsonOption
from deid_assets.cli.endings import guard_command, say
from deid_assets.cli.plugged import CommandGroup

if TYPE_CHECKING:
    from deid_assets.feeds.running import FeedRun, FeedStatus

feed_app = typer.Typer(
    cls=CommandGroup,
    no_args_is_help=True,
    help="Feeds: databases and object stores that notes are taken from.",
)
app.add_typer(feed_app, name="feed")

NameArg = Annotated[str, typer.Argument(metavar="NAME", help="As in the settings, [feeds.NAME].")]


@feed_app.command("list")
@guard_command
def list_feeds(*, as_json: JsonOption = False) -> int:
    """List the feeds of the settings with what each gave."""
    from deid_assets.cli.tables import print_json, print_table  # noqa: PLC0415 - loads Rich
    from deid_assets.config import Settings  # noqa: PLC0415 - loads pydantic
    from deid_assets.feeds.running import feed_status  # noqa: PLC0415 - loads the store

    settings = Settings.load()
    found = [feed_status(settings, name) for name in settings.feeds]
    if as_json:
        print_json([_row(one) for one in found])
        return 0
    headings = ("feed", "kind", "schedule", "last run", "notes", "unreadable", "batches")
    print_table(headings, [_cells(one) for one in found], numbers_from=4)
    if not found:
        say("the settings have no feed; docs/feeds.md shows one")
    return 0


@feed_app.command()
@guard_command
def show(name: NameArg, *, as_json: JsonOption = False) -> int:
    """Show a feed: where it reads, how changes and deletions are known, and what it gave.

    The source is not asked. No password is shown.
    """
    from deid_assets.cli.tables import print_json  # noqa: PLC0415 - loads Rich
    from deid_assets.config import Settings  # noqa: PLC0415 - loads pydantic
    from deid_assets.feeds.kinds import open_feed  # noqa: PLC0415 - loads the store
    from deid_assets.feeds.running import feed_status  # noqa: PLC0415 - loads the store

    settings = Settings.load()
    status = feed_status(settings, name)
    scan = "a scan of all ids at each run" if status.settings.scan else "no scan"
    row = {**_row(status), **open_feed(settings, name).described(), "deletions are known by": scan}
    if as_json:
        print_json(row)
        return 0
    for key, value in row.items():
        typer.echo(f"{key}: {value}")
    return 0


@feed_app.command("run")
@guard_command
def run(
    name: NameArg,
    *,
    again: Annotated[
        bool,
        typer.Option("--again", help="Read everything once more, whatever its watermark says."),
    ] = False,
    accept_deletions: Annotated[
        bool,
        typer.Option("--accept-deletions", help="Take deletions, however many they are."),
    ] = False,
    as_json: JsonOption = False,
) -> int:
    """Take what is new, changed or deleted in a feed.

    The next deid run, or the landing sensor, works on the batches.
    """
    from deid_assets.cli.tables import print_json  # noqa: PLC0415 - loads Rich
    from deid_assets.config import Settings  # noqa: PLC0415 - loads pydantic
    from deid_assets.feeds.running import run_feed  # noqa: PLC0415 - loads the store

    done = run_feed(Settings.load(), name, again=again, accept_deletions=accept_deletions)
    if as_json:
        print_json(asdict(done))
    else:
        for line in _lines(done):
            typer.echo(line)
    return 0


def _row(status: FeedStatus) -> dict[str, Any]:
    return {
        "feed": status.feed,
        "kind": status.settings.kind,
        "schedule": status.settings.schedule or "by hand",
        "last run": status.taken_at.isoformat(timespec="seconds") if status.taken_at else "never",
        "is unfinished": status.is_unfinished,
        **asdict(status.totals),
    }


def _cells(status: FeedStatus) -> list[str]:
    row = _row(status)
    counts = [f"{row[key]:,}" for key in ("notes", "faults", "batches")]
    return [*(str(row[key]) for key in ("feed", "kind", "schedule", "last run")), *counts]


def _lines(done: FeedRun) -> list[str]:
    """Return what a run took, for people."""
    counts = done.counts
    found = f"{counts.new:,} new, {counts.changed:,} changed, {counts.deleted:,} deleted"
    lines = [
        f"{done.feed}: {found}, {counts.same:,} the same; {counts.faults:,} of them cannot be read"
    ]
    if done.completed:
        lines.append(f"landed {len(done.completed):,} batches of a run that was killed")
    if counts.left:
        lines.append(f"{counts.left:,} changed that were erased from their batches, and stay out")
    shown = ", ".join(done.batches[:5]) + (" …" if len(done.batches) > 5 else "")
    lines.append(f"{len(done.batches):,} batches to make: {shown}" if done.batches else "no batch")
    return lines
