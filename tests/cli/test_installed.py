"""What users have: the commands, examples and remedies in the environment that ``make run``
installs.

``make test-run`` and CI name that environment by ``DEID_BIN``; else it is that of the tests.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
BIN = os.environ.get("DEID_BIN") or str(Path(sys.executable).parent)
IS_OF_USERS = "DEID_BIN" in os.environ

RUN = {
    "README.md": __file__,
    "docs/bake-off.md": "tests/cli/test_bench_docs.py",
    "docs/cli.md": "tests/cli/test_docs.py",
    "docs/evaluation.md": "tests/cli/test_docs.py",
    "docs/feeds.md": "tests/cli/test_docs.py",
    "docs/gazetteers.md": "tests/cli/test_docs.py",
    "docs/leaks-and-erasure.md": "tests/cli/test_docs.py",
    "docs/notes.md": "tests/cli/test_docs.py",
    "docs/release-diff.md": "tests/cli/test_docs.py",
    "docs/studies.md": "tests/cli/test_docs.py",
    "docs/synthetic-corpora.md": "tests/cli/test_docs.py",
    "docs/tables.md": "tests/tables/test_tables_page.py",
    "docs/taggers.md": "tests/cli/test_docs.py",
    "docs/vault.md": "tests/cli/test_docs.py",
    "docs/formats/archives.md": "plugins/formats/tests/document_formats/test_document_pages.py",
    "docs/formats/cda.md": "plugins/formats/tests/clinical_formats/test_hospital_pages.py",
    "docs/formats/docx.md": "plugins/formats/tests/document_formats/test_document_pages.py",
    "docs/formats/eml.md": "plugins/formats/tests/document_formats/test_document_pages.py",
    "docs/formats/fhir.md": "plugins/formats/tests/clinical_formats/test_hospital_pages.py",
    "docs/formats/hl7.md": "plugins/formats/tests/clinical_formats/test_hospital_pages.py",
    "docs/formats/omop.md": "plugins/formats/tests/clinical_formats/test_hospital_pages.py",
    "docs/formats/pdf.md": "plugins/formats/tests/document_formats/test_document_pages.py",
    "docs/formats/plugins.md": "tests/formats/test_plugin_page.py",
    "docs/formats/rtf.md": "plugins/formats/tests/document_formats/test_document_pages.py",
}
"""Pages with shell examples, and the test that runs them in this environment."""

NOT_RUN = {
    "docs/evidence.md": "an installation with a release; tests/evidence writes it",
    "docs/operating.md": "an installation with services; tests/operation makes and runs it",
    "docs/hips.md": "slow: minutes; make test-all runs them",
    "docs/privacy-audits.md": "slow: minutes; make test-all runs them",
    "docs/policies.md": "trains an encoder: needs the plugin transformers (PyTorch) and an hour",
    "plugins/audits/docs/models.md": "needs audits[models] (PyTorch)",
    "plugins/known_identity/README.md": "needs the plugin known_identity",
    "plugins/lab/privacy/README.md": "needs the plugin privacy (PyTorch)",
}
"""Pages whose examples need more than ``make run`` installs, or take minutes."""

WALK = """
import json, sys
import typer
from typer.testing import CliRunner
from deid_assets.cli import app

def walk(command, words):
    yield words
    context = typer.Context(command)
    for name in command.list_commands(context) if hasattr(command, "list_commands") else ():
        yield from walk(command.get_command(context, name), [*words, name])

found = {}
for words in walk(typer.main.get_command(app), []):
    done = CliRunner().invoke(app, [*words, "--help"])
    found[" ".join(words)] = [done.exit_code, done.output]
json.dump(found, sys.stdout)
"""


def blocks(page):
    return re.findall(
        r"^```sh\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )


def run(*command, folder, timeout=300):
    environment = {
        name: value for name, value in os.environ.items() if name not in ("DEID_KEY", "DEID_DEBUG")
    }
    path = os.pathsep.join((BIN, os.environ["PATH"]))
    return subprocess.run(
        command,
        cwd=folder,
        env=environment | {"PATH": path},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


@pytest.mark.parametrize(
    ("words", "code"), [((), 2), (("--help",), 0), (("corpus", "--help"), 0), (("--version",), 0)]
)
def test_the_command_starts(words, code, tmp_path):
    done = run(f"{BIN}/deid", *words, folder=tmp_path)
    assert done.returncode == code, done.stderr
    assert "Usage: deid" in done.stdout + done.stderr or words == ("--version",)


@pytest.fixture(scope="module")
def helped(tmp_path_factory):
    """Every command's exit code and output for ``--help``."""
    done = run(f"{BIN}/python", "-c", WALK, folder=tmp_path_factory.mktemp("help"))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_every_command_has_help(helped):
    assert len(helped) > 50
    assert {words: output for words, (code, output) in helped.items() if code != 0} == {}
    assert all("Usage: " in output for _, output in helped.values())
    assert not [words for words, (_, output) in helped.items() if "cannot be used: " in output]


