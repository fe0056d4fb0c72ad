"""What training promises.

It learns, repeats itself, resumes after a kill, and says what is wrong with its input.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
import signal
import subprocess
import sys
import textwrap
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from deid_assets.core.errors import ConfigError, InputError, TrainingError
from deid_assets.core.note import Note
from deid_assets.core.span import DisjointSpans
from deid_assets.core.trainer import Document, Epoch
from deid_assets.testing import parse_marked
from deid_flair import FlairDetector, FlairTrainer
from deid_flair.annealing import Annealing


def digests(folder: Path) -> dict[str, str]:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
    }


def test_a_small_set_is_learnt_by_heart(model, documents) -> None:
    found = FlairDetector(model=model, threads=1).detect([each.note for each in documents])

    ranges = [[(span.start, span.end, span.label) for span in spans] for spans in found]
    assert ranges == [
        [(span.start, span.end, span.label) for span in each.spans] for each in documents
    ]


def test_a_missing_file_is_told_before_anything_is_trained(
    task, train, tmp_path, monkeypatch
) -> None:
    from deid_flair import language_models

    trained = []
    monkeypatch.setattr(language_models, "train", lambda *_, **__: trained.append(1) or iter(()))
    lm = {"kind": "flair", "train": True, "hidden": 8}
    note, spans = parse_marked("In <ZIP>12345</ZIP>.", note_id="strange")
    dev = [Document(note, DisjointSpans(note.note_id, note.digest, spans.spans))]
    blank = [Document(Note("b", " "), DisjointSpans.of(Note("b", " "), []))]
    given = task(embeddings=[lm])

    with pytest.raises(TrainingError, match=r"glove\.6B\.zip"):
        train(task(embeddings=[lm, {"kind": "word", "model": "glove.6B.100d.txt"}]), tmp_path / "m")
    with pytest.raises(
        TrainingError, match="note 'strange': its label 'ZIP' is among the development notes"
    ):
        train(replace(given, dev=dev), tmp_path / "m")
    with pytest.raises(TrainingError, match="the notes of phase 2 have no text"):
        train(replace(given, phases=[*given.phases, blank]), tmp_path / "m")
    assert not trained


def test_without_a_crf_the_best_tag_of_each_token_is_taken(task) -> None:
    import numpy as np

    from deid_flair import folders
    from deid_flair.parts import OneHotPart
    from deid_flair.settings import settings

    tags = ["O", "B-CITY", "I-CITY", "B-NAME", "I-NAME"]
    illegal = np.log(
        np.array([[0.6, 0.1, 0.1, 0.1, 0.1], [0.1, 0.1, 0.1, 0.2, 0.5]], dtype=np.float32)
    )
    found = {}
    for decoder in ("softmax", "constrained"):
        wanted = settings({"decoder": decoder, "hidden": 4, "embeddings": [{"kind": "onehot"}]})
        network = folders.make_network([OneHotPart(["<unk>"], 4)], task(), wanted, tags)
        (path,) = network.chain().best([illegal])
        found[decoder] = [tags[tag] for tag in path]

    assert found["softmax"] == ["O", "I-NAME"]
    assert found["constrained"] != found["softmax"]


@pytest.mark.parametrize("encoder", ["lstm", "linear"])
@pytest.mark.parametrize("decoder", ["crf", "softmax", "constrained"])
def test_every_ablation_learns_the_small_set(task, train, tmp_path, encoder, decoder) -> None:
    curve = train(
        task(
            encoder=encoder, decoder=decoder, optimizer="adamw", learning_rate=0.02, max_epochs=10
        ),
        tmp_path / "m",
    )

    # how near to 1 it comes is the processor's arithmetic
    assert max(epoch.dev_f1 or 0 for epoch in curve) > 0.7
    assert curve[-1].loss < curve[0].loss / 2


def test_one_task_gives_one_model(task, train, tmp_path) -> None:
    train(task(max_epochs=2), tmp_path / "one")
    train(task(max_epochs=2), tmp_path / "two")
    train(task(max_epochs=2, seed=2), tmp_path / "other")

    assert digests(tmp_path / "one") == digests(tmp_path / "two")
    assert (
        digests(tmp_path / "one")["model.safetensors"]
        != digests(tmp_path / "other")["model.safetensors"]
    )


@pytest.fixture
def nothing_fetched(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("flair.cache_root", tmp_path)


class KilledError(Exception):
    pass


@pytest.mark.parametrize("optimizer", ["sgd", "adamw"])
def test_a_run_that_stops_goes_on_to_the_same_model(
    task, train, documents, tmp_path, optimizer
) -> None:
    wanted = task(
        phases=[documents[:9], documents[9:]], max_epochs=3, optimizer=optimizer, learning_rate=0.02
    )
    whole = train(wanted, tmp_path / "whole")
    seen: list[Epoch] = []

    def until(count: int):
        def report(epoch: Epoch) -> None:
            seen.append(epoch)
            if len(seen) == count:
                raise KilledError

        return report

    (tmp_path / "cut").mkdir()
    for count in (2, 6):
        with pytest.raises(KilledError):
            FlairTrainer().train(wanted, tmp_path / "cut", until(count))
    FlairTrainer().train(wanted, tmp_path / "cut", seen.append)

    assert {(epoch.phase, epoch.epoch, epoch.loss) for epoch in seen} == {
        (epoch.phase, epoch.epoch, epoch.loss) for epoch in whole
    }
    assert [(epoch.phase, epoch.epoch) for epoch in seen[6:]] == [
        (epoch.phase, epoch.epoch) for epoch in whole
    ]
    seconds = {(epoch.phase, epoch.epoch): epoch.seconds for epoch in seen[:6]}
    again = {(epoch.phase, epoch.epoch): epoch.seconds for epoch in seen[6:]}
    assert all(again[place] == spent for place, spent in seconds.items()), "trained again"
    assert digests(tmp_path / "cut") == digests(tmp_path / "whole")
    assert not (tmp_path / "cut" / "checkpoint").exists()


def test_what_another_task_left_is_not_gone_on_from(task, train, tmp_path) -> None:
    def stop(epoch: Epoch) -> None:
        raise KilledError

    (tmp_path / "used").mkdir()
    with pytest.raises(KilledError):
        FlairTrainer().train(task(max_epochs=2, seed=2), tmp_path / "used", stop)
    train(task(max_epochs=2), tmp_path / "used")
    train(task(max_epochs=2), tmp_path / "fresh")

    assert digests(tmp_path / "used") == digests(tmp_path / "fresh")


SCRIPT = """
import sys
from pathlib import Path
from deid_assets.core.span import DisjointSpans
from deid_assets.core.tagging import TagScheme
from deid_assets.core.trainer import Document, Task, label_inventory
from deid_assets.testing import parse_marked
from deid_flair import FlairTrainer

