"""What a policy asks for: a key, locale packs of the batch's languages, and the values of the batch
that none of its surrogates may be.
"""

from __future__ import annotations

from collections.abc import Container, Iterable

from deid_assets.core.errors import PolicyError
from deid_assets.core.keys import Key
from deid_assets.core.note import Note
from deid_assets.core.redact import Policy, Replacer
from deid_assets.core.span import SpanSet
from deid_assets.policies.collisions import IDENTIFIERS, PERSONAL, Originals, read_covered


def needs_key(policy: Policy) -> bool:
    """Whether one of the policy's replacers draws from the key."""
    return any(getattr(replacer, "keyed", False) for replacer in _list_used(policy))


def check_key(policy: Policy, secret: bytes | None) -> Key:
    """Return the key to redact with; a policy that draws nothing from it needs no secret.

    Raises:
        PolicyError: The policy draws from a key and there is no secret.
        ConfigError: The secret is too short.
    """
    if secret is None and needs_key(policy):
        drawn = {getattr(replacer, "keyed", False) for replacer in _list_used(policy)}
        made = " and ".join(
            sorted("surrogates" if what is True else str(what) for what in drawn - {False})
        )
        raise PolicyError(
            f"policy {policy.name!r} writes {made}, which need a key; set DEID_KEY to the output of"
            f" `openssl rand -hex 32`, and keep it to get the same {made} again"
        )
    return Key(secret if secret is not None else bytes(32))


def require_packs(policy: Policy, langs: Iterable[str | None]) -> None:
    """Refuse a policy whose surrogates some language has no locale pack for.

    Before any note is read.

    Raises:
        PolicyError: The policy writes surrogates, does not tag other languages, and one of the
            languages has no pack.
    """
    known = list(langs)
    for replacer in _list_used(policy):
        if getattr(replacer, "needs_packs", False):
            replacer.check_languages(known)  # type: ignore[attr-defined]


def needs_packs(policy: Policy) -> bool:
    """Whether the policy stops at a language that has no locale pack."""
    return any(getattr(replacer, "needs_packs", False) for replacer in _list_used(policy))


def originals_of(policy: Policy, key: Key, batch: Iterable[tuple[Note, SpanSet]]) -> Container[str]:
    """Return the values of a batch that no surrogate may be; empty for a policy that writes none.

    Identifiers, telephone numbers, e-mail addresses and user names count, and full names: a surname
    or a given name alone is shared by many, and drawing it again would part it from the full name
    that it belongs to.

    Args:
        policy: What the batch is redacted with.
        key: Of the surrogates.
        batch: Notes with their spans, read once.
    """
    avoiding = _avoiding(policy)
    if not avoiding:
        return ()
    read = dict.fromkeys(getattr(replacer, "original_of", read_covered) for replacer in avoiding)
    return Originals.of(key, batch, labels=IDENTIFIERS | PERSONAL, read=tuple(read))


def writes_surrogates(policy: Policy) -> bool:
    """Whether values that look real stand in the place of some category, however that is called."""
    return bool(_avoiding(policy))


def _avoiding(policy: Policy) -> list[Replacer]:
    return [
        replacer for replacer in _list_used(policy) if getattr(replacer, "avoids_originals", False)
    ]


def _list_used(policy: Policy) -> tuple[Replacer, ...]:
    return (policy.default, *policy.actions.values())
