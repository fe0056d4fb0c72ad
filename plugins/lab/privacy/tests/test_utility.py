"""Tasks keep their spans under every version.

Fine-tuning keeps the best epoch; a grid resumes, pairs folds and is tested.
"""

from __future__ import annotations

import json
import shutil
from types import SimpleNamespace

import pytest
from privacy_shell import main
from sklearn.metrics import f1_score

from deid_assets import deidentify
from deid_assets.core.errors import InputError
from deid_privacy.utility.comparing import STUDENT, Configuration, UtilityRow, directional, rows
from deid_privacy.utility.encoders import epochs_of
from deid_privacy.utility.errors import Errors
from deid_privacy.utility.examples import TaskDocument
from deid_privacy.utility.page import grid_html
from deid_privacy.utility.running import Grid, Plan, best_of, parts
from deid_privacy.utility.scoring import guess_scores, label_scores, span_scores
from deid_privacy.utility.tasks import TASKS, task_data
from deid_privacy.utility.tuning import TuningSettings, tune
from deid_privacy.utility.versions import carry, parse_detectors, version_of

SMALL = {"folds": 2, "documents": 24, "steps": 3, "tuning": TuningSettings(epochs=1)}


@pytest.mark.parametrize("name", TASKS)
def test_a_made_task_has_its_labels_and_spans_that_fit(name):
    data = task_data(name, documents=60, seed=1)
    assert data == task_data(name, documents=60, seed=1)
    assert data.examples[:20] == task_data(name, documents=20, seed=1).examples
    said = {label for one in data.examples for label in one.labels} | {
        label for one in data.examples for *_, label in one.marks
    }
    assert said <= set(data.labels)
    assert len(said) >= min(len(data.labels), 4) - 2 * (name == "adverse_drug_event")
    for one in data.examples:
        for start, end, _ in (*one.marks, *one.identifiers):
            assert one.text[start:end].strip() == one.text[start:end] != ""
    assert len(data.labels) == data.published[1]


def test_unknown_tasks_are_named():
    with pytest.raises(InputError, match="unknown task 'x'; choose of icd10"):
        task_data("x", documents=3, seed=1)


def test_spans_are_carried_into_a_redacted_text():
    text = "Anna Berg has asthma. Call Anna Berg today."
    where = text.index("asthma")
    marks = ((0, 4, "First_Name"), (5, 9, "Last_Name"), (where, where + 6, "Diagnosis"))
    one = TaskDocument("n", text, marks[:2], marks)
    redacted = deidentify(text, lang="en", policy="tag")
    if "Anna" in redacted.text:
        pytest.fail("the detector no longer finds the name; choose another one")
    found = carry(one, redacted)
    assert [(found.text[start:end], label) for start, end, label in found.marks] == [
        ("[NAME]", "First_Name"),
        ("asthma", "Diagnosis"),
    ]


def test_versions_keep_what_is_learnt_and_lose_what_is_cut_out():
    data = task_data("phi_ner", documents=12, seed=1)
    assert version_of(data, "raw", detectors=("rules",)) is data
    surrogate, cut = (
        version_of(data, policy, detectors=("rules",)) for policy in ("surrogate", "drop_sentence")
    )
    count = [sum(len(one.marks) for one in side.examples) for side in (data, surrogate, cut)]
    assert count[0] == count[1] > count[2]
    for one in surrogate.examples:
        assert all(one.text[start:end].strip() for start, end, _ in one.marks)


def test_scores_agree_with_another_library():
    gold = [{"a"}, {"a", "b"}, {"b"}, set(), {"c"}]
    found = [{"a"}, {"b"}, {"a", "b"}, {"c"}, set()]
    table = [[[label in one for label in "abc"] for one in side] for side in (gold, found)]
    scores = label_scores([frozenset(one) for one in gold], [frozenset(one) for one in found])
    assert scores["f1"] == pytest.approx(f1_score(*table, average="weighted", zero_division=0))
    assert scores["macro_f1"] == pytest.approx(f1_score(*table, average="macro", zero_division=0))
    spans = span_scores(["Anna Berg fell."], [[(0, 9, "N")]], [[(0, 4, "N")]])
    assert spans == {"f1": 0.0, "token_f1": pytest.approx(2 / 3)}


