"""Annotated notes by the names that recipes and commands give them, and what language models have
read.
"""

from deid_assets.training.corpora import Corpus, is_tagger, read_corpus, read_marked, read_raw
from deid_assets.training.pretraining import (
    PROMISE,
    RECORD,
    count_read,
    digests_of,
    learnt_from,
    read_promise,
    read_record,
)
from deid_assets.training.synthetic import CopyGate, SyntheticCorpus

__all__ = [
    "PROMISE",
    "RECORD",
    "CopyGate",
    "Corpus",
    "SyntheticCorpus",
    "count_read",
    "digests_of",
    "is_tagger",
    "learnt_from",
    "read_corpus",
    "read_marked",
    "read_promise",
    "read_raw",
    "read_record",
]
