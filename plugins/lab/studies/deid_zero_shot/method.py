"""A model with all that decides on the scores of its words; what a threshold is calibrated for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from deid_assets import Note
from deid_assets.extending import ConfigError, Token
from deid_onnx.devices import device
from deid_onnx.session import cores
from deid_zero_shot import export
from deid_zero_shot.batches import Ask
from deid_zero_shot.categories import FeatureCounts
from deid_zero_shot.encoding import NoteEncoder, Specials
from deid_zero_shot.lemmas import lemmatizer
from deid_zero_shot.priors import Priors
from deid_zero_shot.protect import Protection, read_list
from deid_zero_shot.scorer import KEPT, ScoredNote, Scoring, WordScorer
from deid_zero_shot.words import segmenter, words_of

LONGEST = 512
_SHORTEST = 8


class Options(BaseModel):
    """How words are scored.

    Args:
        segment: ``plain``, ``blanks``, ``characters``, ``parsed``, or a function of text and
            language; or one by language, ``plain`` for every other.
        lemmas: ``simple``, ``none`` or ``spacy:PIPELINE``.
        together: Whether the same words elsewhere in the window are masked with a word.
        mean: Whether a word's score is the geometric mean over its sub-tokens, not the product.
        alone: Whether each word is masked by itself; if not, with others that stand apart, which
            takes a fraction of the time.
        window: Most sub-tokens read at once; the model's own limit, at most 512, when not given.
        allow: Whether ordinary words of language and medicine stay, and eponyms that follow no
            title.
        allow_list: File of more words that stay, one a line.
        fields: Whether field labels stay.
        numbers: ``score``, or ``leave`` words with a digit to rules.
        typed: Whether words stay, unscored, that are no PHI by shape and neighbours, as the
            development notes teach.
        prior: Weight with which the word's own rarity counts against its score: 1 for pointwise
            mutual information.
        against: Another model, of general text; how much better ``model`` knows a word than this
            one counts for it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    segment: Any = "plain"
    lemmas: str = "simple"
    together: bool = True
    mean: bool = False
    alone: bool = True
    window: int | None = None
    allow: bool = False
    allow_list: str | None = None
    fields: bool = False
    numbers: str = Field(default="score", pattern="^(score|leave)$")
    typed: bool = False
    prior: float = Field(default=0.0, ge=0, le=2)
    against: str | None = None


