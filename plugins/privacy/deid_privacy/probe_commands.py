"""``deid-privacy twins`` and ``probe``: what membership sees of replaced names and of other words, and what inner states tell."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from deid_assets.extending import InputError

if TYPE_CHECKING:
    from deid_privacy.measures import Estimate


def add(commands: Any) -> None:
    """Add the commands to a parser."""
    twins = commands.add_parser("twins", help="does membership inference see that names were replaced, or the words?")
    twins.add_argument("model", type=Path, help="folder of the model")
    twins.add_argument("named", type=Path, help="notes with names that it was trained on")
    twins.add_argument("twin", type=Path, help="the same under other names, as deid twin makes them")
    twins.add_argument("matched", type=Path, help="notes with names that it was not trained on")
    twins.add_argument("--calibration", type=Path, required=True, help="other notes, in none of these")
    twins.add_argument("--reference", type=Path, help="folder of a model that did not read them")
    twins.add_argument("--attacks", nargs="+", default=["loss"], help="of the audit membership")
    twins.add_argument("--paraphrase", action="store_true", help="the twin says the same in other words")
    probe = commands.add_parser("probe", help="do the model's inner states tell two sets of notes apart?")
    probe.add_argument("model", type=Path, help="folder of the model")
    probe.add_argument("one", type=Path, help="notes, such as those that it was trained on")
    probe.add_argument("other", type=Path, help="others of the same kind")


def twins(given: argparse.Namespace) -> int:
    """Print AUC(B), AUC(C) and their difference of each attack, and how many texts the model prefers to their twins."""
    import numpy as np  # noqa: PLC0415 - with PyTorch

    from deid_assets.extending.measuring import auc, wilson  # noqa: PLC0415
    from deid_privacy.auditing import opened  # noqa: PLC0415
    from deid_privacy.blindness import check_twin  # noqa: PLC0415
    from deid_privacy.measures import Estimate, check_sizes, difference, estimated  # noqa: PLC0415
    from deid_privacy.membership import Setup, check_disjoint, scores  # noqa: PLC0415

    named, twin, matched, calibration = (
        _texts(path) for path in (given.named, given.twin, given.matched, given.calibration)
    )
    if given.paraphrase and len(named) != len(twin):
        raise InputError(f"the paraphrases are {len(twin)} and their originals {len(named)}; give one for each")
    if not given.paraphrase:
        check_twin(named, twin)
    check_disjoint(calibration, named, matched)
    check_sizes(len(named), len(matched), unit="notes")
    references = [opened(given.reference, matched)] if given.reference else []
    setup = Setup(opened(given.model, matched), references, calibration, seed=given.seed)
    ends = np.cumsum([len(named), len(twin)])
    for attack, values in scores([*named, *twin, *matched], setup, given.attacks).items():
        first, second, out = np.split(values, ends)
        _say(attack, estimated("AUC(B), trained on", first, out, auc, chance=0.5))
        _say(attack, estimated("AUC(C), twins", second, out, auc, chance=0.5))
        _say(attack, difference(first, second, out, seed=given.seed))
        hits = int((first > second).sum())
        share = Estimate("preferred to their twins", hits / len(first), *wilson(hits, len(first)), 0.5, len(first))
        _say(attack, share)
    return 0


def probe(given: argparse.Namespace) -> int:
    """Print how well a classifier on the inner states tells the notes apart, and the same of labels drawn at random."""
    import numpy as np  # noqa: PLC0415 - with PyTorch

    from deid_privacy import probing  # noqa: PLC0415
    from deid_privacy.auditing import opened  # noqa: PLC0415
    from deid_privacy.measures import check_sizes  # noqa: PLC0415

    one, other = _texts(given.one), _texts(given.other)
    check_sizes(len(one), len(other), unit="notes")
    features = probing.states(opened(given.model, other), [*one, *other])
    truth = np.arange(len(features)) < len(one)
    drawn = np.random.default_rng(given.seed).permutation(truth)
    control = probing.probe(features, drawn.tolist(), seed=given.seed)
    _say("probe", probing.probe(features, truth.tolist(), seed=given.seed))
    _say("labels drawn at random", control)
    if not control.low <= 0.5 <= control.high:
        typer.echo("void: labels drawn at random are told apart; give more notes")
        return 1
    return 0


def _texts(path: Path) -> Sequence[str]:
    """Return the texts of notes in the order of their ids, so that a twin stands at its original's place."""
    from deid_assets.extending.corpora import read_raw  # noqa: PLC0415 - loads the synthesis

    return [note.text for note in sorted(read_raw(str(path)), key=lambda note: note.note_id)]


def _say(about: str, found: Estimate) -> None:
    typer.echo(f"{about}: {found}, {found.units} units")
