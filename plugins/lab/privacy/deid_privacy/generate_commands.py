"""``deid privacy inline`` and ``generate``.

Notes with labels in their text, and notes that a causal model writes.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from typing import Annotated as Arg

import typer

from deid_assets.extending import InputError
from deid_assets.extending.commands import check_out, group_options
from deid_assets.extending.files import atomic_file

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deid_assets.extending import Document, Span
    from deid_privacy.generated import Sieve

STARTER, LONGEST = 3, 50
"""Words of a note that a generated one begins with, and tokens that it may have at least (Vakili et
al. 2025).
"""


def inline(
    notes: Arg[str, typer.Argument(metavar="NOTES", help="Annotated notes.")],
    out: Arg[
        Path,
        typer.Argument(
            metavar="OUT", help="Notes with their labels in the text, to train a generator on."
        ),
    ],
) -> int:
    """Write annotated notes with their labels in the text, <NAME>...</NAME>."""
    from deid_assets.extending.corpora import read_corpus  # noqa: PLC0415 - loads the synthesis
    from deid_privacy.generated import inline as written  # noqa: PLC0415

    check_out(out, inputs=[Path(notes)], is_folder=False, option="OUT")
    documents = read_corpus(notes).documents
    lines = [
        {
            "id": one.note.note_id,
            "lang": one.note.lang,
            "text": written(one.note.text, list(one.spans)),
        }
        for one in documents
    ]
    _write(out, lines)
    typer.echo(f"{len(lines)} notes; written to {out}")
    return 0


@dataclass(frozen=True, slots=True)
class DrawOptions:
    """Options on how notes are drawn."""

    each: Arg[int, typer.Option(metavar="N", min=1, help="Notes for each starter.")] = 80
    top_p: Arg[
        float, typer.Option(metavar="P", min=0, max=1, help="Nucleus that words are drawn from.")
    ] = 0.95


@dataclass(frozen=True, slots=True)
class Filtering:
    """Options on which notes are kept."""

    shortest: Arg[int, typer.Option(metavar="N", min=0, help="Fewest words of a note.")] = 4
    longest: Arg[int | None, typer.Option(metavar="N", min=1, help="Most words of a note.")] = None
    copied: Arg[
        int,
        typer.Option(
            metavar="N", min=0, help="Words in a row that no training note may have; 0: any."
        ),
    ] = 10
    sensitive: Arg[
        int,
        typer.Option(metavar="N", min=0, help="The same, one of them of an identifier; 0: any."),
    ] = 3
    with_names: Arg[
        bool,
        typer.Option(
            "--with-names",
            help="Keep notes that say a name or number of real notes, such as of surrogates.",
        ),
    ] = False
    lang: Arg[
        str, typer.Option(metavar="CODE", help="Language of the notes, and of the stems.")
    ] = "en"

    def sieve(self, documents: Sequence[Document], begins: Sequence[Document]) -> Sieve:
        """Return the filters with what they look up in training notes, and in those that begin
        the generated ones.
        """
        from deid_privacy import generated  # noqa: PLC0415

        filters = generated.Filters(
            self.shortest,
            self.longest,
            self.copied or None,
            self.sensitive or None,
            not self.with_names,
            self.lang,
        )
        return generated.Sieve(
            filters,
            [generated.words_of(one.note.text) for one in documents],
            [generated.marks_of(one.note.text, list(one.spans)) for one in documents],
            generated.identifiers_of([*documents, *begins]),
        )


@group_options
def generate(
    model: Arg[Path, typer.Argument(metavar="MODEL", help="Folder of a causal model.")],
    starters: Arg[
        str,
        typer.Argument(
            metavar="STARTERS",
            help=(
                "Annotated notes whose first three words, up to an identifier, generated ones begin"
                " with."
            ),
        ),
    ],
    out: Arg[Path, typer.Argument(metavar="OUT", help="Generated notes, JSON Lines.")],
    *,
    training: Arg[
        str,
        typer.Option(
            metavar="NOTES", help="Annotated notes that the model learnt, which none may copy."
        ),
    ],
    drawing: DrawOptions,
    filtering: Filtering,
    is_inline: Arg[
        bool, typer.Option("--inline", help="The model writes labels too, as deid privacy inline.")
    ] = False,
    seed: Arg[int, typer.Option(metavar="N", help="Of what is drawn.")] = 1,
) -> int:
    """Generate notes, keep those that pass the filters, and say how many words they share with the
    training notes.

    Filters see a note without its labels. A note that is kept may still say what a patient said, in
    other words.
    """
    from deid_assets.extending.corpora import read_corpus  # noqa: PLC0415 - loads the synthesis

    check_out(out, inputs=[model, Path(starters), Path(training)], is_folder=False, option="OUT")
    begins = read_corpus(starters).documents
    documents = read_corpus(training).documents
    drawn = _draw(model, begins, documents, drawing, seed=seed)
    valid = _parse(drawn) if is_inline else [(text, []) for text in drawn]
    kept, dropped = filtering.sieve(documents, begins).sieve([text for text, _ in valid])
    labels = dict(reversed(valid)) if is_inline else None
    _write(out, _lines_of(kept, filtering.lang, labels))
    for reason, count in dropped.most_common():
        typer.echo(f"dropped, {reason}: {count}")
    _say_diversity(kept, [one.note.text for one in documents], filtering.lang, seed=seed)
    typer.echo(f"{len(kept)} of {len(drawn)} notes kept; written to {out}")
    return 0 if kept else 1


def _draw(
    model: Path,
    begins: Sequence[Document],
    documents: Sequence[Document],
    drawing: DrawOptions,
    *,
    seed: int,
) -> list[str]:
    """Return notes that a model writes, none longer than the longest training note."""
    from deid_audits.models.generating import Continuing, continue_prompts  # noqa: PLC0415 - loads PyTorch
    from deid_audits.models.opened import open_model  # noqa: PLC0415
    from deid_audits.models.sampling import Sampling  # noqa: PLC0415
    from deid_audits.models.scoring import Scorer  # noqa: PLC0415
    from deid_privacy.generated import starter_of  # noqa: PLC0415

    begun = list(dict.fromkeys(starter_of(one, STARTER) for one in begins))
    scorer = Scorer(open_model(model))
    encoded = scorer.encode([document.note.text for document in documents])
    most = max(LONGEST, *(len(one.ids) for one in encoded))
    settings = Continuing(Sampling("nucleus", p=drawing.top_p), shortest=10, longest=most)
    written = continue_prompts(scorer, begun, each=drawing.each, settings=settings, seed=seed)
    return [begun[at] + text for at, text in written]


def _parse(drawn: Sequence[str]) -> list[tuple[str, list[Span]]]:
    """Return the notes whose labels can be read, without and with them; say how many these are."""
    from deid_assets.extending.measuring import wilson  # noqa: PLC0415
    from deid_privacy.generated import parse_tagged  # noqa: PLC0415

    valid = [one for one in map(parse_tagged, drawn) if one is not None]
    low, high = wilson(len(valid), len(drawn))
    typer.echo(
        f"labels that can be read: {len(valid) / len(drawn):.3f} [{low:.3f}, {high:.3f}],"
        f" {len(drawn)} notes"
    )
    return valid


def _lines_of(
    texts: Sequence[str], lang: str, labels: Mapping[str, Sequence[Span]] | None
) -> list[dict[str, Any]]:
    """Return the notes as they are written, with the spans of each text where there are labels."""
    lines: list[dict[str, Any]] = [
        {"id": f"made-{number:05d}", "lang": lang, "text": text}
        for number, text in enumerate(texts)
    ]
    if labels is None:
        return lines
    for line in lines:
        line["spans"] = [
            {"start": span.start, "end": span.end, "label": span.label.value}
            for span in labels[line["text"]]
        ]
    return lines


def _say_diversity(made: Sequence[str], real: Sequence[str], lang: str, *, seed: int) -> None:
    from deid_privacy import generated  # noqa: PLC0415

    tokens = (
        min(sum(len(generated.words_of(text)) for text in texts) for texts in (made, real)) // 2
    )
    if not tokens:
        raise InputError("no generated note was kept; ask for more, or for weaker filters")
    for name, texts in (("generated", made), ("training", real)):
        found = generated.diversity(texts, lang, tokens=tokens, seed=seed)
        typer.echo(
            f"{name}: {found.name} {found.value:.3f} [{found.low:.3f}, {found.high:.3f}] of"
            f" {tokens} drawn of {len(texts)} notes"
        )


def _write(out: Path, lines: Sequence[dict[str, Any]]) -> None:
    with atomic_file(out) as file:
        file.write("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines).encode())
