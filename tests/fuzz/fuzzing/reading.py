"""Damaged files are read in place: one folder in memory, written anew for each."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from deid_assets.core.errors import InputError
from deid_assets.formats import FORMATS, Annotated, Fault, ReadOptions, read_notes
from deid_assets.formats.archives import suffix_of
from deid_assets.formats.registry import check_parsed_notes
from deid_assets.formats.source import Source

ROOT = Path(__file__).parents[3]
SHARED_MEMORY = Path("/dev/shm")
OUTCOMES = ("read as notes", "with faults", "refused as a whole")
WORDS = (
    "Ann L",
    "Okafor",
    "Marrowby",
    "Odette",
    "Abara",
    "Lindqvist",
    "Quillan",
    "440044",
    "44-1200",
    "900-12-3456",
)
"""Of the golden files: names and numbers of people."""


def golden(name: str) -> list[Path]:
    """Return the golden files of a format."""
    folders = [ROOT / "tests" / "formats" / "data", *sorted(ROOT.glob("plugins/*/tests/**/data"))]
    beside = [path for folder in folders for path in (folder / name).rglob("*")]
    found = [*beside, *(path for folder in folders for path in folder.glob("notes.*"))]
    return [
        path for path in found if path.is_file() and path.suffix.lower() in FORMATS[name].suffixes
    ]


@dataclass(frozen=True, slots=True)
class Reading:
    """Reads one damaged file after the other.

    Args:
        name: Format.
        folder: What is read; holds nothing else but ``beside``.
        suffix: Of the file, its dot with it.
    """

    name: str
    folder: Path
    suffix: str

    def _found(self) -> list[Annotated | Fault]:
        """Let the reader read the file.

        Where nothing comes of that, or in an archive, the folder is read.
        """
        chosen, options = FORMATS[self.name], ReadOptions()
        path = self.folder / f"a1{self.suffix}"
        if not suffix_of(path.name) and path.stat().st_size:
            with suppress(OSError):  # of which the reading of a folder makes a fault
                parsed_notes = chosen.reader(Source(path, self.folder), options)
                if found := list(
                    check_parsed_notes(parsed_notes, labels=chosen.labels, options=options)
                ):
                    return found
        return list(read_notes(self.folder, format=self.name))

    def outcome(self, content: bytes) -> str:
        """Read a file and return what came of it, one of ``OUTCOMES``.

        Raises:
            AssertionError: The answer is no note and no fault, or a message shows text or is not
                printable.
        """
        file = os.open(self.folder / f"a1{self.suffix}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        try:
            assert os.write(file, content) == len(content)
        finally:
            os.close(file)
        try:
            found = self._found()
        except InputError as error:
            check_message(str(error).replace(str(self.folder), ""))
            return "refused as a whole"
        assert found, "neither a note nor a fault"
        faults = [entry for entry in found if not isinstance(entry, Annotated)]
        for fault in faults:
            assert isinstance(fault, Fault)
            check_message(fault.message.replace(fault.note_id or "\0", ""))
        return "with faults" if faults else "read as notes"


def check_message(message: str) -> None:
    """Check what a user is shown.

    Raises:
        AssertionError: It has a line break or another control character, or names or numbers of
            people.
    """
    assert message.isprintable(), "a message that is not printable"
    assert not any(word in message for word in WORDS), "a message shows text"


@contextmanager
def reading(name: str, suffix: str, beside: Path | None = None) -> Iterator[Reading]:
    """Give a place to read damaged files in.

    ``beside`` is a sound file that has to lie there, as ``a1.txt`` by ``a1.ann``.
    """
    with TemporaryDirectory(dir=SHARED_MEMORY if SHARED_MEMORY.is_dir() else None) as folder:
        if beside is not None:
            Path(folder, f"a1{beside.suffix}").write_bytes(beside.read_bytes())
        yield Reading(name, Path(folder), suffix)
        with suppress(FileNotFoundError):
            Path(folder, f"a1{suffix}").unlink()
