"""A feed from an object store: files of any format; only those that changed are fetched."""

from __future__ import annotations

import json

import pytest

from deid_assets.core.errors import ConfigError, InputError
from deid_assets.feeds.running import run_feed

pytest.importorskip("fsspec", reason="object stores need fsspec; make add PLUGIN=s3")


class Folder:
    """A store that is a folder of this machine.

    Args:
        path: Of the folder.
    """

    storage = ""

    def __init__(self, path) -> None:
        self.path = path
        self.url = f"file://{path}"

    def put(self, name, content):
        (self.path / name).parent.mkdir(parents=True, exist_ok=True)
        (self.path / name).write_text(content)

    def remove(self, name):
        (self.path / name).unlink()


class Bucket:
    """A bucket of an S3 server on this machine.

    Args:
        endpoint: Address of the server.
        name: Of the bucket.
    """

    def __init__(self, endpoint, name) -> None:
        import boto3

        self.client = boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1")
        self.name = name
        self.client.create_bucket(Bucket=name)
        self.url = f"s3://{name}/notes"
        self.storage = f'storage = {{ endpoint_url = "{endpoint}" }}\n'

    def put(self, name, content):
        self.client.put_object(Bucket=self.name, Key=f"notes/{name}", Body=content.encode())

    def remove(self, name):
        self.client.delete_object(Bucket=self.name, Key=f"notes/{name}")


@pytest.fixture(scope="module")
def s3_server():
    server = pytest.importorskip("moto.server", reason="needs moto[s3,server]")
    pytest.importorskip("s3fs", reason="needs s3fs; make add PLUGIN=s3")
    running = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    running.start()
    host, port = running.get_host_and_port()
    yield f"http://{host}:{port}"
    running.stop()


@pytest.fixture(params=["folder", "s3"])
def store(request, installation, tmp_path, monkeypatch):
    """A store, and a feed ``ward`` of it."""
    if request.param == "folder":
        (tmp_path / "files").mkdir()
        made = Folder(tmp_path / "files")
    else:
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hunter2secret")
        made = Bucket(request.getfixturevalue("s3_server"), tmp_path.name.replace("_", "-").lower())
    declare(installation, made)
    return made


def declare(installation, store, more=""):
    installation.configure(
        f'{installation.default_settings}\n[feeds.ward]\nkind = "objects"\nurl = "{store.url}"\n'
        f"notes = 10\n{store.storage}{more}"
    )


def lines(*records):
    return "".join(
        json.dumps({"id": note_id, "text": text, "patient_id": note_id[0], "lang": "en"}) + "\n"
        for note_id, text in records
    )


def run(installation, **options):
    return run_feed(installation.settings(), "ward", **options)


def test_many_small_files_are_few_batches_and_one_large_is_many(store, installation, texts_of):
    for n in range(8):
        store.put(f"day/{n}.txt", f"Note {n}.")
    assert len(run(installation).batches) == 1

    store.put("large.jsonl", lines(*((f"{n % 9}-{n}", f"Large {n}.") for n in range(45))))
    done = run(installation)
    assert len(done.batches) == 5
    assert (done.counts.units, done.counts.new) == (1, 45)
    found = texts_of()
    assert len(found) == 53
    assert found["day/3"] == "Note 3."


def test_a_file_that_did_not_change_is_not_fetched_and_one_that_did_is_compared(
    store, installation, texts_of
):
    store.put("a.jsonl", lines(("a1", "One."), ("a2", "Two."), ("a3", "Three.")))
    store.put("b.jsonl", lines(("b1", "Other.")))
    run(installation)
    store.put("a.jsonl", lines(("a1", "One."), ("a2", "Two, corrected."), ("a4", "Four.")))

    done = run(installation)

    counts = done.counts
    assert (counts.units, counts.same, counts.changed, counts.new, counts.deleted) == (
        1,
        1,
        1,
        1,
        1,
    )
    assert texts_of() == {"a1": "One.", "a2": "Two, corrected.", "a4": "Four.", "b1": "Other."}


