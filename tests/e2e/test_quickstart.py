"""``python -m deid_assets.quickstart``, as ``make run`` calls it."""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow


@pytest.fixture
def quickstart(installation, detector_site):
    def run(*arguments):
        done = subprocess.run(
            [sys.executable, "-m", "deid_assets.quickstart", *arguments],
            check=False,
            capture_output=True,
            text=True,
            cwd=installation.root,
            env={
                **os.environ,
                **installation.environment(),
                "PYTHONPATH": str(detector_site),
                "COLUMNS": "200",
            },
        )
        return done.returncode, done.stdout + done.stderr

    return run


def receipts(installation):
    """Receipts by asset; one that was made again has another date.

    Of the test's own detectors and below.
    """
    found = {}
    for path in installation.store.rglob("receipt.json"):
        asset = path.parent.parent.name
        if not asset.endswith(("rules", "presidio")):
            found[asset] = path.read_bytes()
    return found


def made_again(before, after):
    return {asset for asset in after if after[asset] != before.get(asset)}


def test_a_second_run_makes_nothing_and_a_change_makes_what_depends_on_it(
    installation, quickstart, note_records
):
    batch = installation.receive(note_records())
    code, said = quickstart()
    assert code == 0, said
    first = receipts(installation)
    released = (installation.home / "released" / batch / "notes.jsonl").read_bytes()

    code, said = quickstart()
    assert code == 0, said
    assert f"{batch}: up to date" in said
    assert "scores: up to date" in said
    assert receipts(installation) == first
    assert (installation.home / "released" / batch / "notes.jsonl").read_bytes() == released

    installation.configure(installation.default_settings + '[detectors.shade]\nskip = "MRN"\n')
    quickstart()
    second = receipts(installation)
    assert made_again(first, second) == {
        "spans_shade",
        "scorecard_shade",
        "evaluation_report_shade",
        "leaderboard",
    }

    installation.configure(
        (installation.root / "deid.toml")
        .read_text()
        .replace('"blackout"]', '"blackout", "keep_nothing"]')
    )
    quickstart()
    assert made_again(second, receipts(installation)) - {"leaderboard"} == {
        "redacted_notes_keep_nothing"
    }


def test_a_stopped_batch_is_said_with_its_reason_and_hinders_no_other(
    installation, quickstart, note_records
):
    good = installation.receive(note_records())
    bad = installation.receive(
        [{**record, "id": "note-0"} for record in note_records(20)], name="bad.jsonl"
    )

    code, said = quickstart()

    assert code == 1
    assert f"raw_notes, batch {bad}: not stored" in said
    assert "readable" in said
    assert sorted(path.name for path in (installation.home / "released").iterdir()) == [
        good,
        "releases.json",
    ]


@pytest.mark.parametrize(
    ("settings", "arguments", "message"),
    [
        ("ensembel = []", (), "ensembel"),
        (
            'ensemble = ["stencil"]',
            ("--notes", "absent.jsonl"),
            "absent.jsonl: no such file or folder",
        ),
    ],
)
def test_wrong_settings_and_arguments_end_with_one_clear_line(
    installation, quickstart, settings, arguments, message
):
    installation.configure(settings)

    code, said = quickstart(*arguments)

    assert code == 2
    assert message in said
    assert "Traceback" not in said
