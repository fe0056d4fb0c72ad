"""What became of each batch, and a count of its notes in which each stands once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from enum import StrEnum

from deid_assets.config import Settings
from deid_assets.core.assets import Family, study_part
from deid_assets.core.errors import DeidError, ProvenanceError
from deid_assets.intake.arrivals import find_arrival, repeat_line
from deid_assets.intake.reader import landing_store
from deid_assets.intake.stops import Stop, find_stop, list_stopped_assets
from deid_assets.policies import load_policy
from deid_assets.store.approvals import APPROVAL, REPORT, find_approval
from deid_assets.store.files import Receipt, StoreFiles
from deid_assets.store.manifests import MANIFEST
from deid_assets.store.withdrawals import WITHDRAWN, Withdrawals

_RAW, _RELEASED = "raw_notes", "released_corpus"
UNAPPROVED = "nobody approved the page on it yet: read it and run `deid approve` with it"


class BatchState(StrEnum):
    """State of a batch."""

    NEW = "new"
    MADE = "made"
    RELEASED = "released"
    WAITING = "waiting"
    STOPPED = "stopped"
    UNREADABLE = "unreadable"
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True, slots=True)
class NoteTally:
    """Notes by what became of them.

    A file that gave no note and should have counts as one that is unreadable.

    Args:
        released: Left in a release.
        quarantined: Could be read, and are withheld from the release.
        stopped: Could be read, in batches that were stopped.
        withdrawn: In batches that were withdrawn, readable or not.
        waiting: Were read, in batches that are neither released nor stopped.
        unreadable: Could not be read, but for those withdrawn.
    """

    released: int = 0
    quarantined: int = 0
    stopped: int = 0
    withdrawn: int = 0
    waiting: int = 0
    unreadable: int = 0

    @property
    def received(self) -> int:
        """All of them."""
        return sum(getattr(self, part.name) for part in fields(self))

    def __add__(self, other: NoteTally) -> NoteTally:
        return NoteTally(
            *(getattr(self, part.name) + getattr(other, part.name) for part in fields(self))
        )


@dataclass(frozen=True, slots=True)
class BatchStatus:
    """State of a batch.

    Args:
        batch: Its id.
        state: What became of it.
        tally: Its notes; all zero where none was ever read.
        arrived_at: UTC, ISO 8601; empty where it is not known.
        files: That arrived.
        bytes: Of these.
        attempt: How often it was to be tried again.
        sender: Who sent it; empty where nobody said.
        languages: Notes per language, as ``en:12+de:3``.
        stops: What was not stored, and why.
        fault: Why its state cannot be read; empty where it can.
        is_unapproved: Whether nobody approved the page on it, where somebody must.
        repeat: How often it was dropped again, in words; empty where it never was.
    """

    batch: str
    state: BatchState
    tally: NoteTally
    arrived_at: str = ""
    files: int = 0
    bytes: int = 0
    attempt: int = 0
    sender: str = ""
    languages: str = ""
    stops: tuple[Stop, ...] = ()
    fault: str = ""
    is_unapproved: bool = False
    repeat: str = ""

    @property
    def reasons(self) -> list[str]:
        """Reasons why it was stopped or waits, one line each."""
        return [
            *filter(None, [self.fault]),
            *(reason for stop in self.stops for reason in stop.reasons),
            *([UNAPPROVED] if self.is_unapproved else []),
        ]

    @property
    def keeps_release(self) -> bool:
        """Whether an earlier release of it is still out that would not leave now."""
        return bool(self.tally.released) and self.state is not BatchState.RELEASED


def earlier_line(found: Sequence[BatchStatus]) -> str:
    """Return that earlier releases are still out, and how to take them back; empty where none is.

    Those that the present settings, or the present checks, would not let out.
    """
    kept = [one.batch for one in found if one.keeps_release]
    if not kept:
        return ""
    others = f", as do {len(kept) - 1:,} more (`deid batches list`)" if kept[1:] else ""
    return (
        f"batch {kept[0]} keeps an earlier release{others}, which is still out and passes `deid"
        " verify`, though the present settings or checks let it no longer out: take it back with"
        f" `deid batches withdraw {kept[0]} --with-release`, or do what it waits for, and the next"
        " release takes its place"
    )


def batch_ids(settings: Settings) -> list[str]:
    """Return every batch that was taken in, sorted."""
    folder = landing_store(settings)
    return (
        sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
        if folder.is_dir()
        else []
    )


def open_batches(settings: Settings, files: StoreFiles) -> list[str]:
    """Return the batches that are worked on: those not withdrawn.

    One whose receipts were altered is refused there.
    """
    return [batch for batch in batch_ids(settings) if not _is_closed(files, batch)]


def _is_closed(files: StoreFiles, batch: str) -> bool:
    try:
        return Withdrawals(files).is_withdrawn(batch)
    except ProvenanceError:
        return False


def look(settings: Settings, files: StoreFiles, batch: str) -> BatchStatus:
    """Return what became of a batch, by its signed receipts.

    Of one with an altered receipt, that it is stopped.
    """
    try:
        return _look(settings, files, batch)
    except ProvenanceError as error:
        return BatchStatus(batch, BatchState.STOPPED, NoteTally(), fault=str(error))


def _look(settings: Settings, files: StoreFiles, batch: str) -> BatchStatus:
    arrival = find_arrival(files, batch)
    raw = files.find(_RAW, batch)
    # What a study waits for says nothing of the batch; `deid studies list` shows it.
    named = [asset for asset in list_stopped_assets(files, batch) if not study_part(asset)[0]]
    found = (find_stop(files, asset, batch) for asset in named)
    stops = tuple(stop for stop in found if stop is not None)
    released = _find_release(settings, files, batch)
    is_withdrawn = Withdrawals(files).is_withdrawn(batch)
    is_unapproved = settings.release.approval and _is_unapproved(files, batch)
    state = _state(settings, raw, stops, released=released, is_unapproved=is_unapproved)
    if is_withdrawn:
        state = BatchState.WITHDRAWN
    unread = next(
        (stop.receipt for stop in stops if stop.asset == _RAW and not stop.is_error), None
    )
    read = files.find(WITHDRAWN, batch) if state is BatchState.WITHDRAWN else unread or raw
    counts = read.counts if read else {}
    return BatchStatus(
        batch,
        state,
        _tally(files, batch, state, read, released=released),
        arrived_at=arrival.arrived_at if arrival else "",
        files=len(arrival.files) if arrival else 0,
        bytes=sum(file.bytes for file in arrival.files) if arrival else 0,
        attempt=arrival.attempt if arrival else 0,
        sender=str(counts.get("sender", "")),
        languages=str(counts.get("languages", "")),
        stops=stops,
        is_unapproved=is_unapproved and state is BatchState.WAITING,
        repeat=repeat_line(files, batch),
    )


def look_at_all(settings: Settings, files: StoreFiles) -> list[BatchStatus]:
    """Return what became of every batch, sorted by id."""
    return [look(settings, files, batch) for batch in batch_ids(settings)]


def total(batches: Sequence[BatchStatus]) -> NoteTally:
    """Return the notes of all batches."""
    return sum((batch.tally for batch in batches), NoteTally())


def notes_line(tally: NoteTally) -> str:
    """Return the notes that arrived as a sum in which each stands once."""
    parts = [
        f"{tally.released:,} released",
        f"{tally.quarantined:,} quarantined",
        f"{tally.unreadable:,} unreadable",
        *([f"{tally.stopped:,} in stopped batches"] if tally.stopped else []),
        *([f"{tally.withdrawn:,} withdrawn"] if tally.withdrawn else []),
        *([f"{tally.waiting:,} in batches that are not done"] if tally.waiting else []),
    ]
    return f"{tally.received:,} received = {' + '.join(parts)}"


def _is_unapproved(files: StoreFiles, batch: str) -> bool:
    """Whether there is a page on a batch that nobody approved."""
    return files.find(REPORT, batch) is not None and find_approval(files, batch) is None


def _state(
    settings: Settings,
    raw: Receipt | None,
    stops: Sequence[Stop],
    *,
    released: Receipt | None,
    is_unapproved: bool,
) -> BatchState:
    """Return what became of a batch that was not withdrawn."""
    if any(stop.asset == _RAW and "readable" in stop.failed_checks for stop in stops):
        return BatchState.UNREADABLE
    on_the_way = [stop for stop in stops if stop.asset in _path(settings)]
    if any(not stop.waits for stop in on_the_way):
        return BatchState.STOPPED
    if on_the_way or is_unapproved:
        return BatchState.WAITING
    if released:
        return BatchState.RELEASED
    return BatchState.MADE if raw else BatchState.NEW


def _path(settings: Settings) -> list[str]:
    """Return the assets without which nothing is released."""
    try:
        policy = load_policy(settings.release_policy).name
    except DeidError:  # said by what loads the graph
        policy = settings.release_policy
    spans = [Family.SPANS.of(name) for name in settings.ensemble]
    redacted = ["merged_spans", Family.REDACTED_NOTES.of(policy), "quarantine"]
    return [_RAW, "gold_annotations", *spans, *redacted, REPORT, APPROVAL, _RELEASED]


def _tally(
    files: StoreFiles,
    batch: str,
    state: BatchState,
    read: Receipt | None,
    *,
    released: Receipt | None,
) -> NoteTally:
    """Count each note once.

    What an earlier release let out is out, also where its batch was stopped since.
    """
    if released is not None and state is not BatchState.WITHDRAWN:
        held, unreadable = int(released.counts["quarantined"]), _unreadable(files, batch, released)
        return NoteTally(
            released=int(released.counts["notes"]),
            quarantined=held - unreadable,
            unreadable=unreadable,
        )
    if read is None:
        return NoteTally()
    notes, withheld = int(read.counts.get("notes", 0)), int(read.counts.get("withheld", 0))
    if state is BatchState.WITHDRAWN:
        return NoteTally(withdrawn=notes + withheld)
    if state in (BatchState.STOPPED, BatchState.UNREADABLE):
        return NoteTally(stopped=notes, unreadable=withheld)
    return NoteTally(waiting=notes, unreadable=withheld)


def _find_release(settings: Settings, files: StoreFiles, batch: str) -> Receipt | None:
    """Return the receipt of a release that lies where releases are handed over."""
    return (
        files.find(_RELEASED, batch) if (settings.released / batch / MANIFEST).is_file() else None
    )


def _unreadable(files: StoreFiles, batch: str, released: Receipt) -> int:
    """Return how many of a release's withheld notes could not be read."""
    if "unreadable" in released.counts:
        return int(released.counts["unreadable"])
    raw = files.find(_RAW, batch)  # a release that is older than the count
    return min(int(raw.counts["withheld"]), int(released.counts["quarantined"])) if raw else 0
