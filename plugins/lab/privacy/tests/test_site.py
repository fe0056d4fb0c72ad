"""A submission is spans or weights that this code runs.

Two rounded scores leave, and nothing of the notes.
"""

from __future__ import annotations

import io
import json
import os
import resource
import stat
import tracemalloc
import zipfile
from pathlib import Path

import pytest
from privacy_shell import main

from deid_assets import DisjointSpans, Note, Phi, Span
from deid_assets.core.errors import InputError
from deid_assets.extending import Document
from deid_assets.extending.corpora import read_corpus
from deid_assets.extending.taggers import Materials, Recipe, train_model
from deid_privacy import site_models
from deid_privacy.site import STEP, evaluate_model, evaluate_spans, round_score, scores
from deid_privacy.site_log import leaderboard, record, tries_of
from deid_privacy.site_models import apart, check_folder, unpack


@pytest.fixture
def documents():
    """Twelve notes with a name each, three of them with a town."""
    made = []
    for number in range(12):
        note = Note(f"patient-{number}", "Anna was seen. Berg too.", lang="en")
        spans = (Span(0, 4, Phi.NAME), *([Span(15, 19, Phi.CITY)] if number < 3 else []))
        made.append(Document(note, DisjointSpans(note.note_id, note.digest, spans)))
    return made


def lines(documents, spans_of):
    rows = [{"id": one.note.note_id, "spans": spans_of(one)} for one in documents]
    return "\n".join(map(json.dumps, rows)).encode()


def gold_of(document):
    return [
        {"start": one.start, "end": one.end, "label": one.label.value} for one in document.spans
    ]


def test_spans_get_two_rounded_scores_and_nothing_of_the_notes(documents, tmp_path):
    assert evaluate_spans(lines(documents, gold_of), documents) == {
        "notes": 12,
        "f1": 1.0,
        "covered": 1.0,
    }
    found = evaluate_spans(lines(documents, lambda one: gold_of(one)[:1]), documents)
    assert found == {"notes": 12, "f1": 0.9, "covered": 0.8}  # 24 / 27 and 12 / 15
    log = tmp_path / "log.jsonl"
    record(log, "b", "d", None, "failed", sender="north")
    record(log, "a", "d", found, sender="north")
    record(log, "a", "d", found, sender="south")
    assert [(one.submission, one.tries) for one in leaderboard(log)] == [("a", 2)]
    assert (tries_of(log, "north"), tries_of(log, "west")) == (2, 0)
    assert not any(word in log.read_text("utf-8") for word in ("Anna", "patient"))


def test_what_a_submission_is_told_fits_into_nine_bits():
    """Precision and F1 to three digits spelled twelve letters of a note in seven tries."""
    note = Note("n", "x" * 4_000)
    gold = DisjointSpans.of(note, [Span(at, at + 1, Phi.NAME) for at in range(0, 4_000, 8)])
    told = set()
    for right in range(0, 501, 7):
        for wrong in (0, 1, 2, 3, 50, 333, 2_000):
            spans = {(one.start, one.end, "NAME") for one in list(gold)[:right]}
            spans |= {(at, at + 3, "DATE") for at in range(1, 1 + wrong)}
            told.add(json.dumps(scores([Document(note, gold)], {"n": spans})))
    assert len(told) <= 21**2 < 2**9
    assert {round_score(number / 1_000) for number in range(1_001)} == {
        round(STEP * at, 2) for at in range(21)
    }


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("Anna", "line 1 of the spans is no object"),
        ('{"id": "other", "spans": []}', "an unknown note"),
        (
            '{"id": "patient-0", "spans": []}\n{"id": "patient-0", "spans": []}',
            "line 2 .* or one twice",
        ),
        (
            '{"id": "patient-0", "spans": [{"start": 0, "end": 999, "label": "NAME"}]}',
            "outside its note",
        ),
        (
            '{"id": "patient-0", "spans": [{"start": NaN, "end": 1, "label": "NAME"}]}',
            "no object of id and spans",
        ),
        (
            '{"id": "patient-0", "spans": [{"start": 0, "end": 1e999, "label": "NAME"}]}',
            "no object of id and spans",
        ),
        ('{"id": ["n0"], "spans": []}', "no object of id and spans"),
        ("[" * 100_000, "no object of id and spans"),
    ],
)
def test_wrong_spans_are_said_without_their_words(documents, line, said):
    with pytest.raises(InputError, match=said) as caught:
        evaluate_spans(line.encode(), documents)
    assert "Anna" not in str(caught.value)


