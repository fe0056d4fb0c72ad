"""Surrogates for names: word by word, so that "Maria Garcia" and a later "Garcia" agree."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Literal, NamedTuple

from deid_assets.extending.replacing import Context, fold
from deid_surrogates.evidence import Role, stands_as_name, title_before
from deid_surrogates.locales import Locale, locale_of
from deid_surrogates.shapes import reshape
from deid_surrogates.words import draw_name, is_name, reletter

# Letters with their combining marks; an apostrophe inside, as in O'Brien, or after an s, as in
# James' chart.
_WORD = re.compile(
    r"[^\W\d_]+(?:[\u0300-\u036f]+[^\W\d_]*|['\u2019][^\W\d_]+)*(?:(?<=[sSxXzZß])['\u2019](?!\w))?"
)
_SUFFIXES = frozenset(("jr", "sr", "jun", "sen", "ii", "iii", "iv"))
_HEADS = frozenset(
    (
        "mc",
        "mac",
        "de",
        "di",
        "da",
        "la",
        "le",
        "van",
        "fitz",
        "del",
        "san",
        "du",
        "el",
        "al",
        "o",
        "st",
    )
)
_SHORT = 3  # letters of initials without dots: JFK


class NamePart(NamedTuple):
    """A word of a name."""

    start: int
    end: int
    kind: Literal["kept", "initials", "name"]
    role: Role | None
    """Role that its place tells: ``n`` for a given name."""


def person(text: str, context: Context, attempt: int = 0, *, start: int = 0) -> str | None:
    """Return another name with the same number of words, initials, particles, case and punctuation.

    A given name becomes one of the same sex where the name, a title or a relation tells it.
    ``None`` where a name that is drawn stands in the note, for scripts whose vowel signs are no
    letters (they would stay), and for one letter alone: were only a draw of the same letter
    refused, the tag would tell the letter.

    Args:
        text: The name.
        context: The note and the key.
        attempt: Another number gives another name.
        start: Offset of the name in the note, whose text before it may hold a title.
    """
    pieces, between = parse(text, context.note.lang)
    if not between.isascii() and any(
        unicodedata.category(char).startswith("M") for char in between
    ):
        return None
    if [kind for *_, kind, _ in pieces if kind != "kept"] == ["initials"] and _is_one_letter(
        text, pieces
    ):
        return None
    locale = locale_of(context.note.lang)
    sex = _find_sex(text, pieces, locale) or title_before(context.note.text, start, locale)
    words = [text[first:last] for first, last, _, _ in pieces]
    parts: list[str] = []
    cursor = 0
    for token, (first, last, kind, place) in zip(words, pieces, strict=True):
        drawn = token
        if kind == "initials":
            drawn = draw_initials(token, context)
        elif kind == "name":
            role: Role | None = place
            if place == "n" and sex in {"f", "m"}:
                role = "f" if sex == "f" else "m"
            base, drawn = draw_name(token, context, role=role, attempt=attempt)
            if drawn in parts or base in words:
                # María del Mar is neither Nadia del Nadia nor Mar del Nadia
                base, drawn = draw_name(token, context, role=role, attempt=attempt + 1)
            if stands_as_name(context, base):
                return None
        parts += (text[cursor:first], drawn)
        cursor = last
    name = "".join((*parts, text[cursor:]))
    return _redraw_digits(name, context, attempt) if any(map(str.isdigit, between)) else name


def full_name(text: str, lang: str | None) -> str | None:
    """Return the words of a full name for comparison, whatever their order, titles and initials.

    ``None`` for fewer than two words: "Smith" and "Dr. Smith" are nobody's alone.
    """
    words = sorted(
        fold(text[piece.start : piece.end])
        for piece in parse(text, lang)[0]
        if piece.kind == "name"
    )
    return " ".join(words) if len(words) > 1 else None


def is_somebodys(name: str, context: Context) -> bool:
    """Whether a full name is one of the batch."""
    value = full_name(name, context.note.lang) if context.originals else None
    return value is not None and value in context.originals


@lru_cache(maxsize=16384)
def parse(text: str, lang: str | None) -> tuple[tuple[NamePart, ...], str]:
    """Return the words of a name, each with what becomes of it, and the characters that are in no
    word.
    """
    return _plain(text, lang) or _parse(text, lang)


def _plain(text: str, lang: str | None) -> tuple[tuple[NamePart, ...], str] | None:
    """Return the same for names and initials with blanks and perhaps a comma between them.

    Nearly every name.
    """
    last, comma, first = text.partition(",")
    words = [*last.split(" "), *first.removeprefix(" ").split(" ")] if comma else text.split(" ")
    is_upper = text.isupper()
    read = [_plain_word(word, lang, is_upper=is_upper) for word in words]
    values = [found[0] for found in read if found is not None]
    if len(values) < len(words) or (len(words) == 1 and len(values[0]) == 1):
        return None
    if len(words) == 1:
        return (NamePart(0, len(text), "name", None),), ""
    given = (
        range(last.count(" ") + 1, len(words))
        if comma
        else _find_given_places(values, locale_of(lang))
    )
    pieces: list[NamePart] = []
    start = 0
    for place, (word, (value, kind)) in enumerate(zip(words, filter(None, read), strict=True)):
        if comma and place == given.start:
            start = len(text) - len(first.removeprefix(" "))
        end = start + (len(word) if kind == "name" else len(value))
        pieces.append(NamePart(start, end, kind, "n" if place in given else "last"))
        start += len(word) + 1
    return tuple(pieces), f"{comma} "


@lru_cache(maxsize=16384)
def _plain_word(
    word: str, lang: str | None, *, is_upper: bool
) -> tuple[str, Literal["initials", "name"]] | None:
    """Return the folded name, or initial, that a word is wherever it stands.

    ``None`` where that is not sure.
    """
    token = word[0] if len(word) == 2 and word[1] == "." else word
    is_name = (len(token) > _SHORT and token.isupper()) if is_upper else token[1:].islower()
    if not token.isalpha() or not token[0].isupper() or not (len(token) == 1 or is_name):
        return None
    value, words = fold(token), locale_of(lang).name_words
    if len(value) < len(token) or value in _SUFFIXES:
        return None
    if value in words.particles or value in words.all_titles or value in words.degrees:
        return None
    return value, "initials" if len(token) == 1 else "name"


def _parse(text: str, lang: str | None) -> tuple[tuple[NamePart, ...], str]:
    locale = locale_of(lang)
    words = [
        (start, end) for match in _WORD.finditer(text) for start, end in _unglue(match, locale)
    ]
    values = [fold(text[start:end]) for start, end in words]
    kinds = [_kind(text, words, values, place, locale) for place in range(len(words))]
    names = [place for place, kind in enumerate(kinds) if kind != "kept"]
    roles = _roles(text, words, names, locale)
    if (
        names
        and names[-1]
        and kinds[names[-1] - 1] == "kept"
        and values[names[-1] - 1] in locale.name_words.particles
    ):
        # María del Carmen has two given names, Juan de los Santos one.
        is_given = locale.lang in ("es", "pt") and locale.given.get(values[names[-1]]) == "f"
        roles |= {} if is_given else {names[-1]: "family"}
    pieces = tuple(
        NamePart(*words[place], kinds[place], roles.get(place)) for place in range(len(words))
    )
    return pieces, _WORD.sub("", text)


def _unglue(match: re.Match[str], locale: Locale) -> list[tuple[int, int]]:
    """Return the bounds of a word, or of the names that are run together in it: JohnSmith."""
    word = match[0]
    if word.isupper() or word[1:].islower() or is_name(locale, word):
        return [match.span()]
    humps = [at for at in range(1, len(word)) if word[at].isupper() and word[at - 1].islower()]
    bounds = [0, *humps, len(word)]
    parts = [word[first:last] for first, last in pairwise(bounds)]
    if len(parts) < 2 or fold(parts[0]) in _HEADS or min(map(len, parts)) < 2 or "'" in word:
        return [match.span()]
    return [(match.start() + first, match.start() + last) for first, last in pairwise(bounds)]


def _kind(
    text: str, words: list[tuple[int, int]], values: list[str], place: int, locale: Locale
) -> Literal["kept", "initials", "name"]:
    (start, end), value = words[place], values[place]
    token, is_last = text[start:end], place == len(words) - 1
    # "Sisko" is a sister, and a name: what may be a name is not kept.
    is_title = (
        value in locale.name_words.all_titles
        and not is_last
        and not (token[0].isupper() and value in locale.given)
    )
    if _is_particle(text, words, values, place, locale) or is_title:
        return "kept"
    if place and (
        value in _SUFFIXES
        or (value in locale.name_words.degrees and token.isupper() and not text.isupper())
    ):
        return "kept"
    if len(token) == 1 or (len(token) <= _SHORT and _is_abbreviated(text, end, token)):
        return "initials"
    is_short = (
        len(token) <= _SHORT and token.isupper() and token.isalpha() and not is_name(locale, token)
    )
    others_shout = any(
        last - first > _SHORT and text[first:last].isupper() for first, last in words
    )
    is_alone = sum(other not in locale.name_words.all_titles for other in values) == 1
    return "initials" if is_short and not others_shout and (len(token) == 2 or is_alone) else "name"


def _is_abbreviated(text: str, end: int, token: str) -> bool:
    """Whether a short word stands for a name: JdV, or Th. in A.Th. Bakker."""
    if token[0].isupper() and token[-1].isupper() and token[1].islower():
        return True
    return (
        token[0].isupper()
        and token[1:].islower()
        and text[end : end + 1] == "."
        and end + 1 < len(text)
    )


def _is_particle(
    text: str, words: list[tuple[int, int]], values: list[str], place: int, locale: Locale
) -> bool:
    particles = locale.name_words.particles
    token = text[slice(*words[place])]
    if values[place] not in particles:
        return False
    if place == len(words) - 1:
        # Vries, Jan de
        return locale.lang != "en" and len(token) > 1 and "," in text[: words[place][0]]
    if len(token) == 1:
        return place > 0 and token.islower()
    if place > 0 or token.islower():
        return True
    # "Van Nguyen" has a given name in English; "Van der Berg" and "De la Cruz" have particles
    # everywhere.
    follower = text[slice(*words[place + 1])]
    return locale.lang != "en" or (values[place + 1] in particles and follower.islower())


def _roles(
    text: str, words: list[tuple[int, int]], names: list[int], locale: Locale
) -> dict[int, Role]:
    """Return what the place of each word tells; nothing for a single word.

    Words joined by a hyphen are one.
    """
    groups: list[list[int]] = []
    for place in names:
        is_joined = (
            groups
            and text[words[place - 1][1] : words[place][0]] == "-"
            and groups[-1][-1] == place - 1
        )
        groups = [*groups[:-1], [*groups[-1], place]] if is_joined else [*groups, [place]]
    if len(groups) < 2:
        is_given = len(names) > 1 and _is_given(text[slice(*words[names[0]])], locale)
        return dict.fromkeys(names, "n") if is_given else {}
    given = _find_given_groups(text, words, groups, locale)
    roles: dict[int, Role] = {}
    for number, group in enumerate(groups):
        role: Role = "n" if number in given else "last"
        roles |= dict.fromkeys(group, role)
    return roles


def _find_given_groups(
    text: str, words: list[tuple[int, int]], groups: list[list[int]], locale: Locale
) -> set[int]:
    comma = next(
        (n for n, group in enumerate(groups[:-1]) if _comma_after(text, words, group[-1])), None
    )
    if comma is not None:
        return set(range(comma + 1, len(groups)))
    shouted = {
        n
        for n, group in enumerate(groups)
        if text[slice(*words[group[0]])].isupper() and _size(words, group) > 1
    }
    if shouted and not text.isupper():  # DUPONT Marie
        return set(range(len(groups))) - shouted
    return set(
        _find_given_places([fold(text[slice(*words[group[0]])]) for group in groups], locale)
    )


def _find_given_places(values: list[str], locale: Locale) -> range:
    """Return which of the folded words of a name, in no special order, are given names.

    In "Bruzzone Gian Carlo" the surname stands first: the first word is no given name, and the last
    one is. A last word that is a surname too tells that only after a word that is one, and not in
    English, where surnames are given as first names.
    """
    first, last = values[0], values[-1]
    tells = last not in locale.surnames or (first in locale.surnames and locale.lang != "en")
    if first not in locale.given and last in locale.given and tells:
        after = next(
            n for n in range(len(values) - 1, 0, -1) if n == 1 or values[n - 1] not in locale.given
        )
        return range(after, len(values))
    return range(1 if locale.lang in ("es", "pt") else len(values) - 1)


def _comma_after(text: str, words: list[tuple[int, int]], place: int) -> bool:
    return "," in text[words[place][1] : words[place + 1][0]]


def _size(words: list[tuple[int, int]], group: list[int]) -> int:
    return words[group[0]][1] - words[group[0]][0]


def _is_given(word: str, locale: Locale) -> bool:
    value = fold(word)
    return value in locale.given and value not in locale.surnames


def _find_sex(text: str, pieces: tuple[NamePart, ...], locale: Locale) -> str | None:
    for piece in pieces:
        if piece.kind == "kept":
            value = fold(text[piece.start : piece.end])
            if value in locale.name_words.female_titles:
                return "f"
            if value in locale.name_words.male_titles:
                return "m"
    return None


def _is_one_letter(text: str, pieces: Sequence[NamePart]) -> bool:
    return any(
        piece.kind == "initials" and len(text[piece.start : piece.end]) == 1 for piece in pieces
    )


def draw_initials(token: str, context: Context) -> str:
    """Return other letters for initials, and for a name that is cut short."""
    if len(token) > 1 and token[1:].islower():
        return reletter(token[0], context)
    return "".join(
        reletter(letter, context) if letter.isupper() or len(token) == 1 else letter
        for letter in token
    )


def _redraw_digits(name: str, context: Context, attempt: int) -> str:
    digits = iter(reshape("".join(filter(str.isdigit, name)), context, "name digits", attempt))
    return "".join(next(digits) if char.isdigit() else char for char in name)
