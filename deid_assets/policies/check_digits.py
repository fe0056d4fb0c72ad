"""The check characters of identifiers, each computed from the characters it protects, with the rule's source.

Bodies are the capital letters and digits before the check characters, without separators. ``None`` means that the
issuer leaves such a body out.
"""

from __future__ import annotations

from collections.abc import Sequence

_DIGITS_AND_LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_HETU_SIGNS = "0123456789ABCDEFHJKLMNPRSTUVWXY"
_DNI_LETTERS = "TRWAGMYFPDXBNJZSQVHLCKE"
# Values of digits, then of letters, in odd places; the digits' are those of the first ten letters.
_FISCAL_ODD = (
    *(1, 0, 5, 7, 9, 13, 15, 17, 19, 21),
    *(1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23),
)
_VIN_VALUES = dict(zip("0123456789ABCDEFGHJKLMNPRSTUVWXYZ", "012345678912345678123457923456789", strict=True))
_VIN_WEIGHTS = (8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2)


def luhn(body: str) -> str:
    """ISO/IEC 7812-1, annex B: payment cards; Swedish personal numbers; French RPPS."""
    doubled = (int(digit) * (2 - place % 2) for place, digit in enumerate(reversed(body)))
    return str(-sum(value // 10 + value % 10 for value in doubled) % 10)


def npi(body: str) -> str:
    """CMS (2004): Luhn with the issuer prefix 80840."""
    return luhn("80840" + body)


def dea(body: str) -> str:
    """21 CFR 1301: two signs, then the digits in odd places and twice those in even places."""
    digits = [int(digit) for digit in body[2:]]
    return str((sum(digits[::2]) + 2 * sum(digits[1::2])) % 10)


def nhs(body: str) -> str | None:
    """NHS Data Dictionary: weights 10 to 2, modulo 11; 10 is never issued."""
    rest = -_weighted(body, range(10, 1, -1)) % 11
    return None if rest == 10 else str(rest)


def dni(body: str) -> str:
    """Real Decreto 1553/2005 (ES): the number modulo 23; X, Y and Z of a NIE stand for 0, 1 and 2."""
    return _DNI_LETTERS[int(body.translate(str.maketrans("XYZ", "012"))) % 23]


def nass(body: str) -> str:
    """Orden of 17 January 1996 (ES): province and number modulo 97; a number below ten million loses its zero."""
    province, number = int(body[:2]), int(body[2:])
    return f"{(province * 10 ** (7 if number < 10**7 else 8) + number) % 97:02}"


def codice_fiscale(body: str) -> str:
    """Decreto ministeriale of 23 December 1976 (IT): odd places by table, even ones plain, modulo 26."""
    value = 0
    for place, sign in enumerate(body):
        number = _DIGITS_AND_LETTERS.index(sign)
        value += (number if number < 10 else number - 10) if place % 2 else _FISCAL_ODD[number]
    return _DIGITS_AND_LETTERS[10 + value % 26]


def nir(body: str) -> str:
    """Décret 46-1432 of 14 June 1946 (FR): 97 less the number modulo 97; 2A counts as 19 and 2B as 18."""
    return f"{97 - int(body.replace('2A', '19').replace('2B', '18')) % 97:02}"


def idnr(body: str) -> str:
    """Section 139b AO (DE), ISO 7064 MOD 11,10."""
    product = 10
    for digit in body:
        product = ((int(digit) + product) % 10 or 10) * 2 % 11
    return str((11 - product) % 10)


def kvnr(body: str) -> str:
    """Section 290 SGB V (DE): the letter as two digits, weights 1 and 2, cross sums, modulo 10."""
    digits = f"{ord(body[0]) - 64:02}{body[1:]}"
    products = (int(digit) * weight for digit, weight in zip(digits, (1, 2) * 5, strict=True))
    return str(sum(product // 10 + product % 10 for product in products) % 10)


def bsn(body: str) -> str | None:
    """Wet algemene bepalingen burgerservicenummer (NL 2007): weights 9 to 2 and -1, modulo 11."""
    rest = _weighted(body, range(9, 1, -1)) % 11
    return None if rest == 10 else str(rest)


def niss(body: str) -> str:
    """Koninklijk Besluit of 3 April 1984 (BE): 97 less the number modulo 97, born before 2000."""
    return f"{97 - int(body) % 97:02}"


def niss_2000(body: str) -> str:
    """The same for those born from 2000 on: a 2 stands before the number."""
    return niss("2" + body)


def hetu(body: str) -> str:
    """Decree 128/2010, section 2 (FI): day, month, year and serial modulo 31; the century sign is left out."""
    return _HETU_SIGNS[int(body) % 31]


def svnr(body: str) -> str | None:
    """Section 30c ASVG (AT): the serial and the birthday without the check digit, modulo 11."""
    rest = _weighted(body, (3, 7, 9, 5, 8, 4, 2, 1, 6)) % 11
    return None if rest == 10 else str(rest)


def ean(body: str) -> str:
    """GS1 General Specifications, EAN-13: the Swiss AHV number (AHVV, article 134bis)."""
    return str(-sum(int(digit) * (1, 3)[place % 2] for place, digit in enumerate(body)) % 10)


def vin(value: str) -> str:
    """49 CFR 565.15: the ninth sign of a vehicle identification number, computed with any sign in its place."""
    return "0123456789X"[
        sum(int(_VIN_VALUES[sign]) * weight for sign, weight in zip(value, _VIN_WEIGHTS, strict=True)) % 11
    ]


def iban(country: str, account: str) -> str:
    """ISO 13616: 98 less the account and the country modulo 97, letters as two digits."""
    return f"{98 - int(''.join(str(int(sign, 36)) for sign in account + country) + '00') % 97:02}"


def own_account(country: str, account: str) -> str:
    """Return the account part of an IBAN with the country's own check digits set right, where it has any.

    Spain: two digits, weights 1, 2, 4, 8, 5, 10, 9, 7, 3, 6 modulo 11. France: the RIB key, modulo 97. Belgium:
    modulo 97. Italy: the letter CIN, as in the fiscal code. Registered BBAN structures: SWIFT IBAN registry.
    """
    if country == "ES" and len(account) == 20:
        first, second = _spanish_control("00" + account[:8]), _spanish_control(account[10:])
        return account[:8] + first + second + account[10:]
    if country == "FR" and len(account) == 23 and account.isdigit():
        bank, branch, number = int(account[:5]), int(account[5:10]), int(account[10:21])
        return f"{account[:21]}{97 - (89 * bank + 15 * branch + 3 * number) % 97:02}"
    if country == "BE" and len(account) == 12:
        return f"{account[:10]}{int(account[:10]) % 97 or 97:02}"
    if country == "IT" and len(account) == 23:
        return codice_fiscale(account[1:]) + account[1:]
    return account


def _spanish_control(digits: str) -> str:
    rest = 11 - _weighted(digits, (1, 2, 4, 8, 5, 10, 9, 7, 3, 6)) % 11
    return str({11: 0, 10: 1}.get(rest, rest))


def _weighted(digits: str, weights: Sequence[int]) -> int:
    return sum(int(digit) * weight for digit, weight in zip(digits, weights, strict=True))
