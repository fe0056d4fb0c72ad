"""CRFsuite's model as read here: its own probabilities, those of every sequence one by one, and those of the chain."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pycrfsuite
import pytest

from deid_crf.lattice import Batch, Chain, best, posterior
from deid_crf.trainer import _weights
from deid_crf.weights import Weights

TAGS = 3
NAMES = ("low", "capital", "number", "after a title")
SENTENCES = (
    ([["low"], ["capital", "after a title"], ["capital"]], [0, 1, 2]),
    ([["low"], ["low"], ["number"], ["low"]], [0, 0, 0, 0]),
    ([["capital"], ["low"], ["capital", "after a title"]], [0, 0, 1]),
    ([["number"], ["capital"], ["number", "low"]], [0, 1, 2]),
)


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> tuple[pycrfsuite.Tagger, Weights]:
    file = tmp_path_factory.mktemp("suite") / "model"
    trainer = pycrfsuite.Trainer("lbfgs", {"c1": 0.01, "c2": 0.1}, verbose=False)
    for items, tags in SENTENCES:
        trainer.append(numbered(items), [str(tag) for tag in tags])
    trainer.train(str(file))
    tagger = pycrfsuite.Tagger()
    tagger.open(str(file))
    return tagger, _weights(file, {name: number for number, name in enumerate(NAMES)}, TAGS)


def numbered(items: list[list[str]]) -> list[list[str]]:
    return [[str(NAMES.index(name)) for name in names] for names in items]


def emitted(weights: Weights, items: list[list[str]]) -> np.ndarray:
    return weights.sums([[weights.numbers[name] for name in names if name in weights.numbers] for names in items])


@pytest.mark.parametrize("items", [items for items, _ in SENTENCES])
def test_the_chain_gives_the_probabilities_of_crfsuite_and_of_all_sequences(
    suite: tuple[pycrfsuite.Tagger, Weights], items: list[list[str]]
) -> None:
    tagger, weights = suite
    emissions, nothing = emitted(weights, items), np.zeros(TAGS, dtype=np.float32)
    batch, chain = Batch.of([range(len(items))]), Chain(weights.transitions, nothing, nothing)
    found = posterior(emissions, batch, chain)
    tagger.set(numbered(items))

    paths = list(product(range(TAGS), repeat=len(items)))
    ways = [
        sum(float(row[tag]) for row, tag in zip(emissions, path, strict=True))
        + sum(float(weights.transitions[a, b]) for a, b in pairwise(path))
        for path in paths
    ]
    shares = np.exp(np.array(ways) - np.logaddexp.reduce(ways))

    for path, share in zip(paths, shares, strict=True):
        assert tagger.probability([str(tag) for tag in path]) == pytest.approx(share, abs=1e-5)
    for row in range(len(items)):
        theirs = [tagger.marginal(str(tag), row) for tag in range(TAGS)]
        assert found.tags[row] == pytest.approx(theirs, abs=1e-5)
    assert best(emissions, batch, chain, found.tags).tolist() == [int(tag) for tag in tagger.tag()]
    assert tuple(map(int, tagger.tag())) == paths[int(shares.argmax())]


def test_weights_are_those_that_crfsuite_dumps(suite: tuple[pycrfsuite.Tagger, Weights]) -> None:
    tagger, weights = suite
    dumped = tagger.info()

    for (attribute, tag), weight in dumped.state_features.items():
        found = emitted(weights, [[NAMES[int(attribute)]]])[0, int(tag)]
        assert found == pytest.approx(weight, abs=1e-6)
    assert len(weights.values) == sum(1 for weight in dumped.state_features.values() if weight)
