"""Fill tags later, without the original.

What a redaction left as a tag or mark becomes what another policy writes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from deid_assets.extending import DigestError, Note, Phi, Span
from deid_assets.extending.edits import (
    Context,
    EditMap,
    Key,
    MadeBy,
    Policy,
    Replaced,
    digest_of,
    mark,
)

_FORMS = tuple(
    re.compile(form)
    for form in (
        r"\[[A-Z_]+?_(?P<who>[0-9]+)\]",  # numbered: [NAME_1]
        r"\[\*\*[A-Za-z ]+ (?P<who>[0-9]+)\*\*\]",  # [**Name 1**]
        r"\[[A-Z_]+:(?P<who>[0-9a-f]{8,64}|e1\.[A-Za-z0-9_=-]+)\]",  # hashes and encrypted values
        r"\[[A-Z_]+\]|\[\*\]|\u2588+",  # [NAME], [XXXXX], [REDACTED], blocks
    )
)
_CONSONANTS, _VOWELS = "bdfgklmnprstv", "aeiou"


@dataclass(frozen=True, slots=True)
class Repopulated:
    """A note with its tags filled.

    Args:
        text: Hidden from ``repr``: redacted notes may hold what was missed.
        edits: The map from the original to this text.
        filled: Tags filled, by category.
        left: Tags that stayed, because the policy writes a tag for their category too.
    """

    text: str = field(repr=False)
    edits: EditMap
    filled: Counter[Phi]
    left: Counter[Phi]


def identity_in(tag: str) -> tuple[bool, str | None]:
    """Return whether a replacement is a tag or mark of ours, and what tells whose it is.

    Where nothing tells, the latter is ``None``.
    """
    for form in _FORMS:
        if found := form.fullmatch(tag):
            return True, found.groupdict().get("who")
    return False, None


def repopulate(
    note: Note, edits: EditMap, policy: Policy, *, key: Key, made_by: MadeBy
) -> Repopulated:
    """Return a redacted note in which every tag is filled as a policy writes its category.

    The original is not known: the policy's replacer is given an invented value of the category
    instead. Tags with one number, hash or encrypted value in one note (hashes and encrypted values:
    of one patient) become one person; every other tag becomes one of its own. What is no tag, such
    as a year or a surrogate, stays.

    Args:
        note: The redacted note.
        edits: What redaction did to it.
        policy: For example ``surrogate``.
        key: For the policy.
        made_by: What the new text rests on.

    Raises:
        DigestError: The edits are of another text.
    """
    if note.digest != edits.new_digest:
        raise DigestError(
            f"note {note.note_id!r}: the edits are of another text; take those that were written"
            " with these notes"
        )
    context = Context(note, key)
    parts: list[str] = []
    made: list[Replaced] = []
    filled, left = Counter[Phi](), Counter[Phi]()
    cursor = size = 0
    for number, edit in enumerate(edits.edits):
        kept, tag = note.text[cursor : edit.new_start], note.text[edit.new_start : edit.new_end]
        written = _write(tag, edit, number, policy, context)
        if identity_in(tag)[0]:
            (left if written == tag else filled)[edit.label] += 1
        parts += (kept, written)
        start = size + len(kept)
        size = start + len(written)
        made.append(replace(edit, new_start=start, new_end=size, mark=mark(written, key)))
        cursor = edit.new_end
    text = "".join([*parts, note.text[cursor:]])
    new = replace(
        edits,
        new_digest=digest_of(text),
        new_chars=len(text),
        edits=tuple(made),
        made_by=replace(made_by, detectors=edits.made_by.detectors),
    )
    return Repopulated(text, new, filled, left)


def _write(tag: str, edit: Replaced, number: int, policy: Policy, context: Context) -> str:
    is_tag, who = identity_in(tag)
    replacer = policy.action(edit.label)
    if not is_tag or replacer is None:
        return tag
    seed = context.key.seed(
        "repopulate", edit.label.value, f"same {who}" if who else f"alone {number}"
    )
    value = invent_value(edit.label, seed, lang=context.note.lang)
    written = replacer(value, Span(0, len(value), edit.label), context)
    return tag if not written or identity_in(written)[0] else written


def invent_value(label: Phi, seed: int, *, lang: str | None) -> str:
    """Return a value of a category for a replacer to read: of a common shape, about nobody.

    Args:
        label: Category.
        seed: The same seed gives the same value.
        lang: Language of the note; dates are written month first in English only.
    """
    if label is Phi.DATE:
        month, day, year = 1 + seed % 12, 1 + seed // 12 % 28, 1995 + seed // 336 % 30
        return (
            f"{month:02}/{day:02}/{year}" if lang in (None, "en") else f"{day:02}/{month:02}/{year}"
        )
    make = _SHAPES.get(label)
    return make(seed) if make else _word(seed)


def _word(seed: int) -> str:
    letters = []
    for _ in range(3):
        seed, consonant = divmod(seed, len(_CONSONANTS))
        seed, vowel = divmod(seed, len(_VOWELS))
        letters += [_CONSONANTS[consonant], _VOWELS[vowel]]
    return "".join(letters).capitalize()


def _digits(seed: int, length: int) -> str:
    return str(10 ** (length - 1) + seed % (9 * 10 ** (length - 1)))


_SHAPES: Mapping[Phi, Callable[[int], str]] = {
    Phi.NAME: lambda seed: f"{_word(seed)} {_word(seed // 1_000_003)}",
    Phi.USERNAME: lambda seed: f"{_word(seed).lower()}{seed % 90 + 10}",
    Phi.AGE: lambda seed: str(20 + seed % 65),
    Phi.STREET: lambda seed: f"{_word(seed)} {1 + seed % 99}",
    Phi.ZIP: lambda seed: _digits(seed, 5),
    Phi.PHONE: lambda seed: f"{_digits(seed, 3)} {_digits(seed // 7, 3)} {_digits(seed // 11, 4)}",
    Phi.FAX: lambda seed: f"{_digits(seed, 3)} {_digits(seed // 7, 3)} {_digits(seed // 11, 4)}",
    Phi.EMAIL: lambda seed: f"{_word(seed).lower()}@example.org",
    Phi.URL: lambda seed: f"www.{_word(seed).lower()}.org",
    Phi.IP: lambda seed: f"10.{seed % 250}.{seed // 250 % 250}.{1 + seed // 62_500 % 250}",
    **{
        label: lambda seed: _digits(seed, 8)
        for label in (
            Phi.NATIONAL_ID,
            Phi.MRN,
            Phi.HEALTH_PLAN,
            Phi.ACCOUNT,
            Phi.LICENSE,
            Phi.VEHICLE,
            Phi.DEVICE,
            Phi.BIOMETRIC,
            Phi.ID,
        )
    },
}
