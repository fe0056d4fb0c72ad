"""released_table_NAME: a structured table that leaves with the notes."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import deid_assets
from deid_assets.assets.checked_tables import (
    DIGEST,
    ROWS,
    SETTINGS,
    judge_faults,
    key_digest,
    naming,
    tabulate_columns,
)
from deid_assets.assets.declarations import AssetOutput, Check
from deid_assets.assets.ingest import RAW_NOTES
from deid_assets.assets.release import check_released, pseudonym, recipients_of
from deid_assets.config.tables import TableSettings
from deid_assets.core.assets import Family
from deid_assets.core.errors import InputError
from deid_assets.core.redact import Policy
from deid_assets.intake.table_releases import RESTS_ON, sweep_tables, table_releases_of
from deid_assets.pipeline.resolving import MERGED_SPANS
from deid_assets.pipeline.spreading import Values, is_found
from deid_assets.quality import Verdict
from deid_assets.runtime.installation import Installation
from deid_assets.store.denials import Denials
from deid_assets.store.files import ALL, Receipt
from deid_assets.store.frames import notes_from_table, spans_from_tables
from deid_assets.store.publishing import ReleaseFolders
from deid_assets.store.signing import PUBLIC_KEY
from deid_assets.store.table_withdrawals import TableWithdrawals
from deid_assets.system.atomic import atomic_file
from deid_assets.system.digests import sha256_of
from deid_assets.tables.acting import PolicyActions
from deid_assets.tables.checking import begin
from deid_assets.tables.columns import PATIENT_KIND, TablePlan
from deid_assets.tables.counting import SIZES, GroupCounts
from deid_assets.tables.rewriting import ReleasedNotes, RewritingCounts, TableRewriter
from deid_assets.tables.sources import open_table, report_changed
from deid_assets.tables.writing import write_rows

JOINED = Check("joined", "Rows belong to patients, and to notes, of the release.")
REMAINING = Check(
    "survivors",
    "No kept cell holds an identifier of its patient that their notes or the row have, or a denied"
    " value.",
)
_QUASI = "At least smallest_group patients share each combination of quasi-identifiers."


def list_released_checks(settings: TableSettings) -> tuple[Check, ...]:
    """Return the checks of a released table."""
    blocking = settings.smallest_group > 0
    return (JOINED, REMAINING, Check("quasi_identifiers", _QUASI, blocking=blocking))


@dataclass(frozen=True, slots=True)
class _Order:
    """Which table is released, by whom and how."""

    installation: Installation
    table: str
    policy: Policy

    @property
    def settings(self) -> TableSettings:
        """Of the table."""
        return self.installation.settings.tables[self.table]

    @property
    def study(self) -> str:
        """Name of the study; empty for the installation's own release."""
        return self.installation.study.name if self.installation.study else ""

    @property
    def releases(self) -> ReleaseFolders:
        """Where released tables lie."""
        settings, files = self.installation.settings, self.installation.files
        return table_releases_of(settings, files, self.study)


@dataclass(frozen=True, slots=True)
class _NotesOut:
    """The notes that are out, and the receipts that say so.

    Args:
        notes: What a table is held against.
        receipts: Of each batch's release.
        rests_on: Name of each release to the digest of its manifest.
    """

    notes: ReleasedNotes
    receipts: tuple[Receipt, ...]
    rests_on: Mapping[str, str]


def make_released_table(
    batch: str, installation: Installation, *, table: str, policy: Policy
) -> AssetOutput:
    """Write the rows of the release's patients under its key, beside the release of their notes.

    Args:
        batch: All.
        installation: The installation, or as a study has it.
        table: Name of the table.
        policy: Of the release.

    Raises:
        InputError: The table is not the one that was checked, or cannot be read.
        ProvenanceError: A release of notes was altered.
    """
    order = _Order(installation, table, policy)
    checked = installation.files.receipt(Family.TABLE.of(table), batch)
    installation.files.check(checked)
    out = _notes_out(installation, policy)
    folder = _staging(order)
    path = folder / f"{table}{_suffix(order.settings)}"
    try:
        with naming(table):
            rewriter, plan = _rewrite(order, out.notes, checked, path)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    counts, groups = rewriter.counts, rewriter.groups.counts()
    verdicts = [
        _judge_joined(counts, out, order.settings),
        judge_faults(REMAINING, counts.surviving),
        _judge_groups(order.settings, groups, plan),
    ]
    if any(verdict.stops for verdict in verdicts):
        shutil.rmtree(folder, ignore_errors=True)
    return AssetOutput(
        tables={"columns": tabulate_columns(plan)},
        sources=[checked, *out.receipts],
        verdicts=verdicts,
        counts=_counts(counts, groups, policy, plan),
        metadata={"folder": str(order.releases.root / table)},
        release=lambda receipt: _release(order, path, _manifest(order, plan, receipt, out)),
    )


