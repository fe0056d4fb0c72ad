"""``privacy_<audit>`` of every installed audit, when it is asked for.

What is broken or lacks something says so.
"""

import json
import sys

import pytest

from deid_assets.assets.auditing import read_audit
from deid_assets.privacy.result import read_result

pytestmark = pytest.mark.long

UP_TO_MERGED = ("raw_notes", "gold_annotations", "spans_stencil", "merged_spans")
UP_TO_REPORT = (*UP_TO_MERGED, "redacted_notes_tag", "quarantine", "release_report")
BODY = """
from deid_assets.extending.audits import Control, Measurement, Need, Plot, Rule, conclude

class Counting:
    name = "counting"
    version = "1"
    title = "Are there few identifiers?"
    needs = frozenset({Need.GOLD, Need.POLICIES})
    blind_spots = ("Everything else.",)

    def __init__(self, *, most=1.0):
        self.most = most

    def run(self, material):
        covered = sum(len(case.found) for case in material.cases)
        spans = sum(len(case.gold) for case in material.cases)
        share = Measurement.share("covered", covered, spans, chance=0.0)
        few = Rule(name="few", passed=share.value <= self.most, description="at most so many")
        return conclude(
            self, figures=[share], plots=[Plot(name="p", title="P", png=b"\\x89PNG")],
            controls=[Control(name="planted", expected=True, reacted=True, description="always")],
            rules=[few],
            counts={"notes": len(material.cases)},
        )

class Breaking(Counting):
    name = "breaking"

    def run(self, material):
        raise ValueError(material.cases[0].note.text)

class Aborting(Counting):
    name = "aborting"

    def run(self, material):
        import os
        os.abort()

class Wanting(Counting):
    name = "wanting"
    needs = frozenset({Need.MODEL})
"""


@pytest.fixture
def audited(installation, tmp_path, monkeypatch):
    site = tmp_path / "audits"
    package, info = site / "deid_counting", site / "deid_counting-1.0.dist-info"
    package.mkdir(parents=True)
    info.mkdir()
    (package / "__init__.py").write_text(BODY)
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: deid_counting\nVersion: 1.0\nSummary: For tests\n"
    )
    names = {
        "counting": "Counting",
        "breaking": "Breaking",
        "aborting": "Aborting",
        "wanting": "Wanting",
    }
    entries = [f"{name} = deid_counting:{found}" for name, found in names.items()]
    (info / "entry_points.txt").write_text(
        "\n".join(["[deid_assets.audits]", *entries, "gone = deid_gone:Gone", ""])
    )
    monkeypatch.syspath_prepend(str(site))
    installation.audits = (*names, "gone")
    yield installation
    sys.modules.pop("deid_counting", None)


def found_of(installation, name):
    files = installation.opened().files
    (row,) = files.read(f"privacy_{name}", "all", "result").to_pylist()
    plots = {
        row["name"]: row["png"] for row in files.read(f"privacy_{name}", "all", "plots").to_pylist()
    }
    return read_result(json.loads(row["document"]), plots), files.receipt(f"privacy_{name}", "all")


def test_every_audit_is_made_and_one_that_breaks_hides_no_other(audited, note_records):
    records = note_records()
    batch = audited.receive(records)
    assert audited.failures(audited.run(batch, *UP_TO_MERGED)) == {}
    assert audited.failures(audited.run(None, job="privacy_audits")) == {}

    counted, receipt = found_of(audited, "counting")
    assert (counted.outcome.value, counted.counts, counted.plots[0].png) == (
        "passed",
        {"notes": 8},
        b"\x89PNG",
    )
    assert [row["passed"] for row in receipt.verdicts.values()] == [True, True, True]
    assert {f"raw_notes@{batch}", f"merged_spans@{batch}"} < receipt.inputs.keys()
    broken, receipt = found_of(audited, "breaking")
    assert (broken.outcome.value, broken.reason) == ("not assessed", "the audit broke (ValueError)")
    assert [row["applicable"] for row in receipt.verdicts.values()] == [True, False, False]
    aborted, _ = found_of(audited, "aborting")
    assert "a worker process ended early" in aborted.reason
    wanting, _ = found_of(audited, "wanting")
    assert wanting.reason == "it needs a model"
    stored = b"".join(
        path.read_bytes() for path in (audited.store / "internal").glob("privacy_*/*/*")
    )
    assert stored
    assert not [record["text"] for record in records if record["text"][:12].encode() in stored]


