from __future__ import annotations

import sys
from pathlib import Path

import pytest

# The tests share tiny tasks; a tests folder is no package here.
sys.path.insert(0, str(Path(__file__).parent))

from tiny_tasks import task, train


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tagger that knows its six notes by heart."""
    return train(task(), tmp_path_factory.mktemp("model"))
