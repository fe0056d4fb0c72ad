"""What this project's own plugins bring, known without them.

An error names the one that is missing.

Their messages are held by tests to show no text. Nothing holds those of other plugins to it,
whoever's class they raise.
"""

from __future__ import annotations

import shlex
import traceback
from collections.abc import Mapping
from importlib.metadata import entry_points
from pathlib import Path

from deid_assets.core.errors import DeidError, class_name

DEFAULT_ENSEMBLE = ("compact",)
"""Detectors that the graph, the shell and Python run where nobody names any."""

_BROUGHT: Mapping[str, Mapping[str, str]] = {
    "deid_assets.detectors": {
        "compact": "compact",
        "crf": "batch_crf crf",
        "datafog": "datafog",
        "deduce": "deduce",
        "edsnlp": "edsnlp",
        "encoder": "encoder",
        "flair": "flair",
        "generative": "generative",
        "gliner": "gliner",
        "gliner[gliner2]": "gliner2",
        "known_identity": "known_identity",
        "onnx": "onnx",
        "openmed": "openmed",
        "phileas": "phileas",
        "presidio": "presidio",
        "published": "published",
        "rules": "rules",
        "scrubadub": "scrubadub",
        "spacy": "spacy",
        "stanza": "stanza",
        "transformers": "transformers",
        "zero_shot": "zero_shot",
    },
    "deid_assets.trainers": {
        "causal": "causal",
        "compact": "compact",
        "crf": "batch_crf crf",
        "encoder": "encoder",
        "flair": "flair",
        "generative": "generative",
        "transformers": "transformers",
        "zero_shot": "zero_shot",
    },
    "deid_assets.formats": {
        "clinical_formats": "cda fhir hl7 omop",
        "corpus_formats": "brat conll i2b2",
        "document_formats": "docx eml pdf rtf",
    },
    "deid_assets.audits": {
        "audits[models]": "canaries extraction membership slot_fill",
        "hips": "hips",
        "reidentification": "reidentification residue",
    },
    "deid_assets.actions": {
        "surrogates": "known_unit same_region surrogate",
        "zero_shot": "surrogate_mlm",
    },
    "deid_assets.analyses": {"tagger_analysis": "tagger_analysis"},
    "deid_assets.commands": {
        "annotation": "adjudicate agreement audit-gold corrections",
        "audits": "privacy",
        "edit_maps": "diff map-spans repopulate side-by-side twin why",
        "evaluation": "bench evaluate sample",
        "gazetteers": "gazetteer",
        "generative": "generative",
        "review": "review",
        "serve": "serve",
        "tagger_analysis": "analyse sweep",
        "zero_shot": "zero-shot",
    },
    "deid_assets.commands.corpus": {
        "copying": "copied sift",
        "fidelity": "fidelity ranking",
        "corpora": "fetch lengths marks repair space stats",
        "synthesis": "make synthesize",
    },
    "deid_assets.commands.privacy": {
        "audits[models]": "epsilon plant",
        "privacy": (
            "cost dp end-to-end generate grid inline leaderboard probe reproduce serve shadows"
            " site sweep synthetic tasks trends twins"
        ),
    },
    "deid_assets.corpora": {"synthesis": "synthetic"},
    "deid_assets.pages": {"evaluation": "bakeoff evaluation_report"},
    "deid_assets.recipes": {"catelli": "catelli"},
    "deid_assets.synthesis": {"synthesis": "frames grammar"},
}

LABORATORY = frozenset({"catelli", "generative", "privacy", "zero_shot"})
"""Plugins of published studies, which lie in ``plugins/lab``; ``make add PLUGIN=lab``
installs all.
"""

BRINGS: Mapping[str, Mapping[str, str]] = {
    group: {name: plugin for plugin, names in brought.items() for name in names.split()}
    for group, brought in _BROUGHT.items()
}
"""Group of entry points to names to the plugin that brings each, as `make add` takes it.

A plugin is named by its package without ``deid_``, with the extra that it needs in brackets where
that is called otherwise.
"""


def describe_missing(group: str, name: str) -> str:
    """Return what to install for a name that nothing installed brings.

    Empty where no plugin of ours does either.
    """
    plugin = BRINGS.get(group, {}).get(name)
    return f"its plugin {plugin} is not installed; {remedy(plugin)}" if plugin else ""


CHECKOUT = Path(__file__).resolve().parents[1]
"""Folder of the package, which is a checkout unless it was installed from a wheel."""


def is_checkout() -> bool:
    """Whether this package is that of a checkout, where ``make`` installs plugins."""
    return (CHECKOUT / "plugins" / "requirements.py").is_file()


def remedy(plugin: str) -> str:
    """Return how to install a plugin of this project, in words that follow a semicolon."""
    return f"run `{command(plugin)}`" + (" in the checkout" if is_checkout() else "")


def command(plugin: str) -> str:
    """Return the command that installs a plugin of this project, or an extra of this package.

    Neither names a distribution to pip: no registry has those of this project, where anybody could
    register their names. They are installed from the checkout, or from a folder of wheels.
    """
    how = "make add PLUGIN={}" if is_checkout() else "deid plugin add {}"
    return how.format(shlex.quote(plugin))


_GROUPS = "deid_assets."
"""With what the names of all groups of entry points begin."""
_PACKAGES = frozenset({"deid_assets", "deid_resources"}) | {
    f"deid_{plugin.partition('[')[0]}" for names in BRINGS.values() for plugin in names.values()
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


def describe_error(error: BaseException) -> str:
    """Return the class of an error, and its message where that may be shown."""
    message = message_of(error)
    return f"{class_name(error)}: {message}" if message else class_name(error)
