"""Chooses the weights and thresholds of a trained ``encoder`` again, for the ``compact`` that is
installed.

python benchmarks/weigh_again.py MODEL OUT [--dev corpora/composed/dev]

An encoder weighs its own opinion of each word with that of ``compact``. Where ``compact`` was
trained again the weights are those of another opinion; the network itself stays as it is. The
settings are those of the recipe ``encoder``.
"""

from __future__ import annotations

import argparse
import shutil
import tomllib
from pathlib import Path

import torch

from deid_assets.training.corpora import read_corpus
from deid_encoder.folder import read_about, write_about
from deid_encoder.pieces import PieceReader
from deid_encoder.reading import NoteReader
from deid_encoder.run import decide
from deid_encoder.runtime import load_tagger, torch_network
from deid_encoder.settings import EncoderSettings
from deid_encoder.weights import find_packaged_file, read_weights

ROOT = Path(__file__).resolve().parents[1]
RECIPE = ROOT / "plugins" / "neural" / "recipes" / "encoder" / "encoder.toml"


def main() -> None:
    """Write the model folder ``OUT``."""
    parser = argparse.ArgumentParser()
    parser.add_argument("model", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--dev", default=str(ROOT / "corpora" / "composed" / "dev"))
    given = parser.parse_args()
    torch.set_num_threads(1)
    settings = EncoderSettings(**tomllib.loads(RECIPE.read_text())["settings"])
    about = read_about(given.model)
    weights = read_weights(find_packaged_file())
    encoder = load_tagger(given.model, about, weights).eval()
    pieces = PieceReader(weights.pieces)
    network = torch_network(encoder, pad=pieces.pad, device=torch.device("cpu"))
    dev = read_corpus(given.dev).documents
    shutil.copytree(given.model, given.out)
    write_about(given.out, decide(about, NoteReader(pieces, network, about), dev, settings))


if __name__ == "__main__":
    main()
