"""A masked language model that is asked which words may stand in the place of another."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from deid_assets import Note
from deid_assets.extending import PluginError, PolicyError, Token
from deid_assets.extending.replacing import fold
from deid_zero_shot.encoding import NoteEncoder
from deid_zero_shot.frames import Blank, BlankQuestion, Sentence
from deid_zero_shot.guard import Loaded
from deid_zero_shot.lemmas import lemmatizer
from deid_zero_shot.scorer import Read, Scoring
from deid_zero_shot.words import plain

POOL, NOTE_POOL = 256, 64
"""Words of the model's distribution that are compared with the original, in a sentence for the
category and in a note, where each costs more; those after them are improbable.
"""
NEAR = 32
"""Sub-tokens of a note on each side of a word in which candidates are compared with the original,
unless a policy names another number.

Which ones are
probable, a whole window tells."""
_WINDOW, _SMALLEST = 256, 8  # sub-tokens of a note around a word
_AT_ONCE = 1_024  # sub-tokens in one call: their states stay in the processor's cache
_KEPT, _KEPT_OF_NOTES = 65_536, 512  # questions whose answers are kept
_SHORTEST = 2  # letters of a candidate
_GOES_ON = 0.5  # probability that a candidate is the beginning of a word
MARGIN = 1e-4
"""Distance within which a cosine or a probability in single precision decides nothing.

