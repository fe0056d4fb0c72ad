"""Tiny language models as fixtures: conftest.py of these tests and of the laboratory take
them in.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from tiny_worlds import CAUSAL, MASKED, World, train_causal, train_masked, world

from deid_audits.models.opened import LanguageModel, open_model


@pytest.fixture(scope="session", autouse=True)
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def small_world() -> World:
    return world()


@pytest.fixture(scope="session")
def causal_folder(small_world: World, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A causal model that knows its notes by heart."""
    return train_causal(
        small_world.corpus.training, tmp_path_factory.mktemp("causal") / "model", **CAUSAL
    )


@pytest.fixture(scope="session")
def other_folder(small_world: World, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A causal model of other notes of the same kind, with the same shape."""
    return train_causal(small_world.other, tmp_path_factory.mktemp("other") / "model", **CAUSAL)


@pytest.fixture(scope="session")
def causal(causal_folder: Path) -> LanguageModel:
    return open_model(causal_folder)


@pytest.fixture(scope="session")
def other(other_folder: Path) -> LanguageModel:
    return open_model(other_folder)


@pytest.fixture(scope="session")
def masked_folder(small_world: World, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A masked model that knows its notes by heart."""
    return train_masked(
        small_world.corpus.training, tmp_path_factory.mktemp("masked") / "model", **MASKED
    )


@pytest.fixture(scope="session")
def masked(masked_folder: Path) -> LanguageModel:
    return open_model(masked_folder)
