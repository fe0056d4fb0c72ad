"""``deid evaluate``: scores printed, and kept as a page and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

from deid_assets import __version__
from deid_assets.cli.app import PARTIAL, say
from deid_assets.cli.scores import Scores, show, to_json
from deid_assets.cli.streams import NoteSource, SpansFile, Withheld, progress
from deid_assets.core.comparison import Row
from deid_assets.core.errors import ConfigError, DeidError, InputError
from deid_assets.core.label_maps import LABEL_MAPS, PHI, label_map
from deid_assets.core.meddocan import MeddocanCounts, meddocan_counts
from deid_assets.core.note import Note
from deid_assets.core.phi import MEDDOCAN, LabelMap, Phi, Profile, profile
from deid_assets.core.score import Evaluation, evaluate_by_note, pair
from deid_assets.core.span import SpanSet
from deid_assets.evaluation import compare
from deid_assets.formats import FORMATS, Fault
from deid_assets.reports import evaluation_html

_TRIED_NOTES = 200
"""Notes read to tell which label map fits."""


@dataclass(frozen=True, slots=True)
class Gold:
    """What there is to find.

    Args:
        spans: By note id.
        lengths: Code points by note id.
        notes: The notes themselves by id where their text is looked at, else empty.
        patients: Patient id by note id, where known.
        labels: The map it was read with.
    """

    spans: Mapping[str, SpanSet]
    lengths: Mapping[str, int]
    notes: Mapping[str, Note] = field(repr=False)
    patients: Mapping[str, str]
    labels: LabelMap

    @property
    def scope(self) -> frozenset[Phi] | None:
        """The categories it annotates; all where it uses the categories' own names."""
        return None if self.labels is PHI else self.labels.categories


def evaluate_files(
    notes: NoteSource,
    preds: Sequence[Path],
    out: Path | None,
    *,
    sources: Sequence[str],
    labels: str | None,
    profile_name: str,
    style: str,
) -> int:
    """Score spans files against annotated notes, print tables and write the report.

    Args:
        notes: The gold.
        preds: Spans files, each scored by itself.
        out: Folder of the report; nothing is written where not given.
        sources: Detectors whose spans are scored alone, and together where there are several; all spans of a file
            when empty.
        labels: Label map of the gold; that of its format where not given.
        profile_name: Which categories count.
        style: ``table``, ``markdown`` or ``json``.

    Raises:
        InputError: No note is annotated, a label is unknown, or gold and predictions are not for the same notes.
    """
    chosen, withheld = profile(profile_name), Withheld()
    map_of_gold = label_map(labels) if labels else FORMATS[notes.format_name].labels
    gold = _read_gold(notes, map_of_gold, withheld, with_text=chosen is MEDDOCAN)
    evaluations: dict[str, Evaluation] = {}
    rows: dict[str, Mapping[str, Row]] = {}
    meddocan: dict[str, MeddocanCounts] = {}
    for name, total, by_note, official in _scored(gold, preds, list(dict.fromkeys(sources)), chosen):
        evaluations[name], rows[name] = total, by_note
        if official is not None:
            meddocan[name] = official
    facts = {
        "gold": notes.path.name,
        "labels": gold.labels.name,
        "profile": chosen.name,
        "notes": len(gold.spans),
        "withheld": len(withheld),
    }
    scores = Scores(facts, evaluations, compare(rows, patients=gold.patients), meddocan)
    if out is not None:
        _write(out, replace(scores, facts=facts | {"predictions": ", ".join(path.name for path in preds)}), chosen)
        say(f"report written to {out / 'report.html'}")
    show(scores, style=style)
    return PARTIAL if len(withheld) else 0


