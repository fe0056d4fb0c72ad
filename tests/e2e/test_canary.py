"""Canaries planted in a corpus are found nowhere but where text may be."""

import json
import os
import subprocess
import sys

import pytest
from canaries import BROKEN, FILE, META, NAME, SECRETS, SETTINGS, WORD, canaries, drop, leaks

from deid_assets.cli import app

# Outside pytest a warning goes to standard error, which is searched.
pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore::UserWarning")]


@pytest.fixture
def run_and_search(nest, note_records, capfd):
    """Make everything of a batch, by default one of canaries, and return Dagster's result and the
    leaks.
    """

    def run(batch=None):
        batch = batch or drop(nest, note_records)
        capfd.readouterr()
        result = nest.run(batch)
        nest.run_scores()
        out, err = capfd.readouterr()
        shown = "\n".join(nest.failures(result).values())
        return result, leaks(nest, stdout=out, stderr=err, failures=shown)

    return run


def test_the_search_finds_canaries_where_text_may_be(nest, note_records, search):
    """The control: the same search, in the restricted zone."""
    batch = drop(nest, note_records)
    assert nest.failures(nest.run(batch, "raw_notes")) == {}

    found = search(SECRETS, [nest.store / "restricted"])

    assert {secret for secret, _ in found} == set(SECRETS)


def test_the_search_knows_other_spellings(tmp_path, search):
    for number, spelling in enumerate(
        ('{"t": "Kanarienv\\u00f6gel"}', "xx" + "S2FuYXJpZW52w7ZnZWw=", NAME.lower())
    ):
        (tmp_path / f"{number}.txt").write_text(spelling)

    for encoding in ("utf-16-be", "utf-32-le", "utf-32-be"):
        (tmp_path / encoding).write_bytes(NAME.encode(encoding))
    (tmp_path / "hex").write_text(NAME.encode().hex())
    (tmp_path / "quoted").write_text("Kanarienv=C3=B6gel")

    assert len(search([NAME], [tmp_path])) == 8


def test_a_whole_run_with_talking_detectors_and_broken_lines_leaks_nothing(nest, run_and_search):
    nest.configure(SETTINGS + '[detectors.leaky]\nmode = "talk"\n')

    result, found = run_and_search()

    assert nest.failures(result) == {}
    assert found == set()


def test_a_vault_shows_no_text_and_no_id_without_its_key(nest, run_and_search, search, monkeypatch):
    folder = nest.root.parent / "vault"
    monkeypatch.setenv("DEID_VAULT_KEY", "6c" * 32)
    nest.configure(
        SETTINGS + f'[vault]\nurl = "sqlite:///{folder / "vault.db"}"\nrequire_patient = false\n'
    )

    result, found = run_and_search()

    assert nest.failures(result) == {}
    assert found == set()
    assert (folder / "vault.db").stat().st_size > 10_000
    assert search((*SECRETS, "note-1", "6c6c6c"), [folder]) == set()


def test_each_way_to_fail_withholds_its_note_alone_and_leaks_nothing(
    nest, note_records, run_and_search
):
    gates = "quarantined = 1.0\nnotes_covered_lower_bound = 0\nrecall_lower_bound = { ALL = 0 }"
    settings = SETTINGS.replace("quarantined = 0.5", gates).replace("ALL = 0.3", "ALL = 0")
    nest.configure(settings + '[detectors.leaky]\nmode = "each"\non = "record 400000"\n')
    batch = drop(nest, note_records)

    result, found = run_and_search(batch)

    failed = nest.opened().files.read("spans_leaky", batch, "failed").to_pydict()
    assert found == set()
    assert failed["note_id"] == [f"note-{n}" for n in range(8)]
    assert failed["error"] == [
        "KeyboardInterrupt",
        "SystemExit",
        "GeneratorExit",
        "CancelledError",
        "Panic",
        "Panic",
        "DagsterExecutionInterruptedError",
        "WorkerDied",
    ]
    assert result.success


def test_the_command_line_names_only_classes_of_what_a_detector_raises(
    tmp_path, leaky_site, note_records, search, capfd
):
    notes, out = tmp_path / "notes.jsonl", tmp_path / "spans.jsonl"
    # Of the others two interrupt, and so end the command, and one aborts this process.
    notes.write_text(
        "".join(json.dumps(record) + "\n" for record in list(canaries(note_records()))[1:6])
    )
    options = ("leaky.mode=each", "leaky.on=record 400000")
    arguments = [
        str(notes),
        "--detector",
        "leaky",
        *(word for option in options for word in ("--option", option)),
    ]

    with pytest.raises(SystemExit) as ended:
        app(["detect", *arguments, "--out", str(out)])

    shown = "\n".join(capfd.readouterr())
    assert ended.value.code == 1
    assert search(SECRETS, [tmp_path / "spans.jsonl"] if out.exists() else [], shown=shown) == set()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "goes_on"),
    [
        *(
            (f'mode = "{mode}"\non = "cataract"', True)
            for mode in ("quote", "chain", "pydantic", "ours", "label")
        ),
        *((f'mode = "{mode}"', False) for mode in ("quote", "pydantic", "exit", "label")),
    ],
)
def test_a_detector_that_raises_with_text_leaks_nothing(nest, run_and_search, options, goes_on):
    nest.configure(SETTINGS + f"[detectors.leaky]\n{options}\n")

    result, found = run_and_search()

    assert result.success == goes_on
    assert found == set()


def test_a_failed_check_of_raw_notes_leaks_nothing(nest, note_records, run_and_search):
    copies = [{**record, "text": f"{NAME} {WORD} {META} " * 20} for record in note_records()]

    result, found = run_and_search(nest.receive(copies, name=f"{FILE}.jsonl"))

    assert "near_duplicates" in nest.failures(result)["raw_notes"]
    assert found == set()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "content"),
    [
        (f"{FILE}.jsonl", f'{{"id": "a", "text": "{NAME}\n{BROKEN}\n'.encode()),
        (f"{FILE}.xyz", f"{NAME} {BROKEN}".encode()),
        (f"{FILE}.jsonl", f"{NAME} {BROKEN}".encode("utf-16")),
        (f"{FILE}.parquet", f"PAR1{NAME}{BROKEN}PAR1".encode()),
        (f"{FILE}.xml", f"<deIdi2b2><TEXT>{NAME} {BROKEN}".encode()),
        (f"{FILE}.csv", f"id,text\n1,{NAME}\n{BROKEN}".encode()),
    ],
    ids=["cut JSON", "unknown format", "UTF-16", "damaged Parquet", "cut XML", "short CSV row"],
)
def test_a_file_that_cannot_be_read_leaks_nothing(nest, run_and_search, name, content):
    from deid_assets.intake.landing import take_in

    landing = nest.home / "landing"
    landing.mkdir(parents=True)
    (landing / name).write_bytes(content)
    (batch,) = take_in(nest.settings(), settle_s=0)

    _, found = run_and_search(batch)

    assert found == set()


def process(nest, site, *arguments):
    """Run a program of the installation, and return all it said."""
    paths = [str(site), *filter(None, [os.environ.get("PYTHONPATH")])]
    done = subprocess.run(
        [sys.executable, "-m", *arguments],
        check=False,
        capture_output=True,
        text=True,
        cwd=nest.root,
        env={**os.environ, **nest.environment(), "PYTHONPATH": os.pathsep.join(paths)},
    )
    return done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["talk", "quote"])
def test_the_command_line_of_dagster_and_make_run_leak_nothing(
    nest, leaky_site, note_records, search, mode
):
    nest.configure(SETTINGS + f'[detectors.leaky]\nmode = "{mode}"\n')
    batch = drop(nest, note_records)
    nest.instance.add_dynamic_partitions("batches", [batch])
    materialize = (
        "dagster",
        "asset",
        "materialize",
        "-m",
        "deid_assets.definitions",
        "--partition",
        batch,
    )

    trunk = process(
        nest,
        leaky_site,
        *materialize,
        "--select",
        "raw_notes,gold_annotations,spans_leaky,spans_rules",
    )
    quickstart = process(nest, leaky_site, "deid_assets.quickstart")

    assert "spans_leaky" in trunk
    assert batch in quickstart
    assert leaks(nest, trunk=trunk, quickstart=quickstart) == set()
