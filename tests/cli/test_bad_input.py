"""Bad input ends with code 2, one clear line, nothing written, and no word of a note."""

import json
import os
from pathlib import Path

import pytest
import typer

from deid_assets.cli.endings import guard_command
from deid_assets.core.errors import InputError

DETECT = ("detect", "notes.jsonl", "--detector", "xnames", "--out", "out.jsonl")
REDACT = (
    "redact",
    "notes.jsonl",
    "--spans",
    "spans.jsonl",
    "--policy",
    "tag",
    "--out",
    "out.jsonl",
)
AT_ONCE = ("redact", "notes.jsonl", "--detector", "xnames", "--policy", "tag", "--out", "out.jsonl")
EVALUATE = ("evaluate", "--gold", "gold.jsonl", "--pred", "spans.jsonl")
MAKE = ("corpus", "make", "--notes", "2", "--out", "made.jsonl")


def changed(command, *options, **places):
    """The command with options added, and arguments put in place of others."""
    swapped = {
        f"{name}.jsonl" if name in ("notes", "out", "spans", "gold") else name: to
        for name, to in places.items()
    }
    return (*(swapped.get(argument, argument) for argument in command), *options)


CASES = {
    "notes that are not there": (changed(DETECT, notes="gone.jsonl"), "gone.jsonl does not exist"),
    "notes from a device": (
        changed(DETECT, "--format", "jsonl", notes="/dev/null"),
        "is a pipe or a device",
    ),
    "notes of no known format": (
        changed(DETECT, notes="notes.doc"),
        "the format of notes.doc is unknown",
    ),
    "a folder without notes": (
        changed(DETECT, notes="empty"),
        "the format of empty cannot be told: the folder holds no file",
    ),
    "an empty file": (changed(DETECT, notes="empty.jsonl"), "empty.jsonl: no note could be read"),
    "notes that are all broken": (
        changed(DETECT, notes="broken.jsonl"),
        "broken.jsonl: no note could be read",
    ),
    "an unknown format": (
        changed(DETECT, "--format", "word"),
        "unknown format 'word'; choose one of brat, ",
    ),
    "an unknown detector": (
        changed(DETECT, xnames="absent"),
        "unknown detector 'absent'; installed:",
    ),
    "a detector named twice": (
        changed(DETECT, "--detector", "xnames"),
        "detector 'xnames' is named twice",
    ),
    "an unknown overlap policy": (
        changed(DETECT, "--resolve", "vote"),
        "unknown overlap policy 'vote'; choose one of",
    ),
    "an option without a detector": (
        changed(DETECT, "--option", "words=a"),
        "must read NAME.KEY=VALUE",
    ),
    "an option of another detector": (
        changed(DETECT, "--option", "rules.profile=i2b2"),
        "the detectors are xnames",
    ),
    "an option it does not take": (
        changed(DETECT, "--option", "xnames.colour=1"),
        "takes no option 'colour'; it takes",
    ),
    "a setting that is none": (
        changed(DETECT, "--read", "colour=1"),
        "must read KEY=VALUE with KEY one of",
    ),
    "an encoding that is none": (
        changed(DETECT, "--read", "encoding=klingon"),
        "'klingon' is not known to Python",
    ),
    "a limit that is no number": (
        changed(DETECT, "--read", "max_note_chars=many"),
        "must be at least 1",
    ),
    "a language by its name": (
        changed(DETECT, "--lang", "english"),
        "--lang is 'english'; give a code of two letters",
    ),
    "spans under another suffix": (
        changed(DETECT, out="out.csv"),
        "a spans file ends in .jsonl or .parquet",
    ),
    "output over the input": (
        changed(DETECT, out="notes.jsonl"),
        "--out notes.jsonl is also an input",
    ),
    "output over the input by a link": (
        changed(DETECT, out="link.jsonl"),
        "--out link.jsonl is also an input",
    ),
    "output that is a folder": (
        changed(DETECT, out="folder.jsonl"),
        "--out folder.jsonl is a folder",
    ),
    "output that is a device": (changed(DETECT, out="/dev/null"), "is no regular file"),
    "output below a file": (
        changed(DETECT, out="notes.jsonl/out.jsonl"),
        "notes.jsonl is no folder",
    ),
    "a switch that is neither": (changed(DETECT, "--read", "conll.repair=1"), "give true or false"),
    "a place that is no number": (changed(DETECT, "--read", "conll.start=first"), "give a number"),
    "a limit of archives below one": (
        changed(DETECT, "--read", "archives.max_depth=0"),
        "must be at least 1",
    ),
    "a choice that is none": (
        changed(DETECT, "--read", "documents.attachments=burn"),
        "choose fault, read or skip",
    ),
    "output in the folder that is read": (
        changed(AT_ONCE, "--format", "txt", notes="txt", out="txt/out.jsonl"),
        "lies in the folder that is read",
    ),
    "output over the spans": (
        changed(REDACT, out="spans.jsonl"),
        "--out spans.jsonl is also an input",
    ),
    "output over the policy": (
        changed(REDACT, tag="p.csv", out="p.csv"),
        "--out p.csv is also an input",
    ),
    "output of no format": (changed(REDACT, out="redacted"), "add --to with one of jsonl"),
    "output of an unknown format": (changed(REDACT, "--to", "word"), "unknown format 'word'"),
    "a folder format into a file": (
        changed(REDACT, "--to", "brat", out="spans.parquet"),
        "spans.parquet is no folder",
    ),
    "a folder that is not empty": (
        changed(REDACT, "--to", "txt", out="txt"),
        "name a new or empty folder",
    ),
    "an unknown policy": (
        changed(REDACT, tag="none"),
        "there is no policy 'none'; choose one of blackout",
    ),
    "a policy that is wrong": (changed(REDACT, tag="p.csv"), "p.csv: name:"),
    "surrogates without a key": (changed(REDACT, tag="surrogate"), "set DEID_KEY to the output of"),
    "spans that are not there": (
        changed(REDACT, spans="gone.jsonl"),
        "gone.jsonl is not a file; name a spans file",
    ),
    "notes in place of spans": (
        changed(REDACT, spans="notes.jsonl"),
        "notes.jsonl:1: no object with id, digest and",
    ),
    "neither spans nor detector": (
        changed(REDACT[:2], *REDACT[4:]),
        "give either --spans with a file",
    ),
    "both spans and detector": (
        changed(REDACT, "--detector", "xnames"),
        "give either --spans with a file",
    ),
    "an option beside spans": (
        changed(REDACT, "--option", "xnames.words=a"),
        "--option, --resolve and --jobs go with",
    ),
    "gold that is not there": (changed(EVALUATE, gold="gone.jsonl"), "gone.jsonl does not exist"),
    "gold without annotations": (
        changed(EVALUATE, gold="notes.jsonl"),
        "no annotated note could be read",
    ),
    "gold in other labels": (
        changed(EVALUATE, "--labels", "meddocan"),
        "label 'NAME' is not in label map 'meddocan'",
    ),
    "an unknown label map": (
        changed(EVALUATE, "--labels", "mine"),
        "unknown label map 'mine'; choose one of",
    ),
    "an unknown profile": (
        changed(EVALUATE, "--profile", "mine"),
        "unknown profile 'mine'; choose one of",
    ),
    "a source that found nothing": (
        changed(EVALUATE, "--source", "flair"),
        "no span is from flair; it has xnames",
    ),
    "the same name twice": (changed(EVALUATE, "--pred", "txt/spans.jsonl"), "have the same name"),
    "a report over the annotations": (
        changed(EVALUATE, "--out", "gold.jsonl"),
        "--out gold.jsonl is also an input",
    ),
    "a report in place of a file": (
        changed(EVALUATE, "--out", "notes.doc"),
        "--out notes.doc is no folder",
    ),
    "two ways to print": (
        changed(EVALUATE, "--json", "--markdown"),
        "give --json or --markdown, not both",
    ),
    "predictions for another text": (
        changed(EVALUATE, gold="other.jsonl"),
        "spans.jsonl: note 'a': the annotations have digest",
    ),
    "gold without a span": (
        changed(EVALUATE, gold="clean.jsonl"),
        "clean.jsonl: the annotations hold no span under profile",
    ),
    "gold that comes twice": (changed(EVALUATE, gold="twice.jsonl"), "twice.jsonl:2:"),
    "predictions that come twice": (
        changed(EVALUATE, spans="doubled.jsonl"),
        "note 'a' has spans on an earlier line",
    ),
    "a score that is no number": (changed(EVALUATE, spans="nan.jsonl"), "nan.jsonl:1:"),
    "predictions for a note without annotations": (
        changed(EVALUATE, spans="strange.jsonl"),
        "the first is 'zz'; score against",
    ),
    "a report in a folder open to all": (
        changed(EVALUATE, "--restricted", "--out", "txt"),
        "--out txt is open to others (mode",
    ),
    "text without a report": (
        changed(EVALUATE, "--restricted"),
        "--restricted is for the report; say where",
    ),
    "causes that are none": (
        changed(EVALUATE, "--out", "r", "--causes", "notes.doc"),
        "not a file of causes",
    ),
    "one annotator": (("agreement", "gold.jsonl"), "agreement is between two or more"),
    "annotators without the text": (
        ("adjudicate", "spans.jsonl=a", "nan.jsonl=b", "--out", "g.jsonl"),
        "nan.jsonl:1:",
    ),
    "one system to audit with": (
        ("audit-gold", "--gold", "gold.jsonl", "--pred", "spans.jsonl"),
        "annotations are doubted where systems agree; give at least two",
    ),
    "a list of no format": (
        (
            "audit-gold",
            "--gold",
            "gold.jsonl",
            "--pred",
            "spans.jsonl",
            "--agreeing",
            "1",
            "--out",
            "l.txt",
        ),
        "a list ends in .jsonl or .csv",
    ),
    "a correction of other notes": (
        ("corrections", "gold.jsonl", "one.jsonl"),
        "2 notes are in one of the two golds alone, the first is 'b'",
    ),
    "a language without a grammar": (changed(MAKE, "--lang", "tlh"), "tlh"),
    "a corpus that plain text cannot hold": (
        changed(MAKE, "--to", "txt", **{"made.jsonl": "made"}),
        "holds no spans",
    ),
}


