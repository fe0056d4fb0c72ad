"""The detector keeps the contract, its threshold decides, and a model or calibration that does not
fit is refused.
"""

from __future__ import annotations

import itertools
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from models_here import KINDS, TEXTS, save_model

from deid_assets import Note, Phi
from deid_assets.core.detector import Failed, detect
from deid_assets.core.errors import ConfigError, DetectorError, PluginError
from deid_assets.core.trainer import Document
from deid_assets.plugins import load as load_plugin
from deid_assets.testing import check_detector, check_offline, parse_marked
from deid_zero_shot import ZeroShotDetector, calibration, shapes
from deid_zero_shot.guard import load
from deid_zero_shot.method import Runtime, method_of, read_options

NOTES = [Note(f"n{number}", text, lang="en") for number, text in enumerate(TEXTS)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("stages", [1, 2])
def test_the_contract_holds(folders: dict[str, Path], kind: str, stages: int) -> None:
    short = (
        "",
        " \r\n\t",
        "Seen on 3 May 2021.\r\nDr. Jane Lee, tel. 617-555-0143.\r\n",
        "Cafe\u0301 \U0001f468 a.b@example.org",
    )

    check_detector(
        ZeroShotDetector(model=folders[kind], threshold=1e-6, stages=stages, threads=1),
        texts=[*short, "Fever. " * 60],
    )


def test_the_entry_point_gives_the_detector_and_reaches_for_nothing(
    folders: dict[str, Path],
) -> None:
    found = check_offline(
        lambda: load_plugin(
            "zero_shot",
            options={"model": str(folders["wordpiece"]), "threshold": 2.0, "threads": 1},
        ),
        NOTES[1],
    )

    assert len(found)


def test_nothing_is_redacted_at_zero_everything_above_one_and_more_in_between(
    folders: dict[str, Path],
) -> None:
    found = [
        {
            (number, span.start)
            for number, spans in enumerate(
                ZeroShotDetector(model=folders["wordpiece"], threshold=threshold, threads=1).detect(
                    NOTES
                )
            )
            for span in spans
        }
        for threshold in (1e-300, 1e-12, 1e-6, 1e-3, 1.001)
    ]

    assert not found[0]
    assert all(low <= high for low, high in itertools.pairwise(found))
    assert len(found[1]) < len(found[3]) < len(found[4])
    assert len(found[4]) == sum(
        len(ZeroShotDetector(model=folders["wordpiece"], threshold=2.0).method.score(note).words)
        for note in NOTES
    )


def test_an_export_scores_as_its_network_does(folders: dict[str, Path], exported: Path) -> None:
    torch_scores, onnx_scores = (
        [
            word.score
            for note in NOTES
            for word in ZeroShotDetector(model=model, threshold=0.1).method.score(note).words
        ]
        for model in (folders["wordpiece"], exported)
    )

    np.testing.assert_allclose(onnx_scores, torch_scores, atol=1e-3)


def test_int8_ranks_words_much_as_fp32_does(exported: Path) -> None:
    full, small = (
        np.array(
            [
                word.score
                for note in NOTES
                for word in (
                    ZeroShotDetector(model=exported, threshold=0.1, precision=precision)
                    .method.score(note)
                    .words
                )
            ]
        )
        for precision in ("fp32", "int8")
    )

    assert np.corrcoef(full, small)[0, 1] > 0.8


def test_an_export_has_the_digest_of_its_model(folders: dict[str, Path], exported: Path) -> None:
    digests = {
        ZeroShotDetector(model=model, threshold=0.1).method.digest
        for model in (folders["wordpiece"], exported)
    }

    assert len(digests) == 1
    assert load(str(folders["bpe"])).digest not in digests


def test_a_device_that_is_not_there_is_an_error(folders: dict[str, Path]) -> None:
    with pytest.raises(PluginError, match="device 'cuda:99' is not there"):
        ZeroShotDetector(model=folders["wordpiece"], threshold=0.1, device="cuda:99")


def test_a_model_without_a_trained_head_is_refused(tmp_path: Path) -> None:
    folder = save_model(tmp_path, head=False)

    with pytest.raises(PluginError, match="head was not trained"):
        ZeroShotDetector(model=folder, threshold=0.1)


def test_a_model_without_a_mask_is_refused(folders: dict[str, Path], tmp_path: Path) -> None:
    folder = Path(shutil.copytree(folders["wordpiece"], tmp_path / "model"))
    for name in ("tokenizer_config.json", "special_tokens_map.json"):
        values = json.loads((folder / name).read_text())
        values.pop("mask_token", None)
        (folder / name).write_text(json.dumps(values))

    with pytest.raises(PluginError, match="no mask token"):
        ZeroShotDetector(model=folder, threshold=0.1)


def test_another_model_s_tokenizer_is_refused(folders: dict[str, Path], tmp_path: Path) -> None:
    folder = Path(shutil.copytree(folders["wordpiece"], tmp_path / "model"))
    weights = Path(save_model(tmp_path / "other", "unigram"))
    shutil.copyfile(weights / "config.json", folder / "config.json")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"vocab_size": 7}))

    with pytest.raises(PluginError):
        ZeroShotDetector(model=folder, threshold=0.1)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"threshold": 0.0}, "above 0"),
        ({"threshold": float("nan")}, "above 0"),
        ({"threshold": 0.1, "stages": 3}, "1 or 2"),
        ({"threshold": 0.1, "batch": 0}, "1 or more"),
        ({"threshold": 0.1, "threads": 0}, "1 or more"),
        ({"threshold": 0.1, "window": 3}, "too short"),
        ({"threshold": 0.1, "segment": "sentences"}, "unknown"),
        ({"threshold": 0.1, "lemmas": "x"}, "unknown"),
        ({"threshold": 0.1, "precision": "int4"}, "unknown"),
        ({"threshold": 0.1, "precision": "int8"}, "need an export"),
    ],
)
def test_an_option_that_has_no_such_value_is_named(
    folders: dict[str, Path], options: dict[str, object], words: str
) -> None:
    with pytest.raises(ConfigError, match=words):
        ZeroShotDetector(model=folders["wordpiece"], **options)