Far above its rounding; such a question is asked again in double precision."""
_STEM = 4  # first letters that a candidate may not share with the original
_BLANKS = "\u0120\u2581"  # a blank before a word, in byte-level and in SentencePiece vocabularies
_LONGEST = 32  # sub-tokens of a word


_Asked = TypeVar("_Asked")


class _Pool(NamedTuple):
    """Candidates of a blank, the most probable first.

    Args:
        ids: Their sub-tokens.
        words: As written.
        vectors: Whether exact to vectors of length one, (words, hidden), where they were asked.
        is_whole: Place to whether the model expects no rest of a word after it, where that was
            asked.
    """

    ids: tuple[int, ...]
    words: tuple[str, ...]
    vectors: dict[bool, NDArray[np.float64]]
    is_whole: dict[int, bool]


class MaskedModel:
    """A model whose answers are those of double precision, so that neither batch nor processor
    changes the ranking.

    Candidates are compared in single precision, which takes a third of the time, and again in
    double precision where that could rank otherwise.

    It is loaded, and reads notes, as where it scores words.

    Args:
        loaded: The model and its tokenizer.
    """

    def __init__(self, loaded: Loaded) -> None:
        from deid_transformers.token_scores import TokenScores  # noqa: PLC0415 - loads PyTorch

        exact = TokenScores(deepcopy(loaded.model).double()).eval()
        self._networks = {True: exact, False: TokenScores(loaded.model.float()).eval()}
        self._encoder = NoteEncoder(loaded.tokenizer, loaded.specials)
        self._specials = loaded.specials
        window = max(_SMALLEST, min(_WINDOW, loaded.specials.window - _LONGEST))
        self._scoring = Scoring(segment=plain, lemma=lemmatizer("simple"), window=window)
        self._is_cased = self._pieces("Anna") != self._pieces("anna")
        pieces = [self._encoder.write_token(number) for number in range(loaded.vocabulary)]
        marked = any(piece.startswith("##") for piece in pieces)
        self._vocabulary = len(pieces)
        self._inner = [
            number for number, piece in enumerate(pieces) if _is_inner(piece, marked=marked)
        ]
        self._words: dict[int, str | None] = {}
        self._frames: dict[Sentence, Blank] = {}
        self._pools: dict[tuple[Sentence | Blank, str], _Pool] = {}
        self._answers: dict[tuple[BlankQuestion, int], tuple[str, ...]] = {}
        self._of_notes = 0
        self._read: tuple[str, Read] | None = None

    def blank_in(
        self, note: Note, start: int, end: int, value: Token, *, near: int = NEAR
    ) -> Blank:
        """Return the blank that a word leaves in its note, with the same word masked elsewhere.

        Args:
            note: Of any length; a window of it is read.
            start: First code point of the word.
            end: After its last one.
            value: The range of the value that the word is of; the rest of it is masked.
            near: Sub-tokens on each side in which candidates are compared; 1 or more.
        """
        if self._read is None or self._read[0] != note.digest:
            self._read = (note.digest, Read(note, self._encoder, self._scoring))
        before, after = self._read[1].around(start, end, value)
        return Blank(tuple(before), tuple(after), near)

    def answer(self, questions: Iterable[BlankQuestion], *, top_k: int) -> list[tuple[str, ...]]:
        """Return, for each question, the words most like the hidden one, in alphabetical order.

        Of the model's most probable words, those are taken whose last hidden state in the blank has
        the largest cosine with that of the original in its place. Fewer than ``top_k`` where the
        model knows no more.
        """
        asked = list(questions)
        known = {question: self._answers.get((question, top_k)) for question in asked}
        new = [question for question, answer in known.items() if answer is None]
        self._of_notes += sum(isinstance(question.blank, Blank) for question in new)
        if len(self._answers) + len(new) > _KEPT or self._of_notes > _KEPT_OF_NOTES:
            self._answers.clear()
            self._pools.clear()
            self._of_notes = 0
        originals = [(question, self._pieces(question.word)) for question in new]
        vectors = self._vectors(originals, is_exact=True)
        for question, vector in zip(new, vectors, strict=True):
            self._answers[question, top_k] = known[question] = self._nearest(
                question, vector, top_k
            )
        return [known[question] or () for question in asked]

    def _pieces(self, text: str) -> list[int]:
        return self._encoder.pieces(text)[:_LONGEST]

    def _sequence(
        self, question: BlankQuestion, pieces: Sequence[int], *, is_near: bool = True
    ) -> tuple[list[int], range]:
        """Return what the model reads with the pieces in the blank to predict, and where they
        stand.

        Args:
            question: It.
            pieces: In the blank.
            is_near: Whether of a note only what stands nearest is read.
        """
        blank = question.blank
        if isinstance(blank, Sentence):
            if blank not in self._frames:
                if len(self._frames) >= _KEPT:
                    self._frames.clear()
                self._frames[blank] = self._frame(blank)
            blank = self._frames[blank]
        elif is_near and blank.near is not None:
            blank = Blank(
                (blank.before[0], *blank.before[1:][-blank.near :]),
                (*blank.after[:-1][: blank.near], blank.after[-1]),
            )
        before, after, _ = blank
        return [*before, *pieces, *after], range(len(before), len(before) + len(pieces))

    def _frame(self, sentence: Sentence) -> Blank:
        parts = [
            [self._specials.mask] if part is None else self._pieces(part) for part in sentence.parts
        ]
        before = [
            self._specials.before,
            *(self._encoder.pieces(sentence.opening) if sentence.opening else []),
        ]
        before += [piece for part in parts[: sentence.place] for piece in part]
        after = [piece for part in parts[sentence.place + 1 :] for piece in part]
        end = self._encoder.encode(".").ids.tolist()
        return Blank(tuple(before), (*after, *end, self._specials.after))

    def _nearest(
        self, question: BlankQuestion, vector: NDArray[np.float64], top_k: int
    ) -> tuple[str, ...]:
        """Return the words of the pool that are most like the original and do not give it away by
        their letters.
        """
        pool = self._pool(question)
        if not pool.words:
            return ()
        found = self._rank(question, pool, vector, top_k, is_exact=False)
        if found is None:
            found = self._rank(question, pool, vector, top_k, is_exact=True)
        return tuple(sorted(found or ()))

    def _rank(
        self,
        question: BlankQuestion,
        pool: _Pool,
        vector: NDArray[np.float64],
        top_k: int,
        *,
        is_exact: bool,
    ) -> list[str] | None:
        """Return the words of the pool most like the original; ``None`` where only double
        precision can tell which they are.
        """
        if is_exact not in pool.vectors:
            asked = [(question, [number]) for number in pool.ids]
            pool.vectors[is_exact] = self._vectors(asked, is_exact=is_exact)
        likeness = pool.vectors[is_exact] @ vector
        original = fold(question.word)
        places = [
            place
            for place in np.argsort(-likeness, kind="stable").tolist()
            if not _tells(fold(pool.words[place]), original)
        ]
        found: dict[str, str] = {}  # folded: a word in two cases counts once
        first = 0
        while first < len(places) and len(found) < top_k:
            some = places[first : first + top_k - len(found)]
            self._ask_whole(question, pool, [place for place in some if place not in pool.is_whole])
            for place in filter(pool.is_whole.__getitem__, some):
                word = pool.words[place]
                if not is_exact and fold(word) in found:
                    return None
                found.setdefault(fold(word), word)
            first += len(some)
        is_cut = len(found) == top_k and first < len(places)
        if is_cut and not is_exact:
            last, following = likeness[places[first - 1]], likeness[places[first]]
            if last - following < MARGIN:
                return None
        return list(found.values())

    def _pool(self, question: BlankQuestion) -> _Pool:
        """Return the candidates of a blank.

        They depend on the blank and on the case and script of what it hides.
        """
        is_upper = self._is_cased and question.word[0].isupper()
        kind = f"{is_upper} {question.is_proper} {_script(question.word)}"
        blank = (question.blank, kind)
        if blank not in self._pools:
            ids = tuple(self._probable(question))
            words = tuple(self._word(number) or "" for number in ids)
            if len(self._pools) >= _KEPT // POOL:
                self._pools.clear()
            self._pools[blank] = _Pool(ids, words, {}, {})
        return self._pools[blank]

    def _probable(self, question: BlankQuestion) -> list[int]:
        ids, places = self._sequence(question, [self._specials.mask], is_near=False)
        scores = self._scores([(ids, places[0])], is_exact=True)[0]
        most = NOTE_POOL if isinstance(question.blank, Blank) else POOL
        found: list[int] = []
        for number in np.argsort(-scores, kind="stable"):
            word = self._word(int(number))
            if word is not None and self._fits(word, question):
                found.append(int(number))
                if len(found) == most:
                    break
        return found

    def _ask_whole(self, question: BlankQuestion, pool: _Pool, places: Sequence[int]) -> None:
        """Note after which words the model expects another one.

        A vocabulary has beginnings of words too.
        """
        shares = self._going_on(question, pool, places, is_exact=False)
        close = [place for place in places if abs(shares[place] - _GOES_ON) < MARGIN]
        shares |= self._going_on(question, pool, close, is_exact=True)
        pool.is_whole.update((place, share <= _GOES_ON) for place, share in shares.items())

    def _going_on(
        self, question: BlankQuestion, pool: _Pool, places: Sequence[int], *, is_exact: bool
    ) -> dict[int, float]:
        """Return the probability that a word goes on after each candidate."""
        asked = []
        for place in places:
            row, pieces = self._sequence(question, [pool.ids[place], self._specials.mask])
            asked.append((row, pieces[1]))
        if not asked:
            return {}
        scores = self._scores(asked, is_exact=is_exact).astype(np.float64)
        odds = np.exp(scores - scores.max(axis=1, keepdims=True))
        shares = odds[:, self._inner].sum(axis=1) / odds.sum(axis=1)
        return dict(zip(places, shares.tolist(), strict=True))

    def _fits(self, word: str, question: BlankQuestion) -> bool:
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
        """Return the word that a sub-token is.

        ``None`` for special ones and for those that are part of a word.
        """
        if number not in self._words:
            word = self._encoder.text_of(number).strip().lstrip(_BLANKS)
            is_whole = len(word) >= _SHORTEST and word.isalpha() and self._pieces(word) == [number]
            self._words[number] = word if is_whole else None
        return self._words[number]

    def _vectors(
        self, asked: Sequence[tuple[BlankQuestion, Sequence[int]]], *, is_exact: bool
    ) -> NDArray[np.float64]:
        """Return the mean of the last hidden states of the pieces in their blanks, of length one:
        (asked, hidden).
        """
        import torch  # noqa: PLC0415 - takes a second to load

        found: list[NDArray[np.float64]] = []
        model = self._networks[is_exact].model.base_model
        for some in _calls([self._sequence(question, pieces) for question, pieces in asked]):
            ids, seen = self._pad([row for row, _ in some])
            with torch.inference_mode():
                states = model(input_ids=ids, attention_mask=seen)[0].double().numpy()
            means = (
                state[places.start : places.stop].mean(axis=0)
                for state, (_, places) in zip(states, some, strict=True)
            )
            found += [mean / max(float(np.linalg.norm(mean)), 1e-12) for mean in means]
        return np.array(found)

    def _scores(
        self, asked: Sequence[tuple[Sequence[int], int]], *, is_exact: bool
    ) -> NDArray[np.floating[Any]]:
        """Return the scores of the vocabulary at one place of each row, unnormalised: (rows,
        vocabulary).
        """
        import torch  # noqa: PLC0415 - takes a second to load

        found = []
        for some in _calls(asked):
            ids, seen = self._pad([row for row, _ in some])
            places = torch.tensor([place for _, place in some])
            with torch.inference_mode():
                scores = self._networks[is_exact].scores(ids, seen, torch.arange(len(some)), places)
            found.append(scores.numpy()[:, : self._vocabulary])
        return np.concatenate(found)

    def _pad(self, rows: Sequence[Sequence[int]]) -> tuple[Any, Any]:
        import torch  # noqa: PLC0415 - takes a second to load

        size = max(map(len, rows))
        ids = torch.tensor([[*row, *[self._specials.pad] * (size - len(row))] for row in rows])
        return ids, torch.tensor([[1] * len(row) + [0] * (size - len(row)) for row in rows])


def _calls(
    rows: Sequence[tuple[Sequence[int], _Asked]],
) -> Iterator[Sequence[tuple[Sequence[int], _Asked]]]:
    """Yield as many rows at a time as one call reads."""
    if not rows:
        return
    size = max(1, _AT_ONCE // max(len(row) for row, _ in rows))
    for first in range(0, len(rows), size):
        yield rows[first : first + size]


def _is_inner(piece: str, *, marked: bool) -> bool:
    """Whether a sub-token continues a word.

    ``marked`` where the vocabulary has ``##`` before those that do.
    """
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
    found = _load(folder, digest)
    if isinstance(found, str):
        raise PolicyError(found)
    return found


@lru_cache(maxsize=2)
def _load(folder: str, digest: str) -> MaskedModel | str:
    """Return the model, or what is wrong with it, so that a batch does not try again with every
    note.
    """
    del digest
    from deid_zero_shot.guard import load as guarded  # noqa: PLC0415 - takes seconds to load

    try:
        return MaskedModel(guarded(folder))
    except PluginError as error:
        return str(error)
