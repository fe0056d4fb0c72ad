"""Sections of ``deid --help``, by task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

TASKS: Mapping[str, Sequence[str]] = {
    "De-identify notes": (
        "deidentify",
        "detect",
        "redact",
        "diff",
        "side-by-side",
        "why",
        "map-spans",
        "repopulate",
        "twin",
    ),
    "Measure what is missed": (
        "sample",
        "evaluate",
        "bench",
        "agreement",
        "adjudicate",
        "audit-gold",
        "corrections",
        "privacy",
    ),
    "Train taggers": (
        "train",
        "next",
        "retrain",
        "pretrain",
        "recipes",
        "analyse",
        "sweep",
        "export",
        "models",
    ),
    "Run the installation": (
        "batches",
        "approve",
        "suites",
        "verify",
        "doctor",
        "migrate",
        "plugin",
    ),
    "Keep secrets and lists": ("vault", "reidentify", "identities", "gazetteer"),
    "See what there is": (
        "detectors",
        "languages",
        "policies",
        "formats",
        "labels",
        "profiles",
        "corpus",
    ),
}
"""Names of commands, some of which a plugin brings; those of other plugins are listed last."""

MODULES: Mapping[str, str] = {
    "approve": "installation.approval",
    "batches": "installation.batches",
    "corpus": "listings",
    "deidentify": "notes.deidentification",
    "detect": "notes.detection",
    "detectors": "listings",
    "doctor": "installation.diagnosis",
    "export": "training.commands",
    "formats": "listings",
    "identities": "keeping.identities",
    "labels": "listings",
    "languages": "listings",
    "migrate": "installation.migration",
    "models": "training.models",
    "next": "training.commands",
    "plugin": "installation.scaffolding",
    "policies": "listings",
    "pretrain": "training.pretraining",
    "profiles": "listings",
    "recipes": "training.commands",
    "redact": "notes.detection",
    "reidentify": "keeping.vault",
    "retrain": "training.retraining",
    "suites": "installation.suites",
    "train": "training.commands",
    "vault": "keeping.vault",
    "verify": "installation.verification",
}
"""Each own command, and the module of this package that enters it in the application when it is
imported.
"""
