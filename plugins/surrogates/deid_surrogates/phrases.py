"""Surrogates for streets and institutions: what it is stays, what it is called changes."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Literal, NamedTuple

from deid_assets.extending.replacing import ATTEMPTS, Context, Draw, case_like, fold
from deid_surrogates.evidence import Role
from deid_surrogates.locales import Locale, PhraseWords, locale_of
from deid_surrogates.shapes import reshape
from deid_surrogates.words import rename

Kind = Literal["streets", "hospitals", "organizations"]
CityMaker = Callable[[str, Context, int], str | None]
_TOKEN = re.compile(
    r"\d+(?:st|nd|rd|th)\b|\d+|[dDlL]['\u2019](?=\w)|[^\W\d_]+(?:['\u2019][^\W\d_]+)*"
)
_BREAK = re.compile(r"[\d,;:/()\n]")
_DE_VOWEL = re.compile(r"\b([dD])e (?=[AEIOUYÀÂÉÈÊÎÔ])")
_D_CONSONANT = re.compile(r"\b([dD])['\u2019](?=[BCDFGJKLMNPQRSTVWXZ])")
_FEMALE_SAINTS = frozenset(("santa", "sta", "sainte", "beata", "madonna", "virgen"))
_MALE_SAINTS = frozenset(("san", "santo", "saint", "st", "sankt", "sint", "sant", "sao", "sto"))
_ACRONYM_CHARS = 5
_SHORTEST_CITY = 3


class Drawing(NamedTuple):
    """Functions that a surrogate is drawn with.

    ``city`` gives another city for one, and ``None`` for other words; ``town`` gives one for any
    word.
    """

    context: Context
    attempt: int
    city: CityMaker
    town: CityMaker


class PhraseToken(NamedTuple):
    """A word or number of a phrase.

    ``kept``: says what it is; ``link``: between others; ``compound``: ends with what it is, from
    ``tail`` on.
    """

    start: int
    end: int
    kind: Literal["kept", "link", "compound", "number", "letter", "name"]
    tail: int = 0


@lru_cache(maxsize=8192)
def tokens_of(text: str, lang: str | None, kind: Kind) -> tuple[PhraseToken, ...]:
    """Return the words and numbers of a phrase."""
    words: PhraseWords = getattr(locale_of(lang), kind)
    return tuple(_token(match, words) for match in _TOKEN.finditer(text))


def template(text: str, context: Context, kind: Kind, attempt: int, city: CityMaker) -> str:
    """Return a name of the kind in words of its own."""
    locale, value = locale_of(context.note.lang), fold(text)
    words: PhraseWords = getattr(locale, kind)
    tokens = tokens_of(text, context.note.lang, kind)
    if (
        kind == "streets"
        and tokens
        and tokens[0].kind == "link"
        and (linked := _street_names(locale)[1])
    ):
        # Am Markt 3
        return Draw(context, kind, value, attempt=attempt).pick(linked)
    form = Draw(context, f"{kind} form", value).pick(words.templates)
    name = locale.last.pick(Draw(context, kind, value, attempt=attempt))
    stem = Draw(context, f"{kind} stem", value, attempt=attempt).pick(words.stems or (name,))
    town = city(f"{value} {kind}", context, attempt) or name
    genitive = locale.places.form_of_city.get((town, "gen"), town)
    inside = locale.places.form_of_city.get((town.capitalize(), "in"), town)
    form = form.replace("{city.gen}", genitive).replace("{city.in}", inside)
    drawn = form.format(name=name, stem=stem, city=town)
    return drawn if len(text) <= _ACRONYM_CHARS else case_like(text, drawn)


def street(text: str, context: Context, attempt: int, city: CityMaker) -> str:
    """Return another street of the same type, with another house number."""
    locale = locale_of(context.note.lang)
    tokens = tokens_of(text, context.note.lang, "streets")
    is_typed = any(token.kind in ("kept", "compound") for token in tokens)
    is_named = any(token.kind == "name" for token in tokens)
    if (is_named and not is_typed) or not _has_name(tokens):
        number = next(
            (text[token.start : token.end] for token in tokens if token.kind == "number"), None
        )
        drawn = template(text, context, "streets", attempt, city)
        return drawn if number is None else f"{drawn} {_number(number, context, attempt)}"
    parts: list[str] = []
    cursor = 0
    for start, end, drawn in _street_parts(text, tokens, locale, context, attempt):
        parts += (text[cursor:start], drawn)
        cursor = end
    return "".join((*parts, text[cursor:]))


def institution(
    text: str, context: Context, kind: Kind, attempt: int, makers: tuple[CityMaker, CityMaker]
) -> str:
    """Return another institution of the same type: its proper words are replaced, one by one.

    Args:
        text: The institution's name.
        context: The note and the key.
        kind: Which words of the pack say what it is.
        attempt: Another number gives another name.
        makers: What gives a city for one that is known, and for any word.
    """
    tokens = tokens_of(text, context.note.lang, kind)
    if len(text) <= _ACRONYM_CHARS and text.isupper() and text.isalpha():
        return _acronym(text, context, attempt)
    if not any(token.kind in ("kept", "compound") for token in tokens) or not _has_name(tokens):
        words: PhraseWords = getattr(locale_of(context.note.lang), kind)
        return template(text, context, kind, attempt, makers[1 if words.before_towns else 0])
    drawing = Drawing(context, attempt, *makers)
    parts: list[str] = []
    cursor, place = 0, 0
    while place < len(tokens):
        used, drawn = _proper(text, tokens, place, kind, drawing)
        parts += (text[cursor : tokens[place].start], drawn)
        cursor = tokens[place + used - 1].end
        place += used
    drawn = "".join((*parts, text[cursor:]))
    return _elide(drawn) if context.note.lang == "fr" else drawn.replace("'-", "-")


def _token(match: re.Match[str], words: PhraseWords) -> PhraseToken:
    start, end = match.span()
    value = fold(match[0]).rstrip("'\u2019") or match[0]
    if match[0][0].isdecimal():
        return PhraseToken(start, end, "number")
    if value in words.kinds or value in words.suffixes:
        return PhraseToken(start, end, "kept")
    if value in words.links:
        return PhraseToken(start, end, "link")
    if len(value) == 1:
        return PhraseToken(start, end, "letter")
    tail = next(
        (at for at in range(2, len(match[0]) - 1) if fold(match[0][at:]) in words.suffixes), 0
    )
    return PhraseToken(start, end, "compound" if tail else "name", tail)


def _has_name(tokens: tuple[PhraseToken, ...]) -> bool:
    return any(token.kind in ("name", "compound", "number") for token in tokens)


def _street_parts(
    text: str, tokens: tuple[PhraseToken, ...], locale: Locale, context: Context, attempt: int
) -> list[tuple[int, int, str]]:
    """Return bounds and replacements.

    A run of names and the links before and within it is one street name.
    """
    parts: list[tuple[int, int, str]] = []
    run: list[PhraseToken] = []
    for token in tokens:
        word = text[token.start : token.end]
        if run and (
            token.kind not in ("name", "link") or _BREAK.search(text, run[-1].end, token.start)
        ):
            parts += _replace_name(text, run, locale, context, attempt)
            run = []
        if token.kind == "number":
            parts.append((token.start, token.end, _number(word, context, attempt)))
        elif token.kind == "compound":
            parts.append(
                (token.start, token.end, _compound(word, token.tail, "streets", context, attempt))
            )
        elif token.kind == "letter":
            parts.append((token.start, token.end, _letter(word, context, attempt)))
        elif token.kind != "kept":
            run.append(token)
    return [*parts, *_replace_name(text, run, locale, context, attempt)]


def _replace_name(
    text: str, run: list[PhraseToken], locale: Locale, context: Context, attempt: int
) -> list[tuple[int, int, str]]:
    """Return bounds and replacement of a street's name.

    That of a person word by word, any other as a whole.
    """
    names = [token for token in run if token.kind == "name"]
    if not names:
        return []
    words = [text[token.start : token.end] for token in names]
    if (
        len(names) > 1
        and (words[0].istitle() or words[0].isupper())
        and fold(words[0]) in locale.given
    ):
        parts: list[tuple[int, int, str]] = []
        for token, word in zip(names, words, strict=True):
            role: Role = "last" if token is names[-1] else "n"
            drawn = rename(word, context, role=role, attempt=attempt)
            parts.append((token.start, token.end, drawn))
        return parts
    is_linked = any(token.kind == "link" and token.start < names[0].start for token in run)
    fitting = () if locale.streets.suffixes else _street_names(locale)[is_linked]
    start = run[0].start if is_linked and fitting else names[0].start
    original = text[start : names[-1].end]
    drawn = original
    for number in range(attempt, attempt + ATTEMPTS):
        draw = Draw(context, "street", fold(original), attempt=number)
        use_list = fitting and (is_linked or not draw.below(2))
        drawn = draw.pick(fitting) if use_list else locale.last.pick(draw)
        if fold(drawn) != fold(original):
            break
    return [(start, names[-1].end, drawn.upper() if original.isupper() else drawn)]


@cache
def _street_names(locale: Locale) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of streets that begin with a name, and those that begin with a link.

    De la Paz.
    """
    names = locale.streets.names
    linked = tuple(name for name in names if _starts_with_link(name, locale.streets))
    return tuple(name for name in names if name not in linked), linked


