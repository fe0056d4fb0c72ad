"""The examples of the pages run as they stand, in the shell, one after another."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from deid_assets.plugins import AUDITS, available

# make test-run names that of users
BIN = os.environ.get("DEID_BIN") or str(Path(sys.executable).parent)
DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "cli.md"


def blocks(page):
    """The shell examples of a page."""
    return re.findall(
        r"^```sh\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )


BLOCKS = blocks(PAGE)
EXAMPLES = [block for block in BLOCKS if not block.startswith("# corpora\n")]
CORPORA = [block for block in BLOCKS if block.startswith("# corpora\n")]

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        not {"rules", "presidio"} <= available().keys(),
        reason="the examples need rules and presidio",
    ),
    pytest.mark.skipif(
        not all(map(shutil.which, ("bash", "openssl"))), reason="the examples need bash and openssl"
    ),
]


def run(script, folder):
    path = os.pathsep.join((BIN, os.environ["PATH"]))
    environment = {
        name: value for name, value in os.environ.items() if name not in ("DEID_KEY", "DEID_DEBUG")
    }
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=folder,
        env=environment | {"PATH": path},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done


def test_the_examples_run(tmp_path):
    done = run("\n".join(EXAMPLES), tmp_path)

    names = (
        "deidentified safe.jsonl surrogates.jsonl redacted-notes both.jsonl report numbered.jsonl"
        " export-redacted.csv"
    )
    assert {path.name for path in tmp_path.iterdir()} >= {*names.split()}
    assert "Miller" not in (tmp_path / "export-redacted.csv").read_text()
    assert "40 notes written to notes.jsonl" in done.stderr
    assert "0 withheld" in done.stderr


def test_the_examples_of_gazetteers_run(tmp_path):
    lists = {
        "staff.csv": "surname,ward\nQuillhaven,3\n",
        "wards.txt": "Quillhaven Ward\n",
        "sites.txt": "Borgwarth House\n",
        "surnames.csv": "name,bearers\nZedmarlow,60\nPain,70\nLong,9000\n",
        "names.csv": "name,country\nAino,FI\nAnna,SE\n",
    }
    for name, text in lists.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    run(
        "mkdir notes; deid corpus make --notes 80 --out notes/all.jsonl; deid corpus make --notes 5"
        " --out notes.jsonl",
        tmp_path,
    )

    done = run("\n".join(blocks(DOCS / "gazetteers.md")), tmp_path)

    assert "3 entries" in done.stderr
    assert "1 entries left out: ordinary words" in done.stderr
    assert (tmp_path / "words.gaz").exists()


@pytest.mark.slow
def test_the_examples_of_synthetic_corpora_run(tmp_path):
    done = run("\n".join(blocks(DOCS / "synthetic-corpora.md")), tmp_path)

    assert "60 notes written to like.jsonl" in done.stderr
    assert "NOT KEPT" not in done.stderr
    assert {path.stem for path in tmp_path.iterdir()} >= {"profile", "frames", "again", "kept"}


def test_the_examples_of_notes_run(tmp_path):
    page = DOCS / "notes.md"
    (printed,) = re.findall(
        r"^```text\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )

    done = run("\n".join(blocks(page)), tmp_path)

    assert done.stdout.startswith(printed)
    assert re.search(r"^7\b.*Seen by Dr. \[NAME\]\.", done.stdout, re.MULTILINE)
    assert "Seen by Dr. [NAME]." in (tmp_path / "ward-redacted" / "3" / "0001.txt").read_text()


def test_the_examples_of_feeds_run(tmp_path):
    page = DOCS / "feeds.md"
    (printed,) = re.findall(
        r"^```text\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )

    done = run("\n".join(blocks(page)), tmp_path)

    assert [line for line in printed.splitlines() if line not in done.stdout] == []
    assert "2 new, 0 changed" in done.stdout
    assert "changes are known by: column changed_at" in done.stdout


def test_the_examples_of_evaluation_run(tmp_path):
    script = "\n".join(blocks(DOCS / "evaluation.md"))
    # 1: there are ties
    script = re.sub(r"^(deid adjudicate.*)$", r"\1 || test $? = 1", script, flags=re.MULTILINE)
    # A second annotator of the same notes, who overlooks every tenth span.
    script = script.replace(
        "deid corpus make --lang en --notes 60 --out second.jsonl",
        "python - <<'EOF'\nimport json\nwith open('gold.jsonl') as gold, open('second.jsonl', 'w')"
        " as second:\n    for line in gold:\n        note = json.loads(line)\n        note['spans']"
        " = [span for at, span in enumerate(note['spans']) if at % 10]\n       "
        " print(json.dumps(note), file=second)\nEOF",
    )
    done = run(script, tmp_path)

    assert {path.name for path in tmp_path.iterdir()} >= {
        "report",
        "secret",
        "doubts.csv",
        "changes.jsonl",
        "ties.jsonl",
    }
    assert (tmp_path / "secret").stat().st_mode & 0o777 == 0o700
    assert "places where at least 2 of 2 systems agree" in done.stderr


def test_the_examples_of_the_vault_run(tmp_path):
    page = DOCS / "vault.md"
    done = run("\n".join(blocks(page)), tmp_path)

    originals = (tmp_path / "originals.jsonl").read_text().splitlines()
    assert len(originals) == 40
    assert "whole: " in done.stderr
    assert (tmp_path / "filled.jsonl").exists()


def test_the_examples_of_erasure_run(tmp_path):
    shell = [block for block in blocks(DOCS / "leaks-and-erasure.md") if "# an inst" not in block]
    done = run("\n".join(shell), tmp_path)

    assert "nothing was erased: leave --plan out" in done.stderr
    assert "notes erased; certificate" in done.stderr
    assert "erasure of patient" in done.stderr


def test_the_examples_of_studies_run(tmp_path):
    done = run("\n".join(blocks(DOCS / "studies.md")), tmp_path)

    listed = [line.split() for line in done.stdout.splitlines() if "cardiology" in line]
    assert "released" in listed[0]
    assert "withdrawn from study cardiology" in done.stderr
    assert len(list((tmp_path / "home" / "studies" / "quality" / "released").glob("r-*"))) == 1


def test_the_examples_of_the_release_diff_run(tmp_path):
    done = run("\n".join(blocks(DOCS / "release-diff.md")), tmp_path)

    assert "is new" in done.stdout
    assert (tmp_path / "what-changed" / "diff.html").exists()


@pytest.mark.skipif("crf" not in available(), reason="the examples need crf")
def test_the_examples_of_taggers_run(tmp_path):
    done = run("\n".join(blocks(DOCS / "taggers.md")), tmp_path)

    assert "batch_crf" in done.stdout
    assert "sentences in groups of 1000" in done.stderr
    assert (tmp_path / "model" / "card.json").exists()
    assert (tmp_path / "spans.jsonl").read_text().count('"source"')


def _may_fail(script):
    """Let an audit end with 1, which says that it did not pass."""
    return re.sub(
        r"(deid privacy run .*?--out \w+)$",
        r"\1 || [ $? = 1 ]",
        script,
        flags=re.DOTALL | re.MULTILINE,
    )


@pytest.mark.slow
@pytest.mark.skipif("hips" not in available(AUDITS), reason="the examples need hips")
def test_the_examples_of_hiding_in_plain_sight_run(tmp_path):
    done = run(_may_fail("\n".join(blocks(DOCS / "hips.md"))), tmp_path)

    assert "detected" in done.stdout
    assert (tmp_path / "audit" / "hips-picked.png").exists()


@pytest.mark.slow
@pytest.mark.skipif(
    not {"hips", "reidentification"} <= available(AUDITS).keys(),
    reason="the examples need hips and reidentification",
)
def test_the_examples_of_privacy_audits_run(tmp_path):
    shell = [block for block in blocks(DOCS / "privacy-audits.md") if "deid privacy run" in block]
    run(_may_fail("\n".join(shell)), tmp_path)

    assert (tmp_path / "report.html").exists()
    assert (tmp_path / "found" / "reidentification-known.png").exists()


@pytest.mark.slow
@pytest.mark.skipif("DEID_CORPORA" not in os.environ, reason="DEID_CORPORA is not set")
def test_the_scores_of_the_corpora_are_printed(tmp_path):
    done = run("\n".join(CORPORA), tmp_path)

    assert "ID_SUJETO_ASISTENCIA" in done.stdout
    assert done.stdout.count("notes with PHI fully covered") == 4


def test_every_command_is_on_the_page():
    from deid_assets.cli.tasks import MODULES

    page = PAGE.read_text(encoding="utf-8")
    assert [name for name in MODULES if f"deid {name}" not in page and f"`{name}" not in page] == []
