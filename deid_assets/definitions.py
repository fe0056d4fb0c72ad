"""The Dagster code location: this installation's settings and plugins, joined to the graph."""

from deid_assets.defs.build import load_definitions
from deid_assets.defs.instance import harden_process

harden_process()
defs = load_definitions()
