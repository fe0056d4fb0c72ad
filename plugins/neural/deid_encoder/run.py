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
from deid_compact.losses import fitted_temperature
from deid_compact.names import names_for_copies
from deid_compact.notes import batched, marked_notes
from deid_compact.thresholds import chosen_thresholds, is_marked
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
from deid_encoder.stack import Stack, fitted_stack, opinions_of, weigh
from deid_encoder.training import EncoderLearner, read_frozen, scores_on, train, trained_state
from deid_encoder.weights import packaged_file, read_weights
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
    weights = read_weights(packaged_file())
    reader = PieceReader(weights.pieces)
    classes = Classes.of(task.labels.values())
    targets = Targets(classes)
    training = [document for phase in task.phases for document in phase]
    examples = examples_of(
        marked_notes(training),
        targets=targets,
        reader=reader,
        settings=settings,
        seed=task.seed,
        names=names_for_copies(task.seed),
    )
    dev = [
        example
        for note in marked_notes(task.dev)
        for example in windows_of(note, targets=targets, reader=reader, settings=settings)
    ]
    encoder = load_encoder(weights, classes.outputs)
    encoder.blocks = encoder.blocks[: settings.layers]
    allowed = torch.from_numpy(targets.table())
    batches = read_frozen(encoder, _batched(examples, settings), settings, reader.pad)
    dev_batches = read_frozen(encoder, _batched(dev, settings), settings, reader.pad)
    learner = EncoderLearner(encoder, batches, dev_batches, settings, allowed, seed=task.seed)
    known = (settings.model_dump_json(exclude={"silent"}), sorted(settings.silent))
    fingerprint = task_fingerprint(task, *known, VERSION, weights.digest)
    train(learner, settings, Checkpoint(out / "checkpoint", fingerprint), report)
    temperature = fitted_temperature(scores_on(encoder, dev_batches, settings), allowed)
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
    judged = list(_judged(NoteReader(reader, network, about), task.dev, settings.silent))
    if settings.second and judged:
        stack, judged = _stacked(judged, settings)
        about = replace(about, stack=stack)
    thresholds = _thresholds(judged, classes, settings)
    save_file(trained_state(encoder, settings.frozen), out / WEIGHTS_FILE)
    write_about(out, _with_thresholds(about, thresholds))


def _batched(
    examples: Sequence[WindowExample], settings: EncoderSettings
) -> list[list[WindowExample]]:
    return batched(examples, lambda example: len(example.pieces), settings.batch_pieces)


def _stacked(judged: Sequence[Judged], settings: EncoderSettings) -> tuple[Stack, list[Judged]]:
    """Return the weights of all opinions, and the scores that they give the development notes."""
    detector = load(settings.second)
    if not isinstance(detector, CompactDetector):
        raise ConfigError(f"second is {settings.second!r}; it gives no scores of words")
    seconds = list(detector.opinions([document.note for document, _ in judged]))
    stack = fitted_stack(
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
    return chosen_thresholds(
        judged,
        classes,
        wanted_precision=settings.wanted_precision,
        silent=settings.silent,
    )


def _judged(
    reader: NoteReader, dev: Sequence[Document], silent: frozenset[Phi]
) -> Iterator[Judged]:
    read = reader.read([document.note.text for document in dev])
    for document, (pieced, probabilities) in zip(dev, read, strict=True):
        words = tokenize(document.note.text)
        yield (
            document,
            word_scores(words, pieced.offsets, probabilities, reader.about.classes, silent),
        )


def _with_thresholds(about: EncoderDescription, thresholds: dict[Phi, float]) -> EncoderDescription:
    decision = Decision(about.decision.threshold, thresholds, about.decision.silent)
    return replace(about, decision=decision)
