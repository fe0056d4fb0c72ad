"""Training runs: what is checked, kept, resumed and said."""

import os
import shutil
import signal

import pytest

from deid_assets import DisjointSpans, Note, Phi, plugins
from deid_assets.core.errors import ConfigError, InputError, PluginError, TrainingError
from deid_assets.core.keys import Key
from deid_assets.core.trainer import Document
from deid_assets.training import Corpus, Materials, Recipe, read_card, train_model
from deid_assets.training.card import digests, write_card
from deid_assets.training.run import make_task

pytestmark = pytest.mark.usefixtures("xwords")


def recipe(**changes):
    return Recipe.model_validate({"name": "mine", "plugin": "xwords", **changes})


def renamed(corpus):
    (document,) = corpus.documents
    note = Note("other", document.note.text)
    return Corpus("dev", (Document(note, DisjointSpans.of(note, document.spans)),))


def test_a_run_leaves_a_model_with_its_card(notes, tmp_path):
    out = tmp_path / "model"
    materials = Materials(
        corpora=[notes("Lee", "Ray")],
        dev=notes("Lee", corpus="dev"),
        test=notes("Bo", corpus="test"),
    )
    card = train_model(recipe(licence="none"), materials, out)

    assert card == read_card(out, verify=True)
    assert card.dev_f1 == 1.0
    assert card.test["labels"]["ALL"] == {
        "tp": 1,
        "fp": 0,
        "fn": 1,
        "precision": 1.0,
        "recall": 0.5,
        "f1": 0.6667,
        "recall_interval": card.test["labels"]["ALL"]["recall_interval"],
        "f1_interval": [0.6667, 0.6667],
    }
    assert [(one.role, one.notes, one.spans) for one in card.corpora] == [
        ("train", 2, 4),
        ("test", 1, 2),
        ("dev", 1, 2),
    ]
    assert [point.epoch for point in card.curve] == [1, 2]
    assert card.labels == {"DATE": "DATE", "NAME": "NAME"}
    assert set(card.files) == {"tagger.json"}
    assert not (tmp_path / "model.part").exists()


def test_the_card_holds_no_text(notes, tmp_path):
    train_model(recipe(), Materials(corpora=[notes("Qwertz", "Uiop")]), tmp_path / "model")
    assert "Qwertz" not in (tmp_path / "model" / "card.json").read_text()


def test_a_second_run_with_nothing_changed_does_nothing(notes, tmp_path):
    out = tmp_path / "model"
    materials = Materials(corpora=[notes("Lee", "Ray")])
    epochs = []
    first = train_model(recipe(), materials, out)
    again = train_model(
        recipe(description="other words"),
        materials,
        out,
        progress=lambda *epoch: epochs.append(epoch),
    )
    assert (again, epochs) == (first, [])

    changed = train_model(
        recipe(seed=2), materials, out, progress=lambda *epoch: epochs.append(epoch)
    )
    assert changed.fingerprint != first.fingerprint
    assert epochs


def test_a_killed_run_goes_on_and_leaves_the_old_model_alone(notes, tmp_path, card_of):
    out = tmp_path / "model"
    materials = Materials(corpora=[notes("Lee", "Ray")])
    old = train_model(recipe(), materials, out)
    longer = recipe(settings={"epochs": 4, "stop_after": 2})
    with pytest.raises(KeyboardInterrupt):
        train_model(longer, materials, out)
    assert read_card(out, verify=True) == old

    card = train_model(longer, materials, out)
    assert [point.epoch for point in card.curve] == [1, 2, 3, 4]
    assert '"started": 2' in (out / "tagger.json").read_text()


@pytest.mark.long
def test_what_has_no_seal_of_the_key_is_trained_again(notes, tmp_path):
    """A model that fits its card and was put there without the key, and a finished run of a
    training that was killed.
    """
    out = tmp_path / "model"
    materials = Materials(corpora=[notes("Lee", "Ray")])
    key = Key(bytes(range(32)))
    epochs = []

    def trained(**given):
        epochs.clear()
        train_model(recipe(), materials, out, progress=lambda *epoch: epochs.append(epoch), **given)
        return bool(epochs)

    assert trained(key=key)
    assert not trained(key=key)
    assert trained(key=Key(bytes(range(1, 33))))
    assert trained(key=key)
    (out / "tagger.json").write_text((out / "tagger.json").read_text() + "\n")
    card = read_card(out)
    write_card(out, card.model_copy(update={"files": digests(out)}))
    assert read_card(out, verify=True)  # the card fits what was put there
    assert trained(key=key)
    (out.parent / "model.seal").unlink()
    assert trained(key=key)
    assert not trained()


