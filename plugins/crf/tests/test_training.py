"""Training against CRFsuite's, probabilities against CRFsuite's and against those of every
sequence, one by one.
"""

from __future__ import annotations

from itertools import islice, pairwise, product
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from deid_assets.core.errors import ConfigError
from deid_assets.core.trainer import Epoch
from deid_crf.channels import Channel
from deid_crf.checkpoint import FOLDER, STATE, read_search, write_search
from deid_crf.evidence import Evidence
from deid_crf.examples import NoteExample
from deid_crf.keys import Keys
from deid_crf.lattice import SequenceBatch, TransitionWeights, posterior
from deid_crf.likelihood import Likelihood
from deid_crf.minimise import SearchState, minimise
from deid_crf.search import best
from deid_crf.trainer import fit
from deid_crf.view import NoteView
from deid_crf.weights import TagWeights

TAGS = 3
SENTENCES: tuple[tuple[list[list[str]], list[int]], ...] = (
    ([["low"], ["capital", "after a title"], ["capital"]], [0, 1, 2]),
    ([["low"], ["low"], ["number"], ["low"]], [0, 0, 0, 0]),
    ([["capital"], ["low"], ["capital", "after a title"]], [0, 0, 1]),
    ([["number"], ["capital"], ["number", "low"]], [0, 1, 2]),
    ([["low"]], [0]),
)
CHANNEL = Channel("x", (0,), lambda names, _: names, ())


def likelihood() -> tuple[Evidence, Likelihood]:
    notes = [
        NoteExample(NoteView.of(" ".join("w" * len(items))), ["O"] * len(items))
        for items, _ in SENTENCES
    ]
    values = [tuple(names) for items, _ in SENTENCES for names in items]
    evidence = Evidence(notes, [Keys(values, np.arange(len(values)))], [CHANNEL], min_patients=1)
    rows = [
        np.arange(first, first + len(items))
        for first, (items, _) in zip(evidence.first, SENTENCES, strict=True)
    ]
    return evidence, Likelihood(
        evidence, rows, [np.array(tags) for _, tags in SENTENCES], width=TAGS
    )


