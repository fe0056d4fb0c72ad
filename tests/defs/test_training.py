"""Taggers in the graph: trained, exported, gated and used, on small corpora through Dagster."""

import hashlib
import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from io import StringIO

import dagster as dg
import pytest
from rich.console import Console

from deid_assets import plugins
from deid_assets.assets.training import describe_basis, labels_learnt, make_tagger
from deid_assets.config import Gates
from deid_assets.core.detector import detect
from deid_assets.core.errors import ProvenanceError
from deid_assets.core.note import Note
from deid_assets.core.span import DisjointSpans
from deid_assets.core.trainer import Document
from deid_assets.defs.jobs import MAIN_JOB, TAGGERS_TAG, TRAINING_JOB, runs_of_arrivals
from deid_assets.defs.placing import Place
from deid_assets.defs.resources import installation_resource
from deid_assets.defs.runs import Graph
from deid_assets.evaluation.counts import Counts
from deid_assets.quickstart.passes import idle_taggers, make_all
from deid_assets.runtime.snapshot import Snapshot
from deid_assets.store.files import ALL
from deid_assets.training import (
    CARD,
    Corpus,
    Materials,
    Recipe,
    read_card,
    read_corpus,
    train_model,
)
from deid_assets.training.card import write_card
from deid_assets.training.run import make_task, open_model
from deid_assets.training.scoring import TagScores, score_outcomes

pytestmark = pytest.mark.long

CRF = """\
name = "mine"
plugin = "crf"
corpora = ["synthetic:en:40"]
scheme = "bio"
grouping = 1000
[settings]
predictions_of = ""
max_iterations = 40
min_patients = 1
"""
BATCH_CRF = """\
name = "read"
plugin = "batch_crf"
corpora = ["synthetic:en:12"]
raw = ["received"]
[settings]
predictions_of = "stencil"
max_iterations = 15
min_spans = 3
min_owners = 2
least = {NAME = 0.5, DATE = 0.5}
"""
ENCODER = """\
name = "small"
plugin = "transformers"
corpora = ["gold"]
[settings]
encoder = "new"
epochs = 25
batch = 8
learning_rate = 3e-3
patience = 25
window = 64
[settings.new]
layers = 1
hidden = 32
heads = 2
positions = 64
vocabulary = 400
"""


def with_recipe(installation, recipe, *, ensemble, gates=""):
    name = recipe.split('"')[1]
    taggers = {"batch_crf", "crf", "transformers", "onnx"} & plugins.available().keys()
    installation.detectors = ("stencil", "shade", *sorted(taggers))
    path = installation.root / f"{name}.toml"
    path.write_text(recipe)
    settings = installation.default_settings.replace("recipes = []", f'recipes = ["{path}"]')
    installation.configure(
        settings.replace('["stencil"]', json.dumps(ensemble)).replace(
            "[gates]", f"[gates]\nnear_duplicates = 1.0\n{gates}"
        )
    )


def many(note_records, count):
    """Return notes by the eight, each eight with other names; their stories repeat."""
    return [record for first in range(0, count, 8) for record in note_records(first)]


@pytest.fixture
def needs():
    def check(*names):
        if (
            missing := set(names)
            - plugins.available(plugins.TRAINERS).keys()
            - plugins.available().keys()
        ):
            pytest.skip(f"not installed: {', '.join(sorted(missing))}")

    return check


def make_everything(installation, known):
    """What ``make run`` does, and what it printed."""
    installation.instance.add_dynamic_partitions("batches", known)
    console = Console(file=StringIO(), width=200)
    outcome = make_all(
        Graph(installation.definitions(), installation.opened(), installation.instance),
        known,
        console,
    )
    assert not outcome.stopped
    return outcome.faults, console.file.getvalue()


