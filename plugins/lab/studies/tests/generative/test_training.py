"""Training: by heart, an adapter with the published shape, the same weights after a kill, and what
is refused.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from tiny_model import TEXTS, random_model, speech
from tiny_pairs import TINY, documents, files, task, train

from deid_assets.core.errors import ConfigError, PluginError, TrainingError
from deid_assets.core.trainer import Epoch
from deid_causal.steps import batch_of
from deid_generative import GenerativeDetector, GenerativeTrainer
from deid_generative.budget import check_budget, choose_bits, estimate, parameters
from deid_generative.decode import Decoding
from deid_generative.folder import read_folder
from deid_generative.local import LocalModel, PromptShape, Speech
from deid_generative.opening import open_model
from deid_generative.pairs import answer_text, join_spans, pairs, spans_of
from deid_generative.reading import Status
from deid_generative.use import Use

BY_HEART = {
    "method": "full",
    "learning_rate": 1e-2,
    "epochs": 24,
    "new": {**TINY["new"], "steps": 0},
}


def found(detector: GenerativeDetector) -> list[list[str]]:
    notes = [document.note for document in documents()]
    return [
        [note.text[s.start : s.end] for s in spans]
        for note, spans in zip(notes, detector.detect(notes), strict=True)
    ]


def test_a_model_from_nothing_learns_four_notes_by_heart(tmp_path: Path) -> None:
    curve: list[Epoch] = []
    model = train(task(**BY_HEART), tmp_path / "m", curve)
    detector = GenerativeDetector(model=model, checker="", threads=1, name="generative_toy")

    assert curve[-1].loss < curve[0].loss / 3
    removed = found(detector)
    assert removed[2] == []
    assert any("Mora" in value for value in removed[1])
    folder = read_folder(model)
    assert folder.curve[folder.best_epoch - 1]["measures"]["f1"] == max(
        point["measures"]["f1"] for point in folder.curve
    )
    assert {"note_recall", "bleu_corpus", "names_only", "recall_by_category"} <= folder.curve[0][
        "measures"
    ].keys()


def test_an_adapter_is_trained_on_a_base_that_stays_as_it_was(tmp_path: Path) -> None:
    model = train(task(epochs=2), tmp_path / "m")
    config = json.loads((model / "adapter" / "adapter_config.json").read_text())

    assert (config["r"], config["lora_alpha"], config["bias"]) == (16, 32, "none")
    assert set(config["target_modules"]) == set(TINY["lora"]["targets"])
    assert sorted(path.name for path in model.iterdir()) == [
        "adapter",
        "base",
        "categories.json",
        "tagger.json",
    ]
    assert len(found(GenerativeDetector(model=model, checker="", threads=1))) == 4


def test_the_default_adapter_is_the_published_one() -> None:
    settings = GenerativeTrainer().settings({})

    assert settings["lora"] == {
        "rank": 32,
        "alpha": 64,
        "dropout": 0.1,
        "targets": ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj"],
    }
    assert (settings["learning_rate"], settings["weight_decay"], settings["epochs"]) == (
        5e-5,
        0.01,
        15,
    )
    assert (settings["batch"], settings["budget_gb"]) == (24, 16.0)


class KilledError(Exception):
    """Stands for a kill at a moment of a run."""


def test_a_run_goes_on_after_a_kill_and_gives_the_same_weights(tmp_path: Path) -> None:
    whole = train(task(epochs=3), tmp_path / "whole")

    for phase, epoch in ((-1, 1), (0, 1), (0, 2)):

        def kill(point: Epoch, at: tuple[int, int] = (phase, epoch)) -> None:
            if (point.phase, point.epoch) == at:
                raise KilledError

        (tmp_path / "killed").mkdir(exist_ok=True)
        with pytest.raises(KilledError):
            GenerativeTrainer().train(task(epochs=3), tmp_path / "killed", kill)
        assert not (tmp_path / "killed" / "tagger.json").exists()
    resumed = train(task(epochs=3), tmp_path / "killed")

    assert files(resumed) == files(whole)
    assert not (resumed / "checkpoint").exists()


def test_the_epoch_is_chosen_on_development_notes_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The best of a curve with a plateau is its first best epoch, and its weights are those that
    are written.
    """

    def trained(name: str, *values: float) -> Path:
        worth = iter(values)
        monkeypatch.setattr("deid_generative.tune.worth", lambda *_: next(worth))
        return train(task(epochs=5), tmp_path / name)

    plateau = trained("plateau", 0.2, 0.6, 0.9, 0.9, 0.8)
    third = trained("third", 0.1, 0.1, 0.3, 0.2, 0.2)
    fourth = trained("fourth", 0.1, 0.1, 0.1, 0.2, 0.2)

    assert [read_folder(model).best_epoch for model in (plateau, third, fourth)] == [3, 3, 4]
    assert files(plateau) == files(third) != files(fourth)


