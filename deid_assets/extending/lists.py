"""Lists of names and of ordinary words, and the languages of a text."""

from deid_assets.gazetteers import PHRASE_LISTS, WORD_LISTS, Entry, Gazetteer, write_gazetteer
from deid_assets.languages import ANY, languages_in, vocabulary
from deid_assets.languages.vocabulary import read_words

__all__ = [
    "ANY",
    "PHRASE_LISTS",
    "WORD_LISTS",
    "Entry",
    "Gazetteer",
    "languages_in",
    "read_words",
    "vocabulary",
    "write_gazetteer",
]