def test_a_tagger_in_shadow_is_not_trained_before_notes_with_gold_arrive(
    installation, note_record, note_records, needs
):
    needs("crf")
    with_recipe(installation, CRF, ensemble=["stencil"], gates="recall = {}\ntagger_f1 = 0.0")
    story = "Chest pain since noon, relieved by rest."
    plain = note_record(1, story, person="Zedmarlow", record=4_000_001, gold=False)
    first = installation.receive([plain], name="plain.jsonl")

    faults, said = make_everything(installation, [first])

    files = installation.opened().files
    assert "Not trained: mine." in said
    assert faults == []
    assert files.find("tagger_mine", ALL) is None
    assert files.find("training_corpus", ALL) is None
    assert files.find("spans_mine", first) is None
    assert files.find("released_corpus", first) is not None
    assert "made" not in make_everything(installation, [first])[1]

    second = installation.receive(note_records(20), name="annotated.jsonl")
    faults, said = make_everything(installation, [first, second])

    assert "Not trained" not in said
    assert faults == []
    assert files.find("tagger_mine", ALL) is not None
    assert {*files.batches("spans_mine")} == {first, second}
    assert files.find("scorecard_mine", ALL) is not None


def test_a_tagger_of_the_ensemble_is_trained_for_notes_without_gold(
    installation, note_record, needs
):
    needs("crf")
    with_recipe(installation, CRF, ensemble=["stencil", "mine"])
    installation.receive(
        [note_record(1, "Fell on ice.", person="Zedquill", record=4_000_001, gold=False)]
    )

    assert idle_taggers(installation.opened()) == []


def test_a_recipe_trains_a_tagger_that_detects_under_its_name(installation, note_records, needs):
    needs("crf")
    with_recipe(
        installation, CRF, ensemble=["stencil", "mine"], gates="recall = {}\ntagger_f1 = 0.4"
    )
    batch = installation.receive(many(note_records, 16))
    trained = installation.run(None, job="train_taggers")
    assert trained.success, installation.failures(trained)
    done = installation.run(batch)
    assert done.success, installation.failures(done)

    opened = installation.opened()
    receipt = opened.files.receipt("tagger_mine", ALL)
    assert receipt.verdicts["learnt"]["passed"]
    assert (
        receipt.verdicts["learnt"]["counts"]["patients"]
        <= receipt.verdicts["learnt"]["counts"]["notes"]
    )
    assert opened.files.receipt("spans_mine", batch).inputs["tagger_mine@all"] == receipt.digest
    assert set(opened.files.read("spans_mine", batch, "spans").column("source").to_pylist()) == {
        "mine"
    }
    opened.files.verify_chain("released_corpus", batch)
    manifest = json.loads((opened.settings.released / batch / "manifest.json").read_text())
    assert set(manifest["ensemble"]) == {"stencil", "mine"}


def test_who_would_train_the_same_tagger_meanwhile_waits_and_takes_it(
    installation, note_records, needs
):
    """Of three first runs at once two ended with a file that another had moved away."""
    needs("crf")
    with_recipe(installation, CRF, ensemble=["stencil"], gates="recall = {}\ntagger_f1 = 0.4")
    installation.receive(many(note_records, 16))
    assert installation.run(None, "training_corpus", job="train_taggers").success
    opened = installation.opened()
    recipe = opened.taggers.recipes["mine"]

    with ThreadPoolExecutor(3) as pool:
        made = list(
            pool.map(lambda _: make_tagger("all", installation.opened(), recipe=recipe), range(3))
        )

    first, *others = made
    assert all(one.tables["files"].equals(first.tables["files"]) for one in others)


def test_a_batch_crf_learns_from_what_arrived_and_anew_when_more_arrives(
    installation, note_records, needs
):
    needs("batch_crf")
    with_recipe(
        installation,
        BATCH_CRF,
        ensemble=["stencil"],
        gates="recall = {}\ntagger_f1 = 0\ntagger_label_f1 = 0",
    )
    records = many(note_records, 24)
    first = installation.receive(records[:16])
    refused = installation.run(None, job="train_taggers")
    assert "no note has arrived to learn from" in str(installation.failures(refused))
    installation.run(first)
    learnt = []
    for arrived in ([], records[16:]):
        if arrived:
            installation.run(installation.receive(arrived, name="more.jsonl"))
        trained = installation.run(None, job="train_taggers")
        assert trained.success, installation.failures(trained)
        files = installation.opened().files
        learnt.append(files.receipt("tagger_read", ALL).digest)
        done = installation.run(first, "spans_read")
        assert done.success, installation.failures(done)
        assert files.receipt("spans_read", first).inputs["tagger_read@all"] == learnt[-1]
        assert files.receipt("training_corpus", ALL).inputs[f"raw_notes@{first}"]
    assert learnt[0] != learnt[1]


