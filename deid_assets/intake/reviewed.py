"""Annotations of reviewers take the place of what a batch held, so that its gates measure with
them and what was made of it is made again.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from deid_assets.config import Settings
from deid_assets.core.errors import ConfigError, InputError
from deid_assets.core.span import SpanSet
from deid_assets.formats.annotated import Annotated, Annotation, ParsedNote
from deid_assets.formats.parsed_notes import encode_parsed_note
from deid_assets.intake.arrivals import (
    PART_FILE,
    ArrivedFile,
    check_arrival,
    find_arrival,
    list_files,
    sign_replacement,
)
from deid_assets.intake.reader import how_of, landing_folder, landing_store, read_batch, source_of
from deid_assets.intake.reading import ReadingPlan, how_to_read
from deid_assets.intake.withdrawal import releases_of
from deid_assets.store.atomic import lock_folder
from deid_assets.store.files import StoreFiles
from deid_assets.store.withdrawals import Withdrawals
from deid_assets.system.atomic import atomic_path

STAGED = ".reviewed"
"""Folder beside the batches, where what replaces one waits until it is signed."""
_OLD = ".old"


def return_annotations(
    settings: Settings, files: StoreFiles, batch: str, gold: Mapping[str, SpanSet]
) -> int:
    """Write a batch again with annotations, and return how many notes have new ones.

    Its other notes stay as they are, with the annotations that they came with. A call that was
    killed is completed by the next one.

    Args:
        settings: Of the installation.
        files: The store.
        batch: Whose notes were annotated.
        gold: Note ids to annotations of exactly these texts.

    Raises:
        DigestError: A note has another text than the one that was annotated.
        InputError: The batch has no such note, or was withdrawn.
        ProvenanceError: The files of the batch are not those that arrived.
    """
    staged = landing_store(settings) / STAGED / batch
    with lock_folder(landing_store(settings)):
        _finish(settings, files, batch, staged)
        shutil.rmtree(staged, ignore_errors=True)
        staged.mkdir(parents=True, mode=0o700)
        overrides = _overrides(settings, files, batch)
        count = _write(settings, files, batch, gold, staged / PART_FILE)
        listed = list_files([staged / PART_FILE], root=staged)
        try:
            _sign(settings, files, batch, listed, overrides)
        except InputError:
            shutil.rmtree(staged)
            raise
        _finish(settings, files, batch, staged)
    return count


def complete_returns(settings: Settings, files: StoreFiles) -> None:
    """Complete what a call that was killed had signed, and remove what it had not: either holds
    text of notes beside the batches.
    """
    folder = landing_store(settings) / STAGED
    if not folder.is_dir():
        return
    with lock_folder(landing_store(settings)):
        for path in sorted(folder.iterdir()):
            batch = path.name.removesuffix(_OLD)
            _finish(settings, files, batch, folder / batch)
            shutil.rmtree(folder / batch, ignore_errors=True)


def _sign(
    settings: Settings,
    files: StoreFiles,
    batch: str,
    listed: list[ArrivedFile],
    overrides: Mapping[str, object],
) -> None:
    """Sign what a batch holds from now on, with nothing withdrawn meanwhile: what is signed anew
    counts as brought back.

    Raises:
        InputError: The batch was withdrawn.
    """
    with releases_of(settings, files).hold():  # as withdrawing does
        withdrawals = Withdrawals(files)
        if withdrawals.is_withdrawn(batch):
            back = withdrawals.bring_back(batch)
            raise InputError(
                f"batch {batch} was withdrawn; `{back}` brings it back, then review it"
            )
        sign_replacement(files, batch, listed, overrides=overrides)


def _write(
    settings: Settings,
    files: StoreFiles,
    batch: str,
    gold: Mapping[str, SpanSet],
    path: Path,
) -> int:
    left = set(gold)
    with atomic_path(path, mode=0o600) as part, part.open("wb") as file:
        for line, note_id in _lines(settings, files, batch, gold):
            left.discard(note_id)
            file.write(line)
    if left:
        raise InputError(
            f"note {min(left)!r}: batch {batch} has no such note any more, and {len(left) - 1:,}"
            " others neither; make the queue of the batch again"
        )
    return len(gold)


def _lines(
    settings: Settings, files: StoreFiles, batch: str, gold: Mapping[str, SpanSet]
) -> Iterator[tuple[bytes, str]]:
    lang = _how(settings, files, batch).lang
    for item in read_batch(settings, files, batch):
        if not isinstance(item.what, Annotated):
            yield encode_parsed_note(item.what), ""
            continue
        note, spans = item.what.note, item.what.spans
        if note.note_id in gold:
            spans = gold[note.note_id].check_against(note)
        parsed = ParsedNote(
            "notes",
            note.note_id,
            note.text,
            _annotations(spans),
            patient_id=note.patient_id,
            lang=note.lang or lang,
            meta=dict(note.meta),
            in_code_points=True,
            body_chars=item.what.body_chars,
        )
        yield encode_parsed_note(parsed), note.note_id


def _annotations(spans: SpanSet | None) -> tuple[Annotation, ...] | None:
    if spans is None:
        return None
    return tuple(
        Annotation(
            ((span.start, span.end),),
            span.label.value,
            score=span.score,
            source=span.source,
            native_label=span.native_label,
        )
        for span in spans
    )


def _how(settings: Settings, files: StoreFiles, batch: str) -> ReadingPlan:
    arrival = check_arrival(files, batch, landing=landing_folder(settings, batch))
    source = source_of(settings, batch)
    try:
        return how_of(settings, arrival, source) if source else how_to_read(settings, {})
    except ConfigError:  # each file is a fault already
        return how_to_read(settings, arrival.overrides)


def _overrides(settings: Settings, files: StoreFiles, batch: str) -> dict[str, object]:
    """Return how the new file is read: its labels are the categories' own names."""
    sender = _how(settings, files, batch).sender
    return {"labels": "phi", **({"sender": sender} if sender else {})}


def _finish(settings: Settings, files: StoreFiles, batch: str, staged: Path) -> None:
    """Put a staged file in the place of a batch's files, where it is what was signed."""
    target, old = landing_folder(settings, batch), staged.with_name(f"{batch}{_OLD}")
    if (staged / PART_FILE).is_file() and _list_signed(files, batch) == list_files(
        [staged / PART_FILE], root=staged
    ):
        if target.exists():
            shutil.rmtree(old, ignore_errors=True)
            target.rename(old)
        staged.rename(target)
    shutil.rmtree(old, ignore_errors=True)


def _list_signed(files: StoreFiles, batch: str) -> list[ArrivedFile]:
    arrival = find_arrival(files, batch)
    return list(arrival.files) if arrival else []
