"""For authors of format plugins: the contract that every format must keep."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import fields
from importlib import import_module
from pathlib import Path

from deid_assets.core.errors import InputError, PluginError, class_name
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.span import Span, SpanSet
from deid_assets.formats.annotated import Annotated, Fault
from deid_assets.formats.catalogue import Format
from deid_assets.formats.declared import KINDS
from deid_assets.formats.options import ReadOptions, WriteOptions
from deid_assets.formats.registry import FormatError, detect_format, read_notes, write_notes
from deid_assets.formats.source import Source
from deid_assets.own_plugins import is_own

WORD = "Zyxwickford"
"""In every damaged file; no message may show it."""
KEPT = frozenset({"spans", "native_label", "score", "source", "patient_id", "lang", "meta"})
TEXTS = (
    f"Seen by Dr. {WORD} on 3 May 2021.",
    "Line one\nline two\n\nline four, \u00e9\u00f1\u00df \U0001f468\u200d\u2695\ufe0f.",
    'CRLF\r\nCR\rtab\t, a<b> & "c" | ^ ~ \\ {d} ]]> e\u0301\u00a0\u2028\ufeff=1+1',
    "a\0b",
)
"""Plain text, which every format holds, and text that it holds or says it cannot."""
_PLAIN = 2
_LANG = "fr"
"""Formats that know English alone keep no language."""
_DAMAGED = (
    b"",
    b"\n",
    WORD.encode(),
    f'{{"id": "{WORD}", "text": 7}}\n'.encode(),
    f"<{WORD}><b>{WORD}</{WORD}>".encode(),
    f"{WORD}\r".encode() * 3_000,
    b"\xff\xfe\0\xd8" + WORD.encode("utf-16-le"),
    b"\0" * 5_000 + WORD.encode(),
    b"PK\x03\x04" + WORD.encode(),
    b'[{"' * 5_000 + WORD.encode(),
)


def check_format(known: Format, folder: Path) -> None:
    """Run the format contract.

    Checks the declaration; that damaged and empty files give notes or faults, the same twice, and
    no exception and no message with their text; that what is written is detected, comes back with
    its text byte for byte and with what ``keeps`` says and no more; and that a write that fails
    leaves nothing behind.

    Args:
        known: An installed format.
        folder: Empty; files are written into it.

    Raises:
        PluginError: The contract is broken; the message says how.
    """
    _check_declaration(known)
    _check_damaged(known, _DAMAGED, folder / "damaged")
    if known.writer_module is not None:
        _check_plain(known, folder / "plain")
        _check_damaged(known, list(_halves(folder / "plain")), folder / "cut")
        _check_awkward(known, folder / "awkward")
        _check_failed_write(known, folder / "failed")


def _build_error(known: Format, why: str) -> PluginError:
    return PluginError(f"format {known.name!r}: {why}")


def _check_declaration(known: Format) -> None:
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,40}", known.name):
        raise _build_error(known, "its name must match ^[a-z][a-z0-9_]{0,40}$")
    if not known.suffixes or not all(
        re.fullmatch(r"\.[a-z0-9_]+", suffix) for suffix in known.suffixes
    ):
        raise _build_error(known, "its suffixes must be a dot and small letters or digits")
    if not known.keeps <= KEPT:
        raise _build_error(known, f"keeps may hold {', '.join(sorted(KEPT))} only")
    for kind, sentence in known.faults.items():
        if (
            not re.fullmatch(r"[a-z]+(?:-[a-z]+)*", kind)
            or not sentence.isprintable()
            or "; " not in sentence
        ):
            raise _build_error(
                known,
                f"fault {kind!r}: write a kind in small letters, and its sentence as <fault>;"
                " <remedy>",
            )
    writer = "" if known.writer_module is None else known.writer_module or known.module
    wanted = ((known.module, "read"), (writer, "write"), (known.identities_module, "identities"))
    for module, function in wanted:
        if module and not callable(getattr(import_module(module), function, None)):
            raise _build_error(known, f"module {module} has no function {function}")
    for each in fields(known.options) if known.options else ():
        if not isinstance(each.default, str | bool | int | float):
            raise _build_error(
                known, f"option {each.name} has no default that is a string, truth value or number"
            )


def _check_damaged(known: Format, contents: Iterable[bytes], folder: Path) -> None:
    for number, content in enumerate(contents):
        for suffix in known.suffixes:
            place = folder / f"{number}{suffix}"
            place.mkdir(parents=True)
            (place / f"a1{suffix}").write_bytes(content)
            found = _read(known, place, number)
            if found != _read(known, place, number):
                raise _build_error(
                    known, f"damaged file {number} as {suffix} reads otherwise the second time"
                )
            _check_messages(known, found)
            _check_messages(known, _as_given(known, place / f"a1{suffix}"))


def _halves(folder: Path) -> Iterator[bytes]:
    """Yield what was written, whole, cut in the middle, and without its middle."""
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        content = path.read_bytes()
        third = len(content) // 3
        yield from (content, content[: len(content) // 2], content[:third] + content[2 * third :])


def _read(known: Format, place: Path, number: int) -> list[Annotated | Fault]:
    try:
        return list(
            read_notes(place, format=known.name, options=ReadOptions(max_note_chars=100_000))
        )
    except InputError:
        return [Fault.at(".", "malformed", "refused as a whole")]
    except Exception as error:
        raise _build_error(
            known, f"damaged file {number} raises {class_name(error)}; it must give a fault"
        ) from error


def _as_given(known: Format, path: Path) -> list[Fault]:
    """Return the faults of a file in the reader's own words, which are not shown where it is not of
    this project.
    """
    if not path.stat().st_size:
        return []
    try:
        given = list(known.reader(Source(path, path.parent), ReadOptions(max_note_chars=100_000)))
    except (InputError, OSError, UnicodeDecodeError):
        # what may be raised was looked at before, by read_notes
        return []
    return [entry for entry in given if isinstance(entry, Fault)]


def _check_messages(known: Format, found: Iterable[Annotated | Fault]) -> None:
    for fault in (entry for entry in found if isinstance(entry, Fault)):
        if not is_own(known.module) and fault.kind not in {*KINDS, *known.faults}:
            raise _build_error(
                known,
                "a kind of fault is not declared; write it into faults, or use one of"
                f" {', '.join(KINDS)}",
            )
        if not fault.message.isprintable() or WORD in fault.message:
            raise _build_error(
                known, f"a fault {fault.kind!r} is no single line, or shows text of the file"
            )


def _notes(known: Format, texts: tuple[str, ...]) -> Iterator[Annotated]:
    """Yield notes with all that the format keeps, and a patient and a language in any case."""
    for number, text in enumerate(texts, start=1):
        note = Note(str(number), text, "44", _LANG, {"ward": "7"} if "meta" in known.keeps else {})
        spans = None
        if "spans" in known.keeps:
            start = max(text.find(WORD), 0)
            native = "PER" if "native_label" in known.keeps else ""
            spans = SpanSet.of(note, [Span(start, start + 4, Phi.NAME, native_label=native)])
        yield Annotated(note, spans)


def _check_plain(known: Format, folder: Path) -> None:
    folder.mkdir(parents=True)
    target = folder / ("out" if known.is_folder else f"out{known.suffixes[0]}")
    written = list(_notes(known, TEXTS[:_PLAIN]))
    if write_notes(target, written, format=known.name) != len(written):
        raise _build_error(known, "it takes fewer notes than it is given")
    try:
        told = detect_format(target)
    except FormatError as error:
        told = error.reason
    if told != known.name:
        raise _build_error(known, f"what it writes is taken for {told}")
    found = list(read_notes(target, format=known.name))
    if len(found) != len(written):
        raise _build_error(known, f"{len(written)} notes written, {len(found)} read")
    for before, after in zip(written, found, strict=True):
        if isinstance(after, Fault):
            raise _build_error(known, f"what it writes is read as a fault {after.kind!r}")
        _check_kept(known, before, after)


def _check_kept(known: Format, before: Annotated, after: Annotated) -> None:
    if (after.note.note_id, after.note.text) != (before.note.note_id, before.note.text):
        raise _build_error(known, "an id or a text comes back changed")
    is_kept = {
        "patient_id": after.note.patient_id == before.note.patient_id,
        "lang": after.note.lang == before.note.lang,
        "meta": bool(after.note.meta) and after.note.meta == before.note.meta,
        "spans": bool(after.spans) and _places(after) == _places(before),
    }
    for field, kept in is_kept.items():
        if kept is not (field in known.keeps):
            raise _build_error(
                known, f"{field} {'is kept' if kept else 'is lost'}, and keeps says otherwise"
            )


def _places(annotated: Annotated) -> list[tuple[int, int, Phi]]:
    return [(span.start, span.end, span.label) for span in annotated.spans or ()]


def _check_awkward(known: Format, folder: Path) -> None:
    """Check that an awkward text comes back as it was, or is refused when it is written.

    Nothing between.
    """
    for number, text in enumerate(TEXTS):
        target = folder / str(number) / ("out" if known.is_folder else f"out{known.suffixes[0]}")
        target.parent.mkdir(parents=True)
        options = WriteOptions(formulas="plain")
        try:
            known.writer(target, [Annotated(Note("1", text, "44", "en"))], options)
        except InputError as error:
            if WORD in str(error):
                raise _build_error(
                    known, "what it says of a note that it cannot hold shows its text"
                ) from None
            continue
        texts = [
            found.note.text
            for found in read_notes(target, format=known.name)
            if isinstance(found, Annotated)
        ]
        if texts != [text]:
            raise _build_error(
                known, f"awkward text {number} comes back changed; keep it or raise InputError"
            )


def _check_failed_write(known: Format, folder: Path) -> None:
    folder.mkdir(parents=True)
    target = folder / ("out" if known.is_folder else f"out{known.suffixes[0]}")
    (note,) = _notes(known, TEXTS[:1])
    try:
        write_notes(target, [note, note], format=known.name)
    except InputError:
        if list(folder.iterdir()):
            raise _build_error(
                known, "a write that fails leaves files behind; use atomic_file or atomic_folder"
            ) from None
        return
    raise _build_error(known, "it does not take the notes that it is given to their end")
