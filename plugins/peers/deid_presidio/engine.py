"""An ``AnalyzerEngine`` that fetches no model, opens no socket, logs nothing and skips nothing."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from typing import Any

from presidio_analyzer import (
    AnalyzerEngine,
    Pattern,
    PatternRecognizer,
    RecognizerRegistry,
    RecognizerResult,
)
from presidio_analyzer.context_aware_enhancers import ContextAwareEnhancer
from presidio_analyzer.nlp_engine import NlpEngine, NoOpNlpEngine
from presidio_analyzer.predefined_recognizers import (
    EmailRecognizer,
    IbanRecognizer,
    PhoneRecognizer,
    SpacyRecognizer,
)

from deid_presidio.models import PipelineNlpEngine
from deid_presidio.recognizers import OfflineEmail, StrictIban, WindowedPhone
from deid_presidio.regexes import StrictRegex

# Presidio writes matched text to these: tokens in decision traces, values that fail a checksum.
_LOGGERS = ("presidio-analyzer", "decision_process", "tldextract")
# Patterns that match no blank are searched only in words where this is found; it halves the time.
_NEEDED = {
    "EMAIL_ADDRESS": "@",
    "IP_ADDRESS": r"[.:]\S*[.:]",
    "MAC_ADDRESS": r"[-.:]\S*[-.:]",
    "MEDICAL_LICENSE": r"\d",
    "URL": r"\.\w",
    "US_DRIVER_LICENSE": r"\d",
    "US_PASSPORT": r"\d",
}
_CONTEXT_WORDS = 5  # LemmaContextAwareEnhancer: context_prefix_count
_CONTEXT_CHARS = 80
_WORD = re.compile(r"[^\W_]{2,}")


def offline_engine(
    languages: Sequence[str],
    *,
    context: bool,
    timeout_s: float,
    phone_regions: tuple[str, ...],
    model: str = "",
) -> AnalyzerEngine:
    """Return Presidio's default pattern recognizers in an engine fit for notes.

    Args:
        languages: ISO 639-1 codes.
        context: Whether words before a hit raise its score.
        timeout_s: Limit per pattern and note, in seconds.
        phone_regions: ISO 3166 regions whose national phone formats are tried.
        model: spaCy pipeline for names and places; none when empty.
    """
    for name in _LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    predefined = RecognizerRegistry(supported_languages=list(languages))
    predefined.load_predefined_recognizers(languages=list(languages))
    recognizers = [
        _harden(recognizer, timeout_s=timeout_s, phone_regions=phone_regions)
        for recognizer in predefined.recognizers
        if not isinstance(recognizer, SpacyRecognizer)
    ]
    nlp_engine: NlpEngine = NoOpNlpEngine(
        [{"lang_code": lang, "model_name": "none"} for lang in languages]
    )
    if model:
        nlp_engine = pipeline = PipelineNlpEngine(languages, model)
        recognizers.append(pipeline.recognizer())
    return AnalyzerEngine(
        registry=RecognizerRegistry(recognizers=recognizers, supported_languages=list(languages)),
        nlp_engine=nlp_engine,
        supported_languages=list(languages),
        context_aware_enhancer=WordsBefore() if context else Unchanged(),
    )


def _harden(recognizer: Any, *, timeout_s: float, phone_regions: tuple[str, ...]) -> Any:
    lang = recognizer.supported_language
    if isinstance(recognizer, PhoneRecognizer):
        return WindowedPhone(
            context=recognizer.context, supported_language=lang, supported_regions=phone_regions
        )
    if isinstance(recognizer, IbanRecognizer):
        return StrictIban(timeout_s=timeout_s, context=recognizer.context, supported_language=lang)
    if isinstance(recognizer, EmailRecognizer):
        recognizer = OfflineEmail(context=recognizer.context, supported_language=lang)
    if not isinstance(recognizer, PatternRecognizer):
        return recognizer
    return _make_strict(recognizer, timeout_s=timeout_s)


def _make_strict(recognizer: Any, *, timeout_s: float) -> Any:
    needed = _NEEDED.get(recognizer.supported_entities[0])
    flags = recognizer.global_regex_flags
    # Presidio shares its Pattern objects between instances, so ours are copies.
    patterns: list[Any] = [
        Pattern(pattern.name, pattern.regex, pattern.score) for pattern in recognizer.patterns
    ]
    for pattern in patterns:
        pattern.compiled_regex = StrictRegex(
            pattern.name, pattern.regex, flags, timeout_s=timeout_s, needed=needed
        )
        pattern.compiled_with_flags = flags
    recognizer.patterns = patterns
    return recognizer


class Unchanged(ContextAwareEnhancer):
    """Leaves every score as the pattern gave it."""

    def __init__(self) -> None:
        super().__init__(0.0, 0.0, 0, 0)

    def enhance_using_context(
        self, text: str, raw_results: list[RecognizerResult], *_args: Any, **_kwargs: Any
    ) -> list[RecognizerResult]:
        del text
        return raw_results


class WordsBefore(ContextAwareEnhancer):
    """Raises a score by Presidio's default amounts.

    It goes by the words before the hit instead of by lemmas. Reading 80 characters before each hit
    replaces tokenizing the note, which took longer than the patterns.
    """

    def __init__(self) -> None:
        super().__init__(
            context_similarity_factor=0.35,
            min_score_with_context_similarity=0.4,
            context_prefix_count=_CONTEXT_WORDS,
            context_suffix_count=0,
        )

    def enhance_using_context(
        self,
        text: str,
        raw_results: list[RecognizerResult],
        nlp_artifacts: Any,
        recognizers: list[Any],
        context: Any = None,
    ) -> list[RecognizerResult]:
        del nlp_artifacts, context
        words_of = {recognizer.id: recognizer.context or () for recognizer in recognizers}
        for result in raw_results:
            expected = words_of[
                result.recognition_metadata[RecognizerResult.RECOGNIZER_IDENTIFIER_KEY]
            ]
            if expected and self._has_context(text, result.start, expected):
                raised = max(
                    result.score + self.context_similarity_factor,
                    self.min_score_with_context_similarity,
                )
                result.score = min(raised, self.MAX_SCORE)
        return raw_results

    def _has_context(self, text: str, start: int, expected: Sequence[str]) -> bool:
        before = _WORD.findall(text[max(0, start - _CONTEXT_CHARS) : start].lower())[
            -_CONTEXT_WORDS:
        ]
        return any(word.lower() in near for word in expected for near in before)
