"""Outputs of a command, checked before any work is done."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from deid_assets.cli.app import PLAIN_CSV
from deid_assets.cli.endings import PARTIAL, say
from deid_assets.cli.streams import Withheld
from deid_assets.cli.tables import print_json
from deid_assets.core.errors import InputError
from deid_assets.formats import FORMATS, Format, WriteOptions, format_named


def check_out(out: Path, *, inputs: Iterable[Path], is_folder: bool, option: str = "--out") -> None:
    """Refuse an output that cannot be written, or that would replace or join an input.

    Args:
        out: Where it goes.
        inputs: What is read, or written elsewhere.
        is_folder: What it is to be.
        option: The option that names it, for the message.

    Raises:
        InputError: It is one of these; the message says what to name instead.
    """
    target = out.resolve()
    for path in inputs:
        if target == path.resolve():
            raise InputError(f"{option} {out} is also an input; name another")
        if path.is_dir() and target.is_relative_to(path.resolve()):
            raise InputError(
                f"{option} {out} lies in the folder that is read; name a place outside {path}"
            )
    if out.exists() and out.is_dir() is not is_folder:
        raise InputError(
            f"{option} {out} is {'no folder' if is_folder else 'a folder'}; name another"
        )
    if out.exists() and not is_folder and not out.is_file():
        raise InputError(f"{option} {out} is no regular file; name another")
    nearest = next(path for path in target.parents if path.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
        raise InputError(
            f"{option} {out} cannot be written, because {nearest} is no folder that you may"
            " write to"
        )


def out_format(out: Path, chosen: str | None) -> Format:
    """Return the format of notes to write: the one chosen, or that of the suffix.

    Raises:
        InputError: It is unknown, or the suffix does not say it.
    """
    by_suffix = [
        known.name
        for known in FORMATS.values()
        if not known.is_folder and out.suffix.lower() in known.suffixes
    ]
    if chosen is None and not by_suffix:
        of_folders = [one.name for one in FORMATS.values() if out.suffix.lower() in one.suffixes]
        if of_folders:
            raise InputError(
                f"--out {out}: {of_folders[0]} writes one file per note; name a folder, and add"
                f" --to {of_folders[0]}"
            )
        raise InputError(
            f"--out {out} has no suffix that says its format; add --to with one of"
            f" {', '.join(FORMATS)}"
        )
    return format_named(chosen or by_suffix[0])


def write_options() -> WriteOptions:
    """Return how the running command writes notes and lists."""
    return WriteOptions(formulas="plain" if PLAIN_CSV.get() else "escaped")


def finish(
    counted: Mapping[str, int],
    withheld: Withheld,
    out: Path,
    *,
    as_json: bool,
    more: Mapping[str, object] | None = None,
) -> int:
    """Say what was done and return the exit code; ``more`` is for machines only."""
    if as_json:
        entries = withheld.to_json()
        figures = {**counted, **(more or {}), "withheld": len(withheld)}
        print_json({**figures, "withheld_notes": entries, "out": str(out)})
    else:
        said = ", ".join(f"{count:,} {what}" for what, count in counted.items())
        say(f"{said}, {len(withheld):,} withheld; written to {out}")
    return PARTIAL if len(withheld) else 0
