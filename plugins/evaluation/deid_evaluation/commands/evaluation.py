"""``deid evaluate``: scores printed, and kept as a page and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from deid_assets import __version__
from deid_assets.extending import (
    MEDDOCAN,
    ConfigError,
    DeidError,
    InputError,
    OverlapError,
    label_map,
    profile,
)
from deid_assets.extending.commands import FORMATS, PARTIAL, Fault, NoteSource, Withheld, say
from deid_assets.extending.pages import check_restricted, write_files
from deid_assets.extending.scoring import Comparison, compare
from deid_evaluation.causes import Causes, parse_causes
from deid_evaluation.commands.inputs import (
    NamedFile,
    ReferenceNotes,
    check_names,
    digest_row,
    read_curve,
    read_gold,
    read_systems,
)
from deid_evaluation.commands.scores import ScoresDocument, show
from deid_evaluation.meddocan import MeddocanCounts, meddocan_counts
from deid_evaluation.pages.report import report_html
from deid_evaluation.report import ProfiledNotes, ReportOptions
from deid_evaluation.report.build import SystemScores, assemble, measure
from deid_evaluation.report.corpus import groups_of
from deid_evaluation.report.runs import read_runs
from deid_evaluation.report.text import PLACEHOLDER, placeholder_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Options of the command.

    Args:
        gold: Annotated notes.
        preds: Spans files.
        out: Folder of the report; nothing is written where not given.
        sources: Detectors whose spans are scored alone, and together where there are several.
        labels: Label map of the gold; that of its format where not given.
        profile: Name of the profile: which categories count.
        style: ``table``, ``markdown`` or ``json``.
        group_by: Keys of ``meta`` that make subgroups.
        restricted: Show text in the report, which only its owner may read.
        causes: File that a reviewer exported from a report.
        cards: Model cards with learning curves.
        runs: Recipes compared over runs or folds, as ``deid train`` wrote them.
        rewritten: Notes with the text that was generated from them.
        placeholder: Regular expression of what an identifier becomes in it.
        is_sample: The gold is a sample: predictions may be for other notes too.
        overlaps_allowed: Gold may overlap.
        command: The command line, for the report.

    Raises:
        ConfigError: An option needs ``out``.
    """

    gold: NoteSource
    preds: Sequence[NamedFile]
    out: Path | None = None
    sources: Sequence[str] = ()
    labels: str | None = None
    profile: str = "harmonised"
    style: str = "table"
    group_by: Sequence[str] = ()
    restricted: bool = False
    causes: Path | None = None
    cards: Sequence[Path] = ()
    runs: Sequence[Path] = ()
    rewritten: NoteSource | None = None
    placeholder: str = PLACEHOLDER
    is_sample: bool = False
    overlaps_allowed: bool = False
    command: str = ""

    def __post_init__(self) -> None:
        check_names(self.preds)
        placeholder_of(self.placeholder)
        needy = {
            "--restricted": self.restricted,
            "--causes": self.causes,
            "--card": self.cards,
            "--runs": self.runs,
            "--rewritten": self.rewritten,
            "--group-by": self.group_by,
        }
        given = [name for name, value in needy.items() if value]
        if self.out is None and given:
            raise ConfigError(f"{given[0]} is for the report; say where it goes with --out FOLDER")
        if self.out is not None and self.restricted:
            check_restricted(self.out)


def evaluate_files(request: Request) -> int:
    """Score spans files against annotated notes, print tables and write the report; the exit code.

    Raises:
        InputError: No note is annotated, a label is unknown, or gold and predictions are not for
            the same notes.
        OverlapError: Gold spans overlap.
    """
    chosen, withheld = profile(request.profile), Withheld()
    map_of_gold = (
        label_map(request.labels) if request.labels else FORMATS[request.gold.format_name].labels
    )
    causes = _causes(request.causes)
    curves, runs = (
        [read_curve(card) for card in request.cards],
        [read_runs(path) for path in request.runs],
    )
    gold = read_gold(request.gold, map_of_gold, withheld)
    corpus = _corpus(gold, request)
    # refuses a key that no note has before the work is done
    groups_of(corpus.notes, request.group_by)
    measured = _measure(request, gold, corpus)
    comparison = compare({one.system.name: one.rows for one in measured}, patients=corpus.patients)
    facts: dict[str, object] = {
        "gold": request.gold.path.name,
        "labels": gold.labels.name,
        "profile": chosen.name,
        "notes": len(gold.spans),
        "withheld": len(withheld),
    }
    evaluations = {one.system.name: one.evaluation for one in measured}
    scores = ScoresDocument(facts, evaluations, comparison, _meddocan(corpus, measured))
    if request.out is not None:
        options = _options(request, facts, evaluations, causes=causes, curves=curves, runs=runs)
        _write(request.out, corpus, measured, comparison, options)
    show(scores, style=request.style)
    return PARTIAL if len(withheld) else 0


