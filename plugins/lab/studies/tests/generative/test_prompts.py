"""The prompt registry.

Versions, digests, files of one's own, and notes that no chat template reads.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from deid_assets.core.errors import ConfigError
from deid_generative.prompts import load_prompt, registry


class Templated:
    """A tokenizer's chat template without a system turn, as Mistral's first was."""

    chat_template = "there is one"

    def apply_chat_template(
        self, turns: list[dict[str, str]], *, tokenize: bool, add_generation_prompt: bool
    ) -> str:
        assert not tokenize
        assert add_generation_prompt
        if turns[0]["role"] == "system":
            raise ValueError("no system turn")
        return "<s>" + "".join(f"[INST]{turn['content']}[/INST]" for turn in turns)


def test_each_prompt_has_a_version_and_a_digest_that_changes_with_it() -> None:
    known = registry()
    told = [prompt.told for prompt in known.values()]

    assert {
        "bare",
        "tuned_fr",
        "zero_shot_fr",
        "few_shot_fr",
        "zero_shot_en",
        "few_shot_en",
    } <= known.keys()
    assert len(set(told)) == len(told)
    changed = known["bare"].model_copy(update={"instruction": "Copy."})
    assert changed.digest != known["bare"].digest


def test_few_shot_prompts_show_answers_and_zero_shot_prompts_none() -> None:
    few, zero = load_prompt("few_shot_fr"), load_prompt("zero_shot_fr")

    assert few.plain()[0].count("[XXXXX]") > zero.plain()[0].count("[XXXXX]")
    assert [turn["role"] for turn in few.messages()][-3:] == ["user", "assistant", "user"]
    assert len(zero.messages()) == 2


def test_the_note_is_no_part_of_what_a_chat_template_reads() -> None:
    before, after = load_prompt("zero_shot_fr").around(Templated())

    assert before.endswith("qui s'y trouve.\n\n")
    assert after == "[/INST]"


def test_a_prompt_of_ones_own_is_a_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        'name = "mine"\nversion = 3\ninstruction = "Copy."\nnote = "N:"\nanswer = "A:"\n'
    )

    assert load_prompt(str(path)).told.startswith("mine-3+")
    path.write_text("name = 3\n")
    with pytest.raises(ConfigError, match="name"):
        load_prompt(str(path))
    with pytest.raises(ConfigError, match="did you mean 'few_shot_fr'"):
        load_prompt("few_shot_f")
