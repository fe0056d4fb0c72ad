"""``deid privacy``: audits of what a redacted corpus still tells."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from typing import Annotated as Arg

import typer

from deid_assets.cli.app import PARTIAL, app, guarded, say
from deid_assets.cli.arguments import FormatOption, JsonOption, LabelsOption, ReadOption
from deid_assets.cli.outputs import check_out
from deid_assets.cli.streams import NoteSource, SpansFile, Withheld, read_options
from deid_assets.cli.tables import print_json, print_table
from deid_assets.config.secret import secret_of_environment
from deid_assets.core.errors import ConfigError, InputError
from deid_assets.core.label_maps import label_map
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.resolve import Ensemble, resolve
from deid_assets.core.span import DisjointSpans, SpanSet
from deid_assets.formats import Fault
from deid_assets.system.atomic import atomic_file

if TYPE_CHECKING:
    from deid_assets.privacy.audit import Case

privacy_app = typer.Typer(no_args_is_help=True, help="Audits of what redacted notes still tell.")
app.add_typer(privacy_app, name="privacy")


@privacy_app.callback()
def _privacy() -> None:
    """Keep ``hips`` a command of its own."""


@privacy_app.command("hips")
@guarded
def hips(  # noqa: PLR0913 - one parameter per option of the command line
    notes: Arg[Path, typer.Argument(metavar="NOTES", help="Annotated notes: what there is to cover.")],
    *,
    policy: Arg[list[str], typer.Option(metavar="NAME|FILE", help="Redaction policy; several times to compare.")],
    spans: Arg[
        Path | None, typer.Option(metavar="FILE", help="Spans of a detector, whose own misses are attacked too.")
    ] = None,
    recall: Arg[
        list[float] | None, typer.Option(metavar="SHARE", help="Recall to draw leftovers at; several times.")
    ] = None,
    drop: Arg[
        list[str] | None, typer.Option(metavar="CATEGORY=SHARE", help="Drop this share of a category at every recall.")
    ] = None,
    seed: Arg[int, typer.Option(metavar="N", help="Seed of draws, halves and intervals.")] = 1,
    out: Arg[Path | None, typer.Option(metavar="FOLDER", help="Folder for hips.json and hips.png.")] = None,
    format_name: FormatOption = None,
    labels: LabelsOption = None,
    read: ReadOption = None,
    as_json: JsonOption = False,
) -> int:
    """Hiding in plain sight: can an attacker tell what was missed from what was put in its place?

    Spans are dropped at random at each recall. An attacker with the same tool and notes of their own learns to tell
    leftovers from replacements, and ranks the identifiers of the release.
    """
    from deid_assets.policies import check_key, load_policy  # noqa: PLC0415 - loads what surrogates are made with
    from deid_assets.privacy.hips import RECALLS, Setting, attack  # noqa: PLC0415 - loads NumPy

    source = NoteSource(notes, format_name, None, read_options(read or [], annotations=True))
    if out is not None:
        check_out(out, inputs=[notes, *filter(None, [spans])], is_folder=True)
    setting = Setting(tuple(recall or RECALLS), dict(map(_share, drop or [])), seed)
    policies = [load_policy(name) for name in policy]
    secret = secret_of_environment()
    key, *_ = [check_key(each, secret) for each in policies]  # one secret for all; each must do with it
    withheld = Withheld()
    cases = list(_cases(source, labels, None if spans is None else SpansFile(spans), withheld))
    findings = [each.to_json() for each in attack(cases, policies, key=key, setting=setting)]
    document = {"notes": len(cases), "withheld": len(withheld), "seed": seed, "findings": findings}
    if out is not None:
        _write(out, document)
    if as_json:
        print_json(document)
    else:
        _show(findings)
    return PARTIAL if len(withheld) else 0


def _share(setting: str) -> tuple[Phi, float]:
    label, _, share = setting.partition("=")
    try:
        return Phi(label), float(share)
    except ValueError:
        raise ConfigError(f"--drop {setting!r} must read CATEGORY=SHARE, such as NAME=0.1") from None


def _cases(source: NoteSource, labels: str | None, spans: SpansFile | None, withheld: Withheld) -> Iterator[Case]:
    from deid_assets.privacy.audit import Case  # noqa: PLC0415 - with the rest of the audit

    for found in source.read(label_map(labels) if labels else None):
        if isinstance(found, Fault):
            withheld.fault(found)
            continue
        if found.spans is None:
            raise InputError(f"note {found.note.note_id!r} has no annotations; the audit needs to know what is real")
        gold = _disjoint(found.note, found.spans)
        detected = gold if spans is None else _detected(found.note, spans)
        yield Case(found.note, gold, detected)


def _detected(note: Note, spans: SpansFile) -> DisjointSpans:
    taken = spans.take(note.note_id)
    if taken is None:
        raise InputError(f"the spans file does not know note {note.note_id!r}; detect on all notes")
    return _disjoint(note, taken)


def _disjoint(note: Note, spans: SpanSet) -> DisjointSpans:
    return resolve(note, [spans], ensemble=Ensemble.of_equals(spans))


def _write(out: Path, document: dict[str, Any]) -> None:
    from deid_assets.reports.hips import hips_png  # noqa: PLC0415 - loads Matplotlib

    plot = hips_png(document["findings"], title="What an attacker finds of what was missed")
    for name, content in (("hips.png", plot), ("hips.json", f"{json.dumps(document, indent=1)}\n".encode())):
        with atomic_file(out / name) as file:
            file.write(content)


def _show(findings: list[dict[str, Any]]) -> None:
    from deid_assets.reports.hips import HEADER, hips_rows  # noqa: PLC0415 - with the table alone

    print_table(HEADER, hips_rows(findings), numbers_from=2)
    if any(row["leftovers"] < 20 for row in findings):
        say("fewer than 20 leftovers in a row: its interval says little; give more notes or a lower recall")
