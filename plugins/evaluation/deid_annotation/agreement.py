"""``deid agreement``: annotators or detectors compared where there is no gold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

from deid_annotation.alpha import NominalAgreement
from deid_annotation.annotators import Annotations, NoteReading, read_annotations
from deid_annotation.consensus import Consensus, consensus
from deid_assets.extending import Profile, profile
from deid_assets.extending.commands import PARTIAL, Withheld, print_json, print_line, print_table
from deid_assets.extending.scoring import UNDEFINED, ratio
from deid_evaluation.agreement import Agreement
from deid_evaluation.capture_recapture import ASSUMPTIONS, Captures, captures, estimate_missed


def compare_annotations(
    files: Sequence[str],
    *,
    reading: NoteReading,
    notes: Path | None,
    sources: Sequence[str],
    profile_name: str,
    as_json: bool,
) -> int:
    """Print how far annotators or detectors agree, and what all may have missed; the exit code.

    Args:
        files: ``FILE[=NAME]``: several, or a spans file of several detectors.
        reading: How notes are read.
        notes: Their notes, for what needs the text.
        sources: Detectors of a single spans file; all when empty.
        profile_name: Labels to compare under.
        as_json: Print JSON in place of tables.

    Raises:
        ConfigError: There are fewer than two annotations, or two of one name.
        InputError: A name is not in the file, or the files are not of the same notes.
    """
    withheld = Withheld()
    chosen = profile(profile_name)
    annotations = read_annotations(
        files, reading=reading, notes=notes, sources=sources, withheld=withheld
    )
    found = consensus(annotations.spans, annotations.notes, profile=chosen)
    figures = _figures(found, _count_captures(annotations, chosen))
    count = len(next(iter(annotations.spans.values())))
    if as_json:
        head = {
            "sources": annotations.names,
            "notes": count,
            "withheld": len(withheld),
            "profile": chosen.name,
        }
        print_json({**head, **_of_two(figures), **figures})
    else:
        _show(figures, count)
    return PARTIAL if len(withheld) else 0


def _count_captures(annotations: Annotations, chosen: Profile) -> Captures:
    total = Captures(tuple(annotations.names))
    for note_id in next(iter(annotations.spans.values())):
        total += captures(annotations.of(note_id), profile=chosen)
    return total


def _figures(found: Consensus, captured: Captures) -> dict[str, Any]:
    unitizing = found.unitizing
    return {
        "pairs": [
            {"first": first, "second": second, **_pair(one)}
            for (first, second), one in found.pairs.items()
        ],
        "alpha": {
            "span_labels": _alpha(found.spans),
            "token_labels": _alpha(found.tokens),
            "unitizing": (
                unitizing and {"alpha": unitizing.alpha, "by_label": dict(unitizing.by_label)}
            ),
        },
        "missed": [
            _estimate_missed(captured, label) for label in [None, *sorted(captured.histories)]
        ],
        "assumptions": list(ASSUMPTIONS),
    }


def _pair(one: Agreement) -> dict[str, Any]:
    return {
        "spans": {
            "both": one.ranges.tp,
            "first_alone": one.ranges.fn,
            "second_alone": one.ranges.fp,
        },
        "f1": {"strict": one.strict.f1, "overlap": one.ranges.f1, "characters": one.characters.f1},
        "observed": one.observed,
        "kappa": one.kappa,
    }


def _alpha(found: NominalAgreement | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {"alpha": found.alpha, "observed": found.observed, "units": found.units}


def _estimate_missed(captured: Captures, label: str | None) -> dict[str, Any]:
    made = estimate_missed(captured, label=label)
    values = (
        {name: getattr(made, name) for name in ("method", "value", "low", "high", "recall")}
        if made
        else None
    )
    return {"label": label, "marked": captured.of(label).total(), "estimate": values}


def _of_two(figures: Mapping[str, Any]) -> dict[str, Any]:
    """Return the figures of the only pair, where there is one, without its names."""
    if len(figures["pairs"]) > 1:
        return {}
    return {
        name: value
        for name, value in figures["pairs"][0].items()
        if name not in ("first", "second")
    }


def _show(figures: Mapping[str, Any], count: int) -> None:
    headings = (
        f"{count:,} notes",
        "both",
        "first alone",
        "second alone",
        "strict F1",
        "overlap F1",
        "char F1",
        "chars alike",
        "kappa",
    )
    print_table(headings, [_pair_row(pair) for pair in figures["pairs"]], numbers_from=1)
    typer.echo()
    alpha = figures["alpha"]
    unitizing = alpha["unitizing"] or {"alpha": None, "by_label": {}}
    rows = [
        ("of tokens, unmarked too", *_alpha_cells(alpha["token_labels"])),
        ("of spans that two marked alike", *_alpha_cells(alpha["span_labels"])),
        ("unitizing, all labels", _show_signed(unitizing["alpha"]), "", ""),
        *(
            (f"  {label}", _show_signed(value), "", "")
            for label, value in unitizing["by_label"].items()
        ),
    ]
    print_table(("Krippendorff's alpha", "alpha", "observed", "units"), rows, numbers_from=1)
    typer.echo()
    missed = [_list_missed_cells(row) for row in figures["missed"]]
    print_table(
        ("marked by any", "identifiers", "missed by all", "found by any"), missed, numbers_from=1
    )
    print_line("the estimate holds where " + "; ".join(figures["assumptions"]))


def _pair_row(pair: Mapping[str, Any]) -> list[str]:
    spans, f1 = pair["spans"], pair["f1"]
    return [
        f"{pair['first']} and {pair['second']}",
        *(f"{spans[name]:,}" for name in ("both", "first_alone", "second_alone")),
        *(ratio(f1[name]) for name in ("strict", "overlap", "characters")),
        ratio(pair["observed"]),
        _show_signed(pair["kappa"]),
    ]


def _alpha_cells(found: Mapping[str, Any] | None) -> tuple[str, str, str]:
    if found is None:
        return UNDEFINED, UNDEFINED, UNDEFINED
    return _show_signed(found["alpha"]), ratio(found["observed"]), f"{found['units']:,}"


def _show_signed(value: float | None) -> str:
    return UNDEFINED if value is None else f"{value:.3f}"


def _list_missed_cells(row: Mapping[str, Any]) -> list[str]:
    made = row["estimate"]
    cells = [UNDEFINED, UNDEFINED]
    if made:
        cells = [
            f"{made['value']:,.0f} [{made['low']:,.0f}, {made['high']:,.0f}]",
            ratio(made["recall"]),
        ]
    return [row["label"] or "all", f"{row['marked']:,}", *cells]