def test_scores_of_few_spans_are_not_given(documents):
    with pytest.raises(InputError, match="have 6 annotated spans; scores of fewer than 10"):
        evaluate_spans(b"", documents[:3])


@pytest.fixture(scope="module")
def tagger(tmp_path_factory):
    """A CRF of synthetic notes, and others to score it on."""
    pytest.importorskip("deid_crf")
    folder = tmp_path_factory.mktemp("tagger") / "model"
    recipe = Recipe(
        name="submitted",
        plugin="crf",
        corpora=["synthetic:en:60:3"],
        settings={"max_iterations": 30},
    )
    train_model(recipe, Materials(corpora=[read_corpus("synthetic:en:60:3")]), folder)
    return folder, read_corpus("synthetic:en:20:4").documents


def packed(folder):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path in folder.iterdir():
            archive.write(path, f"model/{path.name}")
    return buffer.getvalue()


def test_a_model_is_run_by_this_code_and_scored(tagger, tmp_path):
    folder, documents = tagger
    scored = evaluate_model(folder, documents, seconds=120)
    assert scored["f1"] > 0.4
    assert set(scored) == {"notes", "f1", "covered"}
    assert (
        evaluate_model(unpack(io.BytesIO(packed(folder)), tmp_path), documents, seconds=120)
        == scored
    )


def archive_of(**files):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writestr(name.replace("__", "/").replace("_dot_", "."), content)
    return buffer


@pytest.mark.parametrize(
    "name",
    ["run_dot_py", "weights_dot_pt", "model_dot_bin", "code_dot_so", "x_dot_pkl", "noending"],
)
def test_what_may_hold_code_is_no_model(tmp_path, name):
    with pytest.raises(InputError, match="a file that is none of"):
        unpack(archive_of(tagger_dot_json="{}", **{name: "import os"}), tmp_path)
    (tmp_path / name.replace("_dot_", ".")).write_text("import os")
    with pytest.raises(InputError, match="a file that is none of"):
        check_folder(tmp_path)


def test_an_archive_leads_nowhere_and_holds_so_much(tmp_path, monkeypatch):
    (tmp_path / "inside").mkdir()
    unpack(archive_of(______etc__tagger_dot_json="{}"), tmp_path / "inside")
    assert [path.name for path in tmp_path.rglob("*.json")] == ["tagger.json"]
    assert (tmp_path / "inside" / "tagger.json").is_file()
    monkeypatch.setattr(site_models, "MOST_BYTES", 99)
    with pytest.raises(InputError, match="submit a smaller model"):
        unpack(archive_of(a_dot_json="x" * 100), tmp_path)
    with pytest.raises(InputError, match="no ZIP archive"):
        unpack(io.BytesIO(b"PK broken"), tmp_path)


