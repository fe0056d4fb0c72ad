"""Analysis of trained taggers on annotated notes.

Scores, errors, what a change of recipe costs, and their vectors.

The document that comes of it holds labels, counts and coordinates; words only where that is asked
for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from deid_assets.extending import OUTSIDE, Document, Failed, InputError, load
from deid_assets.extending.corpora import Corpus
from deid_assets.extending.taggers import (
    EvidenceSource,
    Trainer,
    VectorSource,
    VocabularySource,
    detect,
    file_of,
    load_trainer,
    read_card,
    tag_label,
)
from deid_tagger_analysis.errors import ErrorTally, token_labels
from deid_tagger_analysis.models import ModelOutcomes, comparison_json
from deid_tagger_analysis.vectors import (
    NEIGHBOURS,
    TOKENS,
    Space,
    alike,
    apart,
    project,
    read_space,
)
from deid_tagger_analysis.words import ambiguous, neighbour_lists, word_counts

SCHEMA, VERSION = "deid-assets/tagger-analysis", 1
"""Name and version of the document.

The version rises when a field changes its meaning or goes away.
"""
EVIDENCE = 8
"""Rows of evidence that are shown of each label."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalysisOptions:
    """Options of an analysis.

    Args:
        tokens: Words whose vectors are compared, at most.
        seed: Of the draw of words, and of the intervals.
        with_words: Show words and evidence. The document is then as secret as the notes.
        asked: Words to show the neighbours of, where words are shown.
        learnt: Training notes, to count words in; the analysed notes are counted where there are
            none.
    """

    tokens: int = TOKENS
    seed: int = 0
    with_words: bool = False
    asked: Sequence[str] = field(default=(), repr=False)
    learnt: Sequence[Document] = field(default=(), repr=False)


def analyse(
    models: Sequence[Path], corpus: Corpus, *, options: AnalysisOptions | None = None
) -> dict[str, Any]:
    """Return the document that ``deid_tagger_analysis.page`` shows and ``json.dumps`` takes.

    Args:
        models: Folders that ``train_model`` wrote. All are scored and compared with the first,
            whose errors and vectors are shown.
        corpus: Annotated notes that none of them was trained on; the document says which was.
        options: How.

    Raises:
        InputError: A folder is no whole model, or two are the same; a word that is asked for is not
            there.
        PluginError: A plugin is missing, or a model is damaged.
        TrainingError: A tagger fails on every note.
    """
    if len({model.resolve() for model in models}) < len(models) or not models:
        raise InputError("give one model folder or several different ones")
    return describe([answer(model, corpus.documents) for model in models], corpus, options=options)


def describe(
    answered: Sequence[ModelOutcomes], corpus: Corpus, *, options: AnalysisOptions | None = None
) -> dict[str, Any]:
    """Return the document of models that have answered for the notes of a corpus.

    As ``analyse``.
    """
    options = options or AnalysisOptions()
    first = answered[0]
    trainer = load_trainer(str(first.card.recipe["plugin"]))
    return {
        "schema": SCHEMA,
        "version": VERSION,
        "restricted": options.with_words,
        "notes": _notes_json(corpus),
        **comparison_json(answered, corpus, seed=options.seed),
        "errors": errors_json(first, corpus.documents),
        **_show(first, trainer, corpus.documents, options),
    }


def answer(model: Path, documents: Sequence[Document]) -> ModelOutcomes:
    """Return what a model finds in notes.

    Raises:
        InputError: The folder is no whole model, or an ONNX export.
        PluginError: Its plugin is missing.
    """
    card = read_card(model, verify=True)
    if (model / file_of("fp32")).exists():
        raise InputError(f"{model}: an ONNX export; give the model folder that it was made of")
    name, plugin = str(card.recipe["name"]), str(card.recipe["plugin"])
    detector = load(name, plugin=plugin, options={"model": str(model)})
    return ModelOutcomes(model, card, detect(detector, [document.note for document in documents]))


def errors_json(answered: ModelOutcomes, documents: Sequence[Document]) -> dict[str, Any]:
    """Return what is wrong, by label and kind."""
    tally = ErrorTally(answered.native)
    for document, outcome in zip(documents, answered.outcomes, strict=True):
        tally.add(document, outcome)
    return tally.to_json()


