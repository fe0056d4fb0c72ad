"""What is responsible for a difference between two redactions: the nearest thing that changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum

from deid_assets.edits.maps import MadeBy, Replaced


class Change(StrEnum):
    """Outcome of a replacement."""

    GAINED = "gained"
    """Replaced now, and not before."""
    LOST = "lost"
    """It is not replaced any more."""
    RELABELLED = "relabelled"
    """The same range under another category."""
    MOVED = "moved"
    """Another range that overlaps."""
    REWRITTEN = "rewritten"
    """The same range and category, and something else stands in its place."""


class DifferenceCause(StrEnum):
    """Cause of a difference."""

    DETECTOR = "detector"
    POLICY = "policy"
    KEY = "key"
    SOFTWARE = "software"
    UNKNOWN = "unknown"


def responsible(
    change: Change, before: Replaced | None, after: Replaced | None, old: MadeBy, new: MadeBy
) -> tuple[DifferenceCause, str]:
    """Return what is responsible for a difference, and that in words.

    Args:
        change: What became of the replacement.
        before: As it was, if it was.
        after: As it is, if it is.
        old: What the old one rests on.
        new: What the new one rests on.
    """
    if change is Change.REWRITTEN:
        return _of_text(old, new)
    edits = [edit for edit in (before, after) if edit]
    return next(_of_spans(change, edits, old, new))


def _of_spans(
    change: Change, edits: Sequence[Replaced], old: MadeBy, new: MadeBy
) -> Iterator[tuple[DifferenceCause, str]]:
    """Yield what may be responsible for another range or category, the nearest first."""
    label, policies = edits[-1].label.value, f"policy {policy_of(old)} → {policy_of(new)}"
    if (label in old.keep) is not (label in new.keep):
        yield (
            DifferenceCause.POLICY,
            f"{policies}: {label} {'is kept' if label in new.keep else 'was kept'}",
        )
    changed = _describe_changed_detectors(old.detectors, new.detectors)
    own = [changed[name] for edit in edits for name in edit.source.split("+") if name in changed]
    if own:
        yield DifferenceCause.DETECTOR, "; ".join(dict.fromkeys(own))
    has_other_policy = old.policy_digest != new.policy_digest
    if has_other_policy and change is Change.MOVED:  # such as one that takes whole sentences
        yield DifferenceCause.POLICY, policies
    if changed:  # what another detector finds decides where spans begin, and which one names them
        yield DifferenceCause.DETECTOR, "; ".join(changed.values())
    if has_other_policy:
        yield DifferenceCause.POLICY, policies
    if old.software != new.software:
        yield DifferenceCause.SOFTWARE, f"{old.software} → {new.software}"
    if not (old.detectors and new.detectors):
        yield DifferenceCause.UNKNOWN, "spans from a file, which does not say what made them"
    yield DifferenceCause.UNKNOWN, "nothing recorded differs; settings of a detector may"


def _of_text(old: MadeBy, new: MadeBy) -> tuple[DifferenceCause, str]:
    if old.policy_digest != new.policy_digest:
        return DifferenceCause.POLICY, f"policy {policy_of(old)} → {policy_of(new)}"
    if old.key_id != new.key_id:
        return DifferenceCause.KEY, f"key {old.key_id} → {new.key_id}"
    if old.software != new.software:
        return DifferenceCause.SOFTWARE, f"{old.software} → {new.software}"
    return (
        DifferenceCause.UNKNOWN,
        "nothing recorded differs; another value of the patient may have come in between",
    )


def _describe_changed_detectors(old: Mapping[str, str], new: Mapping[str, str]) -> dict[str, str]:
    """Return what changed in the ensemble, in words, by detector.

    Nothing where one side does not say.
    """
    if not (old and new):
        return {}
    words = {}
    for name in dict.fromkeys([*old, *new]):
        if name not in old:
            words[name] = f"{name} {new[name]} is new"
        elif name not in new:
            words[name] = f"{name} {old[name]} is gone"
        elif old[name] != new[name]:
            words[name] = f"{name} {old[name]} → {new[name]}"
    return words


def policy_of(made: MadeBy) -> str:
    """Return a policy's name and the beginning of its digest."""
    return f"{made.policy} {made.policy_digest[:12]}"
