"""What was not measured says so, and leaves only if the settings let it or somebody approved the
page on it.
"""

import csv
import hashlib
import json

import dagster as dg
import pytest
from rich.console import Console
from typer.testing import CliRunner

from deid_assets.backfill.command import main as backfill
from deid_assets.cli import app
from deid_assets.core.verdicts import State
from deid_assets.defs.staleness import list_stale_assets
from deid_assets.defs.stopping import drop_known_stops
from deid_assets.intake.landing import take_in
from deid_assets.intake.states import BatchState, look_at_all
from deid_assets.intake.stops import find_stop
from deid_assets.quickstart.overview import show_overview
from deid_assets.quickstart.steps import waiting
from deid_assets.store.receipts import state_of

pytestmark = pytest.mark.long

APPROVED = 'release.require = "none"\nrelease.approval = true\n'

CHAIN = (
    "raw_notes",
    "gold_annotations",
    "spans_stencil",
    "merged_spans",
    "redacted_notes_tag",
    "quarantine",
    "release_report",
)


def say(*arguments):
    result = CliRunner().invoke(app, list(map(str, arguments)))
    return result.exit_code, result.output


@pytest.fixture
def unmeasured(installation, note_records):
    """An installation with a batch that nobody annotated, made up to the page on it."""

    def make(settings="", *, gold=False, chain=CHAIN):
        installation.configure(settings + without_require(installation))
        installation.batch = installation.receive(note_records(gold=gold))
        assert (
            not chain or installation.failures(installation.run(installation.batch, *chain)) == {}
        )
        return installation

    return make


@pytest.fixture(scope="module")
def waiting_once(installed, tmp_path_factory, note_records):
    with installed(tmp_path_factory.mktemp("waiting")) as made:
        made.configure(APPROVED + without_require(made))
        made.batch = made.receive(note_records(gold=False))
        assert made.failures(made.run(made.batch, *CHAIN)) == {}
    return made


@pytest.fixture
def to_approve(waiting_once, copied, tmp_path):
    """A batch whose page nobody approved yet, where somebody has to."""
    with copied(waiting_once, tmp_path / "copy") as copy:
        yield copy


def without_require(made):
    return made.default_settings.replace('release.require = "none"\n', "")


def page_of(made):
    return made.home / "reports" / f"release-{made.batch}.html"


def released(made):
    return made.failures(made.run(made.batch, "released_corpus"))


def waits(made):
    """Why the release waits, as it is kept."""
    stop = find_stop(made.opened().files, "released_corpus", made.batch)
    return stop.reasons if stop and stop.waits else ()


def tried(made):
    """Assets that the next `make run` makes."""
    opened, definitions = made.opened(), made.definitions()
    specs = {spec.key: spec for spec in definitions.resolve_all_asset_specs()}
    stale = list_stale_assets(definitions, opened, made.batch, made.instance)
    return [key.to_user_string() for key in drop_known_stops(specs, opened, made.batch, stale)]


def lines_on(made):
    opened = made.opened()
    found = look_at_all(opened.settings, opened.files)
    waits = waiting(opened, found)
    return [batch.state for batch in found], waits.lines(), waits.next_step(found)


def closing(made):
    """What `make run` prints at the end."""
    opened = made.opened()
    console = Console(record=True, width=120)
    show_overview(opened, look_at_all(opened.settings, opened.files), [], console)
    return console.export_text()


def manifest_of(made):
    return json.loads((made.home / "released" / made.batch / "manifest.json").read_text())


def test_a_batch_without_gold_is_not_released_by_default_and_its_page_begins_with_not_measured(
    unmeasured,
):
    made = unmeasured()

    result = made.run(made.batch, "released_corpus", "release_diff")
    assert result.success
    (check,) = [one for one in result.get_asset_check_evaluations() if one.check_name == "measured"]
    assert (check.passed, check.severity) == (False, dg.AssetCheckSeverity.WARN)
    assert waits(made) == (
        (
            "check measured: no annotated identifiers, 100 wanted:"
            " annotate a sample with `deid sample`"
        ),
    )
    assert {"released_corpus", "release_diff"}.isdisjoint(tried(made))
    states, (line,), step = lines_on(made)
    assert (states, "was not released yet, since not measured" in line) == (
        [BatchState.WAITING],
        True,
    )
    assert "deid sample" in step
    assert not (made.home / "released").exists()
    assert "redacted corpus" not in closing(made)
    page = page_of(made).read_text()
    assert page.index("<strong>Not measured</strong>") < page.index(
        "None of the 8 notes is annotated."
    )
    assert "The batch is not released, because release.require asks for annotated notes." in page


