"""Models of others, opened by this code alone.

Weights without code, read in a process with limits of its own.
"""

from __future__ import annotations

import io
import json
import lzma
import mmap
import multiprocessing
import os
import resource
import shutil
import zipfile
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

from deid_assets import Note
from deid_assets.extending import DeidError, Failed, InputError, load

KINDS = ("crf", "onnx", "transformers")
"""Plugins whose folders hold weights alone: safetensors, ONNX and the weights of a CRF."""
ASKED = ("rules",)
"""Detectors of the site that a submission may ask: one of a service would be sent the notes."""
FILES = frozenset({".json", ".onnx", ".safetensors", ".txt"})
"""Endings of what may be in a folder; none of them is read as code, as pickles are."""
MOST_FILES = 50
MOST_BYTES = 4 * 2**30
"""Of a folder, unpacked."""
MEMORY = 16 * 2**30
"""Address space of the process that opens one."""
_MOST_READ = 2**20
"""Bytes of an archive that are read at once, its list of members among them."""
_TAGGER = "tagger.json"
_NO_ARCHIVE = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    NotImplementedError,
    RuntimeError,
    OSError,
    EOFError,
    ValueError,
)
"""What reading a damaged archive may raise."""
_OUTSIDE = b"location"
"""Key under which an ONNX file names data beside it, which may be any file of this machine."""


class _Parts(io.RawIOBase):
    """An archive of which a little is read at a time: a list of a million members is refused."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._file.seek(offset, whence)

    def read(self, size: int = -1) -> bytes:
        part = self._file.read(_MOST_READ + 1 if size < 0 else min(size, _MOST_READ + 1))
        if len(part) > _MOST_READ:
            raise ValueError
        return part


def unpack(packed: BinaryIO, folder: Path) -> Path:
    """Return the folder of a model that came as a ZIP archive.

    Raises:
        InputError: It is none, or has a file that is no weights, too many of them, or one that
            leads outside.
    """
    try:
        with zipfile.ZipFile(_Parts(packed)) as archive:
            members = [one for one in archive.infolist() if not one.is_dir()]
            _check_members(members)
            for one in members:
                place = folder / PurePosixPath(one.filename).name
                with archive.open(one) as source, place.open("wb") as target:
                    shutil.copyfileobj(source, target)
    except InputError:  # a ValueError too: what is wrong with the members is said as it is
        raise
    except _NO_ARCHIVE:
        raise InputError(
            "the submission is no ZIP archive that can be read; pack the model's folder again"
        ) from None
    return folder


def _check_members(members: Sequence[zipfile.ZipInfo]) -> None:
    if len(members) > MOST_FILES or sum(one.file_size for one in members) > MOST_BYTES:
        raise InputError(
            f"the archive has over {MOST_FILES} files or {MOST_BYTES:,} bytes; submit a smaller"
            " model"
        )
    if len({PurePosixPath(one.filename).name for one in members}) < len(members):
        raise InputError("the archive has a file twice; pack one folder, without folders in it")
    for one in members:
        if PurePosixPath(one.filename).suffix not in FILES:
            raise InputError(
                f"the archive has a file that is none of {', '.join(sorted(FILES))}; leave it out"
            )


def check_folder(folder: Path) -> None:
    """Refuse a folder of anything but weights.

    Raises:
        InputError: A file of it may hold code, or names data beside it.
    """
    if not folder.is_dir():
        raise InputError(f"{folder.name} is no folder; give that of a model")
    for path in folder.rglob("*"):
        if path.is_symlink():
            raise InputError("the model has a link; copy the file itself")
        if path.is_file() and path.suffix not in FILES:
            raise InputError(
                f"the model has a file that is none of {', '.join(sorted(FILES))}; leave it out"
            )
        if path.suffix == ".onnx" and _holds(path, _OUTSIDE):
            raise InputError(
                "an ONNX file names data outside itself; export the model with its weights in one"
                " file"
            )


def _holds(path: Path, word: bytes) -> bool:
    """Whether a word stands in a file, which is not read into memory."""
    if not path.stat().st_size:
        return False
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return content.find(word) >= 0


def answers(
    folder: Path, notes: Sequence[Note], *, seconds: float
) -> list[frozenset[tuple[int, int, str]]]:
    """Return the spans that a tagger finds in each note; of a note on which it fails, none.

    Raises:
        InputError: The folder is none of a tagger, or it failed or took too long.
    """
    check_folder(folder)
    found: list[frozenset[tuple[int, int, str]]] = apart(
        _tag, (folder, tuple(notes)), seconds=seconds
    )
    return found


def _tag(folder: Path, notes: Sequence[Note]) -> list[frozenset[tuple[int, int, str]]]:
    detector = load("submission", plugin=_kind_of(folder), options={"model": str(folder)})
    found: list[frozenset[tuple[int, int, str]]] = []
    for spans in detector.detect(notes):
        known = () if isinstance(spans, Failed) else spans
        found.append(frozenset((one.start, one.end, one.label.value) for one in known))
    return found


def _kind_of(folder: Path) -> str:
    """Return the plugin that opens a folder: what its ``tagger.json`` says, or that of ONNX files.

    Raises:
        InputError: It says another.
    """
    if any(folder.glob("*.onnx")):
        return "onnx"
    try:
        about = json.loads((folder / _TAGGER).read_text("utf-8"))
        kind, asked = about["plugin"], about.get("predictions_of", "")
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        kind, asked = None, ""
    if kind not in KINDS:
        raise InputError(
            f"the model's {_TAGGER} names no plugin of {', '.join(KINDS)}; submit one that deid"
            " train wrote"
        )
    if asked not in ("", *ASKED):
        raise InputError(
            f"the model's {_TAGGER} asks another detector of this site than {', '.join(ASKED)};"
            ' submit one that was trained with predictions_of = "" or one of these'
        )
    return str(kind)


def apart(work: Callable[..., Any], given: tuple[Any, ...], *, seconds: float) -> Any:
    """Return what a function of this code returns in a process with limits on time and memory.

    Raises:
        InputError: It failed, or took too long; of its reason only what this code wrote is told.
    """
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_run_limited, args=(there, work, given, seconds), daemon=True)
    process.start()
    there.close()
    try:
        is_told = here.poll(seconds)
        fault, value = (
            here.recv() if is_told else (f"the submission took more than {seconds:g} s", None)
        )
    except EOFError:
        fault, value = "the submission ended its process", None
    finally:
        process.kill()
        process.join()
        here.close()
    if fault:
        raise InputError(fault)
    return value


def _run_limited(
    pipe: Connection, work: Callable[..., Any], given: tuple[Any, ...], seconds: float
) -> None:
    """Do the work in a session without a terminal, with limits, whose streams go nowhere."""
    os.setsid()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    for limit, most in (
        (resource.RLIMIT_AS, MEMORY),
        (resource.RLIMIT_CPU, int(seconds) + 1),
        (resource.RLIMIT_CORE, 0),
    ):
        with suppress(ValueError, OSError):
            resource.setrlimit(limit, (most, most))
    try:
        value = work(*given)
    except DeidError as error:
        pipe.send((str(error), None))
    else:
        pipe.send(("", value))
