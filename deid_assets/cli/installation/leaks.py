"""``deid leak``: which releases hold a value that was reported as leaked, and denying it."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deid_assets.cli.app import app
from deid_assets.cli.arguments import JsonOption, group_options
from deid_assets.cli.endings import BAD_INPUT, PARTIAL, guard_command, say
from deid_assets.cli.installation.launching import become
from deid_assets.cli.tables import print_json, print_table
from deid_assets.core.errors import ConfigError, DeidError, InputError, did_you_mean
from deid_assets.core.phi import Phi

if TYPE_CHECKING:
    from deid_assets.config import Settings
    from deid_assets.erasure.denying import DenyOrder
    from deid_assets.pipeline.leaks import LeakedValues
    from deid_assets.store.files import StoreFiles
    from deid_assets.store.publishing import ReleaseFolders


@dataclass(frozen=True, slots=True)
class LeakedRelease:
    """A release that holds one of the values.

    Args:
        batch: That was released.
        study: Whose release it is; empty for the installation's own.
        notes: Released ids of the notes that hold it.
        policy: With its digest.
        detectors: With their versions.
    """

    batch: str
    study: str
    notes: tuple[str, ...]
    policy: str
    detectors: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DenyOptions:
    """Options on denying the values."""

    deny: Annotated[
        bool,
        typer.Option(
            "--deny", help="Also cover them in all notes from now on; asks for --by and --reason."
        ),
    ] = False
    by: Annotated[
        str | None, typer.Option("--by", metavar="WHO", help="With --deny: who asks.")
    ] = None
    reason: Annotated[
        str | None, typer.Option(metavar="TEXT", help="With --deny: why; without naming anybody.")
    ] = None
    category: Annotated[
        str, typer.Option(metavar="CATEGORY", help="With --deny: what they are, such as NAME.")
    ] = "OTHER"
    even_in: Annotated[
        int | None,
        typer.Option(
            "--even-in",
            metavar="NOTES",
            help="With --deny: also an ordinary word, or what many patients have in common,"
            " if it stands in so many notes.",
        ),
    ] = None
    make: Annotated[
        bool,
        typer.Option(
            "--make", help="With --deny and --withdraw: make these batches again without them."
        ),
    ] = False

    def order(self, values: list[str]) -> DenyOrder | None:
        """Return what is to be denied; nothing where that is not asked for.

        Raises:
            ConfigError: The options do not fit each other.
        """
        from deid_assets.erasure.denying import DenyOrder  # noqa: PLC0415 - loads the store

        if not self.deny:
            if self.by or self.reason or self.make or self.even_in is not None:
                raise ConfigError("--by, --reason, --even-in and --make go with --deny")
            return None
        if not (self.by and self.reason):
            raise ConfigError("--deny asks for --by and --reason")
        if self.category not in [*Phi]:
            known = did_you_mean(self.category, [*Phi])
            raise ConfigError(f"unknown category {self.category!r}{known}; such as NAME or MRN")
        return DenyOrder(tuple(values), Phi(self.category), self.by, self.reason, self.even_in)


@app.command("leak")
@guard_command
@group_options
def leak(
    *,
    values: Annotated[
        Path,
        typer.Option(
            "--values", metavar="FILE", help="Values, one a line; - reads standard input."
        ),
    ],
    withdraw: Annotated[
        bool,
        typer.Option(
            "--withdraw",
            help="Also withdraw the batches that hold one; from a study, where it alone does.",
        ),
    ] = False,
    denying: DenyOptions,
    as_json: JsonOption = False,
) -> int:
    """Find the releases that hold a leaked value, and cover it from now on where asked.

    Whatever its case, accents, blanks and punctuation. Values and text are never shown. A release
    that cannot be read is a fault, and never counts as one without the value.
    """
    from deid_assets.cli.installation.batch_actions import (  # noqa: PLC0415 - loads the store
        installation_here,
    )
    from deid_assets.cli.installation.tables import say_leaks_in_tables  # noqa: PLC0415
    from deid_assets.pipeline.leaks import LeakedValues  # noqa: PLC0415

    if denying.make and not withdraw:
        raise ConfigError("--make goes with --withdraw, since it makes what was withdrawn again")
    given = _read_values(values)
    order, leaked = denying.order(given), LeakedValues(given)
    settings, files = installation_here()
    found, unread = _search(settings, files, leaked, may_be_none=order is not None)
    _show(found, unread, as_json=as_json)
    in_tables = say_leaks_in_tables(settings, files, leaked, withdraws=withdraw)
    again = _deny(settings, files, order) if order else set()
    if withdraw:
        again |= _withdraw(settings, files, found)
    if order and again:
        _make_again(files, found if withdraw else [], again, is_made=denying.make)
    if unread or in_tables == BAD_INPUT:
        return BAD_INPUT
    return PARTIAL if found or in_tables else 0


def _show(found: list[LeakedRelease], unread: list[str], *, as_json: bool) -> None:
    if as_json:
        print_json({"found": [asdict(one) for one in found], "unread": unread})
    elif found:
        headings = ("batch", "study", "notes", "policy", "detectors")
        print_table(headings, [_cells(one) for one in found])
    batches = {one.batch for one in found}
    count = sum(len(one.notes) for one in found)
    say(f"{count:,} released notes in {len(batches):,} batches hold it")
    for reason in unread:
        say(f"not looked at: {reason}")


def _deny(settings: Settings, files: StoreFiles, order: DenyOrder) -> set[str]:
    """Deny the values, and return the batches that hold one and are made again."""
    from deid_assets.erasure.denying import deny  # noqa: PLC0415 - loads the store

    done = deny(settings, files, order)
    for reach in done.reaches:
        say(
            f"deny rule {reach.rule}: covers {reach.places:,} places in {reach.notes:,} notes of"
            f" {len(reach.patients):,} patients, and whatever comes"
        )
    if done.known:
        say(f"{done.known:,} values were denied before")
    return set(done.batches)


def _withdraw(settings: Settings, files: StoreFiles, found: list[LeakedRelease]) -> set[str]:
    """Withdraw the releases that hold a value, and return their batches."""
    from deid_assets.cli.installation.batch_actions import withdraw_batch  # noqa: PLC0415
    from deid_assets.intake.withdrawal import withdraw_from_study  # noqa: PLC0415

    whole = {one.batch for one in found if not one.study}
    for batch in sorted(whole):
        withdraw_batch(batch, with_release=True)
    for one in found:
        if one.batch not in whole:
            withdraw_from_study(settings, files, one.study, one.batch)
            say(f"{one.batch} withdrawn from study {one.study}")
    return {one.batch for one in found}


def _make_again(
    files: StoreFiles,
    withdrawn: list[LeakedRelease],
    batches: set[str],
    *,
    is_made: bool,
) -> None:
    """Say how the batches are made again without the values, or begin it: this program becomes the
    one that does.
    """
    whole = sorted({one.batch for one in withdrawn if not one.study})
    options = [part for batch in sorted(batches) for part in ("--batch", batch)]
    own = [(one.study, one.batch) for one in withdrawn if one.study and one.batch not in whole]
    if not is_made:
        said = [f"deid batches retry {batch}" for batch in whole]
        said += [f"deid studies retry {study} {batch}" for study, batch in own]
        say(" && ".join([*said, " ".join(["deid backfill", *options])]))
        say(f"makes {len(batches):,} batches again without the values; --make does it at once")
        return
    from deid_assets.cli.installation.batch_actions import retry  # noqa: PLC0415
    from deid_assets.intake.withdrawal import take_into_study  # noqa: PLC0415

    for batch in whole:
        retry(batch, format_name=None, labels=None, lang=None, sender=None, read=None)
    for study, batch in own:
        take_into_study(files, study, batch)
    become("deid_assets.backfill", [*options, "--"])


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
    settings: Settings, files: StoreFiles, leaked: LeakedValues, *, may_be_none: bool
) -> tuple[list[LeakedRelease], list[str]]:
    """Return the releases that hold a value, those of studies too, and why others could not be
    looked at.

    Raises:
        InputError: Nothing was ever released, and that may not be.
    """
    from deid_assets.intake.states import batch_ids  # noqa: PLC0415 - loads the store
    from deid_assets.intake.withdrawal import list_known_studies, releases_of  # noqa: PLC0415

    found, unread, has_any = [], [], False
    for study in ("", *list_known_studies(settings)):
        releases = releases_of(settings, files, study)
        batch_of = {releases.name_of(batch): batch for batch in batch_ids(settings)}
        names, withdrawn = _list_release_names(releases)
        has_any = has_any or bool(names or withdrawn)
        for name in sorted(names):
            batch = batch_of.get(name, name)
            try:
                one = _search_release(releases, name, leaked, batch=batch, study=study)
            except (DeidError, OSError, ValueError, KeyError, TypeError) as error:
                reason = str(error) if isinstance(error, DeidError) else "its notes cannot be read"
                unread.append(f"{study + ' ' if study else ''}{name}: {reason}")
                continue
            if one is not None:
                found.append(one)
    if not has_any and not may_be_none:
        raise InputError(
            "nothing was released here, so that nothing can be looked at; name the installation's"
            " folder in DEID_HOME"
        )
    return found, unread


def _list_release_names(releases: ReleaseFolders) -> tuple[set[str], set[str]]:
    """Return the names of releases that are out, or lie there, and of those withdrawn."""
    listed = releases.releases()
    withdrawn = listed.list_withdrawn()
    names = {entry.batch for entry in listed.entries} - withdrawn
    folders = releases.root.iterdir() if releases.root.is_dir() else ()
    names |= {path.name for path in folders if path.is_dir() and not path.name.startswith(".")}
    return names, withdrawn


def _search_release(
    releases: ReleaseFolders, name: str, leaked: LeakedValues, *, batch: str, study: str
) -> LeakedRelease | None:
    manifest = releases.check_folder(name)
    lines = (releases.root / name / "notes.jsonl").read_text(encoding="utf-8").split("\n")
    notes = [json.loads(line) for line in lines if line]
    held = tuple(str(note["id"]) for note in notes if leaked.is_in(note["text"]))
    if not held:
        return None
    policy = manifest["policy"]
    return LeakedRelease(
        batch,
        study,
        held,
        f"{policy['name']} {str(policy['digest'])[:12]}",
        tuple(f"{name} {one['version']}" for name, one in sorted(manifest["ensemble"].items())),
    )


def _cells(one: LeakedRelease) -> list[str]:
    return [one.batch, one.study, ", ".join(one.notes), one.policy, ", ".join(one.detectors)]
