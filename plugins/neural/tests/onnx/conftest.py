from __future__ import annotations

import sys
from pathlib import Path

# The tests share makers of tokenizers and networks; a tests folder is no package here.
sys.path.insert(0, str(Path(__file__).parent))
