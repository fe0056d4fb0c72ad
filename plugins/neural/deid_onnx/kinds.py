"""What a word looks like, as a number that an encoder may read beside its sub-tokens.

A small encoder made from nothing sees most names and numbers for the first time. What they look
like it has seen.
"""

from __future__ import annotations

KINDS = 64
"""Number of kinds.

It is the ``type_vocab_size`` of an encoder that reads them. 0 is for what is no word.
"""
_SIGNS = {".": 25, ",": 26, ":": 27, "-": 28, "/": 28, "@": 29, "_": 29, "(": 30, ")": 30}
_OTHER = 31


def kind_of(key: str) -> int:
    """Return the kind of a word.

    Digits or letters, its case, roughly its length, and whether it is glued.

    Args:
        key: A token of ``deid_assets.core.tagging.tokenize``, with a blank before it where there is
            one in the text.
    """
    word = key.removeprefix(" ")
    return 2 * _look(word) + (len(word) == len(key))


def _look(word: str) -> int:
    size = len(word)
    if word.isdecimal():
        return min(size, 10)
    if not word.isalpha():
        return _SIGNS.get(word, _OTHER)
    if word.islower():
        return 10 + min(size, 5)
    if size == 1:
        return 16
    if word.isupper():
        return 15 + min(size, 5)
    return 20 + min(size // 2, 3) if word.istitle() else 24