@pytest.fixture
def folder(deid, write, notes, three):
    """A folder with one of everything."""
    deid(*changed(DETECT, out="spans.jsonl"))
    spans = [{"start": 0, "end": 12, "label": "NAME"}]
    write(
        "gold.jsonl",
        {**three[0], "spans": spans},
        {**three[1], "spans": []},
        {**three[2], "spans": []},
    )
    write(
        "other.jsonl",
        *({**record, "text": record["text"] + "!", "spans": spans[:1]} for record in three),
    )
    write("clean.jsonl", *({**record, "spans": []} for record in three))
    write("one.jsonl", {**three[0], "spans": spans})
    write("twice.jsonl", *({**three[0], "spans": spans} for _ in range(2)))
    found = [json.loads(line) for line in Path("spans.jsonl").read_text().splitlines()]
    write("doubled.jsonl", found[0], *found)
    found[0]["spans"][0]["score"] = float("nan")
    write("nan.jsonl", *found)
    write(
        "strange.jsonl",
        *found[1:],
        {**found[0], "id": "zz", "spans": []},
        {**found[0], "spans": []},
    )
    write("broken.jsonl", {"id": "a", "note": "Quillfeather"}, {"id": "b", "note": "Zyxwick"})
    Path("notes.doc").write_text("Quillfeather")
    Path("empty.jsonl").touch()
    Path("p.csv").write_text("default = 'tag'\n")
    Path("spans.parquet").write_bytes(b"")
    Path("link.jsonl").symlink_to("notes.jsonl")
    Path("empty").mkdir()
    Path("folder.jsonl").mkdir()
    Path("txt").mkdir()
    Path("txt/a.txt").write_text("Zyxwick")
    Path("txt/spans.jsonl").write_bytes(Path("spans.jsonl").read_bytes())
    return deid


