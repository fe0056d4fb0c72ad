"""Patterns compiled for RE2, which cannot backtrack.

Here is also what tells whether their surroundings rule a span out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import re2

from deid_assets.extending import ConfigError, Phi
from deid_rules.checks import Check, check_named
from deid_rules.paged import recode
from deid_rules.patterns import WITHIN, Pattern
from deid_rules.phones import Confirm, phone_in

_ANYWHERE = re2._re2.RE2.Anchor.UNANCHORED  # noqa: SLF001
_CODE_POINT = re.compile(r"\\x\{([0-9A-Fa-f]+)\}")
_MANY = 4
"""Bars in an expression from which on RE2 is faster than Python's engine.

The question to both is whether a piece of text ends with the expression.
"""
_PYTHON_ALONE = re.compile(r"\\s|\(\?[<=!]")
"""What RE2 does not have, and blanks, of which Python knows more."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """A pattern and its machines.

    Args:
        pattern: As declared.
        find: Finds the next match, in the engine's own terms.
        groups: Groups that give spans, with their categories.
        check: Check of a span.
        phone: Judge of a span by number plans.
        whole: Whether what may stand around counts for the whole match.
        within: Whether its walk judges the group ``phi``.
        bounded: Whether letters and digits that touch a span rule it out.
        several: Whether a match may give several spans, or must hold a proper noun.
        forbids: Whether what stands around may rule a span out.
        plain: Whether each span has the pattern's score.
        context: Words near a span that raise its score.
        not_before: Tells whether what stands before rules a span out.
        not_after: What may not stand after.
    """

    pattern: Pattern
    find: Any
    groups: tuple[tuple[int, Phi], ...]
    check: Check | None
    phone: Confirm | None
    whole: bool
    within: bool
    bounded: bool
    several: bool
    forbids: bool
    plain: bool
    context: re.Pattern[str] | None
    not_before: Callable[[str], object] | None
    not_after: re.Pattern[str] | None


def compile_pattern(pattern: Pattern, origin: str, *, paged: bool = True) -> Compiled:
    """Compile one pattern.

    Args:
        pattern: As declared.
        origin: Named in errors.
        paged: Whether it is for texts in Windows-1252; if not, in UTF-8.

    Raises:
        ConfigError: The expression is not RE2, or its label, groups or check are unknown.
    """
    options, for_page = re2.Options(), re2.Options()
    options.log_errors = for_page.log_errors = False
    for_page.encoding = re2.Options.Encoding.LATIN1
    try:
        written = recode(pattern.regex) if paged else pattern.regex
        regex = re2.compile(written.encode(), options=for_page if paged else options)
        check = check_named(pattern.check) if pattern.check else None
        not_before = _ending(pattern.not_before, options) if pattern.not_before else None
        not_after = _python(pattern.not_after) if pattern.not_after else None
        groups = tuple(
            (index, _group_label(name.decode(), pattern))
            for name, index in regex.groupindex.items()
        )
    except (re2.error, re.error, KeyError, ValueError) as error:
        raise ConfigError(f"{origin}: pattern {pattern.id!r}: {error}") from error
    if not groups and pattern.label is None and not pattern.keep:
        raise ConfigError(f"{origin}: pattern {pattern.id!r} needs a label")
    whole = bool(groups) and b"phi" not in regex.groupindex
    return Compiled(
        pattern=pattern,
        find=regex._regexp.Match,  # noqa: SLF001
        groups=groups or ((0, pattern.label or Phi.OTHER),),
        check=check,
        phone=(
            phone_in(*(region for region in pattern.phone if region != "+"))
            if pattern.phone
            else None
        ),
        whole=whole,
        within=pattern.walk in WITHIN,
        bounded=pattern.boundary != "none",
        several=whole or pattern.proper or len(groups) > 1,
        forbids=bool(not_before or not_after),
        plain=not (pattern.check or pattern.context or pattern.phone),
        context=_context(pattern.context),
        not_before=not_before,
        not_after=not_after,
    )


def matches(find: Any, data: bytes) -> Iterator[Sequence[tuple[int, int]]]:
    """Yield the byte offsets of the groups of each match, as ``finditer`` finds them.

    (-1, -1) for one that took no part.

    What the engine's module puts around each match costs more than most matches do, so its machine
    is asked itself.

    Args:
        find: The machine's ``Match``.
        data: The text.
    """
    at, end = 0, len(data)
    while (groups := find(_ANYWHERE, data, at, end))[0][0] >= 0:
        yield groups
        if at == end:
            return
        last = groups[0][1]
        at = last if last > at else at + 1


def _ending(regex: str, options: Any) -> Callable[[str], object]:
    """Return what tells whether a piece of text ends with an expression.

    Python's engine tries each alternative at each character. Where there are many, RE2 reads a
    piece in ASCII, in which the two agree, once.
    """
    python = _python(rf"(?:{regex})\Z").search
    if regex.count("|") < _MANY or _PYTHON_ALONE.search(regex):
        return python
    find = re2.compile(rf"(?:{regex})\z".encode(), options=options)._regexp.Match  # noqa: SLF001

    def ends(piece: str) -> object:
        return (
            find(_ANYWHERE, piece.encode(), 0, len(piece))[0][0] >= 0
            if piece.isascii()
            else python(piece)
        )

    return ends


def _python(regex: str) -> re.Pattern[str]:
    r"""Compile for Python's engine; it writes RE2's ``\x{e9}`` in four or eight digits."""
    return re.compile(_CODE_POINT.sub(lambda match: f"\\U{int(match[1], 16):08x}", regex))


def _group_label(name: str, pattern: Pattern) -> Phi:
    if name == "phi":
        if pattern.label is None and not pattern.keep:
            raise ValueError("a group phi needs a label")
        return pattern.label or Phi.OTHER
    return Phi(name.rstrip("0123456789"))


def _context(words: Sequence[str]) -> re.Pattern[str] | None:
    if not words:
        return None
    alternatives = "|".join(re.escape(word).replace(r"\ ", r"\s+") for word in words)
    return re.compile(rf"(?<!\w)(?:{alternatives})(?!\w)", re.IGNORECASE)
