"""A published model's folder, checked before anything of it is read that could run code or lie."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deid_assets.extending import PluginError, remedy
from deid_onnx.folder import refuse_pickles
from deid_published.folder import sha256
from deid_published.scheme import check_tags

CONFIG = "config.json"
_COMMIT = re.compile(r"[0-9a-f]{40}")
_OTHERS = {
    "gliner_config.json": f"it is a GLiNER model: {remedy('gliner')}",
    "config.cfg": "a pipeline of spaCy needs the plugin spacy, one of EDS-NLP edsnlp",
    "resources.json": (
        "of Stanza, give the folder of one language, with the plugin stanza installed"
    ),
}
_FETCHED = ("*.json", "*.safetensors", "*.txt", "*.model")


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedModel:
    """A published model.

    Args:
        path: Its folder.
        name: As it was asked for: a hub name, or the folder's name.
        revision: Commit on the hub, or an empty string.
        config: Its ``config.json``.
        tags: Its tags, in the order of the head's outputs.
        files: SHA-256 of every file of it, by name.
        trust: Whether pickles may be read.
        graph: Its ONNX graph, by its path in the folder; empty where there are weights.
    """

    path: Path
    name: str
    revision: str
    config: Mapping[str, Any]
    tags: list[str]
    files: Mapping[str, str]
    trust: bool
    graph: str = ""


def open_source(given: str, *, fetch: bool, revision: str, trust: bool) -> PublishedModel:
    """Return a model that a folder has, or that is fetched where that is asked for.

    Raises:
        PluginError: It is not there, runs code of its own, holds pickles alone, is no token
            classifier, or its ``config.json`` is broken or lies about its labels.
    """
    path = Path(given)
    name = path.name if path.is_dir() else given
    if not path.is_dir():
        if not fetch:
            raise PluginError(
                f"{given}: no such folder; give a folder, or a hub name with --fetch and --revision"
            )
        path, revision = _fetch(given, revision, trust=trust)
    config = _config(path)
    tags = check_tags(
        {str(key): value for key, value in config["id2label"].items()}, where=str(path / CONFIG)
    )
    _check_counts(config, tags, path)
    graph = _graph(path, trust=trust)
    if not graph:
        _check_weights(path, trust=trust)
    files = {
        file.relative_to(path).as_posix(): sha256(file)
        for file in sorted(path.rglob("*"))
        if file.is_file()
    }
    return PublishedModel(
        path=path,
        name=name,
        revision=revision,
        config=config,
        tags=tags,
        files=files,
        trust=trust,
        graph=graph,
    )


def _fetch(name: str, revision: str, *, trust: bool) -> tuple[Path, str]:
    if not _COMMIT.fullmatch(revision):
        raise PluginError(
            f"{name}: give --revision with the 40 digits of a commit, so that it stays the same"
            " model"
        )
    try:
        from huggingface_hub import (  # noqa: PLC0415 - only where a model is fetched
            snapshot_download,
        )

        patterns = [*_FETCHED, "*.bin"] if trust else list(_FETCHED)
        return Path(snapshot_download(name, revision=revision, allow_patterns=patterns)), revision
    except Exception as error:
        raise PluginError(
            f"{name} at {revision[:12]} cannot be fetched ({type(error).__name__})"
        ) from error


def _config(path: Path) -> Mapping[str, Any]:
    try:
        config = json.loads((path / CONFIG).read_text(encoding="utf-8"))
    except OSError:
        what_it_is = next(
            (what for file, what in _OTHERS.items() if (path / file).is_file()),
            "give the folder of one",
        )
        raise PluginError(
            f"{path}: no {CONFIG}, so no model of transformers; {what_it_is}"
        ) from None
    except ValueError:
        raise PluginError(f"{path / CONFIG}: not JSON; fetch the model again") from None
    if not isinstance(config, dict):
        raise PluginError(f"{path / CONFIG}: not a configuration; fetch the model again")
    if "auto_map" in config or list(path.glob("*.py")):
        raise PluginError(
            f"{path}: it brings code of its own, which is not run; choose a model of a known"
            " architecture, or remove auto_map from config.json and the .py files where"
            " transformers itself has the architecture"
        )
    if config.get("model_type") == "extractor":
        raise PluginError(f"{path}: it is a GLiNER2 model: {remedy('gliner[gliner2]')}")
    kinds = config.get("architectures") or []
    if not any(str(kind).endswith("ForTokenClassification") for kind in kinds):
        raise PluginError(
            f"{path}: it is {', '.join(map(str, kinds)) or 'of no architecture'}, not a model for"
            " token classification"
        )
    if not isinstance(config.get("id2label"), dict):
        raise PluginError(f"{path / CONFIG}: no id2label; write the authors' labels into it")
    return config


def _check_counts(config: Mapping[str, Any], tags: list[str], path: Path) -> None:
    reverse = config.get("label2id")
    if (
        isinstance(reverse, dict)
        and reverse
        and {str(tag): int(at) for tag, at in reverse.items()}
        != {tag: at for at, tag in enumerate(tags)}
    ):
        raise PluginError(
            f"{path / CONFIG}: id2label and label2id contradict each other; find out which is true"
        )
    said = config.get("num_labels")
    if said is not None and said != len(tags):
        raise PluginError(
            f"{path / CONFIG}: num_labels is {said}, id2label has {len(tags)}; find out which is"
            " true"
        )


def _graph(path: Path, *, trust: bool) -> str:
    """Return the ONNX graph of a folder without weights that may be read, or an empty string.

    Weights go first: what is exported from them can be compared with them.

    Raises:
        PluginError: There are several.
    """
    if trust or list(path.glob("*.safetensors")):
        return ""
    graphs = sorted(file.relative_to(path).as_posix() for file in path.rglob("*.onnx"))
    if len(graphs) > 1:
        raise PluginError(
            f"{path}: it has {len(graphs)} graphs, {', '.join(graphs[:3])}; keep the one to be used"
        )
    return graphs[0] if graphs else ""


def _check_weights(path: Path, *, trust: bool) -> None:
    if not list(path.glob("*.safetensors")):
        refuse_pickles(path, trust=trust)
        return
    from safetensors import (  # noqa: PLC0415 - only where a model is added
        SafetensorError,
        safe_open,
    )

    for file in sorted(path.glob("*.safetensors")):
        try:
            with safe_open(file, framework="np") as tensors:
                tensors.keys()
        except (SafetensorError, OSError) as error:
            raise PluginError(
                f"{file}: cut off or broken ({type(error).__name__}); fetch it again"
            ) from None
