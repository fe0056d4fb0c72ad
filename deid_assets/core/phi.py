"""PHI categories, the profiles that view them, and the maps from foreign labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

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
    "NAME NATIONAL_ID MRN HEALTH_PLAN ACCOUNT LICENSE BIOMETRIC FAX PHONE EMAIL USERNAME IP URL VEHICLE DEVICE ID "
    "STREET ZIP DATE AGE HOSPITAL ORGANIZATION CITY LOCATION REGION COUNTRY PROFESSION RELATIVE SEX OTHER"
)
SEVERITY: Mapping[Phi, int] = {Phi(name): rank for rank, name in enumerate(_SEVEREST_FIRST.split())}
"""Rank of each category, from 0 for those that identify a person by themselves to those shared with many; the more
specific first where they identify alike (a fax number is a telephone number too).

It decides which category names a range where detectors, lengths and scores tie."""


@dataclass(frozen=True, slots=True)
class Profile:
    """A view of the categories: which count as PHI, and under which label.

    Args:
        name: How the profile is chosen.
        labels: Category to the profile's label; a category that is absent is not PHI under this profile.
        source: Where the definition comes from.
    """

    name: str
    labels: Mapping[Phi, str]
    source: str

    def label_of(self, label: Phi) -> str | None:
        """The profile's label for a category, or ``None`` where the profile does not count it."""
        return self.labels.get(label)


def _group(groups: Mapping[str, str]) -> dict[Phi, str]:
    return {Phi(member): label for label, members in groups.items() for member in members.split()}


SAFE_HARBOR = Profile(
    "safe_harbor",
    _group(
        {
            "A names": "NAME RELATIVE",
            "B geographic": "STREET CITY REGION ZIP LOCATION HOSPITAL ORGANIZATION COUNTRY",
            "C dates and ages": "DATE AGE",
            "D telephone": "PHONE",
            "E fax": "FAX",
            "F e-mail": "EMAIL",
            "G social security": "NATIONAL_ID",
            "H medical record": "MRN",
            "I health plan": "HEALTH_PLAN",
            "J account": "ACCOUNT",
            "K certificate or licence": "LICENSE",
            "L vehicle": "VEHICLE",
            "M device": "DEVICE",
            "N URL": "URL",
            "O IP address": "IP",
            "P biometric": "BIOMETRIC",
            "Q photograph": "",
            "R other unique": "ID USERNAME OTHER",
        }
    ),
    "45 CFR 164.514(b)(2)(i), identifiers A to R; Q is not text",
)
"""HIPAA's 18 identifiers. Relatives' and employers' identifiers count; profession and sex do not."""

I2B2_2014 = Profile(
    "i2b2",
    _group(
        {
            "NAME": "NAME USERNAME",
            "PROFESSION": "PROFESSION",
            "LOCATION": "STREET CITY REGION COUNTRY ZIP LOCATION HOSPITAL ORGANIZATION",
            "AGE": "AGE",
            "DATE": "DATE",
            "CONTACT": "PHONE FAX EMAIL URL IP",
            "ID": "NATIONAL_ID MRN HEALTH_PLAN ACCOUNT LICENSE VEHICLE DEVICE BIOMETRIC ID",
        }
    ),
    "Stubbs and Uzuner (2015), J Biomed Inform 58 S20-S29: seven categories",
)

I2B2_2014_FINE = Profile(
    "i2b2_fine",
    {
        Phi.NAME: "PATIENT",
        Phi.USERNAME: "USERNAME",
        Phi.PROFESSION: "PROFESSION",
        Phi.STREET: "STREET",
        Phi.CITY: "CITY",
        Phi.REGION: "STATE",
        Phi.COUNTRY: "COUNTRY",
        Phi.ZIP: "ZIP",
        Phi.LOCATION: "LOCATION-OTHER",
        Phi.HOSPITAL: "HOSPITAL",
        Phi.ORGANIZATION: "ORGANIZATION",
        Phi.AGE: "AGE",
        Phi.DATE: "DATE",
        Phi.PHONE: "PHONE",
        Phi.FAX: "FAX",
        Phi.EMAIL: "EMAIL",
        Phi.URL: "URL",
        Phi.IP: "IPADDR",
        Phi.NATIONAL_ID: "SSN",
        Phi.MRN: "MEDICALRECORD",
        Phi.HEALTH_PLAN: "HEALTHPLAN",
        Phi.ACCOUNT: "ACCOUNT",
        Phi.LICENSE: "LICENSE",
        Phi.VEHICLE: "VEHICLE",
        Phi.DEVICE: "DEVICE",
        Phi.BIOMETRIC: "BIOID",
        Phi.ID: "IDNUM",
    },
    "Stubbs and Uzuner (2015): sub-categories; PATIENT stands for PATIENT and DOCTOR, which Phi does not separate",
)