@pytest.fixture(scope="module")
def grid(tmp_path_factory):
    plan = Plan(
        models=("general", "adapted:surrogate"),
        versions=("raw",),
        tests=("raw", "surrogate"),
        tasks=("icd10", "clinical_ner"),
        **SMALL,
    )
    made = Grid(plan, tmp_path_factory.mktemp("grid"))
    made.run()
    return made


def test_a_guess_without_text_is_scored_by_what_is_frequent():
    event, codes = (
        task_data(name, documents=200, seed=1) for name in ("adverse_drug_event", "icd10")
    )
    share = sum("not_caused" in one.labels for one in event.examples) / 200
    assert guess_scores(event, event.examples, event.examples)["f1"] == pytest.approx(
        share * 2 * share / (1 + share)
    )
    assert 0.25 < guess_scores(codes, codes.examples, codes.examples)["f1"] < 0.35
    assert guess_scores(task_data("phi_ner", documents=9, seed=1), (), ())["f1"] == 0


def test_a_grid_runs_each_job_once_and_goes_on_after_a_kill(grid):
    results = grid.results()
    assert len(results) == 8
    assert not [one for one in results if "fault" in one]
    assert all(set(one["scores"]) == {"raw", "surrogate"} for one in results)
    assert all(one["seconds"] >= 0 and one["latency_ms"] > 0 for one in results)
    gone = grid.path(grid.plan.jobs[3])
    before = json.loads(gone.read_text("utf-8"))
    gone.unlink()
    said = []
    again = Grid(grid.plan, grid.folder)
    assert [one["scores"] for one in again.run(lambda job, _: said.append(job))] == [
        one["scores"] for one in results
    ]
    assert said == [grid.plan.jobs[3]]
    assert json.loads(gone.read_text("utf-8"))["scores"] == before["scores"]
    with pytest.raises(InputError, match="another run"):
        Grid(
            Plan(models=("general",), versions=("raw",), tests=("raw",), tasks=("icd10",), **SMALL),
            grid.folder,
        ).run()


def test_of_the_epochs_of_a_pre_training_each_task_takes_its_best(grid, tmp_path):
    epochs = tmp_path / "epochs"
    with pytest.raises(InputError, match="no epoch"):
        epochs_of(f"read={epochs}")
    for number, name in enumerate(("general", "adapted-surrogate"), start=1):
        shutil.copytree(grid.folder / "encoders" / name, epochs / f"{number:03d}")
    assert epochs_of("general") == epochs_of(f"read={epochs / '001'}") == []
    plan = Plan(
        models=(f"read={epochs}",),
        versions=("raw",),
        tests=("raw",),
        tasks=("clinical_ner",),
        **SMALL,
    )
    found = Grid(plan, tmp_path / "grid").run()
    assert {one["encoder"] for one in found} <= {"001", "002"}
    worse, better = SimpleNamespace(curve=[0.2, 0.1]), SimpleNamespace(curve=[0.1, 0.3])
    assert best_of([worse, better, SimpleNamespace(curve=[0.3])]) == (better, 1)


def test_detectors_are_named_with_their_models():
    assert parse_detectors(["rules", "crf=models/a=b"]) == (
        ["rules", "crf"],
        {"crf": {"model": "models/a=b"}},
    )