def vectors_json(
    trainer: Trainer,
    model: Path,
    documents: Sequence[Document],
    *,
    native: bool,
    tokens: int = TOKENS,
    seed: int = 0,
) -> tuple[dict[str, Any], Space | None]:
    """Return what the vectors of a model say without words, and the space.

    One line, and no space, where it has none.

    Raises:
        PluginError: The model is damaged.
    """
    if not isinstance(trainer, VectorSource):
        return {
            "left_out": f"a model of the plugin {trainer.name} has no vectors: it is no network"
        }, None
    try:
        space = read_space(trainer, model, documents, native=native, tokens=tokens, seed=seed)
    except InputError as error:
        return {"left_out": str(error)}, None
    layers = list(space.layers)
    found = {
        "tokens": len(space.labels),
        "nearest": NEIGHBOURS,
        "layers": [{"name": name, "width": int(space.layers[name].shape[1])} for name in layers],
        "alike": alike(space),
        "apart": apart(space),
        "labels": list(space.labels),
        "languages": list(space.languages),
        "projections": [_projection_json(name, space) for name in layers],
    }
    return found, space


def _projection_json(name: str, space: Space) -> dict[str, Any]:
    found = project(space.layers[name])
    points = [[round(float(value), 3) for value in point] for point in found.points]
    return {
        "layer": name,
        "explained": [round(share, 4) for share in found.explained],
        "points": points,
    }


def _show(
    first: ModelOutcomes, trainer: Trainer, documents: Sequence[Document], options: AnalysisOptions
) -> dict[str, Any]:
    vectors, space = vectors_json(
        trainer,
        first.model,
        documents,
        native=first.native,
        tokens=options.tokens,
        seed=options.seed,
    )
    if not options.with_words:
        return {"vectors": vectors}
    words: dict[str, Any] = {}
    if space is not None:
        counted = options.learnt or documents
        known = word_counts(counted)
        vocabulary = _vocabulary(trainer, first.model, options.asked, known)
        drawn = {word.casefold() for word in space.words}
        words = {
            "counted_in": "the training notes" if options.learnt else "these notes",
            "neighbours": neighbour_lists(
                space,
                known=known,
                missed=_mark_missed(space, first, documents),
                # One that is in the vocabulary need not be among the words that were drawn.
                asked=[
                    word
                    for word in options.asked
                    if word.casefold() in drawn or word not in vocabulary
                ],
            ),
            "vocabulary": [{"word": word, "nearest": rows} for word, rows in vocabulary.items()],
            "ambiguous": ambiguous(space),
        }
    evidence = (
        trainer.evidence(first.model, most=EVIDENCE) if isinstance(trainer, EvidenceSource) else ()
    )
    return {"vectors": vectors, "words": words, "evidence": [dict(row) for row in evidence]}


def _vocabulary(
    trainer: Trainer, model: Path, asked: Sequence[str], known: Mapping[str, int]
) -> Mapping[str, Sequence[Mapping[str, Any]]]:
    """Return the nearest words of the whole vocabulary, where the model has one.

    They are given for those words that are asked for.
    """
    if not asked or not isinstance(trainer, VocabularySource):
        return {}
    return trainer.neighbours(model, asked, known=known, most=NEIGHBOURS)


def _mark_missed(
    space: Space, answered: ModelOutcomes, documents: Sequence[Document]
) -> list[bool]:
    """Return for each token of a space whether it was missed.

    Such a token is of an identifier, and nothing was found there.
    """
    said: dict[int, list[str]] = {}
    for note in {note for note, _ in space.places}:
        outcome = answered.outcomes[note]
        spans = () if isinstance(outcome, Failed) else outcome
        found = [(span.start, span.end, tag_label(span, native=answered.native)) for span in spans]
        said[note] = token_labels(documents[note].note.text, found)
    return [
        label != OUTSIDE and said[note][token] == OUTSIDE
        for label, (note, token) in zip(space.labels, space.places, strict=True)
    ]


def _notes_json(corpus: Corpus) -> dict[str, Any]:
    notes = [document.note for document in corpus.documents]
    return {
        "name": corpus.name,
        "digest": corpus.digest,
        "notes": len(notes),
        "spans": corpus.spans,
        "languages": sorted({note.lang or "unknown" for note in notes}),
    }
