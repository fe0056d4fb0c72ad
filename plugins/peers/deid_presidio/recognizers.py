"""Three of Presidio's recognizers, made to stay offline, to fail loudly and to read less."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import tldextract
from presidio_analyzer import Pattern, RecognizerResult
from presidio_analyzer.predefined_recognizers import (
    EmailRecognizer,
    IbanRecognizer,
    PhoneRecognizer,
)

from deid_presidio.regexes import StrictRegex


class OfflineEmail(EmailRecognizer):
    """Checks domains against the public-suffix list that tldextract ships.

    It never fetches a newer one.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._extract = tldextract.TLDExtract(
            cache_dir=None, suffix_list_urls=(), fallback_to_snapshot=True
        )

    def validate_result(self, pattern_text: str) -> bool:
        return bool(self._extract(pattern_text).fqdn)


class StrictIban(IbanRecognizer):
    """Presidio's account pattern and check digits, with a timeout that raises.

    Of each hit the longest part whose check digits are right is kept, as in Presidio.
    """

    # Declared because Presidio leaves them to be inferred.
    patterns: list[Pattern]
    name: str
    global_regex_flags: int

    def __init__(self, *, timeout_s: float, **options: Any) -> None:
        super().__init__(**options)
        self._strict = [
            StrictRegex(pattern.name, pattern.regex, self.global_regex_flags, timeout_s=timeout_s)
            for pattern in self.patterns
        ]

    def analyze(
        self,
        text: str,
        entities: list[str],
        nlp_artifacts: Any = None,
        regex_flags: int | None = None,
    ) -> list[RecognizerResult]:
        del entities, nlp_artifacts, regex_flags
        results = []
        for pattern, strict in zip(self.patterns, self._strict, strict=True):
            for match in strict.finditer(text):
                best = next(self._valid(text, match), None)
                if best is not None:
                    end, is_certain = best
                    score = self.MAX_SCORE if is_certain else pattern.score
                    results.append(self._result(match.start(), end, score))
        return results

    def _valid(self, text: str, match: Any) -> Iterator[tuple[int, bool]]:
        for end in sorted({match.end(group) for group in (1, 2, 3)}, reverse=True):
            validity = self.validate_result(text[match.start() : end])
            if validity is not False:
                yield end, bool(validity)

    def _result(self, start: int, end: int, score: float) -> RecognizerResult:
        return RecognizerResult(
            entity_type=self.supported_entities[0],
            start=start,
            end=end,
            score=score,
            recognition_metadata={
                RecognizerResult.RECOGNIZER_NAME_KEY: self.name,
                RecognizerResult.RECOGNIZER_IDENTIFIER_KEY: self.id,
            },
        )


class WindowedPhone(PhoneRecognizer):
    """Looks for phone numbers around runs of digits only.

    Presidio goes through the whole note once per region instead.
    """

    # phonenumbers allows four characters or an x between two digits of a number, and no line break.
    _DIGITS = re.compile(r"\d(?:(?:[^\w\n]|[xX]){0,4}\d){4,}")
    _BEFORE = 12
    _AFTER = 30  # room for "extension 1234"

    def analyze(
        self, text: str, entities: list[str], nlp_artifacts: Any = None
    ) -> list[RecognizerResult]:
        results = []
        for start, end in self._windows(text):
            for result in super().analyze(text[start:end], entities, nlp_artifacts):
                result.start += start
                result.end += start
                results.append(result)
        return results

    def _windows(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield ranges of single lines that do not overlap and cut no run of digits."""
        window: tuple[int, int] | None = None
        for digits in self._DIGITS.finditer(text):
            start, end = self._window(text, *digits.span())
            if window is not None and start <= window[1]:
                start = window[0]
            elif window is not None:
                yield window
            window = start, end
        if window is not None:
            yield window

    def _window(self, text: str, start: int, end: int) -> tuple[int, int]:
        left = max(text.rfind("\n", 0, start) + 1, start - self._BEFORE)
        line_end = text.find("\n", end)
        right = min(end + self._AFTER, len(text) if line_end < 0 else line_end)
        while left > 0 and text[left].isalnum() and text[left - 1].isalnum():
            left -= 1
        while right < len(text) and text[right - 1].isalnum() and text[right].isalnum():
            right += 1
        return left, right