def read_options(given: Mapping[str, Any]) -> Options:
    """Return options checked and completed.

    Raises:
        ConfigError: An option is unknown or has no such value.
    """
    try:
        return Options.model_validate(dict(given))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise ConfigError(
            f"zero_shot: {'.'.join(map(str, first['loc']))}: {first['msg']}"
        ) from None


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A model, whichever runtime it is in.

    Args:
        ask: Runs it.
        encoder: Cuts notes for it.
        vocabulary: How many sub-tokens it scores.
        digest: Of weights and tokenizer.
    """

    ask: Ask
    encoder: NoteEncoder
    vocabulary: int
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtime:
    """How a model is run; of no account for a threshold.

    Args:
        precision: Of an export: ``fp32``, ``fp16`` or ``int8``.
        providers: Of an export, as for the detector ``onnx``.
        device: Of a model that is no export: ``cpu``, ``cuda`` and so on; a GPU where there is one
            when not given.
        threads: Cores to use; all when not given.
        batch: Most masked variants in one run.
        allow_download: Whether the model may be fetched by its hub name.
        trust: Whether its weights may be in files that can run code when read.
    """

    precision: str = "fp32"
    providers: str | Sequence[str] = ()
    device: str | None = None
    threads: int | None = None
    batch: int = 32
    allow_download: bool = False
    trust: bool = False

    def __post_init__(self) -> None:
        if self.precision not in export.PRECISIONS:
            raise ConfigError(
                f"precision {self.precision!r} is unknown; choose of {', '.join(export.PRECISIONS)}"
            )
        if self.threads is not None and self.threads < 1:
            raise ConfigError(f"threads is {self.threads}; give 1 or more")
        if self.batch < 1:
            raise ConfigError(f"batch is {self.batch}; give 1 or more")


def backend(model: str | Path, runtime: Runtime) -> LoadedModel:
    """Return a model: with ONNX Runtime where the folder is an export, with PyTorch otherwise.

    Raises:
        PluginError: It is not there, or is no trained masked language model, or the hardware asked
            for is not there.
        ConfigError: It is no export, and an option of one is given, or it is one, and ``device`` is
            given.
    """
    folder = Path(model)
    if (folder / export.FILE).is_file():
        tokenizer, specials, vocabulary, digest = export.read(folder)
        if runtime.device is not None:
            raise ConfigError(f"{model}: it is an export; give providers in place of device")
        wanted = (
            (runtime.providers,) if isinstance(runtime.providers, str) else tuple(runtime.providers)
        )
        ask = export.asker(
            folder,
            precision=runtime.precision,
            providers=wanted,
            threads=runtime.threads or cores(),
        )
        return LoadedModel(ask, NoteEncoder(tokenizer, specials), vocabulary, digest)
    if runtime.precision != "fp32" or runtime.providers:
        raise ConfigError(
            f"{model}: precision and providers need an export; run deid zero-shot export"
        )
    import torch  # noqa: PLC0415 - a second, and not where the model is exported

    from deid_zero_shot.guard import load  # noqa: PLC0415
    from deid_zero_shot.network import asker  # noqa: PLC0415

    torch.set_num_threads(runtime.threads or cores())
    loaded = load(str(model), allow_download=runtime.allow_download, trust=runtime.trust)
    ask = asker(loaded.model, place=device(runtime.device))
    return LoadedModel(
        ask, NoteEncoder(loaded.tokenizer, loaded.specials), loaded.vocabulary, loaded.digest
    )


@dataclass(slots=True)
class Method:
    """Scores the words of notes as the options say.

    Args:
        scorer: Of the model.
        digest: Of the model.
        described: What a threshold holds for, as JSON values.
        priors: Rarity of words by themselves, where it counts.
        weight: With which it does.
        against: Scorer of the other model, where there is one.
        typed: Whether words that are no PHI by their kind stay.
    """

    scorer: WordScorer
    digest: str
    described: Mapping[str, Any]
    priors: Priors | None = None
    weight: float = 0.0
    against: WordScorer | None = None
    typed: bool = False

    def words(self, note: Note) -> list[Token]:
        """Return the words that a note is scored by, in code points."""
        return words_of(note.text, note.lang, self.scorer.scoring.segment)

    def score(
        self, note: Note, *, below: float | None = None, categories: FeatureCounts | None = None
    ) -> ScoredNote:
        """Return the words of a note with their scores; see ``WordScorer.score``.

        Args:
            note: Of any length.
            below: As for the scorer.
            categories: What was learnt of its language; used where words are typed.

        Raises:
            ConfigError: ``below`` is given although the scores are no probabilities.
        """
        if below is not None and (self.priors or self.against):
            raise ConfigError("stages = 2 compares probabilities; leave out prior and against")
        spared = (
            categories.no_phi(note, self.words(note))
            if categories and self.typed
            else frozenset[int]()
        )
        scored = self.scorer.score(note, below=below, spared=spared)
        if self.priors:
            found = self.priors.of(scored)
            scored = _change_scores(
                scored,
                [
                    word.score - self.weight * prior
                    for word, prior in zip(scored.words, found, strict=True)
                ],
            )
        if self.against:
            other = self.against.score(note, spared=spared)
            scored = _change_scores(
                scored,
                [
                    2 * word.score - known.score
                    for word, known in zip(scored.words, other.words, strict=True)
                ],
            )
        return scored


def _change_scores(scored: ScoredNote, scores: Sequence[float]) -> ScoredNote:
    """Return the words with other scores; what is never redacted keeps its own."""
    words = [
        word if word.score >= KEPT else word._replace(score=score)
        for word, score in zip(scored.words, scores, strict=True)
    ]
    return scored._replace(words=words)


def method_of(model: str | Path, options: Options, runtime: Runtime) -> Method:
    """Return a model ready to score.

    Raises:
        PluginError: The model is not there, or is no trained masked language model.
        ConfigError: An option has no such value.
    """
    name, segment = segmenter(options.segment)
    lemma = lemmatizer(options.lemmas)
    more = read_list(Path(options.allow_list)) if options.allow_list else frozenset()
    protection = Protection(options.allow, options.fields, options.numbers == "leave", more)
    found = backend(model, runtime)
    scoring = Scoring(
        segment=segment,
        lemma=lemma,
        together=options.together,
        mean=options.mean,
        alone=options.alone,
        batch=runtime.batch,
        window=_window(found.encoder.specials, options.window),
        spare=protection.words,
    )
    other = backend(options.against, runtime) if options.against else None
    described = options.model_dump(
        mode="json", exclude={"segment", "window", "against", "allow_list"}
    ) | {
        "segment": name,
        "window": scoring.window,
        "allow_list": sorted(more),
        "against": other.digest if other else None,
    }
    scorer = WordScorer(found.encoder, found.ask, found.vocabulary, scoring)
    return Method(
        scorer=scorer,
        digest=found.digest,
        described=described,
        priors=Priors(scorer) if options.prior else None,
        weight=options.prior,
        typed=options.typed,
        against=_scorer(other, scoring, options.window) if other else None,
    )


def _scorer(found: LoadedModel, scoring: Scoring, wanted: int | None) -> WordScorer:
    own = replace(scoring, window=_window(found.encoder.specials, wanted))
    return WordScorer(found.encoder, found.ask, found.vocabulary, own)


def _window(specials: Specials, wanted: int | None) -> int:
    """Return the window: what is wanted, and not more than the model holds.

    Raises:
        ConfigError: It is too short.
    """
    found = min(LONGEST if wanted is None else wanted, specials.window)
    if found < _SHORTEST:
        raise ConfigError(f"window {found} is too short; give {_SHORTEST} sub-tokens or more")
    return found
