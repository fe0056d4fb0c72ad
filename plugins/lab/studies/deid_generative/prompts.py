"""The prompt registry: instructions to a model, in files with a version, known by a digest."""

from __future__ import annotations

import hashlib
import json
import tomllib
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from deid_assets.extending import ConfigError, did_you_mean

_FOLDER = resources.files("deid_generative") / "prompts"
_NOTE = "\ue000note\ue000"
"""Stands for the note while a chat template is filled in, so that no template reads the note."""


class PromptExample(BaseModel):
    """A note with the right answer, shown before the note itself."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    note: str
    answer: str


class Prompt(BaseModel):
    """What a model is told.

    Args:
        name: In the registry.
        version: Raised with every change.
        instruction: What to do.
        note: Heading of the note.
        answer: Heading of the answer.
        chat: Whether the model's own chat template is used, where its tokenizer has one.
        examples: Answers shown before; few-shot where there are some.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,40}$")]
    version: Annotated[int, Field(ge=1)]
    instruction: str
    note: str = ""
    answer: str = ""
    chat: bool = False
    examples: tuple[PromptExample, ...] = ()

    @property
    def digest(self) -> str:
        """SHA-256 of the whole prompt template; 16 hexadecimal digits."""
        values = json.dumps(self.model_dump(mode="json"), sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(values.encode()).hexdigest()[:16]

    @property
    def told(self) -> str:
        """Name, version and digest of the prompt, as reports show them."""
        return f"{self.name}-{self.version}+{self.digest}"

    def plain(self) -> tuple[str, str]:
        """Return what stands before the note and after it, without a chat template."""
        shown = "".join(
            f"{self.note}{one.note}{self.answer}{one.answer}\n\n" for one in self.examples
        )
        return f"{self.instruction}{shown}{self.note}", self.answer

    def messages(self) -> list[dict[str, str]]:
        """Return the turns of a chat, with a mark in the place of the note."""
        turns = (
            [{"role": "system", "content": self.instruction.strip()}]
            if self.instruction.strip()
            else []
        )
        for one in self.examples:
            turns += [
                {"role": "user", "content": one.note},
                {"role": "assistant", "content": one.answer},
            ]
        return [*turns, {"role": "user", "content": _NOTE}]

    def chat_messages(self, text: str) -> list[dict[str, str]]:
        """Return the turns of a chat about a note, for an endpoint that has the template itself."""
        return [
            {**turn, "content": turn["content"].replace(_NOTE, text)} for turn in self.messages()
        ]

    def around(self, tokenizer: Any) -> tuple[str, str]:
        """Return what stands before the note and after it, with the tokenizer's chat template where
        wanted.

        Raises:
            ConfigError: The template leaves the note out.
        """
        if not self.chat or not getattr(tokenizer, "chat_template", None):
            return self.plain()
        turns = self.messages()
        try:
            whole = tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
        except Exception:  # noqa: BLE001 - templates raise errors of their own where they know no system turn
            first, *rest = turns
            rest[0] = {**rest[0], "content": f"{first['content']}\n\n{rest[0]['content']}"}
            whole = tokenizer.apply_chat_template(rest, tokenize=False, add_generation_prompt=True)
        before, mark, after = str(whole).partition(_NOTE)
        if not mark:
            raise ConfigError(
                f"prompt {self.name}: the model's chat template leaves the note out; use chat ="
                " false"
            )
        return before, after


@cache
def registry() -> dict[str, Prompt]:
    """Return the prompts that come with the plugin, by name."""
    found = (
        _parse(path.read_text("utf-8"), path.name)
        for path in _FOLDER.iterdir()
        if path.name.endswith(".toml")
    )
    return {prompt.name: prompt for prompt in sorted(found, key=lambda prompt: prompt.name)}


def load_prompt(name_or_path: str) -> Prompt:
    """Return a prompt of the registry, or one from a TOML file.

    Raises:
        ConfigError: There is none, or it is wrong.
    """
    known = registry()
    if name_or_path in known:
        return known[name_or_path]
    try:
        return _parse(Path(name_or_path).read_text("utf-8"), name_or_path)
    except OSError:
        raise ConfigError(
            f"there is no prompt {name_or_path!r}{did_you_mean(name_or_path, known)}; "
            f"choose one of {', '.join(known)}, or give a TOML file"
        ) from None


def _parse(text: str, where: str) -> Prompt:
    try:
        return Prompt.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"prompt {where}: not TOML: {error}") from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise ConfigError(
            f"prompt {where}: {'.'.join(map(str, first['loc'])) or 'prompt'}: {first['msg']}"
        ) from None
