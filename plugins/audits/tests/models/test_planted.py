"""The command plants what it says."""

from __future__ import annotations

import json

from privacy_shell import main

from deid_audits.models.canaries import check_planted, read_canaries


def test_the_planted_folder_holds_what_the_audits_read(tmp_path, capsys):
    out = tmp_path / "planted"
    assert (
        main(
            [
                "plant",
                "--out",
                str(out),
                "--notes",
                "20",
                "--people",
                "2",
                "--canaries",
                "1",
                "--repeat",
                "1",
                "--repeat",
                "7",
            ]
        )
        == 0
    )

    lines = [json.loads(line) for line in (out / "training.jsonl").read_text("utf-8").splitlines()]
    assert len(lines) == 20 + (2 + 1) * (1 + 7)
    check_planted(read_canaries(out / "canaries.json"), [line["text"] for line in lines])
    named = [line for line in lines if line["spans"]]
    assert len(named) == 2 * (1 + 7)
    span = named[0]["spans"][0]
    assert named[0]["text"][span["start"] : span["end"]].istitle()
    assert "training notes" in capsys.readouterr().out
