"""``deid privacy plant`` and ``epsilon``.

Notes in which it is known what a model may remember, and the least epsilon of a model trained on
them.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Annotated as Arg

import typer

from deid_assets import Note
from deid_assets.extending import InputError
from deid_assets.extending.commands import Answer, Table, check_out, group_options
from deid_assets.extending.files import atomic_folder, owner_only

if TYPE_CHECKING:
    from deid_audits.models.coins import CoinPlanting, EpsilonBound

_REPEATS = (1, 5, 10, 25, 100)
_NOTES, _PEOPLE, _CANARIES, _COINS = 200, 5, 4, 1_000
COINS = "coins.json"
TRAINING = "training.jsonl"


@dataclass(frozen=True, slots=True)
class MadeCorpus:
    """Options on a corpus that is made, where no notes are given."""

    notes: Arg[
        int | None, typer.Option(metavar="N", min=1, help="Sentences in each part; 200.")
    ] = None
    repeats: Arg[
        list[int] | None,
        typer.Option(
            "--repeat",
            metavar="N",
            min=1,
            help="How often secrets are said; 1, 5, 10, 25 and 100 times, of NOTES once.",
        ),
    ] = None
    people: Arg[
        int | None, typer.Option(metavar="N", min=1, help="People for each number of repeats; 5.")
    ] = None
    canaries: Arg[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="Canaries for each number of repeats, 4; in NOTES 1,000, 20 at least.",
        ),
    ] = None


@group_options
def plant(
    source: Arg[
        str | None,
        typer.Argument(
            metavar="[NOTES]", help="Notes of your own; made ones where none are given."
        ),
    ] = None,
    *,
    out: Arg[Path, typer.Option(metavar="OUT", help="New folder.")],
    made: MadeCorpus,
    seed: Arg[
        int | None,
        typer.Option(
            metavar="N",
            help="Of notes and models, 1; of NOTES, coins that can be drawn again by whoever"
            " knows it.",
        ),
    ] = None,
) -> int:
    """Plant canaries by coin in notes of your own; or write made notes with planted people and
    canaries, and their lists.

    Of your own notes, training.jsonl is to be trained on, and coins.json says which canaries are in
    it: keep it to yourself. Coins follow from DEID_KEY where it is set and no seed is given.
    """
    if source is not None:
        return _plant_own(source, out, made, seed=seed)
    return _plant_made(out, made, seed=1 if seed is None else seed)


def _plant_own(source: str, out: Path, made: MadeCorpus, *, seed: int | None) -> int:
    from deid_assets.extending.audits import secret_of_environment  # noqa: PLC0415
    from deid_assets.extending.corpora import read_raw  # noqa: PLC0415 - loads the synthesis
    from deid_audits.models.coins import FEWEST, plant_by_coin, write_planting  # noqa: PLC0415

    if made.notes is not None or made.people is not None:
        raise InputError("--notes and --people are of made notes; leave them out, or NOTES")
    if made.repeats and len(made.repeats) > 1:
        raise InputError("canaries in NOTES are all said equally often; give one --repeat")
    if made.canaries is not None and made.canaries < FEWEST:
        raise InputError(f"--canaries {made.canaries} give no bound; plant {FEWEST} or more")
    check_out(out, inputs=[Path(source)], is_folder=True)
    if out.exists() and any(out.iterdir()):
        raise InputError(f"--out {out} is not empty; name a new folder")
    notes, planting = plant_by_coin(
        read_raw(source),
        count=made.canaries or _COINS,
        repeats=made.repeats[0] if made.repeats else 1,
        seed=seed,
        key=secret_of_environment() if seed is None else None,
    )
    with owner_only(), atomic_folder(out) as part:
        write_planting(part / COINS, planting)
        lines = [_line(note, {}) for note in notes]
        (part / TRAINING).write_text("".join(lines), encoding="utf-8")
    inside = sum(one.is_in for one in planting.canaries)
    typer.echo(
        f"{len(notes)} training notes, {inside} of {len(planting.canaries)} canaries among them;"
        f" written to {out}. {COINS} is yours alone: train on {TRAINING}"
    )
    return 0


def _plant_made(out: Path, made: MadeCorpus, *, seed: int) -> int:
    from deid_audits.models.canaries import write_canaries  # noqa: PLC0415 - loads PyTorch
    from deid_audits.models.planted import make_planted_corpus, make_planted_notes, name_matched  # noqa: PLC0415

    corpus = make_planted_corpus(
        notes=made.notes or _NOTES,
        people=made.people or _PEOPLE,
        repeats=made.repeats or _REPEATS,
        canaries=made.canaries or _CANARIES,
        seed=seed,
    )
    out.mkdir(parents=True)
    names = {one.patient_id: one.name for one in corpus.people}
    once = [note for note in make_planted_notes(corpus.people) if note.note_id.endswith("-000")]
    parts = {name: getattr(corpus, name) for name in ("training", "held_out", "calibration")}
    for part, of_part in {**parts, "named": once, "matched": name_matched(corpus.people)}.items():
        lines = [_line(note, names) for note in of_part]
        (out / f"{part}.jsonl").write_text("".join(lines), encoding="utf-8")
    write_canaries(out / "canaries.json", corpus.canaries)
    typer.echo(f"{len(corpus.training)} training notes; written to {out}")
    return 0


def _line(note: Note, names: dict[str, str]) -> str:
    """Return a note as a line of the exchange format, its planted name annotated."""
    name = names.get(note.patient_id or "", "")
    begin = note.text.find(name) if name else -1
    spans = (
        [{"start": begin, "end": begin + len(name), "label": "NAME", "native_label": "PATIENT"}]
        if begin >= 0
        else []
    )
    record = {
        "id": note.note_id,
        "lang": note.lang,
        "text": note.text,
        "patient_id": note.patient_id,
        "spans": spans,
    }
    return json.dumps(record, ensure_ascii=False) + "\n"


@dataclass(frozen=True, slots=True)
class PromisedOptions:
    """What was promised, and the confidence of the bound.

    Raises:
        InputError: What was promised is not finite.
    """

    promised: Arg[
        float | None,
        typer.Option(
            metavar="EPSILON",
            min=0,
            help="What the training promised of the unit: a note; a patient where coins repeat."
            " By itself that of the model's privacy.json.",
        ),
    ] = None
    delta: Arg[float, typer.Option(metavar="DELTA", min=0, max=1, help="Of what was promised.")] = (
        0.0
    )
    confidence: Arg[
        float, typer.Option(metavar="SHARE", min=0, max=1, help="With which the bound holds.")
    ] = 0.95

    def __post_init__(self) -> None:
        if self.promised is not None and not math.isfinite(self.promised):
            raise InputError(f"--promised {self.promised} is no epsilon; give a finite number")

    def complete(self, model: Path) -> PromisedOptions:
        """Return these, with what a model's folder promises where neither it nor delta is given.

        Raises:
            InputError: The folder's promise is broken.
        """
        from deid_assets.extending.corpora import read_promise  # noqa: PLC0415 - loads the synthesis

        card = {} if self.promised is not None or self.delta else read_promise(model)
        if not card:
            return self
        return replace(self, promised=float(card["epsilon"]), delta=float(card["delta"]))


@group_options  # type: ignore[arg-type]  # an answer is shown, whatever groups its options
def epsilon(
    model: Arg[Path, typer.Argument(metavar="MODEL", help="Trained on the planted notes.")],
    *,
    coins: Arg[Path, typer.Option(metavar="FILE", help="The coins.json of the planting.")],
    training: Arg[
        str | None,
        typer.Option(metavar="NOTES", help="What it was trained on: must be those of the coins."),
    ] = None,
    reference: Arg[
        Path | None,
        typer.Option(metavar="MODEL", help="What it was before, which read no canary."),
    ] = None,
    promising: PromisedOptions,
) -> Answer:
    """Say the least epsilon that a model can have, from one training on planted notes.

    The model is guessed to have read the canaries that it finds likeliest. Ends with 1 where the
    bound is above what was promised: that is broken then. A bound below it shows nothing.
    """
    from deid_assets.extending.corpora import read_raw  # noqa: PLC0415 - loads the synthesis
    from deid_audits.models.coins import check_coins, epsilon_bound, read_planting  # noqa: PLC0415

    planting = read_planting(coins)
    promising = promising.complete(model)
    if training is not None:
        check_coins(planting, [note.text for note in read_raw(training)])
    found = epsilon_bound(
        _likelihoods(model, reference, planting),
        [one.is_in for one in planting.canaries],
        confidence=promising.confidence,
        delta=promising.delta,
    )
    return _answer(found, planting, promising)


def _likelihoods(model: Path, reference: Path | None, planting: CoinPlanting) -> list[float]:
    """Return the mean logarithm of each canary's tokens, less that of the reference."""
    from deid_audits.models.auditing import open_scorer  # noqa: PLC0415 - loads PyTorch

    texts = [one.text for one in planting.canaries]
    found = [-one.loss for one in open_scorer(model, texts).tokens(texts)]
    if reference is None:
        return found
    others = open_scorer(reference, texts).tokens(texts)
    return [own + other.loss for own, other in zip(found, others, strict=True)]


