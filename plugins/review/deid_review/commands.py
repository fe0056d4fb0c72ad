"""``deid review``: a queue, the page on it, and the decisions out and back."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any
from typing import Annotated as Arg

import typer

from deid_assets.extending import InputError
from deid_assets.extending.commands import (
    CommandGroup,
    JsonOption,
    check_out,
    group_options,
    guard_command,
    print_json,
    print_table,
    say,
)
from deid_serve.commands import (
    AddressOptions,
    check_address,
    host_names,
    listening_socket,
    request_writer,
    server_config,
    settle_memory,
)

if TYPE_CHECKING:
    from deid_assets.extending.reviewing import AllowedBatches, BatchView, Settings
    from deid_review.desk import ReviewDesk
    from deid_review.ledger import Ledger
    from deid_review.queueing import QueueCounts, QueueOptions

app = typer.Typer(
    cls=CommandGroup,
    help="Review what is doubtful in a batch, by keyboard, and bring the annotations back.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    add_completion=False,
)
_NAME = re.compile(r"[\w.@+-]{2,64}", re.ASCII)
BatchArg = Arg[str, typer.Argument(metavar="BATCH", help="As `deid batches list` names it.")]
SampleOption = Arg[
    int, typer.Option(metavar="N", min=0, help="Notes that are drawn at random by the key.")
]


@app.command("queue")
@guard_command
def queue(
    batch: BatchArg,
    *,
    sample: SampleOption = 50,
    doubtful: Arg[
        int,
        typer.Option(metavar="N", min=0, help="Doubtful notes, the riskiest first; 0 for all."),
    ] = 0,
    blind: Arg[
        float,
        typer.Option(metavar="SHARE", min=0.0, max=1.0, help="Of the sample, no suggestions."),
    ] = 0.25,
    double: Arg[
        float, typer.Option(metavar="SHARE", min=0.0, max=1.0, help="Of the sample, two reviewers.")
    ] = 0.2,
    as_json: JsonOption = False,
) -> int:
    """Make the queue of a batch, or make it again: what was decided on the same texts stays."""
    from dataclasses import asdict  # noqa: PLC0415

    from deid_review.queueing import QueueOptions  # noqa: PLC0415

    settings, view = _batch(batch)
    counts = _make(settings, view, QueueOptions(sample, doubtful, blind, double))
    if as_json:
        print_json({"batch": batch, **asdict(counts)})
        return 0
    shown = (counts.notes, counts.sampled, counts.blind, counts.marks, counts.doubtful)
    print_table(
        ("queue of", "notes", "random sample", "blind", "suggestions", "doubtful"),
        [[batch, *(f"{one:,}" for one in shown)]],
    )
    if counts.kept:
        say(f"decisions on {counts.kept:,} notes stay")
    if counts.changed:
        say(f"{counts.changed:,} notes have another text now: what was decided on them is void")
    return 0


@app.command("open")
@guard_command
@group_options
def open_page(
    batch: BatchArg,
    *,
    reviewer: Arg[
        list[str] | None,
        typer.Option(metavar="NAME", help="Who reviews; several times for several."),
    ] = None,
    precise: Arg[
        float,
        typer.Option(
            metavar="SHARE",
            min=0.5,
            max=1.0,
            help="Lower end of the measured precision from which suggestions are pre-marked.",
        ),
    ] = 0.95,
    quiet: Arg[bool, typer.Option("--quiet", help="Write no line for each request.")] = False,
    address: AddressOptions,
) -> int:
    """Serve the page of a batch's review to this machine; each reviewer has a link of their own.

    Makes the queue where there is none. Runs until interrupted; each key press is stored at once.
    """
    check_address(address)
    if address.proxy_secret or address.token_file:
        raise InputError("review takes no --proxy-secret and no --token-file; leave them out")
    names = _reviewers(reviewer or [])
    from deid_assets.extending.serving import protect_memory  # noqa: PLC0415

    protect_memory()
    desk = _desk(batch, precise)
    if not desk.ledger.notes():
        from deid_review.queueing import QueueOptions, make_queue  # noqa: PLC0415

        make_queue(desk.view, desk.ledger, _settings().key(), QueueOptions())
    if desk.count_changed():
        say(
            f"{desk.count_changed():,} notes of the queue have another text now and are left out;"
            f" run `deid review queue {batch}`"
        )
    _serve(desk, names, address, is_quiet=quiet)
    return 0


@app.command("status")
@guard_command
def status(batch: BatchArg, *, as_json: JsonOption = False) -> int:
    """Say how far a review is, what it measured, and how fast each reviewer works."""
    from deid_review.pages import facts_of  # noqa: PLC0415

    desk = _desk(batch)
    facts = facts_of(desk)
    paces = _paces(desk.ledger)
    if as_json:
        print_json({"batch": batch, "facts": dict(facts), "reviewers": paces})
        return 0
    print_table(("measured", batch), [list(one) for one in facts])
    rows = [
        [name, *(f"{one:,.1f}" if isinstance(one, float) else f"{one:,}" for one in pace.values())]
        for name, pace in paces.items()
    ]
    print_table(("reviewer", "notes", "identifiers", "minutes", "a minute"), rows)
    return 0


@app.command("export")
@guard_command
def export(
    batch: BatchArg,
    *,
    out: Arg[
        Path,
        typer.Option(
            metavar="PATH",
            help="Annotated notes to write; the suffix, or --to, says the format.",
        ),
    ],
    to: Arg[
        str | None,
        typer.Option(
            "--to",
            metavar="FORMAT",
            help="label-studio, prodigy, or a format of deid such as brat or csv.",
        ),
    ] = None,
    suggestions: Arg[
        bool,
        typer.Option(
            "--suggestions",
            help="Write the queue with its suggestions, but for blind notes, to review elsewhere.",
        ),
    ] = False,
) -> int:
    """Write the settled notes with their annotations, which gates measure with."""
    from deid_review.exchange import export_notes  # noqa: PLC0415

    check_out(out, inputs=[], is_folder=to == "brat")
    desk = _desk(batch)
    count = export_notes(desk, out, to=to, are_suggestions=suggestions)
    say(f"{count:,} notes written to {out}")
    return 0


@app.command("import")
@guard_command
def import_file(
    batch: BatchArg,
    file: Arg[Path, typer.Argument(metavar="FILE", help="What was annotated elsewhere.")],
    *,
    reviewer: Arg[str, typer.Option(metavar="NAME", help="Who annotated it.")],
    to: Arg[
        str | None,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="label-studio, prodigy, or a format of deid such as brat or csv.",
        ),
    ] = None,
    unchanged: Arg[
        bool,
        typer.Option(
            "--unchanged",
            help="Somebody read the notes that come back as suggested; take these too.",
        ),
    ] = False,
) -> int:
    """Take in what was annotated elsewhere as a reviewer's, each note confirmed as a whole."""
    from deid_review.exchange import import_notes  # noqa: PLC0415

    (name,) = _reviewers([reviewer])
    found = import_notes(_desk(batch), file, reviewer=name, format_name=to, are_unchanged=unchanged)
    say(f"{found.taken:,} notes taken in as {name}'s")
    for line in found.refused:
        say(line)
    return 1 if found.refused else 0