def test_pairs_are_the_note_with_placeholders_or_anonymous(spoken: Any) -> None:
    adjacent = [(0, 4, "NAME"), (5, 9, "NAME"), (8, 12, "DATE")]

    assert join_spans("Anne Paul mars, vu", adjacent) == [(0, 12, "NAME")]
    assert answer_text("Anne Paul mai, vu", [(0, 4, ""), (5, 9, ""), (10, 13, "")]) == "[XXXXX], vu"
    assert answer_text("Vu par Paul", [(7, 11, "NAME")]) == "Vu par [NAME]"
    assert answer_text("toux", []) == "ANONYMOUS"
    for document in documents():
        (pair,) = pairs(document, spoken, longest=128)
        text = spoken.tokenizer.decode(pair.answer[:-1])
        assert text == answer_text(document.note.text, spans_of(document, typed=False))


def test_a_window_makes_all_prompts_alike_and_copies_what_has_nothing_to_remove(
    spoken: Any,
) -> None:
    given = Speech(spoken.tokenizer, PromptShape(spoken.shape.prompt, window=30))
    made = [pair for document in documents() for pair in pairs(document, given, longest=128)]
    silent = documents()[2].note.text
    (copied,) = pairs(documents()[2], given, longest=128)

    assert {len(pair.prompt) for pair in made} == {len(given.before) + 30 + len(given.after)}
    assert given.tokenizer.decode(copied.answer[:-1]) == silent
    assert given.grammar(silent, given.plain(silent)[0]).anonymous == []
    with pytest.raises(ConfigError, match="window 30 is over the 26"):
        LocalModel(random_model(given, 0), given, Decoding(), context=90)
    with pytest.raises(ConfigError, match="window is for base"):
        GenerativeTrainer().settings({"window": 30, "base": "x"})


def test_the_second_opinion_is_asked_of_a_window_that_was_copied_whole(spoken: Any) -> None:
    given = Speech(spoken.tokenizer, PromptShape(spoken.shape.prompt, window=30))
    (made,) = LocalModel(random_model(given, 0), given, Decoding(bias=-1e9)).write(["toux"])

    assert made.status is Status.ANONYMOUS


def test_only_the_tokens_of_answers_are_learnt(spoken: Any) -> None:
    (pair,) = pairs(documents()[0], spoken, longest=128)
    batch = batch_of([pair], spoken.end, torch.device("cpu"))

    assert (batch.targets[0, : len(pair.prompt)] == -100).all()
    assert batch.targets[0, len(pair.prompt) :].tolist() == pair.answer


