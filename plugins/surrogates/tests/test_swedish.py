"""The Swedish preset: the rules of Dalianis (2019) and Vakili (2025), one by one."""

from __future__ import annotations

import re
from datetime import date

import pytest

from deid_assets.core.keys import Key
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.redact import redact
from deid_assets.core.span import DisjointSpans, Span
from deid_assets.policies import load_policy
from deid_assets.policies.needs import writes_surrogates
from deid_surrogates.regional import _towns

KEY = Key(b"k" * 32)
PATIENTS = [f"p{number}" for number in range(40)]


def _surrogate(value: str, label: Phi, patient: str, *, lang: str = "sv") -> str:
    note = Note("n", value, patient_id=patient, lang=lang)
    return redact(
        note, DisjointSpans.of(note, [Span(0, len(value), label)]), load_policy("swedish"), key=KEY
    ).text


def test_ages_move_by_one_to_three_years_and_both_ways():
    steps = {
        int(_surrogate("47 år", Phi.AGE, patient).removesuffix(" år")) - 47 for patient in PATIENTS
    }

    assert steps == {-3, -2, -1, 1, 2, 3}


def test_an_age_in_words_moves_as_well_and_none_falls_below_nought():
    ages = {
        int(_surrogate("fyrtiosju år", Phi.AGE, patient).removesuffix(" år"))
        for patient in PATIENTS
    }

    assert ages == {44, 45, 46, 48, 49, 50}
    assert all(0 <= int(_surrogate("1", Phi.AGE, patient)) <= 4 for patient in PATIENTS)


@pytest.mark.parametrize(
    ("value", "drawn"), [("93", "90+"), ("8 månader", "[AGE]"), ("50-60 år", "[AGE]")]
)
def test_what_tells_an_age_of_its_own_is_pooled_and_what_is_not_read_is_tagged(value, drawn):
    assert _surrogate(value, Phi.AGE, "p1") == drawn


def test_dates_move_by_one_to_two_weeks():
    moved = {
        date.fromisoformat(_surrogate("2019-03-14", Phi.DATE, patient)) for patient in PATIENTS
    }
    days = {(one - date(2019, 3, 14)).days for one in moved}

    assert {abs(day) for day in days} <= set(range(7, 15))
    assert min(days) < 0 < max(days)


@pytest.mark.parametrize("town", ["Kalmar", "Visby", "Östersund", "Uppsala"])
def test_a_place_becomes_another_of_its_county(town):
    county = next(towns for towns in _towns("SE")[1].values() if town in towns)
    drawn = {_surrogate(town, Phi.CITY, patient) for patient in PATIENTS}

    assert town not in drawn
    assert drawn <= set(county)


@pytest.mark.parametrize(
    ("unit", "kind"),
    [
        ("Danderyds sjukhus", "sjukhus"),
        ("Karolinska universitetssjukhuset", "universitetssjukhus"),
        ("kirurgkliniken", "kliniken"),
        ("Sabbatsbergs vårdcentral", "vårdcentral"),
        ("Falu lasarett", "lasarett"),
    ],
)
def test_a_unit_becomes_a_known_one_of_its_kind(unit, kind):
    drawn = {_surrogate(unit, Phi.HOSPITAL, patient) for patient in PATIENTS}

    assert unit not in drawn
    assert len(drawn) > 2
    assert all(re.search(kind, one) for one in drawn)
    assert all(one[0].islower() == unit[0].islower() for one in drawn)


def test_organisations_have_no_rule_and_other_languages_have_no_list():
    assert _surrogate("Volvo AB", Phi.ORGANIZATION, "p1") == "[ORGANIZATION]"
    assert (
        _surrogate("Boston General Hospital", Phi.HOSPITAL, "p1", lang="en")
        != "Boston General Hospital"
    )


def test_an_institution_of_the_list_counts_as_a_surrogate_whatever_it_is_called(tmp_path):
    policy = tmp_path / "units.toml"
    policy.write_text('name = "units"\ndefault = "tag"\n[actions]\nHOSPITAL = "known_unit"\n')

    assert writes_surrogates(load_policy(policy))
    assert writes_surrogates(load_policy("swedish"))
    assert not writes_surrogates(load_policy("safe_harbor"))
