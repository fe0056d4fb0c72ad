"""Zones of access of assets' files, from a declared table."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum

import pyarrow as pa

from deid_assets.core.assets import Family, family_of, study_part
from deid_assets.core.errors import InputError
from deid_assets.store.receipts import check_asset

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
    "denied_values": Zone.RESTRICTED,
    Family.TAGGER: Zone.RESTRICTED,
    Family.ADAPTER: Zone.RESTRICTED,
    Family.ONNX: Zone.RESTRICTED,
    Family.REDACTED_NOTES: Zone.RESTRICTED,
    "synthetic_corpus": Zone.PUBLISHED,
    "released_corpus": Zone.PUBLISHED,
}
"""Zone by family or asset, for all that hold text, as models do that keep words of it.

All others are ``INTERNAL`` and refuse text.
"""


def zone_of(asset: str) -> Zone:
    """Return the zone of an asset, decided by its family where it has one; of a study's, by what it
    is there.
    """
    _, part = study_part(check_asset(asset))
    return ZONES.get(family_of(part) or part, Zone.INTERNAL)


def check_table(asset: str, name: str, table: pa.Table) -> None:
    """Refuse a table whose name is no file name, or whose columns its zone must not hold.

    Raises:
        InputError: The name does not match ``[a-z][a-z0-9_]{0,40}``, or an internal table has a
            text column.
    """
    if not _TABLE.fullmatch(name):
        raise InputError(f"{asset}: table name must match ^[a-z][a-z0-9_]{{0,40}}$")
    if zone_of(asset) is not Zone.INTERNAL:
        return
    found = sorted(TEXT_COLUMNS.intersection(table.column_names))
    if found:
        raise InputError(
            f"{asset}: table {name!r} has column {', '.join(found)}, but {asset} lies in the"
            " internal zone, which holds no text; drop the column, or declare the asset in"
            " store/zones.py"
        )
