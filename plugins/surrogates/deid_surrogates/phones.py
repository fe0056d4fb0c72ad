"""Telephone numbers.

Another of the same country, kind and length, in a range kept for fiction where there is one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from deid_assets.extending import Phi, languages
from deid_assets.extending.replacing import Context, Draw, digits_of, fold, split_words
from deid_surrogates.collisions import first_free

# What may stand beside a telephone number; any other word may be a name, or spell the number:
# 1-800-FLOWERS.
_WORDS = frozenset(
    split_words(
        "tel tele telf tfno tlf telefono telefon telefoon telefonnr telefonnummer telephone phone"
        " ph fax mobile movil mob mobil mobiel mobiltel cell handy pager beeper ext extn exten"
        " extension interno int x number num no nr n office home work p t f m h w c o puh puhelin"
        " gsm faksi matkapuhelin alanumero alanro anknytning ankn vx vaxel toestel tst poste"
        " portable durchwahl dw apparat cellulare cell numero numeroa nummer rufnummer telefax"
        " bip app"
    )
)
_EXTENSION = re.compile(
    r"[\s,;(]*\b(?:extensi[oó]n|extension|exten|extn|ext|x|interno|int|anknytning|ankn|toestel|tst|poste|alanumero|alanro"
    r"|durchwahl|dw|apparat|app)\b[\s.:]*(?P<digits>[0-9]{1,6})\)?\s*$"
    r"|[\s,;(]*(?<![^\W\d_])x(?P<joined>[0-9]{1,6})\)?\s*$",
    re.IGNORECASE,
)
_PLAIN = re.compile(r"[0-9\s()+./-]+", re.ASCII)
_FIXED = "fixed"
_MOBILE = "mobile"
_FICTION: Mapping[int, Mapping[str, tuple[str, ...]]] = {
    # Ofcom, Telephone numbers for drama use.
    44: {
        _MOBILE: ("7700-900xxx",),
        _FIXED: split_words(
            "20-79460xxx 113-4960xxx 114-4960xxx 115-4960xxx 116-4960xxx 117-4960xxx 118-4960xxx"
            " 121-4960xxx 131-4960xxx 141-4960xxx 151-4960xxx 161-4960xxx 191-4980xxx 1632-960xxx"
        ),
    },
    # Arcep, décision 2018-0881: numbers for audiovisual works.
    33: {
        _MOBILE: ("6-3998xxxx",),
        _FIXED: split_words("1-9900xxxx 2-6191xxxx 3-5301xxxx 4-6571xxxx 5-3649xxxx"),
    },
    # Bundesnetzagentur, Rufnummern für Film und Fernsehen.
    49: {
        _MOBILE: ("171-39200xx", "176-040690xx"),
        _FIXED: split_words("30-23125xxx 40-66969xxx 69-90009xxx 89-99998xxx 221-4710xxx"),
    },
    # Post- och telestyrelsen, telefonnummer för böcker och filmer.
    46: {
        _MOBILE: split_words(
            "70-174061x 70-174062x 70-174063x 70-174064x 70-174065x 70-174066x 70-174067x"
            " 70-174068x 70-174069x"
        ),
        _FIXED: split_words("31-39006xx 40-62804xx 8-465004xx 980-3192xx"),
    },
}
"""National numbers by calling code.

The area or network code stands before the hyphen, x is any digit.
"""
_FICTION_LINE = "55501"  # ATIS-0300115: 555-0100 to 555-0199 of every North American area
_SPAIN = 34  # 6 and 7 are mobile, 8 and 9 fixed lines
_NORTH_AMERICA, _ITALY = 1, 39  # only in Italy's plan does a national number begin with 0
_CANONICAL = "2345678"
_LINE_DIGITS = 4
_LEAD_DIGITS = 3
_MOST_LEADS, _MOST_TRIED = 100, 2000


class NumberingPlan(NamedTuple):
    """Numbering plan of a number, from its beginning and its length.

    Args:
        country: Country calling code.
        kind: ``phonenumbers.PhoneNumberType``.
        kept: Digits before the national number: exit and country codes, a trunk zero.
        size: Digits of the national number.
        area: Digits of its area or network code, 0 where it has none.
        first: What its area codes begin with, where that tells fixed and mobile lines apart.
    """

    country: int
    kind: int
    kept: int
    size: int
    area: int
    first: str = ""


def phone(text: str, context: Context, attempt: int = 0) -> str | None:
    """Return a number with the same separators, of the same country and kind, and nobody's of note
    and batch.

    ``None`` where there is no number, or a word that does not only say what the number is. A number
    that no country of the note's language has, such as a pager's, gets other digits.
    """
    if len(digits_of(text)) < 3 or not (_PLAIN.fullmatch(text) or _is_worded(text)):
        return None
    return first_free(lambda number: _phone(text, context, number), text, context, attempt)


def _is_worded(text: str) -> bool:
    """Whether all digits are those of ASCII, and all words say what the number is."""
    if any(char.isdigit() and not char.isascii() for char in text):
        return False
    return _WORDS.issuperset(re.findall(r"[^\W\d_]+", fold(text)))


def _phone(text: str, context: Context, attempt: int) -> str:
    match = None if _PLAIN.fullmatch(text) else _EXTENSION.search(text)
    split = match.start() if match and len(digits_of(text[: match.start()])) > 3 else len(text)
    main, rest = text[:split], text[split:]
    digits = digits_of(main)
    plan = _plan_of(main, digits, context.note.lang)
    # With or without the country's code, it is the same number.
    value = digits if plan is None else f"+{plan.country}{digits[plan.kept :]}"
    draw = Draw(context, "phone", value, attempt=attempt)
    drawn = (
        _redraw_digits(digits, draw)
        if plan is None
        else digits[: plan.kept] + _draw(digits, plan, draw)
    )
    if not rest:
        return _fill(main, drawn)
    tail = Draw(context, "extension", text, attempt=attempt)
    return _fill(main, drawn) + _fill(rest, _redraw_digits(digits_of(rest), tail))


def _draw(digits: str, plan: NumberingPlan, draw: Draw) -> str:
    """Return a national number of the plan's kind."""
    forms = _forms(plan)
    if forms:
        form = draw.pick(forms)
        row = iter(f"{draw.below(10 ** form.count('x')):0{form.count('x')}}")
        return "".join(next(row) if character == "x" else character for character in form)
    leads = _leads(plan)
    lead = draw.pick(leads) if leads else digits[plan.kept : plan.kept + 2]
    rest = plan.size - len(lead)
    if plan.country == _NORTH_AMERICA:
        return f"{lead}{_FICTION_LINE}{draw.below(100):02}"
    # A subscriber's number does not begin with 0 or 1 in many plans.
    return (
        f"{lead}{2 + draw.below(8)}{draw.below(10 ** (rest - 1)):0{rest - 1}}" if rest > 1 else lead
    )


