"""Tables that plugins make of their own detectors, each as one asset.

Models by languages, with every score's interval.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

import pyarrow as pa

from deid_assets.assets.declarations import AssetOutput, Check
from deid_assets.assets.display import Markdown, Shown, show_png
from deid_assets.assets.evaluating import (
    AnnotatedOutcomes,
    list_complete,
    read_answers,
    warn_of_missing,
)
from deid_assets.assets.repeats import gold_batches
from deid_assets.core.errors import InputError, PluginError
from deid_assets.core.resolve import Ensemble, resolve
from deid_assets.core.span import SpanSet
from deid_assets.core.trainer import Document
from deid_assets.evaluation.tables import DetectorTable, Score
from deid_assets.plugins import Plugin, load_declaration
from deid_assets.quality import Verdict
from deid_assets.reports.tables import escape_name, table_md
from deid_assets.runtime.installation import Installation

NOTES = 100
"""Notes with gold of each language that a table is made of, at most.

Its detectors may take seconds for each.
"""
CHECKS = (
    Check(
        "all_took_part",
        "Every one of the detectors has spans in every batch with annotated notes.",
        blocking=False,
    ),
    Check(
        "every_language_scored",
        "Every language with annotated notes has a row of every detector.",
        blocking=False,
    ),
)
SCORES = pa.schema(
    [
        *(pa.field(name, pa.string(), nullable=False) for name in ("system", "lang", "statistic")),
        *(pa.field(name, pa.float64()) for name in ("measured", "low", "high")),
        pa.field("notes", pa.int64(), nullable=False),
    ]
)
"""One row per score; ``measured`` is missing where nothing was to be counted."""
_FIELDS = {"statistic": "name", "measured": "value"}


def make_table(
    _batch: str,
    installation: Installation,
    *,
    plugin: Plugin,
    detectors: Sequence[str],
    beside: Sequence[str],
) -> AssetOutput:
    """Make a plugin's table over the notes with gold that every detector has spans of.

    Args:
        installation: Opened.
        plugin: Entry point of the table.
        detectors: Those of the plugin.
        beside: Others that it is compared with.

    Raises:
        InputError: There is no gold, or none of the detectors has spans in every batch that has it.
        PluginError: What the plugin names makes no table.
    """
    batches = gold_batches(installation)
    whole = list_complete(installation, (*detectors, *beside), batches)
    present = [name for name in detectors if name in whole]
    if not present:
        raise InputError(
            f"{plugin.name}: no detector of it has spans in every batch with annotated notes;"
            " back-fill one"
        )
    found = read_answers(installation, batches, whole)
    documents = _documents(found)
    answers = {
        name: [_spans(found.outcomes[name].get(one.note.note_id), one.spans) for one in documents]
        for name in beside
        if name in whole
    }
    options = {name: installation.taggers.locate(name)[1] for name in present}
    result = _call(plugin, options, documents, answers)
    stored = [_map_score(score) for score in result.scores]
    counts = {"detectors": len(present), "annotated_notes": len(documents), **result.counts}
    return AssetOutput(
        tables={"scores": pa.Table.from_pylist(stored, SCORES)},
        sources=found.sources,
        verdicts=_verdicts(result, documents, present, absent=len(detectors) - len(present)),
        counts=counts,
        metadata={"table": Markdown(scores_md(result.scores)), **_plots(result)},
    )


def _call(
    plugin: Plugin,
    options: Mapping[str, Mapping[str, object]],
    documents: Sequence[Document],
    answers: Mapping[str, Sequence[SpanSet]],
) -> DetectorTable:
    """Return the table that a plugin makes of its own detectors, and of others' answers.

    Raises:
        PluginError: What the plugin names is no function, or makes no table.
    """
    make = load_declaration(plugin, "table")
    if not callable(make):
        raise PluginError(f"table {plugin.name!r}: what its plugin names is no function")
    made = make(options, documents, answers)
    if not isinstance(made, DetectorTable):
        raise PluginError(f"table {plugin.name!r}: what its function returns is no table")
    return made


def _verdicts(
    result: DetectorTable, documents: Sequence[Document], present: Sequence[str], *, absent: int
) -> list[Verdict]:
    languages = {document.note.lang for document in documents}
    rows = {(score.system, score.lang) for score in result.scores}
    missing = sum((name, lang) not in rows for name in present for lang in languages)
    return [
        warn_of_missing("all_took_part", absent, "Back-fill the detectors that miss batches."),
        warn_of_missing(
            "every_language_scored",
            missing,
            "A language without a threshold or with too few notes has none.",
        ),
    ]


def _plots(result: DetectorTable) -> Shown:
    return {
        f"plot_{number}": show_png(one.png, title=one.title)
        for number, one in enumerate(result.pictures, 1)
    }


def _documents(found: AnnotatedOutcomes) -> list[Document]:
    """Return notes with gold, of each language those whose digests come first."""
    counted: Counter[str | None] = Counter()
    documents = []
    for name, note in sorted(found.annotated.notes.items(), key=lambda pair: pair[1].digest):
        if counted[note.lang] < NOTES:
            counted[note.lang] += 1
            spans = found.annotated.gold[name]
            documents.append(
                Document(note, resolve(note, [spans], ensemble=Ensemble.of_equals(spans)))
            )
    return documents


def _spans(outcome: object, gold: SpanSet) -> SpanSet:
    """Return what a detector found; nothing where it failed."""
    return outcome if isinstance(outcome, SpanSet) else SpanSet(gold.note_id, gold.digest)


def _map_score(score: Score) -> Mapping[str, object]:
    return {name: getattr(score, _FIELDS.get(name, name)) for name in SCORES.names}


def scores_md(scores: Sequence[Score]) -> str:
    """Return a row per system and language and a column per score, in Markdown."""
    names = list(dict.fromkeys(score.name for score in scores))
    rows: dict[tuple[str, str], dict[str, Score]] = {}
    for score in scores:
        rows.setdefault((score.lang, score.system), {})[score.name] = score
    body = [
        [escape_name(system), lang, *(_number(of_row.get(name)) for name in names)]
        for (lang, system), of_row in rows.items()
    ]
    return table_md(
        ["System", "Language", *(name.replace("_", " ") for name in names)], body, left=2
    )


def _number(score: Score | None) -> str:
    if score is None or score.value is None:
        return ""
    if score.low is None or score.high is None:
        return f"{score.value:.3g}"
    return f"{score.value:.3f} [{score.low:.3f}, {score.high:.3f}]"
