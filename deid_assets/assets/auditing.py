"""privacy_<audit>: what attacks find in the redaction of every policy, and in a model that was
trained on the notes.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import pyarrow as pa

from deid_assets.assets.declarations import AssetOutput, Check
from deid_assets.assets.detection import read_notes_of, read_outcomes
from deid_assets.assets.display import Markdown, show_png
from deid_assets.assets.ingest import GOLD, RAW_NOTES
from deid_assets.assets.merging import read_gold
from deid_assets.assets.scoring import list_scored_batches
from deid_assets.config import Settings
from deid_assets.core.assets import Family
from deid_assets.core.detector import Failed
from deid_assets.core.errors import DeidError, InputError
from deid_assets.core.note import Note
from deid_assets.core.redact import Policy
from deid_assets.core.resolve import Ensemble, resolve
from deid_assets.core.span import DisjointSpans, SpanSet
from deid_assets.pipeline.resolving import MERGED_SPANS
from deid_assets.plugins import Plugin, load_declaration
from deid_assets.privacy.audit import Case, Material
from deid_assets.privacy.result import AuditResult, Outcome, read_result
from deid_assets.privacy.running import report_aborted, run_named
from deid_assets.privacy.subject import Sealer, model_digest
from deid_assets.quality import Verdict
from deid_assets.reports import Audited
from deid_assets.reports.figures import figures_md
from deid_assets.runtime.installation import Installation
from deid_assets.runtime.processes import WorkerDied
from deid_assets.store.files import ALL
from deid_assets.training.corpora import read_marked, read_raw
from deid_assets.training.pretraining import count_read

CHECKS = (
    Check("assessed", "The audit had what it needs and came to a verdict.", blocking=False),
    Check(
        "controls_held",
        "It finds what was planted, and not what was not, so that its figures count.",
        blocking=False,
    ),
    Check(
        "nothing_found",
        "Its rules passed: what it found is within the limits that were set.",
        blocking=False,
    ),
)
FIGURES = pa.schema(
    [
        *(pa.field(name, pa.string(), nullable=False) for name in ("name", "group")),
        *(pa.field(name, pa.float64(), nullable=False) for name in ("measured", "low", "high")),
        pa.field("chance", pa.float64()),
        pa.field("units", pa.int64(), nullable=False),
        pa.field("unit", pa.string(), nullable=False),
    ]
)
"""One row per measurement with its 95 % interval.

``chance`` is missing where there is no such value.
"""
_DOCUMENT = pa.schema([pa.field("document", pa.large_string(), nullable=False)])
_PLOTS = pa.schema(
    [
        pa.field("name", pa.string(), nullable=False),
        pa.field("png", pa.large_binary(), nullable=False),
    ]
)


def key_of(audit: str) -> str:
    """Return the key of an audit's asset."""
    return Family.PRIVACY.of(audit)


def make_audit(
    _batch: str, installation: Installation, *, name: str, policies: Sequence[Policy]
) -> AssetOutput:
    """Run an audit; where it cannot be assessed, that and why is what is stored."""
    batches = list_scored_batches(installation, MERGED_SPANS)
    cases = [case for batch in batches for case in _cases(batch, installation)]
    work = partial(_run_audit, name=name, policies=policies, settings=installation.settings)
    try:
        (result,) = installation.detectors.map(work, [cases])
    except WorkerDied as error:
        result = report_aborted(name, str(error))
    return AssetOutput(
        tables=tables_of(result),
        sources=[
            installation.files.receipt(asset, batch)
            for batch in batches
            for asset in (RAW_NOTES, GOLD, MERGED_SPANS)
        ],
        verdicts=_verdicts(result),
        counts={
            "outcome": result.outcome.value.replace(" ", "-"),
            "batches": len(batches),
            **result.counts,
        },
        metadata={
            "question": result.title,
            "verdict": f"{result.outcome.value}: {result.reason}",
            "figures": Markdown(figures_md(result.figures)),
            "blind_spots": Markdown("\n".join(f"- {line}" for line in result.blind_spots)),
            **{f"plot_{plot.name}": show_png(plot.png, title=plot.title) for plot in result.plots},
        },
    )


def tables_of(result: AuditResult) -> Mapping[str, pa.Table]:
    """Return what is stored of a result.

    Its figures as rows, and the whole of it, which ``stored_result`` reads.
    """
    rows = [
        {name: getattr(each, "value" if name == "measured" else name) for name in FIGURES.names}
        | {"chance": None if isinstance(each.chance, str) else float(each.chance)}
        for each in result.figures
    ]
    plots = [{"name": plot.name, "png": plot.png} for plot in result.plots]
    return {
        "figures": pa.Table.from_pylist(rows, FIGURES),
        "result": pa.Table.from_pylist([{"document": json.dumps(result.to_json())}], _DOCUMENT),
        "plots": pa.Table.from_pylist(plots, _PLOTS),
    }


