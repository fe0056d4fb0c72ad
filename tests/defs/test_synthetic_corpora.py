"""Synthetic corpora as assets: stored with a receipt behind their gates, on a real instance."""

from __future__ import annotations

import json

import pytest

from deid_assets.assets import synthesizing
from deid_assets.store.frames import notes_from_table, spans_from_tables

marked = pytest.importorskip("deid_corpora.marked", reason="needs the plugin corpora")

pytestmark = pytest.mark.long

ASSET = "synthetic_corpus_grammar"
MADE = ("raw_notes", "gold_annotations", "spans_stencil", "merged_spans")


def records(count):
    """True-to-life notes, each of a patient."""
    from deid_corpora.composed import FOLDERS

    folder = next(one for one in FOLDERS if one.is_dir())
    notes = list(marked.read_marked(folder / "train" / "en.txt"))[:count]
    return [{**one.as_json(), "patient_id": f"p-{one.note_id}", "meta": {}} for one in notes]


@pytest.fixture
def house(installation):
    """Its detector finds next to nothing; annotations are what counts."""
    off = "recall = {}\nrecall_lower_bound = {}\nnotes_covered_lower_bound = 0.0\n"
    installation.configure(installation.default_settings.replace("[gates]\n", f"[gates]\n{off}"))
    return installation


def test_a_corpus_is_made_of_what_arrived_and_stored_behind_its_gates(house, monkeypatch):
    monkeypatch.setattr(synthesizing, "NOTES", 8)
    batch = house.receive(records(25))
    assert house.failures(house.run(batch, *MADE)) == {}

    result = house.run(None, ASSET, job="__ASSET_JOB")

    assert house.failures(result) == {}
    files = house.opened().files
    notes = notes_from_table(files.read(ASSET, "all", "notes"))
    spans = spans_from_tables(
        files.read(ASSET, "all", "span_notes"), files.read(ASSET, "all", "spans")
    )
    assert len(notes) == 8
    assert sum(map(len, spans)) > 20
    (document,) = files.read(ASSET, "all", "report").column("document").to_pylist()
    report = json.loads(document)
    assert report["copied"]["holds"] is True
    assert report["profiles"]["en"]["least"] == 10
    receipt = files.receipt(ASSET, "all")
    assert receipt.counts["notes"] == 8
    read = ("raw_notes", "gold_annotations", "merged_spans")
    assert all(any(asset in name for name in receipt.inputs) for asset in read)


@pytest.mark.slow
def test_nothing_is_stored_where_a_gate_stops_it_or_too_few_patients_are_there(house, monkeypatch):
    monkeypatch.setattr(synthesizing, "NOTES", 4)
    batch = house.receive(records(9))
    assert house.failures(house.run(batch, *MADE)) == {}

    result = house.run(None, ASSET, job="__ASSET_JOB")

    (step,) = house.failures(result)
    assert step == ASSET
    assert "all" not in house.opened().files.batches(ASSET)
