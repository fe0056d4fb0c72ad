"""What may not stand before a span.

Two engines tell whether a piece of text ends with it, and agree.
"""

from __future__ import annotations

import random
import re

import re2

from deid_assets.languages import ANY, OTHER
from deid_rules.compiled import _ending, _python
from deid_rules.language import available, read_language

SIGNS = (*" .,:;-/()[]=<>$#%+'\n\r\t\v\x1c09aZ", "\u212a", "\xa0", "é", "5", "")


def _pieces(regex: str, chance: random.Random) -> list[str]:
    """Pieces of text that end with words of an expression.

    The words are as they are, in capitals or cut, with signs between them.
    """
    words = [*re.findall(r"[A-Za-z]{2,}", regex), "x"]
    parts = [
        chance.choice(
            (chance.choice(words), chance.choice(words).upper(), *chance.choices(SIGNS, k=3))
        )
        for _ in range(90)
    ]
    return ["".join(parts[at : at + 3])[-24:] for at in range(0, 90, 3)]


def test_both_engines_say_the_same_of_every_expression() -> None:
    chance, options, ended = random.Random(7), re2.Options(), 0
    folders = (read_language(code) for code in (ANY, OTHER, *available()))
    for regex in sorted(
        {pattern.not_before for folder in folders for pattern in folder.patterns} - {""}
    ):
        ends, python = _ending(regex, options), _python(rf"(?:{regex})\Z").search
        for piece in _pieces(regex, chance):
            assert bool(ends(piece)) == bool(python(piece)), (regex, piece)
            ended += bool(python(piece))
    assert ended > 500


def test_blanks_and_digits_that_only_python_knows_count() -> None:
    options = re2.Options()
    assert _ending(r"(?i:a|b|c|d|e)\s", options)("a\v")
    assert _ending(r"\d|a|b|c|d", options)("\u0665")
    assert not _ending(r"\d|a|b|c|d", options)("5.")