def _verdicts(result: AuditResult) -> list[Verdict]:
    assessed = result.outcome is not Outcome.NOT_ASSESSED
    held = result.outcome in {Outcome.PASSED, Outcome.FAILED}

    def verdict(name: str, *, passed: bool, judged: bool) -> Verdict:
        return Verdict(
            name,
            passed=passed and judged,
            blocking=False,
            applicable=judged,
            description=result.reason,
        )

    return [
        verdict("assessed", passed=assessed, judged=True),
        verdict("controls_held", passed=held, judged=assessed),
        verdict("nothing_found", passed=result.outcome is Outcome.PASSED, judged=held),
    ]


def _run_audit(
    cases: Sequence[Case], *, name: str, policies: Sequence[Policy], settings: Settings
) -> AuditResult:
    """Run an audit, in a worker process: a library in it may abort."""
    material = _material(settings, cases, policies)
    options = settings.audits.get(name)
    result = run_named(name, material, options)
    return Sealer.of(material, read=_read_by(material)).seal(result, options)


def _read_by(material: Material) -> dict[str, int]:
    if material.model is None:
        return {}
    sets = {
        "training": material.training,
        "held_out": material.held_out,
        "annotated": [case.note for case in material.cases],
    }
    sizes = {name: len(notes) for name, notes in sets.items()}
    return sizes | {
        f"{name} read": count_read(material.model, notes) for name, notes in sets.items()
    }


def _material(settings: Settings, cases: Sequence[Case], policies: Sequence[Policy]) -> Material:
    given = settings.privacy
    return Material(
        key=settings.key(),
        cases=cases,
        policies=policies,
        model=given.model,
        reference=given.reference,
        training=read_raw(given.training) if given.training else (),
        held_out=read_raw(given.held_out) if given.held_out else (),
        calibration=read_raw(given.calibration) if given.calibration else (),
        marked=read_marked(given.model, given.training, given.held_out, given.calibration),
        canaries=given.canaries,
        population=given.population,
    )


def _cases(batch: str, installation: Installation) -> Iterator[Case]:
    """Yield the annotated notes of a batch with what the ensemble found.

    Notes that it failed on are withheld anyway.
    """
    gold, outcomes = (
        read_gold(batch, installation),
        read_outcomes(MERGED_SPANS, batch, installation),
    )
    for note in read_notes_of(batch, installation):
        found = outcomes[note.note_id]
        if note.note_id in gold and not isinstance(found, Failed):
            yield Case(note, _disjoint(note, gold[note.note_id]), _disjoint(note, found))


def _disjoint(note: Note, spans: SpanSet) -> DisjointSpans:
    return resolve(note, [spans], ensemble=Ensemble.of_equals(spans))


def _question(plugin: Plugin) -> str:
    """Return the question of an audit that was not run.

    Of one that cannot be imported, what its plugin is for.
    """
    try:
        return str(getattr(load_declaration(plugin, "audit"), "title", plugin.summary))
    except DeidError:
        return plugin.summary


def read_audit(name: str, installation: Installation) -> Audited:
    """Return an audit as it was last made.

    One that was not made, or whose files are damaged, is not assessed.
    """
    plugin = installation.snapshot.audits[name]
    nothing = Audited(
        name, _question(plugin), Outcome.NOT_ASSESSED.value, plugin.fault or "it was not run"
    )
    try:
        receipt = installation.files.find(key_of(name), ALL)
        if receipt is None:
            return nothing
        (row,) = installation.files.read(key_of(name), ALL, "result").to_pylist()
        result = read_result(json.loads(row["document"]))
    except DeidError as error:
        return replace(nothing, reason=str(error))
    if _is_of_another_model(result, installation):
        return replace(
            nothing,
            title=result.title,
            reason="the model changed since; run the job privacy_audits again",
        )
    return Audited(name, result.title, result.outcome.value, result.reason, receipt.created_at)


def _is_of_another_model(result: AuditResult, installation: Installation) -> bool:
    """Whether a result is of another model than the settings name now, or of other files in its
    folder.
    """
    subject, model = result.subject, installation.settings.privacy.model
    known = "" if subject is None else subject.model
    if model is None or not model.exists():
        return bool(known)
    try:
        return known != model_digest(model, installation.settings.key())
    except InputError:  # what cannot be told is not the same
        return True
