"""The languages and their folders, as ``deid_assets/languages/README.md`` describes them."""

from deid_assets.languages import (
    ANY,
    CALENDAR,
    OTHER,
    RULES,
    SURROGATES,
    SYNTHESIS,
    WORDS,
    Language,
    find,
    folder,
    language,
    languages,
    list_brought,
    main_code,
    other_codes,
    read_toml,
)

__all__ = [
    "ANY",
    "CALENDAR",
    "OTHER",
    "RULES",
    "SURROGATES",
    "SYNTHESIS",
    "WORDS",
    "Language",
    "find",
    "folder",
    "language",
    "languages",
    "list_brought",
    "main_code",
    "other_codes",
    "read_toml",
]
