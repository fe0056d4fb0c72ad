"""Lists of names, places and words as compiled dictionaries, and a vocabulary grown from raw notes."""

from deid_assets.gazetteers.compiled import Gazetteer, write_gazetteer
from deid_assets.gazetteers.kinds import PHRASE_LISTS, WORD_LISTS
from deid_assets.gazetteers.sources import Entry, read_entries
from deid_assets.gazetteers.vocabulary import Vocabulary

__all__ = ["PHRASE_LISTS", "WORD_LISTS", "Entry", "Gazetteer", "Vocabulary", "read_entries", "write_gazetteer"]
