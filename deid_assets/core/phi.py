"""PHI categories, the profiles that view them, and the maps from foreign labels."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from deid_assets.core.errors import ConfigError, UnknownLabelError


class Phi(StrEnum):
    """The closed set of categories. Fine enough to be mapped to HIPAA, i2b2 2014 and MEDDOCAN."""

    NAME = "NAME"
    USERNAME = "USERNAME"
    AGE = "AGE"
    DATE = "DATE"
    PROFESSION = "PROFESSION"
    SEX = "SEX"
    RELATIVE = "RELATIVE"
    STREET = "STREET"
    CITY = "CITY"
    REGION = "REGION"
    COUNTRY = "COUNTRY"
    ZIP = "ZIP"
    LOCATION = "LOCATION"
    HOSPITAL = "HOSPITAL"
    ORGANIZATION = "ORGANIZATION"
    PHONE = "PHONE"
    FAX = "FAX"
    EMAIL = "EMAIL"
    URL = "URL"
    IP = "IP"
    NATIONAL_ID = "NATIONAL_ID"
    MRN = "MRN"
    HEALTH_PLAN = "HEALTH_PLAN"
    ACCOUNT = "ACCOUNT"
    LICENSE = "LICENSE"
    VEHICLE = "VEHICLE"
    DEVICE = "DEVICE"
    BIOMETRIC = "BIOMETRIC"
    ID = "ID"
    OTHER = "OTHER"


_SEVEREST_FIRST = (
    "NAME NATIONAL_ID MRN HEALTH_PLAN ACCOUNT LICENSE BIOMETRIC FAX PHONE EMAIL USERNAME IP URL"
    " VEHICLE DEVICE ID STREET ZIP DATE AGE HOSPITAL ORGANIZATION CITY LOCATION REGION COUNTRY"
    " PROFESSION RELATIVE SEX OTHER"
)
SEVERITY: Mapping[Phi, int] = {Phi(name): rank for rank, name in enumerate(_SEVEREST_FIRST.split())}
"""Rank of each category, from 0 for those that identify a person by themselves to those shared with
many; the more specific first where they identify alike (a fax number is a telephone number too).

It decides which category names a range where detectors, lengths and scores tie.
"""


@dataclass(frozen=True, slots=True)
class Profile:
    """A view of the categories: which count as PHI, and under which label.

    Args:
        name: How the profile is chosen.
        labels: Category to the profile's label; a category that is absent is not PHI under this
            profile.
        source: Where the definition comes from.
        native: Labels of the task itself, finer than the categories, to the category that each lies
            in. A span that carries one is counted under it: a patient's name taken for a doctor's
            is wrong.
    """

    name: str
    labels: Mapping[Phi, str]
    source: str
    native: Mapping[str, Phi] = field(default_factory=dict)

    def label_of(self, label: Phi, native_label: str = "") -> str | None:
        """The profile's label for a category, or ``None`` where the profile does not count it.

        Args:
            label: The category.
            native_label: The span's own label; followed where it is the task's and lies in the
                category.
        """
        found = self.labels.get(label)
        return (
            native_label if found is not None and self.native.get(native_label) is label else found
        )


def _read() -> dict[str, Profile]:
    tables = tomllib.loads(Path(__file__).with_name("profiles.toml").read_text("utf-8"))
    return {
        name: Profile(
            name, _by_category(table["labels"]), table["source"], _native(table.get("native", {}))
        )
        for name, table in tables.items()
    }


def _native(groups: Mapping[str, str]) -> dict[str, Phi]:
    return {label: Phi(category) for category, labels in groups.items() for label in labels.split()}


def _by_category(groups: Mapping[str, str]) -> dict[Phi, str]:
    return {Phi(member): label for label, members in groups.items() for member in members.split()}


_READ = _read()
SAFE_HARBOR, I2B2_2014, I2B2_2014_FINE, MEDDOCAN, HARMONISED = (
    _READ[name] for name in ("safe_harbor", "i2b2", "i2b2_fine", "meddocan", "harmonised")
)
GDPR = Profile(
    "gdpr",
    {label: "special" if label in (Phi.BIOMETRIC, Phi.SEX) else "identifier" for label in Phi},
    "Regulation (EU) 2016/679, articles 4(1) and 9: any category can identify",
)
PROFILES: Mapping[str, Profile] = {
    found.name: found
    for found in (SAFE_HARBOR, I2B2_2014, I2B2_2014_FINE, MEDDOCAN, GDPR, HARMONISED)
}


def profile(name: str) -> Profile:
    """Return a profile by name.

    Raises:
        ConfigError: There is no such profile.
    """
    if name not in PROFILES:
        raise ConfigError(f"unknown profile {name!r}; choose one of {', '.join(sorted(PROFILES))}")
    return PROFILES[name]


@dataclass(frozen=True, slots=True)
class LabelMap:
    """Mapping from a corpus' or a model's labels to categories.

    ``None`` ignores a label on purpose.

    Args:
        name: How the map is chosen and named in errors.
        labels: Native label to category or ``None``.
    """

    name: str
    labels: Mapping[str, Phi | None]

    def __getitem__(self, native_label: str) -> Phi | None:
        """The category of a native label, ``None`` where it is ignored on purpose.

        Raises:
            UnknownLabelError: The map does not know the label.
        """
        try:
            return self.labels[native_label]
        except KeyError:
            raise UnknownLabelError(
                f"label {native_label!r} is not in label map {self.name!r}; it knows"
                f" {', '.join(sorted(self.labels))}; map it to a category, or to nothing to"
                " ignore it"
            ) from None

    def require(self, native_labels: Iterable[str]) -> None:
        """Check a model's whole label set at once, when it loads.

        Raises:
            UnknownLabelError: One of the labels is not in the map.
        """
        for native_label in native_labels:
            self[native_label]

    @property
    def categories(self) -> frozenset[Phi]:
        """Every category the map can give; what the corpus annotates."""
        return frozenset(label for label in self.labels.values() if label is not None)
