"""Detectors, trainers, formats, audits, feeds, commands and corpora found by entry point.

``description`` says what a plugin is, ``installed`` lists them without importing them, and
``loading`` loads them loudly.
"""

from deid_assets.plugins.description import (
    ABOUT,
    ACTIONS,
    AUDITS,
    COMMANDS,
    CORPORA,
    FEEDS,
    FORMATS,
    GROUP,
    ONNX,
    PAGES,
    RECIPES,
    SYNTHESIS,
    TABLES,
    TRAINERS,
    Plugin,
    summary_of,
)
from deid_assets.plugins.installed import available, available_of, versions_behind
from deid_assets.plugins.loading import (
    build,
    check_importable,
    load,
    load_corpus,
    load_declaration,
    load_feed,
    load_trainer,
)

__all__ = [
    "ABOUT",
    "ACTIONS",
    "AUDITS",
    "COMMANDS",
    "CORPORA",
    "FEEDS",
    "FORMATS",
    "GROUP",
    "ONNX",
    "PAGES",
    "RECIPES",
    "SYNTHESIS",
    "TABLES",
    "TRAINERS",
    "Plugin",
    "available",
    "available_of",
    "build",
    "check_importable",
    "load",
    "load_corpus",
    "load_declaration",
    "load_feed",
    "load_trainer",
    "summary_of",
    "versions_behind",
]
