"""Why an asset was not stored: said in Dagster, and kept for ``make run`` and ``deid batches``."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

import dagster as dg

from deid_assets.assets.display import in_words
from deid_assets.core.detector import is_interrupt
from deid_assets.core.errors import DeidError
from deid_assets.defs.placing import name_in
from deid_assets.intake.stops import clear_stop, find_stop, list_stopped_assets, record_stop
from deid_assets.own_plugins import describe_error
from deid_assets.quality import Verdict
from deid_assets.runtime.installation import Installation
from deid_assets.runtime.processes import Stopped
from deid_assets.store.files import UnsignedReceipt


def why_stopped(failed: Iterable[Verdict]) -> list[str]:
    """Return each reason of each failed check as a sentence, without text.

    Of one without reasons, what it judged.
    """
    return [
        f"check {verdict.name}: {reason}"
        for verdict in failed
        for reason in verdict.reasons or [_describe_verdict(verdict)]
    ]


def _describe_verdict(verdict: Verdict) -> str:
    numbers = ", ".join(
        f"{name.replace('_', ' ')} {count:,}" for name, count in verdict.counts.items()
    )
    return " ".join(
        filter(None, [verdict.description, in_words(verdict.bounds) or f"Counted: {numbers}."])
    )


def keep_stop(
    installation: Installation,
    asset: str,
    batch: str,
    reasons: Sequence[str],
    *,
    unsigned: UnsignedReceipt,
    waits: bool,
) -> None:
    """Keep why a check stopped an asset.

    Where that cannot be written, the failure itself still stands in Dagster.
    """
    with suppress(DeidError, OSError):
        record_stop(
            installation.files,
            asset,
            batch,
            reasons,
            unsigned=unsigned,
            is_error=False,
            waits=waits,
        )


@contextmanager
def keeping_errors(
    installation: Installation, asset: str, batch: str, *, unsigned: UnsignedReceipt
) -> Iterator[None]:
    """Store the error that is raised inside, by class alone unless code of ours raised it, and
    raise it again.
    """
    try:
        yield
    except BaseException as error:  # a plugin or library may raise anything
        if not isinstance(error, Stopped) and not is_interrupt(error):
            with suppress(DeidError, OSError):
                record_stop(
                    installation.files,
                    asset,
                    batch,
                    [describe_error(error)],
                    unsigned=unsigned,
                    is_error=True,
                )
        raise


def drop_known_stops(
    specs: Mapping[dg.AssetKey, dg.AssetSpec],
    installation: Installation,
    batch: str,
    stale: Sequence[dg.AssetKey],
) -> list[dg.AssetKey]:
    """Return the stale assets without those that would fail again, and without what depends on
    them.

    An asset would fail again where a check stopped it, and neither its code and settings nor its
    inputs changed since.

    Args:
        specs: Of every asset.
        installation: The installation.
        batch: Partition.
        stale: What is not up to date, upstream first.
    """
    made: list[dg.AssetKey] = []
    held: set[dg.AssetKey] = set()
    for key in stale:
        upstream = {dep.asset_key for dep in specs[key].deps}
        if upstream & held or (
            not upstream & set(made) and _fails_again(specs[key], installation, batch)
        ):
            held.add(key)
        else:
            made.append(key)
    return made


def clear_stale_stops(
    installation: Installation, batch: str, current: Iterable[dg.AssetKey]
) -> None:
    """Forget the stops of assets that are up to date.

    A run under other settings, or that was tried again, left them.

    Args:
        installation: The installation.
        batch: Partition.
        current: Assets that are what would be made now.
    """
    stopped = set(list_stopped_assets(installation.files, batch))
    for asset in stopped & {name_in(key) for key in current}:
        clear_stop(installation.files, asset, batch)


def _fails_again(spec: dg.AssetSpec, installation: Installation, batch: str) -> bool:
    try:
        stop = find_stop(installation.files, name_in(spec.key), batch)
    except DeidError:  # an altered record holds nothing back
        return False
    return stop is not None and not stop.is_error and stop.receipt.code_version == spec.code_version
