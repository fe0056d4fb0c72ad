"""Formats of hospital systems for deid-assets: FHIR R4, HL7 v2, CDA R2 and OMOP CDM 5.4."""

from deid_assets.extending.formats import Format, is_cda, is_fhir, is_omop
from deid_clinical_formats.omop_notes import read_omop

__all__ = ["CDA", "FHIR", "HL7", "OMOP", "read_omop"]

_HERE = "deid_clinical_formats"
_WHOSE = frozenset({"patient_id", "lang"})

FHIR = Format(
    "fhir",
    (".ndjson", ".json", ".jsonl"),
    f"{_HERE}.fhir",
    is_folder=False,
    keeps=_WHOSE,
    is_told=is_fhir,
    may_lack_notes=True,
    identities_module=f"{_HERE}.fhir_identities",
)
HL7 = Format(
    "hl7",
    (".hl7", ".er7"),
    f"{_HERE}.hl7",
    is_folder=False,
    keeps=_WHOSE,
    may_lack_notes=True,
    identities_module=f"{_HERE}.hl7_identities",
)
CDA = Format(
    "cda",
    (".xml", ".cda"),
    f"{_HERE}.cda",
    is_folder=True,
    keeps=_WHOSE,
    is_told=is_cda,
    identities_module=f"{_HERE}.cda_identities",
)
OMOP = Format(
    "omop",
    (".parquet", ".pq", ".omop"),
    f"{_HERE}.omop",
    is_folder=True,
    keeps=frozenset({"patient_id"}),
    writer_module=f"{_HERE}.omop_writer",
    is_told=is_omop,
    may_lack_notes=True,
    pointers=frozenset({".omop"}),
)