def contents():
    return {path: path.read_bytes() for path in sorted(Path().rglob("*")) if path.is_file()}


@pytest.mark.parametrize(("command", "message"), CASES.values(), ids=CASES)
def test_bad_input_is_told_in_one_line_and_nothing_is_written(folder, command, message):
    before = contents()
    ran = folder(*command)
    errors = [line for line in ran.err.splitlines() if line.startswith("error: ")]

    assert ran.code == 2, ran
    assert len(errors) == 1
    assert message in errors[0]
    assert ran.out == ""
    assert contents() == before


@pytest.mark.parametrize("key", ["open sesame", "00ff"])
def test_a_key_that_is_none_is_refused_without_being_shown(folder, monkeypatch, key):
    monkeypatch.setenv("DEID_KEY", key)
    ran = folder(*changed(REDACT, tag="surrogate"))

    assert ran.code == 2
    assert key not in ran.err


def test_a_wrong_way_to_call_ends_with_the_same_code(deid):
    assert (
        deid("detect").code
        == deid("nonsense").code
        == deid("corpus", "make", "--notes", "0").code
        == 2
    )


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written_to_is_refused_before_work(folder):
    Path("txt").chmod(0o500)
    ran = folder(*changed(DETECT, out="txt/out.jsonl"))

    assert ran.code == 2
    assert "txt is no folder that you may write to" in ran.err


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (InputError("a file is wrong"), 2, "error: a file is wrong"),
        (
            OSError(28, "No space left on device", "/out/x.part"),
            2,
            "error: No space left on device: /out/x.part",
        ),
        (KeyboardInterrupt(), 130, "interrupted; nothing was written"),
        (
            KeyError("Quillfeather"),
            3,
            "error: KeyError inside deid; run again with DEID_DEBUG=1 to see where (shows text)",
        ),
    ],
)
def test_an_error_ends_a_command_by_its_kind_and_shows_no_message_but_ours(
    capsys, error, code, line
):
    @guard_command
    def command():
        raise error

    with pytest.raises(typer.Exit) as ended:
        command()
    assert ended.value.exit_code == code
    assert capsys.readouterr().err.strip() == line


def test_the_traceback_is_shown_where_it_is_asked_for(monkeypatch):
    monkeypatch.setenv("DEID_DEBUG", "1")

    @guard_command
    def command():
        raise KeyError

    with pytest.raises(KeyError):
        command()
