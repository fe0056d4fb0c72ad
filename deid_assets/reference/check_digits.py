"""The check characters of identifiers, each computed from the characters it protects.

Python-stdnum's where it has them.

Bodies are the capital letters and digits before the check characters, without separators. ``None``
means that the issuer leaves such a body out. A function that python-stdnum does not have names the
rule's source.
"""

from __future__ import annotations

from collections.abc import Sequence

from stdnum import ean as _ean
from stdnum import luhn as _luhn
from stdnum.at import vnr as _vnr
from stdnum.es import ccc as _ccc
from stdnum.es import dni as _dni
from stdnum.es import nie as _nie
from stdnum.fr import nir as _nir
from stdnum.gb import nhs as _nhs
from stdnum.iso7064 import mod_11_10 as _mod_11_10
from stdnum.iso7064 import mod_97_10 as _mod_97_10
from stdnum.it import codicefiscale as _codicefiscale
from stdnum.nl import bsn as _bsn
from stdnum.no import fodselsnummer as _fodselsnummer
from stdnum.pl import pesel as _pesel
from stdnum.pt import nif as _nif

_HETU_CHARACTERS = "0123456789ABCDEFHJKLMNPRSTUVWXY"
_VIN_VALUES = dict(
    zip("0123456789ABCDEFGHJKLMNPRSTUVWXYZ", "012345678912345678123457923456789", strict=True)
)
_VIN_WEIGHTS = (8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2)
_RVNR_WEIGHTS = (2, 1, 2, 5, 7, 1, 2, 1, 2, 1, 2, 1)


def luhn(body: str) -> str:
    """Return the digit of payment cards, Swedish personal and bankgiro numbers, and French RPPS."""
    return str(_luhn.calc_check_digit(body))


def npi(body: str) -> str:
    """CMS (2004): Luhn with the issuer prefix 80840."""
    return luhn("80840" + body)


def dea(body: str) -> str:
    """21 CFR 1301: two characters, then the digits in odd places and twice those in even places."""
    digits = [int(digit) for digit in body[2:]]
    return str((sum(digits[::2]) + 2 * sum(digits[1::2])) % 10)


def nhs(body: str) -> str | None:
    """Return the digit of a British NHS number; 10 is never issued."""
    rest = -_nhs.checksum(body + "0") % 11
    return None if rest == 10 else str(rest)


def dni(body: str) -> str:
    """Return the letter of a Spanish DNI or NIE."""
    return str((_nie if body[0] in "XYZ" else _dni).calc_check_digit(body))


def nass(body: str) -> str:
    """Orden of 17 January 1996 (ES): province and number modulo 97.

    A number below ten million loses its zero.
    """
    province, number = int(body[:2]), int(body[2:])
    return f"{(province * 10 ** (7 if number < 10**7 else 8) + number) % 97:02}"


def codice_fiscale(body: str) -> str:
    """Return the letter of an Italian fiscal code, which is the CIN of an Italian account too."""
    return str(_codicefiscale.calc_check_digit(body))


def nir(body: str) -> str:
    """Return the key of a French social security number."""
    return str(_nir.calc_check_digits(body))


def idnr(body: str) -> str:
    """Return the digit of a German tax number, ISO 7064 MOD 11,10."""
    return str(_mod_11_10.calc_check_digit(body))


def kvnr(body: str) -> str:
    """Section 290 SGB V (DE): the letter as two digits, weights 1 and 2, cross sums, modulo 10."""
    return _cross_sum(f"{_as_digits(body[0])}{body[1:]}", (1, 2) * 5)


def rvnr(body: str) -> str:
    """Section 4 VKVV (DE), pension insurance.

    The letter as two digits, weights, cross sums, modulo 10.
    """
    return _cross_sum(f"{body[:8]}{_as_digits(body[8])}{body[9:]}", _RVNR_WEIGHTS)


def lanr(body: str) -> str:
    """KBV, section 293 SGB V (DE), physicians: weights 4 and 9, 10 less the sum modulo 10."""
    return str(-_weigh(body, (4, 9) * 3) % 10)


def bsn(body: str) -> str | None:
    """Return the digit of a Dutch BSN; 10 is never issued."""
    rest = _bsn.checksum(body + "0")
    return None if rest == 10 else str(rest)


