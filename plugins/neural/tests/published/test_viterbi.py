"""The decoder of OpenAI's privacy filter against every sequence of tags written out."""

from __future__ import annotations

import itertools
import json
import re

import numpy as np
import pytest

from deid_assets.core.errors import ConfigError, PluginError
from deid_published.aggregation import Convention, SubToken
from deid_published.scheme import EntityScheme
from deid_published.viterbi import BIASES, CALIBRATION, best, check_biases, read_biases

BIOES = ("O", "B-p", "I-p", "E-p", "S-p", "B-q", "I-q", "E-q", "S-q")
BILOU = tuple(tag.replace("E-", "L-").replace("S-", "U-") for tag in BIOES)
ALLOWED = re.compile(r"(O|S-.|B-(.)(I-\2)*E-\2)*")
WAYS = {
    r"O>O": "background_stay",
    r"O>[BS]": "background_to_start",
    r"[BI]>I": "inside_to_continue",
    r"[BI]>E": "inside_to_end",
    r"[ES]>O": "end_to_background",
    r"[ES]>[BS]": "end_to_start",
}


def by_hand(scores: np.ndarray, biases: dict[str, float]) -> tuple[str, ...]:
    """Return the best of all sequences that are whole entities and outside.

    Each is scored by itself.
    """
    found = []
    for path in itertools.product(range(len(BIOES)), repeat=len(scores)):
        tags = [BIOES[at] for at in path]
        if ALLOWED.fullmatch("".join(tags)):
            ways = [f"{a[0]}>{b[0]}" for a, b in itertools.pairwise(tags)]
            added = sum(
                biases[next(name for way, name in WAYS.items() if re.fullmatch(way, one))]
                for one in ways
            )
            found.append((float(scores[np.arange(len(path)), path].sum()) + added, tuple(tags)))
    return max(found)[1]


@pytest.mark.parametrize("seed", range(12))
def test_the_best_tags_are_the_best_of_every_allowed_sequence(seed) -> None:
    draw = np.random.default_rng(seed)
    scores = draw.normal(size=(seed % 4 + 1, len(BIOES))).astype(np.float32) * 2
    biases = check_biases({name: float(draw.normal()) if seed > 3 else 0.0 for name in BIASES})
    wanted = by_hand(scores, biases)

    assert tuple(BIOES[at] for at in best(scores, BIOES, biases)) == wanted
    other = [
        BILOU[at].replace("L-", "E-").replace("U-", "S-") for at in best(scores, BILOU, biases)
    ]
    assert tuple(other) == wanted


def test_an_entity_that_argmax_breaks_stays_whole() -> None:
    text = "Ana Maria Berg"
    pieces = [
        SubToken(0, 3, "Ana", is_unknown=False),
        SubToken(3, 9, " Maria", is_unknown=False),
        SubToken(9, 14, " Berg", is_unknown=False),
    ]
    scores = np.full((3, 5), -4, dtype=np.float32)
    scores[0, 1], scores[1, 0], scores[1, 2], scores[2, 3] = 4, 1, 0.5, 4
    tags = BIOES[:5]

    def spans(how, **more):
        convention = Convention(tags=tags, scheme=EntityScheme.BILOU, aggregation=how, **more)
        return [(one.start, one.end) for one in convention.entities(text, pieces, scores)]

    assert spans("simple") == [(0, 3), (10, 14)]
    assert spans("viterbi", biases=check_biases({})) == [(0, 14)]


def test_the_operating_point_is_read_and_a_broken_one_is_told(tmp_path) -> None:
    assert read_biases(tmp_path) == dict.fromkeys(BIASES, 0.0)
    given = {f"transition_bias_{name}": number / 8 for number, name in enumerate(BIASES)}
    (tmp_path / CALIBRATION).write_text(
        json.dumps({"operating_points": {"default": {"biases": given}}})
    )
    assert list(read_biases(tmp_path).values()) == [number / 8 for number in range(6)]

    for text in (
        "",
        "[]",
        '{"operating_points": {}}',
        '{"operating_points": {"default": {"biases": {"x": 1}}}}',
    ):
        (tmp_path / CALIBRATION).write_text(text)
        with pytest.raises(PluginError, match="not the six biases of an operating point 'default'"):
            read_biases(tmp_path)
    with pytest.raises(ConfigError, match="bias background_stay is 'x'; give a number"):
        check_biases({"background_stay": "x"})
