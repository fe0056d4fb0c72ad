"""One patient is erased from all that an installation keeps, and the certificate says so."""

from __future__ import annotations

import json
import os
import shutil

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from deid_assets.cli import app
from deid_assets.erasure.carrying import erase_patient
from deid_assets.erasure.planning import ErasureOrder
from deid_assets.intake.landing import take_in
from deid_assets.intake.reader import read_batch
from deid_assets.intake.splitting import split_arrivals
from deid_assets.intake.states import BatchState, batch_ids, look
from deid_assets.store.denials import Denials
from deid_assets.store.files import ALL, UnsignedReceipt, inputs_of
from deid_assets.store.frames import notes_to_table
from deid_assets.store.retraining import RetrainMarks
from deid_assets.store.withdrawals import Withdrawals
from deid_assets.vault.keys import Keyring
from deid_assets.vault.log import AccessRequest
from deid_assets.vault.store import Vault
from deid_assets.vault.upkeep import count_held

pytestmark = pytest.mark.long

PATIENT = "patient-3"
NAME = "Zedpenrose"
VAULT_KEY = "5b" * 32
LETTERS = """\
nr;body;person
l1;Zedpenrosea walks with a frame and sleeps well, record 4000003.;patient-3
l2;Zedquilla was seen at home and wants no change of dose.;patient-1
l3;Zedpenrosea came again, the wound is dry and the plaster is off.;patient-3
"""
OPTIONS = """\
sender = "ward.b"
lang = "en"
[read]
delimiter = ";"
column.id = "nr"
column.text = "body"
column.patient_id = "person"
"""


def drop(installation, name, content):
    """Lay a file into the landing folder; a name with a slash makes a folder."""
    path = installation.home / "landing" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)


def lines(records):
    return "".join(json.dumps(record) + "\n" for record in records)


def take_all(installation):
    """Take in what was dropped, and return the new batches."""
    settings = installation.settings()
    before = set(batch_ids(settings))
    take_in(settings, settle_s=0)
    split_arrivals(settings)
    return sorted(set(batch_ids(settings)) - before)


def read_all(installation):
    """Batch to its notes, as the graph reads them, by id."""
    opened = installation.opened()
    return {
        batch: {
            found.what.note.note_id: found.what
            for found in read_batch(opened.settings, opened.files, batch)
        }
        for batch in batch_ids(opened.settings)
    }


def places_with(folder, word):
    """Every file below a folder whose name or content, unpacked where it is Parquet, has a word."""
    return [
        path
        for path in sorted(folder.rglob("*"))
        if word in path.name or (path.is_file() and word in content_of(path))
    ]


def content_of(path):
    if path.suffix == ".parquet":
        return str(pq.read_table(path).to_pylist())
    return path.read_bytes().decode("utf-8", "replace")


def vault_of(installation):
    return Vault(installation.vault_url, Keyring([bytes.fromhex(VAULT_KEY)]))


@pytest.fixture(scope="module")
def start(tmp_path_factory):
    """Where a copy of the installation of ``held`` is kept, which is made once."""
    return tmp_path_factory.mktemp("erasure") / "start"


@pytest.fixture
def held(installation, note_records, start):
    """An installation with a vault that holds the patient in a released batch, in a folder of
    letters, and in a part of a large file.
    """
    os.environ["DEID_VAULT_KEY"] = VAULT_KEY
    installation.vault_url = f"sqlite:///{installation.home / 'vault' / 'vault.db'}"
    if not start.exists():
        configure(installation)
        fill(installation, note_records)
        shutil.copytree(installation.home, start)
    shutil.rmtree(installation.home, ignore_errors=True)
    shutil.copytree(start, installation.home)
    configure(installation)
    names = (start / "batches.json").read_text()
    installation.batch, installation.letters = json.loads(names)
    return installation


def configure(installation):
    installation.configure(
        installation.default_settings
        + f'[vault]\nurl = "{installation.vault_url}"\n[batches]\nmax_characters = 25_000\n'
    )


