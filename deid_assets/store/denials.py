"""Rules of people on values: deny rules name what must be in no release, allow rules what detectors
take for an identifier and is none. Each has the cases on which it is tried.

One signed partition of the restricted zone holds them, and nothing else does; it stays when the
last rule is lifted. A record of each batch in whose notes a rule covers or leaves something says
which rules did, by their keyed names, and is an input of the batch's merged spans.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, TypeVar

import pyarrow as pa

from deid_assets.core.errors import ProvenanceError
from deid_assets.core.keys import Key
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.pipeline.denying import AllowedValue, AllowedValues
from deid_assets.pipeline.leaks import LeakedValues, LeakPlace, strip_accents
from deid_assets.pipeline.spreading import MIN_DIGITS
from deid_assets.store.files import ALL, Receipt, StoreFiles, UnsignedReceipt

DENIED_VALUES = "denied_values"
DENIED_VERSION = "1"
_ALLOW_RULES = "allowed"
_TOKEN = re.compile(r"[^\W_]+")

_RULES = pa.schema(
    [
        pa.field(name, pa.string(), nullable=False)
        for name in ("rule", "value", "category", "by", "reason", "created_at")
    ]
)
_ALLOWED = pa.schema(
    [
        pa.field(name, pa.string(), nullable=False)
        for name in ("rule", "value", "category", "lang", "said", "by", "reason", "created_at")
    ]
)
_CASES = pa.schema(
    [
        pa.field("rule", pa.string(), nullable=False),
        pa.field("text", pa.string(), nullable=False),
        pa.field("start", pa.int32(), nullable=False),
        pa.field("end", pa.int32(), nullable=False),
        pa.field("patient_id", pa.string()),
    ]
)
_LIFTED = pa.schema(
    [
        pa.field(name, pa.string(), nullable=False)
        for name in ("rule", "by", "reason", "created_at", "lifted_at")
    ]
)

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class DenyRule:
    """A value that must be in no release.

    Args:
        rule: Keyed name; the same for a value however it is written.
        value: The value; it stands nowhere else.
        category: Of the spans that cover it.
        by: Who denied it.
        reason: Why.
        created_at: UTC, ISO 8601.
    """

    rule: str
    value: str = field(repr=False)
    category: str
    by: str
    reason: str = field(repr=False)
    created_at: str


@dataclass(frozen=True, slots=True)
class AllowRule:
    """A value that detectors take for an identifier, and that people found to be none.

    Args:
        rule: Keyed name; the same for a value in one spelling, category and language.
        value: The value, as it is spelt; it stands nowhere else.
        category: That was suggested.
        lang: Of the notes in which it holds; empty for notes of no known language.
        said: Which detectors took it for what, as ``compact:NAME rules:HOSPITAL``; where another
            one marks it, or as something else, the rule does not hold.
        by: Who rejected it.
        reason: Why.
        created_at: UTC, ISO 8601.
    """

    rule: str
    value: str = field(repr=False)
    category: str
    lang: str
    said: str
    by: str
    reason: str = field(repr=False)
    created_at: str

    @property
    def allowed(self) -> AllowedValue:
        """The value as the pipeline looks for it."""
        pairs = (one.rpartition(":") for one in self.said.split())
        said = frozenset((source, Phi(label)) for source, _, label in pairs)
        return AllowedValue(self.rule, self.value, self.lang, said)


@dataclass(frozen=True, slots=True)
class DenyCase:
    """A piece of a note in which a rule must find its value, whatever changes in the software.

    Args:
        rule: The rule.
        text: The value with what stands around it.
        start: First code point of the value.
        end: One past the last.
        patient_id: Whose note it was; none where the note names nobody, or the text is the value.
    """

    rule: str
    text: str = field(repr=False)
    start: int
    end: int
    patient_id: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class LiftedRule:
    """A rule that somebody took back, without its value.

    Args:
        rule: Its keyed name.
        by: Who took it back.
        reason: Why.
        created_at: When it was made: UTC, ISO 8601.
        lifted_at: When it was taken back.
    """

    rule: str
    by: str
    reason: str = field(repr=False)
    created_at: str
    lifted_at: str


@dataclass(frozen=True, slots=True)
class DenyList:
    """The rules of an installation.

    Args:
        rules: In force.
        cases: On which all rules are tried.
        lifted: Taken back.
        allowed: Allow rules in force.
    """

    rules: tuple[DenyRule, ...] = ()
    cases: tuple[DenyCase, ...] = ()
    lifted: tuple[LiftedRule, ...] = ()
    allowed: tuple[AllowRule, ...] = ()

    @property
    def values(self) -> LeakedValues:
        """The values, called by their rules."""
        return LeakedValues([one.value for one in self.rules], [one.rule for one in self.rules])

    @property
    def categories(self) -> dict[str, Phi]:
        """Category by rule."""
        return {one.rule: Phi(one.category) for one in self.rules}

    @property
    def every(self) -> tuple[DenyRule | AllowRule, ...]:
        """All rules in force."""
        return (*self.rules, *self.allowed)

    @property
    def allowed_values(self) -> AllowedValues:
        """The values that are left."""
        return AllowedValues([one.allowed for one in self.allowed])

    def count_missed(self) -> int:
        """Return the number of cases in which a rule does not find its value, whole."""
        values, allowed = self.values, {one.rule: one for one in self.allowed}
        return sum(
            not _is_allowed(case, allowed[case.rule])
            if case.rule in allowed
            else not _is_found(case, values.places(case.text))
            for case in self.cases
        )

    def add_rules(self, rules: Sequence[DenyRule], cases: Sequence[DenyCase]) -> DenyList:
        """Return the list with more rules; one that is there already stays as it is."""
        known = {one.rule for one in self.rules}
        new = tuple(one for one in rules if one.rule not in known)
        names = {one.rule for one in new}
        more = tuple(one for one in cases if one.rule in names)
        return replace(self, rules=(*self.rules, *new), cases=(*self.cases, *more))

    def add_allowed(self, rules: Sequence[AllowRule], cases: Sequence[DenyCase]) -> DenyList:
        """Return the list with more allow rules; one that is there already gets what more detectors
        said.
        """
        known = {one.rule: one for one in self.allowed}
        new = {one.rule for one in rules if one.rule not in known}
        for one in rules:
            before = known.get(one.rule, one)
            said = " ".join(sorted({*before.said.split(), *one.said.split()}))
            known[one.rule] = replace(before, said=said)
        more = tuple(one for one in cases if one.rule in new)
        return replace(self, allowed=tuple(known.values()), cases=(*self.cases, *more))

    def drop_rules(self, names: Collection[str], *, by: str, reason: str) -> DenyList:
        """Return the list without some rules, which it names as lifted."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        lifted = tuple(
            LiftedRule(one.rule, by, reason, one.created_at, now)
            for one in self.every
            if one.rule in names
        )
        return DenyList(
            tuple(one for one in self.rules if one.rule not in names),
            tuple(one for one in self.cases if one.rule not in names),
            (*self.lifted, *lifted),
            tuple(one for one in self.allowed if one.rule not in names),
        )

    def drop_cases_of(self, patient: str) -> DenyList:
        """Return the list without what was taken from notes of a patient.

        A rule that keeps no other case is tried on its value.
        """
        kept = [one for one in self.cases if one.patient_id != patient]
        tried = {one.rule for one in kept}
        kept += [case_of_value(one) for one in self.every if one.rule not in tried]
        return replace(self, cases=tuple(kept))