def _plan_of(main: str, digits: str, lang: str | None) -> NumberingPlan | None:
    if len(digits) < 6:
        return None
    has_plus = main.lstrip(" (").startswith("+")
    return _plan(has_plus, digits[:-_LINE_DIGITS], len(digits), _regions(lang))


def _regions(lang: str | None) -> tuple[str, ...]:
    """Return the regions in which a number without a country code is looked up."""
    known = languages.find(lang or "en")
    return (known and known.phones) or ("US",)


@lru_cache(maxsize=16_384)
def _plan(has_plus: bool, lead: str, size: int, regions: tuple[str, ...]) -> NumberingPlan | None:
    """Return the plan of all numbers with this beginning; the last four digits do not matter."""
    import phonenumbers  # noqa: PLC0415 - a sixth of a second

    written = ("+" if has_plus else "") + lead + _CANONICAL[: size - len(lead)]
    for region in regions:
        try:
            number = phonenumbers.parse(written, None if has_plus else region)
        except phonenumbers.NumberParseException:
            continue
        national = phonenumbers.national_significant_number(number)
        if phonenumbers.is_valid_number(number) and written.endswith(national):
            return NumberingPlan(
                country=number.country_code or 0,
                kind=phonenumbers.number_type(number),
                kept=size - len(national),
                size=len(national),
                area=phonenumbers.length_of_national_destination_code(number),
                first=national[0] if number.country_code == _SPAIN else "",
            )
    return None


@lru_cache(maxsize=512)
def _forms(plan: NumberingPlan) -> tuple[str, ...]:
    """Return the fictional ranges of the plan's kind and length, with area codes of its length
    where there are any.
    """
    import phonenumbers  # noqa: PLC0415

    kinds = {
        phonenumbers.PhoneNumberType.MOBILE: _MOBILE,
        phonenumbers.PhoneNumberType.FIXED_LINE: _FIXED,
    }
    forms = _FICTION.get(plan.country, {}).get(kinds.get(plan.kind, ""), ())
    fitting = [form for form in forms if len(form) == plan.size + 1]
    same_area = [form for form in fitting if form.index("-") == plan.area]
    return tuple(form.replace("-", "") for form in same_area or fitting)


@lru_cache(maxsize=512)
def _leads(plan: NumberingPlan) -> tuple[str, ...]:
    """Return up to a hundred beginnings, as long as an area code at least, of valid numbers of the
    plan's kind.
    """
    import phonenumbers  # noqa: PLC0415

    width = max(plan.area, _LEAD_DIGITS if plan.size > 2 * _LEAD_DIGITS else 2)
    found: list[str] = []
    for step in range(min(10**width, _MOST_TRIED)):
        # A step that shares no factor with a power of ten visits every number, not the lowest ones
        # first.
        lead = f"{step * 397 % 10**width:0{width}}"
        if not lead.startswith(plan.first) or (lead[0] == "0" and plan.country != _ITALY):
            continue
        line = _FICTION_LINE + "23" if plan.country == _NORTH_AMERICA else _CANONICAL + "9012"
        written = lead + line[: plan.size - width]
        try:
            number = phonenumbers.parse(f"+{plan.country}{written}")
        except phonenumbers.NumberParseException:
            continue
        is_like = phonenumbers.number_type(number) == plan.kind
        if is_like and phonenumbers.length_of_national_destination_code(number) == plan.area:
            found.append(lead)
            if len(found) == _MOST_LEADS:
                break
    return tuple(found)


def _redraw_digits(digits: str, draw: Draw) -> str:
    return "".join(
        str(1 + draw.below(9) if place == 0 else draw.below(10)) for place in range(len(digits))
    )


def _fill(text: str, digits: str) -> str:
    row = iter(digits)
    return "".join([next(row) if char.isdigit() else char for char in text])


LABELS = frozenset((Phi.PHONE, Phi.FAX))
"""Categories of telephone numbers."""