documents = []
for number, name in enumerate(("Lee", "Ito", "Berg", "Cruz") * 4):
    note, spans = parse_marked(f"Dr. <NAME>{name}</NAME>, day {number}.", note_id=f"n{number}")
    documents.append(Document(note, DisjointSpans(note.note_id, note.digest, spans.spans)))
lm = {"kind": "flair", "train": True, "hidden": 8, "epochs": 2, "batch_size": 2,
      "sequence_length": 5, "optimizer": "adam", "learning_rate": 0.01, "min_count": 1}
settings = FlairTrainer().settings({"embeddings": [lm], "hidden": 8, "max_epochs": 6, "threads": 1})
task = Task(phases=[documents], dev=documents[:4], native=False,
            labels=label_inventory(documents, native=False),
            scheme=TagScheme.BIO, grouping=1, seed=3, settings=settings)
FlairTrainer().train(task, Path(sys.argv[1]),
    lambda epoch: print("epoch", epoch.epoch, "after", epoch.seconds, flush=True))
"""


@pytest.mark.slow
def test_a_killed_process_goes_on_to_the_same_model(tmp_path) -> None:
    for name in ("cut", "whole"):
        (tmp_path / name).mkdir()
    command = [sys.executable, "-c", textwrap.dedent(SCRIPT)]
    with subprocess.Popen(
        [*command, str(tmp_path / "cut")], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        told = [process.stdout.readline() for _ in range(2)]
        process.send_signal(signal.SIGKILL)
    assert (tmp_path / "cut" / "checkpoint" / "phase-0" / "state.json").exists()
    again = subprocess.run(
        [*command, str(tmp_path / "cut")], capture_output=True, text=True, check=True
    )
    subprocess.run([*command, str(tmp_path / "whole")], capture_output=True, check=True)

    # the same seconds: these epochs were not trained again
    assert again.stdout.splitlines(keepends=True)[:2] == told
    assert digests(tmp_path / "cut") == digests(tmp_path / "whole")


def test_the_second_phase_goes_on_from_the_first_with_the_rate_restarted(
    task, train, documents, tmp_path
) -> None:
    curve = train(task(phases=[documents, documents], max_epochs=5, patience=0), tmp_path / "two")
    alone = train(task(phases=[documents], max_epochs=5, patience=0), tmp_path / "one")

    first = [epoch for epoch in curve if epoch.phase == 0]
    second = [epoch for epoch in curve if epoch.phase == 1]
    assert [epoch.loss for epoch in first] == [epoch.loss for epoch in alone]
    assert second[0].loss < first[0].loss / 3
    assert first[-1].learning_rate < second[0].learning_rate == 0.1


def test_a_flat_metric_halves_the_published_rate_ten_times_and_ends() -> None:
    annealing = Annealing(rate=0.1, factor=0.5, patience=3, lowest=1e-4)
    rates = []
    while not annealing.ended:
        rates.append(annealing.rate)
        annealing.step(0.7)

    assert sorted(set(rates), reverse=True) == pytest.approx(
        [0.1 / 2**times for times in range(10)]
    )
    assert annealing.rate == pytest.approx(0.1 / 2**10)
    assert len(rates) == 41  # the first epoch is the best one, then ten times four epochs


def test_an_improvement_restarts_the_wait() -> None:
    annealing = Annealing(rate=1.0, factor=0.5, patience=1, lowest=0.1)

    improved = [annealing.step(metric) for metric in (0.1, 0.1, 0.2, 0.2, 0.2)]

    assert improved == [True, False, True, False, False]
    assert annealing.rate == 0.5


def test_without_development_notes_the_loss_is_annealed_on(task, train, tmp_path) -> None:
    curve = train(task(dev=[], max_epochs=2), tmp_path / "m")

    assert [epoch.dev_f1 for epoch in curve] == [None, None]
    assert FlairDetector(model=tmp_path / "m").labels


def test_the_folder_holds_no_pickle_and_says_what_it_is(model) -> None:
    described = json.loads((model / "tagger.json").read_text())

    assert {path.suffix for path in model.rglob("*") if path.is_file()} == {".json", ".safetensors"}
    assert described["plugin"] == "flair"
    assert described["tags"] == ["O", "B-CITY", "I-CITY", "B-NAME", "I-NAME"]
    assert described["labels"] == {"CITY": "CITY", "NAME": "NAME"}
    assert [len(losses) for losses in described["language_model_losses"].values()] == [2, 2]


def test_nothing_is_logged_or_printed(task, train, tmp_path, caplog, capfd) -> None:
    caplog.set_level(logging.DEBUG)
    lm = {
        "kind": "flair",
        "train": True,
        "hidden": 8,
        "epochs": 1,
        "batch_size": 2,
        "sequence_length": 10,
    }

    train(task(embeddings=[lm, {"kind": "word", "train": True}], max_epochs=1), tmp_path / "m")

    assert not [
        record for record in caplog.records if record.name.startswith(("flair", "transformers"))
    ]
    assert "Seen" not in caplog.text
    assert capfd.readouterr() == ("", "")


def test_notes_without_spans_are_refused(task, train, tmp_path) -> None:
    note, _ = parse_marked("Walks well.")
    empty = Document(note, DisjointSpans(note.note_id, note.digest))
    wanted = replace(task(max_epochs=1), phases=[[empty]])

    with pytest.raises(TrainingError, match="no training note has a span"):
        train(wanted, tmp_path / "m")


def test_one_label_is_enough(task, train, documents, tmp_path) -> None:
    only = [
        replace(
            each,
            spans=replace(
                each.spans, spans=tuple(span for span in each.spans if span.label == "NAME")
            ),
        )
        for each in documents
    ]

    train(task(phases=[only], dev=only[:3], max_epochs=1), tmp_path / "m")

    assert FlairDetector(model=tmp_path / "m").labels == {"NAME"}


def test_blank_and_empty_notes_among_the_training_notes_do_no_harm(
    task, train, documents, tmp_path
) -> None:
    notes = [Note("empty", ""), Note("blank", " \n\t")]
    blank = [Document(note, DisjointSpans(note.note_id, note.digest)) for note in notes]

    train(
        task(phases=[[*blank, *documents]], dev=[*blank, *documents[:3]], max_epochs=1),
        tmp_path / "m",
    )

    assert [len(spans) for spans in FlairDetector(model=tmp_path / "m").detect(notes)] == [0, 0]


@pytest.mark.parametrize(
    ("embedding", "message"),
    [  # the first three need the notes to be read, all others are told before anything is trained
        ({"kind": "word", "train": True, "min_count": 9_999}, "no word occurs 9999 times"),
        ({"kind": "flair", "train": True}, "characters are too few"),
        ({"kind": "bpemb", "train": True, "vocabulary": 90_000}, "set a smaller vocabulary"),
        ({"kind": "word", "train": True, "texts": ["raw"]}, "no text to train word vectors on"),
        (
            {"kind": "flair", "model": "news-forward"},
            "'news-forward' is not on this machine.*allow_download = true",
        ),
        (
            {"kind": "word", "model": "glove"},
            "'glove' is not on this machine.*allow_download = true",
        ),
        (
            {"kind": "word", "model": "nothing/of/this"},
            "'nothing/of/this' is no file here and no name that Flair",
        ),
        (
            {"kind": "word", "model": "glove.6B.100d.txt"},
            (
                "'glove.6B.100d.txt' is no file.*glove.6B.zip at nlp.stanford.edu.*unzip"
                " glove.6B.zip glove.6B.100d.txt"
            ),
        ),
        (
            {"kind": "word", "model": "cc.it.300.bin"},
            "fetch cc.it.300.bin.gz at fasttext.cc.*gunzip cc.it.300.bin.gz",
        ),
        (
            {"kind": "bpemb", "model": "multi.wiki.bpe.vs1000000.model", "vectors": "x"},
            "fetch multi.wiki.bpe.vs1000000.model at bpemb.h-its.org",
        ),
        ({"kind": "transformer", "model": "bert-base"}, "'bert-base' is no folder here"),
        (
            {"kind": "bpemb", "model": "multi.model", "vectors": "multi.bin"},
            "'multi.model' is no file here",
        ),
    ],
)
@pytest.mark.usefixtures("nothing_fetched")
def test_a_missing_resource_is_one_clear_line(task, train, tmp_path, embedding, message) -> None:
    with pytest.raises((TrainingError, InputError), match=message) as caught:
        train(task(embeddings=[embedding]), tmp_path / "m")

    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"hiden": 3}, "hiden: Extra inputs"),
        ({"embeddings": []}, "embeddings"),
        ({"embeddings": [{"kind": "elmo"}]}, "embeddings.0.*elmo"),
        ({"embeddings": [{"kind": "word"}]}, "give either model = a path or name, or train = true"),
        ({"overlap": 600}, "overlap 600 must be less than longest 512"),
        ({"decoder": "greedy"}, "decoder"),
    ],
)
def test_a_wrong_setting_is_named(given, message) -> None:
    with pytest.raises(ConfigError, match=message):
        FlairTrainer().settings(given)


def test_settings_are_completed_with_the_published_values() -> None:
    found = FlairTrainer().settings({})

    published = {
        "learning_rate": 0.1,
        "anneal_factor": 0.5,
        "patience": 3,
        "min_learning_rate": 1e-4,
        "max_epochs": 500,
        "hidden": 256,
        "layers": 1,
        "word_dropout": 0.05,
        "locked_dropout": 0.5,
        "clip": 5.0,
        "optimizer": "sgd",
        "reproject": True,
        "encoder": "lstm",
        "decoder": "crf",
    }
    assert {name: found[name] for name in published} == published
    assert FlairTrainer().settings(found) == found


def test_every_embedding_that_the_readme_names_is_accepted() -> None:
    readme = (Path(__file__).parents[2] / "docs" / "flair.md").read_text(encoding="utf-8")
    tables = re.findall(r"`(\{kind = [^…`]+\})`", readme)

    for table in tables:
        FlairTrainer().settings(tomllib.loads(f"embeddings = [{table}]"))
    assert len(tables) >= 10