def test_an_audit_that_was_not_run_is_shown_with_its_own_question(audited):
    found = {name: read_audit(name, audited.opened()).title for name in ("counting", "gone")}

    assert found == {"counting": "Are there few identifiers?", "gone": "For tests"}


def test_the_release_report_tells_what_the_audits_found(audited, note_records):
    batch = audited.receive(note_records())
    assert audited.failures(audited.run(batch, *UP_TO_REPORT)) == {}
    assert "it was not run" in (audited.home / "reports" / f"release-{batch}.html").read_text()

    audited.run(None, job="privacy_audits")
    found = {name: read_audit(name, audited.opened()) for name in ("counting", "wanting", "gone")}
    assert (found["counting"].outcome, found["counting"].title) == (
        "passed",
        "Are there few identifiers?",
    )
    assert (found["wanting"].outcome, found["wanting"].reason) == (
        "not assessed",
        "it needs a model",
    )
    assert "deid_gone is not installed" in found["gone"].reason
    for path in (audited.store / "internal").rglob("privacy_counting/**/result*.parquet"):
        path.write_bytes(b"damaged")
    damaged = read_audit("counting", audited.opened())
    assert damaged.outcome == "not assessed"
    assert damaged.reason not in {"it was not run", found["counting"].reason}


def test_options_come_from_the_settings(audited, note_records):
    path = audited.root / "deid.toml"
    path.write_text(path.read_text() + "\n[audits.counting]\nmost = 0.0\n")
    audited.run(audited.receive(note_records()), *UP_TO_MERGED)
    assert audited.failures(audited.run(None, job="privacy_audits")) == {}

    result, receipt = found_of(audited, "counting")
    assert (result.outcome.value, receipt.verdicts["nothing_found"]["passed"]) == ("failed", False)


def test_a_model_that_was_trained_again_in_its_folder_has_no_verdict(
    audited, note_records, tmp_path
):
    """The verdict of the old files does not stand for the new ones, and the asset is out
    of date.
    """
    model = tmp_path / "model"
    model.mkdir()
    (model / "model.safetensors").write_bytes(b"first")
    path = audited.root / "deid.toml"
    path.write_text(path.read_text() + f'\n[privacy]\nmodel = "{model}"\n')

    def version():
        (key,) = [
            one
            for one in audited.definitions().resolve_all_asset_keys()
            if one.path[-1] == "privacy_counting"
        ]
        return audited.definitions().resolve_asset_graph().get(key).code_version

    audited.run(audited.receive(note_records()), *UP_TO_MERGED)
    audited.run(None, job="privacy_audits")
    first = version()
    assert read_audit("counting", audited.opened()).outcome == "passed"
    (model / "model.safetensors").write_bytes(b"again")
    stale = read_audit("counting", audited.opened())
    assert (stale.outcome, stale.reason) == (
        "not assessed",
        "the model changed since; run the job privacy_audits again",
    )
    assert version() != first
    audited.run(None, job="privacy_audits")
    assert read_audit("counting", audited.opened()).outcome == "passed"


def test_without_gold_it_says_so(audited):
    assert audited.failures(audited.run(None, job="privacy_audits")) == {}

    result, receipt = found_of(audited, "counting")
    assert result.reason == "it needs notes whose identifiers are marked"
    assert (receipt.verdicts["assessed"]["passed"], receipt.verdicts["assessed"]["blocking"]) == (
        False,
        False,
    )


def test_an_audit_that_cannot_be_used_is_seen(audited):
    (spec,) = [
        spec
        for spec in audited.definitions().resolve_all_asset_specs()
        if spec.key.to_user_string() == "privacy_gone"
    ]

    assert "not installed" in spec.description
    assert spec.group_name == "unusable_audits"
