"""A real server of llama.cpp, with a model that the test writes.

The grammar per note holds its outputs to the note.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from tiny_model import NOTE, random_model, speech

from deid_assets import Note
from deid_generative import GenerativeDetector
from deid_generative.gbnf import grammar_of
from deid_generative.reading import read_output

gguf = pytest.importorskip("gguf")
pytest.importorskip("llama_cpp")
pytestmark = pytest.mark.slow


def write_gguf(model: Any, tokenizer: Any, path: Path) -> None:
    """Write a model of Llama's kind as llama.cpp reads it.

    Its rotary pairs lie next to each other.
    """
    config, writer = model.config, gguf.GGUFWriter(str(path), "llama")
    heads, width = config.num_attention_heads, config.hidden_size
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(width)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(heads)
    writer.add_head_count_kv(heads)
    writer.add_rope_dimension_count(width // heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_vocab_size(config.vocab_size)
    described = json.loads(tokenizer.backend_tokenizer.to_str())
    names = [
        token for token, _ in sorted(tokenizer.get_vocab().items(), key=lambda entry: entry[1])
    ]
    added = {one["content"]: one["special"] for one in described["added_tokens"]}
    # control, user defined, normal
    kinds = [3 if added.get(name) else 4 if name in added else 1 for name in names]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(names)
    writer.add_token_types(kinds)
    writer.add_token_merges([" ".join(pair) for pair in described["model"]["merges"]])
    writer.add_eos_token_id(tokenizer.eos_token_id)
    writer.add_bos_token_id(tokenizer.eos_token_id)
    writer.add_add_bos_token(False)
    state = {name: value.float().numpy() for name, value in model.state_dict().items()}

    def turned(values: np.ndarray) -> np.ndarray:
        half = values.shape[0] // heads // 2
        return values.reshape(heads, 2, half, width).swapaxes(1, 2).reshape(values.shape)

    writer.add_tensor("token_embd.weight", state["model.embed_tokens.weight"])
    writer.add_tensor("output_norm.weight", state["model.norm.weight"])
    for layer in range(config.num_hidden_layers):
        own, theirs = f"blk.{layer}.", f"model.layers.{layer}."
        parts = {
            "attn_norm": "input_layernorm",
            "ffn_norm": "post_attention_layernorm",
            "attn_v": "self_attn.v_proj",
            "attn_output": "self_attn.o_proj",
            "ffn_gate": "mlp.gate_proj",
            "ffn_up": "mlp.up_proj",
            "ffn_down": "mlp.down_proj",
        }
        for name, other in parts.items():
            writer.add_tensor(f"{own}{name}.weight", state[f"{theirs}{other}.weight"])
        for name in ("q", "k"):
            writer.add_tensor(
                f"{own}attn_{name}.weight",
                turned(state[f"{theirs}self_attn.{name}_proj.weight"]).copy(),
            )
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("gguf")
    spoken = speech(folder / "tokens")
    write_gguf(random_model(spoken, 1), spoken.tokenizer, folder / "tiny.gguf")
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "llama_cpp.server",
        "--model",
        str(folder / "tiny.gguf"),
        "--host",
        "127.0.0.1",
    ]
    command += ["--port", str(port), "--n_ctx", "1024", "--n_threads", "1"]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env=dict(os.environ))
        address = f"http://127.0.0.1:{port}/v1"
        try:
            for _ in range(600):
                if process.poll() is not None:
                    pytest.fail((folder / "log").read_text()[-2_000:])
                try:
                    if (
                        httpx.get(f"{address}/models", trust_env=False).status_code
                        == httpx.codes.OK
                    ):
                        break
                except httpx.HTTPError:
                    time.sleep(0.1)
            yield address
        finally:
            process.terminate()
            process.wait(timeout=30)


NOTES = (
    NOTE,
    "dlr abdo depuis 2j, vu par Dr Martin",
    "Le mot ANONYMOUS est ici, Dr Lee aussi.",
    'Dit "oui",\nta 13/8',
)


def test_the_servers_outputs_are_the_note_with_placeholders(server: str) -> None:
    """The weights are random: only the grammar makes these outputs right."""
    detector = GenerativeDetector(endpoint=server, prompt="bare", checker="", retries=0, together=1)
    notes = [Note(f"n{number}", text, lang="fr") for number, text in enumerate(NOTES)]

    assert len(list(detector.detect(notes))) == len(NOTES)
    for text in NOTES:
        body = {
            "prompt": f"<<<\n{text}\n>>>\n",
            "grammar": grammar_of(text),
            "max_tokens": 400,
            "temperature": 0.0,
        }
        choice = httpx.post(
            f"{server}/completions", json=body, timeout=120, trust_env=False
        ).json()["choices"][0]
        reading = read_output(text, choice["text"], finished=choice["finish_reason"] == "stop")
        assert reading.status.is_usable
        assert reading.edits == []


def test_without_the_grammar_the_same_model_writes_another_text(server: str) -> None:
    body = {"prompt": f"<<<\n{NOTE}\n>>>\n", "max_tokens": 60, "temperature": 0.0}
    choice = httpx.post(f"{server}/completions", json=body, timeout=120, trust_env=False).json()[
        "choices"
    ][0]

    assert not read_output(
        NOTE, choice["text"], finished=choice["finish_reason"] == "stop"
    ).status.is_usable
