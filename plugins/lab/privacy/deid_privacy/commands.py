"""``deid privacy dp``, ``trends``, ``cost`` and ``reproduce``.

Defences, published trends, what audits take.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from typing import Annotated as Arg

import typer

from deid_assets.extending import InputError
from deid_assets.extending.commands import group_options

if TYPE_CHECKING:
    from deid_privacy.defences import DefenceSettings

SeedOption = Arg[int, typer.Option(metavar="N", help="Of notes and models.")]
_EPSILONS = (1.0, 8.0, 64.0)


@dataclass(frozen=True, slots=True)
class ComparisonOptions:
    """Options on the defences that are compared."""

    epsilons: Arg[
        list[float] | None,
        typer.Option("--epsilon", metavar="E", help="A privacy budget; 1, 8 and 64."),
    ] = None
    detectors: Arg[
        list[str] | None,
        typer.Option("--detector", metavar="NAME", help="Each scrubs the notes by itself; rules."),
    ] = None
    rates: Arg[
        list[float] | None,
        typer.Option(
            "--rate", metavar="RATE", help="A learning rate to choose from on another corpus."
        ),
    ] = None
    clips: Arg[
        list[float] | None,
        typer.Option("--clip", metavar="NORM", help="A longest gradient to choose from; 1."),
    ] = None
    batch: Arg[
        int, typer.Option(metavar="N", min=1, help="Notes that a step reads on average.")
    ] = 32
    policy: Arg[str, typer.Option(metavar="POLICY", help="What replaces what they find.")] = (
        "surrogate"
    )
    notes: Arg[int, typer.Option(metavar="N", min=1, help="Ordinary sentences in each part.")] = 150
    steps: Arg[int, typer.Option(metavar="N", min=1, help="Of every training.")] = 240
    seed: SeedOption = 1

    def settings(self) -> dict[str, Any]:
        """Return every setting by the name of its option."""
        return {
            "epsilon": self.epsilons or [*_EPSILONS],
            "detector": self.detectors or ["rules"],
            "rate": self.rates or [],
            "clip": self.clips or [1.0],
            "batch": self.batch,
            "policy": self.policy,
            "notes": self.notes,
            "steps": self.steps,
            "seed": self.seed,
        }

    def make_settings(self) -> DefenceSettings:
        """Return what is compared, before learning rates are chosen."""
        from deid_privacy.defences import DefenceSettings  # noqa: PLC0415 - loads PyTorch
        from deid_privacy.private import Course  # noqa: PLC0415

        settings = self.settings()
        return DefenceSettings(
            notes=self.notes,
            detectors=settings["detector"],
            policy=self.policy,
            epsilons=settings["epsilon"],
            course=Course(steps=self.steps, batch=self.batch),
            seed=self.seed,
        )


@group_options
def private(
    out: Arg[
        Path,
        typer.Argument(
            metavar="OUT", help="Folder for page and figures; a killed run is resumed there."
        ),
    ],
    *,
    comparison: ComparisonOptions,
) -> int:
    """Compare no defence, scrubbing and differential privacy: a page."""
    import torch  # noqa: PLC0415 - heavy

    from deid_privacy.defences import Arm, compare  # noqa: PLC0415
    from deid_privacy.defences_page import defences_html  # noqa: PLC0415
    from deid_privacy.defences_tuning import Tried, choose  # noqa: PLC0415
    from deid_privacy.utility.running import claim  # noqa: PLC0415

    torch.set_num_threads(1)
    settings, wanted = comparison.settings(), comparison.make_settings()
    out.mkdir(parents=True, exist_ok=True)
    claim(out / "settings.json", settings)

    def say_arm(arm: Arm) -> None:
        typer.echo(f"{arm.name}: {'; '.join(map(str, (arm.loss, *arm.attacks)))}")

    tried: list[Tried] = []
    if settings["rate"]:
        courses, tried = choose(
            wanted,
            settings["rate"],
            settings["clip"],
            out,
            lambda one: typer.echo(f"tried {one}"),
        )
        wanted = replace(wanted, private=courses)
    arms = compare(wanted, out, say_arm)
    (out / "defences.json").write_text(
        json.dumps([arm.to_json() for arm in arms], indent=1), encoding="utf-8"
    )
    provenance = {"Command": f"deid privacy dp OUT {_as_options(settings)}"}
    page = defences_html(arms, wanted, provenance=provenance, tried=tried)
    (out / "defences.html").write_text(page, encoding="utf-8")
    typer.echo(f"written to {out}/defences.html")
    return 0


def _as_options(settings: Mapping[str, Any]) -> str:
    """Return settings as the command line has them; a list is an option several times."""
    options: list[str] = []
    for name, value in settings.items():
        values = value if isinstance(value, list) else [value]
        options += [f"--{name} {one}" for one in values]
    return " ".join(options)


def trends(
    names: Arg[
        list[str] | None, typer.Argument(metavar="[T1...]", help="Trends; all when none is named.")
    ] = None,
    *,
    folder: Arg[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Of models and results, so that a killed run is resumed."
        ),
    ] = None,
    documents: Arg[
        int | None,
        typer.Option(metavar="N", min=2, help="Notes of each task of T1 to T5 and T9 to T12."),
    ] = None,
    folds: Arg[
        int | None, typer.Option(metavar="N", min=2, help="Of their cross-validations.")
    ] = None,
    steps: Arg[int | None, typer.Option(metavar="N", min=1, help="Of their pre-trainings.")] = None,
    seed: SeedOption = 1,
) -> int:
    """Run the fifteen trend tests; print pass, fail or undecided."""
    import torch  # noqa: PLC0415 - heavy

    from deid_privacy import trends_run  # noqa: PLC0415

    torch.set_num_threads(1)
    sizes = trends_run.Sizes(documents=documents, folds=folds, steps=steps)
    with tempfile.TemporaryDirectory() as made:
        for name, found in trends_run.trends(
            names or [], folder or Path(made), sizes=sizes, seed=seed
        ):
            typer.echo(trends_run.describe_trend(name, found))
    return 0


def cost(
    model: Arg[Path, typer.Argument(metavar="MODEL", help="Folder of the model.")],
    release: Arg[
        str, typer.Argument(metavar="NOTES", help="Notes of the release, as deid reads them.")
    ],
    *,
    reference: Arg[
        Path | None, typer.Option(metavar="MODEL", help="Folder of a model that did not read them.")
    ] = None,
    share: Arg[int, typer.Option(metavar="N", min=1, help="Samples to measure on.")] = 100,
    of: Arg[int, typer.Option(metavar="N", min=1, help="Notes to extrapolate to.")] = 10_000,
    cores: Arg[int, typer.Option(metavar="N", min=1, help="Cores to extrapolate to.")] = 2,
    seed: SeedOption = 1,
) -> int:
    """Say what the membership attacks on a release would take, from a share of it."""
    import torch  # noqa: PLC0415 - heavy

    from deid_assets.extending.corpora import read_corpus  # noqa: PLC0415
    from deid_audits.models.auditing import WORDS, open_scorer, samples  # noqa: PLC0415
    from deid_privacy.costing import costs  # noqa: PLC0415

    torch.set_num_threads(1)
    notes = [document.note for document in read_corpus(release).documents]
    every = samples(notes, most=10**9, seed=seed).texts
    drawn = samples(notes, most=2 * share, seed=seed).texts
    measured, rest = drawn[: len(drawn) // 2], drawn[len(drawn) // 2 :]
    if not measured:
        raise InputError("the notes have no two samples; give more notes")
    target = open_scorer(model, measured)
    other = open_scorer(reference, measured) if reference else None
    wanted = round(len(every) / len(notes) * of)
    typer.echo(
        f"{len(measured)} samples of at most {WORDS} words measured on one thread, extrapolated to"
        f" {of:,} notes of {len(every) / len(notes):.2f} samples on {cores} cores"
    )
    for one in costs(measured, target, other, rest):
        typer.echo(
            f"{one.attack:16} {one.sequences / one.samples:6.1f} sequences a sample, "
            f"{one.samples / max(one.seconds, 1e-9):8.1f} samples a second of CPU, "
            f"{one.hours(wanted, cores=cores):8.3f} h"
        )
    return 0


def reproduce(
    bundle: Arg[Path, typer.Argument(metavar="BUNDLE", help="The reproduce.json of a grid.")],
    out: Arg[
        Path,
        typer.Argument(
            metavar="OUT", help="Folder of the second run; a killed one is resumed there."
        ),
    ],
    *,
    tolerance: Arg[
        float, typer.Option(metavar="F1", min=0, help="By which a mean may differ.")
    ] = 0.02,
) -> int:
    """Run a grid again from its bundle, and set the scores beside those of the first run.

    Ends with 1 where a mean differs by more than the tolerance.
    """
    from deid_privacy import bundle as kept  # noqa: PLC0415 - loads PyTorch
    from deid_privacy.utility.running import Grid  # noqa: PLC0415

    plan, known = kept.read_bundle(bundle)
    told = kept.differences(known, plan)
    for line in told:
        typer.echo(f"not as it was: {line}")
    if any(line.startswith(("notes ", "model ")) for line in told):
        raise InputError(
            "notes or models are not those of the bundle, so that scores cannot be compared; give"
            " the same"
        )
    found = kept.compare_means(known, Grid(plan, out).run())
    for one in found:
        second = "no score" if one.second is None else f"{one.second:.4f}"
        typer.echo(f"{one.name}: F1 {one.first:.4f} then, {second} now")
    beyond = sum(not one.within(tolerance) for one in found)
    typer.echo(f"{len(found)} means, {beyond} differ by more than {tolerance:g}")
    return 1 if beyond else 0
