from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A weights file with a tiny encoder."""
    from tiny import write_tiny

    path = tmp_path_factory.mktemp("weights") / "e5-small-q4.bin"
    write_tiny(path)
    return path


@pytest.fixture
def packaged(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The tiny file where the package's is looked for."""
    monkeypatch.setattr("deid_encoder.weights.find_packaged_file", lambda: tiny)
    monkeypatch.setattr("deid_encoder.run.find_packaged_file", lambda: tiny)
    monkeypatch.setattr("deid_encoder.export.find_packaged_file", lambda: tiny)
    return tiny