def niss(body: str) -> str:
    """Koninklijk Besluit of 3 April 1984 (BE): 97 less the number modulo 97, born before 2000."""
    return f"{97 - int(body) % 97:02}"


def niss_2000(body: str) -> str:
    """The same for those born from 2000 on: a 2 stands before the number."""
    return niss("2" + body)


def hetu(body: str) -> str:
    """Decree 128/2010, section 2 (FI): day, month, year and serial modulo 31.

    The century sign is left out.
    """
    return _HETU_CHARACTERS[int(body) % 31]


def svnr(body: str) -> str | None:
    """Return the digit of an Austrian insurance number: of serial and birthday, without the digit.

    10 is never issued.
    """
    digit = str(_vnr.calc_check_digit(f"{body[:3]}0{body[3:]}"))
    return None if digit == "10" else digit


def cpf(body: str) -> str:
    """Receita Federal (BR): two digits, each 11 less the weighted sum modulo 11, 0 above 9."""
    for first in (10, 11):
        rest = _weigh(body, range(first, 1, -1)) % 11
        body += "0" if rest < 2 else str(11 - rest)
    return body[-2:]


def fodselsnummer(body: str) -> str | None:
    """Return the two digits of a Norwegian birth or D number; 10 is never issued."""
    first = _fodselsnummer.calc_check_digit1(body)
    second = _fodselsnummer.calc_check_digit2(body + first[:1])
    return first + second if len(first + second) == 2 else None


def nif(body: str) -> str:
    """Return the digit of a Portuguese tax number."""
    return str(_nif.calc_check_digit(body))


def pesel(body: str) -> str:
    """Return the digit of a Polish PESEL."""
    return str(_pesel.calc_check_digit(body))


def pwz(body: str) -> str:
    """Ustawa of 5 December 1996, article 8 (PL), physicians: places as weights, modulo 11.

    The digit stands before the six others.
    """
    return str(_weigh(body, range(1, 7)) % 11)


def ean(body: str) -> str:
    """Return the digit of an EAN-13, which is that of a Swiss AHV number too."""
    return str(_ean.calc_check_digit(body))


def vin(value: str) -> str:
    """49 CFR 565.15: the ninth character of a vehicle identification number, computed with any
    character in its place.
    """
    return "0123456789X"[
        sum(
            int(_VIN_VALUES[character]) * weight
            for character, weight in zip(value, _VIN_WEIGHTS, strict=True)
        )
        % 11
    ]


def iban(country: str, account: str) -> str:
    """Return the two digits of an IBAN."""
    return str(_mod_97_10.calc_check_digits(account + country))


def own_account(country: str, account: str) -> str:
    """Return the account part of an IBAN with the country's own check digits set right, where it
    has any.

    Spain: the control digits of the CCC. France: the RIB key, modulo 97. Belgium: modulo 97. Italy:
    the letter CIN, as in the fiscal code. Registered BBAN structures: SWIFT IBAN registry.
    """
    if country == "ES" and len(account) == 20:
        return account[:8] + str(_ccc.calc_check_digits(account)) + account[10:]
    if country == "FR" and len(account) == 23 and account.isdigit():
        bank, branch, number = int(account[:5]), int(account[5:10]), int(account[10:21])
        return f"{account[:21]}{97 - (89 * bank + 15 * branch + 3 * number) % 97:02}"
    if country == "BE" and len(account) == 12:
        return f"{account[:10]}{int(account[:10]) % 97 or 97:02}"
    if country == "IT" and len(account) == 23:
        return codice_fiscale(account[1:]) + account[1:]
    return account


def is_vin(value: str) -> bool:
    """Whether seventeen characters are those of a vehicle identification number, the ninth right.

    Capital letters.
    """
    return len(value) == 17 and set(value) <= set(_VIN_VALUES) and vin(value) == value[8]


def _as_digits(letter: str) -> str:
    return f"{ord(letter) - 64:02}"


def _cross_sum(digits: str, weights: Sequence[int]) -> str:
    products = (int(digit) * weight for digit, weight in zip(digits, weights, strict=True))
    return str(sum(product // 10 + product % 10 for product in products) % 10)


def _weigh(digits: str, weights: Sequence[int]) -> int:
    return sum(int(digit) * weight for digit, weight in zip(digits, weights, strict=True))
