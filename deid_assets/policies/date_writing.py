"""Write a date back in the form it was read in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache

from deid_assets.policies.date_forms import Roles
from deid_assets.policies.date_tokens import DateTokens, case_row, row_like
from deid_assets.policies.time_words import WORDS

LITERAL, DAY, MONTH, YEAR, WEEKDAY, SEASON, QUARTER, BESIDE = range(8)
"""Kind of a piece; the numbers are places in ``Values`` as well.

An ending or an article stands beside a day.
"""

Piece = tuple[int, Sequence[str]]
"""A literal with its text, or a part with the row of names or digits that it is looked up in."""

Values = tuple[int, int, int, int, int, int, int, int]
"""0, day, month, year, weekday, season, quarter, day again; 0 where the text has no such part."""

Writer = Callable[[Values], str]
"""Writes a date that has the values."""

_VOWEL_DAYS = (8, 11)
_PLAIN = tuple(str(number) for number in range(32))
_PADDED = tuple(f"{number:02}" for number in range(32))


def writer_of(pieces: Iterable[Piece]) -> Writer:
    """Return what writes the pieces.

    Made once per shape, so that a date costs little more than its look-ups.
    """
    between, parts = [""], list[Piece]()
    for code, row in pieces:
        if code == LITERAL:
            between[-1] += "".join(row)
        else:
            parts.append((code, row))
            between.append("")
    return {2: _writer_of_two, 3: _writer_of_three}.get(len(parts), _writer_of_any)(between, parts)


def _writer_of_two(between: Sequence[str], parts: Sequence[Piece]) -> Writer:
    (first, firsts), (second, seconds) = parts
    before, middle, after = between
    return lambda values: f"{before}{firsts[values[first]]}{middle}{seconds[values[second]]}{after}"


def _writer_of_three(between: Sequence[str], parts: Sequence[Piece]) -> Writer:
    (first, firsts), (second, seconds), (third, thirds) = parts
    before, one, two, after = between
    return lambda values: (
        f"{before}{firsts[values[first]]}{one}{seconds[values[second]]}{two}{thirds[values[third]]}{after}"
    )


def _writer_of_any(between: Sequence[str], parts: Sequence[Piece]) -> Writer:
    before, *rest = between
    followed = [(code, row, after) for (code, row), after in zip(parts, rest, strict=True)]
    return lambda values: (
        before + "".join([row[values[code]] + after for code, row, after in followed])
    )


@cache
def _years(digits: int) -> tuple[str, ...]:
    return tuple(f"{year % 10**digits:0{digits}}" for year in range(10_000))


def pieces_of(
    tokens: DateTokens, roles: Roles, lang: str, places: Iterable[int], beside: Iterable[int]
) -> tuple[Piece, ...]:
    """Return the pieces of the tokens at these places.

    Those at ``beside`` are all days and months of the text.
    """
    parts = _parts(
        tokens, roles, lang, [tokens.texts[place] for place in beside if place not in tokens.words]
    )
    return tuple(
        piece for place in places for piece in parts.get(place, ((LITERAL, tokens.texts[place]),))
    )


def _parts(
    tokens: DateTokens, roles: Roles, lang: str, numbers: Sequence[str]
) -> dict[int, Sequence[Piece]]:
    is_alone = "m" not in roles or roles["m"] in tokens.words
    rows = {
        name: _numbers(tokens.texts[roles[name]], numbers, lang, is_alone=is_alone)
        for name in ("d", "m")
        if name in roles and roles[name] not in tokens.words
    }
    parts: dict[int, Sequence[Piece]] = {}
    for name, place in roles.items():
        token = tokens.texts[place]
        if len(name) == 3:
            compact: dict[str, Piece] = {
                "y": (YEAR, _years(len(token) - 4)),
                "m": (MONTH, _PADDED),
                "d": (DAY, _PADDED),
            }
            parts[place] = [compact[part] for part in name]
        elif name == "y":
            parts[place] = [(YEAR, _years(len(token)))]
        elif name == "d":
            parts |= _day(tokens, place, lang, roles.get("m", -1), rows.get("d", _PLAIN))
        elif name == "m":
            parts |= (
                _month(tokens, place, lang)
                if place in tokens.words
                else {place: [(MONTH, rows["m"])]}
            )
        elif name == "w":
            word = tokens.words[place]
            parts[place] = [(WEEKDAY, row_like(word.weekday or word, token))]
        elif name == "z":
            parts[place] = [(SEASON, row_like(tokens.words[place], token))]
        elif name == "h":
            row = tokens.words[place].names
            parts[place] = [(SEASON, case_row(row, "XX") if token.isupper() else row)]
        elif name == "q":
            parts[place] = [(QUARTER, _PLAIN)]
            parts |= _ordinal(tokens, place, lang, QUARTER)
    return parts


def _day(
    tokens: DateTokens, place: int, lang: str, month: int, digits: Sequence[str]
) -> dict[int, Sequence[Piece]]:
    if place in tokens.words:
        return {place: [(DAY, row_like(tokens.words[place], tokens.texts[place]))]}
    ending = _ordinal(tokens, place, lang, BESIDE)
    if not ending and digits is _PLAIN and month in tokens.words:
        first = WORDS[lang].first_day
        digits = ("0", first.upper() if tokens.texts[month].isupper() else first, *_PLAIN[2:])
    return {place: [(DAY, digits)], **ending, **_article(tokens, place, lang)}


def _ordinal(tokens: DateTokens, place: int, lang: str, code: int) -> dict[int, Sequence[Piece]]:
    ending = next((at for at in (place + 1, place + 2) if tokens.kinds[at : at + 1] == "s"), None)
    if ending is None or (ending > place + 1 and tokens.kinds[place + 1] not in ":."):
        return {}
    token, row = tokens.texts[ending], _ordinal_row(lang)
    # An ending that our row does not have stays as it is.
    if token.casefold() not in row:
        return {}
    return {ending: [(code, case_row(row, "XX" if token.isupper() and token.isascii() else "x"))]}


def _article(tokens: DateTokens, place: int, lang: str) -> dict[int, Sequence[Piece]]:
    """Return the article before a day, which is another before a vowel: il 3, l'8."""
    if place < 2:
        return {}
    token = tokens.texts[place - 2]
    for whole, elided in WORDS[lang].elided.items():
        if (token.casefold(), tokens.kinds[place - 1]) in ((whole, " "), (elided[:-1], "'")):
            row = tuple(elided if day in _VOWEL_DAYS else f"{whole} " for day in range(32))
            return {
                place - 2: [(BESIDE, case_row(row, "Xx" if token[0].isupper() else "x"))],
                place - 1: [(LITERAL, "")],
            }
    return {}