MEDDOCAN = Profile(
    "meddocan",
    {
        Phi.NAME: "NOMBRE_SUJETO_ASISTENCIA",
        Phi.AGE: "EDAD_SUJETO_ASISTENCIA",
        Phi.SEX: "SEXO_SUJETO_ASISTENCIA",
        Phi.RELATIVE: "FAMILIARES_SUJETO_ASISTENCIA",
        Phi.DATE: "FECHAS",
        Phi.PROFESSION: "PROFESION",
        Phi.HOSPITAL: "HOSPITAL",
        Phi.ORGANIZATION: "INSTITUCION",
        Phi.STREET: "CALLE",
        Phi.CITY: "TERRITORIO",
        Phi.REGION: "TERRITORIO",
        Phi.ZIP: "TERRITORIO",
        Phi.LOCATION: "TERRITORIO",
        Phi.COUNTRY: "PAIS",
        Phi.PHONE: "NUMERO_TELEFONO",
        Phi.FAX: "NUMERO_FAX",
        Phi.EMAIL: "CORREO_ELECTRONICO",
        Phi.URL: "URL_WEB",
        Phi.IP: "DIREC_PROT_INTERNET",
        Phi.NATIONAL_ID: "ID_SUJETO_ASISTENCIA",
        Phi.MRN: "ID_SUJETO_ASISTENCIA",
        Phi.HEALTH_PLAN: "ID_ASEGURAMIENTO",
        Phi.LICENSE: "ID_TITULACION_PERSONAL_SANITARIO",
        Phi.ID: "ID_CONTACTO_ASISTENCIAL",
        Phi.USERNAME: "ID_EMPLEO_PERSONAL_SANITARIO",
        Phi.VEHICLE: "IDENTIF_VEHICULOS_NRSERIE_PLACAS",
        Phi.DEVICE: "IDENTIF_DISPOSITIVOS_NRSERIE",
        Phi.BIOMETRIC: "IDENTIF_BIOMETRICOS",
        Phi.ACCOUNT: "NUMERO_BENEF_PLAN_SALUD",
        Phi.OTHER: "OTROS_SUJETO_ASISTENCIA",
    },
    "Marimon et al. (2019), MEDDOCAN; patients' and staff's names share NOMBRE_SUJETO_ASISTENCIA",
)

GDPR = Profile(
    "gdpr",
    {label: "special" if label in (Phi.BIOMETRIC, Phi.SEX) else "identifier" for label in Phi},
    "Regulation (EU) 2016/679, articles 4(1) and 9: any category can identify",
)

HARMONISED = Profile(
    "harmonised",
    _group(
        {
            "NAME": "NAME",
            "DATE": "DATE",
            "AGE": "AGE",
            "LOCATION": "STREET CITY REGION COUNTRY ZIP LOCATION",
            "ORGANIZATION": "HOSPITAL ORGANIZATION",
            "PHONE": "PHONE FAX",
            "EMAIL": "EMAIL",
            "URL": "URL IP",
            "ID": "NATIONAL_ID MRN HEALTH_PLAN ACCOUNT LICENSE VEHICLE DEVICE BIOMETRIC ID USERNAME",
            "PROFESSION": "PROFESSION",
            "SEX": "SEX",
            "RELATIVE": "RELATIVE",
            "OTHER": "OTHER",
        }
    ),
    "ours: the coarsest categories that all corpora share, for tables across corpora",
)

PROFILES: Mapping[str, Profile] = {
    profile.name: profile for profile in (SAFE_HARBOR, I2B2_2014, I2B2_2014_FINE, MEDDOCAN, GDPR, HARMONISED)
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
    """Mapping from a corpus' or a model's labels to categories; ``None`` ignores a label on purpose.

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
                f"label {native_label!r} is not in label map {self.name!r}; "
                f"it knows {', '.join(sorted(self.labels))}; map it to a category, or to nothing to ignore it"
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
