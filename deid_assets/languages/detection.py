"""The language of a note, detected from its text by Compact Language Detector 2 (pycld2), which
needs no download.
"""

from __future__ import annotations

import re

CODES = frozenset(
    """
    aa ab ae af ak am an ar as av ay az ba be bg bi bm bn bo br bs ca ce ch co cr cs cu cv cy da
    de dv dz ee el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy
    hz ia id ie ig ii ik io is it iu ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg
    li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn no nr nv ny oc oj om or
    os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st su sv sw ta
    te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu
    """.split()  # noqa: SIM905 - a list of 183 strings is no easier to read
)
"""ISO 639-1, 183 codes."""

MAX_CHARS = 20_000
"""Most characters of a note that are looked at; another language after them is not seen."""
MIXED_SHARE = 0.15
MIXED_BYTES = 80
"""A second language counts from this share of the text and this many bytes on.

About two sentences.
"""
LIKELY_BYTES, LIKELY_PERCENT = 300, 50
_UNKNOWN = "un"
_UNREADABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ufdd0-\ufdef\ufffe\uffff]")
"""Control characters and non-characters, at which the library stops."""
_BLANKED = bytes(
    ord(" ") if _UNREADABLE.match(chr(code)) else code for code in range(0x80)
) + bytes(range(0x80, 0x100))
"""What becomes of each byte of UTF-8.

Of the unreadable characters of several bytes, all begin with one of two.
"""
_RARE_LEADS = (b"\xc2", b"\xef")


def languages_in(text: str, *, declared: str | None = None) -> tuple[str, ...]:
    """Return the languages of a text, the most frequent first; empty where the text does not tell.

    Codes are of ISO 639-1 where there is one. A few words do not tell, and neither do lists of
    names and numbers.

    Args:
        text: Of a note.
        declared: The language that the note names; every other then counts only as a second
            language does.
    """
    import pycld2  # noqa: PLC0415 - compiled tables, loaded when first needed

    readable = _readable(text[:MAX_CHARS])
    try:
        reliable, n_bytes, found = pycld2.detect(readable)
        if not reliable:
            _, n_bytes, found = pycld2.detect(readable, bestEffort=True)
            found = [likely for likely in found[:1] if _is_likely(likely[1], likely[2], n_bytes)]
    except pycld2.error:
        return ()
    known = [(code, percent / 100) for _, code, percent, _ in found if code != _UNKNOWN]
    return tuple(
        code
        for rank, (code, share) in enumerate(known)
        if (not rank and declared in (None, code))
        or (share >= MIXED_SHARE and share * n_bytes >= MIXED_BYTES)
    )


def _readable(text: str) -> bytes:
    """Return the text in UTF-8 with a blank for each unreadable character."""
    data = text.encode()
    if any(lead in data for lead in _RARE_LEADS):
        data = _UNREADABLE.sub(" ", text).encode()
    return data.translate(_BLANKED)


def _is_likely(code: str, percent: int, n_bytes: int) -> bool:
    """Whether a guess may stand.

    At length, and not English, which the library says of Latin terms and numbers.
    """
    return n_bytes >= LIKELY_BYTES and percent >= LIKELY_PERCENT and code != "en"


def language_of(text: str) -> str | None:
    """Return the language that most of a text is in, or ``None`` where the text does not tell."""
    return next(iter(languages_in(text)), None)
