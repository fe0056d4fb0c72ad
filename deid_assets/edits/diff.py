"""Two redactions of the same notes side by side: what changed, and what is responsible."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from deid_assets.edits.causes import Change, DifferenceCause, policy_of, responsible
from deid_assets.edits.maps import EditMap, MadeBy, Replaced


@dataclass(frozen=True, slots=True, order=True)
class ReplacementDifference:
    """One replacement that is not as it was.

    Args:
        note_id: Its note.
        start: First code point in the original; as it is now, or as it was where it was lost.
        end: One past the last.
        change: What became of it.
        label: Category as it was, or as it is where it was gained.
        new_label: Category as it is, or empty where it was lost.
        source: Detectors of the span, before and after where they differ.
        cause: What is responsible.
        why: The same in words, with versions.
        uncovered: Code points that were replaced and are not any more.
    """

    note_id: str
    start: int
    end: int
    change: Change
    label: str
    new_label: str
    source: str
    cause: DifferenceCause
    why: str
    uncovered: int = 0


@dataclass(slots=True)
class ReleaseDiff:
    """Everything that differs, and how much does not.

    Args:
        old: What the notes of the old one rest on, most of them first.
        new: The same of the new one.
        same: Notes of which every replacement is the same.
        changed: Notes of which one is not.
        other_text: Notes whose original is another text now, so that offsets cannot be compared;
            ids.
        only_old: Notes that the new one lacks; ids.
        only_new: Notes that the old one lacks; ids.
        unchanged: Replacements that are as they were, by category.
        differences: Those that are not.
    """

    old: Counter[str] = field(default_factory=Counter)
    new: Counter[str] = field(default_factory=Counter)
    same: int = 0
    changed: int = 0
    other_text: list[str] = field(default_factory=list)
    only_old: list[str] = field(default_factory=list)
    only_new: list[str] = field(default_factory=list)
    unchanged: Counter[str] = field(default_factory=Counter)
    differences: list[ReplacementDifference] = field(default_factory=list)
    makers: dict[str, MadeBy] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """Whether nothing differs."""
        return not (self.differences or self.other_text or self.only_old or self.only_new)

    def to_json(self) -> dict[str, Any]:
        """Return the document that pages and ``deid diff --json`` show.

        Counts, ids and offsets, no text.
        """
        return {
            "format": 1,
            "rests_on": self._rests_on(),
            "notes": {
                "same": self.same,
                "changed": self.changed,
                "other_text": len(self.other_text),
                "only_old": len(self.only_old),
                "only_new": len(self.only_new),
            },
            "replacements": {"unchanged": self.unchanged.total(), **_per_change(self.differences)},
            "uncovered": {
                "replacements": sum(each.uncovered > 0 for each in self.differences),
                "characters": sum(each.uncovered for each in self.differences),
            },
            "by_category": self._by_category(),
            "by_cause": _group(
                self.differences, lambda each: (each.cause.value, each.why), ("cause", "why")
            ),
            "by_note": _group(self.differences, lambda each: (each.note_id,), ("note",)),
            "other_text": sorted(self.other_text),
            "only_old": sorted(self.only_old),
            "only_new": sorted(self.only_new),
            "differences": [asdict(each) for each in sorted(self.differences)],
        }

    def _rests_on(self) -> list[dict[str, Any]]:
        """Return what the two rest on, a row for each part.

        Where notes of one differ, what most of them have.
        """
        old, new = (
            self.makers[most.most_common(1)[0][0]] if most else None
            for most in (self.old, self.new)
        )
        before, after = (_parts(made) for made in (old, new))
        names = dict.fromkeys([*before, *after])
        return [
            {
                "part": name,
                "old": before.get(name, ""),
                "new": after.get(name, ""),
                "changed": before.get(name) != after.get(name),
            }
            for name in names
        ]

    def _by_category(self) -> list[dict[str, Any]]:
        per_label: dict[str, list[ReplacementDifference]] = defaultdict(list)
        for each in self.differences:
            per_label[each.label].append(each)
        labels = sorted(
            {*per_label, *self.unchanged}, key=lambda label: (-len(per_label[label]), label)
        )
        return [
            {"category": label, "unchanged": self.unchanged[label], **_per_change(per_label[label])}
            for label in labels
        ]


def compare(old: Iterable[EditMap], new: Iterable[EditMap]) -> ReleaseDiff:
    """Return what differs between two redactions.

    Args:
        old: Edit maps of the first.
        new: Edit maps of the second, in any order.
    """
    found = ReleaseDiff()
    before = {edits.note_id: edits for edits in old}
    for edits in before.values():
        found.old[_register(found, edits.made_by)] += 1
    for after in new:
        found.new[_register(found, after.made_by)] += 1
        earlier = before.pop(after.note_id, None)
        if earlier is None:
            found.only_new.append(after.note_id)
        elif earlier.digest != after.digest:
            found.other_text.append(after.note_id)
        else:
            differences = list(_differences(earlier, after, found.unchanged))
            found.differences += differences
            found.changed += bool(differences)
            found.same += not differences
    found.only_old += list(before)
    return found


def _register(found: ReleaseDiff, made_by: MadeBy) -> str:
    name = repr(made_by)
    found.makers.setdefault(name, made_by)
    return name


def _differences(
    old: EditMap, new: EditMap, unchanged: Counter[str]
) -> Iterator[ReplacementDifference]:
    by_range = {(edit.start, edit.end): edit for edit in old.edits}
    fresh: list[Replaced] = []
    for edit in new.edits:
        earlier = by_range.pop((edit.start, edit.end), None)
        if earlier is None:
            fresh.append(edit)
        elif earlier.label is not edit.label:
            yield _difference(Change.RELABELLED, earlier, edit, old, new)
        elif earlier.mark != edit.mark:
            yield _difference(Change.REWRITTEN, earlier, edit, old, new)
        else:
            unchanged[edit.label.value] += 1
    gone = sorted(by_range.values())
    for edit in fresh:
        meeting = next(
            (each for each in gone if each.start < edit.end and edit.start < each.end), None
        )
        if meeting is not None:
            gone.remove(meeting)
        yield _difference(Change.MOVED if meeting else Change.GAINED, meeting, edit, old, new)
    for edit in gone:
        # One that a longer replacement took in, beside another that it overlaps, is not lost: it is
        # replaced still.
        taken_in = next(
            (each for each in new.edits if each.start < edit.end and edit.start < each.end), None
        )
        yield _difference(Change.MOVED if taken_in else Change.LOST, edit, taken_in, old, new)


def _difference(
    change: Change, before: Replaced | None, after: Replaced | None, old: EditMap, new: EditMap
) -> ReplacementDifference:
    shown = after or before
    first = before or after
    if shown is None or first is None:
        raise ValueError("a difference has a side")
    sources = [edit.source for edit in (before, after) if edit is not None]
    cause, why = responsible(change, before, after, old.made_by, new.made_by)
    return ReplacementDifference(
        old.note_id,
        shown.start,
        shown.end,
        change,
        first.label.value,
        after.label.value if after else "",
        " → ".join(dict.fromkeys(sources)),
        cause,
        why,
        _count_uncovered(before, new.edits) if before else 0,
    )


def _count_uncovered(before: Replaced, edits: Iterable[Replaced]) -> int:
    covered = (min(edit.end, before.end) - max(edit.start, before.start) for edit in edits)
    return before.end - before.start - sum(part for part in covered if part > 0)


def _parts(made: MadeBy | None) -> dict[str, str]:
    if made is None:
        return {}
    detectors = {f"detector {name}": version for name, version in sorted(made.detectors.items())}
    return {
        "software": made.software,
        "policy": policy_of(made),
        "kept categories": ", ".join(made.keep) or "none",
        "key": made.key_id,
        **detectors,
    }


def _per_change(differences: Iterable[ReplacementDifference]) -> dict[str, int]:
    counts = Counter(each.change for each in differences)
    return {change.value: counts[change] for change in Change}


def _group(
    differences: Iterable[ReplacementDifference], key: Any, names: Sequence[str]
) -> list[dict[str, Any]]:
    groups: dict[tuple[str, ...], list[ReplacementDifference]] = defaultdict(list)
    for each in differences:
        groups[key(each)].append(each)
    ordered = sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))
    return [
        {**dict(zip(names, group, strict=True)), "all": len(members), **_per_change(members)}
        for group, members in ordered
    ]
