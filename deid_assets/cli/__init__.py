"""The ``deid`` command: everything the graph does, from a shell and without Dagster.

Exit codes: 0 all done; 1 done, but notes were withheld, each named on standard error, or an audit did not pass;
2 bad input, one line on standard error, nothing written; 3 a fault of the program.

Each module enters its commands in ``app`` when it is imported; the folders are the tasks of ``tasks.py``.
"""

# ruff: noqa: F401

from deid_assets.cli import listings
from deid_assets.cli.app import app
from deid_assets.cli.installation import approval, batches, diagnosis, migration, scaffolding, suites, verification
from deid_assets.cli.keeping import identities, vault
from deid_assets.cli.notes import deidentification, detection
from deid_assets.cli.training import commands, models, pretraining, retraining

__all__ = ["app"]
