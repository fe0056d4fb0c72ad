"""Text drawn out of a model.

Pseudo-Gibbs and mask-predict from a masked one, left to right from a causal one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import torch

from deid_assets.extending import InputError
from deid_audits.models.opened import LanguageModel
from deid_audits.models.sampling import Sampling, draw, source_of
from deid_audits.models.scoring import Scorer

Ask = Callable[[torch.Tensor, int], torch.Tensor]
"""Function from sequences (rows, positions) and a position to the scores there:
(rows, vocabulary).
"""
FULL, GREEDY = Sampling(), Sampling("greedy")
PROMPTED, LONG_PROMPT = 0.3, 0.3
TITLES = ("mr", "ms")


@dataclass(frozen=True, slots=True)
class Gibbs:
    """Settings of the generator of Vakili and Dalianis (2021), with its own numbers.

    Args:
        length: Tokens that are generated.
        burn_in: Steps in which a token is drawn as ``burn`` says, so that samples differ.
        steps: Steps after them.
        sampling: Of these.
        burn: Of the first ones.
        batch: Sequences that share the position of each step.
        prompted: Share of the batches that begin with a prompt.
        rounds: Where positive, sequences are made by mask-predict in so many rounds, and no steps
            are made.
    """

    length: int = 100
    burn_in: int = 500
    steps: int = 1_000
    sampling: Sampling = field(default_factory=lambda: Sampling("top_k", k=1_000))
    burn: Sampling = FULL
    batch: int = 50
    prompted: float = PROMPTED
    rounds: int = 0

    def __post_init__(self) -> None:
        if self.length < 1 or self.batch < 1 or min(self.burn_in, self.steps, self.rounds) < 0:
            raise InputError(
                "a generator needs a length and a batch of at least 1, and no negative number of"
                " steps"
            )


def gibbs(
    ask: Ask,
    start: torch.Tensor,
    free: Sequence[int],
    *,
    settings: Gibbs,
    mask: int,
    source: torch.Generator,
) -> torch.Tensor:
    """Return sequences after burn-in and sampling.

    What is not free, such as a prompt, stays as it is.

    Args:
        ask: The model.
        start: (rows, positions), what is to be generated masked.
        free: Positions to draw, one at random at a time, the same in all rows.
        settings: How often, and by which rule.
        mask: The token that hides.
        source: Of chance.
    """
    ids = start.clone()
    places = torch.tensor(list(free))
    for step in range(settings.burn_in + settings.steps):
        place = int(places[torch.randint(len(places), (1,), generator=source)])
        ids[:, place] = mask
        sampling = settings.burn if step < settings.burn_in else settings.sampling
        ids[:, place] = draw(ask(ids, place), sampling, source)
    return ids


def mask_predict(
    ask_all: Callable[[torch.Tensor], torch.Tensor],
    start: torch.Tensor,
    free: Sequence[int],
    *,
    rounds: int,
    mask: int,
    sampling: Sampling = GREEDY,
    source: torch.Generator | None = None,
) -> torch.Tensor:
    """Return sequences filled at once, of which the least sure are hidden and filled again
    (Ghazvininejad et al. 2019).

    Args:
        ask_all: Function from (rows, positions) to scores (rows, positions, vocabulary).
        start: As for ``gibbs``.
        free: Positions to fill.
        rounds: Times that all are filled; each time fewer were hidden, in the last none are hidden
            afterwards.
        mask: The token that hides.
        sampling: How a position is filled; greedily, all sequences of one start are alike.
        source: Of chance, where it is not greedy.
    """
    ids, places = start.clone(), torch.tensor(list(free))
    sure = torch.zeros(ids.shape[0], len(places), dtype=torch.double)
    hidden = torch.ones_like(sure, dtype=torch.bool)
    chance = source or source_of(1)
    for done in range(rounds):
        scores = ask_all(ids)[:, places]
        drawn = draw(scores.flatten(0, 1), sampling, chance).view(ids.shape[0], -1)
        shares = torch.softmax(scores.double(), -1).gather(-1, drawn[..., None])[..., 0]
        ids[:, places] = torch.where(hidden, drawn, ids[:, places])
        sure = torch.where(hidden, shares, sure)
        count = len(places) * (rounds - 1 - done) // rounds
        hidden = torch.zeros_like(hidden)
        if count:
            hidden.scatter_(1, sure.topk(count, largest=False).indices, value=True)
            ids[:, places] = torch.where(
                hidden, torch.full_like(ids[:, places], mask), ids[:, places]
            )
    return ids


def draw_masked_texts(
    scorer: Scorer,
    count: int,
    *,
    settings: Gibbs,
    seed: int,
    report: Callable[[int], None] = lambda _done: None,
) -> list[str]:
    """Return texts drawn from a masked model, prompts included.

    30 % of the batches begin with a title; of these 30 % go on with a full stop, five gaps and "is
    a yo", where the gaps are drawn and the words stay.

    Raises:
        InputError: The model is causal, or reads less than such a length.
    """
    lm = scorer.lm
    _check_kind(lm, "masked")
    if settings.length + 24 > lm.context:
        raise InputError(
            f"model {lm.name} reads {lm.context} tokens; generate at most {lm.context - 24}"
        )
    source = source_of(seed)
    texts: list[str] = []
    while len(texts) < count:
        report(len(texts))
        prompt = _prompt(lm, settings.prompted, source)
        row = [lm.opens, *prompt, *[lm.mask] * settings.length, lm.closes]
        free = [place for place, token in enumerate(row) if token == lm.mask]
        start = torch.tensor([row] * min(settings.batch, count - len(texts)))
        if settings.rounds:
            ids = mask_predict(
                asker_of_all(scorer),
                start,
                free,
                rounds=settings.rounds,
                mask=lm.mask,
                sampling=settings.sampling,
                source=source,
            )
        else:
            ids = gibbs(asker(scorer), start, free, settings=settings, mask=lm.mask, source=source)
        texts += [readable(lm, found[1:-1]) for found in ids.tolist()]
    return texts


def _prompt(lm: LanguageModel, share: float, source: torch.Generator) -> list[int]:
    drawn = torch.rand(3, generator=source).tolist()
    if drawn[0] >= share:
        return []
    title = TITLES[int(drawn[1] * len(TITLES))]
    if drawn[2] >= LONG_PROMPT:
        return _ids(lm, title)
    return [*_ids(lm, title + "."), *[lm.mask] * 5, *_ids(lm, "is a yo")]


def _ids(lm: LanguageModel, text: str) -> list[int]:
    found: list[int] = lm.tokenizer(text, add_special_tokens=False)["input_ids"]
    return found


def asker(scorer: Scorer) -> Ask:
    """Return how a masked model is asked at one position, of text alone.

    It never answers with a token of no text.
    """
    never = torch.tensor(sorted(scorer.lm.special))

    def ask(ids: torch.Tensor, place: int) -> torch.Tensor:
        rows = list(ids.numpy())
        scores = scorer.logits_at(rows, [(row, place) for row in range(len(rows))]).cpu()
        scores[:, never] = -torch.inf
        scorer.spent.sequences += len(rows)
        return scores

    return ask


def asker_of_all(scorer: Scorer) -> Callable[[torch.Tensor], torch.Tensor]:
    """Return how a masked model is asked at every position, of text alone.

    It never answers with a token of no text.
    """
    never = torch.tensor(sorted(scorer.lm.special))

    def ask(ids: torch.Tensor) -> torch.Tensor:
        with torch.inference_mode():
            found: torch.Tensor = scorer.lm.model(input_ids=ids.to(scorer.lm.device)).logits
        # a tensor of inference mode cannot be changed outside it
        scores = found.float().cpu().clone()
        scores[..., never] = -torch.inf
        scorer.spent.sequences += len(ids)
        return scores

    return ask


def readable(lm: LanguageModel, ids: Sequence[int]) -> str:
    """Return tokens as text; masks that are left are shown as such."""
    text: str = lm.tokenizer.decode(list(ids), clean_up_tokenization_spaces=True)
    return text


@dataclass(frozen=True, slots=True)
class Continuing:
    """How a causal model goes on.

    Args:
        sampling: How tokens are drawn.
        shortest: Tokens before which it may not end.
        longest: Tokens at which it is stopped.
        batch: Sequences at once.
    """

    sampling: Sampling = field(default_factory=lambda: Sampling("nucleus", p=0.95))
    shortest: int = 0
    longest: int = 64
    batch: int = 64


def continue_prompts(
    scorer: Scorer, prompts: Sequence[str], *, each: int, settings: Continuing, seed: int
) -> Iterator[tuple[int, str]]:
    """Yield the number of a prompt and a continuation of it, without the prompt, as often as
    wanted.

    Raises:
        InputError: The model is masked, or a prompt leaves it no room.
    """
    lm = scorer.lm
    _check_kind(lm, "causal")
    source = source_of(seed)
    jobs = [number for number in range(len(prompts)) for _ in range(each)]
    coded = [[lm.opens, *_ids(lm, prompt)] for prompt in prompts]
    if any(len(ids) >= lm.context for ids in coded):
        raise InputError(
            f"a prompt has more tokens than the {lm.context} that model {lm.name} reads; shorten it"
        )
    for length in sorted({len(ids) for ids in coded}):
        alike = [number for number in jobs if len(coded[number]) == length]
        for at in range(0, len(alike), settings.batch):
            chosen = alike[at : at + settings.batch]
            start = torch.tensor([coded[number] for number in chosen])
            found = _go_on(lm, start, settings, source)
            scorer.spent.sequences += len(chosen)
            yield from zip(chosen, (readable(lm, ids) for ids in found), strict=True)


def _go_on(
    lm: LanguageModel, start: torch.Tensor, settings: Continuing, source: torch.Generator
) -> list[list[int]]:
    """Return the tokens after a start, up to the one that ends a text."""
    ids, cache = start.to(lm.device), None
    found: list[list[int]] = [[] for _ in range(len(start))]
    going = torch.ones(len(start), dtype=torch.bool)
    for step in range(min(settings.longest, lm.context - start.shape[1])):
        with torch.inference_mode():
            out = lm.model(input_ids=ids, past_key_values=cache, use_cache=True)
        scores, cache = out.logits[:, -1].float().cpu().clone(), out.past_key_values
        if step < settings.shortest:
            scores[:, lm.closes] = -torch.inf
        drawn = draw(scores, settings.sampling, source)
        going &= drawn != lm.closes
        for row in going.nonzero()[:, 0].tolist():
            found[row].append(int(drawn[row]))
        if not going.any():
            break
        ids = drawn[:, None].to(lm.device)
    return found


def _check_kind(lm: LanguageModel, kind: str) -> None:
    if lm.kind != kind:
        raise InputError(f"model {lm.name} is {lm.kind}; this generator needs a {kind} one")
