"""The sensor that takes studies' releases back once a patient agrees no more.

A run refuses to begin where a list changed since the location was loaded, and takes back only what
is of its own batch. The sensor reads the lists themselves, and looks at every batch.
"""

import dagster as dg

from deid_assets.core.errors import DeidError
from deid_assets.defs.placing import place
from deid_assets.intake.consent import digest_of_lists, take_back_revoked
from deid_assets.runtime.installation import Installation

SENSOR = "consent_sensor"


def consent_sensor() -> dg.SensorDefinition:
    """Return the sensor of the lists of who agreed; it runs from the first load on."""
    there = place()
    resource = there.name("installation")

    @dg.sensor(
        name=there.name(SENSOR),
        minimum_interval_seconds=60,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description=(
            "Takes back the studies' releases that have notes of patients who agree no more,"
            " whatever became of the batches. Releases without these notes are made by the next"
            " runs, once the location was loaded again."
        ),
        required_resource_keys={resource},
    )
    def sensor(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        return tick(getattr(context.resources, resource), cursor=context.cursor)

    return sensor


def tick(installation: Installation, *, cursor: str | None) -> dg.SensorResult | dg.SkipReason:
    """Take back what may be out no longer, if a list changed since the last tick.

    Args:
        installation: Opened.
        cursor: Of the last tick, a digest of the lists.
    """
    settings = installation.settings
    try:
        now = digest_of_lists(settings)
    except DeidError:
        now = ""  # the other lists count all the same; what is wrong is said below
    if now and now == cursor:
        return dg.SkipReason("no list of who agreed changed")
    try:
        taken = take_back_revoked(settings, installation.files)
    except DeidError as error:
        return dg.SkipReason(f"{error}")
    said = ", ".join(f"batch {batch} from study {study}" for study, batch in taken)
    return dg.SensorResult(skip_reason=f"taken back: {said or 'nothing'}", cursor=now)
