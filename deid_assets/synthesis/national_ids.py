"""National and health identifiers with the check digits their issuers define; each names its source."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random

NATIONAL: Mapping[str, Callable[[Random], str]] = {}
"""Generators a grammar may call as ``{valid NAME}``; names begin with the country, ``it_codice_fiscale``."""