def test_what_is_not_installed_is_named_with_what_make_knows(helped, tmp_path):
    named = {
        one
        for _, output in helped.values()
        for one in re.findall(r"not installed: make add PLUGIN='?(\w+)", output)
    }
    assert named or not IS_OF_USERS
    for plugin in named:
        assert plugin == "lab" or [*(ROOT / "plugins").glob(f"**/deid_{plugin}/__init__.py")]
    if IS_OF_USERS:
        done = run(f"{BIN}/deid", "generative", folder=tmp_path)
        assert done.returncode == 2
        assert "run `make add PLUGIN=generative` in the checkout" in " ".join(done.stderr.split())


@pytest.mark.skipif(
    not IS_OF_USERS,
    reason="what is installed in the tests' environment says nothing about that of users",
)
def test_the_remedies_are_ones_that_pip_can_follow(tmp_path):
    listed = run(
        f"{BIN}/python",
        str(ROOT / "plugins" / "requirements.py"),
        "--own",
        str(tmp_path),
        "spacy",
        "known_identity",
        folder=ROOT,
    )
    assert listed.returncode == 0, listed.stderr
    wanted = tmp_path / "added.txt"
    wanted.write_text(listed.stdout)

    tried = run(
        f"{BIN}/python",
        "-m",
        "pip",
        "install",
        "--dry-run",
        "--quiet",
        "--report",
        str(tmp_path / "report.json"),
        "--constraint",
        str(ROOT / "constraints.txt"),
        "--requirement",
        str(wanted),
        folder=ROOT,
        timeout=600,
    )

    assert tried.returncode == 0, tried.stderr
    report = json.loads((tmp_path / "report.json").read_text())["install"]
    ours = {
        one["metadata"]["name"]: one["download_info"]["url"]
        for one in report
        if one["metadata"]["name"].startswith("deid-")
    }
    assert {"deid-neural", "deid-known-identity"} <= {*ours}
    assert {"spacy", "onnxruntime-gpu", "onnxruntime"} & {one["metadata"]["name"] for one in report}
    assert all(url.startswith("file:") for url in ours.values())


@pytest.mark.skipif(not shutil.which("bash"), reason="the examples need bash")
def test_the_examples_of_the_readme_run(tmp_path):
    shell = "\n".join(blocks(ROOT / "README.md"))
    assert "deid deidentify" in shell
    assert "deid train own --curve" in shell
    script = shell.replace(
        "deid train own",
        "deid corpus make --lang en --notes 24 --seed 3 --out annotated.jsonl\ndeid train own",
    )

    done = run("bash", "-euo", "pipefail", "-c", script, folder=tmp_path, timeout=600)

    assert done.returncode == 0, done.stderr
    assert (tmp_path / "deidentified" / "notes.jsonl").is_file()
    assert (tmp_path / "curve").exists()


def test_python_in_the_readme_prints_what_it_says(tmp_path):
    (code,) = re.findall(
        r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL
    )

    done = run(f"{BIN}/python", "-c", code, folder=tmp_path)

    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        line.removeprefix("# ") for line in code.splitlines() if line.startswith("# ")
    ]


def test_every_page_with_examples_is_run_or_says_why_not():
    pages = [
        ROOT / "README.md",
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "plugins").rglob("*.md"),
    ]
    shown = {page.relative_to(ROOT).as_posix() for page in pages if blocks(page)}

    assert shown == {*RUN, *NOT_RUN}
    for page, test in RUN.items():
        assert (
            page == "README.md"
            or Path(page).stem in (ROOT / test).read_text(encoding="utf-8")
            or "plugin_page" in test
        )


def test_make_runs_the_tests_of_all_of_them():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    listed = re.search(r"EXAMPLES := ((?:.*\\\n)*.*)", makefile)[1].replace("\\\n", " ").split()

    assert {
        str(Path(test).relative_to(ROOT)) if Path(test).is_absolute() else test
        for test in RUN.values()
    } <= {*listed}
    assert 'export DEID_BIN="$PWD/.venv/bin"' in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
