"""One note being written.

Expands the rules of a grammar in the light of its patient, day and style.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from deid_assets.extending import ConfigError, Phi
from deid_synthesis.grammar import Grammar, GrammarRule
from deid_synthesis.layout import Style
from deid_synthesis.nodes import Node
from deid_synthesis.people import Variables
from deid_synthesis.text import Piece, Text

Memory = dict[tuple[str, str], tuple[Piece, ...]]


@dataclass(slots=True, kw_only=True)
class NoteWriter:
    """Writes one note; implements ``nodes.Writer``.

    Args:
        grammar: Rules of the language.
        rng: The note's own source of chance.
        tags: Topic, variant and sex, in the order in which they choose rules.
        subjects: Variables by subject (``pt``, ``dr``, ``admit``, ...).
        variables: Variables that need no subject.
        memory: What this patient keeps from note to note; added to while writing.
        style: Typographic habits.
        cases: Hard-case sentences to be placed by ``{extra}``; emptied while writing.
        with_phi: Whether labelled rules are allowed.
    """

    grammar: Grammar
    rng: Random
    tags: tuple[str, ...]
    subjects: Mapping[str, Variables]
    variables: Variables
    memory: Memory
    style: Style
    cases: list[str]
    with_phi: bool = True
    placed: list[str] = field(default_factory=list)
    _scope: Variables = field(default_factory=dict)
    _unused: dict[int, list[Node]] = field(default_factory=dict)
    _fits: dict[int, list[Node]] = field(default_factory=dict)
    _found: dict[str, GrammarRule] = field(default_factory=dict)

    def write(self, name: str) -> Text:
        """Return the expansion of a rule.

        Raises:
            ConfigError: A rule or subject is missing, or a note without PHI would get some.
        """
        out: list[Piece] = []
        self.refer("", name, out)
        return Text(tuple(drop_double_stops(out)))

    def refer(self, subject: str, name: str, out: list[Piece]) -> None:
        """Append a variable of the subject or of the note, else the expansion of the rule of that
        name.
        """
        outer = self._scope
        if subject:
            if subject not in self.subjects:
                raise ConfigError(
                    f"grammar {self.grammar.lang!r}: no subject {subject!r} for {name!r}"
                )
            self._scope = self.subjects[subject]
        value = self._scope.get(name)
        if value is None:
            value = self.variables.get(name)
        if value is None:
            self._expand(name, out)
        else:
            out.append(Piece(value))
        self._scope = outer

    def _rule(self, name: str) -> GrammarRule:
        rule = self._found.get(name)
        if rule is None:
            rule = self._found[name] = self.grammar.find(name, self.tags)
        return rule

    def _expand(self, name: str, out: list[Piece]) -> None:
        rule = self._rule(name)
        if rule.once:
            key = (name, self._scope.get("key", ""))
            if key not in self.memory:
                fresh: list[Piece] = []
                self._one(rule, fresh)
                self.memory[key] = tuple(fresh)
            out.extend(self.memory[key])
        else:
            self._one(rule, out)

    def _one(self, rule: GrammarRule, out: list[Piece]) -> None:
        if rule.label is None:
            self._pick(rule).emit(self, out)
            return
        if not self.with_phi:
            raise ConfigError(
                f"grammar {self.grammar.lang!r}: a note without PHI reaches {rule.name!r}"
            )
        inner: list[Piece] = []
        self.rng.choice(self._fitting(rule)).emit(self, inner)
        native = self._scope.get("role", "") if rule.label is Phi.NAME else ""
        out.append(Piece("".join(piece.text for piece in inner), rule.label, native))

    def _fitting(self, rule: GrammarRule) -> list[Node]:
        fitting = self._fits.get(id(rule))
        if fitting is None:
            fitting = self._fits[id(rule)] = rule.fitting(self.tags)
        return fitting

    def _pick(self, rule: GrammarRule) -> Node:
        """Return an alternative that this note has not used, as long as there is one."""
        if len(rule.alternatives) == 1:
            return rule.alternatives[0]
        unused = self._unused.get(id(rule))
        if not unused:
            unused = self._unused[id(rule)] = list(self._fitting(rule))
        return unused.pop(self.rng.randrange(len(unused)))

    def count_left(self, name: str) -> int:
        """Return how many alternatives of a rule this note has not used.

        All of them when none is left.
        """
        rule = self._rule(name)
        return len(self._unused.get(id(rule)) or self._fitting(rule))

    def heading(self, name: str, out: list[Piece]) -> None:
        """Append a section heading in the note's style."""
        words: list[Piece] = []
        self._expand(f"head.{name}", words)
        title = "".join(piece.text for piece in words)
        out.append(
            Piece(
                self.style.heading.format(title.upper() if self.style.heading_capitals else title)
            )
        )

    def header(self, fields: Sequence[str], out: list[Piece]) -> None:
        """Append field lines; a name that ends in ``?`` is left out of half of the notes."""
        written = [
            name.rstrip("?") for name in fields if not name.endswith("?") or self.rng.random() < 0.5
        ]
        for number, name in enumerate(written):
            line: list[Piece] = []
            self._expand(f"field.{name}", line)
            if number:
                out.append(Piece(self.style.field_gap))
            out.extend(self._field(line))

    def _field(self, line: list[Piece]) -> Iterator[Piece]:
        """Yield a field with the note's mark in the place of the first tab, and its name in the
        note's letters.
        """
        named = False
        for piece in line:
            if named or piece.label is not None:
                yield piece
                continue
            name, tab, rest = piece.text.partition("\t")
            named = bool(tab)
            mark = self.style.field_mark if tab else ""
            yield Piece(
                (name.upper() if self.style.field_capitals else name)
                + mark
                + rest.replace("\t", ": ")
            )

    def hard_case(self, out: list[Piece]) -> None:
        """Append a planned hard case as a sentence of its own, after a space."""
        if self.cases and self.with_phi:
            name = self.cases.pop()
            self.placed.append(name)
            out.append(Piece(" "))
            self._expand(f"case.{name}", out)

    def bullet(self, number: int) -> str:
        """Return the list mark of the note's style."""
        return self.style.bullet.format(number)


def drop_double_stops(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Drop the full stop that follows one: "Seen by J.S.." becomes "Seen by J.S."."""
    last = ""
    for piece in pieces:
        repeated = (
            piece.label is None and last == "." and piece.text[:1] == "." and piece.text[:2] != ".."
        )
        yield Piece(piece.text[1:]) if repeated else piece
        last = piece.text[-1:] or last
