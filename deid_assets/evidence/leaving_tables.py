"""Structured tables that leave with the notes: what becomes of their columns, how they join, and
whether groups of their patients are small.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from deid_assets.config.tables import TableSettings
from deid_assets.core.assets import Family
from deid_assets.core.errors import ProvenanceError
from deid_assets.core.phi import Phi
from deid_assets.core.redact import Policy
from deid_assets.core.verdicts import State
from deid_assets.evidence.document import (
    CitedSource,
    EvidencePart,
    EvidenceRow,
    EvidenceTable,
    MissingMeasure,
    Statement,
    make_statement,
)
from deid_assets.evidence.verifying import VerifiedRelease
from deid_assets.evidence.wording import list_words, many
from deid_assets.intake.table_releases import RESTS_ON, list_released_tables, table_releases_of
from deid_assets.policies.wording import in_words
from deid_assets.store.files import ALL, Receipt
from deid_assets.store.manifests import MANIFEST
from deid_assets.store.receipts import state_of
from deid_assets.system.digests import sha256_of
from deid_assets.tables.acting import DateMode, PolicyActions
from deid_assets.tables.columns import NOTE_KIND, Role
from deid_assets.tables.counting import SIZES

SMALL_GROUP = 11
"""Patients below which a group of released records is told as small."""
_GROUPS = {
    State.PASSED: "no group of its quasi-identifiers is too small by the settings",
    State.FAILED: "groups of its quasi-identifiers are too small",
    State.NOT_APPLICABLE: "no column of it is named as a quasi-identifier",
}
_MAKE = "`deid run`, which makes the table again"


@dataclass(frozen=True, slots=True)
class LeavingTable:
    """A table that is out with the notes, of which everything was found to hold.

    Args:
        name: Of the table.
        receipt: Of its release.
        manifest: Signed.
        columns: Every column to its role and kind, also of those that do not leave.
        settings: With which it was released; ``None`` where they are others by now, or gone.
        is_current: Whether it rests on the present release of the notes.
        sources: Its manifest and its receipt.
    """

    name: str
    receipt: Receipt
    manifest: Mapping[str, Any]
    columns: Mapping[str, tuple[Role, str]]
    settings: TableSettings | None
    is_current: bool
    sources: tuple[CitedSource, ...] = field(repr=False)

    @property
    def groups(self) -> State:
        """Whether no group of patients is too small."""
        return state_of(self.receipt.verdicts["quasi_identifiers"])

    @property
    def groups_told(self) -> str:
        """The same in words, with the counts."""
        if self.groups is State.NOT_APPLICABLE:
            return _GROUPS[self.groups]
        counts = self.receipt.verdicts["quasi_identifiers"]["counts"]
        sizes = [f"patients_in_groups_of_{size}" for size in SIZES]
        told = ", ".join(
            f"{name.replace('_', ' ')}: {int(counts[name]):,}" for name in ("combinations", *sizes)
        )
        return (
            f"{_GROUPS[self.groups]} ({told}; the rarest has {self.smallest:,}, at least"
            f" {int(counts['minimum_smallest']):,} had to share it)"
        )

    @property
    def smallest(self) -> int:
        """Patients who share the rarest combination of quasi-identifiers."""
        return int(self.receipt.verdicts["quasi_identifiers"]["counts"]["smallest"])

    @property
    def is_safe(self) -> bool:
        """Whether the check passed, and no group is small for this document either."""
        return self.groups is State.PASSED and self.smallest >= SMALL_GROUP

    def list_columns(self, *roles: Role) -> list[str]:
        """Return the columns of some roles."""
        return [name for name, (role, _) in self.columns.items() if role in roles]


def leaving_tables(release: VerifiedRelease) -> list[LeavingTable]:
    """Return every table that is out, checked now: signatures, digests, and what it is made from.

    Raises:
        ProvenanceError: One of these does not hold.
    """
    installation = release.installation
    study = installation.study.name if installation.study else ""
    releases = table_releases_of(installation.settings, installation.files, study)
    found = []
    for name in list_released_tables(releases):
        manifest = releases.check_folder(name)
        receipt = _receipt_of(name, manifest, release)
        path = releases.root / name / MANIFEST
        source = release.book.other(
            "manifest",
            f"{name}/{MANIFEST}",
            sha256_of(path),
            made_at=str(manifest["created_at"]),
            version=str(manifest["software"]),
            checked="Signature holds, and the file of the table has the digest that it names.",
        )
        rows = installation.files.read(receipt.asset, ALL, "columns").to_pylist()
        found.append(
            LeavingTable(
                name,
                receipt,
                manifest,
                {row["column"]: (Role(row["role"]), row["kind"]) for row in rows},
                _settings_of(name, release),
                manifest[RESTS_ON].get(release.name) == release.entry.manifest,
                (source, release.book.receipt(receipt)),
            )
        )
    return found


def _receipt_of(name: str, manifest: Mapping[str, Any], release: VerifiedRelease) -> Receipt:
    """Return the receipt of a released table, held against its manifest and what it is made from.

    Raises:
        ProvenanceError: They differ, or something was altered.
    """
    files, asset = release.installation.files, release.installation.names.name_released_table(name)
    receipt = files.find(asset, ALL)
    named = manifest["receipts"].get(f"{asset}@{ALL}", {}).get("digest")
    if receipt is None or receipt.digest != named:
        raise ProvenanceError(f"table {name}: its release rests on another receipt; run {_MAKE}")
    files.check(receipt)
    for source, digest in receipt.inputs.items():
        found = files.find(*source.rsplit("@", 1))
        if found is None or found.digest != digest:
            raise ProvenanceError(f"table {name}: made from an earlier {source}; run {_MAKE}")
    return receipt


def _settings_of(name: str, release: VerifiedRelease) -> TableSettings | None:
    settings = release.installation.settings.tables.get(name)
    checked = release.installation.files.find(Family.TABLE.of(name), ALL)
    if settings is None or checked is None:
        return None
    return settings if checked.counts.get("settings") == settings.digest[:12] else None


def missing_of_tables(tables: Sequence[LeavingTable]) -> Iterator[MissingMeasure]:
    """Yield what was not measured of tables that leave."""
    for one in tables:
        if not one.is_current:
            reason = "it rests on other releases of the notes than the present one"
            yield MissingMeasure(f"table {one.name}", reason, _MAKE)
        if one.settings is None:
            reason = "its settings are others than those that it was released with"
            yield MissingMeasure(f"table {one.name}", reason, _MAKE)
        if one.groups is State.NOT_APPLICABLE:
            yield MissingMeasure(
                f"groups of patients in table {one.name}",
                _GROUPS[one.groups],
                f"`tables.{one.name}.quasi` in the settings, then `deid run`",
            )


def part_on_tables(release: VerifiedRelease, tables: Sequence[LeavingTable]) -> list[EvidencePart]:
    """Return what leaves of each table, and the tables of the settings of which nothing does."""
    parts = [_part_on_table(release, one) for one in tables]
    if waiting := _not_out(release, tables):
        told = (
            f"Of {list_words(waiting)}, which the settings name as"
            f" {'tables' if len(waiting) > 1 else 'a table'}, nothing is released."
        )
        parts.append(
            EvidencePart("Tables not released", (make_statement(told, release.settings_source),))
        )
    return parts


def _not_out(release: VerifiedRelease, tables: Sequence[LeavingTable]) -> list[str]:
    study, out = release.installation.study, {one.name for one in tables}
    return [
        name
        for name, one in release.installation.settings.tables.items()
        if name not in out and (study is None or one.studies is None or study.name in one.studies)
    ]


def _part_on_table(release: VerifiedRelease, table: LeavingTable) -> EvidencePart:
    installation, counts = release.installation, table.receipt.counts
    policy = installation.study.policy if installation.study else installation.snapshot.released
    counted = table.receipt.verdicts["joined"]["counts"]
    joined = {name: int(count) for name, count in counted.items()}
    mode = PolicyActions.of(policy, installation.key).mode
    statements = [
        make_statement(
            f"{many(int(counts['rows']), 'row')} and {many(int(counts['columns']), 'column')} of"
            f" the table {table.name} leave with the notes. Left out:"
            f" {many(joined['rows_left_out'], 'row')} of patients without a released note.",
            *table.sources,
        ),
        _joins(table, joined),
    ]
    if mode is DateMode.MOVE and table.list_columns(Role.DATE, Role.BIRTH, Role.BIRTH_YEAR):
        statements.append(
            make_statement(
                "Dates of a patient are moved by the days by which those in their notes are, so"
                " that days between them stay true. Whoever knows one true date of a patient knows"
                " all of them, in the notes too.",
                *table.sources,
                release.manifest_source,
            )
        )
    if emptied := int(counts["emptied"]):
        told = f"{many(emptied, 'date')} that would tell an age over 89 were emptied."
        statements.append(make_statement(told, *table.sources))
    return EvidencePart(
        f"Table {table.name}",
        tuple(statements),
        (_columns_table(table, policy, mode),),
    )


def _joins(table: LeavingTable, joined: Mapping[str, int]) -> Statement:
    kinds = sorted(
        {kind for role, kind in table.columns.values() if role is Role.ID and kind != NOTE_KIND}
    )
    told = "Its rows join the notes by the released id of the patient"
    if joined["notes_joined"]:
        told += f", and by that of the note in {many(joined['notes_joined'], 'cell')}"
    if joined["notes_not_released"]:
        told += f"; {many(joined['notes_not_released'], 'cell')} name a note that is not released"
    if kinds:
        told += f". Ids of the kind {list_words(kinds)} join other tables of the release"
    return make_statement(f"{told}.", *table.sources)


def _columns_table(table: LeavingTable, policy: Policy, mode: DateMode) -> EvidenceTable:
    found: dict[str, list[str]] = {}
    for name, (role, kind) in table.columns.items():
        found.setdefault(_becomes(role, kind, policy, mode), []).append(name)
    rows = [
        EvidenceRow((told, f"{len(names):,}", ", ".join(names)), table.sources)
        for told, names in found.items()
    ]
    return EvidenceTable(
        f"Columns of the table {table.name}, and what becomes of them.",
        ("What becomes of them", "Columns", "Names"),
        tuple(rows),
        frozenset({1}),
    )


def _becomes(role: Role, kind: str, policy: Policy, mode: DateMode) -> str:
    """Return what becomes of a column, in words."""
    if role is Role.ID:
        return f"id of the kind {kind}, under the key of the release"
    if role is Role.AGE:
        named, default = in_words(policy)
        return f"age: {named.get(Phi.AGE.value, default)}"
    if role in (Role.DATE, Role.BIRTH, Role.BIRTH_YEAR):
        return f"{role.value.replace('_', ' ')}: {mode.value}"
    return {
        Role.PATIENT: "id of the patient, as in the released notes",
        Role.KEEP: "kept as it is; no detector looks at it",
    }.get(role, "does not leave")


def risk_of_tables(tables: Sequence[LeavingTable]) -> list[EvidencePart]:
    """Return how many patients share what columns of tables tell, and what of them is unknown."""
    statements = [one for table in tables for one in _risks(table)]
    return [EvidencePart("Tables with the notes", tuple(statements))] if statements else []


def _risks(table: LeavingTable) -> Iterator[Statement]:
    quasi = table.settings.quasi if table.settings else ()
    counted = (
        f" Counted were combinations of {list_words(list(quasi))}; a patient counts in each that"
        " they have."
        if quasi
        else ""
    )
    yield make_statement(f"Table {table.name}: {table.groups_told}.{counted}", *table.sources)
    if table.groups is State.PASSED and not table.is_safe:
        yield make_statement(
            f"A group of fewer than {SMALL_GROUP} patients counts as small in this document.",
            *table.sources,
        )
    if others := [name for name in table.list_columns(Role.KEEP) if name not in quasi]:
        yield make_statement(
            f"Its {'column' if len(others) == 1 else 'columns'} {list_words(others)}"
            f" {'is' if len(others) == 1 else 'are'} kept and in no count of groups: how many"
            " patients share what stands there is not known.",
            *table.sources,
        )
    words = int(table.receipt.counts["words_of_names"])
    yield make_statement(
        "Kept cells were searched for the identifiers that were found in the notes of their"
        " patient, and none holds a whole one; what was not found in a note was not searched for;"
        f" {many(words, 'cell')} {'holds' if words == 1 else 'hold'} a word of a name.",
        *table.sources,
    )


def limits_of_tables(tables: Sequence[LeavingTable]) -> Iterator[Statement]:
    """Yield what no audit says of tables."""
    for table in tables:
        yield make_statement(
            f"The audits read notes alone. What the table {table.name} tells of a person together"
            " with the notes was attacked by none.",
            *table.sources,
        )
