"""What a model was trained on by the card that training wrote, held against the ledger
of sources.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from deid_assets.extending import InputError, Note, PluginError
from deid_assets.extending.audits import (
    Key,
    Need,
    find_installed_audits,
    load_audit,
    model_digest,
    secret_of_environment,
    texts_digest,
)
from deid_assets.extending.corpora import RECORD, digests_of, read_raw, read_record
from deid_assets.extending.taggers import CARD, read_card
from deid_audits.facts import Facts
from deid_audits.gate import Held
from deid_audits.lineage import Trained


def read_training(facts: Facts) -> Trained:
    """Return what the card in the model's folder says; nothing where the facts name no folder.

    The notes of a language model are identified by their digests: each must be a note of a source
    that the model is made from. The corpora of a tagger are identified by the digests that its card
    has. What is read from a source that the model is not said to be made from is a fault, and so is
    what is of no source.

    Raises:
        InputError: The card is broken, or the notes of a source cannot be read.
    """
    folder = facts.model.folder
    if folder is None:
        return Trained()
    if (folder / RECORD).is_file():
        return _of_notes(facts, read_record(folder).digests)
    if (folder / CARD).is_file():
        return _of_corpora(facts, folder)
    return Trained(
        faults=(
            (
                f"model folder {folder.name!r} has no {RECORD} and no {CARD}: what it read is not"
                " known"
            ),
        )
    )


def read_held(facts: Facts) -> Held:
    """Return what audits of a model are held against.

    The key, its folder as it is now, and the ledger's notes.

    Raises:
        InputError: The notes of a source cannot be read.
    """
    secret, audits = secret_of_environment(), _of_models()
    if secret is None:
        return Held(audits=audits)
    key, folder = Key(secret), facts.model.folder
    sources = frozenset(
        texts_digest(_notes(one.name, one.notes), key) for one in facts.sources if one.notes
    )
    model = model_digest(folder, key) if folder and folder.exists() else ""
    return Held(key, model, audits, frozenset(find_installed_audits()) - audits.keys(), sources)


def _of_models() -> dict[str, frozenset[Need]]:
    """Return the installed audits that attack a model, with their needs.

    One that does not load may be one of these.
    """
    found = {}
    for name in find_installed_audits():
        try:
            needs = load_audit(name).needs
        except PluginError:
            needs = frozenset({Need.MODEL})
        if Need.MODEL in needs:
            found[name] = needs
    return found


def _of_notes(facts: Facts, digests: frozenset[str]) -> Trained:
    named = set(facts.model.made_from)
    read: dict[str, tuple[frozenset[str], int]] = {}
    for source in facts.sources:
        if source.notes:
            notes = _notes(source.name, source.notes)
            read[source.name] = (digests & digests_of(notes), len(notes))
    explained = frozenset().union(*(found for name, (found, _) in read.items() if name in named))
    rows = tuple(
        (name, f"{len(found):,} of {size:,} notes") for name, (found, size) in read.items()
    )
    return Trained(
        rows,
        tuple(
            _faults(facts, digests, explained, {name: found for name, (found, _) in read.items()})
        ),
    )


def _faults(
    facts: Facts,
    digests: frozenset[str],
    explained: frozenset[str],
    read: dict[str, frozenset[str]],
) -> Iterator[str]:
    tiers = {source.name: source.tier.value for source in facts.sources}
    left = digests - explained
    for name, found in read.items():
        if other := len(found & left):
            yield (
                f"model card: the model read {other:,} notes of {tiers[name]} source {name!r},"
                " which made_from does not name"
            )
            left -= found
    if left:
        yield (
            f"model card: {len(left):,} of the {len(digests):,} notes that the model read are of no"
            " source; name the notes of each, and set DEID_KEY as it was in training"
        )


def _of_corpora(facts: Facts, folder: Path) -> Trained:
    by_digest = {source.digest: source.name for source in facts.sources if source.digest}
    rows, faults = [], []
    for corpus in read_card(folder).corpora:
        name = by_digest.get(corpus.digest)
        if name is None:
            faults.append(
                f"model card: corpus {corpus.name!r} ({corpus.role}) is of no source; give its"
                f" digest {corpus.digest}"
            )
            continue
        rows.append((name, f"{corpus.notes:,} notes, {corpus.role}"))
        if name not in facts.model.made_from:
            faults.append(
                f"model card: corpus {corpus.name!r} is source {name!r}, which made_from does not"
                " name"
            )
    return Trained(tuple(rows), tuple(faults))


def _notes(name: str, path: Path) -> list[Note]:
    try:
        return read_raw(str(path))
    except InputError as error:
        raise InputError(f"source {name!r}: {error}") from None
