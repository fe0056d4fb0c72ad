"""Units of measure are kept in tables; words that are none, names above all, are not."""

import re

import pytest

from deid_assets.tables.units import is_unit

UNITS = """
mmol/l mmol/L mg/dL MG/DL mm[Hg] mmHg kg/m2 kg/m^2 kg/m² 10*3/uL 10^9/L x10^9/L 10E3/uL x10E3/uL
K/uL /min {score} {nominal} % mL/min/{1.73_m2} mL/min/1.73m2 Cel °C [degF] beats/min
breaths/minute U/L [iU]/L m[IU]/L uIU/mL µg/L ng/mL{FEU} g/(24.h) g/{24_h} /[HPF] /HPF /100{WBC}
cells/uL copies/mL CFU/mL mOsm/kg pH [pH] fL pg a years /a umol/L 10*12/L meq/L mEq/L [lb_av]
[in_i] {INR} kg g s ms mm/h mm/hr mL/kg/h ug/kg/min mg/mmol ug/g{creat} kU/L 10*-3 cm[H2O] m/s2
dyn.s/cm5 Gy [arb'U]/mL 1 10*3/min 1/min mg/(12.h) N.m mEq/L MEQ/L IU/L mm/HR µIU/mL day
"""
WITH_BLANKS = [
    "mm Hg",
    "mg/24 h",
    "ng/mL FEU",
    "mL/min/1.73 m2",
    "log10 copies/mL",
    "mg per day",
    "mg/24 hr",
    "U/100 mL",
    "degrees C",
    "U / L",
    "10^9 U",
]
NONE = """
Zedmarlow {Zedmarlow} mg{Ann} 555-867-5309 7000123 2021-05-03 03/14/2024 12/12/12 5.3.21
10/10/1000 10010 Lee Mary Gray Henry Newton Curie Weber Kim Ann Max Tom Amy Dan Pam Tim Eva Ida
Ray Roy Mo Al Ed Ng Yu Tu Min Day Weeks Foot m12345 . () {} 17
"""
IN_CAPITALS = "PATCH AMP CAL DAY MIN AU MO NG CAP PACK POUND Day/Pound J.Day j.day H.Pound J. U."
AGES = """
91 years|91 a|85 y|91/a|12 mo|m day 12|100 years|100y|y100|10 a|10*2 a|10*1.a|1 day|/91 days
100/F|91/F|91{score}years|100{#} y|9² years|1000 days|mg/91 a|100|1000|24 h
"""
NAMES = """
Min Day|Mo Pound|Mo Day|J. Day|T. Day|H. Pound|S. Hz|J Day|j. day|d. gram|C. Pack|F. FOOT|V Pound
Pa U|FOOT Pa|J K|Cap. Pound|Pa Min|Hz. U|U. Pa|Au Min
"""
TEXTS = ["", " ", "said Ann", "mg of Zedmarlow", "per patient", "ward 4", "17 May", "mg " * 20]


@pytest.mark.parametrize("text", [*UNITS.split(), *WITH_BLANKS])
def test_a_unit_is_kept(text):
    assert is_unit(text)


@pytest.mark.parametrize(
    "text", [*IN_CAPITALS.split(), *(one for one in re.split(r"[|\n]", AGES + NAMES) if one)]
)
def test_what_may_be_an_age_or_a_name_of_two_words_is_no_unit(text):
    assert not is_unit(text)


@pytest.mark.parametrize("text", [*NONE.split(), *TEXTS])
def test_what_may_be_a_name_a_date_or_a_number_is_no_unit(text):
    assert not is_unit(text)
