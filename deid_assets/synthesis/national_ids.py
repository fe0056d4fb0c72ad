"""National and health identifiers with the check digits their issuers define; each names its source."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random


def nl_bsn(rng: Random) -> str:
    """Return a Dutch BSN that begins with 9, a range not issued; weights 9 to 2 and -1, modulo 11 (Wet algemene bepalingen BSN, 2007)."""
    while True:
        body = "9" + "".join(rng.choice("0123456789") for _ in range(7))
        check = sum(int(digit) * weight for digit, weight in zip(body, range(9, 1, -1), strict=True)) % 11
        if check < 10:
            return f"{body}{check}"


def be_niss(rng: Random) -> str:
    """Return a Belgian national number of someone born before 2000; 97 less the rest modulo 97 (KB 3 April 1984)."""
    body = f"{rng.randint(30, 99):02d}{rng.randint(1, 12):02d}{rng.randint(1, 28):02d}{rng.randint(1, 997):03d}"
    check = 97 - int(body) % 97
    return f"{body[:2]}.{body[2:4]}.{body[4:6]}-{body[6:]}.{check:02d}"


def nl_iban(rng: Random) -> str:
    """Return a Dutch IBAN of a bank that does not exist (ISO 13616)."""
    account = "".join(rng.choice("0123456789") for _ in range(10))
    check = 98 - int("11102320" + account + "232100") % 97
    return f"NL{check:02d} BANK {account[:4]} {account[4:8]} {account[8:]}"


def be_iban(rng: Random) -> str:
    """Return a Belgian IBAN; the account ends in its rest modulo 97 (ISO 13616)."""
    body = "001" + "".join(rng.choice("0123456789") for _ in range(7))
    account = f"{body}{int(body) % 97 or 97:02d}"
    check = 98 - int(account + "111400") % 97
    return f"BE{check:02d} {account[:4]} {account[4:8]} {account[8:]}"


_IT_SIGNS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_IT_ODD = (
    1,
    0,
    5,
    7,
    9,
    13,
    15,
    17,
    19,
    21,
    *(1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16),
    10,
    22,
    25,
    24,
    23,
)
"""Values of signs in odd places of an Italian fiscal code, digits then letters (Decreto ministeriale 23 December 1976)."""


def _it_letter(body: str) -> str:
    """The control letter: values by table in odd places, plain in even ones, modulo 26."""
    values = 0
    for at, sign in enumerate(body):
        place = _IT_SIGNS.index(sign)
        values += (place if place < 10 else place - 10) if at % 2 else _IT_ODD[place]
    return chr(ord("A") + values % 26)


def it_codice_fiscale(rng: Random) -> str:
    """Return an Italian fiscal code with its control letter (Decreto ministeriale 23 December 1976)."""
    name = "".join(rng.choice("BCDFGLMNPRSTVZ") for _ in range(6))
    day = rng.randint(1, 28) + rng.choice((0, 40))
    town = rng.choice(("A271", "A662", "A944", "C351", "D612", "D969", "F205", "F839", "H501", "L219", "L736", "L781"))
    body = f"{name}{rng.randint(20, 99):02d}{rng.choice('ABCDEHLMPRST')}{day:02d}{town}"
    return body + _it_letter(body)


def it_iban(rng: Random) -> str:
    """Return an Italian IBAN of a bank that does not exist; the account has its control letter (ISO 13616, ABI)."""
    account = "".join(rng.choice("0123456789") for _ in range(20))
    bank = "99999" + account[:5] + "00" + account[5:15]
    body = _it_letter(bank) + bank
    check = 98 - int("".join(str(int(sign, 36)) for sign in body + "IT") + "00") % 97
    return (
        f"IT{check:02d} {body[:1]} {body[1:6]} {body[6:11]} {body[11:]}"
        if rng.random() < 0.3
        else f"IT{check:02d}{body}"
    )


def se_personnummer(rng: Random) -> str:
    """Return a Swedish personnummer with its century and Luhn digit (Folkbokföringslag 1991:481, section 18)."""
    body = f"{rng.randint(1925, 2012)}{rng.randint(1, 12):02d}{rng.randint(1, 28):02d}{rng.randint(0, 999):03d}"
    return f"{body[:8]}-{body[8:]}{_luhn(body[2:])}"


def se_personnummer_short(rng: Random) -> str:
    """Return a Swedish personnummer in ten digits."""
    return se_personnummer(rng)[2:]


def se_bankgiro(rng: Random) -> str:
    """Return a Swedish bankgiro number, seven or eight digits, the last by Luhn (Bankgirot)."""
    body = str(rng.randint(100_000, 9_999_999))
    return f"{body[:-3]}-{body[-3:]}{_luhn(body)}"


def _luhn(digits: str) -> int:
    doubled = (int(digit) * 2 for digit in digits[::-2])
    return -(sum(value - 9 if value > 9 else value for value in doubled) + sum(map(int, digits[-2::-2]))) % 10


def fi_hetu(rng: Random) -> str:
    """Return a Finnish personal identity code; control sign by modulo 31 (Decree 128/2010, section 2)."""
    birth = f"{rng.randint(1, 28):02d}{rng.randint(1, 12):02d}{rng.randint(25, 99):02d}"
    number = f"{rng.randint(2, 899):03d}"
    return f"{birth}-{number}{'0123456789ABCDEFHJKLMNPRSTUVWXY'[int(birth + number) % 31]}"


def _digits(rng: Random, count: int) -> str:
    return "".join(rng.choice("0123456789") for _ in range(count))


def _cross_sums(digits: str, weights: tuple[int, ...]) -> int:
    """The digits of all products, added up."""
    products = (str(int(digit) * weight) for digit, weight in zip(digits, weights, strict=True))
    return sum(int(digit) for product in products for digit in product)


def de_kvnr(rng: Random) -> str:
    """Return a German health insurance number: a letter, eight digits, a check digit (GKV-Spitzenverband, section 290 SGB V)."""
    letter, body = rng.choice("ABCDEFGHKLMNPRSTUVWXYZ"), _digits(rng, 8)
    check = _cross_sums(f"{ord(letter) - 64:02d}{body}", (1, 2) * 5) % 10
    return f"{letter}{body}{check}"


def de_idnr(rng: Random) -> str:
    """Return a German tax number of eleven digits: one of the first ten stands twice (section 139b AO, ISO 7064 MOD 11,10)."""
    signs = rng.sample("0123456789", 9)
    if signs[0] == "0":
        signs[0], signs[1] = signs[1], signs[0]
    body = "".join(signs) + rng.choice(signs[:7])
    product = 10
    for digit in body:
        product = ((int(digit) + product) % 10 or 10) * 2 % 11
    number = f"{body}{(11 - product) % 10}"
    return f"{number[:2]} {number[2:5]} {number[5:8]} {number[8:]}" if rng.random() < 0.7 else number


def de_lanr(rng: Random) -> str:
    """Return a German physician's number: six digits, a check digit by weights 4 and 9, a specialty (KBV, section 293 SGB V)."""
    body = str(rng.randint(100_000, 999_999))
    total = sum(int(digit) * weight for digit, weight in zip(body, (4, 9) * 3, strict=True))
    return f"{body}{-total % 10}{rng.randint(1, 68):02d}"


