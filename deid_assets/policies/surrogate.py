"""The replacer that writes a believable other value: the same for one patient in every note, run and worker."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from deid_assets.core.phi import Phi
from deid_assets.core.redact import Context
from deid_assets.core.span import Span
from deid_assets.policies import contacts, names, places
from deid_assets.policies.dates import shifted
from deid_assets.policies.drawing import ATTEMPTS
from deid_assets.policies.shapes import identifier, phone
from deid_assets.policies.tags import Tag


@dataclass(frozen=True, slots=True)
class Surrogate:
    """A keyed surrogate in the note's language; the tag where none can be made.

    The draw depends on the key, on the patient (or the note, where its patient is not known), on the category
    and on the value, so nothing is stored. Categories without a generator, and dates that cannot be read,
    get the tag.
    """

    keyed: ClassVar[bool] = True

    def __call__(self, text: str, span: Span, context: Context) -> str:
        make = _MAKERS.get(span.label)
        if make is None:
            return Tag()(text, span, context)
        for attempt in range(ATTEMPTS):
            drawn = make(text, context, attempt)
            if drawn is None:
                break
            if drawn.casefold() != text.casefold():
                return drawn
        return Tag()(text, span, context)


_IDENTIFIERS = (
    Phi.NATIONAL_ID,
    Phi.MRN,
    Phi.HEALTH_PLAN,
    Phi.ACCOUNT,
    Phi.LICENSE,
    Phi.VEHICLE,
    Phi.DEVICE,
    Phi.BIOMETRIC,
    Phi.ID,
)
_MAKERS: Mapping[Phi, Callable[[str, Context, int], str | None]] = {
    Phi.NAME: names.person,
    Phi.USERNAME: names.username,
    Phi.DATE: lambda text, context, attempt: shifted(text, context) if attempt == 0 else None,
    Phi.PROFESSION: places.profession,
    Phi.STREET: places.street,
    Phi.CITY: places.city,
    Phi.REGION: places.region,
    Phi.COUNTRY: places.country,
    Phi.ZIP: places.postcode,
    Phi.LOCATION: places.location,
    Phi.HOSPITAL: places.hospital,
    Phi.ORGANIZATION: places.organization,
    Phi.PHONE: phone,
    Phi.FAX: phone,
    Phi.EMAIL: contacts.email,
    Phi.URL: contacts.url,
    Phi.IP: contacts.ip,
    **{label: partial(identifier, label) for label in _IDENTIFIERS},
}