def _starts_with_link(name: str, words: PhraseWords) -> bool:
    first = _TOKEN.match(name)
    return (
        first is not None
        and fold(first[0]).partition("'")[0] in words.links
        and len(name) > len(first[0])
    )


def _compound(word: str, tail: int, kind: Kind, context: Context, attempt: int) -> str:
    words: PhraseWords = getattr(locale_of(context.note.lang), kind)
    stem, end = word[:tail], word[tail:]
    if fold(stem) in words.kinds or not words.stems:
        return word
    drawn = stem
    for number in range(attempt, attempt + ATTEMPTS):
        drawn = Draw(context, f"{kind} stem", fold(stem), attempt=number).pick(words.stems)
        if fold(drawn) != fold(stem):
            break
    return case_like(word, drawn + end)


def _proper(
    text: str, tokens: tuple[PhraseToken, ...], place: int, kind: Kind, drawing: Drawing
) -> tuple[int, str]:
    """Return how many tokens, from one place on, are replaced by what."""
    token = tokens[place]
    word = text[token.start : token.end]
    if token.kind != "name":
        return 1, _simple(word, token, kind, drawing)
    before = fold(text[tokens[place - 1].start : tokens[place - 1].end]) if place else ""
    if before in _FEMALE_SAINTS or before in _MALE_SAINTS:
        return 1, _saint(word, drawing, kind, is_female=before in _FEMALE_SAINTS)
    words: PhraseWords = getattr(locale_of(drawing.context.note.lang), kind)
    is_inside = before in words.before_towns
    for used in range(min(3, len(tokens) - place) if word[0].isupper() else 0, 0, -1):
        name = text[token.start : tokens[place + used - 1].end]
        drawn = (
            drawing.city(name, drawing.context, drawing.attempt)
            if len(name) > _SHORTEST_CITY
            else None
        )
        if drawn is not None and is_inside:
            drawn = drawing.town(name, drawing.context, drawing.attempt) or drawn
        if drawn is not None:
            return used, drawn
    if word.isupper() and len(word) < _ACRONYM_CHARS and not text.isupper():
        return 1, _acronym(word, drawing.context, drawing.attempt)
    town = drawing.town(word, drawing.context, drawing.attempt) if is_inside else None
    if town is not None:
        return 1, town
    return 1, rename(word, drawing.context, role="last", attempt=drawing.attempt)


