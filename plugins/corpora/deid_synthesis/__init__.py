"""Synthetic clinical notes with exact gold spans, for tests, demonstrations and training.

::

    from deid_synthesis import make_corpus

    for note, spans in make_corpus(lang="en", notes=200, seed=1):
        ...
"""

from deid_assets.extending.grammars import languages
from deid_synthesis.corpus import GUIDELINE, KINDS, make_corpus
from deid_synthesis.hard_cases import HARD_CASES, HardCase

__all__ = ["GUIDELINE", "HARD_CASES", "KINDS", "HardCase", "languages", "make_corpus"]
