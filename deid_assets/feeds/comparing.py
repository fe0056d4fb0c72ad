"""What a feed gives now beside what is known of it: new, changed, the same, or deleted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from sqlmodel import Session

from deid_assets.core.errors import InputError, class_name
from deid_assets.feeds.identity import FeedKeys
from deid_assets.feeds.source import Found, Gone, NoteFeed, Watermark
from deid_assets.feeds.spool import Spool, Taken
from deid_assets.formats.annotated import Fault, ParsedNote
from deid_assets.formats.registry import came_before
from deid_assets.own_plugins import message_of
from deid_assets.store.feeds import chunks, load_notes, load_units, read_known_notes

_CHUNK_NOTES = 200
_CHUNK_CHARACTERS = 2_000_000
Item = TypeVar("Item")
FEW = 10
"""So many notes may always be deleted in a run, whatever share they are."""


@dataclass(slots=True)
class FeedCounts:
    """Notes by what was found of them.

    Args:
        new: Never seen before.
        changed: Seen before, with another text, patient or language.
        same: Read again, and the same.
        deleted: No longer there.
        faults: Of the new and changed, those that cannot be read.
        units: Files, or queries, that were read.
        left: Changed, and erased from their batches, where they stay out.
    """

    new: int = 0
    changed: int = 0
    same: int = 0
    deleted: int = 0
    faults: int = 0
    units: int = 0
    left: int = 0


@dataclass(frozen=True, slots=True)
class FeedComparison:
    """A comparison of what a feed gives with what is known of it.

    Args:
        name: Of the feed.
        feed: That is read.
        keys: Under which its notes are known.
        session: Of the catalogue, to read.
        spool: Where what is found is entered.
        counts: Of what is found.
    """

    name: str
    feed: NoteFeed
    keys: FeedKeys
    session: Session
    spool: Spool
    counts: FeedCounts

    def read(self, *, again: bool) -> None:
        """Read every unit that changed, and sort its notes.

        Args:
            again: Also what did not change by its version or mark.

        Raises:
            InputError: The source failed.
        """
        for some in chunks(self._calling(self.feed.units())):
            keyed = {self.keys.unit(unit.name): unit for unit in some}
            known = {} if again else load_units(self.session, self.name, [*keyed])
            for key, unit in keyed.items():
                row, version = known.get(key), self.keys.version(unit.version)
                is_read = not version or row is None or row.version != version
                since = self.keys.open(row.mark) if row else ""
                self.spool.list_unit(key, unit, version=version, is_read=is_read, since=since)
        for key, unit, since in self.spool.units_to_read():
            self.counts.units += 1
            for some_found in _chunks(self._calling(self.feed.read(unit, since))):
                self._sort(key, some_found)

    def find_deleted(self) -> int:
        """Enter the known notes that are there no more, and return how many notes are known.

        Raises:
            InputError: The source failed.
        """
        if not self.feed.is_whole:
            for _, unit, _ in self.spool.units_to_read():
                for note_id in self._calling(self.feed.ids(unit)):
                    self.spool.see(self.keys.note(note_id))
        known = 0
        for note, home, batch, is_fault in read_known_notes(self.session, self.name):
            known += 1
            # A row without an id is in no list of ids.
            is_kept = is_fault and not self.feed.is_whole
            if not (is_kept or self.spool.is_seen(note) or self.spool.is_unread(home)):
                self._delete(note, batch)
        return known

    def _sort(self, unit: str, found: list[Found]) -> None:
        entries: list[tuple[str, ParsedNote | Fault | Gone]] = []
        for one in found:
            if isinstance(one, Watermark):
                self.spool.mark_unit(unit, self.keys.seal(one.value))
            elif isinstance(one, Gone):
                entries.append((self.keys.note(one.note_id), one))
            else:
                entries.append((self.keys.identity(one), one))
        known = load_notes(self.session, self.name, [note for note, _ in entries])
        for note, entry in entries:
            row = known.get(note)
            if isinstance(entry, Gone):
                if self.spool.see(note) and row is not None:
                    self._delete(note, row.batch)
            elif not self.spool.see(note) or (
                row is not None and row.unit != unit and self.spool.is_unread(row.unit)
            ):
                self._sort_doubled(unit, entry)
            else:
                before = (row.digest, row.unit, row.batch) if row else ("", "", "")
                self._enter(note, unit, entry, before)

    def _sort_doubled(self, unit: str, entry: ParsedNote | Fault) -> None:
        """Withhold a note whose id another one has; a note has one fault, however many things are
        wrong with it.
        """
        if isinstance(entry, Fault):
            return
        fault = came_before(entry)
        note = self.keys.identity(fault)
        if self.spool.see(note):
            row = load_notes(self.session, self.name, [note]).get(note)
            self._enter(
                note, unit, fault, (row.digest, row.unit, row.batch) if row else ("", "", "")
            )

    def _enter(
        self, note: str, unit: str, entry: ParsedNote | Fault, before: tuple[str, str, str]
    ) -> None:
        """Enter a note as new, changed or the same.

        Args:
            note: Keyed id.
            unit: Keyed name of the unit.
            entry: As it was read.
            before: Digest, unit and batch that it had; empty where it is new.
        """
        digest_before, unit_before, batch = before
        digest, is_fault = self.keys.digest(entry), isinstance(entry, Fault)
        taken = Taken(note, unit, digest, is_fault, batch)
        if digest == digest_before:
            self.counts.same += 1
            if unit != unit_before:
                self.spool.know(taken)
            return
        self.counts.faults += is_fault
        if batch:
            self.counts.changed += 1
            self.spool.change(taken, entry)
        else:
            self.counts.new += 1
            self.spool.add(taken, entry)

    def _delete(self, note: str, batch: str) -> None:
        self.counts.deleted += 1
        self.spool.delete(note, batch)

    def _calling(self, items: Iterable[Item]) -> Iterator[Item]:
        """Yield what the source gives; of what a foreign one raises the class alone is said."""
        try:
            yield from items
        except Exception as error:  # noqa: BLE001 - a plugin may raise anything
            why = message_of(error) or f"{class_name(error)}; see what the plugin needs"
            raise InputError(f"feed {self.name}: {why}; nothing was taken") from None


def check_deletions(name: str, deleted: int, known: int, *, limit: float) -> None:
    """Refuse deletions that may be a mistake of the source.

    Raises:
        InputError: More than ``limit`` of the known notes, and more than a few, or all of several,
            would be deleted.
    """
    if deleted <= FEW and (deleted < known or known <= 1):
        return
    if deleted < known and deleted <= limit * known:
        return
    raise InputError(
        f"feed {name}: {deleted:,} of {known:,} notes are there no more, which may be a fault of"
        " the source; nothing was taken. If they are to leave:"
        f" deid feed run {name} --accept-deletions"
    )


def _chunks(found: Iterable[Found]) -> Iterator[list[Found]]:
    """Yield what was found in lists of bounded size."""
    chunk: list[Found] = []
    size = 0
    for one in found:
        chunk.append(one)
        size += len(one.text) if isinstance(one, ParsedNote) else 0
        if len(chunk) >= _CHUNK_NOTES or size >= _CHUNK_CHARACTERS:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk
