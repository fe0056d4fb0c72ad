"""``deid batches``: what arrived, why it was stopped, and how it is brought back or taken out."""

import json

import pytest
from typer.testing import CliRunner

from deid_assets.cli import app
from deid_assets.intake.landing import take_in

pytestmark = pytest.mark.long


@pytest.fixture
def cli(installation):
    """Run ``deid`` on the installation, and return exit code, standard output and
    standard error.
    """

    def run(*arguments):
        ran = CliRunner().invoke(app, list(arguments))
        return ran.exit_code, ran.stdout, ran.stderr

    return run


def listed(cli):
    """The batches by id."""
    return {row["batch"]: row for row in json.loads(cli("batches", "list", "--json")[1])}


@pytest.fixture(scope="module")
def stopped_once(installed, tmp_path_factory):
    with installed(tmp_path_factory.mktemp("stopped")) as made:
        made.configure(made.default_settings)
        landing = made.home / "landing"
        landing.mkdir(parents=True)
        (landing / "good.jsonl").write_text(
            '{"id": "a", "text": "Zedmarlow is well and walks with a frame."}\n'
        )
        (good,) = take_in(made.settings(), settle_s=0)
        (landing / "Zedquill.csv").write_text("nr;body\n7;Seen in the ward at noon\n")
        (bad,) = take_in(made.settings(), settle_s=0)
        for batch in (good, bad):
            made.run(batch, "raw_notes")
    return made, (good, bad)


@pytest.fixture
def installation(stopped_once, copied, tmp_path):
    """An installation with a good batch and one that cannot be read, whose file is named after a
    patient.
    """
    with copied(stopped_once[0], tmp_path / "copy") as copy:
        yield copy


@pytest.fixture
def stopped(stopped_once):
    """The two batches."""
    return stopped_once[1]


def test_the_list_says_state_and_reason_and_names_no_file(stopped, cli):
    good, bad = stopped
    found = listed(cli)

    assert (found[good]["state"], found[bad]["state"]) == ("made", "unreadable")
    assert found[good]["notes"]["received"] == found[bad]["notes"]["received"] == 1
    assert "--read column.id=NAME" in json.dumps(found[bad]["stops"])
    _, shown, said = cli("batches", "list")
    assert "missing-field" in shown
    assert "2 received = 0 released" in said
    assert "Zed" not in json.dumps(found) + shown + said


def test_a_batch_is_shown_with_its_files_and_the_fault_as_deid_gives_it(stopped, cli):
    _, shown, _ = cli("batches", "show", stopped[1])

    assert "file-1  Zedquill.csv" in shown
    assert "Zedquill.csv:1: no column 'id' in the header" in shown


def test_a_retry_with_reading_options_reads_it(stopped, cli, installation):
    bad = stopped[1]
    options = [f"--read={option}" for option in ("column.id=nr", "column.text=body", "delimiter=;")]
    assert cli("batches", "retry", bad, *options)[0] == 0

    assert installation.failures(installation.run(bad, "raw_notes")) == {}
    assert installation.opened().files.receipt("raw_notes", bad).counts["notes"] == 1


@pytest.mark.parametrize("command", ["retry", "withdraw", "show"])
def test_a_batch_that_is_not_there_is_one_line(stopped, cli, command):
    code, _, said = cli("batches", command, "b-none")
    assert (code, said) == (2, "error: no such batch; `deid batches list` names them\n")


def test_a_wrong_option_is_refused_before_anything_is_kept(stopped, cli):
    code, _, said = cli("batches", "retry", stopped[1], "--format", "cvs")
    assert (code, "unknown format 'cvs'" in said) == (2, True)
    assert listed(cli)[stopped[1]]["attempt"] == 0


def test_a_withdrawn_batch_is_counted_and_not_made_again(stopped, cli, installation):
    good, _ = stopped
    assert cli("batches", "withdraw", good)[0] == 0

    row = listed(cli)[good]
    assert (row["state"], row["notes"]["withdrawn"]) == ("withdrawn", 1)
    assert (
        "was withdrawn" in installation.failures(installation.run(good, "raw_notes"))["raw_notes"]
    )


def test_a_release_is_not_deleted_unless_it_is_asked_for(stopped, cli, installation):
    good, _ = stopped
    released = installation.home / "released" / good
    released.mkdir(parents=True)

    code, _, said = cli("batches", "withdraw", good)
    assert (code, "--with-release" in said, released.exists()) == (2, True, True)

    assert cli("batches", "withdraw", good, "--with-release")[0] == 0
    assert not released.exists()