class Denials:
    """The deny rules of an installation, as they are stored.

    Args:
        files: The store.
    """

    def __init__(self, files: StoreFiles) -> None:
        self._files = files

    def read(self) -> DenyList:
        """Return the rules; none where no value was ever denied.

        Raises:
            ProvenanceError: They were altered, or are gone although batches rest on them.
        """
        receipt = self._files.find(DENIED_VALUES, ALL)
        if receipt is None:
            if resting := [one for one in self._files.batches(DENIED_VALUES) if one != ALL]:
                raise ProvenanceError(
                    f"the deny rules are gone, and batch {resting[0]} rests on them; restore"
                    f" {DENIED_VALUES} in the restricted zone of the store"
                )
            return DenyList()
        has_allowed = _ALLOW_RULES in receipt.outputs
        return DenyList(
            self._rows("rules", DenyRule),
            self._rows("cases", DenyCase),
            self._rows("lifted", LiftedRule),
            self._rows(_ALLOW_RULES, AllowRule) if has_allowed else (),
        )

    def write(self, found: DenyList) -> Receipt:
        """Store the rules in place of those that were there."""
        tables = {
            "rules": _table(found.rules, _RULES),
            "cases": _table(found.cases, _CASES),
            "lifted": _table(found.lifted, _LIFTED),
        }
        if found.allowed:
            tables[_ALLOW_RULES] = _table(found.allowed, _ALLOWED)
        counts = {name: table.num_rows for name, table in tables.items()}
        receipt = UnsignedReceipt(DENIED_VERSION, counts=counts)
        return self._files.write(DENIED_VALUES, ALL, tables, receipt=receipt)

    def record(
        self, batch: str, rules: Collection[str], allowed: Collection[str] = ()
    ) -> Receipt | None:
        """Record which rules cover or leave something in a batch, and return the record, an input
        of what is made of it; ``None`` where none does.

        Args:
            batch: Partition.
            rules: Names of the deny rules that cover something.
            allowed: Names of the allow rules that leave something.
        """
        if not (rules or allowed):
            self._files.discard(DENIED_VALUES, batch)
            return None
        digest = hashlib.sha256(" ".join(sorted({*rules, *allowed})).encode()).hexdigest()
        counts: dict[str, int | float | str] = {"rules": len(rules), "digest": digest}
        if allowed:
            counts[_ALLOW_RULES] = " ".join(sorted(allowed))
        known = self._files.find(DENIED_VALUES, batch)
        if known is not None and dict(known.counts) == counts:
            return known
        receipt = UnsignedReceipt(DENIED_VERSION, counts=counts)
        return self._files.write(DENIED_VALUES, batch, {}, receipt=receipt)

    def _rows(self, table: str, row: Callable[..., Row]) -> tuple[Row, ...]:
        found = self._files.read(DENIED_VALUES, ALL, table).to_pylist()
        return tuple(row(**one) for one in found)


