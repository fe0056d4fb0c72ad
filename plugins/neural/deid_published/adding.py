"""``deid models add``.

A published token classifier becomes a folder that the detector ``published`` runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from deid_assets.extending import ConfigError, DeidError, Note, PluginError, class_name
from deid_published.aggregation import AGGREGATIONS, WORDS
from deid_published.graph import check_graph, take_graph
from deid_published.labels import LabelChoice, choose_labels, decide_labels, read_built_in
from deid_published.scheme import EntityScheme, labels_of, recognise_scheme
from deid_published.source import CONFIG, PublishedModel, open_source
from deid_published.viterbi import read_biases
from deid_published.writing import ImportRequest, write_folder

OVERLAP = 64


class ClassifierImporter:
    """Adds published token classifiers."""

    name = "published"

    def add(self, options: Mapping[str, Any], notes: Sequence[Note]) -> Mapping[str, Any]:
        """Write the folder of a model and return its card.

        Args:
            options: As ``ImportRequest``.
            notes: On which the export and the network must find the same spans.

        Raises:
            PluginError: The model cannot be used; one line says why.
            ConfigError: A label is not decided; a proposal stands beside where the folder would be.
        """
        return add(ImportRequest(**options), notes)

    def recognises(self, folder: Path) -> bool:
        """Return whether a folder holds what is saved of a model of ``transformers``."""
        return (folder / CONFIG).is_file()

    def said(self, card: Mapping[str, Any]) -> str:
        """Return a line on what was added."""
        how = card["aggregation"]
        units = (
            "the best tags that may follow one another"
            if how == "viterbi"
            else f"{how} sub-token of a word"
        )
        return (
            f"{card['architecture']}, tags {card['scheme']}, {units}, windows of {card['window']};"
            f" {_describe_check(card)}"
        )

    def maps(self) -> Mapping[str, LabelChoice]:
        """Return the label maps that come along."""
        return read_built_in()


Importer = ClassifierImporter
"""The name that the entry point gives it."""


def _describe_check(card: Mapping[str, Any]) -> str:
    if parity := card.get("parity"):
        return (
            f"export and network find the same {parity['spans']} spans in {parity['notes']} notes"
        )
    check = card["check"]
    return (
        f"{card['graph']} is taken as it is, with no network to compare it with:"
        f" {check['spans']} spans in {check['notes']} notes"
    )


def add(wanted: ImportRequest, notes: Sequence[Note]) -> Mapping[str, Any]:
    """Write the folder of a model, all or nothing; see ``ClassifierImporter.add``."""
    try:
        return _add(wanted, notes)
    except DeidError:
        raise
    except Exception as error:
        # files of a model may hold anything, and its libraries raise many kinds
        raise PluginError(
            f"{wanted.source}: the model cannot be used ({class_name(error)}); see that its"
            " config.json, tokenizer and weights are of one model, or fetch it again"
        ) from error


def _add(wanted: ImportRequest, notes: Sequence[Note]) -> Mapping[str, Any]:
    source = open_source(
        wanted.source, fetch=wanted.fetch, revision=wanted.revision, trust=wanted.trust
    )
    found = labels_of(source.tags)
    choice = choose_labels(
        wanted.labels, known=read_built_in(), source=source.name, labels=found, file=wanted.proposal
    )
    scheme = recognise_scheme(source.tags)
    labels = decide_labels(found, choice, where=wanted.source, file=wanted.proposal)
    convention = _convention(wanted, choice, scheme, source.path)

    def fill(folder: Path) -> Mapping[str, Any]:
        return {
            "revision": source.revision,
            "source_files": dict(source.files),
            "architecture": source.config["architectures"][0],
            "tags": source.tags,
            "scheme": scheme.value,
            **convention,
            **_write(source, folder, wanted.window or choice.window),
        }

    def check(folder: Path) -> Mapping[str, Any]:
        if source.graph:
            return {"check": check_graph(source, folder, notes)}
        return {"parity": _gate(source, folder, notes)}

    return write_folder(wanted, source.name, labels, choice, fill, check)


def _write(source: PublishedModel, folder: Path, window: int) -> Mapping[str, Any]:
    """Write the graph and the tokenizer of a model into a folder."""
    if source.graph:
        return take_graph(source, folder, window=window, overlap=OVERLAP)
    from deid_published.export import write_graph  # noqa: PLC0415 - loads PyTorch

    return write_graph(source, folder, window=window, overlap=OVERLAP)


def _convention(
    wanted: ImportRequest, choice: LabelChoice, scheme: EntityScheme, source: Path
) -> Mapping[str, Any]:
    """Return how the model is read, as the card says it.

    Raises:
        ConfigError: An option has no such value, or the tags do not allow it.
        PluginError: Its ``viterbi_calibration.json`` is broken.
    """
    found = {
        "aggregation": wanted.aggregation or choice.aggregation or "first",
        "words": wanted.words or choice.words or "text",
    }
    for option, allowed in (("aggregation", AGGREGATIONS), ("words", WORDS)):
        if found[option] not in allowed:
            raise ConfigError(f"--{option} is {found[option]!r}; choose of {', '.join(allowed)}")
    if found["aggregation"] != "viterbi":
        return found
    if scheme is not EntityScheme.BILOU:
        raise ConfigError(
            f"{wanted.source}: its tags are {scheme.value}, and viterbi needs BIOES or BILOU"
        )
    return {**found, "biases": read_biases(source)}


def _gate(source: PublishedModel, part: Path, notes: Sequence[Note]) -> Mapping[str, Any]:
    from deid_published.export import parity  # noqa: PLC0415 - loads PyTorch

    found = parity(source, part, notes)
    if found["differing_spans"]:
        raise PluginError(
            f"{source.name}: the export differs from the network in {found['differing_spans']} of"
            f" {found['spans']} spans; it was not kept"
        )
    return found
