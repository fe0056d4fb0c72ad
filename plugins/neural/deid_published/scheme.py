"""Tag schemes of published models: recognised from their labels, and decoded as each means it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum

from deid_assets.extending import PluginError

OUTSIDE = ("O", "")
"""Names of the tag of tokens that are of no entity."""
_PREFIXES = frozenset("BILUES")


class EntityScheme(StrEnum):
    """How tags say where an entity begins and ends."""

    PLAIN = "plain"
    """Labels alone: neighbours of one label are one entity."""
    IO = "io"
    """``I-`` alone: as ``PLAIN``."""
    BIO = "bio"
    """``B-`` begins an entity."""
    BILOU = "bilou"
    """``L-`` ends one, ``U-`` is a whole one; with ``E-`` and ``S-`` it is called BIOES."""


def parts(tag: str) -> tuple[str, str]:
    """Return prefix and label of a tag.

    A tag without a prefix has an empty one, an outside tag no label either.
    """
    if tag in OUTSIDE:
        return "", ""
    prefix, hyphen, label = tag.partition("-")
    return (prefix, label) if hyphen and label and prefix in _PREFIXES else ("", tag)


def recognise_scheme(tags: Sequence[str]) -> EntityScheme:
    """Return the scheme of a model's tags.

    Raises:
        PluginError: They are of no known scheme: some have a prefix and some have none.
    """
    pairs = [parts(tag) for tag in tags if tag not in OUTSIDE]
    found = {prefix for prefix, _ in pairs}
    bare = [label for prefix, label in pairs if not prefix]
    if bare and len(found) > 1:
        raise PluginError(
            f"tags {', '.join(bare[:3])} have no prefix and others have one; fix id2label in"
            " config.json, or say in the label map that these are outside"
        )
    if found & set("LUES"):
        return EntityScheme.BILOU
    if "B" in found:
        return EntityScheme.BIO
    return EntityScheme.IO if "I" in found else EntityScheme.PLAIN


def labels_of(tags: Sequence[str]) -> list[str]:
    """Return every label of the tags, each once, in their order."""
    return list(dict.fromkeys(label for _, label in map(parts, tags) if label))


def groups(tags: Sequence[str], scheme: EntityScheme) -> list[tuple[int, int, str]]:
    """Return entities as ``(first, last, label)`` over a sequence of tags.

    ``B-``, ``U-`` and ``S-`` begin one; ``L-``, ``E-``, ``U-`` and ``S-`` end it; another label
    begins another. A tag inside an entity that was not begun begins one: an error of the model
    never hides what it found.
    """
    found: list[tuple[int, int, str]] = []
    first, open_label, closed = 0, "", True
    for number, tag in enumerate([*tags, "O"]):
        prefix, label = parts(tag)
        begins = label != open_label or closed or prefix in ("B", "U", "S")
        if open_label and not closed and begins:
            found.append((first, number - 1, open_label))
        if begins:
            first, open_label, closed = number, label, not label
        if label and scheme is EntityScheme.BILOU and prefix in ("L", "E", "U", "S"):
            found.append((first, number, label))
            closed = True
    return found


def check_tags(id2label: Mapping[str, str], *, where: str) -> list[str]:
    """Return a configuration's tags in the order of the head's outputs.

    Raises:
        PluginError: The numbers are not 0, 1, 2 and so on, a tag comes twice, or the tags say
            nothing.
    """
    numbers = sorted(int(number) for number in id2label)
    if numbers != list(range(len(numbers))) or not numbers:
        raise PluginError(
            f"{where}: id2label is not numbered 0 to {len(numbers) - 1}; fix config.json"
        )
    tags = [str(id2label[str(number)]) for number in numbers]
    if len(set(tags)) < len(tags):
        twice = next(tag for tag in tags if tags.count(tag) > 1)
        raise PluginError(f"{where}: id2label gives {twice!r} twice; fix config.json")
    if all(tag.startswith("LABEL_") for tag in tags):
        raise PluginError(
            f"{where}: id2label says only {tags[0]} to {tags[-1]}; write the authors' labels into"
            " config.json"
        )
    if not any(tag in OUTSIDE for tag in tags):
        raise PluginError(
            f"{where}: no tag is O, so nothing would be left alone; fix id2label in config.json"
        )
    return tags
