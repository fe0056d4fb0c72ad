"""Bodies of the commands on batches. They load the store, so this is imported when one runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import typer

from deid_assets.cli.endings import say
from deid_assets.cli.tables import print_json, print_table
from deid_assets.config import Settings
from deid_assets.core.errors import ConfigError, InputError, ProvenanceError
from deid_assets.formats import Fault
from deid_assets.intake.arrivals import Arrival, find_arrival, try_again, waiting
from deid_assets.intake.reader import landing_folder, landing_store, read_batch, sources_of
from deid_assets.intake.reading import how_to_read
from deid_assets.intake.states import (
    UNAPPROVED,
    BatchState,
    BatchStatus,
    batch_ids,
    earlier_line,
    look,
    look_at_all,
    notes_line,
    total,
)
from deid_assets.intake.withdrawal import list_known_studies, releases_of, withdraw
from deid_assets.store.files import StoreFiles

_SHOWN_FAULTS = 50


def list_batches(*, as_json: bool) -> int:
    """Print every batch with what became of it."""
    settings, files = installation_here()
    found = look_at_all(settings, files)
    if as_json:
        print_json([_row(settings, files, batch) for batch in found])
        return 0
    headings = (
        "batch",
        "state",
        "arrived",
        "files",
        "size",
        "notes",
        "languages",
        "sender",
        "reason",
    )
    print_table(headings, [_cells(batch) for batch in found])
    say(notes_line(total(found)))
    if line := earlier_line(found):
        say(line)
    if large := waiting(landing_store(settings)):
        say(f"waiting to be split into batches, which `deid run` does: {', '.join(large)}")
    return 0


def show(batch: str, *, as_json: bool) -> int:
    """Print a batch with the names of its files and with its faults."""
    settings, files = installation_here()
    found = _look_up(settings, files, batch)
    arrival = find_arrival(files, batch)
    names = [file.name for file in arrival.files] if arrival else _names(settings, batch)
    ignored: list[tuple[str, str]] = []
    faults: list[tuple[str, str]] = []
    if arrival:
        try:
            entries = list(
                read_batch(settings, files, batch, ignored=lambda *found: ignored.append(found))
            )
            faults = [
                (entry.place, entry.what.message)
                for entry in entries
                if isinstance(entry.what, Fault)
            ]
        except ProvenanceError as error:
            faults = [("batch", str(error))]
    if as_json:
        shown = {"files": names, "faults": [*map(list, faults)], "ignored": [*map(list, ignored)]}
        print_json({**_row(settings, files, found), **shown})
        return 0
    for line in _overrides(found, arrival, names, faults, ignored):
        typer.echo(line)
    return 0


def withdraw_batch(batch: str, *, with_release: bool) -> int:
    """Erase what was made of a batch, and have it worked on no more."""
    settings, files = installation_here()
    found = _look_up(settings, files, batch)
    released, reports = settings.released / batch, sorted(settings.reports.glob(f"*-{batch}.html"))
    if (released.exists() or reports) and not with_release:
        studies = ", those of studies" if list_known_studies(settings) else ""
        raise InputError(
            f"{batch} is released; give --with-release to delete {released}{studies} and its"
            " reports, too"
        )
    for made in files.dependents(batch):
        say(f"{made} was made from it, and stays until it is made again")
    withdraw(settings, files, releases_of(settings, files), found)
    say(
        f"{batch} withdrawn: {found.tally.received:,} notes; the original files stay in"
        f" {landing_folder(settings, batch)}, so that `deid batches retry {batch}` can bring them"
        " back; `deid erase` takes a patient out of them"
    )
    return 0


def retry(
    batch: str,
    *,
    format_name: str | None,
    labels: str | None,
    lang: str | None,
    sender: str | None,
    read: list[str] | None,
) -> int:
    """Mark a batch to be read again."""
    settings, files = installation_here()
    found = _look_up(settings, files, batch)
    overrides: dict[str, object] = {
        name: value
        for name, value in (
            ("format", format_name),
            ("labels", labels),
            ("lang", lang),
            ("sender", sender),
        )
        if value is not None
    }
    arrival = find_arrival(files, batch)
    if read:
        before = dict(arrival.overrides.get("read", {})) if arrival else {}  # type: ignore[call-overload]
        overrides["read"] = before | dict(_pair(option) for option in read)
    how_to_read(settings, overrides)  # raises where an option is wrong
    try_again(files, batch, overrides, landing=landing_folder(settings, batch))
    say(f"{batch} ({found.state}) is read again by the next `deid run` or landing sensor")
    return 0


def _pair(option: str) -> tuple[str, str]:
    name, equals, value = option.partition("=")
    if not equals:
        raise ConfigError(f"--read {option!r} must read KEY=VALUE")
    return name, value


def installation_here() -> tuple[Settings, StoreFiles]:
    """Return the settings and the store of the installation that the environment names.

    Raises:
        InputError: No batch ever arrived there.
    """
    settings = Settings.load()
    if not settings.store.is_dir():
        raise InputError(
            f"{settings.home}: no batch ever arrived here; name the installation's folder in"
            " DEID_HOME"
        )
    return settings, StoreFiles(settings.store, key=settings.receipt_key())


def _look_up(settings: Settings, files: StoreFiles, batch: str) -> BatchStatus:
    if batch not in batch_ids(settings):
        raise InputError("no such batch; `deid batches list` names them")
    return look(settings, files, batch)


def _names(settings: Settings, batch: str) -> list[str]:
    return [path.name for path in sources_of(landing_folder(settings, batch))]


def _row(settings: Settings, files: StoreFiles, batch: BatchStatus) -> dict[str, Any]:
    arrival = find_arrival(files, batch.batch)
    key = settings.key()
    names = [file.name for file in arrival.files] if arrival else []
    return {
        "batch": batch.batch,
        "state": batch.state.value,
        "arrived": batch.arrived_at,
        "files": [key.derive("file name", name).hex()[:16] for name in names],
        "bytes": batch.bytes,
        "attempt": batch.attempt,
        "sender": batch.sender,
        "languages": batch.languages,
        "reasons": batch.reasons,
        "earlier_release": batch.keeps_release,
        "repeat": batch.repeat,
        "notes": {"received": batch.tally.received, **asdict(batch.tally)},
        "stops": [
            {"asset": stop.asset, "at": stop.receipt.created_at, "reasons": list(stop.reasons)}
            for stop in batch.stops
        ],
    }


def _cells(batch: BatchStatus) -> list[str]:
    reason = next(iter(batch.reasons), batch.repeat)
    size = f"{batch.bytes / 1e6:.1f} MB" if batch.bytes >= 100_000 else f"{batch.bytes:,} B"
    notes = f"{batch.tally.received:,}" if batch.tally.received else "-"
    return [
        batch.batch,
        f"{batch.state.value}, earlier release out" if batch.keeps_release else batch.state.value,
        batch.arrived_at[:16].replace("T", " "),
        f"{batch.files:,}",
        size,
        notes,
        batch.languages,
        batch.sender,
        reason,
    ]


def _overrides(
    found: BatchStatus,
    arrival: Arrival | None,
    names: list[str],
    faults: list[tuple[str, str]],
    ignored: list[tuple[str, str]],
) -> Iterator[str]:
    arrived = (
        f"arrived {found.arrived_at}, attempt {found.attempt}"
        if arrival
        else "without a receipt of what arrived"
    )
    yield f"{found.batch}: {found.state}, {arrived}"
    yield notes_line(found.tally)
    for stop in found.stops:
        yield f"{stop.asset} was not stored on {stop.receipt.created_at[:19]}:"
        yield from (f"  {reason}" for reason in stop.reasons)
    if found.is_unapproved:
        yield UNAPPROVED
    if found.repeat:
        yield found.repeat
    if found.keeps_release:
        yield (
            "its earlier release is still out; to take it back: deid batches withdraw"
            f" {found.batch} --with-release"
        )
    yield "files:"
    yield from (f"  file-{at}  {name}" for at, name in enumerate(names[:_SHOWN_FAULTS], start=1))
    yield from _rest(len(names))
    if faults:
        yield "what cannot be read now:"
        yield from (f"  {place}  {message}" for place, message in faults[:_SHOWN_FAULTS])
        yield from _rest(len(faults))
    if ignored:
        yield "ignored:"
        yield from (f"  {name}  by the rule {rule!r}" for name, rule in ignored[:_SHOWN_FAULTS])
        yield from _rest(len(ignored))
    if found.state in (BatchState.STOPPED, BatchState.UNREADABLE):
        yield (
            f"then: deid batches retry {found.batch} [--read …], or deid batches withdraw"
            f" {found.batch}"
        )


def _rest(count: int) -> Iterator[str]:
    if count > _SHOWN_FAULTS:
        yield f"  and {count - _SHOWN_FAULTS:,} more; --json has all"
