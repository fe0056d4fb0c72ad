"""The replacer that writes a believable other value: the same for one patient in every note, run and worker."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar, Literal

from deid_assets.core.errors import PolicyError
from deid_assets.core.phi import Phi
from deid_assets.core.redact import Context, Policy
from deid_assets.core.span import Span
from deid_assets.policies import contacts, names, places
from deid_assets.policies.dates import shifted
from deid_assets.policies.drawing import ATTEMPTS
from deid_assets.policies.fallbacks import fall_back
from deid_assets.policies.locales import check_languages, languages, locale_of, versions
from deid_assets.policies.shapes import identifier, phone


@dataclass(frozen=True, slots=True)
class Surrogate:
    """A keyed surrogate in the note's language; the tag where none can be made.

    The draw depends on the key, on the patient (or the note, where its patient is not known), on the category
    and on the value, so nothing is stored. Categories without a generator, and values that cannot be read,
    get the tag.

    Args:
        other_languages: What becomes of a note whose language has no locale pack: ``stop`` raises, ``tag`` writes tags.
        packs: Locale packs of plugins with their versions, for the policy's digest.
    """

    other_languages: Literal["stop", "tag"] = "stop"
    packs: tuple[str, ...] = field(default_factory=versions)
    keyed: ClassVar[bool] = True

    def __call__(self, text: str, span: Span, context: Context) -> str:
        make = _MAKERS.get(span.label)
        if make is None or not self._has_pack(context, span):
            return fall_back(text, span, context)
        if span.label in _PLACED:
            make = partial(make, start=span.start)
        for attempt in range(ATTEMPTS):
            drawn = make(text, context, attempt)
            if drawn is None:
                break
            if drawn.casefold() != text.casefold() and not self._is_anothers(drawn, span, context):
                return drawn
        return fall_back(text, span, context)

    @staticmethod
    def _is_anothers(drawn: str, span: Span, context: Context) -> bool:
        # Identifiers and phones see to it themselves; a city or a profession is nobody's alone.
        return span.label in _PERSONAL and drawn in context.originals

    def _has_pack(self, context: Context, span: Span) -> bool:
        lang = context.note.lang
        if lang is None or span.label not in _WORDED:
            return True
        if self.other_languages == "tag":
            return lang in languages()
        try:
            locale_of(lang)
        except PolicyError as error:
            raise PolicyError(f"note {context.note.note_id!r}: {error}") from None
        return True


def require_packs(policy: Policy, langs: Iterable[str | None]) -> None:
    """Refuse a policy whose surrogates some language has no locale pack for; before any note is read.

    Raises:
        PolicyError: The policy writes surrogates, does not tag other languages, and one of the languages has no pack.
    """
    used = (policy.default, *policy.actions.values())
    if any(isinstance(replacer, Surrogate) and replacer.other_languages == "stop" for replacer in used):
        check_languages(langs)


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
_MAKERS: Mapping[Phi, Callable[..., str | None]] = {
    Phi.NAME: names.person,
    Phi.USERNAME: contacts.username,
    Phi.DATE: lambda text, context, attempt: shifted(text, context) if attempt == 0 else None,
    Phi.PROFESSION: places.profession,
    Phi.RELATIVE: places.relative,
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
_PLACED = frozenset((Phi.NAME, Phi.CITY, Phi.REGION, Phi.ZIP))
"""Categories whose surrogate follows from what stands beside the value."""
_PERSONAL = frozenset((Phi.NAME, Phi.USERNAME, Phi.EMAIL))
_WORDED = frozenset(_MAKERS) - {Phi.DATE, Phi.PHONE, Phi.FAX, Phi.URL, Phi.IP, *_IDENTIFIERS}
"""Categories whose surrogates are words of a language."""
