"""What people reviewed is measured with: a batch that waited for annotations is released."""

from __future__ import annotations

import json

import pytest

from deid_assets.core.errors import InputError
from deid_assets.core.phi import Phi
from deid_assets.core.span import Span, SpanSet
from deid_assets.defs.staleness import list_stale_assets
from deid_assets.extending.reviewing import open_batch, open_restricted_folder, return_to_batch
from deid_assets.intake.reviewed import STAGED
from deid_assets.intake.states import look
from deid_assets.intake.withdrawal import withdraw
from deid_assets.store.withdrawals import Withdrawals

pytestmark = pytest.mark.long

CHAIN = (
    "raw_notes",
    "gold_annotations",
    "spans_stencil",
    "merged_spans",
    "redacted_notes_tag",
    "quarantine",
    "release_report",
    "released_corpus",
)


def gold_of(view, records):
    """The annotations of records, for the notes of a batch."""
    return {
        record["id"]: SpanSet.of(
            view.notes[record["id"]],
            [Span(one["start"], one["end"], Phi(one["label"])) for one in record["spans"]],
        )
        for record in records
    }


def test_a_batch_that_waited_for_annotations_is_made_again_and_released(installation, note_records):
    before = installation.default_settings.replace('release.require = "none"\n', "")
    few = "[gates]\nmin_gold_spans = 10\nrecall_lower_bound = {ALL = 0.7}"
    installation.configure(before.replace("[gates]", few, 1))
    batch = installation.receive(note_records(gold=False))
    assert installation.failures(installation.run(batch, *CHAIN)) == {}
    assert not (installation.home / "released").exists()

    settings = installation.settings()
    view = open_batch(settings, batch)
    assert view.ensemble == ("stencil",)
    assert view.merged.keys() == view.notes.keys()
    records = note_records()
    assert return_to_batch(settings, batch, gold_of(view, records)) == len(records)

    definitions = installation.definitions()
    stale = list_stale_assets(definitions, installation.opened(), batch, installation.instance)
    names = {key.to_user_string() for key in stale}
    assert set(CHAIN) <= names
    assert installation.failures(installation.run(batch, *CHAIN)) == {}
    manifest = json.loads((installation.home / "released" / batch / "manifest.json").read_text())
    assert manifest["measured"] is True


def test_a_batch_that_was_withdrawn_meanwhile_is_not_brought_back(installation, note_records):
    batch, records = installation.receive(note_records(gold=False)), note_records()
    assert installation.failures(installation.run(batch, *CHAIN)) == {}
    settings, opened = installation.settings(), installation.opened()
    gold = gold_of(open_batch(settings, batch), records)
    withdraw(settings, opened.files, opened.releases, look(settings, opened.files, batch))

    with pytest.raises(InputError, match=f"`deid batches retry {batch}` brings it back"):
        return_to_batch(settings, batch, gold)

    assert Withdrawals(opened.files).is_withdrawn(batch)
    assert not (installation.store / "restricted" / "landing" / STAGED / batch).exists()


def test_what_is_kept_of_a_review_is_erased_with_the_batch(installation, note_records):
    batch = installation.receive(note_records())
    settings = installation.settings()
    folder = open_restricted_folder(settings, "review", batch)
    for name in ("review.sqlite", "review.sqlite-wal", "review.sqlite-shm"):
        (folder / name).write_bytes(b"kept")
    assert folder.stat().st_mode & 0o077 == 0
    erased = installation.opened().files.erase(batch, keep=("landing",))
    assert "review" in erased
    assert not folder.exists()