def _saint(word: str, drawing: Drawing, kind: Kind, *, is_female: bool) -> str:
    """Return another saint of the same sex, in the genitive where the original is."""
    locale = locale_of(drawing.context.note.lang)
    words: PhraseWords = getattr(locale, kind)
    known = words.female_saints + words.male_saints
    lemma, form = locale.inflection.split(word, lambda name: fold(name) in map(fold, known))
    is_female = fold(lemma) in map(fold, words.female_saints) or (
        is_female and lemma not in words.male_saints
    )
    saints = words.female_saints if is_female else words.male_saints
    others = [saint for saint in saints if fold(saint) != fold(lemma)]
    if not others:
        return rename(
            word, drawing.context, role="f" if is_female else "m", attempt=drawing.attempt
        )
    drawn = Draw(drawing.context, "saint", fold(lemma), attempt=drawing.attempt).pick(others)
    return case_like(word, locale.inflection.join(drawn, form))


def _simple(word: str, token: PhraseToken, kind: Kind, drawing: Drawing) -> str:
    """Return what stands for a token that is no name."""
    if token.kind == "number":
        return _number(word, drawing.context, drawing.attempt)
    if token.kind == "letter":
        return _letter(word, drawing.context, drawing.attempt)
    if token.kind == "compound":
        return _compound(word, token.tail, kind, drawing.context, drawing.attempt)
    return word


def _letter(letter: str, context: Context, attempt: int) -> str:
    """Return another letter of a house, or initial of a street's name."""
    others = "abcdef".replace(fold(letter), "")
    return case_like(
        letter, Draw(context, "house letter", fold(letter), attempt=attempt).pick(others)
    )


def _acronym(text: str, context: Context, attempt: int) -> str:
    draw = Draw(context, "acronym", text, attempt=attempt)
    return "".join(draw.pick("ABCDEFGHKLMNPRSTV".replace(letter, "")) for letter in text)


def _number(number: str, context: Context, attempt: int) -> str:
    """Return another number of as many digits, an ordinal where it was one."""
    if not number.isdecimal():
        drawn = _number(number[:-2], context, attempt)
        return drawn + case_like(number[-2:], _ending(drawn))
    drawn = number
    for count in range(attempt, attempt + ATTEMPTS):
        drawn = reshape(number, context, "house", count)
        if drawn != number:
            break
    return drawn


def _elide(text: str) -> str:
    """Return French text with ``d'`` before vowels and ``de`` before consonants."""
    return _DE_VOWEL.sub(r"\1'", _D_CONSONANT.sub(r"\1e ", text))


def _ending(number: str) -> str:
    """Return the English ending of an ordinal number."""
    if number[-2:] in ("11", "12", "13"):
        return "th"
    return {"1": "st", "2": "nd", "3": "rd"}.get(number[-1], "th")