def _suffix(settings: TableSettings) -> str:
    suffix = settings.file.suffix.lower() if settings.file is not None else ""
    return suffix if suffix in (".csv", ".ndjson") else ".parquet"


def _staging(order: _Order) -> Path:
    """Return a new folder for the file of a release; what a killed run left is removed."""
    asset = order.installation.names.name_released_table(order.table)
    root = order.installation.settings.store / "restricted" / "staged_tables"
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    for left in root.glob(f"{asset}-*"):
        shutil.rmtree(left, ignore_errors=True)
    folder = root / f"{asset}-{secrets.token_hex(4)}"
    folder.mkdir(mode=0o700)
    return folder


def _rewrite(
    order: _Order, notes: ReleasedNotes, checked: Receipt, path: Path
) -> tuple[TableRewriter, TablePlan]:
    """Write the released rows to a file.

    Raises:
        InputError: The table is not the one that was checked, or cannot be read.
    """
    installation = order.installation
    if checked.counts.get(SETTINGS) != order.settings.digest[:12]:
        raise InputError("its settings are not those that it was checked with; check it again")
    key, is_shuffled = installation.key, installation.settings.release.shuffle
    with open_table(order.settings) as source:
        reading = begin(order.settings, source)
        rewriter = TableRewriter(
            reading,
            PolicyActions.of(order.policy, key),
            lambda kind, value: pseudonym(installation, kind, value) or "",
            notes,
        )
        write_rows(
            rewriter.batches(),
            path,
            seed=key.seed("order of a table", order.table) if is_shuffled else None,
            rows=int(checked.counts[ROWS]),
        )
    if key_digest(installation, source.digest) != checked.counts[DIGEST]:
        raise report_changed()
    return rewriter, reading.plan


def batches_out(installation: Installation) -> list[str]:
    """Return the batches of which the notes are out, sorted.

    Raises:
        ProvenanceError: The list of releases was altered.
    """
    releases, withdrawals = installation.releases, installation.withdrawals
    listed = releases.releases()
    out = {entry.batch for entry in listed.entries} - listed.list_withdrawn()
    return [
        batch
        for batch in installation.files.batches(installation.names.released)
        if releases.name_of(batch) in out and not withdrawals.is_withdrawn(batch)
    ]


def check_table_released(installation: Installation, table: str) -> None:
    """Check that a table's release is there, whole and the newest.

    Raises:
        InputError: There is none.
        ProvenanceError: It was altered.
    """
    _Order(installation, table, installation.snapshot.released).releases.check(table)


def _notes_out(installation: Installation, policy: Policy) -> _NotesOut:
    """Return what is released of the notes, and what is known of their patients."""
    listed, names = installation.releases.releases(), installation.names
    patients: set[str] = set()
    notes: set[str] = set()
    receipts: list[Receipt] = []
    rests_on: dict[str, str] = {}
    values: dict[str, Values] = {}
    for batch in batches_out(installation):
        name = installation.releases.name_of(batch)
        latest = listed.latest(name)
        receipt = installation.files.receipt(names.released, batch)
        check_released(installation, receipt)
        found = installation.files.read(names.released, batch, "notes")
        patients |= {one for one in found.column("patient_id").to_pylist() if one is not None}
        notes |= {*found.column("id").to_pylist()}
        receipts.append(receipt)
        rests_on[name] = latest.manifest if latest else ""
        _add_values(values, batch, installation, policy, patients)
    denied = Denials(installation.files).read().values
    return _NotesOut(ReleasedNotes(patients, notes, values, denied), tuple(receipts), rests_on)


def _add_values(
    values: dict[str, Values],
    batch: str,
    installation: Installation,
    policy: Policy,
    patients: set[str],
) -> None:
    """Add the identifiers that the notes of a batch have of patients of the release."""
    files = installation.files
    notes = notes_from_table(files.read(RAW_NOTES, batch, "notes"))
    merged = spans_from_tables(
        *(files.read(MERGED_SPANS, batch, one) for one in ("notes", "spans"))
    )
    spans = {one.note_id: one for one in merged}
    for note in notes:
        owner = note.patient_id
        if owner is None or pseudonym(installation, PATIENT_KIND, owner) not in patients:
            continue
        known = values.setdefault(owner, Values())
        for span in spans.get(note.note_id, ()):
            if span.label not in policy.keep and is_found(span):
                known.add(note.text[span.start : span.end], span, note.lang)


