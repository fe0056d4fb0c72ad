"""What is held of a patient in the batches: their files as they arrived, read once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from deid_assets.config import Settings
from deid_assets.core.errors import ConfigError, InputError
from deid_assets.formats.annotated import Fault, ParsedNote
from deid_assets.formats.parsed_notes import read_parsed_notes
from deid_assets.formats.registry import FormatError, parse_notes
from deid_assets.intake.arrivals import (
    Arrival,
    check_arrival,
    find_arrival,
    part_files,
    waiting,
    whole_of,
)
from deid_assets.intake.landing import arrivals
from deid_assets.intake.reader import (
    holds_parsed_notes,
    how_of,
    landing_folder,
    landing_store,
    sources_of,
)
from deid_assets.intake.states import batch_ids
from deid_assets.store.files import StoreFiles
from deid_assets.store.withdrawals import Withdrawals

Seen = Callable[[ParsedNote], None]
"""Is given every note that is read."""

_EVERY = "*"
"""Stands for all files of an arrival where none of them could be read."""


@dataclass(slots=True)
class Holding:
    """A batch in which a patient has notes.

    Args:
        batch: Its id.
        notes: Of the patient.
        others: Notes of others.
        unreadable: Entries that cannot be read, of whomever.
        only_theirs: Files in which only this patient has notes; their names may name the patient.
        is_withdrawn: Whether somebody withdrew it.
    """

    batch: str
    notes: int = 0
    others: int = 0
    unreadable: int = 0
    only_theirs: set[str] = field(default_factory=set, repr=False)
    is_withdrawn: bool = False


@dataclass(frozen=True, slots=True)
class Holdings:
    """What was found in all batches.

    Args:
        batches: Those in which the patient has notes.
        read: How many batches were read.
        unknown: Entries in other batches that cannot be read, so that whose they are is not known.
    """

    batches: tuple[Holding, ...]
    read: int
    unknown: int


def find_holdings(settings: Settings, files: StoreFiles, patient: str, *, seen: Seen) -> Holdings:
    """Read every batch, and return those in which a patient has notes.

    Args:
        settings: Of the installation.
        files: The store.
        patient: Who is looked for.
        seen: Is given every note.

    Raises:
        InputError: Something arrived that is in no batch yet, so that it cannot be looked at.
        ProvenanceError: The files of a batch are not those that arrived.
    """
    _check_all_is_taken_in(settings)
    found: list[Holding] = []
    batches = batch_ids(settings)
    unknown = 0
    for batch in batches:
        holding = _holding_of(settings, files, batch, patient, seen=seen)
        if holding.notes:
            found.append(holding)
        else:
            unknown += holding.unreadable
    return Holdings(tuple(found), len(batches), unknown)


def parse_entries(
    settings: Settings, files: StoreFiles, batch: str
) -> Iterator[ParsedNote | Fault]:
    """Yield what a batch's files hold before it is checked, one at a time.

    Raises:
        ProvenanceError: The files are not those that arrived.
    """
    landing = landing_folder(settings, batch)
    arrival = check_arrival(files, batch, landing=landing)
    if holds_parsed_notes(batch, arrival):
        yield from read_parsed_notes(part_files(landing))
        return
    for source in sources_of(landing):
        try:
            how = how_of(settings, arrival, source)
            yield from parse_notes(source, format=how.format, options=how.options)
        except FormatError as error:
            yield Fault.at(_EVERY, "unknown-format", error.reason)
        except ConfigError as error:
            yield Fault.at(_EVERY, "wrong-setting", str(error))


def files_of_arrival(files: StoreFiles, batch: str) -> Arrival | None:
    """Return the larger arrival that a batch was cut from, where it was cut from one."""
    whole = whole_of(batch)
    return None if whole == batch else find_arrival(files, whole)


def _check_all_is_taken_in(settings: Settings) -> None:
    """Refuse while something waits that may hold the patient and that nobody read.

    Raises:
        InputError: Naming what waits and what to do.
    """
    landing = landing_store(settings)
    staged = list(landing.glob(".b-*")) if landing.is_dir() else []
    unplanned = [*landing.glob(".feeds/*/staged")] if landing.is_dir() else []
    if arrivals(settings, settle_s=0.0) or staged:
        raise InputError(
            f"{settings.landing} holds what is in no batch yet; take it in with `deid run`, or take"
            " it away, and erase then"
        )
    if waiting(landing):
        raise InputError(
            "an arrival waits to be split into batches; let `deid run` do it, and erase then"
        )
    if unplanned:
        raise InputError(
            f"feed {unplanned[0].parent.name} took notes that are in no batch yet; complete it with"
            f" `deid feed run {unplanned[0].parent.name}`, and erase then"
        )


def _holding_of(
    settings: Settings, files: StoreFiles, batch: str, patient: str, *, seen: Seen
) -> Holding:
    holding = Holding(batch)
    theirs: set[str] = set()
    of_others: set[str] = set()
    for entry in parse_entries(settings, files, batch):
        outer = entry.file.partition("!/")[0]
        if isinstance(entry, Fault):
            holding.unreadable += 1
            of_others.add(outer)
            continue
        seen(entry)
        if entry.patient_id == patient:
            holding.notes += 1
            theirs.add(outer)
        else:
            holding.others += 1
            of_others.add(outer)
    if holding.notes:
        holding.only_theirs = theirs - of_others
        holding.is_withdrawn = Withdrawals(files).is_withdrawn(batch)
    return holding
