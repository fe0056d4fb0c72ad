"""Sections of the notes of a grammar: the titles of their headings, and what may stand in them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from deid_synthesis.grammar import Grammar, load_grammar
from deid_synthesis.nodes import Node, parse

_HEADING = re.compile(r"\{=([a-z0-9_.]+)\}")
_WORDS = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class SectionBank:
    """What notes are put together from.

    Args:
        titles: Kind of section by its title, in lower case, words alone.
        bodies: By kind, what may stand under its heading.
        bodies_free: The same without identifiers.
        whole: Names of the rules of notes without headings.
        whole_free: The same without identifiers.
    """

    titles: Mapping[str, str] = field(repr=False)
    bodies: Mapping[str, tuple[Node, ...]] = field(repr=False)
    bodies_free: Mapping[str, tuple[Node, ...]] = field(repr=False)
    whole: tuple[str, ...]
    whole_free: tuple[str, ...]

    def kind_of(self, title: str) -> str:
        """Return the kind of a section by its title; empty where it is none of the grammar's."""
        return self.titles.get(plain(title), "")


def plain(title: str) -> str:
    """Return the words of a title in lower case."""
    return " ".join(_WORDS.findall(title)).lower()


@cache
def section_bank(lang: str) -> SectionBank:
    """Return the sections of a language's grammar.

    Raises:
        ConfigError: The language has no grammar.
    """
    grammar = load_grammar(lang)
    titles: dict[str, str] = {}
    for rule in grammar.rules.values():
        if rule.name.startswith("head."):
            for line in rule.lines:
                titles.setdefault(plain(line), rule.name.removeprefix("head."))
    return SectionBank(
        titles,
        _bodies(grammar, "note."),
        _bodies(grammar, "free."),
        _whole(grammar, "note."),
        _whole(grammar, "free."),
    )


def _bodies(grammar: Grammar, prefix: str) -> dict[str, tuple[Node, ...]]:
    found: dict[str, dict[str, None]] = {}
    for rule in grammar.rules.values():
        if not rule.name.startswith(prefix):
            continue
        for source in rule.lines:
            parts = _HEADING.split(source)
            for kind, body in zip(parts[1::2], parts[2::2], strict=True):
                first = body.strip("\n").split("\n\n")[0].strip()
                if first and not kind.startswith("title."):
                    found.setdefault(kind, {})[first] = None
    return {
        kind: tuple(parse(body.replace("\\n", "\n").replace("\\t", "\t")) for body in bodies)
        for kind, bodies in found.items()
    }


def _whole(grammar: Grammar, prefix: str) -> tuple[str, ...]:
    """Return the names of the rules of notes of which some are without headings."""
    names = ("letter", "message", "nursing")
    return tuple(f"{prefix}{name}" for name in names if f"{prefix}{name}" in grammar.rules)
