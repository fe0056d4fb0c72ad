"""Words of a note: what is masked together and scored as one.

Segmentation is chosen by name, or given as a function.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from deid_assets.extending import ConfigError, Token, did_you_mean, remedy

Segmenter = Callable[[str, str | None], Sequence[Token]]
"""Text and its language to half-open ranges of code points, rising and apart."""

_ADDRESS = r"(?:https?://|www\.)[^\s<>()\[\]]*[^\s<>()\[\].,;:]|[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
_LETTERS = r"[^\W\d_]+(?:[\u0300-\u036f]+[^\W\d_]*)*"
_PLAIN = re.compile(
    rf"{_ADDRESS}|\d+(?:[.,/:\u2010-\u2013-]\d+)*(?!\w)|(?:{_LETTERS}|\d)+(?:['\u2019\u2010-](?:{_LETTERS}|\d)+)*"
)
_BLANK_APART = re.compile(r"\S+")
_EDGES = re.compile(r"^[^\w]+|[^\w]+$")
_SINGLE = re.compile(
    r"[\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|"
    r"[^\W\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+"
)


def plain(text: str, lang: str | None) -> Sequence[Token]:
    """Return words with their inner hyphens and apostrophes, numbers with their separators, whole
    addresses.
    """
    del lang
    return [match.span() for match in _PLAIN.finditer(text)]


def blanks(text: str, lang: str | None) -> Sequence[Token]:
    """Return what stands between blanks, without the punctuation around it (Myntti 2025, for
    English).
    """
    del lang
    found = []
    for match in _BLANK_APART.finditer(text):
        part = match[0]
        left = _EDGES.match(part)
        start = len(left[0]) if left and not left.start() else 0
        kept = _EDGES.sub("", part)
        if kept:
            found.append((match.start() + start, match.start() + start + len(kept)))
    return found


def characters(text: str, lang: str | None) -> Sequence[Token]:
    """Return single letters of scripts that set no blanks (Chinese, Japanese, Thai, Khmer), and
    words of the others.
    """
    del lang
    return [match.span() for match in _SINGLE.finditer(text)]


def parse_words(text: str, lang: str | None) -> Sequence[Token]:
    """Return the words of spaCy's rules for the language, which need no model (Myntti 2025, for
    Spanish and Finnish).

    Raises:
        ConfigError: spaCy is not installed, or does not know the language.
    """
    return [
        (token.idx, token.idx + len(token))
        for token in _tokenizer(lang or "xx")(text)
        if any(map(str.isalnum, token.text))
    ]


@lru_cache(maxsize=16)
def _tokenizer(lang: str) -> Any:
    try:
        import spacy  # noqa: PLC0415 - takes seconds to load, and is optional

        return spacy.blank(lang).tokenizer
    except ImportError as error:
        raise ConfigError(
            f"segmenter 'parsed' has no spaCy for {lang!r} ({type(error).__name__});"
            f" {remedy('zero_shot[spacy]')}, or choose 'plain'"
        ) from None


SEGMENTERS: Mapping[str, Segmenter] = {
    "plain": plain,
    "blanks": blanks,
    "characters": characters,
    "parsed": parse_words,
}


def segmenter(
    wanted: str | Segmenter | Mapping[str, str | Segmenter],
) -> tuple[str | Mapping[str, str], Segmenter]:
    """Return a segmenter and the name under which scores of it are known.

    Args:
        wanted: A name or a function; or one by language, ``plain`` for every other.

    Raises:
        ConfigError: There is none of the name.
    """
    if isinstance(wanted, Mapping):
        known = {lang: _one(one) for lang, one in sorted(wanted.items())}

        def by_language(text: str, lang: str | None) -> Sequence[Token]:
            return known.get(lang or "", ("plain", plain))[1](text, lang)

        return {lang: name for lang, (name, _) in known.items()}, by_language
    return _one(wanted)


def _one(wanted: str | Segmenter) -> tuple[str, Segmenter]:
    if callable(wanted):
        return (
            f"{wanted.__module__}.{getattr(wanted, '__qualname__', type(wanted).__name__)}",
            wanted,
        )
    if wanted not in SEGMENTERS:
        raise ConfigError(
            f"segmenter {wanted!r} is unknown{did_you_mean(wanted, SEGMENTERS)}; choose of"
            f" {', '.join(SEGMENTERS)}"
        )
    return wanted, SEGMENTERS[wanted]


def words_of(text: str, lang: str | None, segment: Segmenter) -> list[Token]:
    """Return the words of a text that have a letter or a digit.

    Raises:
        ConfigError: The segmenter's ranges overlap or lie outside of the text.
    """
    found: list[Token] = []
    last = 0
    for start, end in segment(text, lang):
        if not last <= start < end <= len(text):
            raise ConfigError(
                f"the segmenter gave the range {start} to {end} after {last}; ranges must rise and"
                " be apart"
            )
        if any(map(str.isalnum, text[start:end])):
            found.append((start, end))
        last = end
    return found