def fill(installation, note_records):
    """Release a batch, and take in letters and a large file."""
    drop(installation, "ward.jsonl", lines(note_records()))
    (batch,) = take_all(installation)
    assert installation.failures(installation.run(batch)) == {}
    drop(installation, "letters/letters.csv", LETTERS)
    drop(installation, "letters/batch.toml", OPTIONS)
    (letters,) = take_all(installation)
    more = [record for first in range(2, 8) for record in note_records(10 * first)]
    drop(installation, "large.jsonl", lines([*more, {**note_records()[3], "id": "late"}]))
    assert len(take_all(installation)) > 1
    (installation.home / "batches.json").write_text(json.dumps([batch, letters]))


ASKED = ("--by", "Privacy officer", "--reason", "Objection, art. 21")


@pytest.fixture
def cli(installation):
    """Run ``deid`` on the installation, and return exit code, standard output and
    standard error.
    """

    def run(*arguments, given=None):
        ran = CliRunner().invoke(app, list(arguments), input=given)
        return ran.exit_code, ran.stdout, ran.stderr

    return run


def without_patient(notes):
    return {note_id: what for note_id, what in notes.items() if what.note.patient_id != PATIENT}


def certificate_of(installation):
    (path,) = (installation.home / "erasures").glob("*-1.json")
    return path


def test_nothing_of_the_patient_is_left_and_the_others_stay(held, cli):
    before = read_all(held)
    vault = vault_of(held)
    assert count_held(vault, PATIENT) == (1, 2)
    vault.close()
    assert len(places_with(held.home, NAME + "a")) >= 5

    code, shown, said = cli("erase", PATIENT, *ASKED)

    assert (code, "4 notes erased" in said) == (0, True), said
    assert places_with(held.home, NAME + "a") == []
    assert places_with(held.home, PATIENT + '"') == []
    assert read_all(held) == {batch: without_patient(notes) for batch, notes in before.items()}
    vault = vault_of(held)
    assert count_held(vault, PATIENT) == (0, 0)
    vault.close()
    assert not (held.home / "released" / held.batch).exists()
    assert not (held.store / "restricted" / "erasures" / "plan.json").exists()
    assert NAME not in shown + said


def test_the_next_run_releases_the_others_again(held, cli):
    released = held.home / "released" / held.batch / "notes.jsonl"
    before = {json.loads(line)["id"]: line for line in released.read_text().splitlines()}
    assert cli("erase", PATIENT, *ASKED)[0] == 0

    assert held.failures(held.run(held.batch)) == {}

    after = {json.loads(line)["id"]: line for line in released.read_text().splitlines()}
    assert len(after) == 7
    assert after.items() < before.items()
    assert (
        cli("verify", str(released.parent), "--public-key", f"{held.home}/release-public-key.pem")[
            0
        ]
        == 0
    )
    opened = held.opened()
    assert look(opened.settings, opened.files, held.batch).state is BatchState.RELEASED


def test_the_certificate_names_each_place_and_tells_no_id_and_no_text(held, cli):
    assert cli("erase", PATIENT, *ASKED)[0] == 0
    path = certificate_of(held)
    document = json.loads(path.read_text())
    rows = {(item["what"], item["name"]): item for item in document["items"]}

    assert rows["landing files", held.batch]["count"] == 1
    assert rows["landing files", held.letters]["count"] == 2
    assert rows["release", held.batch]["status"] == "done"
    assert rows["partition", f"raw_notes@{held.batch}"]["status"] == "done"
    assert rows["partition", f"gold_annotations@{held.batch}"]["status"] == "done"
    assert rows["vault", "vault"]["count"] == 1
    assert rows["backups", "outside"]["status"] == "not reached"
    for text in (path.read_text(), path.with_suffix(".html").read_text()):
        assert not any(word in text for word in ("patient-", "Zed", "note-3", "letters", "art. 21"))
        assert held.batch in text

    key = ("--public-key", f"{held.home}/release-public-key.pem")
    assert cli("verify", str(path), *key)[0] == 0
    path.write_text(path.read_text().replace('"notes": 4', '"notes": 5'))
    code, _, said = cli("verify", str(path), *key)
    assert (code, "altered" in said) == (2, True)


