import pytest

from deid_synthesis.grammar import load_grammar
from deid_synthesis.people import SyntheticPerson, person_variables


@pytest.mark.parametrize(("lang", "surnames"), [("es", "Lima Prado"), ("pt", "Prado Lima")])
def test_the_surname_that_people_are_called_by_stands_where_the_language_puts_it(lang, surnames):
    person = SyntheticPerson("Ana", "Rita", "Lima", "Prado", "f", "PATIENT")
    written = person_variables(person, load_grammar(lang))
    assert (written["last"], written["last1"], written["li"]) == (surnames, "Lima", "L")
