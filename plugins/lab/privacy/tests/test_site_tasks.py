"""An encoder that is submitted to a task learns from some folds by this code, and is asked of
another.
"""

from __future__ import annotations

import json

import pytest

from deid_assets.core.errors import InputError
from deid_privacy.site_tasks import check_task, evaluate_task
from deid_privacy.utility.examples import TaskData, TaskDocument
from deid_privacy.utility.jobs import split
from deid_privacy.utility.task_files import read_task, write_task
from deid_privacy.utility.tasks import task_data


@pytest.fixture(scope="module")
def triage():
    """Thirty documents of two labels that their first word tells, in three folds."""
    made = (
        TaskDocument(
            f"d{number}",
            f"{('Stays', 'Leaves')[number % 2]} today.",
            labels=frozenset({("in", "out")[number % 2]}),
        )
        for number in range(30)
    )
    return TaskData("triage", "classes", ("in", "out"), tuple(made))


def test_an_encoder_is_fine_tuned_by_this_code_and_a_rounded_mean_leaves(triage, masked_folder):
    scores = evaluate_task(masked_folder, triage, folds=3, seconds=300)
    assert scores["f1"] > scores["guess"] + 0.2
    assert set(scores) == {"kind", "documents", "folds", "f1", "guess"}
    assert round(scores["f1"] * 20, 6) == round(scores["f1"] * 20)


def test_what_is_no_encoder_is_refused_in_one_line(triage, tmp_path):
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(InputError) as caught:
        evaluate_task(tmp_path, triage, folds=3, seconds=120)
    assert "Visit" not in str(caught.value)
    (tmp_path / "modeling.py").write_text("import os")
    with pytest.raises(InputError, match="a file that is none of"):
        evaluate_task(tmp_path, triage, folds=3)


def test_scores_of_few_are_not_given(triage):
    with pytest.raises(InputError, match="a fold of it has 3 documents; scores of fewer than 10"):
        check_task(triage, 10)


@pytest.mark.parametrize("name", ["icd10", "adverse_drug_event", "phi_ner"])
def test_a_task_comes_back_from_its_file(tmp_path, name):
    data = task_data(name, documents=12, seed=3)
    path = tmp_path / f"{name}.jsonl"
    write_task(data, path)
    back = task_data(str(path), documents=1, seed=9)
    assert (back.name, back.kind, back.examples) == (data.name, data.kind, data.examples)
    assert set(back.labels) <= set(data.labels)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "line 2: no object"),
        ('{"id": "b", "text": "Anna"}', "line 2: no object"),
        (
            '{"id": "b", "text": "Anna", "spans": [{"start": 0, "end": 9, "label": "A"}]}',
            "line 2: no object",
        ),
        ('{"id": "b", "text": "Anna", "label": "x"}', "line 2: another kind of label"),
        ('{"id": "a", "text": "Anna", "spans": []}', "line 2: another kind of label, or an id"),
    ],
)
def test_a_wrong_line_of_a_file_is_told_by_its_number(tmp_path, line, said):
    path = tmp_path / "own.jsonl"
    path.write_text(
        '{"id": "a", "text": "Anna", "spans": [{"start": 0, "end": 4, "label": "A"}]}\n'
        + line
        + "\n"
    )
    with pytest.raises(InputError, match=said) as caught:
        read_task(path)
    assert "Anna" not in str(caught.value)


def test_folds_share_no_document():
    names = [f"d{number}" for number in range(25)]
    inside = [split(names, fold, folds=5, seed=1)[1] for fold in range(5)]
    assert sorted(name for part in inside for name in part) == sorted(names)
    assert all(
        not set(part) & set(split(names, fold, folds=5, seed=1)[0])
        for fold, part in enumerate(inside)
    )
    assert json.dumps(inside) == json.dumps(
        [split(names, fold, folds=5, seed=1)[1] for fold in range(5)]
    )
