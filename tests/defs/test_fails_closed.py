"""Disagreement, changed settings and odd input.

Each ends in a tag, a quarantined note or a refusal.
"""

import json

import pytest

pytestmark = pytest.mark.long

RELEASE = (
    "raw_notes",
    "gold_annotations",
    "spans_stencil",
    "merged_spans",
    "redacted_notes_tag",
    "quarantine",
    "release_report",
    "released_corpus",
)


def released_lines(installation, batch):
    return (installation.home / "released" / batch / "notes.jsonl").read_text().splitlines()


def release(installation, batch, *, policy="tag", also=()):
    chain = [asset.replace("_tag", f"_{policy}") for asset in RELEASE]
    return installation.failures(installation.run(batch, *chain, *also))


def write_policy(installation, *, keep):
    path = installation.root / "mine.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"name = 'mine'\nkeep = {json.dumps(keep)}\n")
    installation.configure(
        installation.default_settings.replace(
            '["tag", "blackout"]', json.dumps([str(path)])
        ).replace('release_policy = "tag"', f"release_policy = '{path}'")
    )


def test_what_people_marked_is_redacted_where_a_detector_gives_it_a_category_that_is_kept(
    installation, note_records
):
    write_policy(installation, keep=["MRN"])
    records = [*note_records()]
    records[0]["spans"][1]["label"] = "ID"
    batch = installation.receive(records)

    assert release(installation, batch, policy="mine") == {}
    first, second, *_ = released_lines(installation, batch)
    assert "record [ID]" in first
    assert "record 4000001" in second


def test_a_kept_category_of_one_detector_does_not_uncover_what_another_marks(
    installation, note_records, write_detector, detector_site
):
    """Both mark the same number.

    The first in line takes it for a category that the policy keeps.
    """
    write_policy(installation, keep=["MRN"])
    settings = (installation.root / "deid.toml").read_text()
    installation.configure(settings.replace('["stencil"]', '["stencil", "contrary"]'))
    installation.detectors = ("stencil", "contrary")
    if not (detector_site / "deid_contrary").exists():
        write_detector(detector_site, "contrary", body=CONTRARY)
    batch = installation.receive(note_records(gold=False))

    assert release(installation, batch, policy="mine", also=["spans_contrary"]) == {}
    assert all("record [ID]" in line for line in released_lines(installation, batch))


CONTRARY = '''
"""Test detector: seven-digit numbers are ids of another kind."""

import re

from deid_assets import Phi, Span, SpanSet


class Detector:
    name = "@NAME@"
    version = "1"
    labels = frozenset({Phi.ID})

    def detect(self, notes):
        for note in notes:
            found = re.finditer(r"\\b[0-9]{7}\\b", note.text)
            yield SpanSet.of(note, [Span(*match.span(), Phi.ID, 0.9, self.name) for match in found])
'''


def test_a_stricter_resolution_stays_stricter_after_the_second_look(
    installation, note_records, write_detector, detector_site
):
    """Of two detectors that agree on numbers alone, ``intersection`` redacts numbers alone."""
    if not (detector_site / "deid_contrary").exists():
        write_detector(detector_site, "contrary", body=CONTRARY)
    installation.detectors = ("stencil", "contrary")
    installation.configure(
        'resolve = "intersection"\n'
        + installation.default_settings.replace('["stencil"]', '["stencil", "contrary"]')
    )
    batch = installation.receive(note_records(gold=False))

    assert release(installation, batch, also=["spans_contrary"]) == {}
    assert all(
        "Zed" in line and "record [MRN]" in line for line in released_lines(installation, batch)
    )


def test_a_policy_that_changed_is_not_released_over_text_redacted_under_the_old_one(
    installation, note_records
):
    write_policy(installation, keep=["NAME"])
    batch = installation.receive(note_records())
    assert release(installation, batch, policy="mine") == {}
    before = released_lines(installation, batch)

    write_policy(installation, keep=[])
    alone = installation.failures(installation.run(batch, "released_corpus"))

    assert "made by another version of its code, policy or settings" in alone["released_corpus"]
    assert "re-materialize" in alone["released_corpus"]
    assert released_lines(installation, batch) == before


@pytest.mark.parametrize("asset", ["released_corpus", "release_report"])
def test_an_ensemble_that_changed_is_not_claimed_for_text_that_it_never_saw(shipped, asset):
    shipped.configure(shipped.default_settings.replace('["stencil"]', '["stencil", "shade"]'))

    alone = shipped.failures(shipped.run(shipped.batch, asset))

    assert "merged_spans" in alone[asset]
    assert "re-materialize" in alone[asset]


def test_a_report_is_refused_when_something_behind_it_was_made_anew(shipped):
    shipped.configure(shipped.default_settings + "[detectors.stencil]\nskip = 'MRN'\n")
    assert shipped.failures(shipped.run(shipped.batch, "spans_stencil")) == {}

    alone = shipped.failures(shipped.run(shipped.batch, "release_report"))

    assert "re-materialize" in alone["release_report"]


def test_what_a_detector_leaves_of_gold_is_withheld_where_gold_is_not_redacted(
    installation, note_records
):
    installation.configure(
        "redact_gold = false\n"
        + installation.default_settings.replace("[gates]", "[gates]\nquarantined = 1\nrecall = {}")
        + '[detectors.stencil]\nskip = "MRN"\n'
    )
    batch = installation.receive(note_records())

    assert release(installation, batch) == {}
    assert released_lines(installation, batch) == []
    held = installation.opened().files.read("quarantine", batch, "failed").to_pylist()
    assert {row["error"] for row in held} == {"surviving-value"}


def test_one_doubled_id_costs_the_second_note_and_not_the_batch(installation, note_records):
    records = [*note_records()]
    batch = installation.receive(
        [*records, {**records[0], "text": "Another text. " + records[1]["text"], "spans": []}]
    )

    assert release(installation, batch) == {}
    held = installation.opened().files.read("quarantine", batch, "failed").to_pylist()
    assert [row["error"] for row in held] == ["duplicate-id"]
    assert len(released_lines(installation, batch)) == len(records)


def test_a_note_with_two_faults_is_withheld_once_and_the_rest_is_released(
    installation, note_records
):
    records = [*note_records()]
    wrong = [{"start": 0, "end": 3, "label": "PLANET"}, {"start": 5, "end": 3, "label": "NAME"}]
    batch = installation.receive([*records, {**records[0], "id": "note-8", "spans": wrong}])

    assert release(installation, batch) == {}
    held = installation.opened().files.read("quarantine", batch, "failed").to_pylist()
    assert [(row["note_id"], row["error"]) for row in held] == [("note-8", "unknown-label")]


@pytest.mark.parametrize("field", ["lang", "source", "native_label"])
def test_text_in_a_field_for_codes_stays_in_the_restricted_zone(installation, note_records, field):
    """A column named wrongly puts names where codes belong."""
    records = [*note_records()]
    if field == "lang":
        records[0]["lang"] = "Quillfeather of Elm Street"
    else:
        records[0]["spans"][0][field] = "Quillfeather of Elm Street"
    batch = installation.receive(records)
    result = installation.run(batch)

    said = repr(list(result.all_events))
    assert "Quillfeather" not in said
    for path in installation.home.rglob("*"):
        if path.is_file() and "restricted" not in path.parts:
            assert b"Quillfeather" not in path.read_bytes(), path
    files = installation.opened().files
    for table in ("spans", "notes"):
        assert "Quillfeather" not in str(files.read("gold_annotations", batch, table).to_pylist())
    assert not any("Quillfeather" in line for line in released_lines(installation, batch))
