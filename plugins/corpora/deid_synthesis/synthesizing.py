"""``deid corpus synthesize``: notes that look like a site's own and hold none of its words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Annotated as Arg

import typer

from deid_assets.extending import InputError, label_map
from deid_assets.extending.commands import (
    Annotated,
    Answer,
    Fault,
    ReadingWithLabels,
    SpansFile,
    Table,
    ToOption,
    check_out,
    group_options,
    out_format,
    write_notes,
    write_options,
)
from deid_assets.extending.files import atomic_file

if TYPE_CHECKING:
    from deid_synthesis.profile import SiteProfile

GENERATORS = ("grammar", "frames")
COPIED = 30
"""Words in a row that a note may not have of the site's; shorter runs are common speech, since the
generators never see the site's notes.
"""
SENSITIVE = 10
"""The same with a word of an identifier among them."""
ROUNDS = 3
"""How often more notes are made where filters took some away."""


@dataclass(frozen=True, slots=True)
class SynthesisOptions:
    """What is made."""

    generator: Arg[
        str,
        typer.Option(
            metavar="NAME",
            help="grammar: the site's layout; frames: true-to-life notes with others' identifiers.",
        ),
    ] = "grammar"
    notes: Arg[int, typer.Option("--notes", metavar="N", min=1, help="Number of notes.")] = 200
    seed: Arg[int, typer.Option(metavar="N", help="Seed; the same one gives the same notes.")] = 1
    out: Arg[
        Path | None,
        typer.Option(metavar="PATH", help="Notes to write; the suffix chooses the format."),
    ] = None
    to: ToOption = None


@group_options  # type: ignore[arg-type]  # an answer is shown, whatever groups its options
def synthesize(
    *,
    like: Arg[
        Path,
        typer.Option(
            metavar="NOTES",
            help="The site's notes, annotated or with --spans; or a profile that --profile wrote.",
        ),
    ],
    spans: Arg[
        Path | None,
        typer.Option("--spans", metavar="FILE", help="Spans of the notes that deid detect wrote."),
    ] = None,
    profile: Arg[
        Path | None,
        typer.Option("--profile", metavar="FILE", help="Where the profile is written, as JSON."),
    ] = None,
    made: SynthesisOptions,
    reading: ReadingWithLabels,
) -> Answer:
    """Make annotated notes that look like a site's own and keep none of its words.

    Learnt are layout, order of sections, lengths and the mix of categories, each only where ten
    patients show it. Notes that share runs of words or names with the site's are left out.
    """
    from deid_synthesis.profile import is_profile, read_profile  # noqa: PLC0415

    if made.generator not in GENERATORS:
        raise InputError(f"no generator {made.generator!r}; choose one of {', '.join(GENERATORS)}")
    if made.out is None and profile is None:
        raise InputError("nothing to write; give --out for notes, --profile for the profile")
    for path in (made.out, profile):
        if path is not None:
            check_out(path, inputs=[like, *([spans] if spans else [])], is_folder=False)
    if made.out and profile and made.out.resolve() == profile.resolve():
        raise InputError("--out and --profile name one file; name one for each")
    source = None if is_profile(like) else _Source(like, spans, reading)
    learnt = read_profile(like) if source is None else source.learnt()
    if reading.lang and reading.lang != learnt.lang:
        raise InputError(f"{like} is a profile of {learnt.lang!r}; leave --lang out")
    if profile is not None:
        with atomic_file(profile) as file:
            file.write(learnt.as_text().encode())
    answer = _write_corpus(learnt, source, made)
    said = [*([f"profile written to {profile}"] if profile is not None else []), *answer.said]
    return replace(answer, document={"lang": learnt.lang, **answer.document}, said=said)


@dataclass(frozen=True, slots=True)
class _Source:
    """Notes of a site; each reading begins anew.

    Args:
        path: Of them.
        spans: Of their spans, where they are not annotated.
        reading: How they are read.
    """

    path: Path
    spans: Path | None
    reading: ReadingWithLabels

    def notes(self) -> Iterator[Annotated]:
        """Yield them; one that is faulty or has no spans stops."""
        labels = label_map(self.reading.labels) if self.reading.labels else None
        spans = SpansFile(self.spans) if self.spans else None
        source = self.reading.source(self.path, annotations=spans is None)
        for found in source.read(labels):
            if isinstance(found, Fault):
                raise InputError(f"{found.message}; only whole corpora are learnt from")
            if spans is None:
                yield found
                continue
            own = spans.take(found.note.note_id)
            if own is None:
                raise InputError(
                    f"{self.spans} has no spans of note {found.note.note_id!r}; detect again"
                )
            yield Annotated(found.note, own.check_against(found.note))

    def learnt(self) -> SiteProfile:
        """Return the profile of the notes in the language given, else in that of most."""
        from deid_synthesis.learning import learn  # noqa: PLC0415

        languages = Counter(one.note.lang for one in self.notes())
        if not languages:
            raise InputError(f"{self.path}: no note could be read")
        lang = self.reading.lang or str(languages.most_common(1)[0][0])
        return learn(self.notes(), lang)


def _write_corpus(profile: SiteProfile, source: _Source | None, made: SynthesisOptions) -> Answer:
    from deid_copying.filters import NoteFilters, describe_removed, sieve  # noqa: PLC0415 - loads NumPy

    if made.out is None:
        return Answer(document={})
    written_as = out_format(made.out, made.to)
    real = None if source is None else source.notes
    filters = NoteFilters(copied=COPIED, sensitive=SENSITIVE)
    count = made.notes
    for _ in range(ROUNDS):
        found = sieve(partial(_generate, profile, made, count), real, filters)
        kept = int(found.kept.sum())
        if kept >= made.notes or not kept:
            break
        count = min(4 * made.notes, int(count * made.notes / kept * 1.1) + 1)
    notes = islice(found.of(_generate(profile, made, count)), made.notes)
    written = write_notes(made.out, notes, format=written_as.name, options=write_options())
    removed = dict(found.removed)
    said = [
        f"{written:,} notes written to {made.out}",
        f"of {len(found.kept):,} made, filters took away: {describe_removed(removed)}",
    ]
    if source is None:
        said.append("made of a profile alone: not compared with the site's notes")
    return Answer(
        document={
            "notes": written,
            "made": len(found.kept),
            "removed": removed,
            "generator": made.generator,
            "compared": source is not None,
        },
        tables=[Table(("filter", "notes"), [[name, f"{own:,}"] for name, own in removed.items()])],
        said=said,
        code=0 if written == made.notes else 1,
    )


def _generate(profile: SiteProfile, made: SynthesisOptions, count: int) -> Iterable[Annotated]:
    from deid_synthesis.frames import make_frame_corpus  # noqa: PLC0415
    from deid_synthesis.sitelike import make_site_corpus  # noqa: PLC0415

    if made.generator == "frames":
        notes = make_frame_corpus(lang=profile.lang, notes=count, seed=made.seed, profile=profile)
    else:
        notes = make_site_corpus(profile, notes=count, seed=made.seed)
    for note, spans in notes:
        yield Annotated(note, spans)
