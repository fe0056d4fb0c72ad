"""How what is dropped becomes batches, and what the landing sensor asks for."""

import json
import os
import time

import dagster as dg
import pytest

from deid_assets.core.keys import Key
from deid_assets.defs.jobs import runs_of_arrivals
from deid_assets.defs.partitions import batches
from deid_assets.defs.placing import Place
from deid_assets.formats import Annotated, Fault, read_notes
from deid_assets.intake.arrivals import batch_id
from deid_assets.intake.landing import SETTLE_S, arrivals, take_in
from deid_assets.intake.reader import landing_folder, sources_of
from deid_assets.intake.states import batch_ids, look_at_all
from deid_assets.store.files import StoreFiles


@pytest.fixture
def settings(installation):
    found = installation.settings()
    found.landing.mkdir(parents=True)
    return found


def drop(settings, name, content="{}\n", *, age_s=60.0):
    path = settings.landing / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    changed = time.time() - age_s
    os.utime(path, (changed, changed))
    return path


def test_no_landing_folder_means_no_arrivals(installation):
    assert arrivals(installation.settings()) == []


@pytest.mark.parametrize(
    ("name", "is_taken"),
    [
        ("notes.jsonl", True),
        ("monday/notes.jsonl", True),
        ("monday/ward/notes.jsonl", True),
        (".notes.jsonl", False),
        (".hidden/notes.jsonl", False),
        ("notes.jsonl.part", False),
        ("upload.part/notes.jsonl", False),
    ],
)
def test_hidden_and_partial_names_are_left_alone(settings, name, is_taken):
    drop(settings, name)

    assert bool(take_in(settings)) == is_taken
    assert (settings.landing / name).exists() != is_taken


@pytest.mark.parametrize(
    ("age_s", "is_taken"), [(0.0, False), (SETTLE_S - 2, False), (SETTLE_S + 1, True)]
)
def test_a_file_waits_until_it_has_settled(settings, age_s, is_taken):
    drop(settings, "notes.jsonl", age_s=age_s)

    assert bool(arrivals(settings)) == is_taken


def test_one_fresh_file_holds_its_folder_back(settings):
    drop(settings, "monday/a.jsonl")
    drop(settings, "monday/b.jsonl", "{ }\n", age_s=0)

    assert arrivals(settings) == []


@pytest.mark.parametrize("name", ["linked.jsonl", "linked"])
def test_links_are_not_followed(settings, tmp_path, name):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "notes.jsonl").write_text("{}\n")
    os.utime(outside / "notes.jsonl", (0, 0))
    (settings.landing / name).symlink_to(outside / "notes.jsonl" if "." in name else outside)

    assert take_in(settings) == []
    assert (outside / "notes.jsonl").exists()


def test_a_link_inside_a_dropped_folder_is_a_fault_and_is_not_read(settings, tmp_path):
    drop(settings, "monday/a.jsonl", json.dumps({"id": "a", "text": "here"}) + "\n")
    elsewhere = tmp_path / "secret.jsonl"
    elsewhere.write_text(json.dumps({"id": "s", "text": "from elsewhere"}) + "\n")
    os.utime(elsewhere, (0, 0))
    (settings.landing / "monday" / "b.jsonl").symlink_to(elsewhere)

    (batch,) = take_in(settings)
    found = [
        each for path in sources_of(landing_folder(settings, batch)) for each in read_notes(path)
    ]

    assert [each.kind for each in found if isinstance(each, Fault)] == ["unsafe-path"]
    assert [each.note.note_id for each in found if isinstance(each, Annotated)] == ["a"]


def test_the_same_content_dropped_twice_is_one_batch(settings):
    drop(settings, "notes.jsonl")
    first = take_in(settings)
    again = drop(settings, "copy.jsonl")
    second = take_in(settings)

    assert (len(first), second) == (1, [])
    assert batch_ids(settings) == first
    assert [path.name for path in sources_of(landing_folder(settings, first[0]))] == ["notes.jsonl"]
    assert not again.exists()
    (found,) = look_at_all(settings, StoreFiles(settings.store, key=settings.receipt_key()))
    assert found.repeat.startswith("dropped again once, last at ")


