"""The replacer that writes words which a masked language model puts in the place of
the original's.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from deid_assets import Phi, Span
from deid_assets.extending import ConfigError
from deid_assets.extending.replacing import Context, Draw, case_like, fall_back, fold, split_words
from deid_surrogates.evidence import stands_in
from deid_surrogates.locales import languages, locale_of
from deid_surrogates.names import draw_initials, is_somebodys, parse
from deid_surrogates.shapes import reshape
from deid_surrogates.surrogate import LISTS, Surrogate
from deid_surrogates.words import is_name
from deid_zero_shot import candidates
from deid_zero_shot.frames import WORDED, BlankQuestion, Sentence, opening
from deid_zero_shot.model_files import check_model

TOP_K = 10
_LEAST = 2  # candidates
_WORD = re.compile(r"[^\W\d_]+(?:[\u0300-\u036f]+[^\W\d_]*|['\u2019][^\W\d_]+)*")
_APOSTROPHE = re.compile("['\u2019]")
_FUNCTION_WORDS = frozenset(
    split_words(
        "of the and at for de del la las los el y e di da do dos das della dello dei du des le les"
        " et au aux am an der die das den dem im und von vom van het en och"
    )
)
# values with no word of another kind, as "Street" is
_PROPER = frozenset({Phi.CITY, Phi.REGION, Phi.COUNTRY})
_PREPARED = "questions of the note are answered"
_FIRST, _LAST = "where a word of a value first stands", "where it ends there"
_VALUE, _VALUE_END = "where the value of that word stands", "where the value ends"


class ValueWord(NamedTuple):
    """A word of a value: where it stands, and its query to the model.

    ``None`` where no model is needed.
    """

    start: int
    end: int
    question: BlankQuestion | None
    form: str = ""
    """Name of the inflected form, ``""`` for the base form."""
    is_initial: bool = False


class _Options(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str = Field(min_length=1)
    top_k: int = Field(default=TOP_K, ge=2, le=100)
    around: Literal["category", "document"] = "category"
    near: int = Field(default=candidates.NEAR, ge=1, le=256)


@dataclass(frozen=True, slots=True)
class MaskedSurrogate:
    """A keyed surrogate out of the words that a masked language model holds for likely.

    The tag where it has none.

    Each word is drawn by key, patient, category and word, out of the ``top_k`` candidates that are
    most like it. By default the candidates come from a sentence for the category, not from the
    note: so a word has the same ones in every note, its surrogate is the patient's everywhere, and
    nothing is stored. From the document's own context, as Myntti (2025, section 1.9) takes them,
    they fit their place, and are the same within one note alone; the note is read as where its
    words are scored, with the same word masked wherever it stands.

    Args:
        model: Folder of the model.
        top_k: How many candidates are drawn from, 2 to 100.
        files: SHA-256 of the model's files, for the policy's digest.
        around: Where the candidates come from: ``category`` or ``document``.
        near: With ``document``, sub-tokens on each side of a word in which the candidates are
            compared with it, 1 to 256; the time grows with it.
        plugin: Version of this code, for the policy's digest.
    """

    model: str = field(metadata={"digest": False})  # its files count, not where they lie
    top_k: int = TOP_K
    files: str = ""
    around: Literal["category", "document"] = "category"
    plugin: str = ""
    near: int = candidates.NEAR
    keyed: ClassVar[bool] = True
    avoids_originals: ClassVar[bool] = True
    original_of = staticmethod(Surrogate.original_of)
    serves: ClassVar[Sequence[Phi]] = WORDED
    in_words: ClassVar[str] = "surrogate, from a language model"
    packages: ClassVar[Sequence[str]] = (*LISTS, "torch", "transformers")

    @classmethod
    def from_options(
        cls, options: Mapping[str, Any], *, folder: Path, plugin: str
    ) -> MaskedSurrogate:
        """Return the replacer of a policy file's options; loads no model.

        Raises:
            ConfigError: An option is unknown or has no such value, or the model is not there or is
                of another kind.
        """
        if "model" not in options:
            raise ConfigError("surrogate_mlm needs model, the folder of a masked language model")
        try:
            given = _Options.model_validate(dict(options))
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            raise ConfigError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None
        model = str(folder / given.model)
        files = check_model(model)
        return cls(model, given.top_k, files, given.around, plugin, given.near)

    def __call__(self, text: str, span: Span, context: Context) -> str:
        words = self._words(text, span, context)
        if not any(word.question or word.is_initial for word in words):
            return fall_back(text, span, context)
        self._prepare(context)
        drawn = self._draw(text, words, span.label, context)
        if drawn is None or fold(drawn) == fold(text) or _is_anothers(drawn, span.label, context):
            return fall_back(text, span, context)
        return drawn

    def _prepare(self, context: Context) -> None:
        """Answer all questions of the note in as few calls of the model as possible."""
        if (_PREPARED, self) in context.numbers or context.spans is None or context.policy is None:
            return
        context.numbers[_PREPARED, self] = 1
        note = context.note
        mine = (span for span in context.spans if context.policy.action(span.label) == self)
        words = (
            word
            for span in mine
            for word in self._words(note.text[span.start : span.end], span, context)
        )
        self._answers([word.question for word in words if word.question])

    def _words(self, text: str, span: Span, context: Context) -> tuple[ValueWord, ...]:
        words = _words_of(text, span.label, context.note.lang)
        if self.around == "category":
            return words
        found: list[ValueWord] = []
        for word in words:
            if word.question is None:
                found.append(word)
                continue
            question = self._in_note(word, word.question, span, context)
            found.append(word._replace(question=question))
        return tuple(found)

    def _in_note(
        self, word: ValueWord, question: BlankQuestion, span: Span, context: Context
    ) -> BlankQuestion:
        """Return a question as it stands in the note, where the word is first a value's."""
        key = (span.label, fold(question.word))
        start, end = span.start + word.start, span.start + word.end
        first, last = (
            context.numbers.setdefault((_FIRST, *key), start),
            context.numbers.setdefault((_LAST, *key), end),
        )
        value = (
            context.numbers.setdefault((_VALUE, *key), span.start),
            context.numbers.setdefault((_VALUE_END, *key), span.end),
        )
        blank = self._load().blank_in(context.note, first, last, value, near=self.near)
        return question._replace(blank=blank)

    def _answers(self, questions: list[BlankQuestion]) -> list[tuple[str, ...]]:
        return self._load().answer(questions, top_k=self.top_k)

    def _load(self) -> candidates.MaskedModel:
        return candidates.load(self.model, self.files)

    def _draw(
        self, text: str, words: tuple[ValueWord, ...], label: Phi, context: Context
    ) -> str | None:
        candidates = iter(self._answers([word.question for word in words if word.question]))
        parts: list[str] = []
        cursor = 0
        for word in words:
            token = text[word.start : word.end]
            other: str | None = draw_initials(token, context) if word.is_initial else token
            if word.question:
                free = [
                    candidate
                    for candidate in next(candidates)
                    if fold(candidate) not in map(fold, parts)
                ]
                other = _choose(free, word, token, label, context)
            if other is None:
                return None
            parts += (_redraw_digits(text[cursor : word.start], context), other)
            cursor = word.end
        return "".join((*parts, _redraw_digits(text[cursor:], context)))


