"""Sections of ``deid --help``, by task."""

from __future__ import annotations

from collections.abc import Mapping

TASKS: Mapping[str, Mapping[str, str]] = {
    "De-identify notes": {
        "deidentify": "De-identify notes: detect, resolve, spread, redact, search, verify.",
        "detect": "Find PHI and write spans.",
        "redact": "Replace PHI as a policy says.",
        "diff": "Compare two redactions of the same notes.",
        "side-by-side": "Show notes under several policies side by side.",
        "why": "Say why a place was redacted, or why not.",
        "serve": (
            "Serve a page and a REST service that show, explain and redact notes, to this machine."
        ),
        "map-spans": "Carry annotations over to the redacted text.",
        "repopulate": "Fill the tags of redacted notes, without their originals.",
        "twin": "Make a twin of a corpus: other names, the rest as it is.",
    },
    "Measure what is missed": {
        "sample": "Draw notes for people to annotate, at random by the key.",
        "review": (
            "Review what is doubtful in a batch, by keyboard, and bring the annotations back."
        ),
        "evaluate": "Score spans on annotated notes.",
        "bench": "Run detectors side by side on your notes.",
        "agreement": "Compare annotators or detectors without annotated notes.",
        "adjudicate": "Make one set of annotations from several annotators, by majority.",
        "audit-gold": "List what annotators may have overlooked.",
        "corrections": "Say what a correction of annotations changed.",
        "privacy": "Audits of what redacted notes and models still tell.",
    },
    "Train taggers": {
        "train": "Train taggers as recipes say.",
        "next": "Say which notes to annotate next.",
        "retrain": "Train a model on new annotated notes, and use it only if it is better.",
        "pretrain": "Train a masked language model on raw notes, from nothing or from a given one.",
        "recipes": "List the recipes that come with the package, then those of plugins.",
        "analyse": "Show what taggers get wrong, and what their vectors say.",
        "sweep": (
            "Train one model for each number of sentences grouped,"
            " and show what the larger ones find."
        ),
        "export": "Export a network to ONNX.",
        "models": "Published models as detectors.",
    },
    "Run the installation": {
        "init": "Write a new installation: settings, secrets and folders.",
        "run": "Make what is not up to date of the installation, and say what to do next.",
        "backfill": "Make assets of every batch in one process.",
        "ui": "Serve Dagster and the reports to this machine.",
        "batches": "Batches of notes: what arrived, and what became of it.",
        "feed": "Feeds: databases and object stores that notes are taken from.",
        "studies": "Studies: releases of their own from the spans that were found once.",
        "tables": "Tables: structured data of the same patients, released with their notes.",
        "leak": (
            "Find the releases that hold a leaked value, and cover it from now on where asked."
        ),
        "denied": (
            "Rules of people: values that are covered in all notes, and false alarms that are left."
        ),
        "canaries": (
            "Show what was found of the canary patients, batch by batch, per category and language."
        ),
        "erase": "Erase one patient from the installation, with a certificate.",
        "approve": "Approve the release of a batch whose page you have read.",
        "evidence": (
            "Write the evidence on a release: each sentence names the signed receipt"
            " it follows from."
        ),
        "suites": "Suites of expectations that gate the assets.",
        "verify": (
            "Check a release against its manifest, its signature against a public key,"
            " and that it is the newest."
        ),
        "doctor": "Say what is installed and what is missing.",
        "metrics": "Print numbers of the installation in the text format of Prometheus.",
        "migrate": (
            "Move what arrived back to the landing folder,"
            " and what an earlier version made of it aside."
        ),
        "plugin": "Plugins: installed from wheels, or your own.",
    },
    "Keep secrets and lists": {
        "vault": "The vault: an encrypted store of the originals.",
        "reidentify": "Restore the original notes.",
        "identities": "Tables of what is known of patients.",
        "gazetteer": "Dictionaries from lists, and a vocabulary from raw notes.",
    },
    "See what there is": {
        "detectors": "List the installed detectors.",
        "languages": "List the languages, with what each has.",
        "policies": "List the policies that come with deid.",
        "formats": "List the formats of notes.",
        "labels": "List the label maps of corpora.",
        "profiles": "List the profiles to score under.",
        "corpus": "Corpora: make, count, fix.",
    },
}
"""Names of commands with their first sentences, so that the list loads none of them.

Some are brought by a plugin; those of other plugins are listed last.
"""

STUDIES: Mapping[str, str] = {
    "generative": "Trained models that rewrite notes.",
    "zero-shot": "Masked language models as zero-shot detectors.",
}
"""The same of the laboratory's commands."""

MODULES: Mapping[str, str] = {
    "approve": "installation.approval",
    "backfill": "installation.launching",
    "batches": "installation.batches",
    "canaries": "installation.canaries",
    "corpus": "listings",
    "denied": "installation.denials",
    "deidentify": "notes.deidentification",
    "detect": "notes.detection",
    "detectors": "listings",
    "doctor": "installation.diagnosis",
    "erase": "installation.erasure",
    "evidence": "installation.evidence",
    "export": "training.commands",
    "feed": "installation.feeds",
    "formats": "listings",
    "identities": "keeping.identities",
    "init": "installation.founding",
    "labels": "listings",
    "languages": "listings",
    "leak": "installation.leaks",
    "metrics": "installation.metrics",
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
    "run": "installation.launching",
    "studies": "installation.studies",
    "tables": "installation.tables",
    "suites": "installation.suites",
    "train": "training.commands",
    "ui": "installation.launching",
    "vault": "keeping.vault",
    "verify": "installation.verification",
}
"""Each own command, and the module of this package that enters it in the application when it is
imported.
"""