def test_a_file_that_is_gone_takes_its_notes_with_it(store, installation, texts_of):
    store.put("a.jsonl", lines(("a1", "One.")))
    store.put("b.jsonl", lines(("b1", "Other.")))
    run(installation)
    store.remove("a.jsonl")

    assert run(installation).counts.deleted == 1
    assert texts_of() == {"b1": "Other."}


def test_a_note_that_moves_to_another_file_stays_in_its_batch(store, installation, texts_of):
    store.put("a.jsonl", lines(("a1", "One."), ("a2", "Two.")))
    run(installation)
    store.put("a.jsonl", lines(("a2", "Two.")))
    store.put("0.jsonl", lines(("a1", "One.")))

    done = run(installation)
    assert (done.batches, done.counts.same) == ((), 2)
    store.remove("0.jsonl")
    assert run(installation).counts.deleted == 1
    assert texts_of() == {"a2": "Two."}


def test_an_id_that_another_file_has_is_withheld(store, installation, texts_of, faults_of):
    store.put("a.jsonl", lines(("a1", "One.")))
    run(installation)
    store.put("b.jsonl", lines(("a1", "Another."), ("b1", "Other.")))
    run(installation)

    assert texts_of() == {"a1": "One.", "b1": "Other."}
    assert faults_of() == ["duplicate-id"]
    assert run(installation).batches == ()


def test_a_file_that_cannot_be_read_is_a_fault_until_it_can(
    store, installation, texts_of, faults_of
):
    store.put("a.jsonl", '{"id": "a1"\n' + lines(("a2", "Two.")))
    run(installation)
    assert faults_of() == ["malformed"]

    store.put("a.jsonl", lines(("a1", "One."), ("a2", "Two.")))
    run(installation)
    assert (texts_of(), faults_of()) == ({"a1": "One.", "a2": "Two."}, [])


def test_files_that_belong_together_are_read_together(store, installation, tmp_path):
    pytest.importorskip("deid_corpus_formats", reason="needs the formats of corpora")
    store.put("7.txt", "Seen by Zedmarlow.")
    store.put("7.ann", "T1\tNAME 8 17\tZedmarlow\n")
    done = run(installation)

    assert (done.counts.units, done.counts.new, done.counts.faults) == (1, 1, 0)


def test_reading_options_and_language_are_those_of_the_feed(store, installation, texts_of):
    declare(
        installation,
        store,
        'format = "csv"\nlang = "de"\nread = { delimiter = ";", column.id = "nr" }\n',
    )
    store.put("a.csv", "nr;text\n1;Aufnahme.\n")
    run(installation)

    assert texts_of() == {"1": "Aufnahme."}


def test_what_names_a_database_is_not_followed(store, installation):
    store.put("a.jsonl", lines(("a1", "One.")))
    store.put("cdm.omop", 'url_env = "HOME"\n')

    assert run(installation).counts.new == 1


def test_a_store_that_is_not_there_is_said_without_its_secret(store, installation, tmp_path):
    store.url = store.url.replace("files", "nowhere").replace("s3://", "s3://no-")
    declare(installation, store)
    with pytest.raises(InputError) as caught:
        run(installation)

    assert "hunter2" not in str(caught.value)
    assert "nothing was taken" in str(caught.value)


def test_a_secret_of_a_store_is_named_by_its_variable(installation, tmp_path, monkeypatch):
    folder = Folder(tmp_path)
    declare(installation, folder, 'storage_env = { secret = "NO_SUCH_VARIABLE" }\n')

    with pytest.raises(ConfigError, match="NO_SUCH_VARIABLE is not set"):
        run(installation)


def test_nothing_of_the_files_is_left_where_they_were_read(store, installation):
    store.put("zedmarlow.jsonl", lines(("a1", "Zedmarlow was here.")))
    run(installation)
    batches = [path for path in installation.root.rglob("notes.drafts") if path.is_file()]
    held = [
        path
        for path in installation.root.rglob("*")
        if path.is_file() and b"Zedmarlow" in path.read_bytes()
    ]

    assert held == batches
