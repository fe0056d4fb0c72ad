"""Causal models: a loss that falls, the adapter's size, a merged adapter that changes nothing, and
a run that resumes.
"""

from __future__ import annotations

import json
import shutil

import pytest
import torch
import transformers
from tiny_worlds import CAUSAL, train_causal

from deid_assets.core.errors import ConfigError, InputError, TrainingError
from deid_audits.models.opened import check_reads, open_model, pair_with_tokenizer
from deid_causal.run import adapt
from deid_causal.settings import CausalSettings, read_settings
from deid_causal.trainer import CausalTrainer

pytestmark = pytest.mark.long

FEW = CAUSAL | {"epochs": 2}


def weights(folder):
    return transformers.AutoModelForCausalLM.from_pretrained(folder).state_dict()


def test_the_loss_falls(causal_folder):
    curve = json.loads((causal_folder / "curve.json").read_text())
    assert curve[-1]["loss"] < 0.5 * curve[0]["loss"]
    assert curve[-1]["learning_rate"] < curve[0]["learning_rate"]


def test_a_run_that_was_stopped_ends_as_one_that_was_not(small_world, tmp_path):
    notes = small_world.corpus.training[:40]
    whole = train_causal(notes, tmp_path / "whole", **FEW)
    trainer, out = CausalTrainer(), tmp_path / "part"
    out.mkdir()

    def stop(epoch):
        if epoch.epoch == 2:
            raise KeyboardInterrupt

    for report in (stop, lambda _: None):
        try:
            trainer.pretrain(notes, out, settings=trainer.settings(FEW), seed=1, report=report)
        except KeyboardInterrupt:
            assert (out / "checkpoint").exists()
    assert not (out / "checkpoint").exists()
    first, second = weights(whole), weights(out)
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_an_adapter_trains_its_own_weights_alone_and_merges_without_a_trace(
    causal_folder, small_world, tmp_path
):
    settings = {
        "base": str(causal_folder),
        "method": "lora",
        "epochs": 1,
        "length": 48,
        "threads": 1,
        "learning_rate": 1e-2,
    }
    out = train_causal(small_world.other[:24], tmp_path / "adapted", **settings)

    base, merged = (
        transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
        for folder in (causal_folder, out)
    )
    ids = torch.arange(20).reshape(2, 10)
    import peft

    with torch.inference_mode():
        before, after = base(ids).logits, merged(ids).logits
        unmerged = peft.PeftModel.from_pretrained(base, out / "adapter").eval()(ids).logits
    torch.testing.assert_close(after, unmerged, rtol=1e-3, atol=1e-4)
    assert not torch.allclose(before, after, atol=1e-3)


def test_an_adapter_on_four_bits_learns_and_is_merged_into_what_the_model_computes_with(
    small_world, tmp_path
):
    pytest.importorskip("bitsandbytes")
    import peft
    from peft.utils.integrations import dequantize_module_weight
    from safetensors.torch import load_file

    from deid_causal.loading import load_base

    # Outside of training bitsandbytes computes on some processors with widths of 32, 64, … alone.
    wide = CAUSAL["new"] | {"width": 64, "feed_forward": 128}
    base_folder = train_causal(
        small_world.other[:48], tmp_path / "base", **FEW | {"epochs": 1, "new": wide}
    )
    settings = FEW | {
        "base": str(base_folder),
        "method": "lora",
        "bits": 4,
        "learning_rate": 1e-2,
        "keep_epochs": True,
        "held_out": 0.2,
        "adapter": {"dropout": 0.0},
    }
    out = train_causal(small_world.corpus.training[:48], tmp_path / "quantised", **settings)

    curve = json.loads((out / "curve.json").read_text())
    assert curve[-1]["loss"] < curve[0]["loss"]
    base = load_base(
        str(base_folder), bits=4, place=torch.device("cpu"), allow_download=False
    ).eval()
    added = load_file(out / "adapter" / "adapter_model.safetensors")
    for name, found in load_file(out / "model.safetensors").items():
        module = name.removesuffix(".weight")
        wanted = dequantize_module_weight(base.get_submodule(module)).float()
        if first := [key for key in added if key.endswith(f"{module}.lora_A.weight")]:
            wanted = wanted + 32 / 8 * added[first[0].replace("lora_A", "lora_B")] @ added[first[0]]
        # the mantissa of 8 bits
        torch.testing.assert_close(found.float(), wanted, rtol=2**-8, atol=1e-6)
    whole = transformers.AutoModelForCausalLM.from_pretrained(out).float().eval()
    ids = torch.arange(40).reshape(4, 10)
    with torch.inference_mode():
        before, after = base(ids).logits.float(), whole(ids).logits
        unmerged = peft.PeftModel.from_pretrained(base, out / "adapter").eval()(ids).logits.float()
    assert (after - unmerged).abs().mean() < 0.2 * (after - before).abs().mean()


def test_an_adapter_has_r_times_a_plus_b_weights():
    layer = torch.nn.Module()
    config = transformers.LlamaConfig(
        vocab_size=50,
        hidden_size=1024,
        intermediate_size=8,
        num_hidden_layers=1,
        num_attention_heads=4,
    )
    model = transformers.AutoModelForCausalLM.from_config(config)
    settings = CausalSettings(base="given", method="lora", adapter={"targets": ("q_proj",)})
    trained = [one.numel() for one in adapt(model, settings).parameters() if one.requires_grad]
    assert sum(trained) == 16_384
    assert not list(layer.parameters())


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"method": "lora"}, "adapts a base"),
        ({"bits": 4}, "bits below 32"),
        ({"length": 500}, "is over new.context"),
        ({"epoch": 1}, "epoch: Extra inputs"),
    ],
)
def test_settings_that_do_not_fit_are_refused(wrong, said):
    with pytest.raises(ConfigError, match=said):
        read_settings(wrong)


def test_no_text_is_no_training_material(tmp_path):
    from deid_assets import Note

    with pytest.raises(TrainingError, match="give more notes"):
        train_causal([Note("n", "")], tmp_path / "none", **FEW)
    with pytest.raises(TrainingError, match="no taggers"):
        CausalTrainer().train(None, tmp_path, lambda _: None)


def test_a_model_without_its_head_is_refused(tmp_path):
    tagger = transformers.BertForTokenClassification(
        transformers.BertConfig(
            vocab_size=30,
            hidden_size=8,
            num_hidden_layers=1,
            num_attention_heads=1,
            intermediate_size=8,
        )
    )
    tagger.save_pretrained(tmp_path / "tagger")
    with pytest.raises(InputError, match="BertForTokenClassification has no language-model head"):
        open_model(tmp_path / "tagger")
    with pytest.raises(InputError, match="there is no config"):
        open_model(tmp_path)


def test_a_head_that_the_weights_lack_is_refused(masked_folder, tmp_path):
    from safetensors.torch import load_file, save_file

    shutil.copytree(masked_folder, tmp_path / "m")
    path = tmp_path / "m" / "model.safetensors"
    kept = {
        name: one
        for name, one in load_file(path).items()
        if not name.startswith("cls.predictions.transform")
    }
    save_file(kept, path, {"format": "pt"})
    with pytest.raises(InputError, match="language-model head"):
        open_model(tmp_path / "m")


def test_the_tokenizer_of_another_model_is_refused(causal, masked, other):
    with pytest.raises(InputError, match="another model"):
        pair_with_tokenizer("m", "masked", masked.model, other.tokenizer)
    small = transformers.AutoModelForCausalLM.from_config(
        transformers.LlamaConfig(
            vocab_size=40,
            hidden_size=8,
            intermediate_size=8,
            num_hidden_layers=1,
            num_attention_heads=1,
            bos_token_id=None,
            eos_token_id=0,
            pad_token_id=1,
        )
    )
    with pytest.raises(InputError, match="tokenizer of another model"):
        pair_with_tokenizer("m", "causal", small, causal.tokenizer)
    with pytest.raises(InputError, match="worse than a uniform guess"):
        check_reads("m", [9.0, 8.0], 100, 450)
    check_reads("m", [3.0], 100, 450)
