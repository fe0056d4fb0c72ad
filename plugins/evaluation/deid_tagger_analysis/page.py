"""The page and the tables of a tagger's analysis: counts, labels and coordinates.

Words where the document has them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from deid_assets.extending import InputError
from deid_assets.extending.pages import (
    Estimate,
    Mark,
    amount,
    axis_floor,
    data,
    escape_name,
    estimate,
    mark,
    picture,
    ratio,
    render,
    script,
    table_md,
)
from deid_tagger_analysis.plots import (
    COLOURS,
    MARKERS,
    OTHERS,
    OUTSIDE,
    group_languages,
    map_labels,
    scale_to_box,
    space_png,
)

if TYPE_CHECKING:
    from markupsafe import Markup

PACKAGE = "deid_tagger_analysis"
SCHEMA, VERSION = "deid-assets/tagger-analysis", 1
"""The document that is shown."""
KINDS: Mapping[str, str] = {
    "missed": "Missed",
    "boundary": "Boundaries",
    "label": "Label",
    "spurious": "Spurious",
}
ALL = "ALL"
BAR_WIDTH = 150
"""Width of the bars of errors, in CSS pixels."""
LINE_WIDTH, LINE_MARGIN = 130, 5
"""Width of the lines from before to after, in CSS pixels, and room for the dots at their ends."""
LEVELS = (("entity", "Entities"), ("token", "Tokens"))
GRANULARITIES = (
    ("sub_category", "sub-category"),
    ("category", "category"),
    ("binary", "PHI or not"),
)


@dataclass(frozen=True, slots=True)
class LabelRow:
    """Scores of one label, ready to print."""

    label: str
    gold: int
    precision: float | None
    recall: Estimate | None
    f1: float | None
    mark: Mark | None


@dataclass(frozen=True, slots=True)
class ShareShift:
    """A share before and after the network, and by chance, in CSS pixels on a line from 0 to 1."""

    chance: float
    before: float
    after: float


def analysis_html(document: Mapping[str, Any]) -> str:
    """Return one self-contained page of a document as ``deid_tagger_analysis.analysis`` makes it.

    The page runs one script of its own, which its security policy names by digest, and loads
    nothing. It holds text of notes only where the document does.

    Raises:
        InputError: The document is of another kind or version.
    """
    if (document.get("schema"), document.get("version")) != (SCHEMA, VERSION):
        raise InputError(
            f"not an analysis of {SCHEMA}, version {VERSION}; make it again with this version"
        )
    vectors, (code, digest) = document["vectors"], script("analysis/analysis.js", package=PACKAGE)
    has_vectors = "left_out" not in vectors
    return render(
        "analysis/analysis.html.j2",
        package=PACKAGE,
        document=document,
        first=document["models"][0],
        kinds=KINDS,
        levels=LEVELS,
        granularities=GRANULARITIES,
        labels=label_rows(document["labels"]),
        floor=axis_floor(row.recall for row in label_rows(document["labels"])),
        bars=error_bars(document["errors"]),
        shifts=shifts(vectors["alike"]) if has_vectors else {},
        picture=picture(space_png(vectors, title="")) if has_vectors else "",
        sizes={"bar": BAR_WIDTH, "line": LINE_WIDTH, "margin": LINE_MARGIN},
        script=code,
        script_digest=digest,
        points=_points(vectors) if has_vectors else "",
        places=_by_label(document.get("evidence", ())),
    )


def label_rows(labels: Mapping[str, Mapping[str, Any]]) -> list[LabelRow]:
    """Return the scores of each label, the lowest recall first, and of all labels last."""
    found = [
        (name, row, estimate(row["tp"], row["tp"] + row["fn"])) for name, row in labels.items()
    ]  # the interval is Wilson's, as in the card
    floor = axis_floor(recall for _, _, recall in found)
    rows = [
        LabelRow(
            name, row["tp"] + row["fn"], row["precision"], recall, row["f1"], mark(recall, floor)
        )
        for name, row, recall in found
    ]
    return sorted(
        rows,
        key=lambda row: (
            row.label == ALL,
            row.recall is None,
            row.recall.value if row.recall else 0.0,
            row.label,
        ),
    )


def error_bars(errors: Mapping[str, Any]) -> dict[str, list[tuple[str, float, float]]]:
    """Return for each label the parts of its bar: kind, start and width in CSS pixels.

    The longest fills the width.
    """
    most = max((row["errors"] for row in errors["labels"]), default=0) or 1
    found = {}
    for row in errors["labels"]:
        start, parts = 0.0, []
        for kind in KINDS:
            width = BAR_WIDTH * row["kinds"][kind] / most
            parts.append((kind, round(start, 1), round(width, 1)))
            start += width
        found[row["label"]] = [part for part in parts if part[2]]
    return found


def shifts(alike: Sequence[Mapping[str, Any]]) -> dict[str, ShareShift]:
    """Return where the shares of each label are drawn."""

    def across(share: float) -> float:
        return round(LINE_MARGIN + (LINE_WIDTH - 2 * LINE_MARGIN) * share, 1)

    found = {}
    for row in alike:
        shares = list(row["layers"].values())
        found[row["label"]] = ShareShift(
            across(row["chance"]), across(shares[0]), across(shares[-1])
        )
    return found


def errors_md(errors: Mapping[str, Any]) -> str:
    """Return the distribution of errors as a Markdown table, the label with most errors first."""
    rows = [
        [
            escape_name(row["label"]),
            amount(row["gold"]),
            *(amount(row["kinds"][kind]) for kind in KINDS),
            amount(row["tokens_missed"]),
            amount(row["tokens_spurious"]),
        ]
        for row in errors["labels"]
        if row["errors"]
    ]
    totals = [amount(errors["kinds"][kind]) for kind in KINDS]
    gold = amount(sum(row["gold"] for row in errors["labels"]))
    tokens = [amount(errors["tokens_missed"]), amount(errors["tokens_spurious"])]
    header = ["Label", "Annotated", *KINDS.values(), "Tokens missed", "Tokens spurious"]
    return table_md(header, [*rows, ["**all**", gold, *totals, *tokens]], left=1)


def alike_md(vectors: Mapping[str, Any]) -> str:
    """Return the shares of neighbours with the same label as a Markdown table.

    Where there are none, it is one line.
    """
    if "left_out" in vectors:
        return escape_name(str(vectors["left_out"]))
    layers = [layer["name"] for layer in vectors["layers"]]
    rows = [
        [
            "**all**" if row["label"] == ALL else escape_name(row["label"]),
            amount(row["tokens"]),
            ratio(row["chance"]),
            *(ratio(row["layers"][layer]) for layer in layers),
        ]
        for row in vectors["alike"]
    ]
    table = table_md(["Label", "Words", "By chance", *map(escape_name, layers)], rows, left=1)
    return (
        f"{table}\n\nShare of the {vectors['nearest']} nearest other words that have the same"
        " label, by layer."
    )


def _by_label(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    found: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        found.setdefault(str(row["label"]), []).append(row)
    return found


def _points(vectors: Mapping[str, Any]) -> Markup:
    """Return what the script draws."""
    drawn_as = map_labels(vectors["labels"])
    own = [name for name in dict.fromkeys(drawn_as.values()) if name not in (OTHERS, OUTSIDE)]
    names = [*own, *([OTHERS] if OTHERS in drawn_as.values() else []), OUTSIDE]
    value = {
        "names": [name if name != OUTSIDE else "no label (O)" for name in names],
        "own": len(own),
        "colours": COLOURS,
        "markers": MARKERS,
        "kinds": [names.index(drawn_as[label]) for label in vectors["labels"]],
        "languages": vectors["languages"],
        "rows": group_languages(vectors["languages"]),
        "layers": [_layer(one) for one in vectors["projections"]],
    }
    return data(value)


def _layer(projection: Mapping[str, Any]) -> dict[str, Any]:
    points = scale_to_box(projection["points"]).tolist()
    return {
        "name": projection["layer"],
        "explained": projection["explained"],
        "points": [[round(value, 3) for value in point] for point in points],
    }
