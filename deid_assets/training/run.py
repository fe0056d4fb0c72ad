"""A training run: materials checked, the trainer called, the model scored, its card written, all or
nothing.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from deid_assets import plugins
from deid_assets.core.detector import Detector, detect
from deid_assets.core.errors import ConfigError, InputError, TrainingError
from deid_assets.core.keys import Key
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.tagging import Grouping, grouping_for, sentences, tokenize
from deid_assets.core.trainer import Document, Epoch, Task, Trainer, label_inventory
from deid_assets.privacy.subject import model_digest
from deid_assets.system.atomic import atomic_path, replace_folder
from deid_assets.system.reading import read_small_file
from deid_assets.training.card import CARD, TAGGER, Card, close_folder, read_card, write_card
from deid_assets.training.corpora import Corpus, check_apart, split
from deid_assets.training.description import SeedResult, describe
from deid_assets.training.naming import name_of
from deid_assets.training.recipe import Recipe, Strategy, check_strategy
from deid_assets.training.scoring import score, score_outcomes, six_f1

PART = ".part"

Progress = Callable[[str, Epoch], None]
"""Called with the run, as ``seed 1``, and each point of its curve."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Materials:
    """Training, development and test sets of a model.

    Args:
        corpora: In the order of the recipe's strategy.
        dev: Notes that choose the model; held out of the last corpus when ``None``.
        test: Notes that nothing is chosen by.
        raw: Unannotated notes.
    """

    corpora: Sequence[Corpus]
    dev: Corpus | None = None
    test: Corpus | None = None
    raw: Sequence[Note] = field(default=(), repr=False)


def train_model(
    recipe: Recipe,
    materials: Materials,
    out: Path,
    *,
    key: Key | None = None,
    progress: Progress = lambda _run, _epoch: None,
) -> Card:
    """Train, score and write a model folder, and return the card that is in it; a second call with
    nothing changed does nothing.

    What is not finished stands beside the folder under ``NAME.part``: a killed run resumes there,
    and the folder itself holds the old model or the new one.

    Args:
        recipe: How.
        materials: Of what.
        out: Model folder; a model that is there is replaced.
        key: Under which the folder and finished runs are sealed: what has no seal of it is trained
            again.
        progress: Called after each epoch.

    Raises:
        ConfigError: A setting of the recipe is wrong.
        InputError: A corpus is unfit: no spans, or notes in common with those that judge.
        PluginError: The plugin is not installed or does not load.
        TrainingError: The run cannot give a model.
    """
    trainer = plugins.load_trainer(recipe.plugin)
    task = make_task(recipe, materials, trainer)
    fingerprint = _fingerprint(recipe, task, materials, trainer)
    if (known := _take_known(out, fingerprint, key)) is not None:
        return known
    part = _resumable(out.with_name(out.name + PART), fingerprint)
    began = time.process_time()
    runs = []
    for seed in range(recipe.seed, recipe.seed + recipe.runs):
        seeded = replace(task, seed=seed)
        folder = _one_run(trainer, seeded, part, key, progress)
        runs.append(_judge(recipe, seeded, materials.test, folder))
    best = _best_of(runs, recipe)
    cpu = time.process_time() - began
    card = describe(
        recipe, task, name_corpora(materials), runs, best, fingerprint=fingerprint, cpu_seconds=cpu
    )
    _put_in_place(best.folder, out, card, key)
    shutil.rmtree(part)
    return card


def _take_known(out: Path, fingerprint: str, key: Key | None) -> Card | None:
    """Return the card of a model folder where it is of this very task; one without the seal of the
    key is removed.

    Raises:
        InputError: It holds something that is no model.
    """
    if key is not None and out.is_dir() and not _is_sealed(out, _seal_of(out), key):
        _remove(out)
    if (out / CARD).exists():
        old = read_card(out, verify=True)
        if old.fingerprint == fingerprint:
            close_folder(out)
            return old
    elif out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InputError(f"{out}: it holds something that is no model; name a new or empty folder")
    return None


def _best_of(runs: Sequence[SeedResult], recipe: Recipe) -> SeedResult:
    """Return the run with the best F1 on the development notes, the first where two are alike.

    Raises:
        TrainingError: It finds nothing.
    """
    best = max(runs, key=lambda run: (run.dev.micro.f1 or 0.0, -run.seed))
    if not best.dev.micro.tp:
        raise TrainingError(
            f"recipe {recipe.name}: the model finds none of {best.dev.micro.gold} development"
            " spans; give more notes, or change the settings"
        )
    return best


