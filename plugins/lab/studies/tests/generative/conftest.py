from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

# The tests share tiny models; a tests folder is no package here.
sys.path.insert(0, str(Path(__file__).parent))

from tiny_model import speech

from deid_generative.local import Speech

torch.set_num_threads(1)  # the models are too small to be shared out


@pytest.fixture(scope="session")
def spoken(tmp_path_factory: pytest.TempPathFactory) -> Speech:
    """Tokens of a model that has read the tests' notes."""
    return speech(tmp_path_factory.mktemp("tokens"))
