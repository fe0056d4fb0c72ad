"""The ``deid`` command: everything the graph does, from a shell and without Dagster.

Exit codes: 0 all done; 1 done, but notes were withheld, each named on standard error, or an audit did not pass;
2 bad input, one line on standard error, nothing written; 3 a fault of the program.
"""

from deid_assets.cli.alignment import map_spans
from deid_assets.cli.app import app
from deid_assets.cli.approval import approve
from deid_assets.cli.batches import batches_app
from deid_assets.cli.bench import bench
from deid_assets.cli.commands import corpus, detect, doctor, redact
from deid_assets.cli.deidentification import deidentify
from deid_assets.cli.evaluating import adjudicate, agree, audit_gold, corrections, evaluate
from deid_assets.cli.gazetteers import gazetteer_app
from deid_assets.cli.identities import identities_app
from deid_assets.cli.listings import detectors, formats, labels, policies, profiles
from deid_assets.cli.migration import migrate
from deid_assets.cli.models import models_app
from deid_assets.cli.pretraining import pretrain
from deid_assets.cli.privacy import privacy_app
from deid_assets.cli.release_diff import diff, why
from deid_assets.cli.repopulation import repopulate, twin
from deid_assets.cli.sampling import sample
from deid_assets.cli.suites import suites_app
from deid_assets.cli.training import export, list_recipes, train
from deid_assets.cli.vault import reidentify, vault_app
from deid_assets.cli.verification import verify

__all__ = [
    "adjudicate",
    "agree",
    "app",
    "approve",
    "audit_gold",
    "batches_app",
    "bench",
    "corpus",
    "corrections",
    "deidentify",
    "detect",
    "detectors",
    "diff",
    "doctor",
    "evaluate",
    "export",
    "formats",
    "gazetteer_app",
    "identities_app",
    "labels",
    "list_recipes",
    "map_spans",
    "migrate",
    "models_app",
    "policies",
    "pretrain",
    "privacy_app",
    "profiles",
    "redact",
    "reidentify",
    "repopulate",
    "sample",
    "suites_app",
    "train",
    "twin",
    "vault_app",
    "verify",
    "why",
]
