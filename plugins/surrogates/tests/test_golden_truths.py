"""What is true of the golden tables, written by hand from calendars, grammars and the issuers'
rules, not from their code.

``test_golden.py`` tells that nothing changed; this page tells that it was right.
"""

from __future__ import annotations

import datetime as dt
import re
from importlib import import_module
from pathlib import Path

import pytest

from deid_assets.core.keys import Key
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.redact import Context
from deid_assets.core.span import Span
from deid_assets.policies.shift import Shift

GOLDEN = Path(__file__).parent / "golden"
LANGS = ("de", "en", "es", "fi", "fr", "it", "nl", "sv")
SHIFT = Shift(max_days=400, whole_weeks=False)
MOVED = {
    # 3 May 2021 was a Monday, and 30 days later it was Wednesday, 2 June; 2024 is a leap year, 2021
    # to 2023 are none.
    "en": (
        """
        30 | 05/03/2021 | 06/02/2021
        30 | 5/3/21 | 6/2/21
        30 | 20210503 | 20210602
        30 | 2021-05-03T10:15:00Z | 2021-06-02T10:15:00Z
        30 | Monday, May 3, 2021 | Wednesday, June 2, 2021
        30 | 03-MAY-21 | 02-JUN-21
        19 | May 3rd, 2021 | May 22nd, 2021
        20 | May 3rd, 2021 | May 23rd, 2021
        8 | May 3rd, 2021 | May 11th, 2021
        1 | the 3rd of May | the 4th of May
        7 | 3–5 May 2021 | 10–12 May 2021
        7 | May 28-31, 2021 | June 4-7, 2021
        7 | 2021-12-30 | 2022-01-06
        -7 | 2022-01-06 | 2021-12-30
        1 | February 28, 2023 | March 1, 2023
        1 | February 28, 2024 | February 29, 2024
        366 | 02/29/2020 | 03/01/2021
        7 | yesterday | [DATE]
        7 | 31 February 2020 | [DATE]
    """
    ),
    "de": (
        """
        30 | 03.05.2021 | 02.06.2021
        30 | 3.5.21 | 2.6.21
        30 | Montag, 3. Mai 2021 | Mittwoch, 2. Juni 2021
        30 | Montag, den 03.05.2021 | Mittwoch, den 02.06.2021
        7 | Mo. 3.5. | Mo. 10.5.
        1 | am dritten Mai | am vierten Mai
        7 | 28.-31.5.2021 | 4.-7.6.2021
        30 | 12.–14.3.2021 | 11.–13.4.2021
        30 | 03.05.2021 um 10:30 Uhr | 02.06.2021 um 10:30 Uhr
        366 | 29.02.2020 | 01.03.2021
        7 | gestern | [DATE]
        7 | 31.02.2020 | [DATE]
    """
    ),
    "es": (
        """
        30 | 03/05/2021 | 02/06/2021
        30 | 3 de mayo de 2021 | 2 de junio de 2021
        30 | 3 de mayo del 2021 | 2 de junio del 2021
        30 | lunes, 3 de mayo de 2021 | miércoles, 2 de junio de 2021
        7 | LUNES 3 DE MAYO DE 2021 | LUNES 10 DE MAYO DE 2021
        1 | tres de mayo de 2021 | cuatro de mayo de 2021
        7 | del 3 al 5 de mayo de 2021 | del 10 al 12 de mayo de 2021
        30 | 03/05/2021 a las 10:30 | 02/06/2021 a las 10:30
        7 | ayer | [DATE]
        7 | 31/02/2020 | [DATE]
    """
    ),
    "fi": (
        """
        30 | 3.5.2021 | 2.6.2021
        30 | 03.05.2021 | 02.06.2021
        30 | 3. toukokuuta 2021 | 2. kesäkuuta 2021
        30 | maanantaina 3.5.2021 | keskiviikkona 2.6.2021
        7 | ma 3.5. | ma 10.5.
        1 | kolmantena toukokuuta | neljäntenä toukokuuta
        7 | 3.–5.5.2021 | 10.–12.5.2021
        30 | 3.5.2021 klo 10.30 | 2.6.2021 klo 10.30
        7 | eilen | [DATE]
        7 | 31.2.2020 | [DATE]
    """
    ),
    "fr": (
        """
        30 | 03/05/2021 | 02/06/2021
        30 | 3 mai 2021 | 2 juin 2021
        30 | lundi 3 mai 2021 | mercredi 2 juin 2021
        7 | 1er janvier 2021 | 8 janvier 2021
        31 | 3 janv. 2021 | 3 févr. 2021
        1 | 30 avril 2021 | 1er mai 2021
        7 | du 3 au 5 mai 2021 | du 10 au 12 mai 2021
        30 | le 3/5/2021 à 10h30 | le 2/6/2021 à 10h30
        7 | hier | [DATE]
        7 | 31/02/2020 | [DATE]
    """
    ),
    "it": (
        """
        30 | 03/05/2021 | 02/06/2021
        30 | 3 maggio 2021 | 2 giugno 2021
        30 | lunedì 3 maggio 2021 | mercoledì 2 giugno 2021
        1 | tre maggio | quattro maggio
        1 | l'8 marzo 2020 | il 9 marzo 2020
        5 | il 3 maggio | l'8 maggio
        7 | dal 3 al 5 maggio 2021 | dal 10 al 12 maggio 2021
        30 | 03/05/2021 alle ore 10.30 | 02/06/2021 alle ore 10.30
        7 | ieri | [DATE]
        7 | 31/02/2020 | [DATE]
    """
    ),
    "nl": (
        """
        30 | 03-05-2021 | 02-06-2021
        30 | 3-5-21 | 2-6-21
        30 | maandag 3 mei 2021 | woensdag 2 juni 2021
        30 | 3 mei '21 | 2 juni '21
        1 | derde mei 2021 | vierde mei 2021
        7 | 3 t/m 5 mei | 10 t/m 12 mei
        7 | 3 tot en met 5 mei 2021 | 10 tot en met 12 mei 2021
        30 | 03-05-2021 om 10:30 uur | 02-06-2021 om 10:30 uur
        7 | gisteren | [DATE]
        7 | 31-02-2020 | [DATE]
    """
    ),
    "sv": (
        """
        30 | 2021-05-03 | 2021-06-02
        30 | 210503 | 210602
        30 | 21-05-03 | 21-06-02
        30 | 3/5 2021 | 2/6 2021
        30 | måndagen den 3 maj 2021 | onsdagen den 2 juni 2021
        1 | den 3:e maj 2021 | den 4:e maj 2021
        18 | den 3:e maj 2021 | den 21:a maj 2021
        1 | tredje maj | fjärde maj
        7 | 3–5 maj 2021 | 10–12 maj 2021
        30 | 2021-05-03 kl. 10.30 | 2021-06-02 kl. 10.30
        7 | igår | [DATE]
        7 | 2021-02-31 | [DATE]
    """
    ),
}
"""Days, a date, and the same date so many days later; or the tag, where no calendar has it."""
ROWS = [
    (lang, int(days), original, moved)
    for lang, rows in MOVED.items()
    for days, original, moved in (row.strip().split(" | ") for row in rows.strip().splitlines())
]