def test_released_all_the_same_it_says_so_in_the_manifest_and_when_it_is_verified(unmeasured):
    made = unmeasured('release.require = "none"\n')
    assert released(made) == {}

    manifest = manifest_of(made)
    assert manifest["measured"] is False
    assert manifest["measurement"]["reason"] == "None of the 8 notes is annotated."
    assert f"redacted corpus   {made.home / 'released'}" in closing(made)
    code, said = say("verify", made.home / "released" / made.batch)
    assert (code, "not measured: None of the 8 notes is annotated." in said) == (0, True), said


def test_no_gate_on_gold_has_passed_without_gold(unmeasured):
    made = unmeasured()

    rows = made.opened().files.receipt("merged_spans", made.batch).verdicts
    gold = ("recall_floor", "recall_lower_bound", "notes_covered_lower_bound", "no_regression")
    assert {state_of(rows[name]) for name in gold} == {State.NOT_APPLICABLE}
    assert state_of(rows["in_bounds"]) is State.PASSED


@pytest.mark.parametrize(
    ("asked", "short"),
    [
        ("", ""),
        ("release.annotated_notes = 9\n", "8 annotated notes, 9 wanted"),
        ("release.lower_bound = 0.9\n", "identifiers covered, 0.9000 wanted"),
    ],
)
def test_gold_that_is_enough_is_released_as_measured(unmeasured, asked, short):
    made = unmeasured(asked, gold=True, chain=())
    # The sixteen identifiers of eight notes are far from the hundred that count by default.
    made.configure(
        asked
        + made.default_settings.replace('release.require = "none"\n', "").replace(
            "[gates]\n", "[gates]\nmin_gold_spans = 16\nrecall_lower_bound = {}\n"
        )
    )
    failures = made.failures(made.run(made.batch, *CHAIN, "released_corpus"))

    assert failures == {}
    if short:
        assert short in " ".join(waits(made))
    else:
        assert manifest_of(made)["measured"] is True
        assert (
            "measured on 8 annotated notes: 16 of 16"
            in say("verify", made.home / "released" / made.batch)[1]
        )


def annotate(sample, style, records):
    """Write into a drawn sample what people would have marked."""
    spans_of = {record["id"]: record["spans"] for record in records}
    if style == "brat":
        for file in sample.glob("*.ann"):
            text = file.with_suffix(".txt").read_text()
            rows = [
                f"T{n}\t{one['label']} {one['start']}"
                f" {one['end']}\t{text[one['start'] : one['end']]}\n"
                for n, one in enumerate(spans_of[file.stem], start=1)
            ]
            file.write_text("".join(rows))
    elif style == "csv":
        with sample.open(newline="") as file:
            rows = list(csv.DictReader(file))
        with sample.open("w", newline="") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows({**row, "spans": json.dumps(spans_of[row["id"]])} for row in rows)
    else:
        drawn = [json.loads(line) for line in sample.read_text().splitlines()]
        sample.write_text(
            "".join(json.dumps({**one, "spans": spans_of[one["id"]]}) + "\n" for one in drawn)
        )


