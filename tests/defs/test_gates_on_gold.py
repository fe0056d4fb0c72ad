"""Gold gates a batch: by lower bounds, by its worst group, and against what was released before."""

import pyarrow.parquet as pq
import pytest

pytestmark = pytest.mark.long

CHAIN = (
    "raw_notes",
    "gold_annotations",
    "spans_stencil",
    "merged_spans",
    "redacted_notes_tag",
    "quarantine",
    "release_report",
    "released_corpus",
)
OPEN = "recall = {}\n"
"""Gate settings under which only what a test sets can stop a batch."""


def stopped_by(installation, batch, *assets):
    """The reason for which ``merged_spans`` was not stored, or nothing."""
    failures = installation.failures(installation.run(batch, *(assets or CHAIN)))
    assert failures.keys() <= {"merged_spans"}
    return failures.get("merged_spans", "")


@pytest.fixture(scope="module")
def read_once(installed, tmp_path_factory, note_records):
    with installed(tmp_path_factory.mktemp("read")) as made:
        made.configure(made.default_settings + OPEN)
        made.batch = made.receive(note_records())
        assert made.failures(made.run(made.batch, *CHAIN[:3])) == {}
    return made


@pytest.fixture
def read(read_once, copied, tmp_path):
    """A batch with gold that a detector read."""
    with copied(read_once, tmp_path / "copy") as copy:
        yield copy


@pytest.mark.parametrize(
    ("gates", "stopped"),
    [
        # Eight notes with two identifiers each, all found: the bounds are 0.806 of spans and 0.676
        # of notes.
        pytest.param(
            "min_gold_spans = 1\nrecall_lower_bound = {ALL = 0.8}\n", "", id="spans above"
        ),
        pytest.param(
            "min_gold_spans = 1\nrecall_lower_bound = {ALL = 0.81}\n",
            "recall_lower_bound: ",
            id="spans below",
        ),
        pytest.param(
            "min_gold_spans = 8\nrecall_lower_bound = {'A names' = 0.7}\n",
            "recall_lower_bound",
            id="a label below",
        ),
        pytest.param(
            "min_gold_spans = 17\nrecall_lower_bound = {ALL = 0.81}\n",
            "",
            id="too few spans to gate",
        ),
        pytest.param(
            "min_gold_notes = 1\nnotes_covered_lower_bound = 0.67\n", "", id="notes above"
        ),
        pytest.param(
            "min_gold_notes = 1\nnotes_covered_lower_bound = 0.68\n",
            "notes_covered_lower_bound",
            id="notes below",
        ),
        pytest.param(
            "min_gold_spans = 1\nrecall_lower_bound = {}\nworst_group_by ="
            " 'lang'\nworst_group_lower_bound = 0.81\n",
            "worst_group: ",
            id="a group below",
        ),
    ],
)
def test_a_batch_goes_on_only_above_the_lower_bounds(read, gates, stopped):
    read.configure(read.default_settings + OPEN + gates)

    reason = stopped_by(read, read.batch, "merged_spans")

    assert (stopped in reason) if stopped else not reason
    assert (read.opened().files.find("merged_spans", read.batch) is None) == bool(stopped)


@pytest.mark.parametrize("bound", [0.8, 0.81])
def test_what_is_stopped_is_not_released(read, bound):
    gates = f"min_gold_spans = 1\nrecall_lower_bound = {{ALL = {bound}}}\n"
    read.configure(read.default_settings + OPEN + gates)

    reason = stopped_by(read, read.batch)

    assert bool(reason) is (bound > 0.8)
    assert (read.opened().files.find("released_corpus", read.batch) is None) is (bound > 0.8)


