"""Lists of names, places and sentences by language, as ``deid_assets/languages/README.md``
describes them.
"""

from deid_assets.languages import grammars
from deid_assets.languages.grammars import languages

__all__ = ["grammars", "languages"]
