"""Patterns that are looked for together: one pass over a text tells which of them may occur."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, TypeVar

import re2

from deid_assets.extending import ConfigError
from deid_rules.compiled import Compiled, compile_pattern
from deid_rules.loosened import loosen
from deid_rules.patterns import Pattern

T = TypeVar("T")
_SET_BYTES = 16 << 20
_SET_SIZE = 28
"""Patterns per set.

Larger ones are a little faster once warm, but their automata take more memory and keep growing on
new notes.
"""
_SENTINEL = rb"\z"
"""Occurs in every text.

A set that runs out of memory answers as if nothing occurred; this gives it away.
"""
_OPENING = re.compile(r"(?:\(\?[a-z]+\)|\\b|\(\?[a-z]*:|\(\?P<\w+>|\((?!\?)|\^)*(\\?.)(.?.?)")


class PatternSet:
    """Patterns that are looked for together; each is compiled alone when it first occurs.

    Args:
        patterns: At most ``_SET_SIZE`` of them, each with its looser form.
        origin: Language, named in errors.

    Raises:
        ConfigError: A pattern is not RE2 or does not fit the memory of a set.
    """

    def __init__(self, patterns: Sequence[tuple[Pattern, str]], origin: str) -> None:
        self.patterns, self._origin = [pattern for pattern, _ in patterns], origin
        self._compiled: dict[tuple[int, bool], Compiled] = {}
        self._set = _set_of(patterns, origin)

    def occurring(self, texts: Sequence[bytes | None]) -> dict[int, list[int]]:
        """Return by index of a pattern the texts to try it in.

        All in which it occurs, and few others.

        Where the set ran out of memory, it is every pattern.

        Args:
            texts: In Windows-1252, or as ``narrowed`` returns them.
        """
        found: dict[int, list[int]] = {}
        sentinel = len(self.patterns)
        for at, text in enumerate(texts):
            present = () if text is None else self._set.Match(text)
            for index in present if sentinel in present else range(sentinel):
                if index != sentinel:
                    found.setdefault(index, []).append(at)
        return found

    def compile(self, index: int, *, paged: bool) -> Compiled:
        """One of the patterns, compiled alone when first asked for.

        It is for texts in Windows-1252 or in UTF-8.
        """
        if (index, paged) not in self._compiled:
            self._compiled[index, paged] = compile_pattern(
                self.patterns[index], self._origin, paged=paged
            )
        return self._compiled[index, paged]


def pattern_sets(patterns: Sequence[Pattern], origin: str) -> list[PatternSet]:
    """Return the patterns in sets of such as begin alike.

    An automaton for patterns that all begin with a digit or mark rests while there is none; one for
    such as begin with digits, capitals and words has a state for each way in which these can be
    under way at once.
    """
    alike: dict[str, list[tuple[Pattern, str]]] = {}
    for pattern in patterns:
        loose = loosen(pattern.regex)
        alike.setdefault(_opening(loose), []).append((pattern, loose))
    return [PatternSet(run, origin) for group in alike.values() for run in _runs(group)]


def _runs(patterns: Sequence[T]) -> list[Sequence[T]]:
    """The patterns in runs of about the same size."""
    size = -(-len(patterns) // -(-len(patterns) // _SET_SIZE))
    return [patterns[at : at + size] for at in range(0, len(patterns), size)]


def _opening(regex: str) -> str:
    """What kind of character a pattern seems to begin with.

    A wrong guess costs time, no finding.
    """
    if "^" in regex[:10] or "[\\r\\n" in regex[:30]:
        return "line"
    found = _OPENING.match(regex)
    first, more = found.groups() if found else ("", "")
    if first.isalpha():
        return "word" if regex.startswith("(?i") or first.islower() else "capital"
    if first == "[" and more == "A-":
        return "capital"
    return "word" if first == "[" and more.isalpha() else "mark"


def _set_of(patterns: Sequence[tuple[Pattern, str]], origin: str) -> Any:
    """The engine's set of the patterns, and of one more that always occurs."""
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.max_mem = _SET_BYTES
    options.log_errors = False
    made = re2.Set.SearchSet(options)
    for pattern, loose in patterns:
        try:
            made.Add(loose.encode())
        except re2.error as error:
            raise ConfigError(f"{origin}: pattern {pattern.id!r}: {error}") from error
    made.Add(_SENTINEL)
    try:
        made.Compile()
    except re2.error as error:
        raise ConfigError(
            f"{origin}: a set of {len(patterns)} patterns needs more memory than it may take"
        ) from error
    return made._set  # noqa: SLF001 - the module around the engine only encodes texts
