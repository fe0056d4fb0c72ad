"""``deid corpus fidelity`` and ``deid corpus ranking``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated as Arg

import typer

from deid_assets.extending.commands import Answer, Table
from deid_copying.reading import notes_of
from deid_fidelity.embedding import EncoderChoice, find_encoder


class ScoreChoice(StrEnum):
    """What F1 counts."""

    CHARACTERS = "characters"
    COVERED = "covered"
    RELAXED = "relaxed"
    STRICT = "strict"


def fidelity(
    synthetic: Arg[
        str, typer.Argument(metavar="SYNTHETIC", help="Notes that were made: a corpus.")
    ],
    *,
    real: Arg[str, typer.Option("--to", metavar="NOTES", help="Notes that they shall be like.")],
    labels: Arg[
        str, typer.Option(metavar="NAME", help="Label map of the real notes' annotations.")
    ] = "",
    encoder: Arg[
        EncoderChoice,
        typer.Option(help="What MAUVE compares: n-grams, or states of multilingual-e5-small."),
    ] = EncoderChoice.LSA,
    most: Arg[
        int, typer.Option(metavar="N", min=20, help="Notes of a side at most; e5 reads 3 N.")
    ] = 1_000,
    seed: Arg[int, typer.Option(metavar="N", help="Of what is drawn.")] = 1,
) -> Answer:
    """Measure how like real notes synthetic ones are: lengths, words, marks, MAUVE.

    Beside each figure stands that of one half of the real notes against the other, by patient:
    synthetic notes as good as that cannot be told from real ones by it.
    """
    from deid_fidelity.fidelity import measure_fidelity, read_compared  # noqa: PLC0415

    found = measure_fidelity(
        read_compared(notes_of(synthetic)),
        read_compared(notes_of(real, labels)),
        embed=find_encoder(encoder),
        most=most,
        seed=seed,
    )
    rows = [[one.name, _cell(one.synthetic), _cell(one.real)] for one in found.measures]
    said = [
        (
            f"{found.notes:,} notes on each side, of {found.of[0]:,} synthetic and"
            f" {found.of[1]:,} real ones; mean of five splits, with the least and the greatest"
        ),
        *(f"not measured: {one}" for one in found.missing),
    ]
    return Answer(
        document=found.to_json() | {"encoder": encoder.value},
        tables=[Table(("measure", "synthetic to real", "real to real"), rows)],
        said=said,
    )


def _cell(values: tuple[float, float, float]) -> str:
    mean, least, greatest = values
    return f"{mean:.3f} [{least:.3f}, {greatest:.3f}]"


def ranking(
    synthetic: Arg[
        Path, typer.Argument(metavar="BENCH", help="bench.json of synthetic notes, with scores.")
    ],
    *,
    real: Arg[Path, typer.Option("--to", metavar="BENCH", help="bench.json of real notes.")],
    measure: Arg[ScoreChoice, typer.Option(help="What F1 counts.")] = ScoreChoice.CHARACTERS,
) -> Answer:
    """Say whether synthetic notes rank detectors as real ones do.

    Both files are what `deid bench --gold --out FOLDER` wrote. They hold no text, so that whoever
    has the real notes may hand theirs out.
    """
    from deid_fidelity.ranking import compare_rankings, read_scores  # noqa: PLC0415

    found = compare_rankings(read_scores(real, measure), read_scores(synthetic, measure))
    rows = [
        [one.name, f"{one.real:.3f}", f"{one.synthetic:.3f}", *map(str, one.places)]
        for one in found.detectors
    ]
    columns = ("detector", "F1 on real notes", "on synthetic", "place", "on synthetic")
    correlations = (
        f"Kendall's rank correlation {found.tau:.2f} (p {found.p_value:.3f}), Spearman's"
        f" {found.rho:.2f}, of {len(found.detectors)} detectors"
    )
    said = [correlations]
    said += [
        f"{better} is better than {other} on real notes alone" for better, other in found.swapped
    ]
    if found.left_out:
        said.append(
            f"not in both with one version and the same options: {', '.join(found.left_out)}"
        )
    return Answer(
        document=found.to_json() | {"measure": measure.value},
        tables=[Table(columns, rows)],
        said=said,
    )
