"""Inputs and outputs of ``deid sweep``."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from deid_assets.extending import ConfigError
from deid_assets.extending.commands import print_json, print_table, say
from deid_assets.extending.drawing import FILL, GRID, INK, MUTED, Section, blank, png, study_html
from deid_assets.extending.pages import check_restricted, write_files
from deid_assets.extending.taggers import Materials, Recipe, epochs
from deid_tagger_analysis.sweep import Factor, GainedSpan, GroupingSweep, sweep

PAGE, DOCUMENT = "sweep.html", "sweep.json"
SCORES = {
    "entity sub_category": "S_E",
    "entity category": "C_E",
    "entity binary": "B_E",
    "token sub_category": "S_T",
    "token category": "C_T",
    "token binary": "B_T",
}
COLOURS = (INK, FILL, "#6b9a4a", "#b3541e", "#8a5ba6", MUTED)


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepRequest:
    """Options of the command.

    Args:
        recipe: What is trained.
        materials: Of what.
        factors: As they are written, ``1,2,4``.
        limit: Tokens that an encoder takes.
        out: Folder.
        restricted: Show the words that are found, in files for their owner alone.
    """

    recipe: Recipe
    materials: Materials
    factors: str
    limit: int
    out: Path
    restricted: bool


def run_sweep(wanted: SweepRequest, *, as_json: bool) -> int:
    """Sweep, write the page and print the table.

    Raises:
        ConfigError: The factors are no numbers, or there are no test notes.
        InputError: A corpus is unfit, or ``out`` is open to others where words are shown.
    """
    if not all(one.strip().isdecimal() for one in wanted.factors.split(",")):
        raise ConfigError(f"--factors {wanted.factors!r} must read as 1,2,4,8,16,32")
    if wanted.restricted:
        check_restricted(wanted.out)
        wanted.out.mkdir(parents=True, exist_ok=True, mode=0o700)
    factors = [int(one) for one in wanted.factors.split(",")]
    with epochs() as progress:
        done = sweep(
            wanted.recipe,
            wanted.materials,
            factors,
            wanted.out,
            limit=wanted.limit,
            progress=progress,
        )
    document = done.to_json()
    if wanted.restricted:
        document["places"] = [
            {name: getattr(one, name) for name in GainedSpan.__slots__} for one in done.places
        ]
    files = {
        DOCUMENT: json.dumps(document, ensure_ascii=False) + "\n",
        PAGE: sweep_html(done, restricted=wanted.restricted),
    }
    write_files(wanted.out, files, restricted=wanted.restricted)
    if as_json:
        print_json({"out": str(wanted.out), **done.to_json()})
        return 0
    print_table(_HEADINGS, [_cells(row) for row in done.rows], numbers_from=0)
    for line in _choices(done):
        say(line)
    note = ", with words of the notes: for you alone" if wanted.restricted else ""
    say(f"page written to {wanted.out / PAGE}{note}")
    return 0


_HEADINGS = (
    "factor",
    "mean tokens",
    "most",
    *SCORES.values(),
    "to the first",
    "found",
    "lost",
    "s",
)


def _cells(row: Factor) -> list[str]:
    gap = row.difference
    return [
        str(row.factor),
        f"{row.mean_tokens:.1f}",
        f"{row.most_tokens:,}",
        *(_score(row, name) for name in SCORES),
        f"{gap['value']:+.4f} ({gap['low']:+.4f} to {gap['high']:+.4f})" if gap else "",
        f"{sum(row.found.values()):,}",
        f"{sum(row.lost.values()):,}",
        f"{row.card.seconds:.0f}",
    ]


def _score(row: Factor, name: str) -> str:
    mean, deviation = row.six.get(name, (None, None))
    if mean is None:
        return "-"
    return f"{mean:.4f}" if deviation is None else f"{mean:.4f} ±{deviation:.4f}"


def _choices(done: GroupingSweep) -> list[str]:
    found = [
        f"grouping auto takes {done.by_budget}: the mean length nearest to the recipe's budget"
    ]
    if done.by_limit is not None:
        found.append(
            f"for an encoder of {done.limit} tokens it takes {done.by_limit}: the most that no"
            " input exceeds"
        )
    return found


def sweep_html(done: GroupingSweep, *, restricted: bool) -> str:
    """Return one self-contained page, with words of the notes only where it is restricted."""
    sections = [
        Section(
            "Scores by sentences grouped",
            "Micro F1 on the test notes, means over the runs. The difference is of strict F1 of the"
            " kept run, with 95 % of a paired bootstrap.",
            columns=_HEADINGS,
            rows=[_cells(row) for row in done.rows],
            pictures={"Six scores by sentences grouped": scores_png(done.rows)},
            points=_choices(done),
        ),
        _changes(done.rows),
    ]
    if restricted:
        sections.append(
            Section(
                "The spans",
                "Words of the notes: for you alone.",
                columns=("Factors", "Label", "Note", "At", "Text"),
                rows=_places(done.places),
                left=5,
            )
        )
    return study_html(
        kind="Sentence grouping",
        title=done.recipe,
        about=(
            "One model for each number of sentences in an input. Choose a factor on development"
            " notes: the highest of several is optimistic."
        ),
        tiles={"Highest S_E": _best(done)},
        sections=sections,
        provenance={
            f"Model of factor {row.factor}": row.card.fingerprint[:16] for row in done.rows
        },
    )


def _changes(rows: Sequence[Factor]) -> Section:
    """Return the spans that each factor finds and loses, by label."""
    first, *others = rows
    labels = sorted({label for row in rows for label in (*row.found, *row.lost)})
    cells = [
        (label, *(f"+{row.found.get(label, 0)} -{row.lost.get(label, 0)}" for row in others))
        for label in labels
    ]
    return Section(
        "What each factor finds",
        f"Annotated spans that a factor finds with boundaries and label and factor {first.factor}"
        " misses, and those that it loses.",
        columns=("Label", *(f"{row.factor}" for row in others)),
        rows=cells,
    )


def _best(done: GroupingSweep) -> tuple[str, str]:
    best = max(done.rows, key=lambda row: row.six["entity sub_category"][0] or 0.0)
    return str(best.factor), f"S_E {_score(best, 'entity sub_category')}"


def _places(places: Sequence[GainedSpan]) -> list[tuple[str, ...]]:
    """Return a row per span, with all factors that find it.

    Spans that most factors find come first.
    """
    factors: dict[tuple[str, int, int, str, str], list[int]] = {}
    for one in places:
        factors.setdefault((one.note, one.start, one.end, one.label, one.text), []).append(
            one.factor
        )
    counted = Counter({key: len(found) for key, found in factors.items()})
    return [
        (", ".join(map(str, factors[key])), key[3], key[0], f"{key[1]}-{key[2]}", key[4])
        for key, _ in counted.most_common()
    ]


def scores_png(rows: Sequence[Factor]) -> bytes:
    """Return the six scores over the factors as a PNG."""
    figure, axes = blank(3.6, title="Six scores by sentences grouped")
    places = range(len(rows))
    for colour, (name, short) in zip(COLOURS, SCORES.items(), strict=True):
        means = [row.six.get(name, (None, None))[0] for row in rows]
        known = [(at, mean) for at, mean in zip(places, means, strict=True) if mean is not None]
        style = "-" if name.startswith("entity") else "--"
        axes.plot(
            [at for at, _ in known],
            [mean for _, mean in known],
            style,
            marker="o",
            ms=4,
            color=colour,
            label=short,
        )
    axes.set_xticks(list(places), [str(row.factor) for row in rows], fontsize=8, color=INK)
    axes.set_xlabel("Sentences in an input", fontsize=8, color=MUTED)
    axes.set_ylabel("Micro F1", fontsize=8, color=MUTED)
    axes.tick_params(labelsize=8, labelcolor=MUTED, color=GRID)
    axes.grid(axis="y", color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.legend(fontsize=8, ncols=6, frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.18))
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return png(figure)