@app.command("return")
@guard_command
def return_annotations(
    batch: BatchArg,
    *,
    only_sampled: Arg[
        bool,
        typer.Option(
            "--only-sampled",
            help="Leave out notes that are there for doubt, so that gates measure a sample.",
        ),
    ] = False,
) -> int:
    """Write the batch again with the settled annotations, so that its gates measure with them.

    Whatever was made of the batch is out of date then; `deid run` makes it again. What was rejected
    for good becomes rules, as by `deid review rules`.
    """
    from deid_assets.extending.reviewing import return_to_batch  # noqa: PLC0415
    from deid_review.exchange import gold_of  # noqa: PLC0415
    from deid_review.false_alarms import make_rules  # noqa: PLC0415

    desk = _desk(batch)
    gold = gold_of(desk, only_sampled=only_sampled)
    if not gold:
        raise InputError("no note of the review is settled; confirm some first")
    _say_rules(make_rules(desk, _settings()))
    count = return_to_batch(_settings(), batch, gold)
    say(f"{count:,} notes of {batch} are annotated now; `deid run` makes and measures it again")
    return 0


@app.command("rules")
@guard_command
def rules(
    batch: BatchArg,
    *,
    by: Arg[
        str | None,
        typer.Option(metavar="NAME", help="Who asks; those who rejected where not given."),
    ] = None,
    rejected: Arg[
        bool,
        typer.Option("--rejected", help="Of all that was rejected, whether for good or not."),
    ] = False,
    plan: Arg[bool, typer.Option("--plan", help="Count what would be left; make nothing.")] = False,
) -> int:
    """Make a signed rule of each false alarm that was rejected for good in settled notes.

    It is taken in no batch again, unless another detector marks it or people annotate its value.
    `deid denied list` names the rules, `deid denied lift` takes one back.
    """
    from deid_review.false_alarms import make_rules  # noqa: PLC0415

    name = _reviewers([by])[0] if by else ""
    desk = _desk(batch)
    done = make_rules(desk, _settings(), is_every=rejected, is_plan=plan, by=name)
    _say_rules(done, is_plan=plan)
    if not (done.reaches or done.refused or done.known):
        say("nothing was rejected for good in a settled note; press i, or give --rejected")
    return 0


