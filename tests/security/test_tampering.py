"""A writer of the store without the key, who alters each file in turn.

Nothing but what was made is released.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from deid_assets.assets.release import make_released_corpus, release_chain
from deid_assets.core.errors import DeidError
from deid_assets.policies import load_policy

HOW = ("edited", "cut short", "deleted", "swapped with another batch's", "rolled back")


@pytest.fixture
def history(shipped, note_records, campaign):
    """An installation with two batches, one of them made again, and the store as it was before.

    For the share that every run tries, the other batch is made no further than its spans, and
    nothing is made again.
    """
    other = shipped.receive(note_records(8), name="other.jsonl")
    some = () if campaign.is_whole else ("raw_notes", "gold_annotations", "spans_stencil")
    assert shipped.failures(shipped.run(other, *some)) == {}
    before = shipped.root.parent / "before"
    shutil.copytree(shipped.store, before)
    if not campaign.is_whole:
        return shipped, before, other
    shipped.configure(f'resolve = "priority"\n{shipped.default_settings}')
    assert shipped.failures(shipped.run(shipped.batch)) == {}
    return shipped, before, other


def files_of(installation, batch: str) -> list[Path]:
    """What is stored of a batch."""
    return sorted(
        path.relative_to(installation.store)
        for path in installation.store.rglob("*")
        if path.is_file() and batch in path.parts
    )


def altered(
    store: Path, name: Path, how: str, *, before: Path, other: str, batch: str
) -> bytes | None:
    """The content that a file gets; ``None`` to delete it.

    Raises:
        LookupError: There is no older or other file that differs.
    """
    content = (store / name).read_bytes()
    if how == "deleted":
        return None
    if how == "cut short":
        return content[: len(content) // 2]
    if how == "edited":
        middle = len(content) // 2
        return (
            content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
            if content
            else b"x"
        )
    if how == "rolled back":
        candidates = [before / name, *_same_table(before, name)]
    else:
        there = Path(*(other if part == batch else part for part in name.parts))
        candidates = [store / there, *_same_table(store, there)]
    for candidate in candidates:
        if candidate.is_file() and candidate.read_bytes() != content:
            return candidate.read_bytes()
    raise LookupError(name)


def _same_table(store: Path, name: Path) -> Iterator[Path]:
    """Files that hold the same table, whatever their digest."""
    yield from sorted((store / name.parent).glob(f"{name.stem.rsplit('-', 1)[0]}-*{name.suffix}"))


@pytest.mark.long
def test_nothing_foreign_is_released_from_a_store_that_was_tampered_with_campaign(
    history, campaign
):
    installation, before, other = history
    batch, policy = installation.batch, load_policy("tag")
    opened = installation.opened()
    chain = release_chain(opened.files.receipt("released_corpus", batch), opened)
    versions = {link.asset: link.code_version for link in chain}

    def released():
        draft = make_released_corpus(
            batch, installation.opened(), policy=policy, code_versions=versions
        )
        return draft.tables["notes"].to_pylist()

    expected = released()
    tries = [(name, how) for name in files_of(installation, batch) for how in HOW]
    Random(1).shuffle(tries)
    for name, how in tries[: campaign.size(60, len(tries))]:
        path = installation.store / name
        content = path.read_bytes()
        try:
            planted = altered(
                installation.store, name, how, before=before, other=other, batch=batch
            )
        except LookupError:
            campaign.count("without another file to plant")
            continue
        path.unlink()
        if planted is not None:
            path.write_bytes(planted)
        try:
            found = released()
        except DeidError:
            campaign.count("refused")
        else:
            assert found == expected, f"{name} {how}"
            campaign.count("not on the way to the release, which is as before")
        path.unlink(missing_ok=True)
        path.write_bytes(content)

    assert released() == expected
    assert campaign.counts["refused"] > 10
