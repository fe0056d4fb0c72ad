"""A training run: from a task to a model folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import torch
from safetensors.torch import save_file

from deid_assets.extending import ConfigError, Document, Phi, Report, Task, load, tokenize
from deid_compact.detector import CompactDetector
from deid_compact.labels import Classes, Targets
from deid_compact.losses import fit_temperature
from deid_compact.names import names_for_copies
from deid_compact.notes import batch_items, mark_notes
from deid_compact.thresholds import choose_thresholds, is_marked
from deid_compact.words import Decision, WordScores
from deid_encoder.detector import VERSION
from deid_encoder.examples import WindowExample, examples_of, windows_of
from deid_encoder.folder import WEIGHTS_FILE, EncoderDescription, write_about
from deid_encoder.network import load_encoder
from deid_encoder.pieces import PieceReader
from deid_encoder.reading import NoteReader
from deid_encoder.runtime import torch_network
from deid_encoder.settings import EncoderSettings
from deid_encoder.spans import word_scores
from deid_encoder.stack import Stack, fit_stack, opinions_of, weigh
from deid_encoder.training import EncoderLearner, read_frozen, read_trained_state, scores_on, train
from deid_encoder.weights import find_packaged_file, read_weights
from deid_training.checkpoint import Checkpoint
from deid_training.fingerprints import task_fingerprint

Judged = tuple[Document, WordScores]
"""A development note with the scores of its words."""


def run(task: Task, out: Path, report: Report) -> None:
    """Train on a task's documents and write the model folder."""
    settings = EncoderSettings.model_validate(task.settings)
    if settings.threads is not None:
        torch.set_num_threads(settings.threads)
    torch.manual_seed(task.seed)
    weights = read_weights(find_packaged_file())
    reader = PieceReader(weights.pieces)
    classes = Classes.of(task.labels.values())
    targets = Targets(classes)
    examples, dev = _windows(task, targets, reader, settings)
    encoder = load_encoder(weights, classes.outputs)
    encoder.blocks = encoder.blocks[: settings.layers]
    allowed = torch.from_numpy(targets.table())
    batches = read_frozen(encoder, _batch(examples, settings), settings, reader.pad)
    dev_batches = read_frozen(encoder, _batch(dev, settings), settings, reader.pad)
    learner = EncoderLearner(encoder, batches, dev_batches, settings, allowed, seed=task.seed)
    known = (settings.model_dump_json(exclude={"silent"}), sorted(settings.silent))
    fingerprint = task_fingerprint(task, *known, VERSION, weights.digest)
    train(learner, settings, Checkpoint(out / "checkpoint", fingerprint), report)
    temperature = fit_temperature(scores_on(encoder, dev_batches, settings), allowed)
    about = EncoderDescription(
        version=VERSION,
        base=weights.digest,
        layers=settings.layers,
        frozen=settings.frozen,
        classes=classes,
        window=settings.window,
        step=settings.step,
        temperature=temperature,
        decision=Decision(settings.threshold, {}, settings.silent),
        predictions_of=settings.predictions_of,
        veto=settings.veto,
        second=settings.second,
    )
    encoder.eval()
    network = torch_network(encoder, pad=reader.pad, device=torch.device("cpu"))
    about = decide(about, NoteReader(reader, network, about), task.dev, settings)
    save_file(read_trained_state(encoder, settings.frozen), out / WEIGHTS_FILE)
    write_about(out, about)


def _windows(
    task: Task, targets: Targets, reader: PieceReader, settings: EncoderSettings
) -> tuple[list[WindowExample], list[WindowExample]]:
    """Return what is learnt from, and the development notes."""
    examples = examples_of(
        mark_notes(document for phase in task.phases for document in phase),
        targets=targets,
        reader=reader,
        settings=settings,
        seed=task.seed,
        names=names_for_copies(task.seed),
    )
    dev = [
        example
        for note in mark_notes(task.dev)
        for example in windows_of(note, targets=targets, reader=reader, settings=settings)
    ]
    return examples, dev


def decide(
    about: EncoderDescription,
    reader: NoteReader,
    dev: Sequence[Document],
    settings: EncoderSettings,
) -> EncoderDescription:
    """Return a description with weights of all opinions and thresholds of all categories.

    Both are chosen on development notes, and hold for the second detector that is installed: where
    that is trained again, they are chosen again.
    """
    judged = list(_judge_notes(reader, dev, settings.silent))
    if settings.second and judged:
        stack, judged = _stack(judged, settings)
        about = replace(about, stack=stack)
    return _set_thresholds(about, _thresholds(judged, about.classes, settings))


def _batch(
    examples: Sequence[WindowExample], settings: EncoderSettings
) -> list[list[WindowExample]]:
    return batch_items(examples, lambda example: len(example.pieces), settings.batch_pieces)


def _stack(judged: Sequence[Judged], settings: EncoderSettings) -> tuple[Stack, list[Judged]]:
    """Return the weights of all opinions, and the scores that they give the development notes."""
    detector = load(settings.second)
    if not isinstance(detector, CompactDetector):
        raise ConfigError(f"second is {settings.second!r}; it gives no scores of words")
    seconds = list(detector.opinions([document.note for document, _ in judged]))
    stack = fit_stack(
        [
            opinions_of(scores, second, spans)
            for (_, scores), (second, spans) in zip(judged, seconds, strict=True)
        ],
        [is_marked(document, scores, settings.silent) for document, scores in judged],
    )
    weighed = [
        (document, weigh(stack, scores, second, spans))
        for (document, scores), (second, spans) in zip(judged, seconds, strict=True)
    ]
    return stack, weighed


def _thresholds(
    judged: Sequence[Judged], classes: Classes, settings: EncoderSettings
) -> dict[Phi, float]:
    if settings.wanted_precision is None:
        return {}
    return choose_thresholds(
        judged,
        classes,
        wanted_precision=settings.wanted_precision,
        silent=settings.silent,
    )


def _judge_notes(
    reader: NoteReader, dev: Sequence[Document], silent: frozenset[Phi]
) -> Iterator[Judged]:
    read = reader.read([document.note.text for document in dev])
    for document, (pieced, probabilities) in zip(dev, read, strict=True):
        words = tokenize(document.note.text)
        yield (
            document,
            word_scores(words, pieced.offsets, probabilities, reader.about.classes, silent),
        )


def _set_thresholds(about: EncoderDescription, thresholds: dict[Phi, float]) -> EncoderDescription:
    decision = replace(about.decision, thresholds=thresholds)
    return replace(about, decision=decision)
