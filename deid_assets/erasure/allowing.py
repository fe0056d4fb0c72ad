"""Allowing values that are no identifiers: what a rule would leave is counted before it is made,
and what rests on it is made again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from deid_assets.config import Settings
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.span import Span
from deid_assets.erasure.denying import discard_merged, folder_of_rules
from deid_assets.erasure.reach import RuleReach, count_allowed
from deid_assets.pipeline.denying import CERTAIN
from deid_assets.store.atomic import lock_folder
from deid_assets.store.denials import AllowRule, Denials, DenyList, allow_name, case_of_value
from deid_assets.store.files import StoreFiles


@dataclass(frozen=True, slots=True)
class FalseAlarm:
    """A place that a detector took for an identifier, and that a person rejected.

    Args:
        note: In which it stands.
        start: First code point.
        end: One past the last.
        category: That was suggested.
        said: Detectors that marked it, with the category that each gave it.
    """

    note: Note = field(repr=False)
    start: int
    end: int
    category: Phi
    said: frozenset[tuple[str, Phi]]

    @property
    def value(self) -> str:
        """The value, as it is spelt."""
        return self.note.text[self.start : self.end]


@dataclass(frozen=True, slots=True)
class AllowOrder:
    """Somebody's order that values are no identifiers.

    Args:
        alarms: What was rejected.
        by: Who asks.
        reason: Why; without naming anybody.
        identifiers: Note ids to what people took for an identifier, beside the annotations that are
            stored.
    """

    alarms: tuple[FalseAlarm, ...]
    by: str
    reason: str = field(repr=False)
    identifiers: Mapping[str, Sequence[Span]] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class AllowedBatches:
    """What an order to allow values came to.

    Args:
        reaches: Of each rule that is made; without those that were there before.
        refused: Why no rule is made of the others, each with their number.
        batches: Whose spans are made again.
        known: Rules that were there before.
    """

    reaches: tuple[RuleReach, ...]
    refused: tuple[tuple[str, int], ...]
    batches: tuple[str, ...]
    known: int


def allow(
    settings: Settings, files: StoreFiles, order: AllowOrder, *, is_plan: bool = False
) -> AllowedBatches:
    """Make a rule of each value that was no identifier, and have the batches that hold one merged
    again.

    No rule is made of a value that people annotated anywhere, that is denied, that a source of
    certainty marks, or that has neither letters nor digits.

    Args:
        settings: Of the installation.
        files: The store.
        order: What is asked for.
        is_plan: Count alone, and make nothing.

    Raises:
        ProvenanceError: The rules, notes or annotations were altered.
    """
    with lock_folder(folder_of_rules(files)):
        denials = Denials(files)
        before = denials.read()
        now = datetime.now(UTC).isoformat(timespec="seconds")
        rules = [_allow_rule(settings, one, order, now) for one in order.alarms]
        wanted = DenyList().add_allowed(rules, ())
        reaches, annotated = count_allowed(
            settings, files, wanted.allowed_values, order.identifiers
        )
        refusals = {
            rule.rule: why
            for rule, alarm in zip(rules, order.alarms, strict=True)
            if (why := _refusal(alarm, rule.rule in annotated, before))
        }
        made = [one for one in wanted.allowed if one.rule not in refusals]
        there = {one.rule: one for one in before.allowed}
        new = [one for one in made if one.rule not in there]
        cases = [case for one in new for case in (reaches[one.rule].cases or [case_of_value(one)])]
        after = before.add_allowed(made, cases)
        touched = set[str]()
        if after != before:
            is_new = set(after.allowed) - set(before.allowed)
            touched = {one for rule in is_new for one in reaches[rule.rule].batches}
            if not is_plan:
                denials.write(after)
        return AllowedBatches(
            tuple(reaches[one.rule] for one in new),
            tuple(Counter(refusals.values()).items()),
            tuple(sorted(touched)) if is_plan else discard_merged(files, touched),
            len(made) - len(new),
        )


def _allow_rule(settings: Settings, alarm: FalseAlarm, order: AllowOrder, now: str) -> AllowRule:
    lang = alarm.note.lang or ""
    value = " ".join(alarm.value.split())
    name = allow_name(settings.house_key(), value, alarm.category.value, lang)
    said = " ".join(sorted(f"{source}:{label.value}" for source, label in alarm.said))
    return AllowRule(name, value, alarm.category.value, lang, said, order.by, order.reason, now)


def _refusal(alarm: FalseAlarm, is_annotated: bool, rules: DenyList) -> str:
    """Return why a value cannot be allowed; empty where it can."""
    if any(source in CERTAIN for source, _ in alarm.said):
        return "marked by what is known of a patient"
    if not alarm.said:
        return "marked by no detector"
    if not any(map(str.isalnum, alarm.value)):
        return "without a letter or digit"
    if is_annotated:
        return "annotated as an identifier elsewhere"
    if rules.rules and rules.values.is_in(alarm.value):
        return "denied"
    return ""
