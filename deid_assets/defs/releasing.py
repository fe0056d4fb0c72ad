"""Whose release an asset is of: the installation's own, or a study's. Both have one body."""

from deid_assets.assets.declarations import AssetOutput, Make
from deid_assets.core.assets import ReleaseAssets
from deid_assets.runtime.installation import Installation


def bind_release(names: ReleaseAssets, make: Make) -> Make:
    """Return the body of an asset for whose release it is.

    Args:
        names: Of the release.
        make: The body; it sees the study's key, notes and conditions.
    """
    if not names.study:
        return make

    def make_release(batch: str, installation: Installation, **given: object) -> AssetOutput:
        return make(batch, installation.of_study(names.study), **given)

    return make_release
