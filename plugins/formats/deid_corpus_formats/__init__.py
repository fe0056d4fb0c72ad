"""Formats of annotated corpora for deid-assets: brat, i2b2 2014 and CoNLL."""

from deid_assets.extending import label_map
from deid_assets.extending.formats import Format

__all__ = ["BRAT", "CONLL", "I2B2"]

_HERE = "deid_corpus_formats"
_SPANS = frozenset({"spans"})

BRAT = Format("brat", (".txt", ".ann"), f"{_HERE}.brat", is_folder=True, keeps=_SPANS)
I2B2 = Format(
    "i2b2", (".xml",), f"{_HERE}.i2b2", is_folder=True, keeps=_SPANS, labels=label_map("i2b2")
)
CONLL = Format(
    "conll",
    (".conll", ".iob", ".iob2", ".bio"),
    f"{_HERE}.conll",
    is_folder=False,
    keeps=_SPANS | {"lang"},
    writer_module=f"{_HERE}.conll_writer",
)