def test_the_worst_group_may_be_one_of_any_field_of_the_notes(installation, note_records):
    """Nothing is found at one of two sites; over both, recall would do."""
    gates = (
        "min_gold_spans = 1\nrecall_lower_bound = {}\nworst_group_by ="
        " 'site'\nworst_group_lower_bound = 0.2\n"
    )
    installation.configure(
        installation.default_settings + OPEN + gates + "[detectors.stencil]\nskip = 'NAME'\n"
    )
    records = [
        {**record, "meta": {"site": "north" if n < 6 else "south"}}
        for n, record in enumerate(note_records())
    ]
    for record in records[6:]:
        record["spans"] = record["spans"][:1]

    reason = stopped_by(installation, installation.receive(records), *CHAIN[:4])

    assert "worst_group: Share of annotated spans covered in the worst group" in reason
    assert "south" not in reason


def test_a_configured_label_that_does_not_exist_is_refused(installation):
    from deid_assets.core.errors import ConfigError

    installation.configure(installation.default_settings + "recall_lower_bound = {NAMES = 0.5}\n")

    with pytest.raises(ConfigError, match=r"gates\.recall_lower_bound\.NAMES"):
        installation.settings()


WORSE = "[detectors.stencil]\nskip = 'MRN'\n"


@pytest.fixture(scope="module")
def released_once(shipped_once, copied, tmp_path_factory):
    with copied(shipped_once, tmp_path_factory.mktemp("released") / "copy") as made:
        made.configure(made.default_settings + OPEN)
        assert stopped_by(made, made.batch) == ""
    return made


@pytest.fixture
def released(released_once, copied, tmp_path):
    """A released batch, its gates opened but for the one on what was released before."""
    with copied(released_once, tmp_path / "copy") as copy:
        yield copy


def test_a_worse_version_of_a_released_batch_is_stopped(released):
    released.configure(released.default_settings + OPEN + WORSE)
    before = (released.home / "released" / released.batch / "notes.jsonl").read_bytes()

    reason = stopped_by(released, released.batch)

    assert "change -0.5 (tolerance 0.01)" in reason
    assert (released.home / "released" / released.batch / "notes.jsonl").read_bytes() == before


def test_the_gate_can_be_switched_off_and_then_holds_against_the_new_release(released):
    released.configure(released.default_settings + OPEN + "regression_tolerance = 1\n" + WORSE)
    assert stopped_by(released, released.batch) == ""

    released.configure(released.default_settings + OPEN + WORSE)
    assert stopped_by(released, released.batch, "merged_spans") == ""


def test_a_batch_that_was_never_released_has_nothing_to_be_held_against(installation, note_records):
    installation.configure(installation.default_settings + OPEN + WORSE)

    assert stopped_by(installation, installation.receive(note_records())) == ""


def baseline(installation):
    return installation.store / "internal" / "release_baseline" / installation.batch


def remove(folder):
    for path in folder.iterdir():
        path.unlink()


def forge(folder):
    (path,) = folder.glob("spans-*.parquet")
    pq.write_table(pq.read_table(path).slice(1), path)


def swap(folder):
    receipt = folder.parents[1] / "merged_spans" / folder.name / "receipt.json"
    (folder / "receipt.json").write_bytes(receipt.read_bytes())


@pytest.mark.parametrize(
    ("tamper", "message"),
    [
        (remove, "missing or older; materialize released_corpus"),
        (forge, "the file of table 'spans' was altered"),
        (swap, "the receipt belongs to merged_spans"),
    ],
)
def test_a_missing_or_altered_baseline_stops_a_batch(released, tamper, message):
    tamper(baseline(released))

    reason = stopped_by(released, released.batch, "merged_spans")

    assert "ProvenanceError" in reason
    assert message in reason


def test_making_the_release_again_mends_a_missing_baseline(released):
    remove(baseline(released))

    assert released.failures(released.run(released.batch, "released_corpus")) == {}
    assert stopped_by(released, released.batch) == ""


def test_the_baseline_holds_offsets_and_goes_with_its_batch(released):
    kept = released.opened().files.read("release_baseline", released.batch, "spans")

    assert "text" not in kept.column_names
    assert kept.num_rows == 16
    assert "release_baseline" in released.opened().files.erase(released.batch)