def test_a_folder_that_is_none_is_named(tmp_path: Path) -> None:
    with pytest.raises(PluginError, match="allow_download"):
        ZeroShotDetector(model=tmp_path / "none", threshold=0.1)


@pytest.fixture
def calibrated(folders: dict[str, Path], tmp_path: Path) -> Path:
    detector = ZeroShotDetector(model=folders["wordpiece"], threshold=0.1)
    one = calibration.Threshold(
        log_threshold=-9.0,
        target="f1",
        notes=1,
        tokens=10,
        prevalence=0.1,
        f1=0.5,
        recall=0.5,
        precision=0.5,
    )
    path = tmp_path / calibration.FILE
    calibration.write(
        path,
        calibration.LanguageThresholds(
            detector.method.digest, detector.method.described, {"en": one}
        ),
    )
    return path


def test_a_calibration_is_used_for_its_language_alone(
    folders: dict[str, Path], calibrated: Path
) -> None:
    detector = ZeroShotDetector(model=folders["wordpiece"], calibration_file=calibrated, threads=1)
    spanish, english, unknown = (Note("n", "Ana Lee.", lang=lang) for lang in ("es", "en", None))

    outcomes = detect(detector, [spanish, english, unknown])

    assert isinstance(outcomes[0], Failed)
    assert not any(isinstance(outcome, Failed) for outcome in outcomes[1:])
    with pytest.raises(DetectorError, match="calibrate on notes in that language"):
        list(detector.detect([spanish]))


@pytest.mark.parametrize(
    "change", [{"kind": "bpe"}, {"mean": True}, {"lemmas": "none"}, {"window": 32}]
)
def test_a_calibration_of_another_model_or_scoring_is_refused(
    folders: dict[str, Path], calibrated: Path, change: dict[str, object]
) -> None:
    options = dict(change)
    model = folders[str(options.pop("kind", "wordpiece"))]

    with pytest.raises(PluginError, match="calibrated"):
        ZeroShotDetector(model=model, calibration_file=calibrated, **options)


@pytest.mark.parametrize("text", ["{", "[]", '{"format": 2}', '{"format": 1, "model": "x"}'])
def test_a_broken_calibration_is_named(folders: dict[str, Path], tmp_path: Path, text: str) -> None:
    path = tmp_path / calibration.FILE
    path.write_text(text)

    with pytest.raises(PluginError, match="calibrate"):
        ZeroShotDetector(model=folders["wordpiece"], calibration_file=path)


def test_without_a_calibration_the_remedy_is_named(folders: dict[str, Path]) -> None:
    with pytest.raises(PluginError, match="deid zero-shot calibrate"):
        ZeroShotDetector(model=folders["wordpiece"])


@pytest.mark.parametrize(
    ("word", "label"),
    [
        ("anna@example.org", Phi.EMAIL),
        ("www.example.org", Phi.URL),
        ("12/03/2020", Phi.DATE),
        ("4411223", Phi.ID),
        ("X1234567Z", Phi.ID),
        ("10.0.0.1", Phi.IP),
        ("47", Phi.OTHER),
        ("Lee", Phi.OTHER),
    ],
)
def test_a_form_tells_a_category(word: str, label: Phi) -> None:
    assert shapes.label_of(word) is label


def test_words_that_are_no_phi_by_their_kind_stay_unscored(
    folders: dict[str, Path], tmp_path: Path
) -> None:
    text = "Seen by Dr. <NAME>Lee</NAME>, no <NAME>Mora</NAME> and no fever. "
    documents = [
        Document(*parse_marked(text + "No cough. " * at, note_id=f"n{at}", lang="en"))
        for at in range(8)
    ]
    spans: list[set[str]] = []
    variants = []
    for typed in (False, True):
        options = read_options({"typed": typed})
        method = method_of(folders["wordpiece"], options, Runtime(threads=1))
        threshold = calibration.threshold_for(method, documents, target="recall=1.0")
        path = tmp_path / f"{typed}.json"
        calibration.write(
            path, calibration.LanguageThresholds(method.digest, method.described, {"en": threshold})
        )
        detector = ZeroShotDetector(model=folders["wordpiece"], calibration_file=path, threads=1)
        note = Note("new", "No fever, seen by Dr. Lee.", lang="en")
        spans.append(
            {note.text[span.start : span.end] for span in next(iter(detector.detect([note])))}
        )
        variants.append(detector.method.scorer.spent.variants)

    assert "Lee" in spans[0] & spans[1]
    assert not {"fever", "seen", "by"} & spans[1]
    assert variants[1] < variants[0]
    with pytest.raises(ConfigError, match="typed needs what a calibration learnt"):
        ZeroShotDetector(model=folders["wordpiece"], threshold=0.1, typed=True)
