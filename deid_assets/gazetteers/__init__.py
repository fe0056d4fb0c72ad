"""Lists of names, places and words as compiled dictionaries."""

from deid_assets.gazetteers.compiled import Entry, Gazetteer, write_gazetteer
from deid_assets.gazetteers.kinds import PHRASE_LISTS, WORD_LISTS

__all__ = ["PHRASE_LISTS", "WORD_LISTS", "Entry", "Gazetteer", "write_gazetteer"]
