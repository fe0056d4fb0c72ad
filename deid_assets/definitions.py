"""The Dagster code location: this installation's settings and plugins, joined to the graph."""

from deid_assets.config import Settings
from deid_assets.defs.build import build_definitions
from deid_assets.defs.instance import harden_process

harden_process()  # before anything of the settings can be said
defs = build_definitions(Settings.load())
