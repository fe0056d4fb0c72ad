"""The grammar of one note for servers that take one (GBNF of llama.cpp, which vLLM's xgrammar reads
too).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from deid_generative.placeholders import ANONYMOUS, PLACEHOLDER

LONGEST = 24
"""Most words that one placeholder stands for."""
_CHUNK = re.compile(r"(\s*)(\w+|[^\w\s])")


def grammar_of(text: str, *, placeholder: str = PLACEHOLDER, longest: int = LONGEST) -> str:
    r"""Return a grammar whose only texts are the note with placeholders for runs of its words, and
    ``ANONYMOUS``.

    A note that says ANONYMOUS itself cannot be answered with it. Blanks at the end of the note are
    left out.

    Args:
        text: The note, with at least one visible character.
        placeholder: What stands for a run of words.
        longest: Most words that one stands for.
    """
    return "\n".join(_rules(text, placeholder, longest)) + "\n"


def _rules(text: str, placeholder: str, longest: int) -> Iterator[str]:
    chunks = [(match[1], match[2]) for match in _CHUNK.finditer(text)]
    nothing = "" if ANONYMOUS.casefold()[:6] in text.casefold() else f"{_quote(ANONYMOUS)} | "
    yield f"root ::= {nothing}c0"
    for number, (blank, word) in enumerate(chunks):
        yield f"k{number} ::= {_quote(blank + word)} c{number + 1}"
        later = [f"k{n}" for n in range(number + 1, min(len(chunks), number + longest + 1))]
        if len(chunks) - number <= longest:
            later.append('""')
        yield f"c{number} ::= k{number} | {_quote(blank + placeholder)} ( {' | '.join(later)} )"
    yield f'c{len(chunks)} ::= ""'


def _quote(text: str) -> str:
    return '"' + "".join(map(_escape, text)) + '"'


def _escape(character: str) -> str:
    known = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    if character in known:
        return known[character]
    code = ord(character)
    if character.isprintable() or code > 0xFFFF:
        return character
    return f"\\x{code:02X}" if code < 0x80 else f"\\u{code:04X}"