@pytest.mark.parametrize("linked", ["model", "model/tagger.json", "model.seal"])
def test_a_link_to_what_was_sealed_is_trained_again(linked, notes, tmp_path):
    """What it leads to could be exchanged after it was looked at."""
    out, key = tmp_path / "model", Key(bytes(range(32)))
    materials, epochs = Materials(corpora=[notes("Lee", "Ray")]), []
    train_model(recipe(), materials, out, key=key)
    elsewhere, link = tmp_path / "elsewhere", tmp_path / linked
    link.rename(elsewhere)
    link.symlink_to(elsewhere)

    train_model(recipe(), materials, out, key=key, progress=lambda *epoch: epochs.append(epoch))

    assert epochs
    assert elsewhere.exists()
    assert [path for path in (out, *tmp_path.rglob("*")) if path.is_symlink()] == []


def a_pipe_added(out):
    os.mkfifo(out / "pipe")


def an_empty_folder_added(out):
    (out / "a" / "b").mkdir(parents=True)


def a_pipe_as_seal(out):
    out.with_name("model.seal").unlink()
    os.mkfifo(out.with_name("model.seal"))


def a_folder_as_seal(out):
    out.with_name("model.seal").unlink()
    (out.with_name("model.seal") / "a").mkdir(parents=True)


def a_pipe_as_mark(out):
    part = out.with_name("model.part")
    part.mkdir()
    os.mkfifo(part / "fingerprint")
    (out / "card.json").unlink()


@pytest.fixture
def seconds():
    """Sixty, after which the test is ended: what reads a pipe waits for ever."""
    signal.signal(signal.SIGALRM, lambda *_: pytest.fail("waits for ever"))
    signal.alarm(60)
    yield
    signal.alarm(0)


@pytest.mark.usefixtures("seconds")
@pytest.mark.parametrize(
    "change",
    [a_pipe_added, an_empty_folder_added, a_pipe_as_seal, a_folder_as_seal, a_pipe_as_mark],
)
def test_what_a_seal_does_not_name_is_trained_again(change, notes, tmp_path):
    """A pipe is not waited for, and a seal that is no file stops no training."""
    out, key = tmp_path / "model", Key(bytes(range(32)))
    materials, epochs = Materials(corpora=[notes("Lee", "Ray")]), []
    train_model(recipe(), materials, out, key=key)
    change(out)

    made = []
    for _ in range(2):
        train_model(recipe(), materials, out, key=key, progress=lambda *one: epochs.append(one))
        made.append(len(epochs))

    assert made[0] == made[1] > 0
    assert out.with_name("model.seal").is_file()


def test_a_sealed_run_of_other_notes_or_another_seed_is_not_taken(notes, tmp_path):
    """Folder, seal and mark copied from the unfinished training of another recipe: all made with
    the key.
    """
    key = Key(bytes(range(32)))

    def stop_in_the_second(run, _epoch):
        if run == "seed 2":
            raise KeyboardInterrupt

    def part_of(name, *names):
        with pytest.raises(KeyboardInterrupt):
            train_model(
                recipe(runs=2),
                Materials(corpora=[notes(*names)]),
                tmp_path / name,
                key=key,
                progress=stop_in_the_second,
            )
        return tmp_path / f"{name}.part"

    def seeds_trained():
        again = []
        train_model(
            recipe(runs=2),
            Materials(corpora=[notes("Lee", "Ray")]),
            tmp_path / "mine",
            key=key,
            progress=lambda run, _epoch: again.append(run),
        )
        shutil.rmtree(tmp_path / "mine")
        return set(again)

    def put(source, target):
        for ending in ("", ".seal", ".done", ".jsonl"):
            old, new = (
                source.with_name(source.name + ending),
                target.with_name(target.name + ending),
            )
            shutil.rmtree(new, ignore_errors=True)
            (shutil.copytree if old.is_dir() else shutil.copy)(old, new)

    other, mine = part_of("other", "Roe", "Poe"), part_of("mine", "Lee", "Ray")
    put(other / "seed-1", mine / "seed-1")
    assert seeds_trained() == {"seed 1", "seed 2"}
    mine = part_of("mine", "Lee", "Ray")
    put(mine / "seed-1", mine / "seed-2")
    assert seeds_trained() == {"seed 2"}


