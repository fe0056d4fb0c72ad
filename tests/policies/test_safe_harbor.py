"""Years, ages, postal areas and states under Safe Harbor: what may stay and what must not."""

from __future__ import annotations

import csv
import os
from collections import Counter
from pathlib import Path

import pytest

from deid_assets.core.phi import Phi
from deid_assets.policies import load_policy
from deid_assets.policies.safe_harbor import (
    LOW_POPULATION_2000,
    LOW_POPULATION_2020,
    NO_RESIDENTS_2020,
    YearOnly,
)


@pytest.mark.parametrize(
    ("lang", "text", "expected"),
    [
        ("en", "05/03/2021", "2021"),
        ("en", "May 3rd, 2021 at 10:30", "2021"),
        ("en", "2021", "2021"),
        ("en", "3/5/98", "1998"),
        ("es", "3 de mayo de 2021", "2021"),
        ("es", "sep-04", "2004"),
        ("de", "21.06.67", "1967"),
        ("en", "20210503", "2021"),
        # No year, two years, no date, or a year that could show an age over 89.
        ("en", "May 3", "[DATE]"),
        ("en", "5/3", "[DATE]"),
        ("en", "2019-2020", "[DATE]"),
        ("en", "last Monday", "[DATE]"),
        ("en", "31/31/98", "[DATE]"),
        ("en", "March 1931", "[DATE]"),
        ("en", "1899", "[DATE]"),
        ("en", "3/5/31", "[DATE]"),
    ],
)
def test_a_date_keeps_its_year_only(redacted, lang, text, expected):
    assert redacted(f"<DATE>{text}</DATE>", "safe_harbor", lang=lang) == expected


def test_the_oldest_year_is_an_option(redacted, tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('name = "mine"\n[actions]\nDATE = { action = "year_only", oldest_year = 1950 }')

    assert redacted("<DATE>1949</DATE> <DATE>1950</DATE>", load_policy(path)) == "[DATE] 1950"


def test_without_the_option_someone_of_89_is_the_oldest_shown():
    from datetime import UTC, datetime

    assert YearOnly().oldest_year == datetime.now(tz=UTC).year - 89


@pytest.mark.parametrize(
    "text",
    [
        "45",
        "89",
        "89 years",
        "45-year-old",
        "4 y.o.",
        "94 days",
        "99 months",
        "late 70s",
        "forty-five",
        "nineteen",
        "64 años",
        "64  Años",
        "cuarenta y cinco años",
        "diecinueve",
        "99 meses",
        "2 años y 95 días",
        "recién nacida",
        "un mes y medio",
        "82 Jahre",
        "1.5 years",
        "9 1/2",
        "8-9 years",
        "9-10",
        "9 years 2 months",
    ],
)
def test_an_age_up_to_89_stays(redacted, text):
    assert redacted(f"<AGE>{text}</AGE>", "safe_harbor") == text


@pytest.mark.parametrize(
    "text",
    [
        "90",
        "101",
        "92-year-old",
        "90s",
        "in his 90's",
        "ninety",
        "Ninety-Two years",
        "nineties",
        "nonagenarian",
        "one hundred",
        "centenarian",
        "94 años",
        "noventa y dos años",
        "cien años",
        "nonagenaria",
        "neunzig",
        "quatre-vingt-douze ans",
        "\uff19\uff12",
        "1931",
        "99 and 3 months",
    ],
)
def test_an_age_over_89_is_pooled(redacted, text):
    assert redacted(f"<AGE>{text}</AGE>", "safe_harbor") == "90+"


@pytest.mark.parametrize(
    "text",
    [
        "over 89",
        "octogenarian plus",
        "9O",
        "XCII",
        "девяносто",
        "九十二",
        "???",
        "vier",
        # Digits one by one, which may be one number.
        "9 2 yo",
        "9-2",
        "9\n2",
        "nine two",
        "nueve dos",
        "1 0 2",
        "one oh two",
    ],
)
def test_an_age_that_cannot_be_read_is_tagged(redacted, text):
    assert redacted(f"<AGE>{text}</AGE>", "safe_harbor") == "[AGE]"


@pytest.mark.parametrize(
    ("lang", "text", "expected"),
    [
        ("en", "02139", "021XX"),
        ("en", "02139-4307", "021XX"),
        ("en", "021394307", "021XX"),
        ("en", "03601", "000XX"),
        ("en", "89301", "000XX"),
        ("en", "06390", "000XX"),
        ("en", "SW1A 1AA", "[ZIP]"),
        ("en", "05501", "000XX"),
        ("en", "0213", "[ZIP]"),
        ("es", "28905", "[ZIP]"),
        (None, "02139", "[ZIP]"),
    ],
)
def test_a_us_code_keeps_three_digits_unless_few_people_live_there(redacted, lang, text, expected):
    assert redacted(f"<ZIP>{text}</ZIP>", "safe_harbor", lang=lang) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("MA", "MA"),
        ("Massachusetts", "Massachusetts"),
        ("new york", "new york"),
        ("Puerto Rico", "Puerto Rico"),
        ("Bavaria", "[REGION]"),
        ("Vizcaya", "[REGION]"),
        ("XX", "[REGION]"),
        ("in", "[REGION]"),
    ],
)
def test_only_states_of_the_us_stay(redacted, text, expected):
    assert redacted(f"<REGION>{text}</REGION>", "safe_harbor") == expected


@pytest.mark.parametrize(
    "label", sorted(set(Phi) - {Phi.AGE, Phi.DATE, Phi.REGION, Phi.ZIP, Phi.COUNTRY, Phi.SEX})
)
def test_every_other_identifier_is_tagged(redacted, label):
    assert redacted(f"<{label}>Massachusetts 2021</{label}>", "safe_harbor") == f"[{label}]"


def test_the_list_of_small_areas_is_the_census_of_2020_as_well_as_2000():
    folder = os.environ.get("DEID_CORPORA")
    if not folder:
        pytest.skip("DEID_CORPORA is not set")
    people: Counter[str] = Counter()
    with Path(folder, "gazetteers/us-zip3/zip-code-population.csv").open(
        encoding="utf-8", newline=""
    ) as file:
        for row in csv.reader(line for line in file if not line.startswith("#")):
            people[row[0].zfill(5)[:3]] += int(row[1])

    small = {area for area, count in people.items() if count <= 20_000}

    assert small == LOW_POPULATION_2020
    # Areas that grew past 20,000 or were merged since 2000 stay on our list.
    assert LOW_POPULATION_2000 - small == {"063", "790", "830", "831", "890"}
    assert {f"{area:03}" for area in range(1000)} - people.keys() == NO_RESIDENTS_2020
