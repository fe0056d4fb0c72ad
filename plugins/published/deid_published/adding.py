"""``deid models add``: a published token classifier becomes a folder that the detector ``published`` runs."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from deid_assets.extending import Note, PluginError
from deid_assets.extending.files import replace_folder
from deid_published.folder import CARD, FORMAT, GRAPH, TOKENIZER, digests
from deid_published.labels import LabelChoice, built_in, chosen, decided
from deid_published.scheme import labels_of, recognised
from deid_published.source import CONFIG, Source, open_source

OVERLAP = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What was asked for.

    Args:
        source: Folder, or hub name.
        name: Under which it is added.
        out: Folder to write.
        labels: Label map, by name or path; one that was written for this very model where empty.
        aggregation: In place of the map's.
        words: In place of the map's.
        window: In place of the map's or the model's.
        fetch: Whether a hub name may be fetched.
        revision: Commit on the hub.
        trust: Whether pickles may be read.
    """

    source: str
    name: str
    out: Path
    labels: str = ""
    aggregation: str = ""
    words: str = ""
    window: int = 0
    fetch: bool = False
    revision: str = ""
    trust: bool = False


class Importer:
    """Adds published token classifiers."""

    name = "published"

    def add(self, options: Mapping[str, Any], notes: Sequence[Note]) -> Mapping[str, Any]:
        """Write the folder of a model and return its card.

        Args:
            options: As ``Wanted``.
            notes: On which the export and the network must find the same spans.

        Raises:
            PluginError: The model cannot be used; one line says why.
            ConfigError: A label is not decided; a proposal stands beside where the folder would be.
        """
        return add(Wanted(**options), notes)

    def recognises(self, folder: Path) -> bool:
        """Return whether a folder holds what is saved of a model of ``transformers``."""
        return (folder / CONFIG).is_file()

    def said(self, card: Mapping[str, Any]) -> str:
        """Return a line on what was added."""
        parity = card["parity"]
        return (
            f"{card['architecture']}, tags {card['scheme']}, {card['aggregation']} sub-token of a word, windows of "
            f"{card['window']}; export and network find the same {parity['spans']} spans in {parity['notes']} notes"
        )

    def maps(self) -> Mapping[str, LabelChoice]:
        """Return the label maps that come along."""
        return built_in()


def add(wanted: Wanted, notes: Sequence[Note]) -> Mapping[str, Any]:
    """Write the folder of a model, all or nothing; see ``Importer.add``."""
    source = open_source(wanted.source, fetch=wanted.fetch, revision=wanted.revision, trust=wanted.trust)
    found = labels_of(source.tags)
    file = wanted.out.with_name(f"{wanted.name}.labels.toml")
    choice = chosen(wanted.labels, known=built_in(), source=source.name, labels=found, file=file)
    scheme = recognised(source.tags)
    labels = decided(found, choice, where=wanted.source)
    from deid_published.export import write_graph  # noqa: PLC0415 - loads PyTorch

    part = wanted.out.with_name(wanted.out.name + ".part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True, mode=0o700)
    try:
        card = {
            "format": FORMAT,
            "name": wanted.name,
            "source": source.name,
            "revision": source.revision,
            "source_files": dict(source.files),
            "trusted": source.trust,
            "architecture": source.config["architectures"][0],
            "tags": source.tags,
            "scheme": scheme.value,
            "labels": {label: category.value if category else None for label, category in labels.items()},
            "label_map": choice.name,
            "aggregation": wanted.aggregation or choice.aggregation or "first",
            "words": wanted.words or choice.words or "text",
            "facts": dict(choice.facts),
            "added_at": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        card |= write_graph(source, part, window=wanted.window or choice.window, overlap=OVERLAP)
        card["files"] = digests(part, [GRAPH, TOKENIZER])
        _write(part, card)
        card["parity"] = _gate(source, part, notes)
        _write(part, card)
        replace_folder(part, wanted.out)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return card


def _write(folder: Path, card: Mapping[str, Any]) -> None:
    (folder / CARD).write_text(json.dumps(card, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _gate(source: Source, part: Path, notes: Sequence[Note]) -> Mapping[str, Any]:
    from deid_published.export import parity  # noqa: PLC0415 - loads PyTorch

    found = parity(source, part, notes)
    if found["differing_spans"]:
        raise PluginError(
            f"{source.name}: the export differs from the network in {found['differing_spans']} of {found['spans']} "
            "spans; it was not kept"
        )
    return found
