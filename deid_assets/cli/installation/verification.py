"""``deid verify``: whether a release is what was signed."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated as Arg
from typing import Any

import typer

from deid_assets.cli.app import app
from deid_assets.cli.arguments import group_options
from deid_assets.cli.endings import guard_command, say, say_in_amber
from deid_assets.config import Settings
from deid_assets.core.errors import InputError
from deid_assets.intake.table_releases import tables_folder, tables_record
from deid_assets.store.manifests import UNVERIFIED, check_name, verify_release
from deid_assets.store.releases import RELEASES, ReleaseList
from deid_assets.store.signing import PUBLIC_KEY, PublicKey


@dataclass(frozen=True, slots=True)
class Trust:
    """Options on whose signature is checked, and with which list of releases."""

    public_key: Arg[
        Path | None,
        typer.Option(
            metavar="FILE", help=f"The {PUBLIC_KEY} of who released, as they gave it to you."
        ),
    ] = None
    fingerprint: Arg[
        str | None,
        typer.Option(
            metavar="HEX",
            help="Fingerprint of that key, as they told it to you over another channel.",
        ),
    ] = None
    releases: Arg[
        Path | None,
        typer.Option(
            metavar="FILE",
            help=f"Signed list of releases; {RELEASES} beside the folder when not given.",
        ),
    ] = None
    unsigned: Arg[
        bool,
        typer.Option(
            "--unsigned",
            help=(
                "Check the files against the manifest, not its signature; anyone may have made it."
            ),
        ),
    ] = False


@dataclass(frozen=True, slots=True)
class _Checked:
    """What was checked.

    Args:
        manifest: Of the folder.
        key: That of its signature; none where the signature was not checked.
        has_list: Whether a list of releases names the folder as the newest.
    """

    manifest: Mapping[str, Any]
    key: PublicKey | None
    has_list: bool


@app.command()
@guard_command
@group_options
def verify(
    folder: Arg[
        Path,
        typer.Argument(
            help="Folder of one released batch, or certificate of an erasure.", show_default=False
        ),
    ],
    *,
    trust: Trust,
    as_json: Arg[bool, typer.Option("--json", help="Print the manifest as JSON.")] = False,
) -> int:
    """Check a release against its manifest, its signature against a public key, and that it is the
    newest.
    """
    if folder.is_file():
        return _verify_certificate(folder, trust, as_json=as_json)
    if trust.unsigned and (trust.public_key or trust.fingerprint or trust.releases):
        raise InputError(
            "--unsigned checks no signature; leave it out, or --public-key, --fingerprint and"
            " --releases"
        )
    checked = _check(folder, trust)
    check_name(folder, checked.manifest)
    if as_json:
        document = {
            **checked.manifest,
            "signature_checked": checked.key is not None,
            "held_against_list": checked.has_list,
        }
        typer.echo(json.dumps(document, indent=1))
    else:
        _say_what_it_is(folder, checked.manifest)
        _say_what_is_known(checked.manifest)
    if checked.key is None:
        say("the signature was not checked: anyone could have written this manifest")
        return 0
    say(f"signed with the key {checked.key.fingerprint}")
    if not checked.has_list and not checked.manifest.get("made_by"):
        say(
            f"an older release would pass too: name the list of releases, {RELEASES}, with"
            " --releases"
        )
    return 0


def _verify_certificate(path: Path, trust: Trust, *, as_json: bool) -> int:
    """Check the certificate of an erasure; one that is not signed tells nothing."""
    from deid_assets.erasure.certificate import read_certificate  # noqa: PLC0415 - loads the store

    if trust.unsigned or trust.releases:
        raise InputError("a certificate has a signature and no list; name its key alone")
    key = _find_trusted_key(path.parent, trust.public_key, trust.fingerprint)
    document = read_certificate(path, key=key)
    if as_json:
        typer.echo(json.dumps(document, indent=1))
        return 0
    say(
        f"{path}: erasure of patient {document['patient'][:16]}, {document['notes']} notes, asked"
        f" by {document['by']}, completed {document['completed_at']}"
    )
    say(f"signed with the key {key.fingerprint}")
    return 0


def _check(folder: Path, trust: Trust) -> _Checked:
    """Check the files, and unless ``--unsigned`` says so, the signature and the lists."""
    if trust.unsigned:
        return _Checked(verify_release(folder, key=None), None, has_list=False)
    key = _find_trusted_key(folder, trust.public_key, trust.fingerprint)
    manifest = verify_release(folder, key=key)
    lists = _lists(folder, trust.releases)
    for path in lists:
        ReleaseList.read(path, key=key).check(folder, key=key)
    return _Checked(manifest, key, has_list=bool(lists))


def _lists(folder: Path, asked: Path | None) -> list[Path]:
    """Return the lists of releases to check the folder with.

    In its own installation, also the copy in the store.
    """
    parent = folder.resolve().parent
    settings = Settings.load()
    records = {
        settings.release_folder(study).resolve(): settings.release_record_of(study)
        for study in ("", *settings.studies)
    } | {
        tables_folder(settings, study).resolve(): tables_record(settings, study)
        for study in ("", *settings.studies)
    }
    own = [records[parent]] if parent in records else []
    if asked:
        return [*own, asked]
    beside = parent / RELEASES
    # What stands there and is no file is told as such, not passed over.
    return [*own, beside] if own or os.path.lexists(beside) else []


def _say_what_it_is(folder: Path, manifest: Mapping[str, Any]) -> None:
    counts = manifest.get("counts", {})
    if table := manifest.get("table"):
        say(
            f"{folder}: as released; table {table}, {counts.get('rows')} rows, policy"
            f" {manifest.get('policy', {}).get('name')}, made {manifest.get('created_at')}"
        )
        return
    say(
        f"{folder}: as {_describe_making(manifest)}; batch {manifest.get('batch')},"
        f" {counts.get('notes')} notes, policy {manifest.get('policy', {}).get('name')}, made"
        f" {manifest.get('created_at')}"
    )


def _say_what_is_known(manifest: Mapping[str, Any]) -> None:
    """Repeat whether anybody measured what was missed, and who approved the release."""
    measurement = manifest.get("measurement") or {}
    if not manifest.get("measured"):
        say_in_amber(
            "not measured:"
            f" {measurement.get('reason') or 'the manifest does not say that anybody did.'}"
        )
    else:
        say(
            f"measured on {measurement['annotated_notes']:,} annotated notes:"
            f" {_count_covered(measurement):,} of {measurement['gold_spans']:,} identifiers"
            f" covered, at least {measurement['lower']:.4f} with 95 % confidence"
        )
    if approval := manifest.get("approval"):
        proof = approval.get("proof", UNVERIFIED)
        say(
            f"approved by {approval['by']} ({proof}) at {approval['at']}, who had read the page"
            f" {approval['page'][:12]}"
        )


def _count_covered(measurement: Mapping[str, Any]) -> int:
    """Return the covered identifiers.

    Earlier versions called the field ``hidden``, and what is signed stays.
    """
    return int(measurement["covered" if "covered" in measurement else "hidden"])


def _describe_making(manifest: Mapping[str, Any]) -> str:
    """Return what was done: only an installation releases, after its checks."""
    return f"redacted by {manifest['made_by']}" if manifest.get("made_by") else "released"


def _find_trusted_key(folder: Path, public_key: Path | None, fingerprint: str | None) -> PublicKey:
    """Return the public key that the caller gave, or that has the fingerprint that the caller gave.

    A key that lies beside what is verified, or in the working directory, is whoever's put it there.

    Raises:
        InputError: Neither was given, or no key has the fingerprint.
    """
    home = os.environ.get("DEID_HOME")  # the default is a folder of the working directory
    named = public_key or (Path(home) / PUBLIC_KEY if home and not fingerprint else None)
    if fingerprint is None:
        if named is None:
            raise InputError(
                f"whose signature? Name their {PUBLIC_KEY} with --public-key, or its fingerprint"
                " with --fingerprint; --unsigned checks no signature"
            )
        return PublicKey.read(named)
    for path in filter(None, [named, folder / PUBLIC_KEY, Settings.load().home / PUBLIC_KEY]):
        if os.path.lexists(path) and (key := PublicKey.read(path)).has_fingerprint(fingerprint):
            return key
        if path == public_key:
            raise InputError(
                f"{path}: not the key with fingerprint {fingerprint}; ask its owner for the file"
            )
    raise InputError(
        f"no key with fingerprint {fingerprint} is here; name its file with --public-key"
    )
