"""Names and towns of varied copies: of many origins, some of them in no list."""

import pytest

from deid_compact.lexicon import LISTS, make_lexicon
from deid_compact.names import invent_words, names_for_copies, towns_for_copies
from deid_compact.origins import romanise

pytestmark = pytest.mark.long

HELD_OUT = ("Purnawati", "Musfirayeva", "Abeiku")
"""Names of origins that no copy has: Indonesian, Uzbek and Ghanaian."""


@pytest.fixture(scope="module")
def names():
    return names_for_copies(1)


@pytest.fixture(scope="module")
def lexicon():
    """The lists of a model; reading the dictionaries of all languages takes most of a minute."""
    return make_lexicon()


def test_names_are_the_same_for_one_seed_and_others_for_another(names):
    assert names == names_for_copies(1)
    assert names != names_for_copies(2)
    assert all(name[0].isupper() and len(name) > 2 for name in names)


def test_origins_that_are_measured_as_unknown_are_in_no_copy(names):
    assert not set(HELD_OUT) & set(names)


@pytest.mark.slow
def test_origins_that_are_measured_as_unknown_are_in_no_list(lexicon):
    lists = lexicon.lists_of(HELD_OUT)

    assert not lists[:, 1:3].any()  # first names, surnames


@pytest.mark.slow
@pytest.mark.parametrize(
    ("word", "held"),
    [("Hämoglobinwert", False), ("bukett", True), ("saappaat", True), ("tegame", True)],
)
def test_ordinary_words_are_listed_as_such(lexicon, word, held):
    lists = dict(zip(LISTS, lexicon.lists_of([word])[0], strict=False))

    assert bool(lists["frequent_words"] or lists["rarer_words"]) is held
    assert not lists["first_names"]


@pytest.mark.slow
def test_a_word_that_names_people_is_no_ordinary_noun_of_german(lexicon):
    lists = dict(zip(LISTS, lexicon.lists_of(["Steinbach"])[0], strict=False))

    assert not lists["frequent_words"]
    assert not lists["rarer_words"]


@pytest.mark.parametrize(
    ("written", "name"),
    [("Людмила Шевченко", "Lyudmila Shevchenko"), ("王", "Wang"), ("Παπαδόπουλος", "Papadopoylos")],
)
def test_names_in_other_letters_are_written_as_in_a_passport(written, name):
    assert romanise(written) == name


def test_invented_words_are_no_words_that_they_were_made_from():
    words = ["Anderson", "Andrews", "Peterson", "Petrova", "Marlowe", "Marston", "Karlsson"]
    made = invent_words(words, 1)

    assert made == invent_words(words, 1)
    assert made
    assert not {word.lower() for word in made} & {word.lower() for word in words}
    assert invent_words([], 1) == []


@pytest.mark.slow
def test_towns_are_of_both_sizes_and_some_are_invented(lexicon):
    towns = towns_for_copies(1)
    lists = lexicon.lists_of([town for town in towns if town.isalpha()])

    assert towns == sorted(set(towns))
    held = lists[:, 3].astype(bool), lists[:, 5].astype(bool)  # towns, villages
    assert held[0].any()
    assert (held[1] & ~held[0]).any()
    assert (~held[1]).any()
