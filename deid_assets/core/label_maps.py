"""Label maps of public corpora. Each names the corpus' authors; the corpora are not part of this package."""

from __future__ import annotations

from collections.abc import Mapping

from deid_assets.core.errors import ConfigError
from deid_assets.core.phi import LabelMap, Phi

PHI = LabelMap("phi", {label.value: label for label in Phi})
"""The categories themselves."""

I2B2_2014 = LabelMap(
    "i2b2",
    {
        "PATIENT": Phi.NAME,
        "DOCTOR": Phi.NAME,
        "USERNAME": Phi.USERNAME,
        "PROFESSION": Phi.PROFESSION,
        "ROOM": Phi.LOCATION,
        "DEPARTMENT": Phi.LOCATION,
        "HOSPITAL": Phi.HOSPITAL,
        "ORGANIZATION": Phi.ORGANIZATION,
        "STREET": Phi.STREET,
        "CITY": Phi.CITY,
        "STATE": Phi.REGION,
        "COUNTRY": Phi.COUNTRY,
        "ZIP": Phi.ZIP,
        "LOCATION-OTHER": Phi.LOCATION,
        "AGE": Phi.AGE,
        "DATE": Phi.DATE,
        "PHONE": Phi.PHONE,
        "FAX": Phi.FAX,
        "EMAIL": Phi.EMAIL,
        "URL": Phi.URL,
        "IPADDR": Phi.IP,
        "IPADDRESS": Phi.IP,
        "SSN": Phi.NATIONAL_ID,
        "MEDICALRECORD": Phi.MRN,
        "HEALTHPLAN": Phi.HEALTH_PLAN,
        "ACCOUNT": Phi.ACCOUNT,
        "LICENSE": Phi.LICENSE,
        "VEHICLE": Phi.VEHICLE,
        "DEVICE": Phi.DEVICE,
        "BIOID": Phi.BIOMETRIC,
        "IDNUM": Phi.ID,
    },
)
"""Stubbs and Uzuner (2015): the sub-categories of i2b2 2014 track 1."""

MEDDOCAN = LabelMap(
    "meddocan",
    {
        "NOMBRE_SUJETO_ASISTENCIA": Phi.NAME,
        "NOMBRE_PERSONAL_SANITARIO": Phi.NAME,
        "EDAD_SUJETO_ASISTENCIA": Phi.AGE,
        "SEXO_SUJETO_ASISTENCIA": Phi.SEX,
        "FAMILIARES_SUJETO_ASISTENCIA": Phi.RELATIVE,
        "FECHAS": Phi.DATE,
        "PROFESION": Phi.PROFESSION,
        "HOSPITAL": Phi.HOSPITAL,
        "CENTRO_SALUD": Phi.HOSPITAL,
        "INSTITUCION": Phi.ORGANIZATION,
        "CALLE": Phi.STREET,
        "TERRITORIO": Phi.LOCATION,
        "PAIS": Phi.COUNTRY,
        "NUMERO_TELEFONO": Phi.PHONE,
        "NUMERO_FAX": Phi.FAX,
        "CORREO_ELECTRONICO": Phi.EMAIL,
        "URL_WEB": Phi.URL,
        "DIREC_PROT_INTERNET": Phi.IP,
        "ID_SUJETO_ASISTENCIA": Phi.MRN,
        "ID_CONTACTO_ASISTENCIAL": Phi.ID,
        "ID_ASEGURAMIENTO": Phi.HEALTH_PLAN,
        "ID_TITULACION_PERSONAL_SANITARIO": Phi.LICENSE,
        "ID_EMPLEO_PERSONAL_SANITARIO": Phi.USERNAME,
        "IDENTIF_VEHICULOS_NRSERIE_PLACAS": Phi.VEHICLE,
        "IDENTIF_DISPOSITIVOS_NRSERIE": Phi.DEVICE,
        "IDENTIF_BIOMETRICOS": Phi.BIOMETRIC,
        "NUMERO_BENEF_PLAN_SALUD": Phi.ACCOUNT,
        "OTROS_SUJETO_ASISTENCIA": Phi.OTHER,
    },
)
"""Marimon et al. (2019): MEDDOCAN's labels."""

GRASCCO = LabelMap(
    "grascco",
    {
        "NAME_PATIENT": Phi.NAME,
        "NAME_DOCTOR": Phi.NAME,
        "NAME_RELATIVE": Phi.NAME,
        "NAME_EXT": Phi.NAME,
        "NAME_OTHER": Phi.NAME,
        "NAME_TITLE": None,
        "NAME_USERNAME": Phi.USERNAME,
        "DATE": Phi.DATE,
        "AGE": Phi.AGE,
        "ID": Phi.ID,
        "PROFESSION": Phi.PROFESSION,
        "LOCATION_STREET": Phi.STREET,
        "LOCATION_CITY": Phi.CITY,
        "LOCATION_ZIP": Phi.ZIP,
        "LOCATION_STATE": Phi.REGION,
        "LOCATION_COUNTRY": Phi.COUNTRY,
        "LOCATION_OTHER": Phi.LOCATION,
        "LOCATION_HOSPITAL": Phi.HOSPITAL,
        "LOCATION_ORGANIZATION": Phi.ORGANIZATION,
        "CONTACT_PHONE": Phi.PHONE,
        "CONTACT_FAX": Phi.FAX,
        "CONTACT_EMAIL": Phi.EMAIL,
        "CONTACT_URL": Phi.URL,
    },
)
"""Lohr et al. (2024): GraSCCo_PHI. Titles ("Dr.") are not identifying alone."""

