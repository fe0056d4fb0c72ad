"""A tiny encoder learns six notes by heart, the same way each time.

It does so through phases, new starts and kills.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tiny_tasks import TINY, documents, files, task, train, with_settings

from deid_assets import Note, Phi
from deid_assets.core.errors import ConfigError, TrainingError
from deid_assets.core.tagging import TagScheme
from deid_assets.core.trainer import Epoch
from deid_assets.testing import check_detector
from deid_transformers import TransformersDetector, TransformersTrainer


def spans(folder: Path) -> list[set[tuple[int, int, Phi]]]:
    detector = TransformersDetector(model=folder, threads=1)
    found = detector.detect([document.note for document in documents()])
    return [{(span.start, span.end, span.label) for span in one} for one in found]


GOLD = [{(span.start, span.end, span.label) for span in document.spans} for document in documents()]


def test_six_notes_are_learnt_by_heart(model: Path) -> None:
    assert spans(model) == GOLD


@pytest.mark.parametrize(
    ("settings", "scheme"),
    [
        ({"decoder": "crf"}, TagScheme.BIOES),
        ({"decoder": "softmax", "class_weights": {"O": 0.5}}, TagScheme.BIO),
        ({"class_weights": "balanced"}, TagScheme.BIOES),
        ({"bf16": True}, TagScheme.BIO),
        ({"new": {**TINY["new"], "tokenizer": "bpe", "vocabulary": 400}}, TagScheme.BIO),
        ({"new": {**TINY["new"], "tokenizer": "unigram", "lines": False}}, TagScheme.BIO),
    ],
    ids=["crf", "softmax", "balanced", "bf16", "bpe", "unigram"],
)
def test_each_decoder_tokenizer_and_scheme_learns_them(
    settings: dict[str, Any], scheme: TagScheme, tmp_path: Path
) -> None:
    assert spans(train(with_settings(task(scheme=scheme), **settings), tmp_path)) == GOLD


def test_the_contract_holds(model: Path) -> None:
    check_detector(TransformersDetector(model=model, threads=1))


def test_a_model_of_native_labels_gives_both(tmp_path: Path) -> None:
    folder = train(task(native=True), tmp_path)

    (found,) = TransformersDetector(model=folder, name="toy_recipe").detect([documents()[0].note])

    assert [(span.label, span.native_label, span.source) for span in found] == [
        (Phi.NAME, "X_NAME", "toy_recipe"),
        (Phi.DATE, "X_DATE", "toy_recipe"),
    ]


def test_the_folder_says_what_it_is_and_holds_no_pickles(model: Path) -> None:
    described = json.loads((model / "tagger.json").read_text())

    assert described["plugin"] == "transformers"
    assert described["tags"][0] == "O"
    assert described["labels"] == {"AGE": "AGE", "DATE": "DATE", "NAME": "NAME"}
    assert (described["native"], described["scheme"], described["grouping"]) == (False, "bio", 2)
    assert {path.suffix for path in model.iterdir()} == {".json", ".safetensors"}


def test_the_curve_is_told_epoch_by_epoch(tmp_path: Path) -> None:
    curve: list[Epoch] = []

    train(with_settings(task(), epochs=20, patience=20), tmp_path, curve)

    assert [point.epoch for point in curve] == list(range(1, 21))
    assert curve[-1].loss < curve[0].loss
    assert all(point.dev_f1 is not None and point.learning_rate is not None for point in curve)


def test_the_same_task_gives_the_same_bytes(model: Path, tmp_path: Path) -> None:
    assert files(train(task(), tmp_path)) == files(model)


def test_another_seed_gives_another_model(model: Path, tmp_path: Path) -> None:
    other = files(train(task(seed=2), tmp_path))

    assert other["model.safetensors"] != files(model)["model.safetensors"]


def test_a_phase_ends_when_it_gets_no_better(tmp_path: Path) -> None:
    curve: list[Epoch] = []

    train(with_settings(task(), patience=2), tmp_path, curve)

    best = max(range(len(curve)), key=lambda at: curve[at].dev_f1 or 0)
    assert len(curve) == best + 3 < 60


def test_without_development_notes_the_last_epoch_is_kept(tmp_path: Path) -> None:
    curve: list[Epoch] = []

    folder = train(task(dev=[]), tmp_path, curve)

    assert {point.dev_f1 for point in curve} == {None}
    assert spans(folder) == GOLD


def test_a_second_phase_begins_with_what_the_first_learnt(tmp_path: Path) -> None:
    curve: list[Epoch] = []
    settings = {**TINY, "epochs": 25, "patience": 25}

    train(task(settings, phases=[documents(), documents()[:4]]), tmp_path, curve)

    last = [point for point in curve if point.phase == 0][-1]
    first = next(point for point in curve if point.phase == 1)
    assert first.loss < 0.5 * next(point for point in curve if point.phase == 0).loss
    assert first.learning_rate is not None
    assert last.learning_rate is not None
    assert first.learning_rate > last.learning_rate


SLOW = {**TINY, "new": {**TINY["new"], "architecture": "bert", "kinds": False}}
"""An encoder that learns less from six notes."""


def test_a_run_that_predicts_nothing_begins_again_with_another_seed(tmp_path: Path) -> None:
    mute = with_settings(
        task(SLOW), class_weights={"O": 1e3}, collapse_after=2, epochs=4, restarts=2
    )
    curve: list[Epoch] = []

    with pytest.raises(TrainingError, match="3 runs predicted nothing but O"):
        train(with_settings(mute, learning_rate=1e-1), tmp_path, curve)

    starts = [point for point in curve if point.epoch == 1]
    assert len({point.loss for point in starts}) == len(starts) == 3


def test_a_new_start_is_on_record(tmp_path: Path) -> None:
    # With O at three times its weight, about half of all starts are mute for three epochs.
    heavy = {
        **SLOW,
        "class_weights": {"O": 3.0},
        "collapse_after": 3,
        "restarts": 10,
        "epochs": 16,
        "patience": 16,
    }
    for seed in range(2, 30):
        out = tmp_path / str(seed)
        with suppress(TrainingError):
            train(task(heavy, seed=seed), out)
        if not (out / "tagger.json").exists():
            continue
        if restarts := json.loads((out / "tagger.json").read_text())["restarts"]:
            assert [entry["attempt"] for entry in restarts] == list(range(len(restarts)))
            return
    pytest.fail("no start was mute")


class KilledError(Exception):
    pass


LONG = {
    **TINY,
    "epochs": 3,
    "new": {**TINY["new"], "dropout": 0.1},
    "pretrain": {"steps": 6, "batch": 2, "length": 16, "save_every": 2, "learning_rate": 1e-3},
}


@pytest.fixture(scope="session")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, bytes], list[Epoch]]:
    """Run pre-training and two phases; return what is written and reported."""
    curve: list[Epoch] = []
    folder = train(
        task(LONG, phases=[documents(), documents()[:4]]),
        tmp_path_factory.mktemp("unbroken"),
        curve,
    )
    return files(folder), curve


@pytest.mark.parametrize("at", [(-1, 1), (-1, 2), (0, 1), (0, 3), (1, 1), (1, 2)])
def test_an_interrupted_run_resumes_to_the_same_model(
    at: tuple[int, int], unbroken: tuple[dict[str, bytes], list[Epoch]], tmp_path: Path
) -> None:
    given = task(LONG, phases=[documents(), documents()[:4]])

    def report(point: Epoch) -> None:
        if (point.phase, point.epoch) == at:
            raise KilledError

    with pytest.raises(KilledError):
        TransformersTrainer().train(given, tmp_path, report)
    again: list[Epoch] = []
    train(given, tmp_path, again)

    expected, curve = unbroken
    assert files(tmp_path) == expected
    assert [(point.phase, point.epoch, point.loss) for point in again] == [
        (point.phase, point.epoch, point.loss) for point in curve
    ]


def test_what_another_task_left_is_not_gone_on_from(model: Path, tmp_path: Path) -> None:
    def report(_point: Epoch) -> None:
        raise KilledError

    with pytest.raises(KilledError):
        TransformersTrainer().train(task(seed=9), tmp_path, report)

    assert files(train(task(), tmp_path)) == files(model)


@pytest.mark.slow
def test_a_killed_process_goes_on_to_the_same_model(tmp_path: Path) -> None:
    program = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from tiny_tasks import task
from deid_transformers import TransformersTrainer
def kill(point):
    if point.epoch == int(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)
TransformersTrainer().train(task(), Path(sys.argv[2]), kill)
"""

    def code(out: Path, *, killed_at: int = 0) -> int:
        out.mkdir(exist_ok=True)
        arguments = [sys.executable, "-c", program, Path(__file__).parent, out, str(killed_at)]
        return subprocess.run(arguments, check=False).returncode

    assert code(tmp_path / "whole") == 0
    assert code(tmp_path / "killed", killed_at=3) == -signal.SIGKILL
    assert (tmp_path / "killed" / "checkpoint" / "tune-0-0" / "state.json").exists()
    assert not (tmp_path / "killed" / "tagger.json").exists()
    assert code(tmp_path / "killed") == 0

    assert files(tmp_path / "killed") == files(tmp_path / "whole")


