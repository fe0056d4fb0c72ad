"""``deid-privacy``: plant a corpus to be audited, compare defences, and run the trend tests."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import typer

from deid_assets import Note
from deid_assets.extending import DeidError, InputError
from deid_privacy import probe_commands, site_commands
from deid_privacy.utility import commands as utility


def parser_of() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    parser = argparse.ArgumentParser(prog="deid-privacy", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    plant = commands.add_parser("plant", help="write notes with planted people and canaries, and their lists")
    plant.add_argument("out", type=Path, help="new folder")
    plant.add_argument("--notes", type=int, default=200, help="sentences in each part")
    plant.add_argument("--repeats", type=int, nargs="+", default=[1, 5, 10, 25, 100], help="how often secrets are said")
    plant.add_argument("--people", type=int, default=5, help="people for each number of repeats")
    plant.add_argument("--canaries", type=int, default=4, help="canaries for each number of repeats")
    trends = commands.add_parser("trends", help="run the fifteen trend tests; print pass, fail or undecided")
    trends.add_argument("names", nargs="*", help="such as T8; all when none is named")
    trends.add_argument("--folder", type=Path, help="of models and results, so that a killed run goes on")
    trends.add_argument("--documents", type=int, help="notes of each task of T1 to T5 and T9 to T12")
    trends.add_argument("--folds", type=int, help="of their cross-validations")
    trends.add_argument("--steps", type=int, help="of their pre-trainings")
    private = commands.add_parser("dp", help="compare no defence, scrubbing and differential privacy: a page")
    private.add_argument("out", type=Path, help="folder for page and figures; a killed run goes on there")
    private.add_argument("--epsilon", type=float, nargs="+", default=[1.0, 8.0, 64.0], help="budgets")
    private.add_argument("--detector", nargs="+", default=["rules"], help="each scrubs the notes by itself")
    private.add_argument("--rates", type=float, nargs="+", help="learning rates to choose from on another corpus")
    private.add_argument("--clips", type=float, nargs="+", default=[1.0], help="and longest gradients")
    private.add_argument("--batch", type=int, default=32, help="notes that a step reads on average")
    private.add_argument("--policy", default="surrogate", help="what replaces what they find")
    private.add_argument("--notes", type=int, default=150, help="ordinary sentences in each part")
    private.add_argument("--steps", type=int, default=240, help="of every training")
    cost = commands.add_parser("cost", help="what the membership attacks on a release would take, from a share of it")
    cost.add_argument("model", type=Path, help="folder of the model")
    cost.add_argument("notes", type=Path, help="notes of the release, as deid reads them")
    cost.add_argument("--reference", type=Path, help="folder of a model that did not read them")
    cost.add_argument("--share", type=int, default=100, help="samples to measure on")
    cost.add_argument("--of", type=int, default=10_000, help="notes to extrapolate to")
    cost.add_argument("--cores", type=int, default=2)
    probe_commands.add(commands)
    for one in commands.choices.values():
        one.add_argument("--seed", type=int, default=1)
    site_commands.add(commands)
    utility.add(commands)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return 0, or 2 where it cannot."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    at = words.index("--") if "--" in words else len(words)
    given = parser_of().parse_args(words[:at])
    given.program = words[at + 1 :]
    try:
        return _RUN[given.command](given)
    except DeidError as error:
        typer.echo(f"deid-privacy: {error}", err=True)
        return 2


def _plant(given: argparse.Namespace) -> int:
    from deid_privacy.canaries import write_canaries  # noqa: PLC0415 - loads PyTorch
    from deid_privacy.planted import name_matched, planted_corpus, planted_notes  # noqa: PLC0415

    corpus = planted_corpus(
        notes=given.notes, people=given.people, repeats=given.repeats, canaries=given.canaries, seed=given.seed
    )
    given.out.mkdir(parents=True)
    names = {one.patient_id: one.name for one in corpus.people}
    once = [note for note in planted_notes(corpus.people) if note.note_id.endswith("-000")]
    parts = {name: getattr(corpus, name) for name in ("training", "held_out", "calibration")}
    for part, notes in {**parts, "named": once, "matched": name_matched(corpus.people)}.items():
        lines = [_line(note, names) for note in notes]
        (given.out / f"{part}.jsonl").write_text("".join(lines), encoding="utf-8")
    write_canaries(given.out / "canaries.json", corpus.canaries)
    typer.echo(f"{len(corpus.training)} training notes; written to {given.out}")
    return 0


def _line(note: Note, names: dict[str, str]) -> str:
    """Return a note as a line of the exchange format, its planted name annotated."""
    name = names.get(note.patient_id or "", "")
    begin = note.text.find(name) if name else -1
    spans = (
        [{"start": begin, "end": begin + len(name), "label": "NAME", "native_label": "PATIENT"}] if begin >= 0 else []
    )
    record = {"id": note.note_id, "lang": note.lang, "text": note.text, "patient_id": note.patient_id, "spans": spans}
    return json.dumps(record, ensure_ascii=False) + "\n"


def _private(given: argparse.Namespace) -> int:
    import torch  # noqa: PLC0415 - heavy

    from deid_privacy.defences import Arm, Wanted, compare  # noqa: PLC0415
    from deid_privacy.defences_page import defences_html  # noqa: PLC0415
    from deid_privacy.defences_tuning import Tried, choose  # noqa: PLC0415
    from deid_privacy.private import Course  # noqa: PLC0415
    from deid_privacy.utility.running import claim  # noqa: PLC0415

    torch.set_num_threads(1)
    wanted = Wanted(
        notes=given.notes, detectors=given.detector, policy=given.policy, epsilons=given.epsilon,
        course=Course(steps=given.steps, batch=given.batch), seed=given.seed,
    )  # fmt: skip
    given.out.mkdir(parents=True, exist_ok=True)
    settings = {name: value for name, value in vars(given).items() if name not in ("out", "program", "command")}
    claim(given.out / "settings.json", settings)

    def said(arm: Arm) -> None:
        typer.echo(f"{arm.name}: {'; '.join(map(str, (arm.loss, *arm.attacks)))}")

    tried: list[Tried] = []
    if given.rates:
        courses, tried = choose(wanted, given.rates, given.clips, given.out, lambda one: typer.echo(f"tried {one}"))
        wanted = replace(wanted, private=courses)
    arms = compare(wanted, given.out, said)
    (given.out / "defences.json").write_text(json.dumps([arm.to_json() for arm in arms], indent=1), encoding="utf-8")
    command = " ".join(
        f"--{name} {' '.join(map(str, value)) if isinstance(value, list) else value}"
        for name, value in settings.items()
        if value
    )
    page = defences_html(arms, wanted, provenance={"Command": f"deid-privacy dp OUT {command}"}, tried=tried)
    (given.out / "defences.html").write_text(page, encoding="utf-8")
    typer.echo(f"written to {given.out}/defences.html")
    return 0


def _trends(given: argparse.Namespace) -> int:
    import torch  # noqa: PLC0415 - heavy

    from deid_privacy.trends_run import Sizes, said, trends  # noqa: PLC0415

    torch.set_num_threads(1)
    sizes = Sizes(documents=given.documents, folds=given.folds, steps=given.steps)
    with tempfile.TemporaryDirectory() as made:
        for name, found in trends(given.names, given.folder or Path(made), sizes=sizes, seed=given.seed):
            typer.echo(said(name, found))
    return 0


def _cost(given: argparse.Namespace) -> int:
    import torch  # noqa: PLC0415 - heavy

    from deid_assets.extending.corpora import read_corpus  # noqa: PLC0415
    from deid_privacy.auditing import WORDS, opened, samples  # noqa: PLC0415
    from deid_privacy.costing import costs  # noqa: PLC0415

    torch.set_num_threads(1)
    notes = [document.note for document in read_corpus(str(given.notes)).documents]
    every = samples(notes, most=10**9, seed=given.seed).texts
    drawn = samples(notes, most=2 * given.share, seed=given.seed).texts
    measured, rest = drawn[: len(drawn) // 2], drawn[len(drawn) // 2 :]
    if not measured:
        raise InputError("the notes have no two samples; give more notes")
    target = opened(given.model, measured)
    reference = opened(given.reference, measured) if given.reference else None
    wanted = round(len(every) / len(notes) * given.of)
    typer.echo(
        f"{len(measured)} samples of at most {WORDS} words measured on one thread, extrapolated to {given.of:,} notes of "
        f"{len(every) / len(notes):.2f} samples on {given.cores} cores"
    )
    for one in costs(measured, target, reference, rest):
        typer.echo(
            f"{one.attack:16} {one.sequences / one.samples:6.1f} sequences a sample, "
            f"{one.samples / max(one.seconds, 1e-9):8.1f} samples a second of CPU, "
            f"{one.hours(wanted, cores=given.cores):8.3f} h"
        )
    return 0


_RUN = {
    "twins": probe_commands.twins,
    "probe": probe_commands.probe,
    "site": site_commands.site,
    "serve": site_commands.serve,
    "leaderboard": site_commands.board,
    "cost": _cost,
    "plant": _plant,
    "trends": _trends,
    "dp": _private,
    "grid": utility.grid,
    "end-to-end": utility.end_to_end,
    "sweep": utility.sweep,
}
