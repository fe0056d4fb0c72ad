"""Everything of this package that an audit may use beside the domain.

``docs/privacy-audits.md`` shows how.
"""

from deid_assets.config.secret import secret_of_environment
from deid_assets.core.keys import Key
from deid_assets.core.redact import Policy, Redacted, redact
from deid_assets.core.resolve import Ensemble, resolve
from deid_assets.plugins import summary_of
from deid_assets.policies import check_key, load_policy
from deid_assets.privacy.audit import Audit, Case, Material, Need, conclude, not_assessed
from deid_assets.privacy.injection import Injector
from deid_assets.privacy.measurement import Measurement
from deid_assets.privacy.result import (
    AuditResult,
    Control,
    Outcome,
    Plot,
    Rule,
    Subject,
    Table,
    read_result,
)
from deid_assets.privacy.running import (
    estimate_seconds,
    find_installed_audits,
    load_audit,
    not_run,
    run_named,
)
from deid_assets.privacy.subject import (
    Sealer,
    as_told,
    is_signed,
    key_name,
    model_digest,
    texts_digest,
)

__all__ = [
    "Audit",
    "AuditResult",
    "Case",
    "Control",
    "Ensemble",
    "Injector",
    "Key",
    "Material",
    "Measurement",
    "Need",
    "Outcome",
    "Plot",
    "Policy",
    "Redacted",
    "Rule",
    "Sealer",
    "Subject",
    "Table",
    "as_told",
    "check_key",
    "conclude",
    "estimate_seconds",
    "find_installed_audits",
    "is_signed",
    "key_name",
    "load_audit",
    "load_policy",
    "model_digest",
    "not_assessed",
    "not_run",
    "read_result",
    "redact",
    "resolve",
    "run_named",
    "secret_of_environment",
    "summary_of",
    "texts_digest",
]