def test_typed_placeholders_tell_the_category(tmp_path: Path) -> None:
    model = train(task(**BY_HEART, placeholders="typed"), tmp_path / "m")
    (spans,) = GenerativeDetector(model=model, checker="", threads=1).detect([documents()[3].note])

    assert read_folder(model).tags == ("DATE", "NAME")
    assert [span.label.value for span in spans] == ["DATE"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"base": "/nowhere"}, "no folder here"),
        ({"prompt": "zero_shot_xx"}, "there is no prompt"),
        ({"lora": {"targets": ["no_such_layer"]}}, "name its linear layers"),
        ({"bits": 4, "base": "gpt"}, "no folder here"),
        ({"method": "full", "base": "x"}, "method full is for base"),
        ({"epoch": 3}, "epoch"),
    ],
)
def test_wrong_settings_are_one_line(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        train(task(**{**TINY, **changes}), tmp_path / "m")


def test_notes_without_spans_are_refused(tmp_path: Path) -> None:
    given = task()
    empty = [one for one in given.phases[0] if not one.spans]
    with pytest.raises(TrainingError, match="no span"):
        train(
            type(given)(
                **{**{name: getattr(given, name) for name in given.__slots__}, "phases": [empty]}
            ),
            tmp_path,
        )


def test_a_broken_model_folder_is_refused(tmp_path: Path) -> None:
    model = train(task(epochs=1), tmp_path / "m")
    (model / "adapter" / "adapter_model.safetensors").write_bytes(b"cut off")
    with pytest.raises(PluginError, match="train the model again"):
        GenerativeDetector(model=model, checker="", threads=1)
    (model / "tagger.json").write_text("{}")
    with pytest.raises(PluginError, match="not a model folder"):
        GenerativeDetector(model=model, checker="")


def config(kind: str) -> Any:
    wide = {"hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32}
    if kind == "llama":
        return transformers.LlamaConfig(
            **wide, vocab_size=32_000, intermediate_size=11_008, num_key_value_heads=32
        )
    return transformers.MixtralConfig() if kind == "mixtral" else transformers.MistralConfig()


@pytest.mark.parametrize(
    ("kind", "bits", "billions", "fits"),
    [
        ("llama", 8, 6.74, True),
        ("mistral", 8, 7.24, True),
        pytest.param("mixtral", 4, 46.7, False, marks=pytest.mark.slow),
    ],
)
def test_memory_is_told_before_loading_and_held_to_the_budget(
    kind: str, bits: int, billions: float, fits: bool
) -> None:
    given = config(kind)
    memory = estimate(given, bits=bits, context=4_096)

    assert sum(parameters(given)) / 1e9 == pytest.approx(billions, rel=0.005)
    if fits:
        check_budget(memory, 16.0, name=kind, bits=bits)
    else:
        with pytest.raises(ConfigError, match="over the budget of 16 GB"):
            check_budget(memory, 16.0, name=kind, bits=bits)


def test_a_model_over_the_budget_is_not_loaded(tmp_path: Path) -> None:
    model = train(task(epochs=1), tmp_path / "m")

    with pytest.raises(ConfigError, match="over the budget"):
        GenerativeDetector(model=model, checker="", budget_gb=0.1)


def test_quantised_weights_need_a_gpu_and_bitsandbytes() -> None:
    cpu, gpu = torch.device("cpu"), torch.device("cuda")

    assert [choose_bits("auto", device=one, quantises=True) for one in (cpu, gpu)] == [32, 8]
    assert choose_bits("auto", device=gpu, quantises=False) == 16
    with pytest.raises(ConfigError, match="bitsandbytes"):
        choose_bits(8, device=cpu, quantises=True)


@pytest.mark.parametrize("stored", [torch.bfloat16, torch.float16, torch.float32])
def test_a_base_is_read_as_stored_where_the_processor_can(
    stored: torch.dtype, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spoken = speech(tmp_path)
    random_model(spoken, 1).to(stored).save_pretrained(tmp_path)
    able = torch.cpu.get_capabilities()
    has_half = any(able.get(name) for name in ("avx512_bf16", "amx_bf16", "bf16"))
    bits = 16 if stored is torch.bfloat16 and has_half else 32

    opened = open_model(str(tmp_path), None, prompt="bare", use=Use(device="cpu"))

    assert opened._model.dtype is (torch.bfloat16 if bits == 16 else torch.float32)
    assert f"at {bits} bits takes about 0.6 GB" in capsys.readouterr().err


def test_scores_are_computed_behind_the_last_token_of_a_prompt_alone(tmp_path: Path) -> None:
    spoken = speech(tmp_path)
    model = random_model(spoken, 1)
    rows: list[int] = []
    model.lm_head.register_forward_hook(lambda _, given, __: rows.append(given[0].shape[1]))

    LocalModel(model, spoken, Decoding(ahead=0)).write([TEXTS[0]])

    assert rows
    assert set(rows) == {1}


def test_recipes_that_ship_are_whole() -> None:
    from deid_assets.training.recipe import load_recipe

    folder = Path(__file__).parents[2] / "deid_generative" / "recipes"
    recipes = [load_recipe(path) for path in sorted(folder.glob("*.toml"))]

    assert {"generative_llama2_7b", "generative_mistral_7b", "generative_mixtral"} <= {
        one.name for one in recipes
    }
    for recipe in recipes:
        assert GenerativeTrainer().settings(recipe.settings)
        assert recipe.name.startswith("generative_")