@lru_cache(maxsize=len(WORDS))
def _ordinal_row(lang: str) -> tuple[str, ...]:
    ordinals = WORDS[lang].ordinals
    return ("", *ordinals) if len(ordinals) == 31 else ()


def _month(tokens: DateTokens, place: int, lang: str) -> dict[int, Sequence[Piece]]:
    token, word, calendar = tokens.texts[place], tokens.words[place], WORDS[lang]
    short = ("", *calendar.short)
    before, after = tokens.kinds[max(0, place - 2) : place], tokens.kinds[place + 1 : place + 3]
    is_either = (
        calendar.short[word.number - 1].casefold() == calendar.months[word.number - 1].casefold()
    )
    if word.names != short and not (is_either and word.names[1:] == calendar.months):
        return {place: [(MONTH, row_like(word, token))]}
    # "May" is a name and its own abbreviation: a full stop or a hyphen beside it tells which.
    is_joined = after in ("-D", "/D", "-Y", "/Y") or before in ("D-", "D/")
    if word.names != short and after[:1] != "." and not is_joined:
        return {place: [(MONTH, row_like(word, token))]}
    model = "Xx"
    if token.isupper():
        model = "XX"
    elif token.islower():
        model = "x"
    if after[:1] != "." or after[1:] in ("D", "Y"):
        return {place: [(MONTH, case_row(short, model))]}
    dotted = tuple(name and (name if name in calendar.months else f"{name}.") for name in short)
    return {place: [(MONTH, case_row(dotted, model))], place + 1: [(LITERAL, "")]}


def _numbers(token: str, numbers: Sequence[str], lang: str, *, is_alone: bool) -> Sequence[str]:
    """Return the row that a day or a month in digits is written with: 03 or 3.

    A number of two digits without a leading zero is written as those beside it are, or as the
    language has it; one that is alone, or beside a month's name, without a zero.
    """
    if token[0] == "0":
        return _PADDED
    if len(token) == 1:
        return _PLAIN
    if any(number[0] == "0" for number in numbers):
        return _PADDED
    is_plain = is_alone or not WORDS[lang].pads or any(len(number) == 1 for number in numbers)
    return _PLAIN if is_plain else _PADDED