def rule_name(key: Key, value: str) -> str:
    """Return the name of the rule for a value: 16 hexadecimal digits, keyed.

    Values that are looked for as one have one name: numbers of ``MIN_DIGITS`` in any grouping,
    shorter ones as they are grouped.
    """
    tokens = _TOKEN.findall(strip_accents(value).casefold())
    joined = "".join(tokens)
    is_number = joined.isdigit() and len(joined) >= MIN_DIGITS
    return key.derive("denied value", joined if is_number else " ".join(tokens)).hex()[:16]


def allow_name(key: Key, value: str, category: str, lang: str) -> str:
    """Return the name of the allow rule for a value in one spelling, a category and a language."""
    spelt = " ".join(value.split())
    return key.derive("allowed value", spelt, category, lang).hex()[:16]


def read_allowed(record: Receipt) -> frozenset[str]:
    """Return the names of the allow rules that leave something in a batch, from its record."""
    return frozenset(str(record.counts.get(_ALLOW_RULES, "")).split())


def case_of_value(rule: DenyRule | AllowRule) -> DenyCase:
    """Return the case of a rule whose value was found in no note."""
    return DenyCase(rule.rule, rule.value, 0, len(rule.value))


def _is_found(case: DenyCase, places: Iterable[LeakPlace]) -> bool:
    reached = case.start
    for place in sorted(places):
        if place.start <= reached:
            reached = max(reached, place.end)
    return not any(map(str.isalnum, case.text[reached : case.end]))


def _is_allowed(case: DenyCase, rule: AllowRule) -> bool:
    note = Note("case", case.text, None, rule.lang or None)
    found = AllowedValues([rule.allowed]).places(note)
    return any((place.start, place.end) == (case.start, case.end) for place in found)


def _table(rows: Sequence[Any], schema: pa.Schema) -> pa.Table:
    return pa.Table.from_pylist([asdict(one) for one in rows], schema=schema)
