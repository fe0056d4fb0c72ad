"""``deid privacy`` as a shell runs it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from deid_assets.cli import app


def main(arguments: Sequence[str]) -> int:
    """Run ``deid privacy`` and return its exit code."""
    with pytest.raises(SystemExit) as ended:
        app(["privacy", *arguments])
    return int(ended.value.code or 0)
