"""Zones of access of assets' files, from a declared table."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum

import pyarrow as pa

from deid_assets.core.errors import InputError
from deid_assets.store.receipts import checked_asset

TEXT_COLUMNS = frozenset({"text", "value", "meta", "patient_id"})
"""Columns that an ``internal`` table must not have."""

_TABLE = re.compile(r"[a-z][a-z0-9_]{0,40}")


class Zone(StrEnum):
    """Zone of access: the folder directly under the store's root."""

    RESTRICTED = "restricted"
    INTERNAL = "internal"
    PUBLISHED = "published"


ZONES: Mapping[str, Zone] = {
    "landing": Zone.RESTRICTED,
    "arrival": Zone.RESTRICTED,
    "raw_notes": Zone.RESTRICTED,
    "training_corpus": Zone.RESTRICTED,
    "tagger": Zone.RESTRICTED,
    "adapter": Zone.RESTRICTED,
    "onnx": Zone.RESTRICTED,
    "redacted_notes": Zone.RESTRICTED,
    "synthetic_corpus": Zone.PUBLISHED,
    "released_corpus": Zone.PUBLISHED,
}
"""Zone by first path segment, for every asset that holds text, as models do that keep words of it; all others are ``INTERNAL`` and refuse text."""


def zone_of(asset: str) -> Zone:
    """Return the zone of an asset, decided by the first segment of its path."""
    return ZONES.get(checked_asset(asset).split("/", 1)[0], Zone.INTERNAL)


def check_table(asset: str, name: str, table: pa.Table) -> None:
    """Refuse a table whose name is no file name, or whose columns its zone must not hold.

    Raises:
        InputError: The name does not match ``[a-z][a-z0-9_]{0,40}``, or an internal table has a text column.
    """
    if not _TABLE.fullmatch(name):
        raise InputError(f"{asset}: table name must match ^[a-z][a-z0-9_]{{0,40}}$")
    if zone_of(asset) is not Zone.INTERNAL:
        return
    found = sorted(TEXT_COLUMNS.intersection(table.column_names))
    if found:
        raise InputError(
            f"{asset}: table {name!r} has column {', '.join(found)}, but {asset} lies in the internal zone, "
            "which holds no text; drop the column, or declare the asset in store/zones.py"
        )
