"""What the asset of a tagger shows of its errors and vectors: labels and figures, no words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from deid_assets.extending import Document, Failed, SpanSet
from deid_assets.extending.corpora import Corpus
from deid_assets.extending.taggers import TaggerAnalysis, read_card
from deid_tagger_analysis.analysis import describe
from deid_tagger_analysis.models import ModelOutcomes
from deid_tagger_analysis.page import alike_md, analysis_html, errors_md
from deid_tagger_analysis.plots import space_png


def show(
    model: Path, documents: Sequence[Document], outcomes: Sequence[SpanSet | Failed]
) -> TaggerAnalysis:
    """Return the errors of a model on development notes, and its vectors where it has some."""
    answered = ModelOutcomes(model, read_card(model), outcomes)
    analysis = describe([answered], Corpus("development notes", tuple(documents)))
    vectors, name = analysis["vectors"], analysis["models"][0]["name"]
    title = f"Vectors of {name}"
    return TaggerAnalysis(
        tables={
            "errors_on_development_notes": errors_md(analysis["errors"]),
            "neighbours_with_the_same_label": alike_md(vectors),
        },
        pictures=(
            {} if "left_out" in vectors else {"vectors": (title, space_png(vectors, title=title))}
        ),
        page=analysis_html(analysis),
    )
