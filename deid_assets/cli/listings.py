"""Commands that list what can be named on the command line."""

from __future__ import annotations

from typing import Any

import typer

from deid_assets import plugins
from deid_assets.cli.app import app
from deid_assets.cli.arguments import JsonOption
from deid_assets.cli.endings import guard_command
from deid_assets.cli.plugged import OfCorpus
from deid_assets.cli.tables import print_rows
from deid_assets.core.errors import ConfigError
from deid_assets.core.label_maps import LABEL_MAPS
from deid_assets.core.phi import PROFILES
from deid_assets.formats import FORMATS, Format
from deid_assets.formats.catalogue import load_installed
from deid_assets.formats.identities import identity_formats
from deid_assets.formats.read_settings import plugin_settings
from deid_assets.languages import PARTS, language, list_brought
from deid_assets.languages import languages as codes_of

corpus_app = typer.Typer(cls=OfCorpus, no_args_is_help=True, help="Corpora: make, count, fix.")
app.add_typer(corpus_app, name="corpus")


@app.command()
@guard_command
def detectors(*, as_json: JsonOption = False) -> int:
    """List the installed detectors."""
    rows = [
        {
            "name": p.name,
            "version": p.version,
            "digest": p.digest,
            "summary": p.fault or p.summary,
            "fault": p.fault,
        }
        for p in plugins.available().values()
    ]
    return print_rows(rows, columns=("name", "version", "summary"), as_json=as_json)


@app.command()
@guard_command
def policies(*, as_json: JsonOption = False) -> int:
    """List the policies that come with deid."""
    from deid_assets.policies import (  # noqa: PLC0415 - loads pydantic
        descriptions,
        load_policy,
        needs_key,
    )

    rows = []
    for name, description in descriptions().items():
        try:
            key, fault = "DEID_KEY" if needs_key(load_policy(name)) else "", ""
        except ConfigError as error:
            key, fault = "", str(error)
        rows.append({"name": name, "key": key, "description": fault or description, "fault": fault})
    return print_rows(rows, columns=("name", "key", "description"), as_json=as_json)


@app.command()
@guard_command
def formats(*, as_json: JsonOption = False) -> int:
    """List the formats of notes.

    With what each keeps besides ids and text; of one that cannot be used, why.
    """
    rows = [_format_row(known) for known in FORMATS.values()]
    nothing: dict[str, str | list[str]] = {
        "suffixes": [],
        "keeps": [],
        "options": [],
        "written": "no",
        "identities": "no",
    }
    rows += [
        {"name": name, "holds": fault, "fault": fault, **nothing}
        for name, fault in load_installed().faults.items()
    ]
    columns = ("name", "suffixes", "holds", "keeps", "written", "identities")
    return print_rows(rows, columns=columns, as_json=as_json)


def _format_row(known: Format) -> dict[str, Any]:
    return {
        "name": known.name,
        "suffixes": list(known.suffixes),
        "holds": "a folder, one file per note" if known.is_folder else "one file, many notes",
        "keeps": sorted(known.keeps),
        "written": "yes" if known.writer_module is not None else "no",
        "identities": "yes" if known.name in identity_formats() else "no",
        "options": plugin_settings(known.options),
        "fault": "",
    }


@app.command()
@guard_command
def languages(*, as_json: JsonOption = False) -> int:
    """List the languages, with what each has."""
    plugins_of = dict(one.split("=", 1) for one in list_brought())
    rows = [
        {
            "name": code,
            "language": language(code).name,
            "reads": [code, *language(code).codes],
            "has": [name for name, part in PARTS.items() if language(code).has(part)],
            "from": plugins_of.get(code, ""),
        }
        for code in codes_of()
    ]
    return print_rows(rows, columns=("name", "language", "reads", "has", "from"), as_json=as_json)


@app.command()
@guard_command
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
@guard_command
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