@app.command("approve")
@guard_command
def approve(
    batch: BatchArg,
    *,
    by: Arg[str, typer.Option(metavar="NAME", help="Who approves.")],
) -> int:
    """Approve the review of a batch as a whole; any decision after it makes that void."""
    (name,) = _reviewers([by])
    _desk(batch).approve(name)
    say(f"the review of {batch} is approved by {name} as it is now")
    return 0


def _say_rules(done: AllowedBatches, *, is_plan: bool = False) -> None:
    """Say what rules leave, and why there are no others; never a value."""
    leaves = "would leave" if is_plan else "leaves"
    for reach in done.reaches:
        say(
            f"rule {reach.rule}: {leaves} {reach.places:,} places in {reach.notes:,} notes of"
            f" {len(reach.patients):,} patients"
        )
    for why, count in done.refused:
        say(f"no rule of {count:,} values: {why}")
    if done.known:
        say(f"{done.known:,} rules were there before")
    if done.batches:
        verb = "would make" if is_plan else "makes"
        say(f"the next `deid run` {verb} {len(done.batches):,} batches again")


def _settings() -> Settings:
    from deid_assets.extending.reviewing import Settings  # noqa: PLC0415

    return Settings.load()


def _batch(batch: str) -> tuple[Settings, BatchView]:
    from deid_assets.extending.reviewing import open_batch  # noqa: PLC0415 - loads the store

    settings = _settings()
    return settings, open_batch(settings, batch)


def _ledger(settings: Settings, batch: str) -> Ledger:
    from deid_assets.extending.reviewing import open_restricted_folder  # noqa: PLC0415
    from deid_review.ledger import FILE, Ledger  # noqa: PLC0415

    return Ledger(open_restricted_folder(settings, "review", batch) / FILE)


def _make(settings: Settings, view: BatchView, options: QueueOptions) -> QueueCounts:
    from deid_review.queueing import make_queue  # noqa: PLC0415

    return make_queue(view, _ledger(settings, view.batch), settings.key(), options)


def _desk(batch: str, least: float = 0.95) -> ReviewDesk:
    from deid_review.desk import ReviewDesk  # noqa: PLC0415

    settings, view = _batch(batch)
    return ReviewDesk(view, _ledger(settings, batch), settings.key(), least=least)


def _reviewers(names: list[str]) -> list[str]:
    found = list(dict.fromkeys(names))
    if not found:
        raise InputError("nobody is named; give --reviewer NAME")
    if any(not _NAME.fullmatch(name) or name == "adjudication" for name in found):
        raise InputError(
            "the name of a reviewer is 2 to 64 letters, digits and . _ @ + -, and not"
            " `adjudication`"
        )
    return found


def _paces(ledger: Ledger) -> dict[str, dict[str, Any]]:
    from deid_review.measures import speed  # noqa: PLC0415

    events: dict[str, list[Any]] = {}
    for _, event in ledger.all_events():
        events.setdefault(event.reviewer, []).append(event)
    found = {}
    for name, own in sorted(events.items()):
        pace = speed(own)
        found[name] = {
            "notes": pace.confirmed,
            "identifiers": pace.found,
            "minutes": round(pace.seconds / 60, 1),
            "a_minute": round(pace.a_minute or 0.0, 1),
        }
    return found


def _serve(desk: ReviewDesk, names: list[str], address: AddressOptions, *, is_quiet: bool) -> None:
    import uvicorn  # noqa: PLC0415 - loads a server

    from deid_assets.extending.serving import silence_for_good  # noqa: PLC0415
    from deid_review.app import Reviewers, ReviewService  # noqa: PLC0415

    _ = desk.words  # every note is read now, and not at the first key
    listening = listening_socket(address)
    port = listening.getsockname()[1]
    reviewers = Reviewers.of(names, host_names(address, port), port)
    base = f"http://{f'[{address.listen}]' if ':' in address.listen else address.listen}:{port}"
    for name in names:
        say(f"{name}: open {base}/login?code={reviewers.link(name)} once, within ten minutes")
        say(f"{name}: later, at {base}/login, with the token {reviewers.tokens[name]}")
    told = None if is_quiet else request_writer()
    # From here on nothing that a library prints or logs, which may quote a note, is shown.
    silence_for_good()
    service = ReviewService(desk, reviewers)
    settle_memory()
    try:
        uvicorn.Server(server_config(service.app(told))).run(sockets=[listening])
    except KeyboardInterrupt:
        pass
    finally:
        service.close()
        listening.close()
        desk.ledger.close()
