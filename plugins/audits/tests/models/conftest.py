"""The models that these tests attack, made once a session."""

from __future__ import annotations

import sys
from pathlib import Path

# A tests folder is no package here.
sys.path.insert(0, str(Path(__file__).parent))

from tiny_attacked import (  # noqa: F401 - fixtures
    causal,
    causal_folder,
    masked,
    masked_folder,
    one_thread,
    other,
    other_folder,
    small_world,
)
