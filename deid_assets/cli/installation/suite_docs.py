"""Data Docs of what the store holds. Loads the store, so it is imported when the command runs."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from html import escape
from pathlib import Path

from deid_assets.config import Settings
from deid_assets.core.assets import Family, family_of
from deid_assets.core.errors import InputError
from deid_assets.core.phi import Phi
from deid_assets.quality import frames
from deid_assets.quality.data_docs import page
from deid_assets.quality.expectations import ExpectationResult, ask
from deid_assets.quality.own import main_table, text_free
from deid_assets.quality.suites import Suite, builtin, suite_of, suites_in
from deid_assets.store.files import StoreFiles
from deid_assets.store.frames import notes_from_table, spans_from_tables
from deid_assets.system.atomic import atomic_file

_SPANS = ("gold_annotations", "merged_spans")


def write_docs(settings: Settings, out: Path, batches: Collection[str]) -> tuple[int, int]:
    """Write a page for each stored partition that a suite is about, and an index.

    Args:
        settings: Of the installation.
        out: Folder of the pages.
        batches: The only ones; all where empty.

    Returns:
        The number of pages, and of those on which something is not met.

    Raises:
        InputError: Nothing is stored that a suite is about.
    """
    files = StoreFiles(settings.store, key=settings.receipt_key())
    own = suites_in(settings.suites_folder)
    rows = []
    for asset, batch in files.partitions():
        if batches and batch not in batches:
            continue
        answers = list(_answers(files, asset, batch, own))
        if answers:
            name = f"{asset}-{batch}.html"
            _write(out / name, page(asset, batch, answers))
            rows.append(
                (name, asset, batch, len(answers), sum(not answer.met for answer in answers))
            )
    if not rows:
        raise InputError(
            "nothing is stored that a suite is about; run `deid run`, or check --batch"
        )
    _write(out / "index.html", _index(rows))
    return len(rows), sum(unmet > 0 for *_, unmet in rows)


def _answers(
    files: StoreFiles, asset: str, batch: str, own: Mapping[str, Suite]
) -> Iterator[ExpectationResult]:
    if asset == "raw_notes":
        notes = notes_from_table(files.read(asset, batch, "notes"))
        yield from ask(builtin("raw_notes"), frames.notes_frame(notes))
    elif asset in _SPANS or family_of(asset) is Family.SPANS:
        notes = notes_from_table(files.read("raw_notes", batch, "notes"))
        spans = spans_from_tables(
            files.read(asset, batch, "notes"), files.read(asset, batch, "spans")
        )
        yield from ask(builtin("span_sets"), frames.span_sets_frame(notes, spans))
        frame = frames.spans_frame(notes, spans)
        labels = [label.value for label in Phi]
        yield from ask(builtin("spans"), frame, labels=labels, sources=sorted(set(frame["source"])))
        if asset == "merged_spans":
            yield from ask(builtin("disjoint_spans"), frame)
    suite = suite_of(own, asset)
    if suite:
        yield from ask(
            suite,
            text_free(files.read(asset, batch, main_table(files.receipt(asset, batch).outputs))),
        )


def _write(path: Path, document: str) -> None:
    with atomic_file(path) as file:
        file.write(document.encode())


def _index(rows: Collection[tuple[str, str, str, int, int]]) -> str:
    lines = "".join(
        "<tr><td><a"
        f' href="{escape(name)}">{escape(asset)}</a><td>{escape(batch)}<td>{total}<td>{unmet}'
        for name, asset, batch, total, unmet in sorted(rows)
    )
    return (
        "<!doctype html><meta charset=utf-8><title>Data Docs</title><style>body{font:15px/1.5"
        " system-ui;margin:2rem auto;max-width:60rem}td,th{padding:.2rem"
        " 1rem;text-align:left}</style><h1>Data"
        f" Docs</h1><table><tr><th>asset<th>batch<th>expectations<th>not met{lines}</table>"
    )
