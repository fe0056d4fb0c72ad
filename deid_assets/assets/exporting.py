"""onnx_<recipe>: a tagger's network as an ONNX graph, compared with it."""

from collections.abc import Sequence
from pathlib import Path

from deid_assets.assets.declarations import AssetOutput, Check
from deid_assets.assets.display import Markdown
from deid_assets.assets.training import hold_work
from deid_assets.assets.training_corpus import TRAINING_CORPUS, read_materials
from deid_assets.core.assets import Family
from deid_assets.plugins import load_trainer
from deid_assets.quality import Verdict
from deid_assets.reports.tables import table_md
from deid_assets.runtime.installation import Installation
from deid_assets.runtime.taggers import card_digest, pack
from deid_assets.store.files import ALL
from deid_assets.training import Recipe
from deid_assets.training.export import Parity, export_model
from deid_assets.training.run import make_task

ONNX_CHECKS = (
    Check(
        "parity", "The fp32 graph finds the very spans of the network, on every development note."
    ),
    Check("loss", "The precision in use loses little of the network's F1."),
)


def make_onnx(_batch: str, installation: Installation, *, recipe: Recipe) -> AssetOutput:
    """Export a recipe's network and compare the export with it on the development notes."""
    with hold_work(installation, f"{recipe.name}-onnx") as work:
        return _make_output(work, installation, recipe)


def _make_output(work: Path, installation: Installation, recipe: Recipe) -> AssetOutput:
    asset = Family.TAGGER.of(recipe.name)
    materials = read_materials(installation, recipe)
    dev = make_task(recipe, materials, load_trainer(recipe.plugin)).dev
    card, parities = export_model(installation.taggers.unpack(asset), work, dev)
    used = next((parity for parity in parities if parity.precision == recipe.onnx), None)
    exact = next(parity for parity in parities if parity.precision == "fp32")
    return AssetOutput(
        tables={"files": pack(work)},
        sources=[installation.files.receipt(name, ALL) for name in (TRAINING_CORPUS, asset)],
        verdicts=[
            Verdict(
                "parity",
                exact.holds,
                True,
                {"differing_spans": exact.differing_spans, "spans": exact.spans},
                "At fp32.",
            ),
            Verdict(
                "loss",
                used is not None and used.holds,
                True,
                {"f1": used.exported_f1, "network_f1": used.f1} if used else {"exported": 0},
                f"At {recipe.onnx}.",
            ),
        ],
        counts={"card": card_digest(work, key=installation.key), "bytes": card.size_bytes},
        metadata={"precisions": Markdown(_parities_md(parities))},
    )


def _parities_md(parities: Sequence[Parity]) -> str:
    rows = [
        (
            parity.precision,
            f"{parity.differing_spans:,} of {parity.spans:,}",
            f"{parity.exported_f1:.4f}",
            f"{parity.change:+.4f}",
        )
        for parity in parities
    ]
    return table_md(["Precision", "Other spans", "F1", "Change"], rows, left=1)
