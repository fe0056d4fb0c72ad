"""A spaCy pipeline from a folder inside Presidio, whose labels are checked when it loads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from presidio_analyzer.nlp_engine import (
    NerModelConfiguration,
    NlpArtifacts,
    NoOpNlpEngine,
    SpacyNlpEngine,
)
from presidio_analyzer.predefined_recognizers import SpacyRecognizer

from deid_assets import LabelMap
from deid_assets.extending import ConfigError

IGNORED = frozenset(
    {
        "CARDINAL",
        "EVENT",
        "FAC",
        "LANGUAGE",
        "LAW",
        "MISC",
        "MONEY",
        "ORDINAL",
        "PERCENT",
        "PRODUCT",
        "QUANTITY",
        "WORK_OF_ART",
    }
)
"""Labels of spaCy's pipelines that Presidio has no entity for, as it is configured by default."""


class PipelineNlpEngine(SpacyNlpEngine):
    """Adapter that gives Presidio the entities of a pipeline.

    It does so in the language of that pipeline alone.

    Args:
        languages: ISO 639-1 codes.
        model: Folder that ``nlp.to_disk`` wrote, or name of an installed pipeline; nothing is
            fetched.

    Raises:
        ConfigError: There is no such pipeline, it sets no entities, or it is for another language.
        UnknownLabelError: It has a label that Presidio would drop without a word.
    """

    def __init__(self, languages: Sequence[str], model: str) -> None:
        self.lang = _language(model)
        if self.lang not in languages:
            raise ConfigError(
                f"presidio: {model} is for {self.lang!r}; give one for {' or '.join(languages)}"
            )
        configuration = NerModelConfiguration()
        super().__init__([{"lang_code": self.lang, "model_name": model}], configuration)
        self.load()
        self.entities = _entities(
            self.get_nlp(self.lang), configuration.model_to_presidio_entity_mapping or {}
        )
        self._languages = list(languages)
        self._empty = NoOpNlpEngine(
            [{"lang_code": lang, "model_name": "none"} for lang in languages]
        )
        self._empty.load()

    def get_supported_languages(self) -> list[str]:
        """Return all languages, with the pipeline's or not."""
        return self._languages

    def process_text(self, text: str, language: str) -> NlpArtifacts:
        """Return what the pipeline says, or nothing for a language that it was not made for."""
        if language == self.lang:
            return super().process_text(text, language)
        return self._empty.process_text(text, language)

    def recognizer(self) -> SpacyRecognizer:
        """Return the recognizer that hands the pipeline's entities on."""
        return SpacyRecognizer(
            supported_language=self.lang, supported_entities=sorted(self.entities)
        )


def _language(model: str) -> str:
    """Return the language of a pipeline; Presidio would try to download one that is not there."""
    import spacy  # noqa: PLC0415 - loaded with the detector

    if not (Path(model).is_dir() or spacy.util.is_package(model)):
        raise ConfigError(
            f"presidio: {model} is neither a pipeline folder nor an installed pipeline; give the"
            " folder that nlp.to_disk wrote, with config.cfg in it"
        )
    try:
        return str(spacy.load(model).meta["lang"])
    except (OSError, ValueError):
        raise ConfigError(f"presidio: {model} does not load as a spaCy pipeline") from None


def _entities(nlp: Any, presidio_name: Mapping[str, str]) -> frozenset[str]:
    setters = [name for name in nlp.pipe_names if "doc.ents" in nlp.get_pipe_meta(name).assigns]
    labels = {label for name in setters for label in nlp.pipe_labels.get(name, ())}
    known = LabelMap("presidio's model labels", dict.fromkeys({*presidio_name, *IGNORED}))
    known.require(sorted(labels))
    if not labels - IGNORED:
        raise ConfigError(
            "presidio: the pipeline sets no entities that Presidio knows; give one with names or"
            " places"
        )
    return frozenset(presidio_name[label] for label in labels - IGNORED)
