"""A GLiNER model of a folder, and its spans in a text of any length."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deid_assets.extending import ConfigError, Phi, PluginError, Span
from deid_onnx.devices import device as find_device
from deid_onnx.session import start
from deid_published.network import positions

CONFIG = "gliner_config.json"
GRAPH = "model.onnx"
_DIGITS = 4
_LARGE = 8192
"""Sub-tokens of a window, where neither tokenizer nor encoder says how many it reads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GlinerSettings:
    """How a text is read.

    Args:
        prompts: As the model was trained with.
        groups: Most prompts of one call.
        window: Most words of one call.
        overlap: Words that neighbouring windows share.
        subtokens: Most sub-tokens of one call, prompts and text.
    """

    prompts: Sequence[str]
    groups: int
    window: int
    overlap: int
    subtokens: int


def load(
    folder: Path, *, threads: int, providers: Sequence[str] = (), device: str | None = None
) -> Any:
    """Return the library's model.

    With ONNX Runtime where the folder has a graph, otherwise with PyTorch.

    Raises:
        PluginError: It does not load, or the hardware asked for is not there.
        ConfigError: ``providers`` of a model without a graph, or ``device`` of one with it.
    """
    has_graph = (folder / GRAPH).is_file()
    if has_graph and device is not None:
        raise ConfigError(f"{folder}: it runs with ONNX Runtime; give providers in place of device")
    if not has_graph and providers:
        raise ConfigError(
            f"{folder}: it runs with PyTorch, since it was not exported; give device in place of"
            " providers"
        )
    place = "cpu" if has_graph else find_device(device)
    with quiet():
        from gliner import GLiNER  # noqa: PLC0415 - loads PyTorch

        if has_graph:
            session = start(folder / GRAPH, providers=providers, threads=threads)
            given: dict[str, Any] = {
                "runtime": "onnxruntime",
                "runtime_options": {"session": session},
            }
        else:
            given = {"strict": True}
        try:
            model = GLiNER.from_pretrained(
                str(folder), local_files_only=True, map_location=place, **given
            )
        except RuntimeError as error:
            raise PluginError(
                f"{folder}: weights and {CONFIG} do not fit each other; fetch the model again"
            ) from error
        except Exception as error:
            raise PluginError(
                f"{folder}: the model does not load ({type(error).__name__})"
            ) from error
    return model.eval()


def longest(model: Any) -> int:
    """Return the most sub-tokens that a model reads."""
    return most_of(model.data_processor.transformer_tokenizer, model.config.encoder_config)


def most_of(tokenizer: Any, encoder: Any) -> int:
    """Return the most sub-tokens that an encoder of this configuration reads.

    Special ones are included.
    """
    return int(min(tokenizer.model_max_length, positions(encoder) or _LARGE, _LARGE))


def parts(
    count: int, sizes: Sequence[int], *, words: int, overlap: int, room: int
) -> Iterator[tuple[int, int]]:
    """Yield windows of words as ``(first, behind the last)``; together they are all of the text.

    Args:
        count: Words of the text.
        sizes: Sub-tokens of each.
        words: Most words of a window.
        overlap: Words that neighbours share, as far as there is room.
        room: Most sub-tokens of a window; a longer word is a window of its own.
    """
    first = 0
    while first < count:
        last, left = first + 1, room - sizes[first]
        while last < count and last - first < words and sizes[last] <= left:
            left -= sizes[last]
            last += 1
        yield first, last
        if last == count:
            return
        first = max(first + 1, last - overlap)


def _room_beside(prompts: Sequence[str], model: Any, settings: GlinerSettings) -> int:
    """Return the sub-tokens that prompts leave for the text.

    Raises:
        PluginError: They leave none.
    """
    beside = [] if model.config.labels_encoder else prompts
    room = settings.subtokens - count_taken(model.data_processor.transformer_tokenizer, beside)
    if room < 1:
        raise PluginError(
            f"{len(prompts)} prompts fill all of {settings.subtokens} sub-tokens; give fewer labels"
        )
    return room


def spans_of(
    text: str,
    model: Any,
    settings: GlinerSettings,
    labels: Mapping[str, Phi | None],
    *,
    source: str,
    threshold: float,
) -> list[Span]:
    """Return the spans of a text.

    Those of every window and of every group of prompts, nested ones too.

    A span that two windows find counts once, with the greater score. Prompts that are no PHI are
    asked, as the model weighs prompts against one another, and what they find is left out.

    Raises:
        PluginError: The prompts of a group leave no room for the text.
    """
    words = list(model.data_processor.words_splitter(text))
    tokenizer = model.data_processor.transformer_tokenizer
    sizes = sizes_of(tokenizer, [word for word, _, _ in words])
    best: dict[tuple[int, int, str], float] = {}
    for at in range(0, len(settings.prompts), settings.groups):
        group = list(settings.prompts[at : at + settings.groups])
        room = _room_beside(group, model, settings)
        for first, last in parts(
            len(words), sizes, words=settings.window, overlap=settings.overlap, room=room
        ):
            begin, end = words[first][1], words[last - 1][2]
            with quiet():
                (found,) = model.inference(
                    [text[begin:end]], group, flat_ner=False, threshold=threshold, batch_size=1
                )
            for entity in found:
                key = (begin + entity["start"], begin + entity["end"], entity["label"])
                best[key] = max(best.get(key, 0.0), float(entity["score"]))
    return [
        Span(
            start_,
            end,
            category,
            min(1.0, round(score, _DIGITS)),
            source,
            "" if label == category.value else label,
        )
        for (start_, end, label), score in sorted(best.items())
        if (category := labels[label]) is not None
    ]


def sizes_of(tokenizer: Any, words: Sequence[str]) -> list[int]:
    """Return the sub-tokens of each word."""
    sizes = [0] * len(words)
    if words:
        with quiet():
            encoded = tokenizer(list(words), is_split_into_words=True, add_special_tokens=False)
        for at in encoded.word_ids():
            sizes[at] += 1
    return sizes


def count_taken(tokenizer: Any, prompts: Sequence[str]) -> int:
    """Return the sub-tokens of prompts.

    They include a marker before each prompt, a separator, and the encoder's own. A bi-encoder reads
    its prompts apart: there are none in the text's sub-tokens.
    """
    special = int(tokenizer.num_special_tokens_to_add())
    if not prompts:
        return special
    counts = [
        len(found) for found in tokenizer(list(prompts), add_special_tokens=False)["input_ids"]
    ]
    return sum(counts) + len(counts) + 1 + special


@contextmanager
def quiet() -> Iterator[None]:
    """Keep the library from writing advice: no warning can hold a text, and none is shown."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logging.disable(logging.WARNING)
        try:
            yield
        finally:
            logging.disable(logging.NOTSET)