def blinded(folder):
    """Zero a model's weights and make its card fit: what someone without the key can do."""
    from safetensors.numpy import load_file, save_file

    weights = folder / "weights.safetensors"
    save_file(
        {name: values * (values.dtype.kind != "f") for name, values in load_file(weights).items()},
        weights,
    )
    card = json.loads((folder / CARD).read_text())
    card["files"]["weights.safetensors"] = hashlib.sha256(weights.read_bytes()).hexdigest()
    (folder / CARD).write_text(json.dumps(card))


def test_a_model_that_was_made_blind_is_never_signed(installation, needs):
    needs("crf")
    from safetensors.numpy import load_file

    with_recipe(installation, CRF, ensemble=["stencil", "mine"], gates="tagger_f1 = 0.4")
    assert installation.run(None, job="train_taggers").success
    first = installation.opened().files.receipt("tagger_mine", ALL)
    blinded(installation.home / "training" / "mine")
    (installation.store / "restricted" / "tagger_mine" / ALL / "receipt.json").unlink()
    assert installation.run(None, job="train_taggers").success
    opened = installation.opened()
    again = opened.files.receipt("tagger_mine", ALL)

    assert min(first.counts["dev_f1"], again.counts["dev_f1"]) > 0.4
    model = opened.taggers.unpack("tagger_mine")
    assert any(
        v.any() for v in load_file(model / "weights.safetensors").values() if v.dtype.kind == "f"
    )
    folders = [
        installation.home / "training",
        *(installation.home / "training").rglob("*"),
        *model.rglob("*"),
    ]
    assert [path for path in folders if path.stat().st_mode & 0o077] == []


def made_blind_to_names(installation, folder):
    """Put a model trained without names into the folder, under a card that fits and tells its true
    scores: no key needed.
    """
    card = read_card(folder)
    recipe = Recipe.model_validate(card.recipe)
    corpus = read_corpus("synthetic:en:40")
    nameless = [
        Document(
            one.note,
            DisjointSpans.of(one.note, [span for span in one.spans if span.label.value != "NAME"]),
        )
        for one in corpus.documents
    ]
    other = train_model(
        recipe, Materials(corpora=[Corpus(corpus.name, tuple(nameless))]), folder.with_name("blind")
    )
    dev = make_task(recipe, Materials(corpora=[corpus]), plugins.load_trainer("crf")).dev
    blind = folder.with_name("blind")
    outcomes = detect(open_model(recipe, blind), [one.note for one in dev])
    scored = score_outcomes(outcomes, dev, native=recipe.native)
    fits = {
        "fingerprint": card.fingerprint,
        "corpora": card.corpora,
        "dev": {**card.dev, "labels": scored.to_json()["labels"]},
    }
    write_card(blind, other.model_copy(update=fits))
    shutil.rmtree(folder)
    blind.rename(folder)
    return scored


def test_a_folder_without_the_seal_of_the_key_is_trained_again(installation, needs):
    needs("crf")
    with_recipe(installation, CRF, ensemble=["stencil", "mine"], gates="tagger_f1 = 0.2")
    assert installation.run(None, job="train_taggers").success
    folder = installation.home / "training" / "mine"
    scored = made_blind_to_names(installation, folder)
    assert scored.micro.f1 > 0.3  # over the floor as a whole
    (installation.store / "restricted" / "tagger_mine" / ALL / "receipt.json").unlink()
    assert installation.run(None, job="train_taggers").success

    model = installation.opened().taggers.unpack("tagger_mine")
    assert read_card(model).dev["labels"]["NAME"]["f1"] > 0.3
    receipt = installation.opened().files.receipt("tagger_mine", ALL)
    assert receipt.verdicts["labels_learnt"]["passed"]