@pytest.mark.parametrize("members", [40_000, 9_000])
def test_a_list_of_many_members_is_not_read(tmp_path, members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for number in range(members):
            archive.writestr(f"{number}.json", "")
    tracemalloc.start()
    with pytest.raises(InputError, match=r"no ZIP archive|over 50 files"):
        unpack(buffer, tmp_path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16 * 2**20
    assert not list(tmp_path.iterdir())


def test_a_large_onnx_file_is_searched_without_holding_it_in_memory(tmp_path):
    with (tmp_path / "model.onnx").open("wb") as file:
        file.truncate(64 * 2**20)
    tracemalloc.start()
    check_folder(tmp_path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**20


def test_data_outside_an_onnx_file_and_links_are_refused(tmp_path):
    (tmp_path / "tagger.json").write_text("{}")
    (tmp_path / "model.onnx").write_bytes(b"\x0a\x08location\x12\x10../../secret.key")
    with pytest.raises(InputError, match="names data outside itself"):
        check_folder(tmp_path)
    (tmp_path / "model.onnx").unlink()
    (tmp_path / "weights.safetensors").symlink_to("/etc/passwd")
    with pytest.raises(InputError, match="has a link"):
        check_folder(tmp_path)


@pytest.mark.parametrize(
    "content",
    [
        '{"plugin": "evil"}',
        '{"plugin": "flair"}',
        "{}",
        "[",
        "[]",
        '{"plugin": {}}',
        '{"a": ' + "[" * 100_000,
    ],
)
def test_no_other_plugin_opens_a_submission(documents, tmp_path, content):
    (tmp_path / "tagger.json").write_text(content)
    with pytest.raises(InputError, match="names no plugin of crf, onnx, transformers"):
        evaluate_model(tmp_path, documents, seconds=60)


@pytest.mark.parametrize("asked", ["openmed", "generative", "../rules", ["rules"]])
def test_a_submission_asks_no_other_detector_of_the_site(tagger, tmp_path, asked):
    """One that asks a service would send it the site's notes."""
    folder, documents = tagger
    model = unpack(io.BytesIO(packed(folder)), tmp_path)
    about = json.loads((model / "tagger.json").read_text())
    (model / "tagger.json").write_text(json.dumps({**about, "predictions_of": asked}))
    with pytest.raises(InputError, match="asks another detector of this site than rules"):
        evaluate_model(model, documents, seconds=120)


def look_around():
    import time  # noqa: F401

    try:
        Path("/dev/tty").open("rb").close()
        terminal = True
    except OSError:
        terminal = False
    limits = [resource.getrlimit(one)[0] for one in (resource.RLIMIT_AS, resource.RLIMIT_CORE)]
    nowhere = all(stat.S_ISCHR(os.fstat(stream).st_mode) for stream in (0, 1, 2))
    return terminal, os.getsid(0) == os.getpid(), limits, nowhere


def sleep_on():
    import time

    time.sleep(60)


def fill_memory():
    return len(bytearray(site_models.MEMORY + 2**30))


def test_the_process_of_a_model_has_no_terminal_and_limits():
    terminal, own_session, limits, nowhere = apart(look_around, (), seconds=60)
    assert (terminal, own_session, nowhere) == (False, True, True)
    assert limits == [site_models.MEMORY, 0]
    with pytest.raises(InputError, match="took more than 1 s"):
        apart(sleep_on, (), seconds=1)
    with pytest.raises(InputError, match="ended its process"):
        apart(fill_memory, (), seconds=60)


def test_the_command_takes_spans_and_no_program(tmp_path, capsys):
    (tmp_path / "notes").mkdir()
    rows = [
        {
            "id": f"n{n}",
            "lang": "en",
            "text": "Anna was seen.",
            "spans": [{"start": 0, "end": 4, "label": "NAME"}],
        }
        for n in range(12)
    ]
    (tmp_path / "notes" / "gold.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "spans.jsonl").write_text(
        "\n".join(json.dumps({"id": one["id"], "spans": one["spans"]}) for one in rows)
    )
    words = ["site", "a", str(tmp_path / "notes"), str(tmp_path / "log.jsonl")]
    assert main([*words, "--spans", str(tmp_path / "spans.jsonl")]) == 0
    assert json.loads(capsys.readouterr().out) == {"notes": 12, "f1": 1.0, "covered": 1.0}
    assert main(words) == 2
    assert "give --spans FILE or --model FOLDER" in capsys.readouterr().err
    assert main([*words, "--", "python3", "-c", "print()"]) == 2
    assert main(["leaderboard", str(tmp_path / "log.jsonl")]) == 0
    assert "F1 1.00, covered 1.00, 12 notes" in capsys.readouterr().out