def _corpus(gold: ReferenceNotes, request: Request) -> ProfiledNotes:
    try:
        return ProfiledNotes(
            notes=gold.notes,
            gold=gold.spans,
            profile=profile(request.profile),
            scope=gold.scope,
            overlaps_allowed=request.overlaps_allowed,
        )
    except DeidError as error:
        advice = " (--allow-overlaps)" if isinstance(error, OverlapError) else ""
        raise InputError(f"{request.gold.path}: {error}{advice}") from None


def _measure(request: Request, gold: ReferenceNotes, corpus: ProfiledNotes) -> list[SystemScores]:
    measured = []
    is_alone, sources = len(request.preds) == 1, list(dict.fromkeys(request.sources))
    for pred in request.preds:
        for system in read_systems(
            pred, gold, sources=sources, is_alone=is_alone, is_sample=request.is_sample
        ):
            try:
                measured.append(measure(corpus, system))
            except DeidError as error:
                raise InputError(f"{pred.path}: {error}") from error
    return measured


def _causes(path: Path | None) -> Causes:
    if path is None:
        return {}
    try:
        return parse_causes(path.read_text(encoding="utf-8-sig"), name=str(path))
    except UnicodeDecodeError:
        raise InputError(f"{path}: not text in UTF-8; export it from the report again") from None


def _meddocan(corpus: ProfiledNotes, measured: Sequence[SystemScores]) -> dict[str, MeddocanCounts]:
    if corpus.profile is not MEDDOCAN:
        return {}
    return {
        one.system.name: sum(
            (meddocan_counts(corpus.notes[gold.note_id], gold, pred) for gold, pred in one.pairs),
            MeddocanCounts(),
        )
        for one in measured
    }


def _options(
    request: Request,
    facts: dict[str, object],
    names: Iterable[str],
    *,
    causes: Causes,
    curves: Sequence[dict[str, object]],
    runs: Sequence[dict[str, object]],
) -> ReportOptions:
    inputs = [(request.gold.path, "gold"), *((pred.path, "predictions") for pred in request.preds)]
    inputs += [(card, "model card") for card in request.cards]
    inputs += [(path, "runs") for path in request.runs]
    inputs += [(request.causes, "causes")] if request.causes else []
    inputs += [(request.rewritten.path, "rewritten notes")] if request.rewritten else []
    return ReportOptions(
        title=f"{', '.join(names)} against {facts['gold']}",
        facts={
            "software": f"deid-assets {__version__}",
            "annotations": f"{facts['gold']}, label map {facts['labels']}",
            "notes withheld": str(facts["withheld"]),
        },
        inputs=[digest_row(path, role) for path, role in inputs],
        commands=[request.command] if request.command else [],
        curves=curves,
        runs=runs,
        group_by=request.group_by,
        with_text=request.restricted,
        causes=causes,
        rewritten=_read_rewritten(request.rewritten),
        placeholder=request.placeholder,
    )


def _read_rewritten(source: NoteSource | None) -> dict[str, str] | None:
    if source is None:
        return None
    texts: dict[str, str] = {}
    for found in source.read():
        if isinstance(found, Fault):
            raise InputError(found.message)
        texts[found.note.note_id] = found.note.text
    return texts


def _write(
    out: Path,
    corpus: ProfiledNotes,
    measured: Sequence[SystemScores],
    comparison: Comparison,
    options: ReportOptions,
) -> None:
    report = assemble(corpus, measured, comparison, options)
    if stale := report["stale_causes"]:
        say(
            f"{stale:,} causes are of errors that are gone, or of other systems; they are not in"
            " the report"
        )
    files = {
        "report.json": json.dumps(report, indent=1, ensure_ascii=False, allow_nan=False) + "\n",
        "report.html": report_html(report),
    }
    write_files(out, files, restricted=options.with_text)
    say(
        "report written to"
        f" {out / 'report.html'}{', with note text: for you alone' if options.with_text else ''}"
    )
