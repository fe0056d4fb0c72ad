"""What importing costs: the package loads no framework, and the code location no model library."""

import json

import pytest

from deid_assets.cli.tasks import MODULES

FRAMEWORKS = (
    "dagster",
    "torch",
    "transformers",
    "flair",
    "great_expectations",
    "pandas",
    "sqlmodel",
    "pyarrow",
)
MODELS = ("torch", "transformers", "flair", "great_expectations")

LOADED = """
import json, sys
{program}
print(json.dumps(sorted({{name.partition(".")[0] for name in sys.modules}})))
"""
BLOCKED = """
import sys

class Refusal:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {blocked!r}:
            raise ImportError(f"{{name}} must not be imported here")

sys.meta_path.insert(0, Refusal())
"""
TIMED = """
import resource
before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
import deid_assets.definitions
print(resource.getrusage(resource.RUSAGE_SELF).ru_utime - before)
"""
BUDGET_CPU_S = 3.0
"""Twice the design's 1.5 s on an idle core.

A busy one also burns more CPU time for the same work.
"""


def loaded(run_python, program):
    return set(json.loads(run_python("-c", LOADED.format(program=program))))


@pytest.mark.parametrize(
    ("program", "forbidden"),
    [
        ("import deid_assets", FRAMEWORKS),
        (
            "import deid_assets.testing, deid_assets.plugins; deid_assets.plugins.available()",
            FRAMEWORKS,
        ),
        ("import deid_assets.config", ("dagster", "pandas", "pyarrow", "sqlmodel", *MODELS)),
        ("import deid_assets.cli", ("dagster", "pandas", *MODELS)),
        ("import deid_assets.cli.notes.detection", ("dagster", "numpy", "pandas", "rich", *MODELS)),
        pytest.param(
            "import deid_assets.definitions",
            ("pandas", "sqlmodel", "matplotlib", *MODELS),
            marks=pytest.mark.long,
        ),
    ],
)
def test_importing_loads_nothing_heavy(run_python, program, forbidden):
    assert loaded(run_python, program).isdisjoint(forbidden)


def test_the_help_loads_no_command(run_python):
    program = """
import contextlib, io, sys
from deid_assets.cli import app
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    app(["--help"])
"""
    modules = "print(json.dumps(sorted(sys.modules)))"
    found = json.loads(run_python("-c", f"import json\n{program}\n{modules}"))
    tops = {name.partition(".")[0] for name in found}

    assert "deid_assets.cli.tasks" in found
    assert tops.isdisjoint({*FRAMEWORKS, "numpy", "rich", "babel", "cryptography", "pydantic"})
    assert [name for name in tops if name.startswith("deid_")] == ["deid_assets"]
    assert not {f"deid_assets.cli.{module}" for module in MODULES.values()}.intersection(found)


@pytest.mark.long
def test_the_code_location_loads_where_model_libraries_cannot_be_imported(run_python):
    program = (
        BLOCKED.format(blocked=MODELS)
        + "from deid_assets.definitions import defs; print(len(defs.assets) > 5)"
    )

    assert run_python("-c", program).strip() == "True"


def test_listing_plugins_imports_none(run_python):
    program = "import deid_assets.plugins; print(sorted(deid_assets.plugins.available()))"

    assert "deid_rules" not in loaded(run_python, program.replace("print(", "("))


@pytest.mark.slow
def test_the_code_location_loads_within_its_budget(run_python, record_property):
    seconds = min(float(run_python("-c", TIMED)) for _ in range(3))
    record_property("code_location_cpu_s", round(seconds, 2))

    assert seconds < BUDGET_CPU_S
