"""An adapter before it is shared.

Merged with its base, it is probed for secrets that the notes say.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tiny_pairs import task, train

from deid_assets.extending.audits import Key, Material, Outcome
from deid_assets.privacy.running import load_audit, run_audit
from deid_generative.folder import read_folder
from deid_generative.opening import merge_model

pytest.importorskip("deid_audits", reason="the plugin audits is not installed")
pytestmark = pytest.mark.slow

BASE: dict[str, Any] = {
    "epochs": 12,
    "learning_rate": 8e-3,
    "length": 48,
    "threads": 1,
    "new": {
        "vocabulary": 450,
        "context": 128,
        "width": 48,
        "heads": 4,
        "feed_forward": 96,
        "layers": 2,
    },
}
ADAPTER: dict[str, Any] = {
    "epochs": 1,
    "batch": 4,
    "micro_batch": 4,
    "learning_rate": 1e-3,
    "longest": 128,
    "threads": 1,
    "checker": "",
    "lora": {"rank": 4, "alpha": 8, "dropout": 0.0},
}


def test_a_secret_that_the_base_learnt_is_found_in_base_and_adapter_merged(tmp_path: Path) -> None:
    from deid_audits.models.canaries import write_canaries
    from deid_audits.models.planted import make_planted_corpus
    from deid_causal.trainer import CausalTrainer

    planted = make_planted_corpus(
        notes=60, people=2, repeats=(1, 20), canaries=10, seed=4, longest=14
    )
    base = tmp_path / "base"
    base.mkdir()
    trainer = CausalTrainer()
    trainer.pretrain(
        planted.training, base, settings=trainer.settings(BASE), seed=1, report=lambda _: None
    )
    adapter = train(task({**ADAPTER, "base": str(base)}), tmp_path / "adapter")
    merge_model(read_folder(adapter), tmp_path / "merged")
    write_canaries(tmp_path / "canaries.json", planted.canaries)

    result = run_audit(
        load_audit("canaries", {"candidates": 100}),
        Material(
            key=Key(bytes(range(32))),
            model=tmp_path / "merged",
            training=planted.training,
            held_out=planted.held_out,
            calibration=planted.calibration,
            canaries=tmp_path / "canaries.json",
        ),
    )

    assert result.outcome is Outcome.FAILED, result.reason
    beaten = {one.group: one for one in result.figures if one.name == "others beaten"}
    assert beaten["planted"].low > beaten["unplanted"].high
