"""Checks of national and health identifiers that python-stdnum does not have; each names its source.

What python-stdnum has is named in a pattern directly, ``check = "stdnum:nl.bsn"``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

NATIONAL_CHECKS: Mapping[str, Callable[[str], bool]] = {}
"""Checks by the name a pattern uses; names begin with the country, ``de_kvnr``."""
