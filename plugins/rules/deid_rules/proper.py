"""The word grammar of proper nouns other than people's: institutions, streets.

====  ========================================================  =============================
Lang  Text                                                      Why
====  ========================================================  =============================
en    Seen at <HOSPITAL>Lakeside Clinic</HOSPITAL>.             a name before the noun
en    <HOSPITAL>Children's Hospital of Philadelphia</HOSPITAL>  and after it
en    <STREET>12 Oak Ridge Road</STREET>                        a street, of ordinary words
en    Seen in the Pain Clinic.                                  kept: no word of it is a name
en    SEEN IN THE PAIN CLINIC.                                  kept: nor in capitals
en    the road to recovery                                      kept: no capital
====  ========================================================  =============================
"""

from __future__ import annotations

from deid_rules.letters import ABBREVIATIONS
from deid_rules.lexicon import Lexicon, WordKind
from deid_rules.view import TextView

MAX_PROPER_WORDS = 6
_CONJUNCTIONS = frozenset(("and", "e", "ed", "en", "et", "ja", "och", "und", "y"))


class ProperGrammar:
    """Proper nouns of one language.

    Args:
        lexicon: Kinds of words; see ``WordKind``.
    """

    def __init__(self, lexicon: Lexicon) -> None:
        self.kind = lexicon.kind

    def before(self, view: TextView, start: int, end: int) -> tuple[int, int] | None:
        """Return a proper noun that ends with the match: ``Lakeside`` before ``Clinic``."""
        words, gaps = view.words, view.gaps
        stop = view.word_from(start)
        first, index, specific = stop, stop - 1, False
        while index >= 0 and stop - index <= MAX_PROPER_WORDS:
            if not self._binds(words[index], gaps[index + 1]) and not (
                index + 1 == stop and view.is_wrapped(stop)
            ):
                break
            word = words[index]
            kind = self.kind(word)
            if kind & WordKind.CONNECTOR and not word[0].isupper():
                if (
                    word in _CONJUNCTIONS
                    and index
                    and self.kind(words[index - 1]) & WordKind.INSTITUTION
                ):
                    break
                index -= 1
                continue
            if not word[0].isupper() or kind & WordKind.STOP or self._plain_capitals(word, kind):
                break
            first, specific = index, specific or self._specific(word, kind)
            index -= 1
        after = self._extension(view, end)
        if first == stop and after == end:
            return None
        return (view.starts[first], after) if specific or after > end else None

    def after(self, view: TextView, start: int, end: int) -> tuple[int, int] | None:
        """Return a proper noun that begins with the match: ``University of`` before ``Utah``."""
        last = self._end(view, end)
        return None if last is None else (start, last)

    def after_plain(self, view: TextView, start: int, end: int) -> tuple[int, int] | None:
        """The same where words of ordinary vocabulary will do, as in the name of a street."""
        last = self._end(view, end, plain=True)
        return None if last is None else (start, last)

    def _end(self, view: TextView, offset: int, *, plain: bool = False) -> int | None:
        words, gaps = view.words, view.gaps
        index = view.word_from(offset)
        if index >= len(view.starts) or view.starts[index] > offset + 1:
            return None
        last, first, specific = -1, index, False
        while index < len(view.starts) and index - first < MAX_PROPER_WORDS:
            word = words[index]
            kind = self.kind(word)
            if index > first and not self._binds(words[index - 1], gaps[index]):
                break
            if (kind & WordKind.CONNECTOR or kind & WordKind.PARTICLE) and not word[0].isupper():
                index += 1
                continue
            if not word[0].isupper() or kind & WordKind.STOP or self._plain_capitals(word, kind):
                break
            last, specific = index, specific or self._specific(word, kind)
            index += 1
        return view.stops[last] if last >= 0 and (specific or plain) else None

    def _extension(self, view: TextView, end: int) -> int:
        """End of ``of Philadelphia`` after ``Hospital``, or ``end``."""
        index = view.word_from(end)
        if index + 1 >= len(view.starts) or view.gaps[index] != " ":
            return end
        word = view.words[index]
        if not self.kind(word) & WordKind.CONNECTOR or word[0].isupper() or word in _CONJUNCTIONS:
            return end
        return self._end(view, view.stops[index] + 1) or end

    def _binds(self, left: str, gap: str) -> bool:
        return (
            gap in (" ", " & ", "-", "\u00a0")
            or (gap in (". ", ".") and left.lower() in ABBREVIATIONS)
            or (gap == ". " and len(left) == 1)
        )

    @staticmethod
    def _plain_capitals(word: str, kind: int) -> bool:
        """Whether a word of a text in capitals says nothing of a name."""
        return (
            len(word) > 3
            and word.isupper()
            and bool(kind & WordKind.COMMON)
            and not kind & (WordKind.NAME | WordKind.PLACE | WordKind.INSTITUTION)
        )

    @staticmethod
    def _specific(word: str, kind: int) -> bool:
        return (
            len(word) > 1
            and not kind & WordKind.INSTITUTION
            and (not kind & WordKind.COMMON or bool(kind & (WordKind.NAME | WordKind.PLACE)))
        )