def test_a_folder_dropped_twice_is_removed_with_its_folders(settings):
    for name in ("monday", "tuesday"):
        drop(settings, f"{name}/ward/notes.jsonl")
        take_in(settings)

    assert len(batch_ids(settings)) == 1
    assert list(settings.landing.iterdir()) == []


def test_a_folder_is_one_batch_and_files_are_one_each(settings):
    drop(settings, "monday/a.jsonl", "1\n")
    drop(settings, "monday/b.jsonl", "2\n")
    drop(settings, "c.jsonl", "3\n")
    drop(settings, "d.jsonl", "4\n")

    assert len(take_in(settings)) == 3


def test_a_batch_id_tells_nothing_of_the_file_name(settings):
    drop(settings, "Jane-Zedmarlow-4411223.jsonl")

    (batch,) = take_in(settings)
    assert batch.startswith("b-")
    assert set(batch[2:]) <= set("0123456789abcdef")


def test_the_id_does_not_depend_on_the_order_of_the_files():
    key = Key(b"0123456789abcdef")

    assert (
        batch_id(["a", "b"], key=key) == batch_id(["b", "a"], key=key) != batch_id(["ab"], key=key)
    )


def test_the_id_of_the_same_files_is_another_under_another_key():
    first, other = Key(b"0123456789abcdef"), Key(b"fedcba9876543210")

    assert batch_id(["a"], key=first) != batch_id(["a"], key=other)


def test_what_arrived_is_open_to_its_owner_only(settings):
    drop(settings, "monday/ward/notes.jsonl").chmod(0o666)

    (batch,) = take_in(settings)
    folder = landing_folder(settings, batch)
    assert {
        path.stat().st_mode & 0o077
        for path in (folder, *folder.rglob("*"), folder.parent, folder.parent.parent)
    } == {0}


def test_a_second_copy_goes_with_its_links(settings):
    for name in ("monday", "tuesday"):
        path = drop(settings, f"{name}/notes.jsonl")
        (path.parent / "gone").symlink_to("nowhere")
        take_in(settings)

    assert len(batch_ids(settings)) == 1
    assert not any(settings.landing.iterdir())


def test_a_take_in_that_died_after_staging_is_finished_by_the_next(settings):
    drop(settings, "notes.jsonl")
    (batch,) = take_in(settings)
    # Back to the moment between the two renames: the file is staged, the batch does not exist yet.
    landing_folder(settings, batch).rename(landing_folder(settings, batch).with_name(f".{batch}"))

    assert take_in(settings) == [batch]
    assert batch_ids(settings) == [batch]
    assert [path.name for path in sources_of(landing_folder(settings, batch))] == ["notes.jsonl"]


def tick(installation):
    with dg.build_sensor_context(
        instance=installation.instance, resources=installation.resources()
    ) as context:
        found = runs_of_arrivals(context.instance, context.resources.installation, Place())
    for request in getattr(found, "dynamic_partitions_requests", None) or ():
        installation.instance.add_dynamic_partitions(
            request.partitions_def_name, request.partition_keys
        )
    return found


def test_the_sensor_requests_one_run_and_one_partition_per_new_batch(settings, installation):
    drop(settings, "a.jsonl", "1\n")
    drop(settings, "b.jsonl", "2\n")

    found = tick(installation)

    assert sorted(request.partition_key for request in found.run_requests) == batch_ids(settings)
    assert {request.run_key for request in found.run_requests} == set(batch_ids(settings))
    assert installation.instance.get_dynamic_partitions(batches.name) == batch_ids(settings)


def test_the_sensor_skips_with_a_reason_when_nothing_is_new(settings, installation):
    drop(settings, "a.jsonl")
    tick(installation)

    found = tick(installation)

    assert isinstance(found, dg.SkipReason)
    assert "no new files" in found.skip_message


def test_a_tick_that_dies_after_taking_in_loses_no_batch(settings, installation):
    drop(settings, "a.jsonl")
    with dg.build_sensor_context(
        instance=installation.instance, resources=installation.resources()
    ) as context:
        runs_of_arrivals(
            context.instance, context.resources.installation, Place()
        )  # its answer never reached Dagster

    found = tick(installation)

    assert [request.partition_key for request in found.run_requests] == batch_ids(settings)