def de_iban(rng: Random) -> str:
    """Return a German IBAN of a bank code that is not given out (ISO 13616)."""
    body = "99999999" + _digits(rng, 10)
    check = 98 - int(body + "131400") % 97
    return f"DE{check:02d} {body[:4]} {body[4:8]} {body[8:12]} {body[12:16]} {body[16:]}"


def at_svnr(rng: Random) -> str:
    """Return an Austrian insurance number: three digits, a check digit modulo 11, the birthday (section 30c ASVG)."""
    birth = f"{rng.randint(1, 28):02d}{rng.randint(1, 12):02d}{rng.randint(25, 99):02d}"
    while True:
        serial = str(rng.randint(100, 999))
        weights = (3, 7, 9, 5, 8, 4, 2, 1, 6)
        check = sum(int(digit) * weight for digit, weight in zip(serial + birth, weights, strict=True)) % 11
        if check < 10:
            return f"{serial}{check} {birth}" if rng.random() < 0.7 else f"{serial}{check}{birth}"


def ch_ahv(rng: Random) -> str:
    """Return a Swiss AHV number with the check digit of EAN-13 (AHVV, article 134bis)."""
    body = "756" + _digits(rng, 9)
    check = -sum(int(digit) * (1, 3)[at % 2] for at, digit in enumerate(body)) % 10
    return f"756.{body[3:7]}.{body[7:11]}.{body[11]}{check}"


def fr_nir(rng: Random) -> str:
    """Return a French social security number with its key, 97 less the rest modulo 97 (decree 46-1432 of 14 June 1946)."""
    body = f"{rng.randint(1, 2)}{rng.randint(25, 99):02d}{rng.randint(1, 12):02d}{rng.randint(1, 95):02d}"
    body = body[:5] + ("21" if body[5:] == "20" else body[5:]) + f"{rng.randint(1, 699):03d}{rng.randint(1, 499):03d}"
    key = f"{97 - int(body) % 97:02d}"
    spaced = f"{body[0]} {body[1:3]} {body[3:5]} {body[5:7]} {body[7:10]} {body[10:]} {key}"
    return spaced if rng.random() < 0.6 else body + key


def fr_rpps(rng: Random) -> str:
    """Return a French professional's number, RPPS: eleven digits that begin with 10, the last by Luhn (ANS)."""
    body = "10" + _digits(rng, 8)
    return f"{body}{_luhn(body)}"


def fr_iban(rng: Random) -> str:
    """Return a French IBAN of a bank that does not exist; its account has the key of the RIB (ISO 13616, CFONB)."""
    body = f"99999{_digits(rng, 5)}{_digits(rng, 11)}"
    bank, branch, account = int(body[:5]), int(body[5:10]), int(body[10:])
    bban = f"{body}{97 - (89 * bank + 15 * branch + 3 * account) % 97:02d}"
    check = 98 - int(bban + "152700") % 97
    iban = f"FR{check:02d}{bban}"
    return " ".join(iban[start : start + 4] for start in range(0, len(iban), 4))


NATIONAL: Mapping[str, Callable[[Random], str]] = {
    "at_svnr": at_svnr,
    "ch_ahv": ch_ahv,
    "de_iban": de_iban,
    "de_idnr": de_idnr,
    "de_kvnr": de_kvnr,
    "de_lanr": de_lanr,
    "be_iban": be_iban,
    "fr_iban": fr_iban,
    "fr_nir": fr_nir,
    "fr_rpps": fr_rpps,
    "be_niss": be_niss,
    "it_codice_fiscale": it_codice_fiscale,
    "it_iban": it_iban,
    "nl_bsn": nl_bsn,
    "nl_iban": nl_iban,
    "fi_hetu": fi_hetu,
    "se_bankgiro": se_bankgiro,
    "se_personnummer": se_personnummer,
    "se_personnummer_short": se_personnummer_short,
}
"""Generators a grammar may call as ``{valid NAME}``; names begin with the country, ``it_codice_fiscale``."""
