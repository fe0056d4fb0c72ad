"""Training and use on a small corpus, and what is refused."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from deid_assets.core.errors import ConfigError, InputError, PluginError, TrainingError
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.tagging import TagScheme, entities, tokenize
from deid_assets.core.trainer import Task, Trainer, label_inventory
from deid_assets.testing import check_detector, mark, parse_marked
from deid_crf import CrfDetector, CrfTrainer
from deid_crf.trainer import KEPT_EVERY

FILES = ("attributes.txt", "statistics.json", "tagger.json", "weights.safetensors")


@pytest.mark.parametrize("scheme", list(TagScheme))
@pytest.mark.parametrize("grouping", [1, 100])
def test_a_small_corpus_is_learnt_by_heart(
    toy: SimpleNamespace, tmp_path: Path, scheme: TagScheme, grouping: int
) -> None:
    toy.trained(tmp_path, toy.task(scheme=scheme, grouping=grouping))
    notes = [document.note for document in toy.documents()]

    found = list(CrfDetector(model=tmp_path).detect(notes))

    assert [mark(note, spans) for note, spans in zip(notes, found, strict=True)] == [
        mark(document.note, document.spans) for document in toy.documents()
    ]


def test_a_new_letter_of_the_same_kind_is_read(toy_model: Path) -> None:
    text = (
        "Patient: <NAME>Zoe Quill</NAME>\nDate: <DATE>17 May 2016</DATE>\nLives in"
        " <CITY>Marbury</CITY>.\n"
    )
    note, _ = parse_marked(text)

    (found,) = CrfDetector(model=toy_model).detect([note])

    assert mark(note, found) == text


def test_the_contract_of_detectors_holds(toy_model: Path) -> None:
    check_detector(CrfDetector(model=toy_model))


def test_threads_may_share_a_detector(toy: SimpleNamespace, toy_model: Path) -> None:
    texts = [
        document.note.text * (1 + number % 5) for number, document in enumerate(toy.documents() * 6)
    ]
    groups = [
        [Note(f"{n}", f"{text}\n{n} Word{n}") for n, text in enumerate(texts[at:])]
        for at in range(8)
    ]
    alone = [
        [found.spans for found in CrfDetector(model=toy_model).detect(group)] for group in groups
    ]
    shared, interval = CrfDetector(model=toy_model), sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as threads:
            at_once = list(
                threads.map(lambda group: [found.spans for found in shared.detect(group)], groups)
            )
    finally:
        sys.setswitchinterval(interval)

    assert at_once == alone


def test_spans_carry_the_name_of_the_recipe_and_the_label_of_the_corpus(
    toy: SimpleNamespace, tmp_path: Path
) -> None:
    toy.trained(tmp_path, native_task(toy))

    detector = CrfDetector(model=tmp_path, name="letters")
    (found,) = detector.detect([toy.documents()[0].note])

    assert {span.source for span in found} == {detector.name} == {"letters"}
    assert {span.native_label for span in found} == {"PERSON", ""}


def native_task(toy: SimpleNamespace) -> Task:
    found = [
        replace(
            document,
            spans=replace(
                document.spans,
                spans=tuple(
                    replace(span, native_label="PERSON") if span.label is Phi.NAME else span
                    for span in document.spans
                ),
            ),
        )
        for document in toy.documents()
    ]
    return toy.task(found, native=True, labels=label_inventory(found, native=True))


def test_scores_are_the_probabilities_of_spans(toy_model: Path) -> None:
    detector = CrfDetector(model=toy_model)
    note, _ = parse_marked("Seen by Dr Orla Marsh since May, who lives in Norwell or Holt.")
    (found,) = detector.detect([note])

    assert len(found) > 0
    assert all(0 < span.score < 1 for span in found)
    least = max(span.score for span in found)
    (kept,) = CrfDetector(model=toy_model, min_score=least).detect([note])
    assert [span.score for span in kept] == [least]


def test_a_model_says_from_which_score_on_spans_are_returned(
    toy: SimpleNamespace, tmp_path: Path
) -> None:
    toy.trained(tmp_path, toy.task(settings={**toy.settings, "min_score": 1.0}))
    note, _ = parse_marked("Seen by Dr Orla Marsh since May, who lives in Norwell or Holt.")

    (sure,) = CrfDetector(model=tmp_path).detect([note])
    (every,) = CrfDetector(model=tmp_path, min_score=0.0).detect([note])

    assert len(sure) == 0 < len(every)
    with pytest.raises(ConfigError, match=r"min_score is 1\.5; choose a number from 0 to 1"):
        CrfDetector(model=tmp_path, min_score=1.5)


def test_categories_can_be_restricted(toy: SimpleNamespace, toy_model: Path) -> None:
    detector = CrfDetector(model=toy_model, labels=["DATE"])
    found = list(detector.detect([document.note for document in toy.documents()]))

    assert {span.label for spans in found for span in spans} == detector.labels
    with pytest.raises(ConfigError, match="does not find MRN; choose of CITY, DATE, NAME"):
        CrfDetector(model=toy_model, labels=["MRN"])


def test_marginals_have_a_row_per_token_and_agree_with_the_spans(
    toy: SimpleNamespace, toy_model: Path
) -> None:
    detector = CrfDetector(model=toy_model)
    notes = [
        toy.documents()[0].note,
        Note("empty", ""),
        Note("blank", " "),
        toy.documents()[3].note,
    ]

    for note, given, spans in zip(
        notes, detector.marginals(notes), detector.detect(notes), strict=True
    ):
        assert given.probabilities.shape == (len(given.tokens), len(given.tags))
        assert given.probabilities.sum(axis=1) == pytest.approx(1.0)
        likely = (
            [given.tags[tag] for tag in given.probabilities.argmax(axis=1)]
            if note.text.strip()
            else []
        )
        places = [
            (given.tokens[a][0], given.tokens[z][1]) for a, z, _ in entities(likely, given.tokens)
        ]
        assert places == [(span.start, span.end) for span in spans]


def test_the_same_task_gives_the_same_bytes(
    toy: SimpleNamespace, toy_model: Path, tmp_path: Path
) -> None:
    toy.trained(tmp_path)

    assert {path.name for path in tmp_path.iterdir()} == set(FILES)
    assert all((tmp_path / name).read_bytes() == (toy_model / name).read_bytes() for name in FILES)


def test_the_curve_is_reported_and_falls(toy: SimpleNamespace, tmp_path: Path) -> None:
    curve = toy.trained(tmp_path)

    assert [point.epoch for point in curve] == list(range(1, len(curve) + 1))
    assert curve[-1].loss < curve[0].loss / 2


def test_all_phases_are_learnt(toy: SimpleNamespace, tmp_path: Path) -> None:
    first, second = toy.documents()[:3], toy.documents()[3:]
    toy.trained(tmp_path / "together")
    toy.trained(tmp_path / "apart", toy.task(phases=[first, second]))

    assert (tmp_path / "apart" / FILES[3]).read_bytes() == (
        tmp_path / "together" / FILES[3]
    ).read_bytes()


def test_a_model_keeps_no_word_of_a_single_patient(toy: SimpleNamespace, tmp_path: Path) -> None:
    toy.trained(tmp_path, toy.task(settings={**toy.settings, "min_patients": 2}))

    kept = "".join((tmp_path / name).read_text() for name in FILES[:3]).lower()
    for name in ("moss", "finch", "larkham", "thorne", "norwell"):
        assert name not in kept
    assert "patient" in kept


def test_one_label_is_enough(toy: SimpleNamespace, tmp_path: Path) -> None:
    found = [
        replace(
            each,
            spans=replace(
                each.spans, spans=tuple(span for span in each.spans if span.label is Phi.DATE)
            ),
        )
        for each in toy.documents()
    ]
    toy.trained(tmp_path, toy.task(found, labels=label_inventory(found, native=False)))

    detector = CrfDetector(model=tmp_path)
    assert detector.labels == {Phi.DATE}
    assert [len(spans) for spans in detector.detect([each.note for each in found])] == [
        len(each.spans) for each in found
    ]


def test_without_a_span_there_is_nothing_to_train(toy: SimpleNamespace, tmp_path: Path) -> None:
    note, _ = parse_marked("No cough.")
    bare = [
        type(toy.documents()[0])(note, type(toy.documents()[0].spans)(note.note_id, note.digest))
    ]

    with pytest.raises(
        TrainingError, match="none of 1 training notes has a span on a word; give annotated notes"
    ):
        toy.trained(tmp_path, toy.task(labels={}, phases=[bare]))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"c3": 1}, "unknown c3; choose of c1, c2"),
        ({"c1": -1.0}, "c1 is -1.0; choose 0.0 to inf"),
        ({"c1": "much"}, "c1 must be of type float"),
        ({"c1": float("nan")}, "c1 must be a finite number"),
        ({"max_iterations": True}, "max_iterations must be of type int"),
        ({"max_iterations": 0}, "max_iterations is 0; choose 1 to 10000"),
        ({"window": 9}, "window is 9; choose 0 to 8"),
        ({"keep_empty": 1.5}, "keep_empty is 1.5; choose 0.0 to 1"),
        ({"gazetteers": "list.gaz"}, "gazetteers must be a list of texts"),
        (
            {"gazetteers": ["no.gaz"]},
            "no compiled list at no.gaz; make it with deid gazetteer build",
        ),
    ],
)
def test_wrong_settings_are_named(given: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        CrfTrainer().settings(given)


def test_settings_are_completed_and_survive_json(toy: SimpleNamespace) -> None:
    complete = CrfTrainer().settings({"c1": 1})

    assert complete["c1"] == 1.0
    assert CrfTrainer().settings(json.loads(json.dumps(complete))) == complete
    assert isinstance(CrfTrainer(), Trainer)


def test_an_prediction_that_is_not_installed_is_one_clear_line(
    toy: SimpleNamespace, toy_model: Path, tmp_path: Path
) -> None:
    with pytest.raises(
        PluginError,
        match=(
            r"asks 'oracle' for its predictions: unknown detector 'oracle'.*predictions_of = \"\""
        ),
    ):
        toy.trained(tmp_path, toy.task(settings={**toy.settings, "predictions_of": "oracle"}))

    model = altered(toy_model, tmp_path / "model", predictions_of="oracle")
    with pytest.raises(PluginError, match="asks 'oracle' for its predictions"):
        CrfDetector(model=model)


def altered(model: Path, to: Path, **changes: object) -> Path:
    shutil.copytree(model, to)
    about = json.loads((to / "tagger.json").read_text())
    (to / "tagger.json").write_text(json.dumps({**about, **changes}))
    return to


def test_a_model_of_an_earlier_version_is_read(
    toy: SimpleNamespace, toy_model: Path, tmp_path: Path
) -> None:
    """The field ``predictions_of`` was called ``opinion``; all else is as it was."""
    model = altered(toy_model, tmp_path / "model")
    about = json.loads((model / "tagger.json").read_text())

    def stored(detector: str) -> None:
        kept = {key: value for key, value in about.items() if key != "predictions_of"}
        (model / "tagger.json").write_text(json.dumps({**kept, "opinion": detector}))

    stored(about["predictions_of"])
    notes = [document.note for document in toy.task().phases[0]]
    assert list(CrfDetector(model=model).detect(notes)) == list(
        CrfDetector(model=toy_model).detect(notes)
    )
    stored("oracle")
    with pytest.raises(PluginError, match="asks 'oracle' for its predictions"):
        CrfDetector(model=model)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("content", [None, b"", b"{}", b"\x80\x04]", b"\xff\xfe"])
def test_a_broken_model_is_refused(
    toy_model: Path, tmp_path: Path, name: str, content: bytes | None
) -> None:
    model = altered(toy_model, tmp_path / "model")
    (model / name).unlink()
    if content is not None:
        (model / name).write_bytes(content)
    if (name, content) == ("statistics.json", b"{}"):
        pytest.skip("a model without statistics is a model")

    with pytest.raises(
        ConfigError, match=r"model .*(broken|incomplete|does not fit|no tagger\.json)"
    ):
        CrfDetector(model=model)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"labels": {"NAME": "NAME", "DATE": "DATE"}},
            "no category for label CITY; add it to labels in tagger.json",
        ),
        ({"labels": {"NAME": "NOM", "DATE": "DATE", "CITY": "CITY"}}, "broken or incomplete"),
        ({"plugin": "flair"}, "made by plugin 'flair', format 1"),
        ({"format": 2}, "format 2; this is crf, format 1"),
        ({"tags": ["O", "B-NAME"]}, "does not fit"),
        ({"scheme": "bilou"}, "broken or incomplete"),
    ],
)
def test_a_model_that_contradicts_itself_is_refused(
    toy_model: Path, tmp_path: Path, changes: dict[str, object], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        CrfDetector(model=altered(toy_model, tmp_path / "model", **changes))


def test_a_folder_with_pickles_is_refused(toy_model: Path, tmp_path: Path) -> None:
    model = altered(toy_model, tmp_path / "model")
    (model / "more.pkl").write_bytes(b"")

    with pytest.raises(ConfigError, match=r"more\.pkl may be a pickle"):
        CrfDetector(model=model)


# The search looks back ten steps before it ends, so on every machine it comes to the eleventh; no
# other number is sure.
@pytest.mark.parametrize(("iteration", "again"), [(1, 1), (KEPT_EVERY + 1, KEPT_EVERY + 1)])
def test_a_killed_run_leaves_no_model_and_goes_on_to_the_same(
    toy: SimpleNamespace, toy_model: Path, tmp_path: Path, iteration: int, again: int
) -> None:
    program = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
from conftest import task, trained
from deid_crf import CrfTrainer
from pathlib import Path
def kill(epoch):
    if epoch.epoch == int(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)
CrfTrainer().train(task(), Path(sys.argv[2]), kill)
"""
    arguments = [sys.executable, "-c", program, Path(__file__).parent, tmp_path, str(iteration)]
    killed = subprocess.run(arguments, check=False)

    assert killed.returncode == -9
    with pytest.raises(ConfigError, match=r"no tagger\.json"):
        CrfDetector(model=tmp_path)
    curve = toy.trained(tmp_path)
    assert curve[0].epoch == again
    assert {path.name for path in tmp_path.iterdir()} == set(FILES)
    assert all((tmp_path / name).read_bytes() == (toy_model / name).read_bytes() for name in FILES)


