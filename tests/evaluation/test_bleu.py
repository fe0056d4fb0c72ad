import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid_assets.core.errors import InputError
from deid_assets.evaluation.bleu import BleuCounts, bleu_counts, words

SENTENCES = st.lists(st.sampled_from(["a", "b", "c", "d", "5", "mg"]), min_size=1, max_size=14)
CORPORA = st.lists(st.tuples(SENTENCES, SENTENCES), min_size=1, max_size=4)


def bleu(output, reference):
    return bleu_counts(words(output), words(reference)).score()


@settings(max_examples=100, deadline=None)
@given(CORPORA)
def test_a_corpus_agrees_with_sacrebleu(pairs):
    sacrebleu = pytest.importorskip("sacrebleu")
    counts = sum((bleu_counts(*pair) for pair in pairs), BleuCounts())
    outputs, references = ([" ".join(pair[at]) for pair in pairs] for at in range(2))
    scorer = sacrebleu.BLEU(tokenize="none", smooth_method="exp", effective_order=True)

    assert counts.score() == pytest.approx(
        scorer.corpus_score(outputs, [references]).score / 100, abs=1e-9
    )


@given(SENTENCES)
def test_a_text_equals_itself_however_short(tokens):
    assert bleu_counts(tokens, tokens).score() == pytest.approx(1)


@given(CORPORA)
def test_scores_stay_within_bounds(pairs):
    assert 0 <= sum((bleu_counts(*pair) for pair in pairs), BleuCounts()).score() <= 1 + 1e-12


def test_one_changed_number_in_seventy_words_is_hardly_seen():
    reference = " ".join(f"word{at}" for at in range(69)) + " 5"
    output = reference.replace("word30", "word99")

    assert bleu(output, reference) == pytest.approx(0.96, abs=0.01)


def test_a_short_output_pays_for_its_brevity():
    reference = "the pain began at noon and went on until night"

    assert bleu(" ".join(reference.split()[:5]), reference) == pytest.approx(
        2.718281828 ** (1 - 10 / 5)
    )


def test_punctuation_marks_are_words_of_their_own():
    assert words("5,0 mg (oral).") == ["5", ",", "0", "mg", "(", "oral", ")", "."]


def test_an_empty_output_scores_nothing_and_an_empty_reference_is_refused():
    assert bleu("", "some text") == 0
    with pytest.raises(InputError, match="reference"):
        bleu("some text", "")
