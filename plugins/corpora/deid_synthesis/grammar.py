"""Grammar files: how sentences and notes of a language are written.

The folder ``synthesis`` of a language holds ``*.txt`` files. A file holds rules, a rule
holds alternatives::

    # comment
    [symptom]                     one alternative per line
    chest pain
    3* shortness of breath        three times as likely
    [date.text : DATE]            the expansion is one piece of PHI
    [mrn : MRN !]                 ... and stays the same in all notes of a patient
    [address @gb]                 used instead of [address] where the tag "gb" holds
    <stroke tia> weak left arm    only where one of the tags holds
    [[note.letter]]               alternatives span lines and are separated by "---"

Rules in ``topics/<topic>.txt`` carry the tag ``<topic>``. Inside an alternative:

==================  ==================================================================
``{name}``          a variable of the subject or note, else the rule of that name
``{pt:name}``       the same, with ``pt`` as the subject
``{^name}``         the same, with a capital first letter
``{a|b|}``          one of several texts, here also nothing
``{?30 text}``      the text, in 30 of 100 cases
``{name*2-4;, }``   two to four expansions joined by ", ", none twice while there are others
``{name#3-6}``      three to six lines, with the bullets of the note's style
``{=name}``         the heading ``head.name`` in the note's style
``{fields a b?}``   a header of the rules ``field.a`` and, in half of the notes, ``field.b``
``{extra}``         a sentence of a hard case, if the note has one left
``{int 60 90}``     a number; ``{dec 3.5 5.1}`` with as many decimals as the bounds
``{digits ##-@}``   an identifier from a pattern; ``{valid ssn}`` one with check digits
==================  ==================================================================
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib.resources.abc import Traversable

from deid_assets.extending import ConfigError, Phi
from deid_assets.extending.grammars import grammars
from deid_synthesis.nodes import Node, parse

_HEADER = re.compile(
    r"(?P<open>\[\[?)(?P<name>[a-z0-9_.]+)(?:\s*@(?P<tag>\w+))?(?:\s*:\s*(?P<label>[A-Z_]+))?(?P<once>\s*!)?\]\]?$"
)
CASE = "inflect."
"""With what the names of rules begin that write words in a case."""
_ONLY = re.compile(r"<([a-z0-9_ ]+)> ")
_WEIGHT = re.compile(r"(\d+)\* ")


@dataclass(frozen=True, slots=True)
class GrammarRule:
    """Alternatives for one name.

    Args:
        name: Name in the grammar, without tag.
        label: Category of the whole expansion, or ``None``.
        once: Whether a patient keeps the first expansion.
        alternatives: What it can expand to; a weighted line appears several times.
        lines: The same as written, for lists that code reads.
        only: Per alternative, the tags of which one must hold; empty where it always fits.
    """

    name: str
    label: Phi | None
    once: bool
    alternatives: tuple[Node, ...] = field(repr=False)
    lines: tuple[str, ...] = field(repr=False)
    only: tuple[frozenset[str], ...] = field(repr=False)

    def fitting(self, tags: Iterable[str]) -> list[Node]:
        """Return the alternatives that the tags allow.

        Raises:
            ConfigError: There is none.
        """
        held = frozenset(tags)
        nodes = [
            node
            for node, only in zip(self.alternatives, self.only, strict=True)
            if not only or only & held
        ]
        if not nodes:
            raise ConfigError(
                f"rule {self.name!r} has no alternative for tags {', '.join(sorted(held))}; add one"
            )
        return nodes


@dataclass(frozen=True, slots=True)
class Grammar:
    """The rules of one language, by name and by ``name@tag``.

    Args:
        lang: ISO 639-1.
        rules: By name, and by ``name@tag``.
        topics: Tags of the files that hold them.
        cases: Cases that names are written in: what follows ``inflect.`` in names of rules.
    """

    lang: str
    rules: dict[str, GrammarRule] = field(repr=False)
    topics: tuple[str, ...] = ()
    cases: tuple[str, ...] = ()

    def find(self, name: str, tags: tuple[str, ...]) -> GrammarRule:
        """Return the rule for the first tag that has one, else the rule without a tag.

        Raises:
            ConfigError: There is no such rule.
        """
        for tag in tags:
            if rule := self.rules.get(f"{name}@{tag}"):
                return rule
        if rule := self.rules.get(name):
            return rule
        raise ConfigError(
            f"grammar {self.lang!r}: no rule {name!r} for tags {', '.join(tags) or 'none'}; add it"
        )

    def lines(self, name: str, *tags: str) -> tuple[str, ...]:
        """Return the alternatives of a rule as written."""
        return self.find(name, tags).lines


@cache
def load_grammar(lang: str) -> Grammar:
    """Return the grammar of a language.

    Raises:
        ConfigError: The language has no grammar, or a file has a fault; the message names file and
            line.
    """
    if lang not in grammars.languages():
        raise ConfigError(
            f"no grammar for language {lang!r}; choose one of {', '.join(grammars.languages())}"
        )
    rules: dict[str, GrammarRule] = {}
    topics = []
    for path in sorted(grammars.folder(lang).iterdir(), key=lambda entry: entry.name):
        if path.name.endswith(".txt"):
            _add(rules, path, "")
        elif path.is_dir():
            for inner in sorted(path.iterdir(), key=lambda entry: entry.name):
                topic = inner.name.removesuffix(".txt") if path.name == "topics" else ""
                topics += [topic] if topic else []
                _add(rules, inner, topic)
    names = {rule.name for rule in rules.values() if rule.name.startswith(CASE)}
    return Grammar(
        lang, rules, tuple(topics), tuple(sorted(name.removeprefix(CASE) for name in names))
    )


def _add(rules: dict[str, GrammarRule], path: Traversable, topic: str) -> None:
    for key, rule in _rules(path.read_text(encoding="utf-8"), path.name, topic):
        if key in rules:
            raise ConfigError(f"{path.name}: rule {key!r} is defined twice; merge the two")
        rules[key] = rule


def _rules(source: str, filename: str, topic: str) -> Iterator[tuple[str, GrammarRule]]:
    header: re.Match[str] | None = None
    body: list[str] = []
    for number, line in enumerate([*source.splitlines(), "[end]"], start=1):
        if line.startswith("#"):
            continue
        if not line.startswith("["):
            body.append(line)
            continue
        if header is not None:
            yield _rule(header, body, f"{filename}, before line {number}", topic)
        header, body = _HEADER.match(line.strip()), []
        if header is None:
            raise ConfigError(
                f"{filename}, line {number}: not a rule header; write [name], [name @tag] or [name"
                " : LABEL]"
            )


def _rule(
    header: re.Match[str], body: list[str], place: str, topic: str
) -> tuple[str, GrammarRule]:
    if header["open"] == "[[":
        lines = [
            block.strip("\n") for block in re.split(r"^---$", "\n".join(body), flags=re.MULTILINE)
        ]
    else:
        lines = [line for text in body if text.strip() for line in _weigh_line(text)]
    conditions, lines = _conditions([line for line in lines if line])
    if not lines:
        raise ConfigError(f"{place}: rule {header['name']!r} has no alternatives; add a line")
    label = header["label"]
    if label and label not in Phi.__members__:
        raise ConfigError(f"{place}: {label!r} is not a PHI category")
    try:
        alternatives = tuple(
            parse(line.replace("\\n", "\n").replace("\\t", "\t")) for line in lines
        )
    except ValueError as error:
        raise ConfigError(f"{place}: rule {header['name']!r}: {error}") from None
    tag = header["tag"] or topic
    key = f"{header['name']}@{tag}" if tag else header["name"]
    return key, GrammarRule(
        header["name"],
        Phi(label) if label else None,
        bool(header["once"]),
        alternatives,
        tuple(lines),
        conditions,
    )


def _conditions(lines: list[str]) -> tuple[tuple[frozenset[str], ...], list[str]]:
    """Split the leading ``<tag tag>`` off each line."""
    matches = [_ONLY.match(line) for line in lines]
    only = tuple(frozenset(match[1].split()) if match else frozenset() for match in matches)
    return only, [
        line[match.end() :] if match else line for line, match in zip(lines, matches, strict=True)
    ]


def _weigh_line(line: str) -> list[str]:
    match = _WEIGHT.match(line)
    if match is None:
        return [line.strip()]
    return [line[match.end() :].strip()] * int(match[1])
