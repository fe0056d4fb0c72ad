"""What killed processes left, completed or removed before the next one begins."""

from __future__ import annotations

from deid_assets.formats.temporary import sweep_temporary
from deid_assets.intake.consent import take_back_revoked
from deid_assets.intake.reader import landing_store
from deid_assets.intake.reviewed import complete_returns
from deid_assets.intake.withdrawal import enforce_withdrawals
from deid_assets.runtime.installation import Installation
from deid_assets.store.leftovers import sweep_store
from deid_assets.system.atomic import sweep_parts


def remove_unfinished(installation: Installation) -> None:
    """Complete or remove what killed runs left in the store, among arrivals, taggers and releases
    and in the temporary folder, and take back studies' releases with notes of patients who agree no
    more.

    What a process that is there still writes is left to it.

    Raises:
        ConfigError: A list of who agreed to a study cannot be read.
        ProvenanceError: The list of releases was altered, or its two copies contradict each other.
    """
    settings = installation.settings
    sweep_temporary()
    waits = landing_store(settings) / ".large"
    for folder in (
        settings.home,
        settings.reports,
        settings.landing,
        settings.home / "training",
        waits,
    ):
        sweep_parts(folder)
    sweep_store(installation.files)
    complete_returns(settings, installation.files)
    enforce_withdrawals(installation.settings, installation.files, installation.releases)
    take_back_revoked(settings, installation.files)