def _words_of(text: str, label: Phi, lang: str | None) -> tuple[ValueWord, ...]:
    """Return the words of a value; none where it cannot be read, so that nothing of it stays."""
    if label not in WORDED:
        return ()
    words = _name_words(text, lang) if label is Phi.NAME else _other_words(text, label, lang)
    starts, ends = [word.start for word in words], [word.end for word in words]
    between = "".join(
        text[end:start] for end, start in zip([0, *ends], [*starts, len(text)], strict=True)
    )
    is_read = all(
        _APOSTROPHE.sub("", fold(text[word.start : word.end])).isalpha() for word in words
    )
    is_left = any((char.isalnum() and not char.isdecimal()) or _is_mark(char) for char in between)
    return words if is_read and not is_left else ()


def _is_mark(char: str) -> bool:
    return unicodedata.category(char).startswith("M")


def _name_words(text: str, lang: str | None) -> tuple[ValueWord, ...]:
    """Return the words of a name, each asked for on its own, so that a name and a mention of its
    part agree.
    """
    has_pack = lang is None or lang in languages()
    known = lang if has_pack else None
    found = []
    for piece in parse(text, known)[0]:
        start, end, kind = piece.start, piece.end, piece.kind
        if kind == "initials" and has_pack:
            found.append(ValueWord(start, end, None, is_initial=True))
        elif kind == "kept":
            found.append(ValueWord(start, end, None))
        else:
            locale = locale_of(known)
            lemma, form = locale.inflection.split(
                text[start:end], lambda base: is_name(locale_of(known), base)
            )
            question = BlankQuestion(
                Sentence(opening(lang, Phi.NAME), (None,), 0), _capital(lemma), is_proper=True
            )
            found.append(ValueWord(start, end, question, form if has_pack else ""))
    return tuple(found)


