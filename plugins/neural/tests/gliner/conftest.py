"""Tests of this folder share ``tiny_gliner``.

One thread each, so that they do not wait for one another.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parent))
