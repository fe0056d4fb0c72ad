"""Once a name is known, every other mention of it in the note.

====  ===========================================================  =================================
Lang  Text                                                         Why
====  ===========================================================  =================================
en    Mr. <NAME>Ferrigno</NAME> fell; <NAME>ferrigno</NAME> left.  in any case
de    Herr <NAME>Müller</NAME> kam, <NAME>Müllers</NAME> Frau.     with an ending
en    <NAME>Mark Silva</NAME> fell. <NAME>Mark</NAME> was sad.     a word, before a person's verb
en    <NAME>Mark Silva</NAME> fell. Mark the site.                 kept: a word elsewhere
en    Dr. <NAME>Foley</NAME> placed a Foley catheter.              kept: an eponym
de    Herr <NAME>Koch</NAME> kam. Der Koch kam.                    kept: capitals tell nothing there
====  ===========================================================  =================================
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from deid_assets.extending import Phi
from deid_rules.candidate import Candidate
from deid_rules.grammar import NameGrammar
from deid_rules.letters import degree, is_initial, is_pointed, strip_possessive
from deid_rules.lexicon import MIN_STEM_LETTERS, WordKind
from deid_rules.view import TextView, key_of

STRONG, STRONGEST, PROPAGATED = 0.75, 0.85, 0.7
MIN_LETTERS = 3
MAX_SOUGHT = 40
"""Words that are looked for one by one."""
_WORDS = WordKind.COMMON | WordKind.STOP
_AUXILIARIES = frozenset(
    (
        "was",
        "is",
        "has",
        "had",
        "will",
        "est",
        "était",
        "fue",
        "está",
        "tiene",
        "heeft",
        "är",
        "har",
    )
)
"""Words that follow a person, though not persons alone.

A note that names ``Mark Silva`` means him by ``Mark was``.
"""


def propagate(
    names: Iterable[Candidate], view: TextView, grammar: NameGrammar, *, capitals_tell: bool = True
) -> Iterator[Candidate]:
    """Yield each mention of a word of a strong name, whatever its possessive.

    And in lower case if it is no word.

    A word of ordinary vocabulary (``Wood``) is carried over from names of strong evidence only, and
    only to where it has a capital within a sentence or a person's verb or possessive follows; not
    where capitals do not tell a name, as in German.
    """
    strong = [name for name in names if name.score >= STRONG]
    known, common, found = _words(strong, view, grammar)
    every = known | common if capitals_tell else known
    if not every:
        return
    for index in _mentions(view, every, found, grammar):
        if view.key(index) in common and not _personal(view, index, grammar):
            continue
        if not grammar.eponymous(view, index):
            start, end = (
                view.starts[_initials(view, index)],
                view.starts[index] + len(strip_possessive(view.words[index])),
            )
            yield Candidate(
                start, _extend_by_initial(view, index, end), Phi.NAME, PROPAGATED, "name_propagated"
            )


def _mentions(view: TextView, words: set[str], found: set[int], grammar: NameGrammar) -> list[int]:
    """Indexes of the words that are not found yet.

    Those of capitalised words that are among them without their ending are given too.
    """
    stems, beginnings = grammar.lexicon.stems, {word[:MIN_STEM_LETTERS] for word in words}
    inflected = grammar.lexicon.inflects and (
        index
        for index, word in zip(view.capitals.tolist(), view.capital_words, strict=True)
        if word.lower()[:MIN_STEM_LETTERS] in beginnings
        and view.starts[index] not in found
        and not words.isdisjoint(stems(key := key_of(word)))
        and not grammar.kind(key) & WordKind.COMMON
    )
    return sorted({*_standing(view, words, found), *(inflected or ())})


def _standing(view: TextView, words: set[str], found: set[int]) -> Iterator[int]:
    """Indexes of the words that are not found yet; ``found`` holds where those start that are."""
    lowered = view.text.lower()
    if len(words) > MAX_SOUGHT or len(lowered) != len(view.text) or "\u03a3" in view.text:
        # Many words, or letters in lower case that are more letters or other ones within a word.
        yield from (
            i for i, start in enumerate(view.starts) if start not in found and view.key(i) in words
        )
        return
    for word in words:
        at = lowered.find(word)
        while at >= 0:
            if at not in found:
                index = view.word_from(at)
                if (
                    index < len(view.starts)
                    and view.starts[index] == at
                    and view.key(index) == word
                ):
                    yield index
            at = lowered.find(word, at + len(word))


def _words(
    names: Iterable[Candidate], view: TextView, grammar: NameGrammar
) -> tuple[set[str], set[str], set[int]]:
    """Words of the names that are no ordinary vocabulary, and where all start.

    Between the two come the words of the surest names that are ordinary vocabulary.
    """
    surest: dict[tuple[int, int], bool] = {}
    for start, end, _, score, *_ in names:
        surest[start, end] = score >= STRONGEST or surest.get((start, end), False)
    starts, stops = view.starts, view.stops
    found: set[int] = set()
    words: dict[str, bool] = {}
    for (start, end), sure in surest.items():
        index = view.word_from(start)
        while index < len(stops) and stops[index] <= end:
            found.add(starts[index])
            word = view.words[index]
            words[word] = sure or words.get(word, False)
            index += 1
    known: set[str] = set()
    common: set[str] = set()
    for word, sure in words.items():
        key = key_of(word)
        if key in known:
            continue
        kind = grammar.kind(key)
        if len(key) < MIN_LETTERS or kind & (WordKind.STOP | WordKind.PARTICLE):
            continue
        if not kind & WordKind.COMMON:
            known.add(key)
            known.update(
                stem for stem in grammar.lexicon.stems(key) if not grammar.kind(stem) & _WORDS
            )
        elif sure:
            common.add(key)
    return known, common - known, found


def _personal(view: TextView, index: int, grammar: NameGrammar) -> bool:
    """Whether a capitalised word stands where a person would."""
    word, gap = view.words[index], view.gaps[index]
    following = view.words[index + 1] if index + 1 < len(view.starts) else ""
    if not word[0].isupper() or not word[1:2].islower() or view.gaps[index + 1][:1] == ":":
        return False
    acts = bool(grammar.kind(following) & WordKind.PERSON_VERB) or following in _AUXILIARIES
    if word != strip_possessive(word) or (acts and view.gaps[index + 1] == " "):
        return True
    inside = gap in (" ", ", ") and index > 0 and not view.words[index - 1][0].isupper()
    return (
        inside
        and not following[:1].isupper()
        and not grammar.kind(following) & (WordKind.EPONYM_TAIL | WordKind.INSTITUTION)
    )


def _extend_by_initial(view: TextView, index: int, end: int) -> int:
    """End of ``Lee J.`` after ``Lee``, or ``end``."""
    at = index + 1
    if (
        at < len(view.starts)
        and view.gaps[at] == " "
        and is_pointed(view, at)
        and not degree(view, at)
    ):
        return view.stops[at] + 1
    return end


def _initials(view: TextView, index: int) -> int:
    """Index of the first of the initials before a word, or its own."""
    while index and view.gaps[index] in (". ", ".") and is_initial(view.words[index - 1]):
        index -= 1
    return index
