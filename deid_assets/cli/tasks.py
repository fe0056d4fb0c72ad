"""Sections of ``deid --help``, by task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

TASKS: Mapping[str, Sequence[str]] = {
    "De-identify notes": ("deidentify", "detect", "redact", "diff", "side-by-side", "why", "map-spans", "repopulate", "twin"),
    "Measure what is missed": (
        "sample", "evaluate", "bench", "agreement", "adjudicate", "audit-gold", "corrections", "privacy",
    ),
    "Train taggers": (
        "train", "next", "retrain", "pretrain", "recipes", "analyse", "sweep", "export", "models", "generative", "zero-shot",
    ),
    "Run the installation": ("batches", "approve", "suites", "verify", "doctor", "migrate", "plugin"),
    "Keep secrets and lists": ("vault", "reidentify", "identities", "gazetteer"),
    "See what there is": ("detectors", "policies", "formats", "labels", "profiles", "corpus"),
}  # fmt: skip
"""Names of commands, some of which a plugin brings; those of other plugins are listed last."""
