"""Lists of names, places and sentences by language, as ``deid_assets/reference/grammars/README.md``
describes them.
"""

from deid_assets.reference import grammars
from deid_assets.reference.grammars import languages

__all__ = ["grammars", "languages"]
