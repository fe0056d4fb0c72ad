"""The best allowed tags of all sub-tokens together.

The authors of OpenAI's privacy filter decode it so (2026). An entity is ``S-``, or ``B-``, any
number of ``I-`` and ``E-`` of one label; a text begins and ends outside or with a whole entity. Six
biases are added to the transitions: the operating point, with which its authors trade precision for
recall.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from deid_assets.extending import ConfigError, PluginError
from deid_assets.extending.decoding import Scores, viterbi
from deid_published.scheme import parts

CALIBRATION = "viterbi_calibration.json"
BIASES = (
    "background_stay",
    "background_to_start",
    "inside_to_continue",
    "inside_to_end",
    "end_to_background",
    "end_to_start",
)
_PREFIX = "transition_bias_"
_KINDS = {"": "O", "B": "B", "I": "I", "E": "E", "L": "E", "S": "S", "U": "S"}
_NAMES: Mapping[tuple[str, str], str] = {
    ("O", "O"): "background_stay",
    **{("O", after): "background_to_start" for after in "BS"},
    **{(before, "I"): "inside_to_continue" for before in "BI"},
    **{(before, "E"): "inside_to_end" for before in "BI"},
    **{(before, "O"): "end_to_background" for before in "ES"},
    **{(before, after): "end_to_start" for before in "ES" for after in "BS"},
}
"""The bias of each transition that is allowed.

Into the inside or the end of an entity the label must be the same.
"""


def read_biases(folder: Path) -> dict[str, float]:
    """Return the biases of a model's operating point ``default``.

    Zeros where it has no ``viterbi_calibration.json``.

    Raises:
        PluginError: The file is broken.
    """
    file = folder / CALIBRATION
    if not file.is_file():
        return dict.fromkeys(BIASES, 0.0)
    try:
        given = json.loads(file.read_text(encoding="utf-8"))["operating_points"]["default"][
            "biases"
        ]
        return check_biases(
            {str(name).removeprefix(_PREFIX): value for name, value in given.items()}
        )
    except (ValueError, KeyError, TypeError, AttributeError, ConfigError) as error:
        raise PluginError(
            f"{file}: not the six biases of an operating point 'default' ({type(error).__name__});"
            " fetch the model again"
        ) from None


def check_biases(given: Mapping[str, object]) -> dict[str, float]:
    """Return biases by name, 0 for those that are not given.

    Raises:
        ConfigError: A name is unknown, or a bias is no finite number.
    """
    for name, value in given.items():
        if name not in BIASES:
            raise ConfigError(f"bias {name!r} is unknown; choose of {', '.join(BIASES)}")
        if isinstance(value, bool) or not isinstance(value, int | float) or not np.isfinite(value):
            raise ConfigError(f"bias {name} is {value!r}; give a number")
    return {name: float(given.get(name, 0.0)) for name in BIASES}  # type: ignore[arg-type]


def chain(tags: Sequence[str], biases: Mapping[str, float]) -> tuple[Scores, Scores, Scores]:
    """Return the scores of transitions (tags, tags), of a first and of a last tag.

    Minus infinity forbids.
    """
    split = [(_KINDS[prefix], label) for prefix, label in map(parts, tags)]
    transitions = np.full((len(tags), len(tags)), -np.inf, dtype=np.float32)
    for row, (before, label) in enumerate(split):
        for column, (after, other) in enumerate(split):
            name = _NAMES.get((before, after))
            if name is not None and (after not in "IE" or label == other):
                transitions[row, column] = biases[name]
    ends = [
        np.array([0.0 if kind in some else -np.inf for kind, _ in split], np.float32)
        for some in ("OBS", "OES")
    ]
    return transitions, ends[0], ends[1]


def best(scores: Scores, tags: Sequence[str], biases: Mapping[str, float]) -> NDArray[np.int64]:
    """Return the number of the tag of each sub-token.

    Args:
        scores: (sub-tokens, tags) logits of a whole text.
        tags: Of BIOES or BILOU, in the order of the scores.
        biases: As ``check_biases`` returns them.
    """
    transitions, start, end = chain(tags, biases)
    return viterbi(scores[None], [len(scores)], transitions=transitions, start=start, end=end)[0]
