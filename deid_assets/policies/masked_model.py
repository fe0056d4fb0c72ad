"""A masked language model that is asked which words may stand in the place of another."""

from __future__ import annotations

import logging
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deid_assets.core.errors import PolicyError
from deid_assets.policies.drawing import fold

POOL = 256
"""Words of the model's distribution that are compared with the original; those after them are improbable."""
_BATCH = 64  # sequences in one call
_KEPT = 65_536  # questions whose answers are kept
_SHORTEST = 2  # letters of a candidate
_GOES_ON = 0.5  # probability that a candidate is the beginning of a word
_STEM = 4  # first letters that a candidate may not share with the original
_BLANKS = "\u0120\u2581"  # a blank before a word, in byte-level and in SentencePiece vocabularies
_LONGEST = 32  # sub-tokens of a word
_CONTEXT = 96  # sub-tokens before a blank, and after it


class Question(NamedTuple):
    """A question to the model: which words may stand in a blank?

    Args:
        opening: What stands before the value.
        parts: Words of the value that are shown, and ``None`` for each blank.
        place: The part that is predicted.
        word: What the blank hides, in the case in which candidates are wanted.
        is_proper: Whether words that the vocabulary has with a small letter too are none: "Pressure" is no name.
        closing: What stands after the value; a full stop when empty.
    """

    opening: str
    parts: tuple[str | None, ...]
    place: int
    word: str
    is_proper: bool = False
    closing: str = ""

    @property
    def blank(self) -> _Blank:
        """The question without its word."""
        return self.opening, self.parts, self.place, self.closing


_Blank = tuple[str, tuple[str | None, ...], int, str]
"""Opening, parts, place and closing of a question."""


class _Pool(NamedTuple):
    """Candidates of a blank, the most probable first.

    Args:
        ids: Their sub-tokens.
        words: As written.
        vectors: Of length one: (words, hidden).
        is_whole: Place to whether the model expects another word after it, where that was asked.
    """

    ids: tuple[int, ...]
    words: tuple[str, ...]
    vectors: NDArray[np.float64]
    is_whole: dict[int, bool]


