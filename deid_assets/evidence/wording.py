"""Numbers, times and shares as an evidence file writes them."""

from __future__ import annotations

from datetime import UTC, datetime

from deid_assets import languages
from deid_assets.core.errors import ConfigError
from deid_assets.evaluation.counts import Counts
from deid_assets.evaluation.numbers import UNDEFINED, Estimate, estimate, recall_of
from deid_assets.privacy.measurement import Measurement


def many(count: int, one: str, more: str = "") -> str:
    """Return ``1 note`` or ``240 notes``."""
    return f"{count:,} {one if count == 1 else more or one + 's'}"


def at(moment: str | datetime) -> str:
    """Return a moment in UTC, to the minute."""
    parsed = datetime.fromisoformat(moment) if isinstance(moment, str) else moment
    return f"{parsed.astimezone(UTC):%d %B %Y, %H:%M} UTC".lstrip("0")


def language(code: str) -> str:
    """Return the name of a language, or its code where the project has none of it."""
    try:
        return languages.language(code).name
    except ConfigError:
        return code


def percent(value: float) -> str:
    """Return a share in percent, to one decimal; what is short of all never reads as 100 %."""
    if 0 < value < 1:
        value = min(max(value, 0.001), 0.999)
    return f"{value:.1%}".replace("%", "\N{NO-BREAK SPACE}%")


def share(found: Estimate | None) -> str:
    """Return a share with its interval, in percent."""
    if found is None:
        return UNDEFINED
    return f"{percent(found.value)} [{percent(found.low)}, {percent(found.high)}]"


def recall(counts: Counts) -> str:
    """Return the share of annotated spans that were covered."""
    return share(recall_of(counts))


def precision(counts: Counts) -> str:
    """Return the share of predictions that met an annotated span."""
    return share(estimate(counts.tp, counts.tp + counts.fp))


def show_measurement(one: Measurement) -> str:
    """Return a measurement with its interval."""
    if one.low >= 0 and one.high <= 1:
        return f"{percent(one.value)} [{percent(one.low)}, {percent(one.high)}]"
    return f"{one.value:,.3f} [{one.low:,.3f}, {one.high:,.3f}]"


def by_chance(one: Measurement) -> str:
    """Return what a guess gets."""
    return one.chance if isinstance(one.chance, str) else percent(one.chance)


def list_words(words: list[str]) -> str:
    """Return words in one line: ``a, b and c``."""
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))
