"""Annotated notes by the names that recipes and commands give them, and what language models have read."""

from deid_assets.training.corpora import Corpus, read_corpus, read_raw
from deid_assets.training.pretraining import RECORD, learnt_from

__all__ = ["RECORD", "Corpus", "learnt_from", "read_corpus", "read_raw"]
