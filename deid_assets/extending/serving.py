"""The whole pipeline, for servers and other doors to it.

``deidentify_batch`` is what ``deidentify`` runs, and ``Batch`` what its steps left: no door
composes steps of its own.
"""

from deid_assets.api import NOTE_ID, add_languages, deidentify_batch, pipeline_of
from deid_assets.config.secret import VARIABLE, secret_of_environment, secret_of_file
from deid_assets.core.redact import Context, Edit, Policy, Redacted
from deid_assets.languages import CODES
from deid_assets.own_plugins import DEFAULT_ENSEMBLE, message_of
from deid_assets.pipeline.batch import HIT, Batch
from deid_assets.pipeline.composition import Pipeline
from deid_assets.pipeline.redacting import SURVIVES
from deid_assets.pipeline.resolving import LEAVABLE
from deid_assets.pipeline.spreading import SPREAD
from deid_assets.plugins import available
from deid_assets.policies import BUILTIN, check_key, descriptions, load_policy, needs_key
from deid_assets.policies.needs import require_packs
from deid_assets.system import strict_json
from deid_assets.system.silence import protect_memory, silence_for_good

__all__ = [
    "BUILTIN",
    "CODES",
    "DEFAULT_ENSEMBLE",
    "HIT",
    "LEAVABLE",
    "NOTE_ID",
    "SPREAD",
    "SURVIVES",
    "VARIABLE",
    "Batch",
    "Context",
    "Edit",
    "Pipeline",
    "Policy",
    "Redacted",
    "add_languages",
    "available",
    "check_key",
    "deidentify_batch",
    "descriptions",
    "load_policy",
    "message_of",
    "needs_key",
    "pipeline_of",
    "protect_memory",
    "require_packs",
    "secret_of_environment",
    "secret_of_file",
    "silence_for_good",
    "strict_json",
]
