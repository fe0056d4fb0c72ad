"""The Dagster code location: this installation's settings and plugins, joined to the graph."""

from deid_assets.config import Settings
from deid_assets.defs.build import build_definitions
from deid_assets.defs.instance import harden_process
from deid_assets.operation.preflight import check_safety

harden_process()  # before anything of the settings can be said
_settings = Settings.load()
check_safety(_settings)
defs = build_definitions(_settings)
