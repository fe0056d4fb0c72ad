"""What a run of a feed makes of its notes: batches, planned, entered, and then landed.

::

    restricted/landing/.feeds/NAME/staged/b-…-0001/notes.drafts    a new batch, or what takes the
                                                                   place of one
    restricted/landing/.feeds/NAME/staged/plan.json                which batches, with their digests

The plan counts once its keyed digest stands in the catalogue, which one transaction enters together
with the digests of the notes and the watermark. Until then a killed run has taken nothing; from
then on the next run lands what is planned, before it reads.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from deid_assets.config import Settings
from deid_assets.core.errors import ProvenanceError
from deid_assets.feeds.comparing import FeedCounts
from deid_assets.feeds.identity import FeedKeys
from deid_assets.feeds.spool import Spool
from deid_assets.formats.parsed_notes import encode_parsed_note, read_parsed_notes
from deid_assets.intake.arrivals import (
    PART_FILE,
    check_arrival,
    find_arrival,
    list_files,
    sign_arrival,
    sign_replacement,
)
from deid_assets.intake.grouping import GroupLimits, write_groups
from deid_assets.intake.reader import landing_folder
from deid_assets.intake.states import look
from deid_assets.intake.withdrawal import releases_of, withdraw
from deid_assets.store.files import StoreFiles
from deid_assets.store.withdrawals import Withdrawals
from deid_assets.system.digests import sha256_of

_PLAN = "plan.json"


@dataclass(frozen=True, slots=True)
class StagedBatch:
    """A batch that is to be landed.

    Args:
        batch: Its id.
        sha256: Digest of its file.
        is_new: Whether there was none of that id.
        is_empty: Whether its last note is gone, so that it and its release are withdrawn.
        is_withdrawn: Whether somebody withdrew it, which it stays.
    """

    batch: str
    sha256: str
    is_new: bool
    is_empty: bool = False
    is_withdrawn: bool = False


@dataclass(frozen=True, slots=True)
class Stage:
    """The folder in which a feed's batches are made.

    Args:
        settings: Of the installation.
        feed: Name of the feed.
        keys: Under which its notes are known.
        files: The store.
        folder: Of what is staged.
    """

    settings: Settings
    feed: str
    keys: FeedKeys
    files: StoreFiles
    folder: Path

    def make(self, spool: Spool, counts: FeedCounts, *, generation: int, notes: int) -> str:
        """Write the batches of a run with their plan, and return the plan's keyed digest.

        Empty where there is nothing to land.

        Args:
            spool: With what was found; the batches of new notes are entered in it.
            counts: Of what was found.
            generation: Of what is taken.
            notes: Most notes of a new batch.

        Raises:
            ProvenanceError: A batch in which notes change is not what was signed.
        """
        self.folder.mkdir(mode=0o700)
        planned = [
            *self._group(spool, counts, generation=generation, notes=notes),
            *self._rewrite(spool, counts),
        ]
        if not planned:
            return ""
        content = json.dumps([asdict(one) for one in planned]).encode()
        with (self.folder / _PLAN).open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        return self.keys.plan(content)

    def land(self, plan: str) -> list[str]:
        """Move what is planned to the batches, and return their ids. A killed call is completed by
        the next.

        Args:
            plan: Keyed digest of the plan, as the catalogue has it.

        Raises:
            ProvenanceError: The plan or a file is not what was planned, or is gone.
        """
        try:
            content = (self.folder / _PLAN).read_bytes()
        except FileNotFoundError:
            content = b""
        if self.keys.plan(content) != plan:
            raise ProvenanceError(
                f"feed {self.feed}: what it took and did not land yet was altered or is gone from"
                f" {self.folder}; restore that folder and run the feed again"
            )
        planned = [StagedBatch(**fields) for fields in json.loads(content)]
        for one in planned:
            if one.is_new:
                self._land_new(one)
            else:
                self._land_changed(one)
        return [one.batch for one in planned]

    def clear(self) -> None:
        """Remove what is staged."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _group(
        self, spool: Spool, counts: FeedCounts, *, generation: int, notes: int
    ) -> Iterator[StagedBatch]:
        """Write the new notes to batches."""
        if not counts.new:
            return
        limits = GroupLimits(self.settings.batches.max_characters, notes)
        arrival = self.keys.arrival(generation)
        write_groups(spool.read_new_entries, self.folder, name=arrival, limits=limits)
        for path in sorted(self.folder.glob(f"{arrival}-*/{PART_FILE}")):
            for entry in read_parsed_notes([path]):
                spool.place(self.keys.identity(entry), path.parent.name)
            yield StagedBatch(path.parent.name, sha256_of(path), is_new=True)

    def _rewrite(self, spool: Spool, counts: FeedCounts) -> Iterator[StagedBatch]:
        """Write the batches in which notes change, with the changes in their places."""
        for batch in spool.list_changed_batches():
            landing = landing_folder(self.settings, batch)
            changes = spool.changes_of(batch)
            if not (landing / PART_FILE).is_file():
                counts.left += sum(line is not None for line in changes.values())
                continue
            check_arrival(self.files, batch, landing=landing)
            target = self.folder / batch / PART_FILE
            target.parent.mkdir(mode=0o700)
            kept = self._write_changed(landing / PART_FILE, target, changes)
            # What is in its batch no more was erased there.
            counts.left += sum(line is not None for line in changes.values())
            yield StagedBatch(
                batch,
                sha256_of(target),
                is_new=False,
                is_empty=not kept,
                is_withdrawn=Withdrawals(self.files).is_withdrawn(batch),
            )

    def _write_changed(self, source: Path, target: Path, changes: dict[str, bytes | None]) -> int:
        """Write a batch with its changes, and return how many entries it has.

        What is left in ``changes`` is of notes that the batch does not hold.
        """
        kept = 0
        with target.open("xb") as file:
            for entry in read_parsed_notes([source]):
                note = self.keys.identity(entry)
                line = changes.pop(note) if note in changes else encode_parsed_note(entry)
                if line is not None:
                    file.write(line)
                    kept += 1
            file.flush()
            os.fsync(file.fileno())
        return kept

    def _land_new(self, one: StagedBatch) -> None:
        staged, target = self.folder / one.batch, landing_folder(self.settings, one.batch)
        if not staged.is_dir():  # an earlier call moved it
            return
        self._check(staged / PART_FILE, one)
        listed = list_files(sorted(staged.iterdir()), root=staged)
        sign_arrival(self.files, one.batch, listed, overrides={"sender": self.feed})
        staged.rename(target)

    def _land_changed(self, one: StagedBatch) -> None:
        staged, target = self.folder / one.batch, landing_folder(self.settings, one.batch)
        if not staged.is_dir():
            return
        if target.is_dir():  # else it was erased meanwhile, and stays so
            if (staged / PART_FILE).exists():
                self._check(staged / PART_FILE, one)
                (staged / PART_FILE).replace(target / PART_FILE)
            self._sign_changed(one, target)
        shutil.rmtree(staged)

    def _sign_changed(self, one: StagedBatch, target: Path) -> None:
        """Sign what a batch holds now, once, and keep it withdrawn or withdraw it."""
        self._check(target / PART_FILE, one)
        listed = list_files(sorted(target.iterdir()), root=target)
        known = find_arrival(self.files, one.batch)
        if known is None or list(known.files) != listed:
            sign_replacement(self.files, one.batch, listed)
        if one.is_withdrawn:
            Withdrawals(self.files).renew(one.batch)
        elif one.is_empty:
            found = look(self.settings, self.files, one.batch)
            releases = releases_of(self.settings, self.files)
            withdraw(self.settings, self.files, releases, found)

    def _check(self, path: Path, one: StagedBatch) -> None:
        if not path.is_file() or sha256_of(path) != one.sha256:
            raise ProvenanceError(
                f"feed {self.feed}: the staged file of batch {one.batch} was altered or is gone;"
                " restore it and run the feed again"
            )