def test_a_finished_run_of_a_killed_training_is_taken_with_its_seal_alone(notes, tmp_path):
    out, part = tmp_path / "model", tmp_path / "model.part"
    materials = Materials(corpora=[notes("Lee", "Ray")])
    key = Key(bytes(range(32)))
    two = recipe(runs=2)

    def stop_in_the_second(run, _epoch):
        if run == "seed 2":
            raise KeyboardInterrupt

    def seeds(harm):
        with pytest.raises(KeyboardInterrupt):
            train_model(two, materials, out, key=key, progress=stop_in_the_second)
        harm(part / "seed-1" / "tagger.json")
        again = []
        train_model(two, materials, out, key=key, progress=lambda run, _epoch: again.append(run))
        (tmp_path / "model.seal").unlink()
        return set(again)

    assert seeds(lambda path: path.write_text(path.read_text() + "\n")) == {"seed 1", "seed 2"}
    assert seeds(lambda _path: None) == {"seed 2"}


def test_what_a_killed_run_left_of_another_task_is_dropped(notes, tmp_path):
    out = tmp_path / "model"
    materials = Materials(corpora=[notes("Lee", "Ray")])
    with pytest.raises(KeyboardInterrupt):
        train_model(recipe(settings={"stop_after": 1}), materials, out)
    train_model(recipe(seed=5), materials, out)
    assert '"started": 0' in (out / "tagger.json").read_text()


def test_the_best_of_several_runs_is_kept(notes, tmp_path):
    card = train_model(
        recipe(runs=3, seed=4), Materials(corpora=[notes("Lee", "Ray", "Bo")]), tmp_path / "model"
    )
    assert [run.seed for run in card.runs] == [4, 5, 6]
    assert [run.kept for run in card.runs] == [True, False, False]


def test_native_labels_are_learnt_and_given_back(notes, tmp_path):
    corpus = notes("Lee", "Ray", native="DOCTOR")
    card = train_model(recipe(labels="native"), Materials(corpora=[corpus]), tmp_path / "model")
    assert card.labels == {"DATE": "DATE", "DOCTOR": "NAME"}
    assert card.dev["labels"]["DATE"]["f1"] == 1.0


@pytest.mark.parametrize(
    ("strategy", "phases"),
    [("mix", [["a-0", "a-1", "b-0", "b-1"]]), ("sequential", [["a-0", "a-1"], ["b-0", "b-1"]])],
)
def test_strategies_say_what_is_learnt_when(notes, strategy, phases):
    corpora = [notes("Lee", "Ray", corpus="a"), notes("Bo", "Al", corpus="b", native="PERSON")]
    materials = Materials(corpora=corpora, dev=notes("Lee", corpus="dev"))
    task = make_task(
        recipe(strategy=strategy, labels="native"), materials, plugins.load_trainer("xwords")
    )
    assert [[document.note.note_id for document in phase] for phase in task.phases] == phases
    assert task.labels == {"DATE": Phi.DATE, "NAME": Phi.NAME, "PERSON": Phi.NAME}


@pytest.mark.parametrize("plugin", sorted(plugins.available(plugins.TRAINERS)))
def test_one_corpus_after_the_other_is_refused_where_a_trainer_learns_them_together(notes, plugin):
    corpora = [notes("Lee", "Ray", corpus="a"), notes("Bo", "Al", corpus="b")]
    trainer = plugins.load_trainer(plugin)
    sequential = recipe(strategy="sequential", plugin=plugin)
    if plugin in ("flair", "transformers"):  # these do
        assert len(make_task(sequential, Materials(corpora=corpora), trainer).phases) == 2
        return
    with pytest.raises(
        ConfigError, match=f"sequential: {plugin} learns all corpora together; choose mix"
    ):
        make_task(sequential, Materials(corpora=corpora), trainer)


