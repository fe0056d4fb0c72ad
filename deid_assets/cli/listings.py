"""Commands that list what can be named on the command line, and that make synthetic notes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated as Arg

import typer

from deid_assets import plugins
from deid_assets.cli.app import app, guarded, say
from deid_assets.cli.arguments import JsonOption, ToOption
from deid_assets.cli.outputs import check_out, out_format, write_options
from deid_assets.cli.plugged import OfCorpus
from deid_assets.cli.tables import print_json, print_rows
from deid_assets.core.label_maps import LABEL_MAPS
from deid_assets.core.phi import PROFILES
from deid_assets.formats import FORMATS, Annotated, write_notes
from deid_assets.formats.identities import identity_formats
from deid_assets.formats.installed import installed
from deid_assets.formats.read_settings import plugin_settings

corpus_app = typer.Typer(cls=OfCorpus, no_args_is_help=True, help="Corpora: made, counted, mended.")
app.add_typer(corpus_app, name="corpus")


@app.command()
@guarded
def detectors(*, as_json: JsonOption = False) -> int:
    """List the installed detectors."""
    rows = [
        {"name": p.name, "version": p.version, "digest": p.digest, "summary": p.fault or p.summary, "fault": p.fault}
        for p in plugins.available().values()
    ]
    return print_rows(rows, columns=("name", "version", "summary"), as_json=as_json)


@app.command()
@guarded
def policies(*, as_json: JsonOption = False) -> int:
    """List the policies that come with deid."""
    from deid_assets.policies import descriptions, load_policy, needs_key  # noqa: PLC0415 - loads Faker

    rows = [
        {
            "name": name,
            "key": "DEID_KEY" if needs_key(load_policy(name)) else "",
            "description": description,
        }
        for name, description in descriptions().items()
    ]
    return print_rows(rows, columns=("name", "key", "description"), as_json=as_json)


@app.command()
@guarded
def formats(*, as_json: JsonOption = False) -> int:
    """List the formats of notes.

    With what each keeps besides ids and text; of one that cannot be used, why.
    """
    rows = [
        {
            "name": known.name,
            "suffixes": list(known.suffixes),
            "holds": "a folder, one file per note" if known.is_folder else "one file, many notes",
            "keeps": sorted(known.keeps),
            "written": "yes" if known.writer_module is not None else "no",
            "identities": "yes" if known.name in identity_formats() else "no",
            "options": plugin_settings(known.options),
            "fault": "",
        }
        for known in FORMATS.values()
    ]
    nothing: dict[str, str | list[str]] = {
        "suffixes": [],
        "keeps": [],
        "options": [],
        "written": "no",
        "identities": "no",
    }
    rows += [{"name": name, "holds": fault, "fault": fault, **nothing} for name, fault in installed().faults.items()]
    columns = ("name", "suffixes", "holds", "keeps", "written", "identities")
    return print_rows(rows, columns=columns, as_json=as_json)


@app.command()
@guarded
def labels(*, as_json: JsonOption = False) -> int:
    """List the label maps of corpora."""
    rows = [
        {
            "name": name,
            "categories": sorted(found.categories),
            "labels": {native: label and label.value for native, label in found.labels.items()},
        }
        for name, found in LABEL_MAPS.items()
    ]
    return print_rows(rows, columns=("name", "categories"), as_json=as_json)


@app.command()
@guarded
def profiles(*, as_json: JsonOption = False) -> int:
    """List the profiles to score under."""
    rows = [
        {
            "name": name,
            "labels": sorted(set(found.labels.values())),
            "source": found.source,
            "categories": {category.value: label for category, label in found.labels.items()},
        }
        for name, found in PROFILES.items()
    ]
    return print_rows(rows, columns=("name", "labels", "source"), as_json=as_json)


@corpus_app.command("make")
@guarded
def corpus(
    *,
    lang: Arg[str, typer.Option(metavar="CODE", help="Language of the notes.")] = "en",
    notes: Arg[int, typer.Option(metavar="N", min=1, help="Number of notes.")] = 200,
    seed: Arg[int, typer.Option(metavar="N", help="Seed; the same one gives the same notes.")] = 1,
    mix: Arg[
        str, typer.Option(metavar="NAME", help="hospital, or triage: emergency triage notes, in French.")
    ] = "hospital",
    out: Arg[Path, typer.Option(metavar="PATH", help="Notes to write; the suffix chooses the format.")],
    to: ToOption = None,
    as_json: JsonOption = False,
) -> int:
    """Make synthetic notes with gold spans."""
    from deid_assets.synthesis import make_corpus  # noqa: PLC0415 - loads Faker

    written_as = out_format(out, to)
    check_out(out, inputs=[], is_folder=written_as.is_folder)
    made = (Annotated(note, spans) for note, spans in make_corpus(lang=lang, notes=notes, seed=seed, mix=mix))
    count = write_notes(out, made, format=written_as.name, options=write_options())
    if as_json:
        print_json({"notes": count, "out": str(out)})
    else:
        say(f"{count:,} notes written to {out}")
    return 0
