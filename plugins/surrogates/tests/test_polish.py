"""Polish: surrogates stand in the case of the original, and in the form of its sex."""

from __future__ import annotations

import pytest

from deid_assets.core.keys import Key
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.redact import Context
from deid_assets.core.span import Span
from deid_assets.policies.drawing import fold
from deid_surrogates.locales import locale_of
from deid_surrogates.locales.polish import cases
from deid_surrogates.surrogate import Surrogate
from deid_surrogates.words import is_name

KEY = Key(b"a key for tests, 24 bytes")
PATIENTS = [f"patient {number}" for number in range(12)]
POLISH = locale_of("pl")


def draw(text: str, *, patient: str = "p", label: Phi = Phi.NAME, before: str = "") -> str:
    note = Note("n", before + text, patient_id=patient, lang="pl")
    return Surrogate()(text, Span(len(before), len(before + text), label), Context(note, KEY))


def forms(names, case):
    """Return a case of every name, in lower case."""
    return {cases(name.lower()).get(case) for name in names}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("anna", "anny annie annę anną"),
        ("barbara", "barbary barbarze barbarę barbarą"),
        ("zofia", "zofii zofii zofię zofią"),
        ("ania", "ani ani anię anią"),
        ("alicja", "alicji alicji alicję alicją"),
        ("maja", "mai mai maję mają"),
        ("duda", "dudy dudzie dudę dudą"),
        ("jan", "jana janowi janem janie"),
        ("piotr", "piotra piotrowi piotrem piotrze"),
        ("marek", "marka markowi markiem marku"),
        ("paweł", "pawła pawłowi pawłem pawle"),
        ("kacper", "kacpra kacprowi kacprem kacprze"),
        ("tomasz", "tomasza tomaszowi tomaszem tomaszu"),
        ("bieniek", "bieńka bieńkowi bieńkiem bieńku"),
        ("kuś", "kusia kusiowi kusiem kusiu"),
        ("jerzy", "jerzego jerzemu jerzym"),
        ("antoni", "antoniego antoniemu antonim"),
    ],
)
def test_cases_of_names(name, expected):
    assert " ".join(cases(name).values()) == expected


@pytest.mark.parametrize(
    ("word", "lemma", "form"),
    [
        ("Gabrielę", "gabriela", "acc.f"),
        ("Wiesławem", "wiesław", "ins.m"),
        ("Marka", "marek", "gen.m"),
        ("Basią", "basia", "ins"),
        ("Kowalska", "kowalski", ".f"),
        ("Kowalskiej", "kowalski", "gen.f"),
        ("Wolańskiego", "wolański", "gen.m"),
        ("Zosiewiczowi", "Zosiewiczowi", ""),
        ("Anna", "Anna", ""),
        ("Nowak", "Nowak", ""),
    ],
)
def test_a_case_is_read(word, lemma, form):
    assert POLISH.inflection.split(word, lambda base: is_name(POLISH, base)) == (lemma, form)


@pytest.mark.parametrize("patient", PATIENTS)
def test_a_womans_name_becomes_a_womans_in_its_case(patient):
    first, last = draw("Gabrielę Sobczak", patient=patient, before="p. ").split()
    assert first.lower() in forms(POLISH.female.names, "acc")
    assert last in POLISH.last.names
    assert draw("Gabriela", patient=patient).lower()[:-1] == first.lower()[:-1]


@pytest.mark.parametrize("patient", PATIENTS)
def test_a_mans_name_becomes_a_mans_in_its_case(patient):
    first, last = draw("Wiesławem Nowakiem", patient=patient, before="z synem ").split()
    assert first.lower() in forms(POLISH.male.names, "ins")
    assert last.lower() in forms(POLISH.last.names, "ins")


@pytest.mark.parametrize("patient", PATIENTS)
def test_a_surname_of_a_couple_is_one(patient):
    drawn = {draw(word, patient=patient) for word in ("Kowalska", "Kowalski", "Kowalskiej")}
    assert len({fold(name) for name in drawn if name in POLISH.last.names}) == 1


@pytest.mark.parametrize("patient", PATIENTS)
@pytest.mark.parametrize(
    ("before", "text", "form"),
    [("w ", "Łodzi", "in"), ("do ", "Krakowa", "gen"), ("w ", "Piotrkowie Trybunalskim", "in")],
)
def test_a_city_stands_in_the_case_of_the_original(patient, before, text, form):
    drawn = draw(text, patient=patient, label=Phi.CITY, before=before)
    known = {word for (_, case), word in POLISH.places.form_of_city.items() if case == form}
    assert drawn in known


@pytest.mark.parametrize("patient", PATIENTS)
def test_the_town_of_a_hospital_stays_a_town(patient):
    drawn = draw("Oddział Rehabilitacji w Tuszynie", patient=patient, label=Phi.HOSPITAL)
    known = {word for (_, case), word in POLISH.places.form_of_city.items() if case == "in"}
    assert drawn.startswith("Oddział Rehabilitacji w ")
    assert drawn.rpartition(" ")[2] in known
    upper = draw("SZPITAL KLINICZNY W ŁODZI", patient=patient, label=Phi.HOSPITAL)
    assert upper.rpartition(" ")[2] in {word.upper() for word in known}


def test_every_name_that_is_drawn_has_its_cases():
    for pool in (POLISH.female, POLISH.male, POLISH.neutral, POLISH.last):
        assert all(map(POLISH.inflection.can_join, pool.names))
    assert not [name for name in POLISH.last.names if name.endswith(("ski", "cki"))]
