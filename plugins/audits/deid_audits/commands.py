"""``deid privacy``: audits of what redacted notes, and models trained on them, still tell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from typing import Annotated as Arg

import typer

from deid_assets.extending import (
    ConfigError,
    DisjointSpans,
    InputError,
    Note,
    SpanSet,
    label_map,
    remedy,
)
from deid_assets.extending.audits import Ensemble, resolve, secret_of_environment
from deid_assets.extending.commands import (
    PARTIAL,
    AnnotatedReading,
    Fault,
    JsonOption,
    NoteSource,
    SpansFile,
    Withheld,
    WithPlugins,
    check_out,
    group_options,
    guard_command,
    parse_option,
    print_json,
    print_rows,
    print_table,
    say,
)
from deid_assets.extending.files import atomic_file

if TYPE_CHECKING:
    from deid_assets.extending.audits import AuditResult, Case, Material


class OfPrivacy(WithPlugins):
    """``deid privacy``, to which other plugins add."""

    entry_points = "deid_assets.commands.privacy"


privacy_app = typer.Typer(
    cls=OfPrivacy,
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
    help="Audits of what redacted notes and models still tell.",
)

PathOption = Path | None


@privacy_app.command("list")
@guard_command
def list_audits(*, as_json: JsonOption = False) -> int:
    """List the installed audits."""
    from deid_assets.extending.audits import find_installed_audits  # noqa: PLC0415 - loads NumPy

    rows = [
        {
            "name": p.name,
            "version": p.version,
            "digest": p.digest,
            "summary": p.fault or p.summary,
            "fault": p.fault,
        }
        for p in find_installed_audits().values()
    ]
    return print_rows(rows, columns=("name", "version", "summary"), as_json=as_json)


@dataclass(frozen=True, slots=True)
class OfRelease:
    """Options on the notes, and on how they are redacted."""

    notes: Arg[
        PathOption, typer.Option(metavar="NOTES", help="Annotated notes: what there is to cover.")
    ] = None
    spans: Arg[
        PathOption,
        typer.Option(
            metavar="FILE",
            help="Spans of a detector; without, what is annotated is taken as found.",
        ),
    ] = None
    policy: Arg[
        list[str] | None, typer.Option(metavar="NAME|FILE", help="Redaction policy; several times.")
    ] = None


@dataclass(frozen=True, slots=True)
class OfModel:
    """Options on a model, and on what it was trained on."""

    model: Arg[
        PathOption,
        typer.Option(
            metavar="FOLDER", help="Language model or tagger that was trained on the notes."
        ),
    ] = None
    reference: Arg[
        PathOption, typer.Option(metavar="FOLDER", help="Model of the same kind that was not.")
    ] = None
    training: Arg[
        str, typer.Option(metavar="NOTES", help="Notes that the model was trained on.")
    ] = ""
    held_out: Arg[
        str, typer.Option(metavar="NOTES", help="Notes of the same kind that it was not.")
    ] = ""
    calibration: Arg[
        str, typer.Option(metavar="NOTES", help="Notes for thresholds, in neither of these.")
    ] = ""
    canaries: Arg[
        PathOption, typer.Option(metavar="FILE", help="Secrets planted in the training notes.")
    ] = None
    population: Arg[
        PathOption, typer.Option(metavar="FILE", help="People among whom a patient is sought.")
    ] = None


@privacy_app.command("run")
@guard_command
@group_options
def run(
    audits: Arg[
        list[str] | None,
        typer.Argument(metavar="[AUDIT]...", help="All installed when none is named."),
    ] = None,
    *,
    out: Arg[
        Path,
        typer.Option(
            metavar="FOLDER", help="Folder for a JSON file per audit, plots and privacy.html."
        ),
    ],
    of_release: OfRelease,
    of_model: OfModel,
    option: Arg[
        list[str] | None,
        typer.Option(
            metavar="AUDIT.KEY=VALUE", help="Option of an audit, as in TOML; several times."
        ),
    ] = None,
    seed: Arg[int, typer.Option(metavar="N", help="Seed of draws.")] = 1,
    reading: AnnotatedReading,
    as_json: JsonOption = False,
) -> int:
    """Run audits on notes, policies and models.

    What is finished stays when the run is stopped: the same command goes on with what is left. Each
    asks one question and answers passed, failed, void (its controls show that the figures prove
    nothing) or not assessed, with the reason.
    """
    from deid_assets.extending.audits import find_installed_audits  # noqa: PLC0415
    from deid_audits.running import AuditRun  # noqa: PLC0415

    check_out(out, inputs=_inputs(of_release, of_model), is_folder=True)
    chosen = _choose(audits, find_installed_audits())
    options = _options(option or [], chosen)
    withheld = Withheld()
    material = _material(of_release, of_model, reading, seed=seed, withheld=withheld)
    is_signed = secret_of_environment() is not None
    if not is_signed and of_model.model is not None:
        say("no DEID_KEY is set: results are not signed, and release no model")
    results = AuditRun(material, options, out, is_signed).results(chosen)
    return _show(results, as_json=as_json, partial=bool(withheld))


def _inputs(of_release: OfRelease, of_model: OfModel) -> list[Path]:
    """Return the files and folders that are named."""
    given = (
        of_release.notes,
        of_release.spans,
        of_model.model,
        of_model.reference,
        of_model.canaries,
        of_model.population,
    )
    return [path for path in given if path]


def _material(
    of_release: OfRelease,
    of_model: OfModel,
    reading: AnnotatedReading,
    *,
    seed: int,
    withheld: Withheld,
) -> Material:
    """Return what the audits work on; notes that cannot be read are withheld."""
    from deid_assets.extending.audits import Material  # noqa: PLC0415
    from deid_assets.extending.corpora import (  # noqa: PLC0415 - loads the synthesis
        read_marked,
        read_raw,
    )

    policies, key = _policies(of_release.policy or [])
    cases: list[Case] = []
    spans = None if of_release.spans is None else SpansFile(of_release.spans)
    if of_release.notes is not None:
        source = reading.source(of_release.notes)
        cases = list(_cases(source, reading.labels, spans, withheld))
    model, labels = of_model.model, reading.labels or ""
    training, held_out, calibration = of_model.training, of_model.held_out, of_model.calibration
    return Material(
        key=key,
        seed=seed,
        cases=cases,
        predictions=spans is not None,
        policies=policies,
        model=_there(model),
        reference=_there(of_model.reference),
        training=read_raw(training) if training else (),
        held_out=read_raw(held_out) if held_out else (),
        calibration=read_raw(calibration) if calibration else (),
        marked=read_marked(model, training, held_out, calibration, labels=labels),
        canaries=_there(of_model.canaries),
        population=_there(of_model.population),
    )


@privacy_app.command("report")
@guard_command
def report(
    folders: Arg[
        list[Path], typer.Argument(metavar="FOLDER...", help="What deid privacy run wrote.")
    ],
    *,
    out: Arg[Path, typer.Option(metavar="FILE", help="Page to write, .html.")],
    model: Arg[str, typer.Option(metavar="NAME", help="Model that the page is about.")] = "",
    facts: Arg[
        PathOption,
        typer.Option(
            metavar="FILE", help="TOML with sources, permits, scores, evidence and rules."
        ),
    ] = None,
    as_json: JsonOption = False,
) -> int:
    """Put audits together on one page about a release or a model.

    With --facts the page also holds what is probably left in the training text, a checklist of
    regulation, the ledger of permits and the release gate, which refuses the model with the reason
    where a rule fails.
    """
    from deid_audits.facts import read_facts  # noqa: PLC0415
    from deid_audits.gate import judge  # noqa: PLC0415
    from deid_audits.page import model_html  # noqa: PLC0415 - loads Jinja
    from deid_audits.running import read_folder  # noqa: PLC0415
    from deid_audits.sources import read_held, read_training  # noqa: PLC0415

    check_out(out, inputs=[*folders, *filter(None, [facts])], is_folder=False)
    results = [result for folder in folders for result in read_folder(folder)]
    known = read_facts(facts) if facts is not None else None
    decision = (
        judge(results, known, held=read_held(known), trained=read_training(known))
        if known is not None
        else None
    )
    page = model_html(_add_missing(results), known, decision, title=model or "Release")
    with atomic_file(out) as file:
        file.write(page.encode())
    if decision is not None and not as_json:
        for line in decision.reasons:
            say(f"refused: {line}")
    document = {
        "audits": [result.to_json() for result in results],
        "gate": decision.to_json() if decision else None,
    }
    if as_json:
        print_json(document)
    return PARTIAL if decision is not None and decision.reasons else 0


def _choose(audits: Sequence[str] | None, installed: Mapping[str, Any]) -> list[str]:
    chosen = list(dict.fromkeys(audits or installed))
    if not chosen:
        raise ConfigError(f"no audit is installed; {remedy('hips')}")
    if unknown := [name for name in chosen if name not in installed]:
        raise ConfigError(
            f"unknown audit {unknown[0]!r}; installed: {', '.join(installed) or 'none'}"
        )
    return chosen


def _options(settings: Sequence[str], chosen: Sequence[str]) -> dict[str, dict[str, Any]]:
    options: dict[str, dict[str, Any]] = {}
    for setting in settings:
        owner, key, value = parse_option(setting)
        if owner not in chosen:
            raise ConfigError(
                f"option {setting!r} is for {owner!r}, but the audits are {', '.join(chosen)}"
            )
        options.setdefault(owner, {})[key] = value
    return options


def _policies(names: Sequence[str]) -> tuple[list[Any], Any]:
    from deid_assets.extending.audits import (  # noqa: PLC0415 - loads what surrogates are made with
        Key,
        check_key,
        load_policy,
    )

    policies = [load_policy(name) for name in names]
    secret = secret_of_environment()
    # one secret for all; each must do with it
    keys = [check_key(each, secret) for each in policies]
    return policies, keys[0] if keys else Key(secret or bytes(range(32)))


def _there(path: Path | None) -> Path | None:
    if path is not None and not path.exists():
        raise InputError(f"{path} does not exist; name what an audit is to read")
    return path


def _cases(
    source: NoteSource, labels: str | None, spans: SpansFile | None, withheld: Withheld
) -> Iterator[Case]:
    from deid_assets.extending.audits import Case  # noqa: PLC0415 - with the rest of the audit

    for found in source.read(label_map(labels) if labels else None):
        if isinstance(found, Fault):
            withheld.fault(found)
            continue
        if found.spans is None:
            raise InputError(
                f"note {found.note.note_id!r} has no annotations; the audit needs to know what is"
                " real"
            )
        gold = _disjoint(found.note, found.spans)
        detected = gold if spans is None else _select_detected(found.note, spans)
        yield Case(found.note, gold, detected)


def _select_detected(note: Note, spans: SpansFile) -> DisjointSpans:
    taken = spans.take(note.note_id)
    if taken is None:
        raise InputError(f"the spans file does not know note {note.note_id!r}; detect on all notes")
    return _disjoint(note, taken)


def _disjoint(note: Note, spans: SpanSet) -> DisjointSpans:
    return resolve(note, [spans], ensemble=Ensemble.of_equals(spans))


def _add_missing(results: Sequence[AuditResult]) -> list[AuditResult]:
    """Return the results, and one that says *not assessed* for every installed audit without a
    result.
    """
    from deid_assets.extending.audits import find_installed_audits, not_run  # noqa: PLC0415

    done = {result.audit for result in results}
    return [*results, *(not_run(name) for name in find_installed_audits() if name not in done)]


def _show(results: Sequence[AuditResult], *, as_json: bool, partial: bool) -> int:
    from deid_assets.extending.audits import Outcome  # noqa: PLC0415
    from deid_assets.extending.pages import chance, number  # noqa: PLC0415

    if as_json:
        print_json([result.to_json() for result in results])
    else:
        for result in results:
            typer.echo(f"\n{result.audit}: {result.outcome.value}: {result.reason}")
            rows = [
                [f.name, f.group, number(f), chance(f), f"{f.units:,} {f.unit}"]
                for f in result.figures
            ]
            if rows:
                print_table(
                    ("What", "Of", "Value [95 % interval]", "Chance", "Measured on"),
                    rows,
                    numbers_from=2,
                )
    passed = all(result.outcome is Outcome.PASSED for result in results)
    return 0 if passed and not partial else PARTIAL