def test_one_label_alone_is_learnt(tmp_path: Path) -> None:
    only = [documents()[number] for number in (0, 5)]
    kept = [
        type(document)(
            document.note,
            type(document.spans)(
                document.note.note_id,
                document.note.digest,
                tuple(span for span in document.spans if span.label is Phi.NAME),
            ),
        )
        for document in only
    ]

    folder = train(task(phases=[kept], dev=kept), tmp_path)

    assert TransformersDetector(model=folder).labels == {Phi.NAME}


def test_empty_and_blank_notes_are_read_over(tmp_path: Path) -> None:
    empty = [
        type(document)(note, type(document.spans)(note.note_id, note.digest, ()))
        for document, note in zip(documents(), [Note("a", ""), Note("b", " \n\t")], strict=False)
    ]

    assert (
        spans(train(task(phases=[[*empty, *documents()]], dev=[*empty, *documents()]), tmp_path))
        == GOLD
    )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"learning_rat": 1}, "learning_rat"),
        ({"epochs": 0}, "epochs"),
        ({"new": {"hidden": 30, "heads": 4}}, "must be a multiple of new.heads"),
        ({"new": {"hidden": 28, "heads": 4}}, "even multiple of new.heads"),
        ({"keep_empty": 0}, "keep_empty"),
        ({"new": {"positions": 64}, "pretrain": {"length": 128}}, "over new.positions"),
        ({"decoder": "crf", "class_weights": "balanced"}, "class_weights need"),
        ({"window": 64, "overlap": 40}, "at most half"),
        ({"decoder": "beam"}, "decoder"),
    ],
)
def test_settings_without_sense_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        TransformersTrainer().settings(settings)


