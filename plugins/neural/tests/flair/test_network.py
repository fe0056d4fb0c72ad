"""The network against Flair itself and against brute force, and the folder it is loaded from."""

from __future__ import annotations

import itertools
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from deid_assets.core.detector import Failed, detect
from deid_assets.core.errors import PluginError
from deid_assets.core.note import Note
from deid_assets.testing import check_detector
from deid_flair import FlairDetector

# No two tokens of a line have the same known characters: Flair 0.15.1 gives the first another
# word's vector.
LINES = (
    ["Seen", "by", "Dr", "Ana", "Berg", "in", "Rome", "."],
    ["Quuxia"],
    ["Żółć", "İ", "12", "x" * 700],
    ["\u200d", "Ana", "😀\u0301"],
)


@pytest.fixture(scope="module")
def network(model):
    from deid_flair.folders import read
    from deid_onnx.folder import read_folder

    return read(read_folder(model))


def test_every_embedding_is_what_flair_makes_of_it(network) -> None:
    from flair.data import Sentence

    sentences = [Sentence(list(line)) for line in LINES]
    network.tagger.embeddings.embed(sentences)

    found = network.embed(LINES).detach()
    for row, sentence, line in zip(found, sentences, LINES, strict=True):
        at = 0
        for part in network.parts:
            width = part.embedding.embedding_length
            expected = np.stack(
                [token.get_each_embedding([part.embedding.name])[0].detach() for token in sentence]
            )
            np.testing.assert_allclose(
                row[: len(line), at : at + width],
                expected,
                atol=1e-6,
                err_msg=part.description["kind"],
            )
            at += width


def test_the_tags_are_those_of_flairs_own_predict(network, documents) -> None:
    from flair.data import Sentence

    from deid_assets.core.tagging import tokenize

    # Each token once: Flair gives the earlier one of two equal tokens another word's characters.
    lines = [
        list(dict.fromkeys(each.note.text[a:b] for a, b in tokenize(each.note.text)))
        for each in documents
    ]
    sentences = [Sentence(line) for line in lines]
    network.tagger.predict(sentences, force_token_predictions=True)
    theirs = [[token.get_label("phi").value for token in sentence] for sentence in sentences]

    scores = network.scores(lines)
    ours = network.chain().best([row[: len(line)] for row, line in zip(scores, lines, strict=True)])

    assert [[network.tags[tag] for tag in path] for path in ours] == theirs


@pytest.fixture(scope="module")
def scored(network):
    """Emissions of three tokens over all of Flair's tags, and its transitions.

    Flair's transitions are ``[to, from]``.
    """
    import torch

    line = ["Ana", "Berg", "Rome"]
    with torch.no_grad():
        emissions = network._features(network.embed([line]), torch.tensor([3]))[0].double().numpy()
        loss = network.loss([line], [[3, 4, 1]]).item()
    return emissions, network.tagger.crf.transitions.detach().double().numpy(), loss


def path_score(emissions, transitions, path, start, stop) -> float:
    steps = zip((start, *path), (*path, stop), strict=True)
    return sum(transitions[to, before] for before, to in steps) + sum(
        emissions[range(len(path)), path]
    )


def test_the_crf_loss_is_the_log_partition_less_the_gold_score(network, scored) -> None:
    emissions, transitions, loss = scored
    start, stop = len(network.tags), len(network.tags) + 1
    paths = itertools.product(range(len(network.tags) + 2), repeat=3)
    scores = np.array([path_score(emissions, transitions, path, start, stop) for path in paths])
    partition = scores.max() + np.log(np.exp(scores - scores.max()).sum())

    assert loss == pytest.approx(
        partition - path_score(emissions, transitions, (3, 4, 1), start, stop), abs=1e-4
    )


def test_the_crf_loss_and_its_gradient_are_flairs(network, documents) -> None:
    import torch

    from deid_assets.core.tagging import tokenize

    lines = sorted(
        ([each.note.text[a:b] for a, b in tokenize(each.note.text)] for each in documents), key=len
    )[::-3]
    lines[-1] = lines[-1][:1]
    gold = [[number % len(network.tags) for number in range(len(line))] for line in lines]
    flat = torch.tensor([tag for row in gold for tag in row])
    lengths = torch.tensor([len(line) for line in lines])
    theirs = network.tagger.loss_function(network.tagger(network.embed(lines), lengths), flat)
    ours = network.loss(lines, gold)
    names = ["linear.weight", "crf.transitions", "embedding2nn.bias"]
    weights = [dict(network.tagger.named_parameters())[name] for name in names]

    assert ours.item() == pytest.approx(theirs.item(), rel=1e-5)
    for name, a, b in zip(
        names, torch.autograd.grad(ours, weights), torch.autograd.grad(theirs, weights), strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-3, err_msg=name)