@pytest.mark.parametrize(
    ("gates", "passed"),
    [
        ({}, False),
        ({"tagger_label_f1": 0.0}, True),
        ({"tagger_labels": {"NAME": 0.0}}, True),
        ({"tagger_label_spans": 31}, True),
        ({"tagger_labels": {"CITY": 0.1, "NAME": 0.0}}, False),
        ({"tagger_labels": {"PHONE": 0.1, "NAME": 0.0}}, False),
        ({"tagger_labels": {"NAME": 0.1}, "tagger_label_spans": 31}, False),
        ({"tagger_labels": {"DATE": 0.99, "NAME": 0.0}}, False),
        ({"tagger_labels": {"PHONE": 0.0, "NAME": 0.0}}, True),
        ({"tagger_labels": {"of another recipe": 0.9, "NAME": 0.0}}, True),
    ],
)
def test_a_tagger_that_is_blind_to_one_label_is_not_stored(gates, passed):
    counts = {"NAME": Counts(tp=0, fn=30), "DATE": Counts(tp=90, fp=5, fn=5), "CITY": Counts(fn=5)}
    known = frozenset({*counts, "PHONE"})
    verdict = labels_learnt(TagScores(counts, []), Gates(**gates), known=known)
    assert (verdict.failed, verdict.blocking) == (not passed, True)
    assert (verdict.counts["below"] == 0) is passed
    if not gates:
        assert verdict.counts == {"labels": 2, "below": 1, "f1_NAME": 0.0, "floor_NAME": 0.1}


def test_a_score_on_few_patients_says_how_little_it_rests_on():
    def notes_of(patients):
        notes = [Note(f"n{n}", "Seen.", f"p{n % patients}", "en") for n in range(2 * patients)]
        return [Document(note, DisjointSpans.of(note, ())) for note in notes]

    assert "on 2 development notes of 1 patients: fewer than 10" in describe_basis(notes_of(1))
    assert describe_basis(notes_of(10)).endswith("on 20 development notes of 10 patients.")


def test_a_tagger_that_was_never_trained_stops_the_batch(installation, note_records, needs):
    needs("crf")
    with_recipe(installation, CRF, ensemble=["stencil", "mine"])
    batch = installation.receive(note_records(4))
    done = installation.run(batch)
    assert (
        "tagger_mine: never trained; run the job train_taggers"
        in installation.failures(done)["spans_mine"]
    )
    assert installation.opened().files.find("released_corpus", batch) is None
    assert installation.opened().taggers.list_untrained() == ["tagger_mine"]


def test_batches_wait_for_a_tagger_in_shadow_until_its_training_failed(
    installation, note_records, needs
):
    needs("crf")
    with_recipe(installation, CRF, ensemble=["stencil"])
    batch = installation.receive(note_records(4))
    key = hashlib.sha256(b"tagger_mine").hexdigest()[:12]

    def ticked():
        installed = {name: plugins.available()[name] for name in installation.detectors}
        opened = installation_resource(Snapshot.take(installation.settings(), plugins=installed))
        with dg.build_sensor_context(
            instance=installation.instance, resources={"installation": opened}
        ) as context:
            return [
                (request.job_name, request.partition_key)
                for request in runs_of_arrivals(
                    context.instance, context.resources.installation, Place()
                ).run_requests
            ]

    assert ticked() == [(TRAINING_JOB, None)]
    installation.instance.create_run_for_job(
        installation.definitions().resolve_job_def(TRAINING_JOB),
        status=dg.DagsterRunStatus.FAILURE,
        tags={TAGGERS_TAG: key},
    )
    assert ticked() == [(MAIN_JOB, batch)]


def test_a_model_below_the_floor_is_not_stored(installation, needs):
    needs("crf")
    with_recipe(installation, CRF, ensemble=["stencil"], gates="tagger_f1 = 1.0")
    done = installation.run(None, job="train_taggers")
    assert (
        "not stored, because a check failed: check learnt"
        in installation.failures(done)["tagger_mine"]
    )
    assert installation.opened().files.find("tagger_mine", ALL) is None


def test_an_altered_model_is_written_out_again_from_the_store(installation, needs):
    needs("crf")
    with_recipe(installation, CRF, ensemble=["stencil"], gates="tagger_f1 = 0.4")
    assert installation.run(None, job="train_taggers").success
    folder = installation.opened().taggers.unpack("tagger_mine")
    (folder / "tagger.json").write_text("{}")
    again = installation.opened().taggers.unpack("tagger_mine")
    assert json.loads((again / "tagger.json").read_text())["plugin"] == "crf"

    stored = next((installation.store / "restricted" / "tagger_mine" / ALL).glob("files-*.parquet"))
    stored.write_bytes(stored.read_bytes()[:-1] + b"x")
    (folder / "tagger.json").write_text("{}")
    with pytest.raises(ProvenanceError, match="altered"):
        installation.opened().taggers.unpack("tagger_mine")


