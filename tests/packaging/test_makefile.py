"""What the commands of the README install, and where."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def steps(target: str) -> str:
    """What ``make`` would do for a target in a fresh clone."""
    if not shutil.which("make"):
        pytest.skip("make is not installed")
    run = subprocess.run(
        ["make", "-nB", target], cwd=ROOT, check=True, capture_output=True, text=True
    )
    return run.stdout


def plugins_of(commands: str) -> set[str]:
    return set(re.findall(r"-e plugins/([a-z_]+)", commands))


def test_the_main_job_installs_what_its_graph_is_made_of_and_no_other() -> None:
    assert "--requirement requirements.txt" in steps("run")
    assert plugins_of((ROOT / "requirements.txt").read_text(encoding="utf-8")) == {
        "rules",
        "presidio",
        "crf",
        "annotation",
        "audits",
        "clinical_formats",
        "compact",
        "corpora",
        "corpus_formats",
        "document_formats",
        "edit_maps",
        "evaluation",
        "gazetteers",
        "hips",
        "reidentification",
        "surrogates",
        "synthesis",
        "tagger_analysis",
    }


@pytest.mark.parametrize("target", ["test", "lint", "types", "bench"])
def test_what_the_tests_install_stays_out_of_the_environment_of_the_main_job(target: str) -> None:
    commands = steps(target)

    assert len(plugins_of(commands)) > 8
    assert ".venv-dev/bin" in commands
    assert ".venv/" not in commands
