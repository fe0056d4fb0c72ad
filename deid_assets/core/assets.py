"""Names of assets: one part, ``FAMILY_NAME``, since a box in Dagster's graph shows only the last
part of a key.
"""

from enum import StrEnum


class Family(StrEnum):
    """Assets that exist once for each detector, policy, recipe, audit or asset.

    No family is the beginning of another, so two different (family, name) never make the same
    asset.
    """

    SPANS = "spans"
    REDACTED_NOTES = "redacted_notes"
    SCORECARD = "scorecard"
    EVALUATION_REPORT = "evaluation_report"
    TAGGER = "tagger"
    ADAPTER = "adapter"
    ONNX = "onnx"
    PRIVACY = "privacy"
    STOPS = "stops"
    """No assets: why the asset of the name was not stored."""

    def of(self, name: str) -> str:
        """Return the asset of this family for a name.

        ``Family.SPANS.of("rules")`` is ``spans_rules``.
        """
        return f"{self}_{name}"

    def name_in(self, asset: str) -> str:
        """Return the name that an asset of this family is for, or nothing where it is
        of another.
        """
        return asset.removeprefix(f"{self}_") if asset.startswith(f"{self}_") else ""


def family_of(asset: str) -> Family | None:
    """Return the family of an asset, or ``None`` for one that exists once."""
    return next((family for family in Family if family.name_in(asset)), None)
