"""``privacy/hips`` attacks every policy on the batches that have gold, when it is asked for."""

import json

UP_TO_MERGED = ("raw_notes", "gold_annotations", "spans/stencil", "merged_spans")


def test_every_policy_is_attacked_and_no_text_is_kept(installation, note_records):
    records = [*note_records(), *note_records(8), *note_records(16)]
    batch = installation.receive(records)
    assert installation.failures(installation.run(batch, *UP_TO_MERGED)) == {}
    assert installation.failures(installation.run(None, job="privacy_audits")) == {}

    rows = installation.opened().files.read("privacy/hips", "all", "findings").to_pylist()
    assert {row["policy"] for row in rows} == {"tag", "blackout"}
    assert {row["recall"] for row in rows} == {"0.8", "0.9", "0.95", "0.97", "0.99", "detected"}
    assert all(row["candidates"] >= row["leftovers"] for row in rows)
    kept = json.dumps(rows)
    assert not [record["text"].split(",")[0] for record in records if record["text"].split(",")[0] in kept]
    verdict = installation.opened().files.receipt("privacy/hips", "all").verdicts["enough_leftovers"]
    assert (verdict["passed"], verdict["blocking"]) == (False, False)


def test_without_gold_it_says_so(installation):
    ((_, message),) = installation.failures(installation.run(None, job="privacy_audits")).items()

    assert "no batch has gold and merged spans" in message
