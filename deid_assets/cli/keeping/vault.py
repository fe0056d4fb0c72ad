"""``deid vault`` and ``deid reidentify``: originals from the vault, for those who may see them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deid_assets.cli.app import app
from deid_assets.cli.arguments import (
    FileReading,
    JsonOption,
    ToOption,
    group_options,
)
from deid_assets.cli.endings import guard_command, say
from deid_assets.cli.outputs import check_out, finish, out_format, write_options
from deid_assets.cli.plugged import CommandGroup
from deid_assets.cli.streams import NoteSource, Withheld, progress
from deid_assets.cli.tables import print_json, print_table
from deid_assets.core.detector import Failed
from deid_assets.core.errors import ConfigError
from deid_assets.core.keys import Key
from deid_assets.formats import Annotated as AnnotatedNote
from deid_assets.formats import write_notes
from deid_assets.system.atomic import owner_only
from deid_assets.vault.opening import open_vault

if TYPE_CHECKING:
    from deid_assets.core.note import Note
    from deid_assets.vault.log import AccessRequest
    from deid_assets.vault.store import Vault

vault_app = typer.Typer(
    cls=CommandGroup, no_args_is_help=True, help="The vault: an encrypted store of the originals."
)
app.add_typer(vault_app, name="vault")

_URL = "Database of the vault: sqlite:///PATH or postgresql://USER@HOST/NAME."
UrlOption = Annotated[str, typer.Option("--vault", metavar="URL", help=_URL)]
KeyFileOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Keys of the vault; DEID_VAULT_KEY when not given."),
]
ByOption = Annotated[str, typer.Option("--by", metavar="WHO", help="Who asks; written to the log.")]
ReasonOption = Annotated[
    str, typer.Option(metavar="TEXT", help="Why; written to the log, encrypted.")
]


@dataclass(frozen=True, slots=True)
class OriginalsOptions:
    """Options on where the originals are read: in a vault, or in the encrypted values."""

    vault: Annotated[str | None, typer.Option(metavar="URL", help=_URL)] = None
    tokens: Annotated[
        bool,
        typer.Option(
            "--tokens", help="Read values that the action encrypt wrote; needs DEID_KEY, no vault."
        ),
    ] = False
    log: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="With --tokens: log of the access, .jsonl, appended to."),
    ] = None
    vault_key_file: KeyFileOption = None


@app.command()
@guard_command
@group_options
def reidentify(
    redacted: Annotated[
        Path, typer.Argument(metavar="REDACTED", help="Redacted or released notes, unchanged.")
    ],
    *,
    by: ByOption,
    reason: ReasonOption,
    out: Annotated[
        Path,
        typer.Option(metavar="PATH", help="Original notes to write; for their owner's eyes only."),
    ],
    originals: OriginalsOptions,
    to: ToOption = None,
    reading: FileReading,
    as_json: JsonOption = False,
) -> int:
    """Restore the original notes.

    From a vault, or from encrypted values. The log has its entry before anything is given. A note
    that the vault does not hold, or whose text was changed since, is withheld.
    """
    from deid_assets.vault.log import AccessRequest  # noqa: PLC0415 - loads SQLAlchemy

    request = AccessRequest(by, reason)
    source = reading.source(redacted)
    written_as = out_format(out, to)
    inputs = [redacted, *filter(None, [originals.log])]
    check_out(out, inputs=inputs, is_folder=written_as.is_folder)
    has_log = originals.log is not None
    if (originals.vault is not None) is originals.tokens or has_log is not originals.tokens:
        raise ConfigError("give --vault with the URL of a vault, or --tokens with --log and a file")
    withheld, counted = Withheld(), {"notes": 0}
    with owner_only(), _opener(originals, request) as opened:
        write_notes(
            out,
            _originals(source, opened, withheld, counted),
            format=written_as.name,
            options=write_options(),
        )
    return finish(counted, withheld, out, as_json=as_json)


@vault_app.command()
@guard_command
def rotate(
    *,
    vault: UrlOption,
    by: ByOption,
    reason: ReasonOption,
    vault_key_file: KeyFileOption = None,
    as_json: JsonOption = False,
) -> int:
    """Seal everything with the first key that is given.

    DEID_VAULT_KEY holds the new key, a comma, and the old one. Afterwards the old one is not needed
    any more.
    """
    from deid_assets.vault.log import AccessRequest  # noqa: PLC0415 - loads SQLAlchemy
    from deid_assets.vault.upkeep import rotate as rotate_all  # noqa: PLC0415

    with open_vault(vault, vault_key_file) as (opened, keyring):
        values = rotate_all(opened, keyring, AccessRequest(by, reason))
    if as_json:
        print_json({"sealed_anew": values, "key": keyring.current})
    else:
        say(f"{values:,} values re-encrypted; everything is under key {keyring.current} now")
    return 0


@vault_app.command()
@guard_command
def erase(
    *,
    vault: UrlOption,
    by: ByOption,
    reason: ReasonOption,
    patient: Annotated[
        str | None, typer.Option(metavar="ID", help="Patient whose originals are deleted.")
    ] = None,
    note: Annotated[
        str | None,
        typer.Option(metavar="ID", help="Note without a patient, whose originals are deleted."),
    ] = None,
    vault_key_file: KeyFileOption = None,
    as_json: JsonOption = False,
) -> int:
    """Delete all that the vault holds of one patient.

    What was redacted stays as it is, and can never be undone. Backups of the vault are not reached.
    """
    from deid_assets.vault.log import AccessRequest  # noqa: PLC0415 - loads SQLAlchemy
    from deid_assets.vault.upkeep import erase as erase_all  # noqa: PLC0415

    if (patient is None) is (note is None):
        raise ConfigError(
            "give either --patient with an id, or --note with that of a note without patient"
        )
    with open_vault(vault, vault_key_file) as (opened, _):
        notes, edits = erase_all(
            opened, AccessRequest(by, reason), patient_id=patient, note_id=note
        )
    if as_json:
        print_json({"notes": notes, "edits": edits})
    else:
        say(f"{notes:,} notes with {edits:,} edits deleted")
    return 0


@vault_app.command()
@guard_command
def verify(
    *, vault: UrlOption, vault_key_file: KeyFileOption = None, as_json: JsonOption = False
) -> int:
    """Open every value and follow the log; nothing is shown."""
    from deid_assets.vault.upkeep import verify as verify_all  # noqa: PLC0415 - loads SQLAlchemy

    with open_vault(vault, vault_key_file) as (opened, _):
        counts = verify_all(opened)
    if as_json:
        print_json(counts)
        return 0
    figures = ", ".join(
        f"{counts[name]:,} {name}" for name in ("patients", "notes", "edits", "log rows")
    )
    keys = ", ".join(
        f"{counts[name]:,} with {name}" for name in sorted(counts) if name.startswith("key ")
    )
    say(f"whole: {figures}; values sealed: {keys}")
    return 0


@vault_app.command("log")
@guard_command
def show_log(
    *, vault: UrlOption, vault_key_file: KeyFileOption = None, as_json: JsonOption = False
) -> int:
    """Show who opened or changed what, and why; checked first."""
    with open_vault(vault, vault_key_file) as (opened, _):
        rows = opened.log_rows()
    if as_json:
        print_json([{name: getattr(row, name) for name in row.__slots__} for row in rows])
        return 0
    cells = [
        [str(row.seq), row.at, row.action, row.who, row.reason, f"{len(row.subjects):,}"]
        for row in rows
    ]
    print_table(("#", "When", "What", "Who", "Why", "Of how many"), cells, numbers_from=5)
    return 0


class _Opener:
    """Restores the originals of a chunk, from a vault or from the tokens in it.

    The log entry is written first.
    """

    def __init__(
        self, request: AccessRequest, vault: Vault | None, key: Key | None, log: Path | None
    ) -> None:
        self._asked, self._vault, self._key, self._log = request, vault, key, log

    def __call__(self, chunk: list[Note]) -> list[Note | Failed]:
        if self._vault is not None:
            from deid_assets.vault.upkeep import (  # noqa: PLC0415 - loads SQLAlchemy
                reidentify as open_notes,
            )

            found = open_notes(self._vault, chunk, self._asked)
            pairs = zip(chunk, found, strict=True)
            return [
                # may be empty
                Failed(note.note_id, "reidentify", "NotInVault") if original is None else original
                for note, original in pairs
            ]
        from deid_assets.vault.tokens import open_all  # noqa: PLC0415 - loads SQLAlchemy

        if self._key is None or self._log is None:
            raise ConfigError("--tokens reads with DEID_KEY and writes to --log; give both")
        return open_all(chunk, self._key, self._asked, log=self._log)


@contextmanager
def _opener(originals: OriginalsOptions, request: AccessRequest) -> Iterator[_Opener]:
    from deid_assets.config.secret import (  # noqa: PLC0415 - not needed with a vault
        secret_of_environment,
    )

    if originals.vault is not None:
        with open_vault(originals.vault, originals.vault_key_file) as (vault, _):
            yield _Opener(request, vault, None, None)
        return
    secret = secret_of_environment()
    yield _Opener(request, None, None if secret is None else Key(secret), originals.log)


def _originals(
    source: NoteSource, opened: _Opener, withheld: Withheld, counted: dict[str, int]
) -> Iterator[AnnotatedNote]:
    with progress("re-identifying") as advance:
        for chunk in source.chunks(withheld):
            for outcome in opened(chunk):
                if isinstance(outcome, Failed):
                    withheld.report_failed(outcome)
                    continue
                counted["notes"] += 1
                yield AnnotatedNote(outcome)
            advance(len(chunk))
