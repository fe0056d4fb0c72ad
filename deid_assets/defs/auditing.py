"""privacy_<audit>: the declaration of each audit that is installed."""

import hashlib
from collections.abc import Sequence
from functools import partial

import dagster as dg

from deid_assets.assets.auditing import CHECKS, FIGURES, key_of, make_audit
from deid_assets.assets.declarations import AssetDeclaration
from deid_assets.assets.ingest import GOLD, RAW_NOTES
from deid_assets.config import Settings
from deid_assets.core.redact import Policy
from deid_assets.defs.audit import build_audited_asset
from deid_assets.defs.jobs import ON_DEMAND
from deid_assets.defs.placing import place
from deid_assets.pipeline.resolving import MERGED_SPANS
from deid_assets.plugins import Plugin
from deid_assets.privacy.subject import model_digest
from deid_assets.runtime.snapshot import software_version


def audit_asset(
    settings: Settings, policies: Sequence[Policy], plugin: Plugin
) -> dg.AssetsDefinition:
    """Return the asset of one audit, over all batches that have gold."""
    digests = hashlib.sha256(" ".join(policy.digest for policy in policies).encode()).hexdigest()[
        :12
    ]
    return build_audited_asset(
        partial(make_audit, name=plugin.name, policies=policies),
        AssetDeclaration(
            key=key_of(plugin.name),
            checks=CHECKS,
            deps=[RAW_NOTES, GOLD, MERGED_SPANS],
            code_version=(
                f"{plugin.code_version}+{software_version()}"
                f"+{settings.digest('ensemble', 'audits', 'privacy')}"
                f"+{digests}{_model_version(settings)}"
            ),
            group="privacy",
            description=(
                f"Audit `{plugin.name}` of {plugin.distribution}: {_sentence(plugin.summary)}"
                " Made when asked for."
            ),
            kinds={"report", *plugin.keywords[:2]},
            schema=FIGURES,
            partitioned=False,
            automatic=False,
            tags=ON_DEMAND,
            metadata={
                "plugin": f"{plugin.distribution} {plugin.version}",
                "plugin_digest": plugin.digest,
            },
        ),
    )


def _sentence(text: str) -> str:
    return text if text.endswith(("?", ".")) else f"{text}."


def _model_version(settings: Settings) -> str:
    """Return what changes with the audited model's files; nothing where there is no model."""
    model = settings.privacy.model
    if model is None or not model.exists():
        return ""
    return f"+{model_digest(model, settings.key())[:12]}"


def unusable_audit(plugin: Plugin) -> dg.AssetSpec:
    """Return a placeholder for an audit that cannot be used, so that it is seen and hides
    no other.
    """
    return dg.AssetSpec(
        place().key(key_of(plugin.name)),
        group_name=place().name("unusable_audits"),
        description=f"Not usable: {plugin.fault}.",
        metadata={"fault": plugin.fault},
    )