def _judge_joined(counts: RewritingCounts, out: _NotesOut, settings: TableSettings) -> Verdict:
    reasons = []
    if not out.receipts:
        reasons.append("no notes are released yet; release them first")
    elif not counts.rows:
        reasons.append(
            f"column {settings.patient or 'person_id'}: no row has a patient whose notes are"
            " released; give it the ids that the notes have"
        )
    if counts.notes_without and not counts.notes_joined:
        reasons.append(
            "no row has the id of a note that is released; give the column the ids that the notes"
            " have, or another kind"
        )
    return Verdict(
        JOINED.name,
        passed=not reasons,
        blocking=True,
        counts={
            "rows": counts.rows,
            "rows_left_out": counts.left_out,
            "patients_left_out": len(counts.unknown_patients),
            "notes_joined": counts.notes_joined,
            "notes_not_released": counts.notes_without,
        },
        description=JOINED.description,
        reasons=reasons,
        waits=not out.receipts,
    )


def _judge_groups(settings: TableSettings, groups: GroupCounts, plan: TablePlan) -> Verdict:
    least = max(settings.smallest_group, 2)
    is_alone = groups.smallest < least
    reason = (
        f"{groups.singletons:,} of {groups.combinations:,} combinations are of one patient, the"
        f" rarest of {groups.smallest:,}; drop a column of quasi, or make it coarser at its source"
    )
    sizes = zip(SIZES, groups.patients, strict=True)
    has_any = bool(plan.quasi and groups.combinations)
    return Verdict(
        "quasi_identifiers",
        passed=has_any and not is_alone,
        blocking=settings.smallest_group > 0,
        counts={
            "combinations": groups.combinations,
            "singletons": groups.singletons,
            "smallest": groups.smallest,
            "minimum_smallest": least,
            **{f"patients_in_groups_of_{size}": count for size, count in sizes},
        },
        description=_QUASI if has_any else "Not applicable: no column is in quasi.",
        applicable=has_any,
        reasons=[reason] if has_any and is_alone else [],
    )


def _counts(
    counts: RewritingCounts, groups: GroupCounts, policy: Policy, plan: TablePlan
) -> dict[str, int | float | str]:
    return {
        "policy": policy.name,
        "policy_digest": policy.digest[:12],
        "rows": counts.rows,
        "rows_left_out": counts.left_out,
        "columns": len(plan.leaving),
        "emptied": sum(counts.emptied.values()),
        "words_of_names": counts.parts,
        "combinations": groups.combinations,
        "singletons": groups.singletons,
    }


def _manifest(order: _Order, plan: TablePlan, receipt: Receipt, out: _NotesOut) -> dict[str, Any]:
    """Return what a released table rests on, not signed yet and without its files."""
    installation, table, policy = order.installation, order.table, order.policy
    study = installation.study
    return {
        "batch": table,
        "table": table,
        **({"study": study.name, "recipients": [*recipients_of(installation)]} if study else {}),
        "software": f"deid-assets {deid_assets.__version__}",
        "created_at": receipt.created_at,
        "policy": {"name": policy.name, "digest": policy.digest},
        "columns": {
            one.name: {"role": one.role.value, **({"kind": one.kind} if one.kind else {})}
            for one in plan.leaving
        },
        RESTS_ON: dict(out.rests_on),
        "receipts": {f"{receipt.asset}@{ALL}": {"digest": receipt.digest}},
        "verdicts": {name: dict(row) for name, row in receipt.verdicts.items()},
        "counts": {**receipt.counts, "notes": 0},
        "measured": False,
        "measurement": {
            "reason": "a table; its columns leave as they were declared, and nobody measured them."
        },
        "approval": None,
    }


def _release(order: _Order, path: Path, manifest: Mapping[str, Any]) -> None:
    """Publish the file of a table, if all that it rests on is still out."""
    installation, table = order.installation, order.table
    now = installation.releases.releases()
    rests_on = manifest[RESTS_ON]
    latest = {name: now.latest(name) for name in rests_on}
    if any(one is None or one.manifest != rests_on[name] for name, one in latest.items()):
        raise InputError(
            f"table {table}: notes were released or withdrawn while it was written; make it again"
        )
    TableWithdrawals(installation.files, installation.names).make_again(table)
    with atomic_file(installation.settings.home / PUBLIC_KEY) as file:
        file.write(installation.release_signer.public.to_pem())
    digests = {path.name: sha256_of(path)}
    order.releases.publish(table, {path.name: path}, {**manifest, "files": digests})
    shutil.rmtree(path.parent, ignore_errors=True)
    # what was withdrawn meanwhile
    settings, files = installation.settings, installation.files
    sweep_tables(settings, files, installation.releases, order.study)
