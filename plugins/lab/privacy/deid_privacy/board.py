"""The leaderboard as a page.

For each site and task, the scores of submissions with deviation, interval and time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from deid_assets.extending.drawing import FILL, GRID, INK, MUTED, Section, blank, png, study_html
from deid_privacy.site import STEP
from deid_privacy.site_log import REDACTION, Standing

_LIMITS = (
    (
        f"Scores are rounded to steps of {STEP}, so that a submission cannot spell what it read in"
        " their digits; tries are counted for each sender. Submissions one step apart may be"
        " alike."
    ),
    (
        "Scores are those of a submission's latest evaluation that gave any; tries count all"
        " evaluations of its name."
    ),
    (
        "The guess looks at no text: the most frequent label, or every label where a document may"
        " have several, which is what such a guess gains most by."
    ),
)


def board_html(sites: Mapping[str, Sequence[Standing]]) -> str:
    """Return the page.

    Args:
        sites: Name, empty where there is one alone, to the standings of its log.
    """
    every = [one for own in sites.values() for one in own]
    latest = max((one.at for one in every), default="")
    return study_html(
        kind="Evaluation where the notes are",
        title="Leaderboard",
        about="Spans, and models that the site itself runs; two rounded scores leave it",
        tiles={
            "Submissions": (f"{len({one.submission for one in every}):,}", "by name"),
            "Tasks": (f"{len({one.task for one in every}):,}", "redaction among them"),
            "Evaluations": (
                f"{sum(one.tries for one in every):,}",
                "of these submissions, those without scores too",
            ),
        },
        sections=[*_sections(sites), Section("How to read this", points=_LIMITS)],
        provenance={"Latest evaluation": latest} if latest else {},
    )


def _sections(sites: Mapping[str, Sequence[Standing]]) -> Iterator[Section]:
    for site, own in sites.items():
        for task, rows in groupby(own, key=lambda one: one.task):
            make = _redaction if task == REDACTION else _task
            yield make(": ".join(part for part in (site, task) if part), list(rows))


def _redaction(heading: str, rows: Sequence[Standing]) -> Section:
    return Section(
        heading,
        "Spans of the annotated notes; F1 wants boundaries and category, covered is what no"
        " redaction would leave.",
        columns=("Submission", "F1", "Covered", "Notes", "Tries", "At"),
        rows=[
            (
                one.submission,
                f"{one.f1:.2f}",
                f"{one.scores['covered']:.2f}",
                f"{one.scores['notes']:,}",
                f"{one.tries:,}",
                _when(one),
            )
            for one in rows
        ],
    )


def _task(heading: str, rows: Sequence[Standing]) -> Section:
    first = rows[0].scores
    measure = (
        "strict F1 of spans"
        if first["kind"] == "tokens"
        else "F1 of labels, weighted by how many documents have them"
    )
    return Section(
        heading,
        f"{first['documents']:,} documents in {first['folds']} folds; an encoder learns from the"
        " others.",
        columns=("Submission", "F1", "Tries", "At"),
        rows=[
            *((one.submission, f"{one.f1:.2f}", f"{one.tries:,}", _when(one)) for one in rows),
            ("a guess", f"{first['guess']:.3f}", "", ""),
        ],
        caption=f"F1: {measure}; mean over folds.",
        pictures={f"F1 on {heading}; the dashed line is a guess": _plot(heading, rows)},
    )


def _when(one: Standing) -> str:
    return one.at.replace("T", " ").partition("+")[0]


def _plot(heading: str, rows: Sequence[Standing]) -> bytes:
    figure, axes = blank(0.9 + 0.24 * len(rows), title=heading)
    for place, one in enumerate(reversed(rows)):
        axes.plot(one.f1, place, marker="o", markersize=4, color=FILL)
    axes.axvline(rows[0].scores["guess"], color=MUTED, linestyle="--", linewidth=1)
    axes.set_yticks(
        range(len(rows)), [one.submission for one in reversed(rows)], fontsize=7.5, color=INK
    )
    axes.set_xlim(-0.01, 1.01)
    axes.set_ylim(-0.6, len(rows) - 0.4)
    axes.set_xlabel("F1", fontsize=8, color=MUTED)
    axes.grid(axis="x", color=GRID, linewidth=0.6)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(labelsize=8, color=GRID)
    axes.tick_params(axis="y", length=0, labelsize=7.5)
    return png(figure)