def _put_in_place(folder: Path, out: Path, card: Card, key: Key | None) -> None:
    """Complete the folder of the best run, and let it replace what is there."""
    write_card(folder, card)
    close_folder(folder)
    replace_folder(folder, out)
    if key is not None:
        _write_seal(out, _seal_of(out), key)


def make_task(recipe: Recipe, materials: Materials, trainer: Trainer) -> Task:
    """Return what the trainer may see, after checking that it is fit and holds no test note.

    Raises:
        ConfigError: The strategy does not fit the corpora, or a setting is wrong.
        InputError: No spans, one label for two categories, or notes in common with those that
            judge.
    """
    check_strategy(recipe.strategy, len(materials.corpora))
    if recipe.strategy is Strategy.SEQUENTIAL and not getattr(trainer, "learns_in_phases", False):
        raise ConfigError(
            f"strategy sequential: {trainer.name} learns all corpora together; choose mix"
        )
    corpora = [list(corpus.documents) for corpus in materials.corpora]
    is_held_out = materials.dev is not None or recipe.dev_share > 0
    dev = [] if materials.dev is None else list(materials.dev.documents)
    if materials.dev is None and is_held_out:
        corpora[-1], dev = split(corpora[-1], share=recipe.dev_share, seed=recipe.seed)
    every = [document for documents in corpora for document in documents]
    if is_held_out:
        check_apart(every, dev, role="development")
    else:  # a learning curve has too few notes to hold one out, and asks nothing of dev
        dev = every
    if materials.test is not None:
        check_apart([*every, *dev], materials.test.documents, role="test")
    phases = corpora if recipe.strategy is Strategy.SEQUENTIAL else [every]
    return Task(
        phases=phases,
        dev=dev,
        # Over all phases and dev, so that none brings a label that the network has no place for.
        labels=_labels(every, dev, native=recipe.native),
        native=recipe.native,
        scheme=recipe.scheme,
        grouping=_grouping(recipe, every),
        seed=recipe.seed,
        settings=trainer.settings(recipe.settings),
        raw=tuple(materials.raw),
    )


def _labels(
    training: Sequence[Document], dev: Sequence[Document], *, native: bool
) -> dict[str, Phi]:
    # refuses training notes without spans, whatever dev holds
    label_inventory(training, native=native)
    return label_inventory([*training, *dev], native=native)


def _grouping(recipe: Recipe, documents: Sequence[Document]) -> Grouping:
    if recipe.grouping != "auto":
        return recipe.grouping
    lengths = []
    for document in documents:
        tokens = tokenize(document.note.text)
        lengths.append([len(part) for part in sentences(document.note.text, tokens)])
    return grouping_for(lengths, budget=recipe.budget_tokens, longest=recipe.limit_tokens or None)


def _fingerprint(recipe: Recipe, task: Task, materials: Materials, trainer: Trainer) -> str:
    plugin = plugins.available(plugins.TRAINERS)[trainer.name]
    raw = name_of("".join(note.digest for note in materials.raw))
    corpora = [(role, corpus.digest) for role, corpus in name_corpora(materials)]
    values = [recipe.digest, plugin.code_version, dict(task.settings), corpora, raw]
    return hashlib.sha256(json.dumps(values, sort_keys=True, default=str).encode()).hexdigest()


def name_corpora(materials: Materials) -> list[tuple[str, Corpus]]:
    """Return each corpus with what it is for."""
    others = (("dev", materials.dev), ("test", materials.test))
    return [
        *(("train", corpus) for corpus in materials.corpora),
        *((role, corpus) for role, corpus in others if corpus is not None),
    ]


def _resumable(part: Path, fingerprint: str) -> Path:
    """Return the folder of the unfinished run, emptied unless it is of this very task."""
    mark = part / "fingerprint"
    if _content(mark) != fingerprint:
        _remove(part)
        part.mkdir(parents=True)
        part.chmod(0o700)  # models remember words of the notes
        mark.write_text(fingerprint)
    return part