def test_importing_and_detecting_load_neither_scipy_nor_torch(toy_model: Path) -> None:
    program = """
import sys
from deid_crf import CrfDetector, CrfTrainer
from deid_assets import Note
list(CrfDetector(model=sys.argv[1]).detect([Note("a", "Patient: Ada Moss")]))
print(sorted({"scipy.sparse", "torch", "transformers", "flair", "onnxruntime"} & set(sys.modules)))
"""
    run = subprocess.run(
        [sys.executable, "-c", program, toy_model], check=True, capture_output=True, text=True
    )

    assert run.stdout.strip() == "[]"


def test_a_missing_list_in_a_model_is_refused(toy_model: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        CrfDetector(model=altered(toy_model, tmp_path / "model", lists=["names.gaz"]))


def test_many_notes_are_read_with_little_work_for_each_token(
    toy: SimpleNamespace, toy_model: Path
) -> None:
    detector = CrfDetector(model=toy_model)
    notes = [
        replace(each.note, note_id=f"{each.note.note_id}-{n}")
        for n in range(50)
        for each in toy.documents()
    ]
    tokens = sum(len(tokenize(note.text)) for note in notes)
    list(detector.detect(notes[:6]))  # what is read once
    calls: Counter[str] = Counter()
    sys.setprofile(lambda _frame, event, _of: calls.update([event]))
    try:
        found = list(detector.detect(notes))
    finally:
        sys.setprofile(None)

    assert len(found) == len(notes)
    # Calls are the same on every machine, where seconds are not; `benchmarks/bench_crf.py` prints
    # those.
    assert (calls["call"] + calls["c_call"]) / tokens < 20  # 10 when this was written


def test_dropped_predictions_teach_the_tagger_to_do_without(
    toy: SimpleNamespace, tmp_path: Path
) -> None:
    given = {**toy.settings, "predictions_of": "rules"}
    toy.trained(tmp_path / "trusting", toy.task(settings=given))
    toy.trained(tmp_path / "wary", toy.task(settings={**given, "prediction_dropout": 1.0}))

    assert "o:tB-" in (tmp_path / "trusting" / "attributes.txt").read_text()
    assert "o:tB-" not in (tmp_path / "wary" / "attributes.txt").read_text()
