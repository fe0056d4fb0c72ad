"""What this project's own plugins bring, known without them.

An error names the one that is missing.

Their messages are held by tests to show no text. Nothing holds those of other plugins to it,
whoever's class they raise.
"""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from importlib.metadata import entry_points

from deid_assets.core.errors import DeidError, class_name

DEFAULT_ENSEMBLE = ("compact",)
"""Detectors that the graph, the shell and Python run where nobody names any."""

_BROUGHT: Mapping[str, Mapping[str, str]] = {
    "deid_assets.detectors": {
        "deid-compact": "compact",
        "deid-crf": "batch_crf crf",
        "deid-datafog": "datafog",
        "deid-deduce": "deduce",
        "deid-edsnlp": "edsnlp",
        "deid-encoder": "encoder",
        "deid-flair": "flair",
        "deid-generative": "generative",
        "deid-gliner": "gliner gliner2",
        "deid-known-identity": "known_identity",
        "deid-onnx": "onnx",
        "deid-openmed": "openmed",
        "deid-phileas": "phileas",
        "deid-presidio": "presidio",
        "deid-published": "published",
        "deid-rules": "rules",
        "deid-scrubadub": "scrubadub",
        "deid-spacy": "spacy",
        "deid-stanza": "stanza",
        "deid-transformers": "transformers",
        "deid-zero-shot": "zero_shot",
    },
    "deid_assets.trainers": {
        "deid-compact": "compact",
        "deid-crf": "batch_crf crf",
        "deid-encoder": "encoder",
        "deid-flair": "flair",
        "deid-generative": "generative",
        "deid-privacy": "causal",
        "deid-transformers": "transformers",
        "deid-zero-shot": "zero_shot",
    },
    "deid_assets.formats": {
        "deid-clinical-formats": "cda fhir hl7 omop",
        "deid-corpus-formats": "brat conll i2b2",
        "deid-document-formats": "docx eml pdf rtf",
    },
    "deid_assets.audits": {
        "deid-hips": "hips",
        "deid-privacy": "canaries extraction membership slot_fill",
        "deid-reidentification": "reidentification residue",
    },
    "deid_assets.actions": {
        "deid-surrogates": "known_unit same_region surrogate",
        "deid-zero-shot": "surrogate_mlm",
    },
    "deid_assets.analyses": {"deid-tagger-analysis": "tagger_analysis"},
    "deid_assets.commands": {
        "deid-annotation": "adjudicate agreement audit-gold corrections",
        "deid-audits": "privacy",
        "deid-gazetteers": "gazetteer",
        "deid-generative": "generative",
        "deid-edit-maps": "diff map-spans repopulate side-by-side twin why",
        "deid-tagger-analysis": "analyse sweep",
        "deid-evaluation": "bench evaluate sample",
        "deid-zero-shot": "zero-shot",
    },
    "deid_assets.commands.corpus": {
        "deid-corpora": "fetch lengths marks repair space stats",
        "deid-synthesis": "make",
    },
    "deid_assets.commands.privacy": {
        "deid-privacy": (
            "cost dp end-to-end generate grid inline leaderboard plant probe reproduce serve"
            " shadows site sweep tasks trends twins"
        ),
    },
    "deid_assets.corpora": {"deid-synthesis": "synthetic"},
    "deid_assets.pages": {"deid-evaluation": "bakeoff evaluation_report"},
}

BRINGS: Mapping[str, Mapping[str, str]] = {
    group: {name: plugin for plugin, names in brought.items() for name in names.split()}
    for group, brought in _BROUGHT.items()
}
"""Group of entry points to names to the distribution that brings each."""


def missing(group: str, name: str) -> str:
    """Return what to install for a name that nothing installed brings.

    Empty where no plugin of ours does either.
    """
    plugin = BRINGS.get(group, {}).get(name)
    return f"its plugin {plugin} is not installed; {remedy(plugin)}" if plugin else ""


def remedy(plugin: str) -> str:
    """Return how to install a plugin of this project, by its distribution, in words that follow ".

    ".
    """
    return f"run `{command(plugin)}` in the checkout"


def command(plugin: str) -> str:
    """Return the command that installs a plugin of this project, by its distribution.

    No registry has these distributions, where anybody could register their names: they are
    installed from the checkout.
    """
    return f"make add PLUGIN={plugin.removeprefix('deid-').replace('-', '_')}"


_GROUPS = "deid_assets."
"""With what the names of all groups of entry points begin."""
_PACKAGES = frozenset({"deid_assets", "deid_resources"}) | {
    plugin.replace("-", "_") for names in BRINGS.values() for plugin in names.values()
}


def is_own(module: str) -> bool:
    """Whether a module is of this project."""
    return module.partition(".")[0] in _PACKAGES


def message_of(error: BaseException, *, package: str = "") -> str:
    """Return what may be shown of an error.

    The message of one that code of this project raised, else nothing.

    An error's class says nothing of who wrote its message: a plugin may raise ``InputError`` with a
    line of a note. Nor does who raised it, where a plugin of others called: our own message may
    quote what it was given.

    Args:
        error: As it was caught: where it was raised is read off its traceback.
        package: Another whose messages may be shown.
    """
    if not isinstance(error, DeidError):
        return ""
    packages = [
        str(frame.f_globals.get("__name__")).partition(".")[0]
        for frame, _ in traceback.walk_tb(error.__traceback__)
    ]
    if not packages or not (is_own(packages[-1]) or packages[-1] == package):
        return ""
    return "" if (_of_others() - {package}).intersection(packages) else str(error)


def _of_others() -> frozenset[str]:
    """Return the packages of installed plugins that are not of this project."""
    found = entry_points()
    groups = (group for group in found.groups if group.startswith(_GROUPS))
    packages = {
        one.value.partition(":")[0].partition(".")[0]
        for group in groups
        for one in found.select(group=group)
    }
    return frozenset(packages - _PACKAGES)


def described(error: BaseException) -> str:
    """Return the class of an error, and its message where that may be shown."""
    message = message_of(error)
    return f"{class_name(error)}: {message}" if message else class_name(error)