def test_notes_that_a_tagger_learns_from_are_in_no_score(installation, note_records, needs):
    needs("crf")
    with_recipe(installation, CRF.replace("synthetic:en:40", "gold"), ensemble=["stencil"])
    batch = installation.receive(many(note_records, 24))
    assert installation.run(batch, "raw_notes", "gold_annotations", "spans_stencil").success
    trained = installation.run(None, job="train_taggers")
    assert trained.success, installation.failures(trained)
    assert installation.run(None, "scorecard_stencil", job="nightly_scorecards").success

    files = installation.opened().files
    learnt = files.receipt("training_corpus", ALL).counts["notes"]
    scored = files.receipt("scorecard_stencil", ALL).counts["annotated_notes"]
    assert 0 < learnt < 24
    assert learnt + scored == 24


def test_new_gold_replaces_the_model_in_use_only_if_the_new_one_is_better(
    installation, note_records, needs
):
    needs("crf")
    with_recipe(
        installation,
        CRF.replace("synthetic:en:40", "gold"),
        ensemble=["stencil"],
        gates="tagger_f1 = 0.0",
    )

    def trained_on(*batches):
        for batch in batches:
            assert installation.run(batch, "raw_notes", "gold_annotations").success
        done = installation.run(None, job="train_taggers")
        assert done.success, installation.failures(done)
        return installation.opened().files.receipt("tagger_mine", ALL)

    first = trained_on(installation.receive(many(note_records, 24)))
    assert first.verdicts["promoted"]["counts"] == {}
    assert not first.verdicts["promoted"]["passed"]

    grown = trained_on(
        installation.receive([record for at in range(24, 120, 8) for record in note_records(at)])
    )
    gain = grown.verdicts["promoted"]
    assert gain["passed"] is (gain["counts"]["low"] > 0)
    assert (grown.counts["card"] != first.counts["card"]) is gain["passed"]

    again = trained_on(installation.receive(note_records(120)))
    assert not again.verdicts["promoted"]["passed"]
    assert again.verdicts["promoted"]["counts"]["low"] <= 0
    assert again.counts["card"] == grown.counts["card"]


def test_a_network_runs_as_onnx_once_it_equals_what_was_trained(installation, note_records, needs):
    needs("transformers", "onnx")
    with_recipe(
        installation, ENCODER, ensemble=["stencil", "small"], gates="recall = {}\ntagger_f1 = 0.3"
    )
    batch = installation.receive(many(note_records, 80))
    assert installation.run(batch, "raw_notes", "gold_annotations").success
    trained = installation.run(None, job="train_taggers")
    assert trained.success, installation.failures(trained)
    done = installation.run(batch, "spans_small")
    assert done.success, installation.failures(done)

    files = installation.opened().files
    parity = files.receipt("onnx_small", ALL).verdicts["parity"]
    assert parity["counts"]["differing_spans"] == 0
    assert parity["counts"]["spans"] > 0
    assert (
        files.receipt("spans_small", batch).inputs["onnx_small@all"]
        == files.receipt("onnx_small", ALL).digest
    )


def test_a_tagger_takes_part_in_the_bake_off(installation, note_records, needs):
    needs("crf")
    with_recipe(
        installation, CRF, ensemble=["stencil", "mine"], gates="recall = {}\ntagger_f1 = 0.4"
    )
    batch = installation.receive(many(note_records, 16))
    assert installation.run(None, job="train_taggers").success
    assert installation.run(
        batch, "raw_notes", "gold_annotations", "spans_stencil", "spans_mine"
    ).success
    done = installation.run(None, "bakeoff", job="bakeoff_job")
    assert done.success, installation.failures(done)

    document = json.loads((installation.settings().reports / "bakeoff.json").read_text())
    assert document["detectors"]["mine"]["fault"] == ""