def _read_gold(notes: NoteSource, labels: LabelMap, withheld: Withheld, *, with_text: bool) -> Gold:
    spans: dict[str, SpanSet] = {}
    lengths: dict[str, int] = {}
    patients: dict[str, str] = {}
    kept: dict[str, Note] = {}
    with progress("reading gold") as advance:
        for found in notes.read(labels):
            if isinstance(found, Fault):
                if found.kind == "unknown-label":
                    raise InputError(f"{found.message}{_advice(notes)}")
                withheld.fault(found)
            elif found.spans is not None:
                spans[found.note.note_id] = found.spans
                lengths[found.note.note_id] = len(found.note.text)
                if with_text:
                    kept[found.note.note_id] = found.note
                if found.note.patient_id is not None:
                    patients[found.note.note_id] = found.note.patient_id
            advance(1)
    if not spans:
        raise InputError(f"{notes.path}: no annotated note could be read; give notes with spans")
    return Gold(spans, lengths, kept, patients, labels)


def _advice(notes: NoteSource) -> str:
    fitting = [name for name, labels in LABEL_MAPS.items() if _fits(notes, labels)]
    return f"; --labels {' or '.join(fitting)} would fit" if fitting else "; deid labels lists the label maps"


def _fits(notes: NoteSource, labels: LabelMap) -> bool:
    tried = islice(notes.read(labels), _TRIED_NOTES)
    return not any(isinstance(found, Fault) and found.kind == "unknown-label" for found in tried)


def _scored(
    gold: Gold, preds: Sequence[Path], sources: Sequence[str], chosen: Profile
) -> Iterator[tuple[str, Evaluation, dict[str, Row], MeddocanCounts | None]]:
    if len({path.stem for path in preds}) < len(preds):
        raise ConfigError("two spans files have the same name, by which scores are told apart; rename one")
    for path in preds:
        every = SpansFile(path).rest()
        found = [spans for note_id, spans in every.items() if note_id in gold.spans]
        present = sorted({span.source for spans in every.values() for span in spans})
        if absent := sorted(set(sources) - set(present)):
            raise InputError(f"{path}: no span is from {', '.join(absent)}; it has {', '.join(present) or 'no spans'}")
        prefix = f"{path.stem}: " if len(preds) > 1 else ""
        groups = [[source] for source in sources] + ([sources] if len(sources) > 1 else [])
        for group in groups or [present]:
            name = prefix + (" + ".join(group) or path.stem)
            try:
                pairs = list(pair(gold.spans.values(), _only(found, group)))
                total, rows = evaluate_by_note(pairs, profile=chosen, scope=gold.scope, lengths=gold.lengths)
                official = _official(gold.notes, pairs) if chosen is MEDDOCAN else None
            except DeidError as error:
                raise InputError(f"{path}: {error}") from error
            yield name, total, rows, official


def _official(notes: Mapping[str, Note], pairs: Iterable[tuple[SpanSet, SpanSet]]) -> MeddocanCounts:
    counts = (meddocan_counts(notes[gold.note_id], gold, pred) for gold, pred in pairs)
    return sum(counts, MeddocanCounts())


def _only(found: Iterable[SpanSet], sources: Sequence[str]) -> Iterator[SpanSet]:
    for spans in found:
        yield SpanSet(spans.note_id, spans.digest, tuple(span for span in spans if span.source in sources))


def _write(out: Path, scores: Scores, chosen: Profile) -> None:
    facts = scores.facts
    page = evaluation_html(
        scores.evaluations,
        title=f"{', '.join(scores.evaluations)} against {facts['gold']}",
        profile=chosen,
        provenance={
            "software": f"deid-assets {__version__}",
            **{name: str(facts[name]) for name in ("gold", "predictions")},
        },
        comparison=scores.comparison,
        corpus=f"{facts['notes']:,} annotated notes, label map {facts['labels']}",
    )
    out.mkdir(parents=True, exist_ok=True)
    (out / "scores.json").write_text(json.dumps(to_json(scores), indent=1) + "\n", encoding="utf-8")
    (out / "report.html").write_text(page, encoding="utf-8")
