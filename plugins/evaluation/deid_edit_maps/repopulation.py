"""``deid repopulate`` and ``deid twin``: notes with other people's values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated as Arg
from typing import BinaryIO

import typer

import deid_assets
from deid_assets.extending import DeidError, DisjointSpans, Failed, Note, Phi, label_map
from deid_assets.extending.commands import (
    Annotated,
    Fault,
    FileReading,
    JsonOption,
    NoteSource,
    PolicyOption,
    ReadingWithLabels,
    SpansFile,
    ToOption,
    Withheld,
    check_out,
    finish,
    group_options,
    out_format,
    progress,
    say,
    write_notes,
    write_options,
)
from deid_assets.extending.edits import (
    Batch,
    EditsFile,
    Ensemble,
    Key,
    MadeBy,
    PolicyError,
    Redaction,
    StoredSpans,
    edit_map,
    resolve,
    secret_of_environment,
    write_edit_map,
    writing_edits,
)
from deid_edit_maps.repopulate import Repopulated
from deid_edit_maps.repopulate import repopulate as fill

_SOFTWARE = f"deid-assets {deid_assets.__version__}"
_EDITS_OUT_HELP = "Edit maps to write, .jsonl: from the original to what is written now."
_NOT_NAMES = frozenset(Phi) - {Phi.NAME}
EditsOutOption = Arg[Path | None, typer.Option("--edits-out", metavar="FILE", help=_EDITS_OUT_HELP)]


@group_options
def repopulate(
    redacted: Arg[Path, typer.Argument(metavar="REDACTED", help="Redacted notes, unchanged.")],
    *,
    edits: Arg[
        Path,
        typer.Option(metavar="FILE", help="Edit maps that deid redact --edits wrote with them."),
    ],
    policy: PolicyOption,
    out: Arg[
        Path, typer.Option(metavar="PATH", help="Notes to write; the suffix chooses the format.")
    ],
    edits_out: EditsOutOption = None,
    to: ToOption = None,
    reading: FileReading,
    as_json: JsonOption = False,
) -> int:
    """Fill the tags of redacted notes, without their originals.

    Tags of one number, hash or encrypted value become one person. What is no tag stays.
    """
    source = reading.source(redacted)
    written_as = out_format(out, to)
    _check_outs(out, edits_out, inputs=[redacted, edits], is_folder=written_as.is_folder)
    redaction = Redaction.load(policy, keep_patient_ids=True)
    filling = Filling(redaction, EditsFile(edits))
    withheld = Withheld()
    with ExitStack() as stack:
        file = stack.enter_context(writing_edits(edits_out)) if edits_out else None
        write_notes(
            out,
            filling.run(source, file, withheld),
            format=written_as.name,
            options=write_options(),
        )
    if filling.left:
        kinds = ", ".join(f"{count:,} {label}" for label, count in sorted(filling.left.items()))
        say(
            f"left as tags, for which policy {redaction.policy.name!r} writes nothing else: {kinds}"
        )
    return finish(dict(filling.counted), withheld, out, as_json=as_json)


class Filling:
    """Redacted notes on their way to filled ones, and the counts.

    Args:
        redaction: Policy and key.
        maps: Edit maps of the notes.
    """

    def __init__(self, redaction: Redaction, maps: EditsFile) -> None:
        self._redaction, self._maps = redaction, maps
        self.counted = {"notes": 0, "filled": 0}
        self.left = Counter[str]()

    def run(
        self, source: NoteSource, file: BinaryIO | None, withheld: Withheld
    ) -> Iterator[Annotated]:
        """Yield each note filled.

        One without edit map, or with one of another text, is withheld.
        """
        made_by = MadeBy.of(
            self._redaction.policy, self._redaction.key, software=_SOFTWARE, detectors={}
        )
        with progress("filling") as advance:
            for chunk in source.chunks(withheld):
                for note in chunk:
                    found = self._fill(note, made_by)
                    if isinstance(found, Failed):
                        withheld.report_failed(found)
                        continue
                    self.counted["notes"] += 1
                    self.counted["filled"] += found.filled.total()
                    self.left.update({label.value: count for label, count in found.left.items()})
                    if file is not None:
                        write_edit_map(file, found.edits)
                    yield Annotated(Note(note.note_id, found.text, note.patient_id, note.lang))
                advance(len(chunk))

    def _fill(self, note: Note, made_by: MadeBy) -> Repopulated | Failed:
        edits = self._maps.take(note.note_id)
        if edits is None:
            return Failed(note.note_id, "repopulate", "NoEditMap")
        try:
            return fill(
                note, edits, self._redaction.policy, key=self._redaction.key, made_by=made_by
            )
        except DeidError as error:
            return Failed(note.note_id, "repopulate", type(error).__name__)


@group_options
def twin(
    notes: Arg[Path, typer.Argument(metavar="NOTES", help="File or folder of notes.")],
    *,
    out: Arg[
        Path, typer.Option(metavar="PATH", help="Notes to write; the suffix chooses the format.")
    ],
    spans: Arg[
        Path | None,
        typer.Option(
            metavar="FILE", help="Spans of the notes; their own annotations when not given."
        ),
    ] = None,
    number: Arg[
        int,
        typer.Option(
            metavar="N",
            min=1,
            help="Number of the twin; the same number and key give the same twin.",
        ),
    ] = 1,
    edits_out: EditsOutOption = None,
    to: ToOption = None,
    reading: ReadingWithLabels,
    as_json: JsonOption = False,
) -> int:
    """Make a twin of a corpus: other names, the rest as it is.

    For audits that ask whether a model remembers people. A note with a name for which none can be
    made is withheld.
    """
    source = reading.source(notes, annotations=spans is None)
    written_as = out_format(out, to)
    _check_outs(
        out, edits_out, inputs=[notes, *filter(None, [spans])], is_folder=written_as.is_folder
    )
    key = _key_of_names()
    withheld, counted = Withheld(), {"notes": 0, "names": 0}
    if spans is None:
        pairs = _read_annotated(source, reading.labels, withheld)
    else:
        pairs = _read_stored(source, spans, withheld)
    with ExitStack() as stack:
        file = stack.enter_context(writing_edits(edits_out)) if edits_out else None
        made = _twins(pairs, key, number, file, withheld, counted)
        write_notes(out, made, format=written_as.name, options=write_options())
    return finish(counted, withheld, out, as_json=as_json)


def _key_of_names() -> Key:
    """Return the key that other names follow from.

    Raises:
        PolicyError: None is set.
    """
    secret = secret_of_environment()
    if secret is None:
        raise PolicyError(
            "other names need a key; set DEID_KEY to the output of `openssl rand -hex 32`"
        )
    return Key(secret)


def _twins(  # noqa: PLR0917 - called from one place
    pairs: Iterable[tuple[Note, DisjointSpans | Failed]],
    key: Key,
    number: int,
    file: BinaryIO | None,
    withheld: Withheld,
    counted: dict[str, int],
) -> Iterator[Annotated]:
    from deid_edit_maps.twins import (  # noqa: PLC0415 - loads what surrogates are made with
        twin as twin_of,
    )
    from deid_edit_maps.twins import twin_key, twin_policy  # noqa: PLC0415

    key = twin_key(key, number)
    made_by = MadeBy.of(twin_policy(), key, software=_SOFTWARE, detectors={})
    for note, spans in pairs:
        found = spans if isinstance(spans, Failed) else twin_of(note, spans, key=key)
        if isinstance(found, Failed) or isinstance(spans, Failed):
            withheld.report_failed(
                found if isinstance(found, Failed) else Failed(note.note_id, "twin", "Missing")
            )
            continue
        counted["notes"] += 1
        counted["names"] += len(found.edits)
        if file is not None:
            write_edit_map(file, edit_map(note, found, spans, key=key, made_by=made_by))
        yield Annotated(Note(note.note_id, found.text, note.patient_id, note.lang))


def _read_stored(
    source: NoteSource, spans: Path, withheld: Withheld
) -> Iterator[tuple[Note, DisjointSpans | Failed]]:
    """Yield notes with their spans of a file; where names and others overlap, the name counts."""
    stored = StoredSpans(SpansFile(spans), _NOT_NAMES)
    for chunk in source.chunks(withheld):
        batch = stored.run(Batch(chunk))
        found: dict[str, DisjointSpans | Failed] = {**batch.spans, **batch.withheld}
        for note in chunk:
            yield note, found.get(note.note_id, Failed(note.note_id, "twin", "Missing"))


def _read_annotated(
    source: NoteSource, labels: str | None, withheld: Withheld
) -> Iterator[tuple[Note, DisjointSpans | Failed]]:
    """Yield notes with their own annotations."""
    for found in source.read(label_map(labels) if labels else None):
        if isinstance(found, Fault):
            withheld.fault(found)
        elif found.spans is None:
            yield found.note, Failed(found.note.note_id, "twin", "NoAnnotations")
        else:
            ensemble = Ensemble.of_equals(found.spans, yielding=_NOT_NAMES)
            yield found.note, resolve(found.note, [found.spans], ensemble=ensemble)


def _check_outs(out: Path, edits_out: Path | None, *, inputs: list[Path], is_folder: bool) -> None:
    check_out(out, inputs=inputs, is_folder=is_folder)
    if edits_out is not None:
        check_out(edits_out, inputs=[*inputs, out], is_folder=False, option="--edits-out")