def test_settings_are_completed_and_can_be_recorded() -> None:
    given = TransformersTrainer().settings({"encoder": "some/encoder"})

    assert (given["epochs"], given["batch"], given["learning_rate"], given["warm_up"]) == (
        5,
        32,
        5e-5,
        0.1,
    )
    assert TransformersTrainer().settings(json.loads(json.dumps(given))) == given


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"labels": {}}, TrainingError, "no span"),
        ({"phases": []}, TrainingError, "no phase"),
        ({"phases": [[]]}, TrainingError, "no note with text"),
    ],
)
def test_a_task_that_cannot_give_a_model_is_refused(
    change: dict[str, Any], error: type[Exception], message: str, tmp_path: Path
) -> None:
    from dataclasses import replace

    with pytest.raises(error, match=message):
        train(replace(task(), **change), tmp_path)


def test_weights_for_a_label_that_is_not_there_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="'PLACE'; the labels are O, AGE, DATE, NAME"):
        train(with_settings(task(), class_weights={"PLACE": 2.0}), tmp_path)


def test_a_loss_that_overflows_is_said(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="lower learning_rate"):
        train(with_settings(task(), class_weights={"O": 1e38}), tmp_path)


def test_a_broken_checkpoint_is_said(tmp_path: Path) -> None:
    (tmp_path / "checkpoint" / "tune-0-0").mkdir(parents=True)
    (tmp_path / "checkpoint" / "tune-0-0" / "state.json").write_text("{")

    with pytest.raises(TrainingError, match="remove the folder checkpoint"):
        train(task(), tmp_path)


def test_importing_the_plugin_loads_no_pytorch() -> None:
    program = (
        "import sys, deid_transformers; print(sorted({'torch', 'transformers', 'onnxruntime'} &"
        " set(sys.modules)))"
    )

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == "[]"
