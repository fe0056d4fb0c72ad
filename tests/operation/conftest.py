"""A PostgreSQL server, and folders that ``deid init`` wrote."""

import importlib.util
import json
import os
from pathlib import Path

import pytest

_STORE = Path(__file__).parents[1] / "store" / "conftest.py"
_SPEC = importlib.util.spec_from_file_location("store_fixtures", _STORE)
_STORE_FIXTURES = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(_STORE_FIXTURES)
postgres_server = _STORE_FIXTURES.postgres_server

SETTINGS = """
ensemble = ["stencil"]
recipes = []
policies = ["tag"]
release_policy = "tag"
languages = ["en"]
release.require = "none"
"""


@pytest.fixture
def outside(detector_site):
    """The environment of a shell that knows of no installation."""
    hidden = ("DEID_", "DAGSTER_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
    path = [str(detector_site), *filter(None, [os.environ.get("PYTHONPATH")])]
    return kept | {"PYTHONPATH": os.pathsep.join(path), "COLUMNS": "200"}


@pytest.fixture
def drop(note_records):
    """A function that gives an installation settings with one quick detector, and eight notes."""

    def begin(house: Path) -> None:
        (house / "deid.toml").write_text(SETTINGS)
        lines = [json.dumps(record) + "\n" for record in note_records()]
        (house / "landing" / "notes.jsonl").write_text("".join(lines))

    return begin