@pytest.mark.parametrize(("lang", "days", "original", "moved"), ROWS)
def test_a_date_moved_by_so_many_days_is_the_date_of_the_calendar(lang, days, original, moved):
    context = Context(
        Note("n", original, patient_id="p", lang=lang), Key(b"no key has a part in this test")
    )
    context.numbers[id(SHIFT)] = days

    assert SHIFT(original, Span(0, len(original), Phi.DATE), context) == moved


@pytest.mark.parametrize("lang", LANGS)
def test_every_table_of_dates_moves_by_the_two_offsets_of_its_patient(lang):
    rows = dict(
        line.split("\t", 1)
        for line in (GOLDEN / f"dates_{lang}.tsv").read_text("utf-8").splitlines()
    )
    day = dt.date(2021, 5, 3)

    assert rows[day.isoformat()] == f"{day + dt.timedelta(weeks=40)}\t{day + dt.timedelta(days=54)}"


NUMBERS = {
    # By the issuer's rules, as python-stdnum has them: which numbers are sound, and which have a
    # wrong check digit.
    "en": {
        "us.ssn": (["536-22-8726", "536228726"], []),
        "gb.nhs": (["943 476 5919"], []),
        "luhn": (["4111 1111 1111 1111"], ["4111111111111112"]),
        "iban": (["GB82 WEST 1234 5698 7654 32"], []),
    },
    "de": {
        "de.idnr": (["36 574 261 809", "36574261809"], ["36574261808"]),
        "at.vnr": (["1237 010180"], []),
        "ch.ssn": (["756.9217.0769.85"], []),
        "iban": (
            ["DE89 3704 0044 0532 0130 00", "DE89370400440532013000", "AT61 1904 3002 3457 3201"],
            [],
        ),
    },
    "es": {
        "es.dni": (["12345678Z", "12345678z"], ["12345678A"]),
        "es.nie": (["X1234567L"], []),
        "es.iban": (["ES91 2100 0418 4502 0005 1332", "ES9121000418450200051332"], []),
    },
    "fi": {
        "fi.hetu": (["131052-308T", "010100A123D"], ["131052-308U"]),
        "se.personnummer": (["880320-0016"], []),
        "iban": (["FI21 1234 5600 0007 85", "FI2112345600000785"], []),
    },
    "fr": {
        "fr.nir": (
            ["2 95 10 99 126 111 93", "295109912611193", "1 85 05 2A 004 036 46"],
            ["2 95 10 99 126 111 94"],
        ),
        "be.nn": (["85.07.30-033 28"], []),
        "iban": (["FR14 2004 1010 0505 0001 3M02 606", "FR7630006000011234567890189"], []),
    },
    "it": {
        "it.codicefiscale": (["RCCMNL83S18D969H", "RCC MNL 83S18 D969H"], ["RCCMNL83S18D969A"]),
        "iban": (["IT60X0542811101000000123456", "IT60 X054 2811 1010 0000 0123 456"], []),
    },
    "nl": {
        "nl.bsn": (["111222333", "1112.22.333"], ["111222334"]),
        "be.nn": (["85.07.30-033 28", "17.07.30-033 84"], []),
        "iban": (["NL91 ABNA 0417 1643 00", "NL91ABNA0417164300"], []),
    },
    "sv": {
        "se.personnummer": (["880320-0016", "8803200016", "19880320-0016"], ["880320-0017"]),
        "iban": (["SE45 5000 0000 0583 9825 7466"], []),
    },
}


@pytest.mark.parametrize("lang", LANGS)
def test_the_surrogate_of_a_sound_number_is_sound_and_that_of_a_wrong_one_is_wrong(lang):
    lines = (GOLDEN / f"ids_{lang}.tsv").read_text("utf-8").splitlines()[1:]
    surrogates = {
        original: surrogate for _, original, surrogate in (line.split("\t") for line in lines)
    }

    for module, (sound, wrong) in NUMBERS[lang].items():
        is_valid = import_module(f"stdnum.{module}").is_valid
        for original in (*sound, *wrong):
            surrogate = surrogates[original]
            assert [is_valid(re.sub("[ .]", "", one).upper()) for one in (original, surrogate)] == [
                original in sound
            ] * 2
            assert surrogate != original
            assert sum(a == b for a, b in zip(original, surrogate, strict=True)) < 0.75 * len(
                original
            )