def _answer(found: EpsilonBound, planting: CoinPlanting, promising: PromisedOptions) -> Answer:
    promised = promising.promised
    is_broken = promised is not None and found.value > promised
    unit = "a note" if planting.repeats == 1 else f"a patient with {planting.repeats} notes"
    said = [
        (
            f"{found.right} of {found.guesses} guesses are right, of {found.canaries} canaries; the"
            f" unit is {unit}"
        ),
        "a bound of 0 shows no privacy: a better attack, or more canaries, may give more",
    ]
    if is_broken:
        said.append(f"BROKEN: the model tells more of {unit} than was promised")
    elif promised is not None:
        said.append(
            f"not shown to be broken: a lower bound cannot show that a promise of {unit} is kept"
        )
    table = Table(
        ("epsilon", "value", "delta"),
        [
            [f"at least, {100 * found.confidence:g} %", f"{found.value:.3f}", _plain(promising)],
            ["promised", "nothing" if promised is None else f"{promised:g}", _plain(promising)],
        ],
    )
    document = {
        "epsilon_at_least": found.value,
        "confidence": found.confidence,
        "delta": promising.delta,
        "promised": promised,
        "is_broken": True if is_broken else None,
        "canaries": found.canaries,
        "guesses": found.guesses,
        "right": found.right,
        "repeats": planting.repeats,
    }
    return Answer(document=document, tables=[table], said=said, code=1 if is_broken else 0)


def _plain(promising: PromisedOptions) -> str:
    return f"{promising.delta:g}"
