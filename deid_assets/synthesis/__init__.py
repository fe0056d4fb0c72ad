"""Synthetic clinical notes with exact gold spans, for tests, demonstrations and training.

::

    from deid_assets.synthesis import make_corpus

    for note, spans in make_corpus(lang="en", notes=200, seed=1):
        ...
"""

from deid_assets.reference.grammars import languages
from deid_assets.synthesis.corpus import GUIDELINE, KINDS, make_corpus
from deid_assets.synthesis.hard_cases import HARD_CASES, HardCase
from deid_assets.synthesis.sample import write_sample

__all__ = ["GUIDELINE", "HARD_CASES", "KINDS", "HardCase", "languages", "make_corpus", "write_sample"]