def test_a_second_call_finds_nothing_and_writes_nothing(held, cli):
    assert cli("erase", PATIENT, *ASKED)[0] == 0
    before = sorted(held.home.rglob("*"))

    code, _, said = cli("erase", "-", *ASKED, given=f"{PATIENT}\n")

    assert (code, "nothing is held of that patient any more" in said) == (0, True)
    assert sorted(held.home.rglob("*")) == before


def test_a_plan_says_what_would_be_done_and_does_nothing(held, cli):
    before = read_all(held)

    code, shown, said = cli("erase", PATIENT, *ASKED, "--plan", "--json")

    assert (code, said) == (0, "nothing was erased: leave --plan out\n")
    assert {"what": "landing files", "name": held.letters}.items() <= json.loads(shown)[
        next(at for at, row in enumerate(json.loads(shown)) if row["name"] == held.letters)
    ].items()
    assert read_all(held) == before
    assert (held.home / "released" / held.batch).exists()
    assert not (held.home / "erasures").exists()


def test_what_is_dropped_again_does_not_come_back(held, cli):
    assert cli("erase", PATIENT, *ASKED)[0] == 0
    drop(held, "letters/letters.csv", LETTERS)
    drop(held, "letters/batch.toml", OPTIONS)

    assert take_all(held) == []
    assert places_with(held.home, NAME + "a") == []


def test_a_withdrawn_batch_stays_withdrawn_and_loses_the_patient(held, cli):
    assert cli("batches", "withdraw", held.batch, "--with-release")[0] == 0

    assert cli("erase", PATIENT, *ASKED)[0] == 0

    assert Withdrawals(held.opened().files).is_withdrawn(held.batch)
    assert places_with(held.home, NAME + "a") == []


def test_a_batch_of_the_patient_alone_is_withdrawn(installation, note_records, cli):
    drop(installation, "one.jsonl", lines([note_records()[3]]))
    (batch,) = take_all(installation)

    assert cli("erase", PATIENT, *ASKED)[0] == 0

    assert Withdrawals(installation.opened().files).is_withdrawn(batch)
    assert read_all(installation) == {batch: {}}
    assert places_with(installation.home, NAME) == []


def test_a_file_named_after_the_patient_is_named_nowhere(installation, note_records, cli):
    installation.configure(installation.default_settings + "[batches]\nmax_characters = 4_000\n")
    for record in note_records():
        drop(installation, f"ward/{record['text'].split(',')[0]}.jsonl", lines([record]))
    batches = take_all(installation)
    assert len(batches) > 1
    for batch in batches:
        assert installation.failures(installation.run(batch, "raw_notes")) == {}
    before = read_all(installation)

    assert cli("erase", PATIENT, *ASKED)[0] == 0

    assert places_with(installation.home, NAME) == []
    assert read_all(installation) == {
        batch: without_patient(notes) for batch, notes in before.items()
    }
    for batch in batches:
        if read_all(installation)[batch]:
            assert installation.failures(installation.run(batch, "raw_notes")) == {}
            installation.opened().files.verify_chain("raw_notes", batch)


@pytest.mark.parametrize(
    ("prepare", "said"),
    [
        (lambda made: drop(made, "new.jsonl", "{}"), "holds what is in no batch yet"),
        (
            lambda made: (made.store / "restricted" / "landing" / ".large" / "b-1").mkdir(
                parents=True
            ),
            "waits to be split",
        ),
        (
            lambda made: next(
                (made.store / "restricted" / "landing").glob("b-*/*.jsonl")
            ).write_text(""),
            "1 were altered",
        ),
    ],
    ids=["landing", "large", "altered"],
)
def test_what_cannot_be_looked_at_is_refused_and_nothing_is_erased(
    installation, note_records, cli, prepare, said
):
    drop(installation, "ward.jsonl", lines(note_records()))
    take_all(installation)
    prepare(installation)

    code, _, shown = cli("erase", PATIENT, *ASKED)

    assert (code, said in shown) == (2, True), shown
    assert not (installation.home / "erasures").exists()


