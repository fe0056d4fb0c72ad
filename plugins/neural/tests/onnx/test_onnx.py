"""The detector ``onnx`` on networks made by hand.

Spans, scores, windows, refusals, and no PyTorch.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from networks_here import TAGS, folder

from deid_assets import Note, Phi
from deid_assets.core.errors import ConfigError, InputError, PluginError
from deid_assets.testing import check_detector, mark
from deid_onnx import OnnxDetector
from deid_onnx.parity import parity
from deid_onnx.tagger import TransitionScores, write_chain

TEXT = "Seen by Ana Moreno on 12/03.\nAna was well."


def test_spans_have_the_category_the_label_and_the_recipes_name(tmp_path: Path) -> None:
    detector = OnnxDetector(model=folder(tmp_path), name="small_tagger", threads=1)
    note = Note("n", TEXT)

    (found,) = detector.detect([note])

    assert (
        mark(note, found)
        == "Seen by <NAME>Ana Moreno</NAME> on <DATE>12</DATE>/<DATE>03</DATE>.\n<NAME>Ana</NAME>"
        " was well."
    )
    assert {(span.label, span.native_label, span.source) for span in found} == {
        (Phi.NAME, "", "small_tagger"),
        (Phi.DATE, "FECHA", "small_tagger"),
    }
    assert detector.labels == {Phi.NAME, Phi.DATE}


def test_a_score_is_the_least_marginal_of_its_tokens(tmp_path: Path) -> None:
    detector = OnnxDetector(model=folder(tmp_path), threads=1)

    (alone,) = detector.detect([Note("n", "x Ana")])

    emitted = np.exp([[2.0, 0, 0, 0, 0], [2.0, 5.0, 0, 0, 0]])
    # What is legal of two tokens: any that may begin, then any that may follow it. x can begin a
    # name that Ana goes on.
    legal = {
        (one, two): emitted[0, one] * emitted[1, two]
        for one in (0, 1, 3)
        for two in range(5)
        if two in (0, 1, 3) or two == one + 1
    }
    share = sum(weight for (_, two), weight in legal.items() if two == 1) / sum(legal.values())
    assert [span.score for span in alone] == [pytest.approx(share, abs=1e-4)]


def test_the_contract_holds(tmp_path: Path) -> None:
    check_detector(OnnxDetector(model=folder(tmp_path, grouping=4), threads=1))


def test_windows_change_nothing_for_a_network_that_reads_as_far_as_they_overlap(
    tmp_path: Path,
) -> None:
    text = "Ana Moreno, 12/03, patient admitted. " * 40
    whole = OnnxDetector(
        model=folder(tmp_path / "whole", window=4096, overlap=64, reads_left=True, grouping=99)
    )
    cut = OnnxDetector(
        model=folder(tmp_path / "cut", window=24, overlap=8, reads_left=True, grouping=99)
    )

    wanted, found = (list(detector.detect([Note("n", text)])) for detector in (whole, cut))

    assert len(wanted[0]) > 40
    assert wanted == found


def test_notes_run_together_as_on_a_card_give_the_same_spans(tmp_path: Path) -> None:
    detector = OnnxDetector(model=folder(tmp_path), threads=1)
    notes = [Note(f"n{number}", TEXT * (number % 4)) for number in range(11)]

    together = replace(detector.tagger, together=4)

    assert list(together.detect(notes)) == list(detector.detect(notes))


@pytest.mark.gpu
@pytest.mark.skipif(not Path("/dev/nvidiactl").exists(), reason="needs a CUDA device")
def test_a_card_gives_the_spans_of_the_processor(tmp_path: Path) -> None:
    path = folder(tmp_path)
    notes = [Note(f"n{number}", TEXT * number) for number in range(5)]

    on_card = OnnxDetector(model=path, providers="cuda", threads=1)

    assert list(on_card.detect(notes)) == list(
        OnnxDetector(model=path, providers="cpu", threads=1).detect(notes)
    )


def test_a_trained_chain_is_used_where_there_is_one(tmp_path: Path) -> None:
    path = folder(tmp_path)
    zeros = np.zeros(len(TAGS), np.float32)
    never = np.zeros((len(TAGS), len(TAGS)), np.float32)
    never[1, 2] = -50.0  # B-NAME I-NAME
    write_chain(path, TransitionScores(never, zeros, zeros))
    note = Note("n", "by Ana Moreno on")

    (found,) = OnnxDetector(model=path, threads=1).detect([note])

    assert mark(note, found) != "by <NAME>Ana Moreno</NAME> on"


def test_the_version_changes_with_the_model(tmp_path: Path) -> None:
    one = OnnxDetector(model=folder(tmp_path / "a"))
    other = OnnxDetector(model=folder(tmp_path / "b", grouping=2))

    assert one.version != other.version


def test_an_export_is_like_itself_and_unlike_another(tmp_path: Path) -> None:
    path = folder(tmp_path / "a")
    notes = [Note("n", TEXT), Note("blank", " \n")]

    (same,) = parity(OnnxDetector(model=path).tagger, path, notes)
    (other,) = parity(
        OnnxDetector(model=path).tagger, folder(tmp_path / "b", reads_left=True), notes
    )

    assert (same.precision, same.share, same.largest_difference) == ("fp32", 1.0, 0.0)
    assert same.tokens == 13
    assert other.share < 1.0 < other.largest_difference
    with pytest.raises(InputError, match="none of 1 notes"):
        parity(OnnxDetector(model=path).tagger, path, notes[1:])


def _without(path: Path, name: str) -> None:
    (path / name).unlink()


def _said(path: Path, **changes: Any) -> None:
    described = json.loads((path / "tagger.json").read_text())
    (path / "tagger.json").write_text(json.dumps({**described, **changes}))


BROKEN = {
    "no tagger.json": (lambda path: _without(path, "tagger.json"), "no tagger.json"),
    "no network": (lambda path: _without(path, "model.onnx"), "no such file"),
    "no tokenizer": (lambda path: _without(path, "tokenizer.json"), "no such file"),
    "cut network": (lambda path: (path / "model.onnx").write_bytes(b"\x08\x08"), "does not load"),
    "cut tagger.json": (lambda path: (path / "tagger.json").write_text("{"), "broken"),
    "a list": (lambda path: (path / "tagger.json").write_text("[]"), "broken"),
    "other format": (lambda path: _said(path, format=2), "format 2"),
    "label without category": (
        lambda path: _said(path, labels={"NAME": "NAME"}),
        "no category to FECHA",
    ),
    "unknown category": (
        lambda path: _said(path, labels={"NAME": "NAME", "FECHA": "DAY"}),
        "broken",
    ),
    "no O": (lambda path: _said(path, tags=TAGS[1:]), "must list O"),
    "unknown family": (lambda path: _said(path, family="tree"), "family 'tree' is unknown"),
    "family with a path": (lambda path: _said(path, family="../x"), "is unknown"),
    "no inputs": (lambda path: _said(path, inputs={"before": 1}), "broken"),
    "no grouping": (lambda path: _said(path, grouping=0), "grouping 0"),
    "pickles": (lambda path: (path / "old.pt").write_bytes(b""), "trust=true"),
    "cut chain": (
        lambda path: (path / "transitions.npz").write_bytes(b"PK"),
        "transitions.npz is broken",
    ),
    "other chain": (
        lambda path: write_chain(path, TransitionScores(*(np.zeros(2, np.float32),) * 3)),
        "not of the 5 tags",
    ),
}


@pytest.mark.parametrize(("harm", "message"), BROKEN.values(), ids=BROKEN)
def test_a_broken_folder_is_one_clear_line(harm: Any, message: str, tmp_path: Path) -> None:
    harm(folder(tmp_path))

    with pytest.raises(PluginError, match=message) as raised:
        OnnxDetector(model=tmp_path)
    assert "\n" not in str(raised.value)


def test_pickles_may_lie_in_a_trusted_folder(tmp_path: Path) -> None:
    (folder(tmp_path) / "old.pt").write_bytes(b"")

    assert OnnxDetector(model=tmp_path, trust=True).labels


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"precision": "fp8"}, ConfigError, "fp8"),
        ({"precision": "int8"}, PluginError, "no such file"),
        ({"threads": 0}, ConfigError, "threads"),
        ({"providers": "tpu"}, PluginError, "'tpu' is unknown"),
    ],
)
def test_options_without_sense_are_refused(
    options: dict[str, Any], error: type[Exception], message: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=message):
        OnnxDetector(model=folder(tmp_path), **options)


@pytest.mark.skipif(Path("/dev/nvidiactl").exists(), reason="there is a GPU here")
def test_a_provider_that_does_not_start_is_said_and_not_replaced(tmp_path: Path) -> None:
    with pytest.raises(PluginError, match="'cuda'"):
        OnnxDetector(model=folder(tmp_path), providers=["cuda"])


def test_a_score_that_is_no_number_fails_the_note(tmp_path: Path) -> None:
    detector = OnnxDetector(model=folder(tmp_path), threads=1)
    network: Any = detector.tagger.network
    broken = [np.full((2, len(TAGS)), np.nan, np.float32)]

    with pytest.raises(InputError, match="no number"):
        detector.tagger.spans(detector.tagger.inputs(Note("n", "Ana Moreno")), broken)
    assert network.tags == len(TAGS)


def test_running_it_loads_no_pytorch(tmp_path: Path) -> None:
    program = (
        "import sys, deid_onnx\nlight = {'onnxruntime', 'tokenizers'} & set(sys.modules)\nfrom"
        " deid_assets import Note\nfound ="
        f" list(deid_onnx.OnnxDetector(model={str(folder(tmp_path))!r}).detect([Note('n',"
        f" {TEXT!r})]))\nheavy = {{'torch', 'transformers', 'flair', 'onnx'}} &"
        " set(sys.modules)\nprint(sorted(light), sorted(heavy), len(found[0]))"
    )

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == "[] [] 4"


def test_many_notes_at_once_give_what_each_gives_alone(tmp_path: Path) -> None:
    detector = OnnxDetector(model=folder(tmp_path), threads=1)
    notes = [
        Note(f"n{number}", (TEXT + "\n") * (number % 5) if number % 7 else " ")
        for number in range(80)
    ]

    assert list(detector.detect(notes)) == [
        found for note in notes for found in detector.detect([note])
    ]


def test_many_chains_of_unlike_length_are_decoded_as_each_alone() -> None:
    rng = np.random.default_rng(5)
    chain = TransitionScores(
        *(rng.normal(size=shape).astype(np.float32) for shape in ((5, 5), (5,), (5,)))
    )
    emissions = [rng.normal(size=(size, 5)).astype(np.float32) for size in rng.integers(1, 30, 300)]

    for one, path, shares in zip(
        emissions, chain.best(emissions), chain.shares(emissions), strict=True
    ):
        assert path.tolist() == chain.best([one])[0].tolist()
        np.testing.assert_allclose(shares, chain.shares([one])[0], atol=1e-6)
