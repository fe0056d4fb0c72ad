"""The installed command as a process: what it loads, how it ends, how much it holds."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = (
    "dagster",
    "great_expectations",
    "pandas",
    "pyarrow",
    "sqlmodel",
    "faker",
    "matplotlib",
    "torch",
)
DEID = Path(sys.executable).parent / "deid"


@pytest.fixture
def process(deid, tmp_path):
    """Run a Python process that sees the two detectors; ``deid`` gives its folder."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(tmp_path / "site"), *sys.path))}

    def run(*arguments, **options):
        return subprocess.run(
            [sys.executable, *arguments],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            **options,
        )

    return run


def test_detecting_and_tagging_load_nothing_heavy(process, notes):
    code = (
        "import sys; from deid_assets.cli import app\nsys.argv = ['deid', 'redact', 'notes.jsonl',"
        " '--detector', 'xnames', '--policy', 'tag', '--out', 'o.jsonl']\ntry: app()\nfinally:"
        " print(*(name for name in %r if name in sys.modules))"
    )
    done = process("-c", code % (HEAVY,))

    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stderr
    assert Path("o.jsonl").exists()


def test_a_command_loads_neither_the_other_commands_nor_the_settings_of_an_installation(
    process, notes
):
    code = (
        "import sys; from deid_assets.cli import app\nsys.argv = ['deid', 'detect', 'notes.jsonl',"
        " '--detector', 'xnames', '--out', 'o.jsonl']\ntry: app()\nfinally: print(*(name for name"
        " in sys.modules if name.startswith(('deid_assets.cli.', 'deid_assets.config.'))))"
    )
    done = process("-c", code)
    folders = {name.split(".")[2] for name in done.stdout.split() if name.count(".") > 2}

    assert done.returncode == 0, done.stderr
    assert folders <= {"keeping", "notes"}
    assert "deid_assets.config.settings" not in done.stdout


@pytest.mark.skipif(not DEID.exists(), reason="deid is not installed beside this Python")
@pytest.mark.parametrize(
    ("arguments", "code"),
    [(["detectors"], 0), (["detect", "x.jsonl"], 2), (["redact", "--help"], 0)],
)
def test_the_installed_command_ends_with_its_code(tmp_path, arguments, code):
    done = subprocess.run(
        [DEID, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(os.name != "posix", reason="pipes end otherwise on Windows")
def test_a_reader_that_goes_away_ends_the_command_quietly():
    command = [sys.executable, "-c", "from deid_assets.cli import app; app()", "labels", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        running.stdout.close()
        error = running.stderr.read()

    assert (running.returncode, error) == (141, b"")


@pytest.mark.skipif(os.name != "posix", reason="the shell is that of POSIX")
def test_closed_streams_change_neither_the_work_nor_the_code(process, notes):
    command = "from deid_assets.cli import app; app()"
    script = (
        f'"{sys.executable}" -c "{command}" detect notes.jsonl --detector xnames --out out.jsonl'
        " --json >&- 2>&-"
    )
    done = process(
        "-c", "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1], shell=True))", script
    )

    assert done.returncode == 0
    assert len(Path("out.jsonl").read_text().splitlines()) == 3


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
def test_memory_does_not_grow_with_the_number_of_notes(process, write):
    code = (
        "from pathlib import Path; from deid_assets.cli import app\n"
        "try: app()\n"
        "finally: print(Path('/proc/self/status').read_text().partition('VmHWM:')[2].split()[0])"
    )
    peaks = []
    for count in (500, 10_000):
        notes = (
            {"id": f"n{n}", "text": "Zyxwick. " + f"{n} plain words. " * 400} for n in range(count)
        )
        write("many.jsonl", *notes)
        detect = ("detect", "many.jsonl", "--detector", "xnames", "--out", "spans.jsonl", "--json")
        redact = (
            "redact",
            "many.jsonl",
            "--spans",
            "spans.jsonl",
            "--policy",
            "tag",
            "--out",
            "o.jsonl",
            "--json",
        )
        for command in (detect, redact):
            lines = process("-c", code, *command).stdout
            assert json.loads(lines[: lines.rindex("}") + 1])["notes"] == count
            peaks.append(int(lines.split()[-1]) / 1024)

    assert max(peaks[2:]) - max(peaks[:2]) < 16, f"MiB: {peaks}"
