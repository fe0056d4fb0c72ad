"""Outputs held to the note: whatever a model of random weights wants to write."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_model import TEXTS, local, random_model

from deid_assets.core.errors import DetectorError
from deid_generative.align import trim
from deid_generative.grammar import CopyGrammar, CopyProcessor, list_removed
from deid_generative.local import Speech
from deid_generative.reading import Status

HOLE, END = 90, 99


def written(grammar: CopyGrammar, tokens: list[int]) -> list[tuple[int, int, int]]:
    state = grammar.start()
    for token in tokens:
        assert token in grammar.list_allowed(state)
        state = grammar.advance(state, token)
    return list_removed(state)


def test_the_note_may_be_copied_with_placeholders_for_some_of_it() -> None:
    grammar = CopyGrammar([1, 2, 3, 4], [[HOLE, 91]], [50], END, longest=2)

    assert written(grammar, [1, HOLE, 91, 4, END]) == [(1, 3, 0)]
    assert written(grammar, [1, 2, 3, 4, END]) == []
    assert written(grammar, [50, END]) == []
    assert written(grammar, [1, 2, HOLE, 91, END]) == [(2, 4, 0)]


@pytest.mark.parametrize(
    "tokens", [[2], [1, 3], [1, END], [HOLE, 91, 4], [1, 2, 3, 4, HOLE], [50, 1], [HOLE, 91, HOLE]]
)
def test_nothing_else_may_be_written(tokens: list[int]) -> None:
    grammar = CopyGrammar([1, 2, 3, 4], [[HOLE, 91]], [50], END, longest=2)
    state = grammar.start()
    for token in tokens[:-1]:
        state = grammar.advance(state, token)

    assert tokens[-1] not in grammar.list_allowed(state)
    assert grammar.advance(state, tokens[-1]) == {}


def test_an_output_that_was_cut_off_removes_nothing_and_raises() -> None:
    grammar = CopyGrammar([1, 2], [[HOLE]], [], END, longest=2)

    with pytest.raises(DetectorError, match="cut off"):
        list_removed(grammar.advance(grammar.start(), 1))


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.integers(0, 4), max_size=12), st.integers(1, 5), st.randoms(use_true_random=False)
)
def test_every_output_is_the_note_with_runs_replaced(
    source: list[int], longest: int, rng: object
) -> None:
    """The placeholder is made of tokens of the note, so that readings must be told apart by what
    follows.
    """
    grammar = CopyGrammar(source, [[4, 0], [3]], [2], END, longest=longest)
    state, tokens = grammar.start(), []
    while allowed := grammar.list_allowed(state):
        tokens.append(rng.choice(allowed))  # type: ignore[attr-defined]
        state = grammar.advance(state, tokens[-1])
    holes = list_removed(state)
    rebuilt, cursor = [], 0
    for first, stop, which in holes:
        assert 0 < stop - first <= longest
        rebuilt += [*source[cursor:first], *grammar.placeholders[which]]
        cursor = stop
    rebuilt += [*source[cursor:], END]

    assert tokens in (rebuilt, [2, END])


@pytest.mark.parametrize("seed", range(2))
def test_a_model_of_random_weights_makes_nothing_up(spoken: Speech, seed: int) -> None:
    model = local(spoken, seed)
    for text in TEXTS:
        (made,) = model.write([text])
        pieces, cursor = [], 0
        for hole in made.holes:
            assert trim(text, (hole.start, hole.end)) == (hole.start, hole.end)
            pieces.append(text[cursor : hole.start])
            cursor = hole.end
        kept = [piece.strip() for piece in [*pieces, text[cursor:]]]
        assert made.status in {Status.REWRITTEN, Status.ANONYMOUS}
        if made.status is Status.REWRITTEN and "[XXXXX]" not in text:
            assert [piece.strip() for piece in made.output.split("[XXXXX]")] == kept


def test_looking_ahead_changes_no_output_and_no_score_and_takes_fewer_runs(spoken: Speech) -> None:
    """Scores tell what the cache holds.

    One entry too many or too few moves them long before another token wins.
    """
    saved, scored = 0, 0
    for seed in range(2):
        fast, slow = local(spoken, seed), local(spoken, seed, ahead=0)
        for text in TEXTS:
            (one,), (other,) = fast.write([text]), slow.write([text])
            assert ([(h.start, h.end) for h in one.holes], one.output) == (
                [(h.start, h.end) for h in other.holes],
                other.output,
            )
            assert [hole.score for hole in one.holes] == pytest.approx(
                [hole.score for hole in other.holes], abs=1.5e-4
            )
            saved += other.steps - one.steps
            scored += len(one.holes)
    assert saved > 0
    assert scored > 0


def test_the_processor_holds_generate_of_transformers_to_the_same_output(spoken: Speech) -> None:
    for seed in range(2):
        model = random_model(spoken, seed)
        for text in TEXTS[1:3]:
            source, _ = spoken.plain(text)
            prompt = [*spoken.before, *source, *spoken.after]
            grammar = spoken.grammar(text, source)
            ids = torch.tensor([prompt])
            with torch.inference_mode():
                out = model.generate(
                    ids,
                    attention_mask=torch.ones_like(ids),
                    do_sample=False,
                    max_new_tokens=150,
                    eos_token_id=spoken.end,
                    pad_token_id=spoken.end,
                    logits_processor=[CopyProcessor([grammar], prompt=len(prompt))],
                )
            tokens = out[0, len(prompt) :].tolist()
            (ours,) = local(spoken, seed, ahead=0).write([text])
            assert (
                spoken.tokenizer.decode([token for token in tokens if token != spoken.end])
                == ours.output
            )


def test_a_bias_towards_placeholders_removes_no_less(spoken: Speech) -> None:
    plain = sum(bool(made.holes) for text in TEXTS[1:5] for made in local(spoken, 1).write([text]))
    biased = [local(spoken, 1, bias=1e4).write([text])[0] for text in TEXTS[1:5]]

    assert sum(bool(made.holes) for made in biased) >= plain
    assert not any(made.status is Status.ANONYMOUS for made in biased)