def test_the_interval_of_a_mean_counts_that_folds_share_documents():
    from scipy.stats import t

    assert [f"{t.ppf(0.975, df):.3f}" for df in range(1, 20)] == [f"{one:.3f}" for one in STUDENT]
    setting = Configuration("m", "raw", "raw")
    low, high = UtilityRow.of(setting, [0.5, 0.6, 0.55, 0.65, 0.6]).interval
    naive = t.interval(
        0.95,
        4,
        loc=0.58,
        scale=UtilityRow.of(setting, [0.5, 0.6, 0.55, 0.65, 0.6]).deviation / 5**0.5,
    )
    assert (high - low) / (naive[1] - naive[0]) == pytest.approx((1 + 5 / 4) ** 0.5, rel=1e-3)
    assert UtilityRow.of(setting, [0.5]).interval is None
    assert UtilityRow.of(setting, [1.0] * 10).interval == (0.7, 1.0)


@pytest.mark.parametrize(
    "name",
    [
        "adverse_drug_event",
        *(pytest.param(one, marks=pytest.mark.slow) for one in ("clinical_ner", "icd10")),
    ],
)
def test_fine_tuning_learns_fifty_documents_and_restores_the_best_epoch(grid, name):
    data = task_data(name, documents=50, seed=2)
    encoder = grid.folder / "encoders" / "general"
    settings = TuningSettings(epochs=14, patience=14, learning_rate=4e-3)
    tuned = tune(data, data.examples, data.examples[:20], encoder=encoder, tuning=settings, seed=1)
    assert max(tuned.curve) > 0.75
    assert (
        tuned.score(data.examples[:20])["f1"]
        == tuned.curve[tuned.best_epoch - 1]
        == max(tuned.curve)
    )
    hasty = tune(
        data,
        data.examples,
        data.examples[:20],
        encoder=encoder,
        tuning=TuningSettings(epochs=30, patience=1),
        seed=1,
    )
    assert len(hasty.curve) < 30


def test_folds_are_disjoint_and_the_same_for_every_model(grid):
    names = [f"n{number}" for number in range(23)]
    plan = Plan(models=("general",), versions=("raw",), tests=("raw",), tasks=("icd10",), folds=5)
    split = [parts(names, fold, plan) for fold in range(5)]
    assert sorted(name for _, _, test in split for name in test) == sorted(names)
    for each in split:
        assert sorted(name for part in each for name in part) == sorted(names)
    with pytest.raises(InputError, match="take 10 or more"):
        parts(names[:9], 0, plan)


def test_a_job_that_fails_says_why_and_the_others_go_on(tmp_path, grid):
    missing = tmp_path / "none"
    encoder = grid.folder / "encoders" / "general"
    plan = Plan(
        models=(f"a={missing}", f"b={encoder}"),
        versions=("raw",),
        tests=("raw",),
        tasks=("icd10",),
        **SMALL,
    )
    results = Grid(plan, tmp_path / "out").run()
    assert ["fault" in one for one in results] == [True, False, True, False]
    assert "does not load" in results[0]["fault"]
    page = grid_html(results, plan, title="Half", watts=None, provenance={})
    assert "Runs that failed" in page
    assert "not measured" in page


def test_differences_and_tests_are_those_of_the_published_formulas(grid):
    first, second = (Configuration(model, "raw", "raw") for model in "ab")
    low, high = (
        [0.1 + number / 1_000 for number in range(10)],
        [0.2 + number / 1_000 for number in range(10)],
    )
    results = [
        {"task": "t", "model": setting.model, "version": "raw", "scores": {"raw": {"f1": value}}}
        for setting, values in ((first, low), (second, high))
        for value in values
    ]
    found = {(one.weaker, one.stronger): one for one in directional(rows(results))}
    assert found[first, second].u == 0
    assert found[first, second].p < 0.001 < found[second, first].p
    assert found[first, second].corrected == pytest.approx(2 * found[first, second].p)
    a, b = UtilityRow(first, (), 0.309, 0.060), UtilityRow(second, (), 0.931, 0.012)
    assert b.minus(a) == (pytest.approx(0.622), pytest.approx(0.061, abs=5e-4))
    page = grid_html(grid.results(), grid.plan, title="Tiny", watts=10, provenance={})
    assert "8 of 8" in page
    assert "Wh" in page
    with pytest.raises(InputError, match="no job"):
        rows([])