def test_decoding_finds_the_best_legal_path_and_its_marginals(network, scored) -> None:
    emissions, _, _ = scored
    chain = network.chain()
    tags = range(len(network.tags))
    paths = list(itertools.product(tags, repeat=3))
    scores = np.array(
        [
            chain.start[path[0]]
            + chain.end[path[2]]
            + chain.transitions[path[0], path[1]]
            + chain.transitions[path[1], path[2]]
            + emissions[range(3), path].sum()
            for path in paths
        ]
    )
    weights = np.exp(scores - scores.max())
    given = [emissions[:, : len(network.tags)].astype(np.float32)]

    assert tuple(chain.best(given)[0]) == paths[int(scores.argmax())]
    share = (
        sum(weight for weight, path in zip(weights, paths, strict=True) if path[1] == 4)
        / weights.sum()
    )
    assert chain.shares(given)[0][1, 4] == pytest.approx(share, abs=1e-5)


def test_a_long_input_is_read_in_windows_and_no_token_is_lost(model) -> None:
    from deid_onnx.families import Input

    reading = FlairDetector(model=model).tagger.network
    text = "Seen by Dr. Ana Berg in Rome. " * 300
    tokens = [(start, start + 4) for start in range(0, len(text) - 30, 5)]
    tokens = [(a, b) for a, b in tokens if " " not in text[a:b]]

    (found,) = reading.emissions([Input(text, tokens)])

    assert len(tokens) > reading.longest
    assert found.shape == (len(tokens), 5)
    assert np.isfinite(found).all()


def test_the_detector_keeps_the_contract(model) -> None:
    check_detector(FlairDetector(model=model, threads=1))


def test_the_recipes_name_is_the_source(model, documents) -> None:
    (found,) = FlairDetector(model=model, name="a3_1").detect([documents[0].note])

    assert {span.source for span in found} == {"a3_1"}
    assert all(0.5 < span.score <= 1 for span in found)


def test_a_token_of_fifty_thousand_letters_is_read(model) -> None:
    note = Note("long", "Dr. Ana " + "x" * 50_000 + " Berg")

    assert not isinstance(detect(FlairDetector(model=model), [note])[0], Failed)


def test_a_device_that_is_not_there_is_an_error(model) -> None:
    with pytest.raises(PluginError, match="device 'cuda:99' is not there"):
        FlairDetector(model=model, device="cuda:99")


@pytest.fixture
def folder(model, tmp_path) -> Path:
    return Path(shutil.copytree(model, tmp_path / "model"))


def edit(folder: Path, **changes: object) -> None:
    path = folder / "tagger.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_a_folder_with_pickles_is_refused_unless_trusted(folder) -> None:
    (folder / "best-lm.pt").write_bytes(b"")

    with pytest.raises(PluginError, match=r"best-lm\.pt.*trust"):
        FlairDetector(model=folder)
    assert FlairDetector(model=folder, trust=True).labels


def broken_weights(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes(b"\0" * 64)


def other_head(folder: Path) -> None:
    tags = json.loads((folder / "tagger.json").read_text())["tags"]
    edit(
        folder,
        tags=[*tags, "B-CITY2", "I-CITY2"],
        labels={"CITY": "CITY", "NAME": "NAME", "CITY2": "CITY"},
    )


BROKEN = [
    (lambda folder: (folder / "tagger.json").unlink(), "no tagger.json"),
    (lambda folder: (folder / "tagger.json").write_text("{"), "tagger.json is broken"),
    (lambda folder: (folder / "model.safetensors").unlink(), r"no model\.safetensors"),
    (broken_weights, r"model\.safetensors is missing or broken"),
    (lambda folder: (folder / "vocabulary" / "0.json").unlink(), "vocabulary is broken"),
    (lambda folder: edit(folder, plugin="crf"), "trained by 'crf'; use the detector 'crf'"),
    (lambda folder: edit(folder, labels={"CITY": "CITY"}), "gives no category to NAME"),
    (lambda folder: edit(folder, hidden=17), "weights do not fit tagger.json"),
    (lambda folder: edit(folder, embeddings=[{"kind": "elmo"}]), "unknown kind 'elmo'"),
    (other_head, "weights do not fit tagger.json at 'crf.transitions'"),
]


@pytest.mark.parametrize(("damage", "message"), BROKEN)
def test_a_broken_folder_is_one_clear_line(folder, damage, message) -> None:
    damage(folder)

    with pytest.raises(PluginError, match=message) as caught:
        FlairDetector(model=folder)

    assert "\n" not in str(caught.value)


def test_importing_the_plugin_loads_no_framework() -> None:
    script = (
        "import sys, deid_flair; deid_flair.FlairTrainer().settings({}); print(sorted({'torch',"
        " 'flair', 'gensim', 'transformers', 'onnx', 'onnxruntime'} & set(sys.modules)))"
    )

    found = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )

    assert found.stdout == "[]\n"