ASQ_PHI = LabelMap(
    "asq_phi",
    {
        "NAME": Phi.NAME,
        "DATE": Phi.DATE,
        "GEOGRAPHIC_LOCATION": Phi.LOCATION,
        "PHONE_NUMBER": Phi.PHONE,
        "FAX_NUMBER": Phi.FAX,
        "EMAIL_ADDRESS": Phi.EMAIL,
        "SOCIAL_SECURITY_NUMBER": Phi.NATIONAL_ID,
        "MEDICAL_RECORD_NUMBER": Phi.MRN,
        "HEALTH_PLAN_BENEFICIARY_NUMBER": Phi.HEALTH_PLAN,
        "ACCOUNT_NUMBER": Phi.ACCOUNT,
        "CERTIFICATE_LICENSE_NUMBER": Phi.LICENSE,
        "VEHICLE_IDENTIFIER": Phi.VEHICLE,
        "DEVICE_IDENTIFIER": Phi.DEVICE,
        "URL": Phi.URL,
        "IP_ADDRESS": Phi.IP,
        "BIOMETRIC_IDENTIFIER": Phi.BIOMETRIC,
        "UNIQUE_IDENTIFIER": Phi.ID,
    },
)
"""Weatherhead et al. (2026), ASQ-PHI. Hospitals are GEOGRAPHIC_LOCATION; ages under 90 are not PHI."""

EDS_PSEUDO = LabelMap(
    "eds_pseudo",
    {
        "NOM": Phi.NAME,
        "PRENOM": Phi.NAME,
        "DATE": Phi.DATE,
        "DATE_NAISSANCE": Phi.DATE,
        "TEL": Phi.PHONE,
        "MAIL": Phi.EMAIL,
        "ADRESSE": Phi.STREET,
        "ZIP": Phi.ZIP,
        "VILLE": Phi.CITY,
        "HOPITAL": Phi.HOSPITAL,
        "SECU": Phi.NATIONAL_ID,
        "IPP": Phi.MRN,
        "NDA": Phi.ID,
    },
)
"""Tannier et al. (2024): EDS-Pseudo's templates."""

DEDUCE = LabelMap(
    "deduce",
    {
        "persoon": Phi.NAME,
        "patient": Phi.NAME,
        "locatie": Phi.LOCATION,
        "ziekenhuis": Phi.HOSPITAL,
        "zorginstelling": Phi.HOSPITAL,
        "instelling": Phi.HOSPITAL,
        "datum": Phi.DATE,
        "leeftijd": Phi.AGE,
        "telefoonnummer": Phi.PHONE,
        "emailadres": Phi.EMAIL,
        "url": Phi.URL,
        "bsn": Phi.NATIONAL_ID,
        "id": Phi.ID,
    },
)
"""Menger et al. (2018): DEDUCE's tags."""

TURKU_NER = LabelMap(
    "turku_ner",
    {
        "PER": Phi.NAME,
        "LOC": Phi.LOCATION,
        "ORG": Phi.ORGANIZATION,
        "DATE": Phi.DATE,
        "PRO": None,
        "EVENT": None,
    },
)
"""Luoma et al. (2020): Turku NER, general Finnish. Products and events are not PHI."""

STELLA = LabelMap(
    "stella",
    {
        "person": Phi.NAME,
        "organization": Phi.ORGANIZATION,
        "address": Phi.STREET,
        "date": Phi.DATE,
        "email": Phi.EMAIL,
        "phone": Phi.PHONE,
        "id-number": Phi.ID,
        "money": None,
    },
)
"""Contract snippets in Czech, German and English of the anonymize project; sums of money are not PHI."""

PRESIDIO_RESEARCH = LabelMap(
    "presidio_research",
    {
        "PERSON": Phi.NAME,
        "STREET_ADDRESS": Phi.STREET,
        "GPE": Phi.LOCATION,
        "ORGANIZATION": Phi.ORGANIZATION,
        "CREDIT_CARD": Phi.ACCOUNT,
        "IBAN_CODE": Phi.ACCOUNT,
        "DATE_TIME": Phi.DATE,
        "PHONE_NUMBER": Phi.PHONE,
        "AGE": Phi.AGE,
        "EMAIL_ADDRESS": Phi.EMAIL,
        "ZIP_CODE": Phi.ZIP,
        "DOMAIN_NAME": Phi.URL,
        "US_SSN": Phi.NATIONAL_ID,
        "US_DRIVER_LICENSE": Phi.LICENSE,
        "IP_ADDRESS": Phi.IP,
        "TITLE": None,
        "NRP": None,
    },
)
"""Templates of presidio-research; titles and nationalities are not PHI here."""

LABEL_MAPS: Mapping[str, LabelMap] = {
    label_map.name: label_map
    for label_map in (
        PHI,
        I2B2_2014,
        MEDDOCAN,
        GRASCCO,
        ASQ_PHI,
        EDS_PSEUDO,
        DEDUCE,
        TURKU_NER,
        STELLA,
        PRESIDIO_RESEARCH,
    )
}


def label_map(name: str) -> LabelMap:
    """Return a label map by name.

    Raises:
        ConfigError: There is no such label map.
    """
    if name not in LABEL_MAPS:
        raise ConfigError(f"unknown label map {name!r}; choose one of {', '.join(sorted(LABEL_MAPS))}")
    return LABEL_MAPS[name]
