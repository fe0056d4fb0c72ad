"""``deid leak``: which releases hold a value that was reported as leaked."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deid_assets.cli.app import app
from deid_assets.cli.arguments import JsonOption
from deid_assets.cli.endings import BAD_INPUT, PARTIAL, guarded, say
from deid_assets.cli.tables import print_json, print_table
from deid_assets.core.errors import DeidError, InputError

if TYPE_CHECKING:
    from deid_assets.pipeline.leaks import LeakedValues
    from deid_assets.store.publishing import ReleaseFolders


@dataclass(frozen=True, slots=True)
class LeakedRelease:
    """A release that holds one of the values.

    Args:
        batch: That was released.
        notes: Released ids of the notes that hold it.
        policy: With its digest.
        detectors: With their versions.
    """

    batch: str
    notes: tuple[str, ...]
    policy: str
    detectors: tuple[str, ...]


@app.command("leak")
@guarded
def leak(
    *,
    values: Annotated[
        Path,
        typer.Option(
            "--values", metavar="FILE", help="Values, one a line; - reads standard input."
        ),
    ],
    withdraw: Annotated[
        bool, typer.Option("--withdraw", help="Also withdraw the batches that hold one.")
    ] = False,
    as_json: JsonOption = False,
) -> int:
    """Find the releases that hold a leaked value.

    Whatever its case, accents, blanks and punctuation. Values and text are never shown. A release
    that cannot be read is a fault, and never counts as one without the value.
    """
    from deid_assets.cli.installation.batch_actions import (  # noqa: PLC0415 - loads the store
        installation_here,
        withdraw_batch,
    )
    from deid_assets.intake.withdrawal import releases_of  # noqa: PLC0415
    from deid_assets.pipeline.leaks import LeakedValues  # noqa: PLC0415

    leaked = LeakedValues(_read_values(values))
    settings, files = installation_here()
    releases = releases_of(settings, files)
    found, unread = _search(releases, leaked)
    if as_json:
        print_json({"found": [asdict(one) for one in found], "unread": unread})
    elif found:
        print_table(("batch", "notes", "policy", "detectors"), [_cells(one) for one in found])
    say(
        f"{sum(len(one.notes) for one in found):,} released notes in {len(found):,} batches hold it"
    )
    for reason in unread:
        say(f"not looked at: {reason}")
    for one in found if withdraw else ():
        withdraw_batch(one.batch, with_release=True)
    if unread:
        return BAD_INPUT
    return PARTIAL if found else 0


def _read_values(path: Path) -> list[str]:
    content = sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise InputError("the values are not in UTF-8; write them so, one a line") from None
    values = [line.strip() for line in text.splitlines() if line.strip()]
    if not values:
        raise InputError("no value is given; write one a line")
    return values


def _search(
    releases: ReleaseFolders, leaked: LeakedValues
) -> tuple[list[LeakedRelease], list[str]]:
    """Return the releases that hold a value, and why others could not be looked at."""
    listed = releases.releases()
    withdrawn = listed.withdrawn()
    batches = {entry.batch for entry in listed.entries} - withdrawn
    folders = releases.root.iterdir() if releases.root.is_dir() else ()
    batches |= {path.name for path in folders if path.is_dir() and not path.name.startswith(".")}
    if not batches and not withdrawn:
        raise InputError(
            "nothing was released here, so that nothing can be looked at; name the installation's"
            " folder in DEID_HOME"
        )
    found, unread = [], []
    for batch in sorted(batches):
        try:
            one = _search_release(releases, batch, leaked)
        except (DeidError, OSError, ValueError, KeyError, TypeError) as error:
            reason = str(error) if isinstance(error, DeidError) else "its notes cannot be read"
            unread.append(f"{batch}: {reason}")
            continue
        if one is not None:
            found.append(one)
    return found, unread


def _search_release(
    releases: ReleaseFolders, batch: str, leaked: LeakedValues
) -> LeakedRelease | None:
    manifest = releases.check(batch)
    lines = (releases.root / batch / "notes.jsonl").read_text(encoding="utf-8").split("\n")
    notes = [json.loads(line) for line in lines if line]
    held = tuple(str(note["id"]) for note in notes if leaked.is_in(note["text"]))
    if not held:
        return None
    policy = manifest["policy"]
    return LeakedRelease(
        batch,
        held,
        f"{policy['name']} {str(policy['digest'])[:12]}",
        tuple(f"{name} {one['version']}" for name, one in sorted(manifest["ensemble"].items())),
    )


def _cells(one: LeakedRelease) -> list[str]:
    return [one.batch, ", ".join(one.notes), one.policy, ", ".join(one.detectors)]