def test_entries_that_cannot_be_read_go_only_where_that_is_asked_for(
    installation, note_records, cli
):
    drop(installation, "ward.jsonl", lines(note_records()) + '{"id": "broken", "text": "Zedlost\n')
    (batch,) = take_all(installation)

    code, _, said = cli("erase", PATIENT, *ASKED)
    assert (code, "--drop-unreadable" in said) == (2, True)
    assert places_with(installation.home, NAME) != []

    assert cli("erase", PATIENT, *ASKED, "--drop-unreadable")[0] == 0
    assert places_with(installation.home, NAME) == []
    assert places_with(installation.home, "Zedlost") == []
    assert "b-" in batch


def test_an_id_that_is_not_held_is_bad_input(installation, note_records, cli):
    drop(installation, "ward.jsonl", lines(note_records()))
    take_all(installation)

    code, _, said = cli("erase", "patient-99", *ASKED)

    assert (code, said) == (2, "error: nothing is held of that patient; check the id\n")


def store_model(installation, batch, *, version="1"):
    """Store a training set with the notes of a batch, and a model that rests on it."""
    files = installation.opened().files
    notes = [found.note for found in read_all(installation)[batch].values()]
    raw = files.write("raw_notes", batch, {}, receipt=UnsignedReceipt("1", {}, {}))
    corpus = files.write(
        "training_corpus",
        ALL,
        {"corpus_0": notes_to_table(notes)},
        receipt=UnsignedReceipt(version, inputs_of([raw]), {}),
    )
    receipt = UnsignedReceipt(version, inputs_of([corpus]), {})
    files.write("tagger_mine", ALL, {}, receipt=receipt)
    checkpoint = installation.home / "training" / "mine" / "checkpoint"
    checkpoint.parent.mkdir(parents=True, exist_ok=True)
    checkpoint.write_text("Zedpenrosea")
    return files


def test_a_model_is_marked_until_a_newer_one_takes_its_place(installation, note_records, cli):
    drop(installation, "ward.jsonl", lines(note_records()))
    (batch,) = take_all(installation)
    files = store_model(installation, batch)

    code, _, said = cli("erase", PATIENT, *ASKED)

    assert (code, "1 models are to be retrained" in said) == (1, True), said
    assert RetrainMarks(files).models() == ["tagger_mine"]
    assert files.find("training_corpus", ALL) is None
    assert not (installation.home / "training" / "mine").exists()
    items = json.loads(certificate_of(installation).read_text())["items"]
    (model,) = [item for item in items if item["what"] == "model"]
    assert (model["name"], model["status"]) == ("tagger_mine", "to be retrained")

    store_model(installation, batch, version="2")
    assert RetrainMarks(files).models() == []


def test_a_model_is_deleted_where_that_is_asked_for(installation, note_records, cli):
    drop(installation, "ward.jsonl", lines(note_records()))
    (batch,) = take_all(installation)
    files = store_model(installation, batch)

    assert cli("erase", PATIENT, *ASKED, "--delete-models")[0] == 0

    assert files.find("tagger_mine", ALL) is None


