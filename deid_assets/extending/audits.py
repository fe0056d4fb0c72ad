"""Everything of this package that an audit may use beside the domain; ``docs/privacy-audits.md`` shows how."""

from deid_assets.core.keys import Key
from deid_assets.core.redact import Policy, Redacted, redact
from deid_assets.policies import load_policy
from deid_assets.privacy.audit import Audit, Case, Material, Need, conclude, not_assessed
from deid_assets.privacy.injection import Injector
from deid_assets.privacy.measurement import Measurement
from deid_assets.privacy.result import AuditResult, Control, Outcome, Plot, Rule, Table, read_result

__all__ = [
    "Audit",
    "AuditResult",
    "Case",
    "Control",
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
    "Table",
    "conclude",
    "load_policy",
    "not_assessed",
    "read_result",
    "redact",
]
