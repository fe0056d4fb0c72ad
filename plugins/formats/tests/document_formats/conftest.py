"""The folder of golden files."""

from pathlib import Path

import pytest


@pytest.fixture
def golden() -> Path:
    return Path(__file__).parent / "data"
