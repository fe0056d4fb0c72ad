"""Surrogates for addresses on the net.

User names follow the names they are made of, hosts are set aside for examples.
"""

from __future__ import annotations

import re
from collections.abc import Container
from functools import lru_cache

from deid_assets.extending import Note
from deid_assets.extending.replacing import Context, Draw, fold, spelt_out
from deid_surrogates.evidence import stands_in
from deid_surrogates.locales import Locale, locale_of
from deid_surrogates.shapes import reshape
from deid_surrogates.words import is_name, reletter, rename

_DOMAINS = ("example.com", "example.net", "example.org")  # RFC 2606
_NETWORKS = ("192.0.2", "198.51.100", "203.0.113")  # RFC 5737
_PIECE = re.compile(r"[A-Z]?[^\W\d_A-Z]+|[A-Z]+|\d+")  # JaneRoe has two
_SHORTEST_NAME = 3
_INITIALS = 2  # at most, before or after a name


def email(text: str, context: Context, attempt: int = 0) -> str:
    """Return an address whose user is the surrogate of the original's, at a host for examples.

    One host for one host.
    """
    user, _, host = text.rpartition("@")
    draw = Draw(context, "email", fold(host), attempt=attempt)
    drawn = _account(user or host, context, attempt, is_word=True)
    if drawn == user:
        drawn = f"{fold(locale_of(context.note.lang).last.pick(draw))}{draw.below(90) + 10}"
    return f"{drawn}@{draw.pick(_DOMAINS)}"


def username(text: str, context: Context, attempt: int = 0) -> str:
    """Return an account name that follows the name it is made of.

    One of the same shape where it is made of none.
    """
    drawn = _account(text, context, attempt)
    return drawn if drawn != text else reshape(text, context, "USERNAME", attempt)


def url(text: str, context: Context, attempt: int = 0) -> str:
    """Return an address at a host for examples."""
    draw = Draw(context, "url", text.casefold(), attempt=attempt)
    scheme, separator, rest = text.rpartition("://")
    host = "www." if rest.lower().startswith("www.") else ""
    start = (
        f"{scheme.lower()}://" if separator and scheme.lower() in ("http", "https", "ftp") else ""
    )
    return f"{start}{host}{draw.pick(_DOMAINS)}/{draw.below(16**6):06x}"


def ip(text: str, context: Context, attempt: int = 0) -> str:
    """Return an address of a network for examples."""
    draw = Draw(context, "ip", text.casefold(), attempt=attempt)
    if ":" in text:
        return f"2001:db8::{draw.below(65_535) + 1:x}"  # RFC 3849
    return f"{draw.pick(_NETWORKS)}.{draw.below(254) + 1}"


def _account(text: str, context: Context, attempt: int, *, is_word: bool = False) -> str:
    """Return an account name with its names, initials and digits redrawn.

    Args:
        text: The account name.
        context: The note and the key.
        attempt: Another number gives another name.
        is_word: Whether unknown letters become a name, rather than letters.
    """
    return _PIECE.sub(lambda match: _piece(match[0], context, attempt, is_word=is_word), text)


def _piece(piece: str, context: Context, attempt: int, *, is_word: bool) -> str:
    if piece.isdigit():
        return reshape(piece, context, "account digits", attempt)
    parts = _split_glued(piece, context)
    if parts is None and is_word:
        return _rename(piece, context, attempt)
    if parts is None:
        return reshape(piece, context, "USERNAME", attempt)
    return "".join(_rename(part, context, attempt) for part in parts)


def _rename(part: str, context: Context, attempt: int) -> str:
    words = locale_of(context.note.lang).name_words
    if part in words.particles:
        return part
    if len(part) < _SHORTEST_NAME:
        return "".join(reletter(letter, context) for letter in part)
    drawn = rename(words.spelt_out.get(fold(part), part), context, attempt=attempt)
    plain = spelt_out(drawn) if words.spells_out else fold(drawn)
    plain = "".join(char for char in plain if char.isascii() and char.isalnum())
    if part.isupper():
        return plain.upper()
    return plain.capitalize() if part[0].isupper() else plain


def _split_glued(piece: str, context: Context) -> tuple[str, ...] | None:
    """Return the names and initials that a piece is made of.

    Names of the note go before those of the lists.
    """
    if len(piece) < _SHORTEST_NAME:
        return (piece,)
    note = context.note
    particles = locale_of(note.lang).name_words.particles
    for at in range(2, len(piece) - _SHORTEST_NAME + 1):
        if piece[:at] in particles and fold(piece[at:]) in locale_of(note.lang).surnames:
            return piece[:at], piece[at:]
    if (parts := _around_particles(piece, note, particles)) is not None:
        return parts
    if _is_named(locale_of(note.lang), piece) or _mentions(note, piece) > 1:
        # The address is part of the note: a second mention makes a piece of it a name.
        return (piece,)
    for first, last in ((piece[:at], piece[at:]) for at in range(1, len(piece))):
        long = [part for part in (first, last) if len(part) >= _SHORTEST_NAME]
        is_short = min(len(first), len(last)) <= _INITIALS
        if long and (is_short or len(long) == 2) and all(stands_in(note, part) for part in long):
            return first, last
    return _split_listed(piece, note.lang)


def _around_particles(piece: str, note: Note, particles: Container[str]) -> tuple[str, ...] | None:
    """Return initials or a first name, the particles and the surname of "jvandermeer", where the
    note has the names.
    """
    for begin in range(len(piece) - _SHORTEST_NAME - 1):
        if begin > _INITIALS and not stands_in(note, piece[:begin]):
            continue
        for end in range(begin + 2, len(piece) - _SHORTEST_NAME + 1):
            run = _particles(piece[begin:end], particles)
            if run and stands_in(note, piece[end:]):
                return (*((piece[:begin],) if begin else ()), *run, piece[end:])
    return None


def _particles(run: str, particles: Container[str]) -> tuple[str, ...]:
    """Return the particles that a run of letters is made of, none where it is not."""
    if run in particles:
        return (run,)
    splits = (
        (run[:at], _particles(run[at:], particles))
        for at in range(2, len(run) - 1)
        if run[:at] in particles
    )
    return next(((first, *rest) for first, rest in splits if rest), ())


def _mentions(note: Note, piece: str) -> int:
    return note.text.casefold().count(piece.casefold()) if stands_in(note, piece) else 0


@lru_cache(maxsize=4096)
def _split_listed(piece: str, lang: str | None) -> tuple[str, ...] | None:
    """Return two names, or initials and a name, of which the lists know the names."""
    locale = locale_of(lang)
    splits = [(piece[:at], piece[at:]) for at in range(1, len(piece))]
    for first, last in splits:
        if _is_long_name(locale, first) and _is_long_name(locale, last):
            return first, last
    for first, last in sorted(splits, key=lambda split: min(map(len, split))):
        if min(len(first), len(last)) <= _INITIALS and _is_long_name(
            locale, max(first, last, key=len)
        ):
            return first, last
    return None


def _is_long_name(locale: Locale, word: str) -> bool:
    return len(word) > _SHORTEST_NAME and _is_named(locale, word)


def _is_named(locale: Locale, word: str) -> bool:
    """Whether a word is a name, also as addresses spell it."""
    return is_name(locale, word) or fold(word) in locale.name_words.spelt_out
