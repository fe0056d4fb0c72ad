"""``deid privacy shadows``, ``twins`` and ``probe``.

Models for an attack, replaced names and other words, inner states.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Annotated as Arg

import typer

from deid_assets.extending import InputError
from deid_assets.extending.commands import group_options

if TYPE_CHECKING:
    from deid_audits.models.measures import AttackEstimate, Floats


ModelArg = Arg[Path, typer.Argument(metavar="MODEL", help="Folder of the model.")]
SeedOption = Arg[int, typer.Option(metavar="N", help="Of what is drawn.")]


def shadows(
    recipe: Arg[
        str,
        typer.Argument(
            metavar="RECIPE", help="That the model was trained by, as deid pretrain takes it."
        ),
    ],
    out: Arg[
        Path,
        typer.Argument(
            metavar="OUT", help="Folder of shadow models; a killed run is resumed there."
        ),
    ],
    *,
    training: Arg[str, typer.Option(metavar="NOTES", help="Notes that the model was trained on.")],
    held_out: Arg[
        str, typer.Option(metavar="NOTES", help="As many of the same kind that it was not.")
    ],
    count: Arg[
        int, typer.Option(metavar="N", min=1, help="Models, an even number of 4 or more.")
    ] = 8,
    seed: SeedOption = 1,
) -> int:
    """Train shadow models, each on a random half of the notes, for the audit membership.

    Its option shadows takes the folder. What it takes is said after the first model; the folder is
    as secret as the notes.
    """
    from deid_assets.extending.corpora import read_raw  # noqa: PLC0415 - loads the synthesis
    from deid_assets.extending.taggers import load_recipe  # noqa: PLC0415
    from deid_privacy.shadows import train  # noqa: PLC0415 - loads PyTorch

    notes = [*read_raw(training), *read_raw(held_out)]
    train(load_recipe(recipe), notes, out, count=count, seed=seed, say=typer.echo)
    return 0


@dataclass(frozen=True, slots=True)
class Attacking:
    """Options on the attacks."""

    reference: Arg[
        Path | None, typer.Option(metavar="MODEL", help="Folder of a model that did not read them.")
    ] = None
    attacks: Arg[
        list[str] | None,
        typer.Option("--attack", metavar="NAME", help="Of the audit membership; loss."),
    ] = None


@group_options
def twins(
    model: ModelArg,
    named: Arg[
        Path, typer.Argument(metavar="NAMED", help="Notes with names that it was trained on.")
    ],
    twin: Arg[
        Path,
        typer.Argument(metavar="TWIN", help="The same under other names, as deid twin makes them."),
    ],
    matched: Arg[
        Path, typer.Argument(metavar="MATCHED", help="Notes with names that it was not trained on.")
    ],
    *,
    calibration: Arg[Path, typer.Option(metavar="NOTES", help="Other notes, in none of these.")],
    attacking: Attacking,
    paraphrase: Arg[
        bool, typer.Option("--paraphrase", help="The twin says the same in other words.")
    ] = False,
    seed: SeedOption = 1,
) -> int:
    """Does membership inference see that names were replaced, or the words?

    AUC(B), AUC(C) and their difference of each attack, and how many texts the model prefers to
    their twins.
    """
    import numpy as np  # noqa: PLC0415 - with PyTorch

    from deid_audits.models.auditing import open_scorer  # noqa: PLC0415
    from deid_audits.models.measures import check_sizes  # noqa: PLC0415
    from deid_audits.models.membership import Setup, check_disjoint, scores  # noqa: PLC0415

    members, twins_of, outside, others = (
        _texts(path) for path in (named, twin, matched, calibration)
    )
    _check_pairs(members, twins_of, paraphrase=paraphrase)
    check_disjoint(others, members, outside)
    check_sizes(len(members), len(outside), unit="notes")
    reference = attacking.reference
    references = [open_scorer(reference, outside)] if reference else []
    setup = Setup(open_scorer(model, outside), references, others, seed=seed)
    ends = np.cumsum([len(members), len(twins_of)])
    texts = [*members, *twins_of, *outside]
    for attack, values in scores(texts, setup, attacking.attacks or ["loss"]).items():
        for estimate in _estimates(*np.split(values, ends), seed=seed):
            _say(attack, estimate)
    return 0


def _check_pairs(texts: Sequence[str], twins_of: Sequence[str], *, paraphrase: bool) -> None:
    """Check that each text has a twin: a paraphrase, or the same under other names.

    Raises:
        InputError: It has none.
    """
    from deid_privacy.blindness import check_twin  # noqa: PLC0415 - with PyTorch

    if not paraphrase:
        check_twin(texts, twins_of)
        return
    if len(texts) != len(twins_of):
        raise InputError(
            f"the paraphrases are {len(twins_of)} and their originals {len(texts)}; give one for"
            " each"
        )


def _estimates(
    first: Floats, second: Floats, out: Floats, *, seed: int
) -> Iterator[AttackEstimate]:
    """Yield what an attack's scores of notes, their twins and outside notes say."""
    from deid_assets.extending.measuring import auc, wilson  # noqa: PLC0415 - with PyTorch
    from deid_audits.models.measures import AttackEstimate, difference, estimate_measure  # noqa: PLC0415

    yield estimate_measure("AUC(B), trained on", first, out, auc, chance=0.5)
    yield estimate_measure("AUC(C), twins", second, out, auc, chance=0.5)
    yield difference(first, second, out, seed=seed)
    hits, notes = int((first > second).sum()), len(first)
    low, high = wilson(hits, notes)
    yield AttackEstimate("preferred to their twins", hits / notes, low, high, 0.5, notes)


def probe(
    model: ModelArg,
    one: Arg[
        Path, typer.Argument(metavar="ONE", help="Notes, such as those that it was trained on.")
    ],
    other: Arg[Path, typer.Argument(metavar="OTHER", help="Others of the same kind.")],
    *,
    seed: SeedOption = 1,
) -> int:
    """Do the model's inner states tell two sets of notes apart?

    How well a classifier on them does, and the same of labels drawn at random.
    """
    import numpy as np  # noqa: PLC0415 - with PyTorch

    from deid_audits.models.auditing import open_scorer  # noqa: PLC0415
    from deid_audits.models.measures import check_sizes  # noqa: PLC0415
    from deid_privacy import probing  # noqa: PLC0415

    first, second = _texts(one), _texts(other)
    check_sizes(len(first), len(second), unit="notes")
    features = probing.states(open_scorer(model, second), [*first, *second])
    truth = np.arange(len(features)) < len(first)
    drawn = np.random.default_rng(seed).permutation(truth)
    control = probing.probe(features, drawn.tolist(), seed=seed)
    _say("probe", probing.probe(features, truth.tolist(), seed=seed))
    _say("labels drawn at random", control)
    if not control.low <= 0.5 <= control.high:
        typer.echo("void: labels drawn at random are told apart; give more notes")
        return 1
    return 0


def _texts(path: Path) -> Sequence[str]:
    """Return the texts of notes in the order of their ids, so that a twin stands at its original's
    place.
    """
    from deid_assets.extending.corpora import read_raw  # noqa: PLC0415 - loads the synthesis

    return [note.text for note in sorted(read_raw(str(path)), key=lambda note: note.note_id)]


def _say(about: str, found: AttackEstimate) -> None:
    typer.echo(f"{about}: {found}, {found.units} units")