@pytest.mark.parametrize("style", ["brat", "csv", "jsonl"])
def test_a_drawn_sample_comes_back_annotated_and_its_batch_is_measured_and_released_whole(
    unmeasured, tmp_path, note_records, style
):
    made = unmeasured(chain=())
    made.configure(
        made.default_settings.replace('release.require = "none"\n', "").replace(
            "[gates]\n", "[gates]\nmin_gold_spans = 10\nrecall_lower_bound = {}\n"
        )
    )
    notes, back = tmp_path / "notes.jsonl", made.home / "landing" / "reviewed"
    notes.write_text("".join(json.dumps(record) + "\n" for record in note_records(20, gold=False)))
    back.mkdir(parents=True)
    sample, rest = (
        back / (name if style == "brat" else f"{name}.{style}") for name in ("sample", "rest")
    )

    code, said = say("sample", notes, "--notes", 5, "--out", sample, "--rest", rest, "--to", style)
    assert (code, "5 of 8 notes drawn" in said) == (0, True), said
    assert ("brat does not keep whose notes they are" in said) == (style == "brat")
    annotate(sample, style, note_records(20))
    (batch,) = set(take_in(made.settings(), settle_s=0)) - {made.batch}

    assert made.failures(made.run(batch, *CHAIN, "released_corpus")) == {}
    manifest = json.loads((made.home / "released" / batch / "manifest.json").read_text())
    assert (
        manifest["measured"],
        manifest["measurement"]["annotated_notes"],
        manifest["counts"]["notes"],
    ) == (
        True,
        5,
        8,
    )


def test_with_approval_the_main_job_ends_at_the_page_and_nothing_leaves_unapproved(to_approve):
    made = to_approve

    main = made.definitions().resolve_job_def("main_job").asset_layer.executable_asset_keys
    assert {"released_corpus", "release_diff", "release_approval"}.isdisjoint(
        key.to_user_string() for key in main
    )
    for words in (["list"], ["show", made.batch]):
        assert "nobody approved the page on it yet" in " ".join(say("batches", *words)[1].split())
    states, lines, step = lines_on(made)
    assert states == [BatchState.WAITING]
    assert lines == [
        (
            f"batch {made.batch} was not released yet, since not approved:"
            f" read {page_of(made)} and run `deid approve` with it"
        )
    ]
    assert "deid approve" in step
    assert made.run(made.batch, "released_corpus", job="approve_release").success
    assert "nobody approved the present page" in " ".join(waits(made))
    assert not (made.home / "released").exists()


def test_a_page_that_was_read_and_approved_from_the_shell_lets_the_batch_leave(to_approve):
    made = to_approve

    code, said = say("approve", page_of(made), "--by", "a.meier@ward.example")
    assert code == 0, said
    assert made.failures(made.run(made.batch, "released_corpus", job="approve_release")) == {}
    approval = manifest_of(made)["approval"]
    digest = hashlib.sha256(page_of(made).read_bytes()).hexdigest()
    assert (approval["by"], approval["page"], manifest_of(made)["page"]) == (
        "a.meier@ward.example",
        digest,
        digest,
    )
    assert (
        "approved by a.meier@ward.example (unverified name)"
        in say("verify", made.home / "released" / made.batch)[1]
    )


def test_an_approval_is_void_once_the_batch_has_another_page(to_approve):
    made = to_approve
    assert say("approve", page_of(made), "--by", "a.meier")[0] == 0
    old = page_of(made).read_bytes()

    made.configure((made.root / "deid.toml").read_text() + "residual = 0.5\n")
    assert made.failures(made.run(made.batch, *CHAIN)) == {}
    assert page_of(made).read_bytes() != old

    assert made.run(made.batch, "released_corpus", job="approve_release").success
    assert "nobody approved the present page" in " ".join(waits(made))
    assert not (made.home / "released").exists()
    page_of(made).with_name("old.html").write_bytes(old)
    code, said = say("approve", page_of(made).with_name("old.html"), "--by", "a.meier")
    assert (code, "not the present page on any batch" in said) == (2, True), said


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"by": "a.meier", "page": "0" * 64}, "is not the present one"),
        ({"by": "Anna <b>", "page": ""}, "a user name or an address"),
        ({"by": "a.meier", "page": "", "policy": "tag"}, "policy"),
    ],
)
def test_the_job_takes_a_name_and_the_page_and_nothing_else(to_approve, config, message):
    made = to_approve
    page = hashlib.sha256(page_of(made).read_bytes()).hexdigest()
    job = made.definitions().resolve_job_def("approve_release")

    def run(**config):
        return job.execute_in_process(
            partition_key=made.batch,
            instance=made.instance,
            run_config={
                "ops": {"release_approval": {"config": config}},
                "loggers": {"console": {"config": {"log_level": "CRITICAL"}}},
            },
            raise_on_error=False,
        )

    config = {**config, "page": config["page"] or page}
    try:
        refused = made.failures(run(**config))["release_approval"]
    except dg.DagsterInvalidConfigError as error:
        refused = str(error)
    assert message in refused
    assert made.failures(run(by="a.meier", page=page)) == {}
    assert manifest_of(made)["approval"]["by"] == "a.meier"