@pytest.mark.parametrize(("shape", "count"), [((2, 3, 5), 300), ((9, 1, 6), 540)])
def test_a_dry_run_lists_the_published_numbers_of_runs(capsys, tmp_path, shape, count):
    models, versions, tasks = shape
    argv = ["grid", str(tmp_path / "out"), "--dry-run"]
    given = {
        "model": [f"m{number}=x" for number in range(models)],
        "version": ["raw", "surrogate", "tag"][:versions],
    }
    for name, values in (given | {"task": TASKS[:tasks]}).items():
        argv += [word for value in values for word in (f"--{name}", value)]
    assert main(argv) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(set(lines)) == count
    assert not (tmp_path / "out").exists()


def test_errors_are_put_in_at_their_rates_and_grow_monotonely():
    data = task_data("phi_ner", documents=200, seed=1)
    left = [
        Errors.of(f"tag@{recall}").count_left(data.examples)[0] for recall in (1, 0.95, 0.9, 0.5, 0)
    ]
    assert left[0] == 0
    assert left == sorted(left)
    assert left[-1] == sum(len(one.identifiers) for one in data.examples)
    half = version_of(data, "tag@0.5/0.5", detectors=())
    texts = [one.text for one in half.examples]
    kept = sum(
        one.text[start:end] in text
        for one, text in zip(data.examples, texts, strict=True)
        for start, end, _ in one.identifiers
    )
    every = left[-1]
    assert 0.4 < kept / every < 0.6
    tags = sum(text.count("[") for text in texts)
    assert 0.8 < tags / every < 1.2  # half of the identifiers, and as many other words
    assert Errors.of("tag") is None
    with pytest.raises(InputError, match="precision 0"):
        Errors.of("tag@0.5/0")


def test_the_page_of_a_sweep_shows_what_is_left(tmp_path, grid):
    plan = Plan(
        models=(f"b={grid.folder / 'encoders' / 'general'}",),
        versions=("tag@1", "tag@0.5", "tag@1/0.5"),
        tests=("raw",),
        tasks=("clinical_ner",),
        **SMALL,
    )
    results = Grid(plan, tmp_path / "sweep").run()
    page = grid_html(results, plan, title="Sweep", watts=None, provenance={})
    assert "What is left, and what is learnt" in page
    assert "0 of" in page


@pytest.mark.parametrize(
    ("given", "weights", "positions", "rate", "length"),
    [
        (TuningSettings(), 7_000_000, 512, 2e-3, 64),
        (TuningSettings(), 110_000_000, 512, 5e-5, 512),
        (TuningSettings(), 110_000_000, 128, 5e-5, 128),
        (TuningSettings(learning_rate=1e-4, length=256), 110_000_000, 512, 1e-4, 256),
        (TuningSettings(learning_rate=1e-4, length=256), 7_000_000, 128, 1e-4, 128),
    ],
)
def test_rate_and_length_fit_the_size_of_an_encoder_unless_they_are_given(
    given, weights, positions, rate, length
):
    assert (given.rate_for(weights), given.length_for(weights, positions=positions)) == (
        rate,
        length,
    )


def test_a_document_is_read_to_the_length_given_and_no_further_than_the_encoder_has_positions(
    grid,
):
    data = task_data("clinical_ner", documents=24, seed=1)
    encoder = grid.folder / "encoders" / "general"
    said = [
        tune(
            data,
            data.examples[:4],
            (),
            encoder=encoder,
            tuning=TuningSettings(epochs=1, length=length),
            seed=1,
        ).length
        for length in (8, 100_000)
    ]
    assert said[0] == 8
    assert 8 < said[1] < 100_000