class MaskedModel:
    """A model and its tokenizer, in double precision, so that neither batch nor processor changes the ranking.

    Args:
        model: An ``AutoModelForMaskedLM``.
        tokenizer: Its fast tokenizer.
    """

    def __init__(self, model: Any, tokenizer: Any) -> None:
        self._model, self._tokenizer = model.double().eval(), tokenizer
        self._special = frozenset(tokenizer.all_special_ids)
        self._before = _first(tokenizer.cls_token_id, tokenizer.bos_token_id)
        self._after = _first(tokenizer.sep_token_id, tokenizer.eos_token_id)
        self._is_cased = self._pieces("Anna") != self._pieces("anna")
        pieces = tokenizer.convert_ids_to_tokens(range(len(tokenizer)))
        marked = any(piece.startswith("##") for piece in pieces)
        self._inner = [number for number, piece in enumerate(pieces) if _is_inner(piece, marked=marked)]
        self._words: dict[int, str | None] = {}
        self._frames: dict[_Blank, tuple[list[int], list[int]]] = {}
        self._pools: dict[tuple[_Blank, str], _Pool] = {}
        self._answers: dict[tuple[Question, int], tuple[str, ...]] = {}

    def answer(self, questions: Iterable[Question], *, top_k: int) -> list[tuple[str, ...]]:
        """Return, for each question, the words most like the hidden one, in alphabetical order.

        Of the model's most probable words, those are taken whose last hidden state in the sentence has the largest
        cosine with that of the original in its place. Fewer than ``top_k`` where the model knows no more.
        """
        asked = list(questions)
        known = {question: self._answers.get((question, top_k)) for question in asked}
        new = [question for question, answer in known.items() if answer is None]
        if len(self._answers) + len(new) > _KEPT:
            self._answers.clear()
        vectors = self._vectors([(question, self._pieces(question.word)) for question in new])
        for question, vector in zip(new, vectors, strict=True):
            self._answers[question, top_k] = known[question] = self._nearest(question, vector, top_k)
        return [known[question] or () for question in asked]

    def _pieces(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer(" " + text, add_special_tokens=False)["input_ids"][:_LONGEST]
        return ids

    def _around(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer(text, add_special_tokens=False)["input_ids"]
        return ids

    def _sequence(self, question: Question, pieces: Sequence[int]) -> tuple[list[int], range]:
        """Return the sentence with the pieces in the blank to predict, and where they stand."""
        blank = question.blank
        if blank not in self._frames:
            if len(self._frames) >= _KEPT:
                self._frames.clear()
            self._frames[blank] = self._frame(question)
        before, after = self._frames[blank]
        return [*before, *pieces, *after], range(len(before), len(before) + len(pieces))

    def _frame(self, question: Question) -> tuple[list[int], list[int]]:
        """Return what stands before the blank to predict, and after it."""
        parts = [[self._tokenizer.mask_token_id] if part is None else self._pieces(part) for part in question.parts]
        before = [] if self._before is None else [self._before]
        before += self._around(" " + question.opening)[-_CONTEXT:] if question.opening else []
        after: list[int] = [piece for part in parts[question.place + 1 :] for piece in part]
        after += self._around(question.closing or ".")[:_CONTEXT]
        after += [] if self._after is None else [self._after]
        return before + [piece for part in parts[: question.place] for piece in part], after

    def _nearest(self, question: Question, vector: NDArray[np.float64], top_k: int) -> tuple[str, ...]:
        """Return the words of the pool that are most like the original and do not give it away by their letters."""
        pool, original = self._pool(question), fold(question.word)
        if not pool.words:
            return ()
        order = np.argsort(-(pool.vectors @ vector), kind="stable").tolist()
        places = [place for place in order if not _tells(fold(pool.words[place]), original)]
        found: dict[str, str] = {}  # folded: a word in two cases counts once
        for first in range(0, len(places), top_k):
            some = places[first : first + top_k]
            self._ask_whole(question, pool, [place for place in some if place not in pool.is_whole])
            for place in some:
                if pool.is_whole[place] and len(found) < top_k:
                    found.setdefault(fold(pool.words[place]), pool.words[place])
            if len(found) == top_k:
                break
        return tuple(sorted(found.values()))

    def _pool(self, question: Question) -> _Pool:
        """Return the candidates of a blank. They depend on the blank and on the case and script of what it hides."""
        is_upper = self._is_cased and question.word[0].isupper()
        kind = f"{is_upper} {question.is_proper} {_script(question.word)}"
        blank = (question.blank, kind)
        if blank not in self._pools:
            ids = tuple(self._probable(question))
            vectors = self._vectors([(question, [number]) for number in ids])
            words = tuple(self._word(number) or "" for number in ids)
            if len(self._pools) >= _KEPT // POOL:
                self._pools.clear()
            self._pools[blank] = _Pool(ids, words, vectors, {})
        return self._pools[blank]

    def _probable(self, question: Question) -> list[int]:
        ids, places = self._sequence(question, [self._tokenizer.mask_token_id])
        scores = self._run(self._model, [ids]).logits[0, places[0]].numpy()
        found: list[int] = []
        for number in np.argsort(-scores, kind="stable"):
            word = self._word(int(number))
            if word is not None and self._fits(word, question):
                found.append(int(number))
                if len(found) == POOL:
                    break
        return found

    def _ask_whole(self, question: Question, pool: _Pool, places: Sequence[int]) -> None:
        """Note after which words the model expects another one: a vocabulary has beginnings of words too."""
        for first in range(0, len(places), _BATCH):
            some = places[first : first + _BATCH]
            rows = [self._sequence(question, [pool.ids[place], self._tokenizer.mask_token_id]) for place in some]
            scores = self._run(self._model, [row for row, _ in rows]).logits
            for row, place in enumerate(some):
                odds = scores[row, rows[row][1][1]].softmax(-1)[self._inner].sum()
                pool.is_whole[place] = bool(odds <= _GOES_ON)

    def _fits(self, word: str, question: Question) -> bool:
        original = question.word
        if _script(word) != _script(original):
            return False
        if not self._is_cased:
            return True
        is_case = word[0].isupper() is original[0].isupper() and word[1:].islower()
        return is_case and not (question.is_proper and self._is_common(word))

    def _is_common(self, word: str) -> bool:
        """Whether the vocabulary has the word with a small letter too."""
        pieces = self._pieces(word.lower())
        return len(pieces) == 1 and self._word(pieces[0]) == word.lower()

    def _word(self, number: int) -> str | None:
        """Return the word that a sub-token is; ``None`` for special ones and for those that are part of a word."""
        if number not in self._words:
            word = self._tokenizer.decode([number]).strip().lstrip(_BLANKS) if number not in self._special else ""
            is_whole = len(word) >= _SHORTEST and word.isalpha() and self._pieces(word) == [number]
            self._words[number] = word if is_whole else None
        return self._words[number]

    def _vectors(self, asked: Sequence[tuple[Question, Sequence[int]]]) -> NDArray[np.float64]:
        """Return the mean of the last hidden states of the pieces in their blanks, of length one: (asked, hidden)."""
        found: list[NDArray[np.float64]] = []
        for first in range(0, len(asked), _BATCH):
            rows = [self._sequence(question, pieces) for question, pieces in asked[first : first + _BATCH]]
            states = self._run(self._model.base_model, [ids for ids, _ in rows])[0].numpy()
            means = (
                state[places.start : places.stop].mean(axis=0) for state, (_, places) in zip(states, rows, strict=True)
            )
            found += [mean / max(float(np.linalg.norm(mean)), 1e-12) for mean in means]
        return np.array(found)

    def _run(self, network: Any, rows: Sequence[Sequence[int]]) -> Any:
        """Run the model, or the encoder under its head alone, which is a good part of a small model's time."""
        import torch  # noqa: PLC0415 - takes a second to load

        size = max(map(len, rows))
        pad = self._tokenizer.pad_token_id or 0
        ids = torch.tensor([[*row, *[pad] * (size - len(row))] for row in rows])
        seen = torch.tensor([[1] * len(row) + [0] * (size - len(row)) for row in rows])
        with torch.inference_mode():
            return network(input_ids=ids, attention_mask=seen)


def _first(*numbers: int | None) -> int | None:
    return next((number for number in numbers if number is not None), None)


def _is_inner(piece: str, *, marked: bool) -> bool:
    """Whether a sub-token continues a word; ``marked`` where the vocabulary has ``##`` before those that do."""
    return piece.startswith("##") if marked else piece[:1].isalpha() and piece[0] not in _BLANKS


def _script(word: str) -> str:
    return unicodedata.name(word[0], "").split(" ")[0]


def _tells(candidate: str, original: str) -> bool:
    return candidate in original or original in candidate or candidate[:_STEM] == original[:_STEM]


def load(folder: str, digest: str) -> MaskedModel:
    """Return the model of a folder, read once; nothing is fetched.

    Args:
        folder: With ``config.json``, ``model.safetensors`` and ``tokenizer.json``.
        digest: Of its files, so that a folder that changed is read again.

    Raises:
        PolicyError: It does not load, or its head was not trained.
    """
    found = _loaded(folder, digest)
    if isinstance(found, str):
        raise PolicyError(f"{folder}: {found}")
    return found


@lru_cache(maxsize=2)
def _loaded(folder: str, digest: str) -> MaskedModel | str:
    """Return the model, or what is wrong with it, so that a batch does not try again with every note."""
    del digest
    import transformers  # noqa: PLC0415 - takes seconds to load

    tokenizers: Any = transformers.AutoTokenizer
    level = transformers.logging.get_verbosity()
    transformers.logging.set_verbosity(logging.CRITICAL)  # what is wrong is said below
    try:
        tokenizer = tokenizers.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        model, report = transformers.AutoModelForMaskedLM.from_pretrained(
            folder, local_files_only=True, trust_remote_code=False, use_safetensors=True, output_loading_info=True
        )
    except Exception as error:  # noqa: BLE001 - transformers raises anything
        return f"the model does not load ({type(error).__name__}); give the files of one training"
    finally:
        transformers.logging.set_verbosity(level)
    if absent := sorted(report["missing_keys"]):
        return f"model.safetensors lacks {absent[0]}; surrogate_mlm needs a trained masked-LM head"
    if tokenizer.mask_token_id is None:
        return "the tokenizer has no mask token; choose a masked language model"
    return MaskedModel(model, tokenizer)
