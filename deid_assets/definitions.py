"""The Dagster code location: this installation's settings and plugins, joined to the graph."""

import warnings

import dagster as dg

from deid_assets.config import Settings
from deid_assets.defs.build import build_definitions
from deid_assets.defs.instance import harden_process

# Partitioned checks are a preview in Dagster 1.13; tests/defs/test_dagster_behaviour.py pins what we rely on.
warnings.filterwarnings("ignore", category=dg.PreviewWarning)
warnings.filterwarnings("ignore", category=dg.BetaWarning)

harden_process()
defs = build_definitions(Settings.load())