def trained(*, c1: float, c2: float) -> TagWeights:
    evidence, of_tags = likelihood()

    def penalised(x: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope = of_tags(x)
        return value + c2 * float(x @ x), slope + 2 * c2 * x

    *_, last = minimise(penalised, np.zeros(of_tags.size), l1=c1)
    return TagWeights.of(evidence.names, *of_tags.weights(last.x))


def emitted(weights: TagWeights, items: list[list[str]]) -> np.ndarray:
    known = weights.numbers
    return weights.sums(
        [[known[f"x:{name}"] for name in names if f"x:{name}" in known] for names in items]
    )


def shares(
    weights: TagWeights, items: list[list[str]]
) -> tuple[list[tuple[int, ...]], np.ndarray, np.ndarray]:
    """Every sequence of tags, its score and its probability."""
    emissions = emitted(weights, items)
    paths = list(product(range(TAGS), repeat=len(items)))
    ways = np.array(
        [
            sum(float(row[tag]) for row, tag in zip(emissions, path, strict=True))
            + sum(float(weights.transitions[a, b]) for a, b in pairwise(path))
            for path in paths
        ]
    )
    return paths, ways, np.exp(ways - np.logaddexp.reduce(ways))


def test_the_likelihood_is_that_of_the_training_tags_among_all_sequences() -> None:
    evidence, of_tags = likelihood()
    x = np.random.default_rng(3).normal(size=of_tags.size)
    weights = TagWeights.of(evidence.names, *of_tags.weights(x))

    value, _ = of_tags(x)

    expected = 0.0
    for items, tags in SENTENCES:
        paths, _, likely = shares(weights, items)
        expected -= float(np.log(likely[paths.index(tuple(tags))]))
    assert value == pytest.approx(expected, rel=1e-5)


def test_the_gradient_is_what_the_likelihood_changes_by() -> None:
    _, of_tags = likelihood()
    x = np.random.default_rng(4).normal(size=of_tags.size)
    _, slope = of_tags(x)

    for at in range(of_tags.size):
        step = np.zeros(of_tags.size)
        step[at] = 0.01
        assert slope[at] == pytest.approx(
            (of_tags(x + step)[0] - of_tags(x - step)[0]) / 0.02, abs=2e-3
        )


def test_training_multiplies_on_one_thread(toy: SimpleNamespace) -> None:
    threads: set[int] = set()

    def report(_: Epoch) -> None:
        threads.update(
            library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"
        )

    fit(toy.task(), report)
    assert threads == {1}


@pytest.mark.parametrize(("c1", "c2"), [(0.0, 0.1), (0.1, 0.05)])
def test_training_finds_the_weights_that_crfsuite_finds(
    c1: float, c2: float, tmp_path_factory: pytest.TempPathFactory
) -> None:
    pycrfsuite = pytest.importorskip(
        "pycrfsuite", reason="python-crfsuite, the reference, is not installed"
    )
    file = tmp_path_factory.mktemp("suite") / "model"
    trainer = pycrfsuite.Trainer(
        "lbfgs", {"c1": c1, "c2": c2, "max_iterations": 500}, verbose=False
    )
    for items, tags in SENTENCES:
        trainer.append(
            [[f"x:{name}" for name in names] for names in items], [str(tag) for tag in tags]
        )
    trainer.train(str(file))
    tagger = pycrfsuite.Tagger()
    tagger.open(str(file))
    theirs = tagger.info()

    ours = trained(c1=c1, c2=c2)

    for (attribute, tag), weight in theirs.state_features.items():
        number = ours.numbers.get(attribute)
        found = ours.sums([[number] if number is not None else []])[0, int(tag)]
        assert found == pytest.approx(weight, abs=0.02)
    for (before, after), weight in theirs.transitions.items():
        assert ours.transitions[int(before), int(after)] == pytest.approx(weight, abs=0.02)


@pytest.mark.parametrize("items", [items for items, _ in SENTENCES])
def test_the_chain_gives_the_probabilities_of_all_sequences(items: list[list[str]]) -> None:
    weights = trained(c1=0.01, c2=0.1)
    emissions, nothing = emitted(weights, items), np.zeros(TAGS, dtype=np.float32)
    batch, chain = (
        SequenceBatch.of([range(len(items))]),
        TransitionWeights(weights.transitions, nothing, nothing),
    )
    found = posterior(emissions, batch, chain)
    paths, _, likely = shares(weights, items)

    for row, tag in product(range(len(items)), range(TAGS)):
        share = sum(float(p) for path, p in zip(paths, likely, strict=True) if path[row] == tag)
        assert found.tags[row, tag] == pytest.approx(share, abs=1e-5)
    assert tuple(best(emissions, batch, chain, found)) == paths[int(likely.argmax())]


@pytest.mark.parametrize("l1", [0.0, 0.5, 3.0])
def test_the_least_of_a_bowl_with_a_norm_is_found_where_it_is(l1: float) -> None:
    """Of ``curve * (x - centre)^2 / 2 + l1 * |x|`` it is the centre, moved towards 0 by ``l1 /
    curve``.
    """
    centre, curve = np.array([3.0, -2.0, 0.1, -0.4, 0.0]), np.array([1.0, 4.0, 9.0, 2.0, 1.0])

    *_, last = minimise(
        lambda x: (float((curve * (x - centre) ** 2).sum() / 2), curve * (x - centre)),
        np.zeros(5),
        l1=l1,
    )

    assert last.x == pytest.approx(
        np.sign(centre) * np.maximum(np.abs(centre) - l1 / curve, 0), abs=5e-3
    )


def test_no_step_raises_the_value() -> None:
    _, of_tags = likelihood()
    *_, last = islice(minimise(of_tags, np.zeros(of_tags.size), l1=0.05), 40)

    assert len(last.values) > 5
    assert all(after <= before for before, after in pairwise(last.values))


@pytest.mark.parametrize("kept", [1, 4, 9])
def test_a_search_goes_on_as_if_it_had_not_been_interrupted(kept: int, tmp_path: Path) -> None:
    _, of_tags = likelihood()
    start = np.zeros(of_tags.size)
    whole = list(islice(minimise(of_tags, start, l1=0.05), 15))

    write_search(tmp_path, whole[kept - 1])
    rest = list(
        islice(
            minimise(of_tags, start, l1=0.05, search=read_search(tmp_path, size=of_tags.size)),
            15 - kept,
        )
    )

    assert np.array_equal(rest[-1].x, whole[-1].x)
    assert rest[-1].values == whole[-1].values


def test_what_is_kept_must_be_whole_and_of_the_same_training(tmp_path: Path) -> None:
    assert read_search(tmp_path, size=3) is None
    write_search(tmp_path, SearchState(np.zeros(3), [1.0]))

    with pytest.raises(ConfigError, match="3 parameters, not 4; remove it"):
        read_search(tmp_path, size=4)
    (tmp_path / FOLDER / STATE).write_bytes(b"{}")
    with pytest.raises(ConfigError, match=r"broken .*; remove it, and training begins again"):
        read_search(tmp_path, size=3)
