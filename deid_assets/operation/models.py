"""Whether the models of an installation are what they were when they were written."""

from __future__ import annotations

from collections.abc import Iterator

from deid_assets import plugins
from deid_assets.config import Settings
from deid_assets.core.errors import DeidError
from deid_assets.operation.findings import Condition, Finding
from deid_assets.training.card import CARD, read_card


def model_findings(settings: Settings) -> Iterator[Finding]:
    """Yield each trained and each configured model, after comparing its files with their digests.

    Large models take seconds.
    """
    for card in sorted((settings.home / "training").glob(f"*/{CARD}")):
        folder = card.parent
        try:
            read_card(folder, verify=True)
        except DeidError as error:
            detail = f"{error}; move {folder} away, and it is trained again"
            yield Finding(f"model {folder.name}", Condition.BROKEN, detail)
        else:
            yield Finding(f"model {folder.name}", Condition.OK, "its files are those of its card")
    known = plugins.available()
    for name, options in settings.detectors.items():
        if "model" not in options or name not in known:
            continue
        try:
            plugins.load(name, options=options)
        except DeidError as error:
            yield Finding(f"model of {name}", Condition.BROKEN, str(error))
        else:
            yield Finding(f"model of {name}", Condition.OK, "loaded, its digests compared")
