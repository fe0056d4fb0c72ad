"""Runs a language's patterns over a text: one pass to see which patterns occur, then only those."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from deid_assets.extending import Phi
from deid_rules.candidate import Candidate
from deid_rules.compiled import Compiled, matches
from deid_rules.grammar import NameGrammar
from deid_rules.lexicon import Lexicon, WordKind
from deid_rules.loosened import narrow
from deid_rules.patterns import Pattern
from deid_rules.phones import Phone
from deid_rules.proper import ProperGrammar
from deid_rules.sets import PatternSet
from deid_rules.uncased import Uncased
from deid_rules.view import TextView

Walk = Callable[[TextView, int, int], tuple[int, int] | None]
"""Function from a match [start, end) of a text to its span, if any.

Some are given the group ``phi`` of the match.
"""

WordWalk = Callable[[TextView, int], tuple[int, int] | None]
"""Function from the index of a word to a span that begins with it, if any."""

Groups = Sequence[tuple[int, int]]
"""Byte offsets of the groups of a match."""
IMPOSSIBLE_FACTOR = 0.9
_BEHIND, _AHEAD = 24, 40


class Scanner:
    """Pattern sets, ready to run.

    Args:
        sets: Of each language of the rules.
        lexicon: Kinds of words, for patterns that walk to where a name or a proper noun ends.
    """

    def __init__(self, sets: Sequence[PatternSet], lexicon: Lexicon) -> None:
        self._sets = sets
        self._lexicon = lexicon
        self._walks = _walks(lexicon)

    def scan(self, views: Sequence[TextView]) -> list[list[Candidate]]:
        """Return what the patterns find in each text.

        Patterns are in the outer loop: an automaton that stays in the processor's cache runs
        several times faster.
        """
        found: list[list[Candidate]] = [[] for _ in views]
        for paged in (True, False):
            alike = [each for each in zip(views, found, strict=True) if each[0].paged is paged]
            texts = [view.data if paged else narrow(view.text) for view, _ in alike]
            for pattern_set in self._sets:
                for index, where in pattern_set.occurring(texts).items():
                    self._run(pattern_set.compile(index, paged=paged), [alike[at] for at in where])
        return found

    def _run(self, compiled: Compiled, texts: Sequence[tuple[TextView, list[Candidate]]]) -> None:
        """Add what a pattern finds in each of some texts to what is found in it."""
        group, label = compiled.groups[0]
        walk, within = self._walks.get(compiled.pattern.walk), group if compiled.within else 0
        for view, added in texts:
            text, paged = view.text, view.paged
            for groups in matches(compiled.find, view.data):
                start, end = groups[group]
                if walk:
                    stop = groups[within][1]
                    span = (
                        walk(view, start, stop)
                        if paged
                        else walk(view, view.offset(start), view.offset(stop))
                    )
                    if span:
                        _add_span(compiled, text, label, span, added)
                elif compiled.several:
                    self._add_groups(compiled, groups, view, added)
                elif start < end:
                    span = (start, end) if paged else (view.offset(start), view.offset(end))
                    _add_span(compiled, text, label, span, added)

    def _add_groups(
        self, compiled: Compiled, groups: Groups, view: TextView, found: list[Candidate]
    ) -> None:
        """Add the candidates of some matches.

        Such a match gives several spans, or must hold a proper noun.
        """
        if compiled.pattern.proper and not self._is_proper(
            *_span(groups[compiled.groups[0][0]], view), view
        ):
            return
        if (
            compiled.whole
            and compiled.forbids
            and _is_forbidden(compiled, view.text, *_span(groups[0], view))
        ):
            return
        for group, label in compiled.groups:
            span = _span(groups[group], view)
            if span[0] < span[1]:
                _add_span(compiled, view.text, label, span, found, judged=compiled.whole)

    def _is_proper(self, start: int, end: int, view: TextView) -> bool:
        """Whether a range holds a word that may be a proper noun.

        Such a word is neither common vocabulary nor only a person's name.
        """
        words = view.between(view.word_from(start), view.word_before(end) + 1)
        kinds = [self._lexicon.kind(word) for word in words]
        return (bool(words) and self._lexicon.is_phrase(words)) or any(
            kind & WordKind.PLACE or not kind & (WordKind.COMMON | WordKind.STOP | WordKind.NAME)
            for kind in kinds
        )


def _add_span(
    compiled: Compiled,
    text: str,
    label: Phi,
    span: tuple[int, int],
    found: list[Candidate],
    *,
    judged: bool = False,
) -> None:
    """Add the candidate of a span, unless its surroundings or its score rule it out."""
    start, end = span
    pattern = compiled.pattern
    if compiled.bounded and _touches(text, start, end, pattern.boundary):
        return
    if not judged and compiled.forbids and _is_forbidden(compiled, text, start, end):
        return
    score = pattern.score if compiled.plain else _score(compiled, text, start, end)
    if score > 0:
        found.append(Candidate(start, end, label, score, pattern.id, pattern.native))


def _walks(lexicon: Lexicon) -> dict[str, Walk]:
    names, proper, uncased = NameGrammar(lexicon), ProperGrammar(lexicon), Uncased(lexicon)
    forward: dict[str, WordWalk] = {
        "name": partial(names.name_at, titled=True),
        "name_titled": names.name_titled,
        "name_any": partial(names.name_at, any_case=True, inverted=True),
        "name_field": partial(names.name_at, inverted=True),
        "name_plain": names.name_plain,
        "name_cased": names.name_cased,
        "name_lower": names.name_lower,
        "name_small": names.name_small,
        "name_known": uncased.find_known,
    }
    return {
        **{name: _from_word(walk) for name, walk in forward.items()},
        "name_margin": uncased.margin,
        "name_author": uncased.author,
        "name_line": names.name_line,
        "name_header": names.name_header,
        "name_back": lambda view, start, _: names.name_before(view, start),
        "name_back_any": lambda view, start, _: names.name_before(view, start, strange=True),
        "proper": proper.after,
        "proper_plain": proper.after_plain,
        "proper_back": proper.before,
    }


def _from_word(walk: WordWalk) -> Walk:
    """A walk that begins with the word that starts where the match ends."""

    def walk_on(view: TextView, _: int, end: int) -> tuple[int, int] | None:
        first = view.word_at(end)
        return None if first is None else walk(view, first)

    return walk_on


def _span(group: tuple[int, int], view: TextView) -> tuple[int, int]:
    """Code points of a group; (0, 0) where it took no part."""
    first, last = group
    if last <= first:
        return (0, 0)
    return group if view.paged else (view.offset(first), view.offset(last))


def _is_forbidden(compiled: Compiled, text: str, start: int, end: int) -> bool:
    """Whether what stands before or after rules the span out."""
    if compiled.not_after and compiled.not_after.match(text[end : end + _AHEAD]):
        return True
    return bool(compiled.not_before and compiled.not_before(text[max(0, start - _BEHIND) : start]))


def _score(compiled: Compiled, text: str, start: int, end: int) -> float:
    pattern = compiled.pattern
    score = pattern.score
    if score <= 0 and compiled.check and not compiled.check(text[start:end]):
        return pattern.unchecked_score
    if compiled.context and compiled.context.search(
        text[max(0, start - pattern.reach) : end + pattern.reach]
    ):
        score = max(score, pattern.context_score)
    if score > 0 and compiled.check and not compiled.check(text[start:end]):
        score = pattern.unchecked_score
    return (
        _judge(compiled.phone(text[start:end]), score, pattern)
        if compiled.phone and score > 0
        else score
    )


def _judge(phone: Phone, score: float, pattern: Pattern) -> float:
    """The score of a telephone number after the number plans have been asked."""
    if phone is Phone.VALID:
        return max(score, pattern.phone_score)
    return score if phone is Phone.POSSIBLE else score * IMPOSSIBLE_FACTOR


def _touches(text: str, start: int, end: int, boundary: str) -> bool:
    """Whether a letter or digit right beside the span is of one piece with it.

    It may stand right before or after the span.
    """
    if boundary == "word":
        return (start > 0 and text[start - 1].isalnum() and text[start].isalnum()) or (
            end < len(text) and text[end].isalnum() and text[end - 1].isalnum()
        )
    before, after = text[start - 1 : start] if start else "", text[end : end + 1]
    return _of_class(before, text[start : start + 1]) or _of_class(text[end - 1 : end], after)


def _of_class(left: str, right: str) -> bool:
    """Whether both are letters or both digits."""
    return (left.isalpha() and right.isalpha()) or (left.isdigit() and right.isdigit())