def _other_words(text: str, label: Phi, lang: str | None) -> tuple[ValueWord, ...]:
    matches = list(_WORD.finditer(text))
    is_mixed = len(matches) > 1 and any(map(str.isupper, text))
    parts = tuple(
        match[0] if is_mixed and match[0] in _FUNCTION_WORDS else None for match in matches
    )
    is_lower = label is Phi.PROFESSION and lang != "de"
    found = []
    for place, (match, shown) in enumerate(zip(matches, parts, strict=True)):
        wanted = fold(match[0]) if is_lower else _capital(match[0])
        sentence = Sentence(opening(lang, label), parts, place)
        question = BlankQuestion(sentence, wanted, label in _PROPER) if shown is None else None
        found.append(ValueWord(match.start(), match.end(), question))
    return tuple(found)


def _is_anothers(drawn: str, label: Phi, context: Context) -> bool:
    """Whether a name is someone's full name in the batch, in any order.

    A city or a profession is nobody's alone.
    """
    lang = context.note.lang
    return (
        label is Phi.NAME and (lang is None or lang in languages()) and is_somebodys(drawn, context)
    )


def _capital(word: str) -> str:
    folded = fold(word)
    return folded[:1].upper() + folded[1:]


def _choose(
    candidates: Sequence[str], word: ValueWord, token: str, label: Phi, context: Context
) -> str | None:
    """Return the first of a keyed row of candidates that is no word of the note, in form and case
    of the original.

    The row is a shuffle of all candidates; one candidate alone is no choice, and would tell the
    original.
    """
    lang = context.note.lang
    if label is Phi.NAME and (lang is None or lang in languages()):
        # Of a name in any form the surrogate is the same, so it has to be one that all forms are
        # known of.
        candidates = [other for other in candidates if locale_of(lang).inflection.can_join(other)]
    if word.question is None or len(candidates) < _LEAST:
        return None
    draw = Draw(context, f"mlm {label}", fold(word.question.word))
    row = sorted(
        candidates, key=lambda other: hashlib.sha256(draw.stream(32) + other.encode()).digest()
    )
    other = next((other for other in row if not stands_in(context.note, other)), None)
    if other is None:
        return None
    return case_like(
        token, locale_of(lang).inflection.join(other, word.form) if word.form else other
    )


def _redraw_digits(text: str, context: Context) -> str:
    digits = iter(reshape("".join(filter(str.isdecimal, text)), context, "mlm digits"))
    return "".join(next(digits) if char.isdecimal() else char for char in text)
