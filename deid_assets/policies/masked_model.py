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


class Question(NamedTuple):
    """Which words may stand in a blank?

    Args:
        opening: What stands before the value.
        parts: Words of the value that are shown, and ``None`` for each blank.
        place: Which of the parts is asked for.
        word: What the blank hides, in the case in which candidates are wanted.
    """

    opening: str
    parts: tuple[str | None, ...]
    place: int
    word: str


class _Pool(NamedTuple):
    """Candidates of a blank: words, and their vectors of length one, (words, hidden)."""

    words: tuple[str, ...]
    vectors: NDArray[np.float64]


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
        self._pools: dict[tuple[str, tuple[str | None, ...], int, str], _Pool] = {}
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
            found = _nearest(question.word, vector, self._pool(question), top_k)
            self._answers[question, top_k] = known[question] = found
        return [known[question] or () for question in asked]

    def _pieces(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer(" " + text, add_special_tokens=False)["input_ids"][:_LONGEST]
        return ids

    def _sequence(self, question: Question, pieces: Sequence[int]) -> tuple[list[int], range]:
        """Return the sentence with the pieces in the blank that is asked for, and where they stand."""
        ids = [] if self._before is None else [self._before]
        ids += self._pieces(question.opening) if question.opening else []
        found = range(0)
        for place, part in enumerate(question.parts):
            if place == question.place:
                found = range(len(ids), len(ids) + len(pieces))
                ids += pieces
            else:
                ids += [self._tokenizer.mask_token_id] if part is None else self._pieces(part)
        ids += self._tokenizer(".", add_special_tokens=False)["input_ids"]
        return ids + ([] if self._after is None else [self._after]), found

    def _pool(self, question: Question) -> _Pool:
        """Return the candidates of a blank. They depend on the blank and on the case and script of what it hides."""
        kind = f"{question.word[0].isupper() if self._is_cased else None}{_script(question.word)}"
        blank = (question.opening, question.parts, question.place, kind)
        if blank not in self._pools:
            ids = self._whole(question, self._probable(question))
            vectors = self._vectors([(question, [number]) for number in ids])
            words = tuple(self._word(number) or "" for number in ids)
            if len(self._pools) >= _KEPT // POOL:
                self._pools.clear()
            self._pools[blank] = _Pool(words, vectors)
        return self._pools[blank]

    def _probable(self, question: Question) -> list[int]:
        ids, places = self._sequence(question, [self._tokenizer.mask_token_id])
        scores = self._run([ids]).logits[0, places[0]].numpy()
        found: list[int] = []
        for number in np.argsort(-scores, kind="stable"):
            word = self._word(int(number))
            if word is not None and self._fits(word, question.word):
                found.append(int(number))
                if len(found) == POOL:
                    break
        return found

    def _whole(self, question: Question, ids: Sequence[int]) -> list[int]:
        """Return those after which the model expects another word: a vocabulary has beginnings of words too."""
        found: list[int] = []
        for first in range(0, len(ids), _BATCH):
            some = ids[first : first + _BATCH]
            rows = [self._sequence(question, [number, self._tokenizer.mask_token_id]) for number in some]
            scores = self._run([row for row, _ in rows]).logits
            odds = [scores[row, places[1]].softmax(-1)[self._inner].sum() for row, (_, places) in enumerate(rows)]
            found += [number for number, odd in zip(some, odds, strict=True) if odd <= _GOES_ON]
        return found

    def _fits(self, word: str, original: str) -> bool:
        is_case = not self._is_cased or (word[0].isupper() is original[0].isupper() and word[1:].islower())
        return is_case and _script(word) == _script(original)

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
            states = self._run([ids for ids, _ in rows]).hidden_states[-1].numpy()
            means = (
                state[places.start : places.stop].mean(axis=0) for state, (_, places) in zip(states, rows, strict=True)
            )
            found += [mean / max(float(np.linalg.norm(mean)), 1e-12) for mean in means]
        return np.array(found)

    def _run(self, rows: Sequence[Sequence[int]]) -> Any:
        import torch  # noqa: PLC0415 - takes a second to load

        size = max(map(len, rows))
        pad = self._tokenizer.pad_token_id or 0
        ids = torch.tensor([[*row, *[pad] * (size - len(row))] for row in rows])
        seen = torch.tensor([[1] * len(row) + [0] * (size - len(row)) for row in rows])
        with torch.inference_mode():
            return self._model(input_ids=ids, attention_mask=seen, output_hidden_states=True)


def _first(*numbers: int | None) -> int | None:
    return next((number for number in numbers if number is not None), None)


def _is_inner(piece: str, *, marked: bool) -> bool:
    """Whether a sub-token goes on with a word; ``marked`` where the vocabulary has ``##`` before those that do."""
    return piece.startswith("##") if marked else piece[:1].isalpha() and piece[0] not in _BLANKS


def _script(word: str) -> str:
    return unicodedata.name(word[0], "").split(" ")[0]


def _nearest(word: str, vector: NDArray[np.float64], pool: _Pool, top_k: int) -> tuple[str, ...]:
    """Return the words of the pool that are most like the original and do not give it away by their letters."""
    if not pool.words:
        return ()
    order = np.argsort(-(pool.vectors @ vector), kind="stable")
    found: dict[str, str] = {}  # folded: a word in two cases counts once
    for place in order:
        candidate = pool.words[place]
        if not _tells(fold(candidate), fold(word)):
            found.setdefault(fold(candidate), candidate)
        if len(found) == top_k:
            break
    return tuple(sorted(found.values()))


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
