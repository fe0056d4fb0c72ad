"""The replacer that takes the whole sentence out, with what detection may have missed beside the
span.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from deid_assets.core.redact import Context
from deid_assets.core.span import Span
from deid_assets.policies.drawing import split_words

# A line break with the blanks after it; a mark that needs no blank; a mark with what closes after
# it and blanks. The first character is looked for alone, which is ten times as fast as three
# alternatives.
_END = re.compile(
    r"[\n\r.!?\u2026\u3002\uff01\uff1f]"
    r"(?:(?<=[\n\r])\s*|(?<=[\u3002\uff01\uff1f])[\u3002\uff01\uff1f]*"
    r"|(?<=[.!?\u2026])[.!?\u2026]*[\"')\]\u00bb\u201d\u2019]*(?:[^\S\n\r]+|$))"
)
_PARAGRAPH = re.compile(r"(?:\r\n|[\n\r])[^\S\n\r]*[\n\r]")
_LAST_WORD = re.compile(r"[^\W\d_]+$")
# Titles before a name; with any single letter, the words whose full stop ends nothing.
_ABBREVIATIONS = frozenset(split_words("dr dra drs prof mr mrs ms mme sr sra srta hr fr st"))
_LOOK_BACK_CHARS = 12


@dataclass(frozen=True, slots=True)
class DropSentence:
    """Nothing: the sentence that holds the span is taken out.

    A sentence ends with a full stop, exclamation or question mark before a blank, or with its line.
    It goes on where the next line or word begins with a small letter, and after an initial or a
    title. A border inside a span is none.
    """

    def __call__(self, text: str, span: Span, context: Context) -> str:
        del text, span, context
        return ""

    def borders(self, text: str) -> list[int]:
        """Return where sentences begin and end, sorted.

        Blanks belong to the sentence before, line breaks to none.
        """
        found: list[int] = []
        for match in _END.finditer(text):
            if _is_border(text, match):
                found += (match.start(), match.end()) if match[0][0] in "\r\n" else (match.end(),)
        return found


def _is_border(text: str, match: re.Match[str]) -> bool:
    if text[match.end() : match.end() + 1].islower() and not _PARAGRAPH.match(match[0]):
        return False
    if not match[0].startswith("."):
        return True
    word = _LAST_WORD.search(text, max(0, match.start() - _LOOK_BACK_CHARS), match.start())
    return word is None or not (len(word[0]) == 1 or word[0].casefold() in _ABBREVIATIONS)