def test_a_chosen_grouping_is_recorded(notes, tmp_path):
    corpus = notes("Lee", "Ray")
    card = train_model(
        recipe(grouping="auto", budget_tokens=7), Materials(corpora=[corpus]), tmp_path / "model"
    )
    assert card.grouping == 1


def of_patient(corpus, patient):
    """The corpus with other note ids and texts, all of one patient."""
    documents = []
    for document in corpus.documents:
        note = Note(
            f"other-{document.note.note_id}", document.note.text + " Again.", patient_id=patient
        )
        documents.append(Document(note, DisjointSpans.of(note, document.spans)))
    return Corpus("other", tuple(documents))


FAULTS = {
    "a test patient among the training patients": (
        lambda notes: (
            {},
            Materials(corpora=[notes("Lee", "Ray")], test=of_patient(notes("Lee"), "mine-p1")),
        ),
        InputError,
        "note 'other-mine-0': its patient is among the test notes and among the training notes",
    ),
    "a development patient among the training patients": (
        lambda notes: (
            {},
            Materials(corpora=[notes("Lee", "Ray")], dev=of_patient(notes("Lee"), "mine-p0")),
        ),
        InputError,
        "its patient is among the development notes",
    ),
    "a test note among the training notes": (
        lambda notes: ({}, Materials(corpora=[notes("Lee", "Ray")], test=notes("Lee"))),
        InputError,
        "note 'mine-0': its id is among the test notes and among the training notes",
    ),
    "a development text among the training texts": (
        lambda notes: ({}, Materials(corpora=[notes("Lee", "Ray")], dev=renamed(notes("Lee")))),
        InputError,
        "note 'other': its text is among the development notes",
    ),
    "one patient": (
        lambda notes: ({}, Materials(corpora=[notes("Lee")])),
        InputError,
        "one patient only",
    ),
    "no corpus": (lambda notes: ({}, Materials(corpora=[])), ConfigError, "no training corpus"),
    "two corpora for one": (
        lambda notes: ({}, Materials(corpora=[notes("Lee"), notes("Ray", corpus="b")])),
        ConfigError,
        "strategy single takes one corpus, not 2",
    ),
    "a setting that the plugin has not": (
        lambda notes: ({"settings": {"colour": 1}}, Materials(corpora=[notes("Lee", "Ray")])),
        ConfigError,
        "no setting colour",
    ),
    "a plugin that is not installed": (
        lambda notes: ({"plugin": "xmissing"}, Materials(corpora=[notes("Lee", "Ray")])),
        PluginError,
        "unknown trainer 'xmissing'",
    ),
    "a model that learnt nothing": (
        lambda notes: ({"settings": {"learns": False}}, Materials(corpora=[notes("Lee", "Ray")])),
        TrainingError,
        "finds none of 2 development spans",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_told_before_anything_is_written(fault, notes, tmp_path):
    make, error, message = FAULTS[fault]
    changes, materials = make(notes)
    with pytest.raises(error, match=message):
        train_model(recipe(**changes), materials, tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_spans_of_one_label_and_two_categories_are_refused(notes, tmp_path):
    corpus = notes("Lee", "Ray", native="DATE")
    with pytest.raises(InputError, match="label 'DATE' stands for"):
        train_model(recipe(labels="native"), Materials(corpora=[corpus]), tmp_path / "model")


def test_a_folder_with_other_things_is_left_alone(notes, tmp_path):
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "thesis.txt").write_text("mine")
    with pytest.raises(InputError, match="holds something that is no model"):
        train_model(recipe(), Materials(corpora=[notes("Lee", "Ray")]), tmp_path / "model")


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (lambda folder: (folder / "tagger.json").write_text("{}"), "tagger.json: altered"),
        (lambda folder: (folder / "tagger.json").unlink(), "tagger.json: missing"),
        (lambda folder: (folder / "extra.pkl").write_text("x"), "extra.pkl: not in the model card"),
        (lambda folder: (folder / "card.json").write_text("{}"), "not a model card"),
        (lambda folder: (folder / "card.json").unlink(), "no card.json"),
    ],
)
def test_a_damaged_model_is_told(harm, message, notes, tmp_path):
    out = tmp_path / "model"
    train_model(recipe(), Materials(corpora=[notes("Lee", "Ray")]), out)
    harm(out)
    with pytest.raises(InputError, match=message):
        read_card(out, verify=True)