def _content(mark: Path) -> str:
    """Return what a small file says; empty where there is none, or it is no file."""
    try:
        return read_small_file(mark).decode("utf-8", "replace")
    except OSError:
        return ""


def _seal_of(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.seal")


def _run_of(folder: Path) -> str:
    """Return which run a folder is of: a finished one of other notes or settings is not
    this one.
    """
    mark = (folder.parent / "fingerprint").read_text(encoding="utf-8")
    return f"{mark} {folder.name}"


def _is_sealed(folder: Path, seal: Path, key: Key, *, of: str = "") -> bool:
    """Whether a folder holds what was sealed under a key, file by file.

    Nothing is where there are links: what they lead to can be exchanged after it was looked at; or
    where there is what the seal does not name, such as an empty folder or a pipe.
    """
    inside = list(folder.rglob("*"))
    if any(path.is_symlink() for path in (folder, seal, *inside)) or not all(map(_counts, inside)):
        return False
    try:
        given = read_small_file(seal).decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return False
    return hmac.compare_digest(given.encode(), _seal(folder, key, of).encode())


def _counts(path: Path) -> bool:
    """Whether it is a file, or a folder with something in it: what a seal names."""
    return path.is_file() or (path.is_dir() and any(path.iterdir()))


def _remove(path: Path) -> None:
    """Remove what is there, with all that a folder holds; where it is a link, the link alone."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _write_seal(folder: Path, seal: Path, key: Key, *, of: str = "") -> None:
    for path in sorted(folder.rglob("*"), reverse=True):  # what is inside before what is around it
        if path.is_dir() and not any(path.iterdir()):
            path.rmdir()
    if not seal.is_file():
        _remove(seal)
    with atomic_path(seal, mode=0o600) as part:
        part.write_text(_seal(folder, key, of), "utf-8")


def _seal(folder: Path, key: Key, of: str) -> str:
    return key.derive("tagger folder", model_digest(folder, key), *filter(None, [of])).hex()


def _one_run(trainer: Trainer, task: Task, part: Path, key: Key | None, progress: Progress) -> Path:
    """Train with the task's seed and return the model's folder.

    A run that was finished before is taken as it is.

    Under a key it is taken only with its seal. Checkpoints of a run that was killed have none:
    gates judge what comes of it.
    """
    folder = part / f"seed-{task.seed}"
    log = part / f"seed-{task.seed}.jsonl"
    done = part / f"seed-{task.seed}.done"
    if done.exists():
        if key is None or _is_sealed(folder, _seal_of(folder), key, of=_run_of(folder)):
            return folder
        _remove(done)
        _remove(folder)
    folder.mkdir(exist_ok=True)
    started = time.perf_counter()

    def report(epoch: Epoch) -> None:
        with log.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(epoch)) + "\n")
        progress(f"seed {task.seed}", epoch)

    trainer.train(task, folder, report)
    shutil.rmtree(folder / "checkpoint", ignore_errors=True)
    if not (folder / TAGGER).exists():
        raise TrainingError(
            f"trainer {trainer.name} wrote no {TAGGER}; report it to the plugin's author"
        )
    if key is not None:
        _write_seal(folder, _seal_of(folder), key, of=_run_of(folder))
    done.write_text(f"{time.perf_counter() - started:.3f}")
    return folder


def _judge(recipe: Recipe, task: Task, test: Corpus | None, folder: Path) -> SeedResult:
    """Score a finished run; its curve may come from more than one process."""
    detector = open_model(recipe, folder)
    log = folder.with_suffix(".jsonl")
    lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    points = (Epoch(**json.loads(line)) for line in lines)
    curve = {(point.phase, point.epoch): point for point in points}
    tested = () if test is None else test.documents
    outcomes = detect(detector, [document.note for document in tested]) if tested else []
    return SeedResult(
        seed=task.seed,
        folder=folder,
        dev=score(detector, task.dev, native=task.native),
        test=score_outcomes(outcomes, tested, native=task.native) if tested else None,
        six=six_f1(outcomes, tested) if tested else None,
        curve=tuple(curve.values()),
        seconds=float(folder.with_suffix(".done").read_text()),
    )


def open_model(recipe: Recipe, folder: Path) -> Detector:
    """Return the detector that runs a recipe's model, under the recipe's name."""
    return plugins.load(recipe.name, plugin=recipe.plugin, options={"model": str(folder)})
