"""The replacer that writes a keyed hash: values can be distinguished and linked, and not read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from deid_assets.core.redact import Context
from deid_assets.core.span import Span
from deid_assets.policies.drawing import owner_of, require_patient
from deid_assets.policies.tags import unlike

HEX_DIGITS = 12


@dataclass(frozen=True, slots=True)
class Hash:
    """``[NAME:9f3a…]``: HMAC-SHA256 over category, patient and value, cut short.

    One value of one patient has one hash in every note, run and worker, whatever its case and
    spacing; another patient's has another. Without a patient id the note counts as the patient.

    Args:
        hex_digits: Length of the hash, 8 to 64; with 12, two of a million values agree with a
            chance of 0.2 %.
        require_patient: Refuse a note without a patient id.
    """

    hex_digits: int = HEX_DIGITS
    require_patient: bool = False
    keyed: ClassVar[str] = "hashes"

    def __call__(self, text: str, span: Span, context: Context) -> str:
        if self.require_patient:
            require_patient(context, "hash")
        value = " ".join(text.casefold().split())
        code = context.key.derive("hash", span.label.value, owner_of(context), value).hex()
        return unlike(text, f"[{span.label}:{code[: self.hex_digits]}]")
