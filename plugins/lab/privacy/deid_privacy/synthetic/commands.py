"""``deid privacy synthetic``: the published study of generated notes as one command."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Annotated as Arg

import typer

from deid_assets.extending import InputError
from deid_assets.extending.commands import check_out, group_options, print_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from deid_assets.extending import Document
    from deid_assets.extending.drawing import Section
    from deid_assets.extending.taggers import Recipe
    from deid_privacy.synthetic.plan import GeneratorPlan, StudiedNotes

_OWN_TAGGER = {"name": "crf_alone", "plugin": "crf", "settings": {"predictions_of": ""}}
"""Annotator and tagger unless others are asked for: what it knows, it learnt of the notes."""


@dataclass(frozen=True, slots=True)
class StudiedOptions:
    """Options on the notes."""

    labels: Arg[str, typer.Option(metavar="MAP", help="Label map of the notes.")] = ""
    unit: Arg[str, typer.Option(metavar="UNIT", help="What a document is: notes or sentences.")] = (
        "notes"
    )
    limit: Arg[int, typer.Option(metavar="N", min=0, help="Notes that are taken; 0: all.")] = 0
    folds: Arg[int, typer.Option(metavar="N", min=2, help="Of the cross-validation.")] = 5


@dataclass(frozen=True, slots=True)
class CellOptions:
    """Options on what is compared."""

    experiments: Arg[
        list[str] | None,
        typer.Option(
            "--experiment",
            metavar="NAME",
            help="total, generator, annotator, size or volume; total.",
        ),
    ] = None
    shares: Arg[
        list[int] | None,
        typer.Option("--share", metavar="PERCENT", help="Of a fold's notes; 5, 25, 50 and 95."),
    ] = None
    volumes: Arg[
        list[int] | None,
        typer.Option(
            "--volume",
            metavar="PERCENT",
            min=1,
            help="Generated, of a fold's notes; 5, 100 and 400.",
        ),
    ] = None
    membership: Arg[
        bool, typer.Option("--membership", help="Infer too which notes the generators learnt.")
    ] = False


@dataclass(frozen=True, slots=True)
class GeneratorOptions:
    """Options on the generators."""

    base: Arg[
        Path | None,
        typer.Option(metavar="MODEL", help="Folder of a causal model; a small one is made here."),
    ] = None
    smaller: Arg[
        Path | None, typer.Option(metavar="MODEL", help="The same for the experiment size.")
    ] = None
    base_notes: Arg[
        str,
        typer.Option(metavar="NOTES", help="What a base made here learns; 400 of a grammar."),
    ] = ""
    base_epochs: Arg[int, typer.Option(metavar="N", min=1, help="Passes over them.")] = 6
    method: Arg[
        str, typer.Option(metavar="NAME", help="How it is adapted: lora, or full for all weights.")
    ] = "lora"
    bits: Arg[
        int,
        typer.Option(
            metavar="N", help="Of the base's weights; 0: 4 where a GPU and bitsandbytes are, or 32."
        ),
    ] = 0
    epochs: Arg[int, typer.Option(metavar="N", min=1, help="Of the adaptation.")] = 6
    learning_rate: Arg[float, typer.Option(metavar="RATE", min=0, help="At its highest.")] = 1e-4
    length: Arg[int, typer.Option(metavar="N", min=16, help="Most tokens of a note.")] = 512
    each: Arg[int, typer.Option(metavar="N", min=1, help="Notes for each starter.")] = 80
    is_free: Arg[
        bool,
        typer.Option("--free-starters", help="End starters before the first identifier."),
    ] = False

    def plan(self, lang: str, *, seed: int) -> GeneratorPlan:
        """Return how generators are made."""
        from deid_privacy.synthetic.plan import GeneratorPlan  # noqa: PLC0415

        for folder in (self.base, self.smaller):
            if folder is not None and not folder.is_dir():
                raise InputError(f"there is no model at {folder}; name its folder")
        full = self.method == "full"
        return GeneratorPlan(
            larger=str(self.base or ""),
            smaller=str(self.smaller or ""),
            base_notes=self.base_notes or f"synthetic:{lang}:400:{9_000 + seed}",
            base_epochs=self.base_epochs,
            method=self.method,
            bits=self.bits or (32 if full else bits_here()),
            epochs=self.epochs,
            learning_rate=self.learning_rate,
            length=self.length,
            each=self.each,
            is_free=self.is_free,
        )


@group_options
def synthetic(
    source: Arg[str, typer.Argument(metavar="NOTES", help="Annotated notes.")],
    *,
    out: Arg[
        Path,
        typer.Option(metavar="FOLDER", help="Of all that is made; a killed run is resumed there."),
    ],
    studied: StudiedOptions,
    cells: CellOptions,
    generators: GeneratorOptions,
    tagger: Arg[
        str, typer.Option(metavar="RECIPE", help="Of annotators and taggers; a CRF by itself.")
    ] = "",
    seed: Arg[int, typer.Option(metavar="N", help="Of folds, models and notes.")] = 1,
) -> int:
    """Train taggers on generated notes alone, and score them on real ones: a page.

    For each fold and share: a causal model learns the notes, writes others, a tagger annotates
    them, and another learns those. The folder is as secret as the notes.
    """
    import torch  # noqa: PLC0415 - heavy

    from deid_privacy.synthetic.page import tables_of  # noqa: PLC0415
    from deid_privacy.synthetic.plan import SHARES, VOLUMES, SynthesisPlan  # noqa: PLC0415
    from deid_privacy.synthetic.running import PAGE, RESULT, SynthesisStudy  # noqa: PLC0415

    torch.set_num_threads(1)
    if out.exists() and not out.is_dir():
        check_out(out, inputs=[Path(source)], is_folder=True)
    recipe = _recipe(tagger)
    documents, notes = _select_studied(source, studied)
    plan = SynthesisPlan(
        notes=notes,
        generator=generators.plan(notes.lang, seed=seed),
        tagger=recipe.digest,
        folds=studied.folds,
        seed=seed,
        shares=sorted(cells.shares or SHARES),
        volumes=sorted(cells.volumes or VOLUMES),
        experiments=cells.experiments or ["total"],
        is_attacked=cells.membership,
    )
    study = SynthesisStudy(plan, recipe, out, lambda name: typer.echo(f"made {name}", err=True))
    _show(tables_of(study.run(documents, command=_command())))
    typer.echo(f"written to {out / PAGE} and {out / RESULT}")
    return 0


def _show(tables: Iterable[Section]) -> None:
    for table in tables:
        typer.echo(table.heading)
        if table.rows:
            print_table(table.columns, table.rows, numbers_from=table.left)
        for point in table.points:
            typer.echo(point)


def _command() -> str:
    """Return the command line as it was given."""
    import shlex  # noqa: PLC0415
    import sys  # noqa: PLC0415

    return shlex.join(["deid", *sys.argv[1:]])


def bits_here() -> int:
    """Return the bits of a base under an adapter: 4 where a GPU and bitsandbytes are, else 32."""
    from importlib.util import find_spec  # noqa: PLC0415

    import torch  # noqa: PLC0415 - heavy

    return 4 if torch.cuda.is_available() and find_spec("bitsandbytes") else 32


def _recipe(tagger: str) -> Recipe:
    from deid_assets.extending.taggers import Recipe, load_recipe  # noqa: PLC0415

    return load_recipe(tagger) if tagger else Recipe.model_validate(_OWN_TAGGER)


def _select_studied(source: str, options: StudiedOptions) -> tuple[list[Document], StudiedNotes]:
    """Return documents of the wanted unit, and what they are.

    Raises:
        InputError: The notes name no language, or several.
    """
    from deid_assets.extending.corpora import read_corpus  # noqa: PLC0415 - loads the synthesis
    from deid_privacy.synthetic.plan import StudiedNotes, sentences_of  # noqa: PLC0415

    read = read_corpus(source, labels=options.labels).documents
    chosen = list(read[: options.limit] if options.limit else read)
    langs = {one.note.lang for one in chosen}
    if len(langs) > 1 or not (lang := next(iter(langs), None)):
        raise InputError(
            f"{Path(source).name}: the notes name {len(langs - {None})} languages; give notes of"
            " one, which each of them names"
        )
    if options.unit == "sentences":
        chosen = [part for one in chosen for part in sentences_of(one)]
    return chosen, StudiedNotes(source, _digest(chosen), lang, options.unit, options.limit)


def _digest(documents: Sequence[Document]) -> str:
    total = hashlib.sha256()
    for one in documents:
        marks = [(span.start, span.end, span.label.value) for span in one.spans]
        total.update(f"{one.note.note_id} {one.note.digest} {marks}\n".encode())
    return total.hexdigest()
