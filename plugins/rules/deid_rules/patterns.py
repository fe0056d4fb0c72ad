"""Patterns as a language folder declares them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from deid_assets.extending import ConfigError, Phi

# Letters by code range, which keeps RE2's programs small: Latin with accents and those of
# Vietnamese, combining marks, Greek, Cyrillic; of blocks where capitals alternate with small
# letters, both.
_LETTER = (
    r"A-Za-z\x{aa}\x{ba}\x{c0}-\x{d6}\x{d8}-\x{f6}\x{f8}-\x{24f}\x{300}-\x{52f}\x{1e00}-\x{1eff}"
)
_CAPITAL = (
    r"A-Z\x{c0}-\x{d6}\x{d8}-\x{de}\x{100}-\x{17f}\x{1a0}-\x{1b0}\x{218}-\x{21b}"
    r"\x{386}-\x{3ab}\x{400}-\x{42f}\x{1e00}-\x{1eff}"
)
BUILTIN_WORDS: Mapping[str, Sequence[str]] = {
    "letter": [f"[{_LETTER}]"],
    "capital": [f"[{_CAPITAL}]"],
    # A capitalised word, any word, with apostrophes and hyphens inside.
    "Word": [rf"[{_CAPITAL}][{_LETTER}]*(?:[\x27\x{{2019}}\-][{_LETTER}]+)*"],
    "word": [rf"[{_LETTER}]+(?:[\x27\x{{2019}}\-][{_LETTER}]+)*"],
    # One blank within a line.
    "gap": [r"[ \t\x{a0}\x{202f}]"],
}
WITHIN = ("name_line", "name_header", "name_margin", "name_author")
"""Walks that judge the group ``phi`` of a match."""
WALKS = (
    *WITHIN,
    "name",
    "name_titled",
    "name_cased",
    "name_any",
    "name_field",
    "name_plain",
    "name_lower",
    "name_small",
    "name_known",
    "name_back",
    "name_back_any",
    "proper",
    "proper_plain",
    "proper_back",
)
BOUNDARIES = ("word", "class", "none")
OVER_89 = "over_89"
NATIVE_LABELS = frozenset(("", OVER_89, "year"))
"""Finer kinds that a span may have; none of them is text of a note."""
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_NOT_READ = frozenset("pPCQ")
"""Escapes that the looser forms and the code page cannot put in bytes."""
_CATEGORY_GROUP = re.compile(r"\(\?P<([A-Z_]+)\d*>")
_MACRO = re.compile(r"\{\{(\w+)\}\}")


@dataclass(frozen=True, slots=True)
class Pattern:
    """One rule of a language's ``patterns.toml``.

    Args:
        id: Unique within the language.
        regex: RE2 syntax; ``{{words}}`` stands for an alternation. A group ``phi`` narrows the
            span, a group named as a category (``CITY``, ``ZIP2``) gives a span of its own.
        label: Category of the match or of its group ``phi``; not needed where only category groups
            are used.
        score: Evidence, or 0 where the pattern counts only with its context or check.
        native: Finer kind, one of ``NATIVE_LABELS``.
        check: Name of a check the span must pass.
        unchecked_score: Score where the check fails; 0 drops the match.
        phone: Regions whose number plans judge the span: a valid number scores at least
            ``phone_score``, one that no plan allows loses a tenth of its score. ``["+"]`` for
            numbers with a country code.
        phone_score: Score of a valid number.
        context: Words of which one must be near for ``context_score``.
        context_score: Score with context.
        reach: How many characters before and after the match the context may be.
        not_before: Python regex, with four bars or more also RE2's; drops the match when the 24
            characters before the span end with it. With category groups, what counts is the whole
            match.
        not_after: Python regex; drops the match when the 40 characters after the span begin with
            it.
        walk: From the match on, or from its group ``phi``, let a word grammar find the end
            (``name``, ``name_cased``, ``name_any``, ``proper``) or the start (``name_back``,
            ``proper_back``).
        keep: The match, or its group ``phi``, is no PHI: candidates within it of a lower score are
            dropped. Entries of the array ``keep`` have it set.
        proper: Drop the match when the words of its first group are all common vocabulary, or all
            names of people; for places that only a format tells.
        profiles: Names of the profiles the pattern is for; empty for all.
        boundary: ``word``: no letter or digit may touch the span; ``class``: no letter a letter and
            no digit a digit; ``none``: not checked.
    """

    id: str
    regex: str
    label: Phi | None = None
    score: float = 0.0
    native: str = ""
    check: str = ""
    unchecked_score: float = 0.0
    phone: tuple[str, ...] = ()
    phone_score: float = 0.9
    context: tuple[str, ...] = ()
    context_score: float = 0.9
    reach: int = 50
    not_before: str = ""
    not_after: str = ""
    walk: str = ""
    keep: bool = False
    proper: bool = False
    profiles: tuple[str, ...] = ()
    boundary: str = "word"

    @property
    def labels(self) -> frozenset[Phi]:
        """Categories that the pattern can give."""
        if self.keep:
            return frozenset()
        named = {Phi(name) for name in _CATEGORY_GROUP.findall(self.regex)}
        return frozenset(named | ({self.label} if self.label is not None else set()))


_KEYS = frozenset(known.name for known in fields(Pattern))


def read_patterns(
    declared: Mapping[str, Any], words: Mapping[str, Sequence[str]], origin: str
) -> list[Pattern]:
    """Return the patterns of a parsed ``patterns.toml`` with their macros expanded.

    Args:
        declared: The parsed file: an optional table ``words`` and the arrays ``pattern`` and
            ``keep``.
        words: Word lists of other files that the patterns may use.
        origin: Named in errors.

    Raises:
        ConfigError: A key, label, walk, boundary or word list is unknown, or an id occurs twice.
    """
    alternations = Alternations({**BUILTIN_WORDS, **words, **declared.get("words", {})})
    if unknown := set(declared) - {"words", "pattern", "keep"}:
        raise ConfigError(
            f"{origin}: unknown keys {', '.join(sorted(unknown))}; known are words, pattern and"
            " keep"
        )
    kept = [{"score": 1.0, **entry, "keep": True} for entry in declared.get("keep", [])]
    patterns = [
        _read_pattern(entry, alternations, origin)
        for entry in [*declared.get("pattern", []), *kept]
    ]
    ids = [pattern.id for pattern in patterns]
    if doubled := {id_ for id_ in ids if ids.count(id_) > 1}:
        raise ConfigError(
            f"{origin}: pattern ids must differ, these occur twice: {', '.join(sorted(doubled))}"
        )
    return patterns


def _read_pattern(entry: Mapping[str, Any], alternations: Alternations, origin: str) -> Pattern:
    name = f"{origin}: pattern {entry.get('id', '(without id)')!r}"
    if unknown := set(entry) - _KEYS:
        raise ConfigError(
            f"{name}: unknown keys {', '.join(sorted(unknown))}; known are"
            f" {', '.join(sorted(_KEYS))}"
        )
    settings = dict(entry)
    if "regex" not in entry:
        raise ConfigError(f"{name}: a pattern needs a regex")
    try:
        for key in ("regex", "not_before", "not_after"):
            settings[key] = alternations.expand(settings.get(key, ""))
        for key in ("context", "phone", "profiles"):
            settings[key] = tuple(settings.get(key, ()))
        if "label" in settings:
            settings["label"] = Phi(settings["label"])
        pattern = Pattern(**settings)
    except (KeyError, TypeError, ValueError) as error:
        raise ConfigError(f"{name}: {error}") from error
    if unread := _NOT_READ.intersection(_ESCAPED.findall(pattern.regex)):
        raise ConfigError(
            f"{name}: \\{min(unread)} is not read; write {{{{letter}}}} or {{{{capital}}}}, or the"
            " characters"
        )
    _check_choices(pattern, name)
    return pattern


def _check_choices(pattern: Pattern, name: str) -> None:
    if pattern.walk and pattern.walk not in WALKS:
        raise ConfigError(f"{name}: walk must be one of {', '.join(WALKS)}")
    if pattern.native not in NATIVE_LABELS:
        raise ConfigError(
            f"{name}: native must be one of {', '.join(sorted(NATIVE_LABELS - {''}))}"
        )
    if pattern.boundary not in BOUNDARIES:
        raise ConfigError(f"{name}: boundary must be one of {', '.join(BOUNDARIES)}")


class Alternations(dict[str, str]):
    """The alternation of each word list, its longest entry first, made when first asked for."""

    def __init__(self, words: Mapping[str, Sequence[str]]) -> None:
        super().__init__()
        self._words = words

    def __missing__(self, name: str) -> str:
        entries = sorted(self._words[name], key=len, reverse=True)
        self[name] = made = "(?:" + "|".join(self.expand(entry) for entry in entries) + ")"
        return made

    def expand(self, regex: str) -> str:
        """Replace each ``{{list}}`` by the alternation of its entries.

        Raises:
            KeyError: There is no such list.
        """
        return _MACRO.sub(lambda macro: self[macro[1]], regex)
