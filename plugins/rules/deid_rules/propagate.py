"""Once a name is known, every other mention of it in the note."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from deid_assets.core.phi import Phi
from deid_rules.candidate import Candidate
from deid_rules.grammar import NameGrammar, is_initial, without_possessive
from deid_rules.lexicon import Kind
from deid_rules.view import View

STRONG, PROPAGATED = 0.75, 0.7
MIN_LETTERS = 3


def propagate(names: Iterable[Candidate], view: View, grammar: NameGrammar) -> Iterator[Candidate]:
    """Yield each mention of a word of a strong name, whatever its case or possessive.

    Words in lower case are looked at only where a name was found in lower case. A word that is common
    vocabulary is not carried over.
    """
    strong = [name for name in names if name.score >= STRONG]
    known = _words(strong, view, grammar)
    if not known:
        return
    lower = any(view.text[name.start].islower() for name in strong)
    for index in range(len(view.words)) if lower else view.capitals:
        word = without_possessive(view.words[index])
        if word.lower() in known and not _eponymous(view, index, grammar):
            end = view.starts[index] + len(word)
            yield Candidate(view.starts[_initials(view, index)], end, Phi.NAME, PROPAGATED, "name_propagated")


def _words(names: Iterable[Candidate], view: View, grammar: NameGrammar) -> set[str]:
    known: set[str] = set()
    for name in names:
        first, last = view.word_from(name.start), view.word_before(name.end)
        for word in view.words[first : last + 1]:
            key = without_possessive(word).lower()
            if len(key) >= MIN_LETTERS and not grammar.kind(key) & (Kind.COMMON | Kind.STOP | Kind.PARTICLE):
                known.add(key)
    return known


def _initials(view: View, index: int) -> int:
    """Index of the first of the initials before a word, or its own."""
    while index and view.gaps[index] in (". ", ".") and is_initial(view.words[index - 1]):
        index -= 1
    return index


def _eponymous(view: View, index: int, grammar: NameGrammar) -> bool:
    at = index + 1
    return at < len(view.words) and view.gaps[at] == " " and bool(grammar.kind(view.words[at]) & Kind.EPONYM_TAIL)
