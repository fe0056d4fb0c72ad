"""Words of a name: read with a locale pack, and replaced by patient and word."""

from __future__ import annotations

from functools import lru_cache
from string import ascii_lowercase

from deid_assets.extending.replacing import ATTEMPTS, Context, Draw, Key, case_like, fold, owner_of
from deid_surrogates.evidence import Role, role_in, stands_in
from deid_surrogates.locales import Locale, Pool, locale_of

_BYTES = 4  # of the number that chooses a letter


def is_name(locale: Locale, word: str) -> bool:
    """Whether the word is a given name or a surname of the pack's lists."""
    value = fold(word)
    return value in locale.given or value in locale.surnames or value in locale.name_words.nicknames


@lru_cache(maxsize=16384)
def _read(lang: str | None, word: str) -> tuple[str, str, str, Role | None]:
    """Return the folded base form, the form, the full form of a nickname, and the role, which lists
    may not tell.
    """
    locale = locale_of(lang)
    lemma, form = locale.inflection.split(word, lambda base: is_name(locale, base))
    value = fold(lemma)
    full = locale.name_words.nicknames.get(value, value)
    sex, is_surname = locale.given.get(full) or locale.given.get(value), value in locale.surnames
    role = None if (sex is None) is not is_surname else sex or "last"
    return value, form, full, role


def rename(word: str, context: Context, *, role: Role | None = None, attempt: int = 0) -> str:
    """Return another name in the form, case and role of a word; see ``draw_name``."""
    return draw_name(word, context, role=role, attempt=attempt)[1]


def draw_name(
    word: str, context: Context, *, role: Role | None = None, attempt: int = 0
) -> tuple[str, str]:
    """Return another name, as the lists have it, and in the form, case and role of a word.

    The draw is by patient and base form, so that every mention agrees in every note; its first
    letter is the one that ``reletter`` draws, so that initials agree too, and may be the
    original's. It never is the word's own base form. Whether it stands in the note is for the
    caller to see.

    Args:
        word: One word, with its ending.
        context: The note and the key.
        role: What its place within the name tells, for words that lists do not settle.
        attempt: Another number gives another row of draws.
    """
    lang = context.note.lang
    locale = locale_of(lang)
    value, form, full, settled = _read(lang, word)
    if settled is None and not form and value not in locale.surnames and value not in locale.given:
        lemma, form = locale.inflection.split(
            word, lambda base: is_name(locale, base) or stands_in(context.note, base)
        )
        value = full = fold(lemma)
    found = (
        "last" if role == "family" else settled or role_in(context.note, locale, word, value, role)
    )
    drawn = base = _draw(context, full, found, attempt)
    if full != value and not form:
        drawn = locale.name_words.short_forms.get(fold(drawn), drawn)
    return base, case_like(word, locale.inflection.join(drawn, form))


def reletter(letter: str, context: Context) -> str:
    """Return the initial of every surrogate of the patient for a name with this initial, drawn
    whatever it is.

    It may be the same: were it never, releases under several keys would leave one letter over.
    """
    return case_like(
        letter, _initial(context.key, owner_of(context), context.note.lang, fold(letter)[:1])
    )


@lru_cache(maxsize=16384)
def _initial(key: Key, owner: str, lang: str | None, value: str) -> str:
    place = ord(value) - ord("a") if value else -1
    if not 0 <= place < len(ascii_lowercase):
        return locale_of(lang).initials.pick(Draw.of(key, owner, "initial", value))
    number = int.from_bytes(_letters(key, owner)[place * _BYTES : (place + 1) * _BYTES])
    return locale_of(lang).initials.nth(number)


@lru_cache(maxsize=1024)
def _letters(key: Key, owner: str) -> bytes:
    """Return bytes that choose an owner's surrogate for every letter: one draw for all of them."""
    return Draw.of(key, owner, "initials", "").stream(len(ascii_lowercase) * _BYTES)


def _draw(context: Context, value: str, role: Role, attempt: int) -> str:
    owner, lang = owner_of(context), context.note.lang
    for number in range(attempt, attempt + ATTEMPTS):
        drawn = _candidate(context.key, owner, lang, (role, value, number))
        if drawn[0].casefold() != value[0] or fold(drawn) != value:
            return drawn
    return next(name for name in _pool(locale_of(lang), role).names if fold(name) != value)


@lru_cache(maxsize=16384)
def _candidate(key: Key, owner: str, lang: str | None, wanted: tuple[Role, str, int]) -> str:
    """Return the name that one attempt draws for an owner's role and value."""
    role, value, number = wanted
    pool = _pool(locale_of(lang), role)
    return pool.starting(_initial(key, owner, lang, value[0])).pick(
        Draw.of(key, owner, "name", value, attempt=number)
    )


def _pool(locale: Locale, role: Role) -> Pool:
    if role == "last":
        return locale.last
    if role == "f":
        return locale.female
    return locale.male if role == "m" else locale.neutral