def test_a_batch_whose_notes_were_tampered_with_hides_no_advice_on_the_others(unmeasured):
    made = unmeasured(chain=CHAIN[:4])
    assert "not measured" in lines_on(made)[1][0]
    receipt = made.store / "restricted" / "raw_notes" / made.batch / "receipt.json"
    receipt.write_text(receipt.read_text().replace('"notes": 8', '"notes": 9'))
    assert lines_on(made)[1] == []


def test_a_release_that_later_settings_would_keep_is_said_and_its_withdrawal_offered(unmeasured):
    made = unmeasured('release.require = "none"\n')
    assert released(made) == {}
    folder = made.home / "released" / made.batch
    assert "earlier release" not in " ".join(lines_on(made)[1])

    made.configure(made.default_settings.replace('release.require = "none"\n', ""))
    assert made.failures(made.run(made.batch, *CHAIN, "released_corpus")) == {}

    states, lines, _ = lines_on(made)
    assert (states, folder.exists()) == ([BatchState.WAITING], True)
    offered = f"deid batches withdraw {made.batch} --with-release"
    assert any("keeps an earlier release" in line and offered in line for line in lines)
    assert offered in say("batches", "show", made.batch)[1]
    assert say("batches", "withdraw", made.batch, "--with-release")[0] == 0
    assert not folder.exists()
    assert "earlier release" not in " ".join(lines_on(made)[1])


@pytest.fixture(scope="module")
def released_once(installed, tmp_path_factory, note_records):
    """Three batches released without being measured, of which one was withdrawn."""
    with installed(tmp_path_factory.mktemp("released")) as made:
        made.configure(made.default_settings)
        kept = [made.receive(note_records(n, gold=False)) for n in (0, 20, 40)]
        for batch in kept:
            assert made.failures(made.run(batch, *CHAIN, "released_corpus")) == {}
        assert say("batches", "withdraw", kept[2], "--with-release")[0] == 0
    return made, kept


@pytest.fixture
def stricter(released_once, copied, tmp_path):
    """The batches, then settings that would let none of them out."""
    once, kept = released_once
    with copied(once, tmp_path / "copy") as made:

        def make(settings):
            made.configure(settings + without_require(made))
            for batch in kept[:2]:
                assert made.failures(made.run(batch, *CHAIN, "released_corpus")) == {}
            return made, sorted(kept[:2]), kept[2]

        yield make


@pytest.mark.parametrize("settings", ["", 'release.require = "gold"\n', APPROVED])
def test_each_earlier_release_is_marked_and_a_withdrawn_one_is_not(stricter, settings, capsys):
    made, (first, second), withdrawn = stricter(settings)

    out = json.loads(say("batches", "list", "--json")[1])
    assert {row["batch"]: (row["state"], row["earlier_release"]) for row in out} == {
        first: ("waiting", True),
        second: ("waiting", True),
        withdrawn: ("withdrawn", False),
    }
    said = " ".join(say("batches", "list")[1].split())
    offered = f"batch {first} keeps an earlier release, as do 1 more"
    assert offered in said
    assert f"deid batches withdraw {first} --with-release" in said
    assert said.count("earlier release out") == 2
    capsys.readouterr()
    if not settings:  # takes a process for each batch
        assert backfill(["raw_notes"]) == 0
        assert offered in " ".join(capsys.readouterr().out.split())
    assert "2 waiting" in closing(made)
    assert "2 with an earlier release that is still out" in closing(made)

    assert say("batches", "withdraw", first, "--with-release")[0] == 0
    assert f"batch {second} keeps an earlier release, which" in " ".join(lines_on(made)[1])
    assert say("batches", "withdraw", second, "--with-release")[0] == 0
    assert "earlier release" not in say("batches", "list")[1]
    assert list((made.home / "released").glob("b-*")) == []
