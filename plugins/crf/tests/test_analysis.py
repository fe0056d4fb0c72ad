"""The strongest evidence of a model: known weights give known rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from deid_assets.core.errors import ConfigError
from deid_assets.core.phi import Phi
from deid_assets.core.tagging import TagScheme
from deid_assets.core.trainer import EvidenceSource
from deid_crf import CrfTrainer
from deid_crf.model import Model, write_model
from deid_crf.weights import TagWeights

NAMES = ("w0:lanna", "w-1:ldr", "w2:s3ith", "f:ldate", "odd")


@pytest.fixture
def weighted(tmp_path: Path) -> Path:
    """A model whose attributes speak for B-NAME, I-NAME and B-DATE with weights that are known."""
    named = {
        "w0:lanna": {"B-NAME": 2.0, "I-NAME": 3.0},
        "w-1:ldr": {"B-NAME": 4.0, "O": 9.0},
        "w2:s3ith": {"I-NAME": 1.0, "B-DATE": -5.0},
        "f:ldate": {"B-DATE": 7.0},
        "odd": {"B-DATE": 0.5},
    }
    tags = ("O", "B-DATE", "I-DATE", "B-NAME", "I-NAME")
    sizes = [len(named[name]) for name in NAMES]
    weights = TagWeights(
        {name: number for number, name in enumerate(NAMES)},
        np.cumsum([0, *sizes]).astype(np.int64),
        np.array([tags.index(tag) for name in NAMES for tag in named[name]], dtype=np.int32),
        np.array([value for name in NAMES for value in named[name].values()], dtype=np.float32),
        np.zeros((5, 5), dtype=np.float32),
    )
    model = Model(
        version="1",
        tags=tags,
        labels={"NAME": Phi.NAME, "DATE": Phi.DATE},
        native=False,
        scheme=TagScheme.BIO,
        grouping=1,
        window=2,
        predictions_of="",
        weights=weights,
        statistics={},
    )
    write_model(tmp_path, model)
    return tmp_path


def test_the_strongest_evidence_of_each_label_comes_first(weighted: Path) -> None:
    assert CrfTrainer().evidence(weighted, most=2) == [
        {
            "label": "DATE",
            "about": "the field to the left, its last word",
            "what": "date",
            "weight": 7.0,
        },
        {"label": "DATE", "about": "other", "what": "odd", "weight": 0.5},
        {
            "label": "NAME",
            "about": "a word, 1 to the left, in lower case",
            "what": "dr",
            "weight": 4.0,
        },
        {"label": "NAME", "about": "a word, in lower case", "what": "anna", "weight": 3.0},
    ]


def test_what_speaks_against_a_label_is_no_evidence_for_it(weighted: Path) -> None:
    rows = CrfTrainer().evidence(weighted, most=10)

    assert [row["what"] for row in rows if row["label"] == "DATE"] == ["date", "odd"]
    assert {
        "label": "NAME",
        "about": "a word, 2 to the right, its end",
        "what": "ith",
        "weight": 1.0,
    } in rows


def test_a_trained_model_shows_what_it_learnt(toy_model: Path) -> None:
    assert isinstance(CrfTrainer(), EvidenceSource)
    dates = [
        row["what"] for row in CrfTrainer().evidence(toy_model, most=10) if row["label"] == "DATE"
    ]
    assert any(what.startswith("date") for what in dates)


def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no tagger\.json"):
        CrfTrainer().evidence(tmp_path, most=1)
