"""Names of assets: one part, ``FAMILY_NAME``, since a box in Dagster's graph shows only the last
part of a key.
"""

from dataclasses import dataclass
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
    TABLE = "table"
    RELEASED_TABLE = "released_table"
    SYNTHETIC_CORPUS = "synthetic_corpus"
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


STUDY = "study"
"""First part of the names of a study's assets, in the store and in Dagster."""
REDACTED, QUARANTINE = "redacted_notes", "quarantine"
REPORT, APPROVAL = "release_report", "release_approval"
RELEASED, RELEASE_DIFF, WITHDRAWN = "released_corpus", "release_diff", "withdrawn"
OF_A_RELEASE = (REDACTED, QUARANTINE, REPORT, APPROVAL, RELEASED, RELEASE_DIFF)
"""Assets that every study has of its own; none is the end of another after an underscore."""


@dataclass(frozen=True, slots=True)
class ReleaseAssets:
    """Names of what a release is made of: of the installation's own, or of a study's.

    Args:
        study: Name of the study; empty for the installation's own release.
    """

    study: str = ""

    def of(self, asset: str) -> str:
        """Return the name of an asset: ``quarantine``, or ``study_cardio_quarantine``."""
        return f"{STUDY}_{self.study}_{asset}" if self.study else asset

    def name_redacted(self, policy: str) -> str:
        """Return the redacted notes: one asset a policy, or the study's own."""
        return self.of(REDACTED) if self.study else Family.REDACTED_NOTES.of(policy)

    def of_batch(self, batch: str) -> str:
        """Return how the pages on a batch are called."""
        return f"{STUDY}_{self.study}-{batch}" if self.study else batch

    @property
    def quarantine(self) -> str:
        """Notes that do not leave."""
        return self.of(QUARANTINE)

    @property
    def report(self) -> str:
        """The page on a batch."""
        return self.of(REPORT)

    @property
    def approval(self) -> str:
        """Who approved the page."""
        return self.of(APPROVAL)

    @property
    def released(self) -> str:
        """What leaves."""
        return self.of(RELEASED)

    @property
    def diff(self) -> str:
        """What changed since the last release."""
        return self.of(RELEASE_DIFF)

    def name_released_table(self, table: str) -> str:
        """Return a table that leaves with the notes."""
        return self.of(Family.RELEASED_TABLE.of(table))

    @property
    def withdrawn(self) -> str:
        """Record that a batch was withdrawn."""
        return self.of(WITHDRAWN)


MAIN = ReleaseAssets()
"""The installation's own release."""


def study_part(asset: str) -> tuple[str, str]:
    """Return the study of an asset and what the asset is there; nothing and the asset itself where
    it is of no study.
    """
    for part in (*OF_A_RELEASE, WITHDRAWN):
        study = asset.removeprefix(f"{STUDY}_").removesuffix(f"_{part}")
        if study and asset == ReleaseAssets(study).of(part):
            return study, part
    study, found, table = asset.removeprefix(f"{STUDY}_").partition(f"_{Family.RELEASED_TABLE}_")
    if found and study and asset == ReleaseAssets(study).name_released_table(table):
        return study, Family.RELEASED_TABLE.of(table)
    return "", asset
