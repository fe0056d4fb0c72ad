from __future__ import annotations

import sys
from pathlib import Path

import pytest

# The tests share their models; a tests folder is no package here.
sys.path.insert(0, str(Path(__file__).parent))

from models_here import KINDS, save_model


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A model of each kind of vocabulary."""
    return {kind: save_model(tmp_path_factory.mktemp(kind), kind) for kind in KINDS}


@pytest.fixture(scope="session")
def exported(folders: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The WordPiece model in ONNX."""
    from deid_zero_shot.export import export
    from deid_zero_shot.guard import load

    out = tmp_path_factory.mktemp("onnx")
    export(load(str(folders["wordpiece"])), out)
    return out