def test_a_leaked_value_is_found_however_it_is_written_and_its_release_withdrawn(held, cli):
    leaked = "RÉLIEVED,  by Rest\n"
    code, shown, said = cli("leak", "--values", "-", given=leaked)
    assert (code, held.batch in shown, "stencil 1" in shown) == (1, True, True), shown + said
    assert "rest" not in (shown + said).lower().replace("interest", "")

    assert cli("leak", "--values", "-", given="Zednobody\n")[0] == 0
    assert cli("leak", "--values", "-", given="ab\n")[0] == 2
    notes = held.home / "released" / held.batch / "notes.jsonl"
    kept = notes.read_text()
    notes.write_text("")
    code, _, said = cli("leak", "--values", "-", given=leaked)
    assert (code, "not looked at" in said) == (2, True)
    notes.write_text(kept)

    assert cli("leak", "--values", "-", "--withdraw", given=leaked)[0] == 1
    assert not notes.parent.exists()
    assert cli("leak", "--values", "-", given=leaked)[0] == 0


def test_a_leaked_value_is_not_said_to_be_nowhere_where_nothing_was_released(
    installation, note_records, cli
):
    drop(installation, "ward.jsonl", lines(note_records()))
    take_all(installation)

    code, _, said = cli("leak", "--values", "-", given="Relieved by rest\n")

    assert code == 2
    assert "nothing was released here" in said


def test_values_in_another_encoding_are_bad_input(held, cli, tmp_path):
    (tmp_path / "values").write_bytes("Müller\n".encode("latin-1"))

    code, _, said = cli("leak", "--values", str(tmp_path / "values"))

    assert code == 2
    assert "not in UTF-8" in said


def steps():
    """A share of the steps, or all where ``DEID_CAMPAIGNS`` asks for them."""
    return range(1, 100_000) if os.environ.get("DEID_CAMPAIGNS") else range(1, 100_000, 41)


def test_a_kill_before_file_operations_and_statements_is_completed_by_the_next_call(
    held, killed_at, tmp_path
):
    before = {batch: without_patient(notes) for batch, notes in read_all(held).items()}
    shutil.copytree(held.home, tmp_path / "start")
    order = ErasureOrder(PATIENT, AccessRequest("officer", "Objection"))
    tried = 0
    for step in steps():
        shutil.rmtree(held.home)
        shutil.copytree(tmp_path / "start", held.home)
        died = killed_at(step, lambda: erase_patient(held.settings(), order))
        erase_patient(held.settings(), order)

        assert read_all(held) == before, f"killed before {step}"
        assert places_with(held.home, NAME + "a") == [], f"killed before {step}"
        assert len([*(held.home / "erasures").glob("*.json")]) == 1, f"killed before {step}"
        assert [*(held.store / "restricted" / "erasures").iterdir()] == [], f"killed {step}"
        assert not (held.home / "released" / held.batch).exists(), f"killed before {step}"
        vault = vault_of(held)
        assert count_held(vault, PATIENT) == (0, 0), f"killed before {step}"
        vault.close()
        tried += 1
        if not died:
            break

    assert tried > 5


def test_deny_rules_lose_what_is_the_patients_alone(held, cli):
    asked = ("--deny", "--by", "officer", "--reason", "Reported")
    given = "walks with a frame and sleeps\nZedpenrosea\nrelieved by rest\n"
    code, _, said = cli("leak", "--values", "-", *asked, given=given)
    assert (code, said.count("deny rule")) == (1, 3), said
    before = {one.rule: one.value for one in Denials(held.opened().files).read().rules}
    files = held.opened().files
    cases = [*Denials(files).read().cases]
    assert {case.patient_id for case in cases} == {"patient-0", PATIENT, None}

    assert cli("erase", PATIENT, *ASKED)[0] == 0

    left = Denials(held.opened().files).read()
    assert [one.value for one in left.rules] == ["relieved by rest"]
    assert {case.patient_id for case in left.cases} == {"patient-0"}
    assert {one.rule for one in left.lifted} == before.keys() - {left.rules[0].rule}
    assert places_with(held.home, NAME + "a") == []
    items = {item["what"]: item for item in json.loads(certificate_of(held).read_text())["items"]}
    assert (items["deny rules"]["count"], items["deny rules"]["status"]) == (2, "done")
    assert items["cases of deny rules"]["count"] == 1
