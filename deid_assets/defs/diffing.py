"""release_diff: what a batch's release changed against the one it replaced."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import dagster as dg
import pyarrow as pa

from deid_assets.assets.declarations import AssetDeclaration, AssetOutput, Check
from deid_assets.assets.detection import read_notes_of, read_outcomes
from deid_assets.assets.display import Markdown, show_page
from deid_assets.assets.ingest import GOLD
from deid_assets.assets.merging import read_gold
from deid_assets.assets.parts import rebuild_redacted
from deid_assets.assets.release import release_chain
from deid_assets.core.assets import MAIN, Family, ReleaseAssets
from deid_assets.core.detector import Failed
from deid_assets.core.redact import Edit, Policy
from deid_assets.core.span import Span, SpanSet
from deid_assets.defs.audit import build_audited_asset
from deid_assets.defs.releasing import bind_release
from deid_assets.edits.diff import ReleaseDiff, compare
from deid_assets.edits.files import from_record, to_record
from deid_assets.edits.maps import EditMap, MadeBy, edit_map
from deid_assets.pipeline.resolving import MERGED_SPANS
from deid_assets.quality import Verdict
from deid_assets.reports.release_diff import FIRST, First, release_diff_html, release_diff_md
from deid_assets.runtime.installation import Installation
from deid_assets.runtime.snapshot import software_version
from deid_assets.store.denials import DENIED_VALUES, read_allowed
from deid_assets.store.files import Receipt
from deid_assets.system.atomic import atomic_file

CHECKS = (
    Check(
        "nothing_uncovered",
        "What was replaced in the release before is replaced in this one.",
        blocking=False,
    ),
)
RUNS = pa.schema(
    [
        pa.field("release", pa.string(), nullable=False),
        pa.field("is_current", pa.bool_(), nullable=False),
        pa.field("note_id", pa.string(), nullable=False),
        pa.field("edits", pa.large_string(), nullable=False),
    ]
)
"""Edit maps of the last two releases, as JSON without text.

``release`` is the digest of the release's receipt.
"""


REDACTION = "redaction"
"""Source of a replacement where no stored span is.

A value that people marked elsewhere, or that the second search found.
"""


def release_diff(
    policy: Policy, *, tags: Mapping[str, str], names: ReleaseAssets = MAIN, group: str = "release"
) -> dg.AssetsDefinition:
    """Return the asset that compares a batch's release with the one before.

    Args:
        policy: The one that is released.
        tags: Of the asset.
        names: Whose release it is.
        group: Group in the Dagster UI.
    """
    return build_audited_asset(
        bind_release(names, partial(make_release_diff, policy=policy)),
        AssetDeclaration(
            key=names.diff,
            checks=CHECKS,
            deps=[names.released],
            code_version=software_version(),
            group=group,
            description=(
                "What the release of a batch changed against the one it replaced, and what is"
                " responsible. Offsets and categories, no text."
            ),
            kinds={"report", "html", "parquet"},
            schema=RUNS,
            tags=tags,
        ),
    )


def make_release_diff(batch: str, installation: Installation, *, policy: Policy) -> AssetOutput:
    """Compare a batch's release with the one that this asset saw last, and keep both aside."""
    names = installation.names
    receipt = installation.files.receipt(names.released, batch)
    current = _present(batch, installation, policy, receipt)
    kept = _read_kept(batch, installation)
    # Made again for the same release, the one before it stays the one to compare with.
    before = {name: maps for name, maps in kept.items() if name != receipt.digest}
    name, earlier = next(iter(before.items()), ("", []))
    found = compare(earlier, current) if earlier else ReleaseDiff()
    document = found.to_json()
    uncovered = document["uncovered"]
    path = installation.settings.reports / f"release-diff-{names.of_batch(batch)}.html"
    page = release_diff_html(
        document,
        title=f"Batch {batch}{', study ' + names.study if names.study else ''}",
        old=f"release {name[:12]}" if name else "no release before",
        new=f"release {receipt.digest[:12]}",
        first=None if earlier else First(len(current), sum(len(one.edits) for one in current)),
    )
    return AssetOutput(
        tables={"runs": _table([(name, False, earlier), (receipt.digest, True, current)])},
        sources=[receipt],
        verdicts=[
            Verdict(
                "nothing_uncovered",
                passed=not uncovered["characters"],
                blocking=False,
                counts=uncovered,
                description="The page lists each place, with what is responsible.",
            ).unless(not earlier, "no release before this one")
        ],
        counts={
            "notes": len(current),
            "compared": found.same + found.changed,
            **document["replacements"],
        },
        metadata={
            "changes": Markdown(release_diff_md(document) if earlier else FIRST),
            **show_page(path),
        },
        publish=lambda _: _write(path, page),
    )


def _present(
    batch: str, installation: Installation, policy: Policy, receipt: Receipt
) -> list[EditMap]:
    """Return the edit maps of what is released now, without a digest that confirms a guess.

    The text of a note in which nothing was replaced is the original: the digest of the redacted
    text is keyed too.
    """
    redacted = installation.names.name_redacted(policy.name)
    notes = {note.note_id: note for note in read_notes_of(batch, installation)}
    outcomes, gold = (
        read_outcomes(MERGED_SPANS, batch, installation),
        read_gold(batch, installation),
    )
    chain = release_chain(receipt, installation)
    made_by = _read_maker(installation, policy, chain, software=_software(chain, redacted))
    stored = (installation.files.read(redacted, batch, table) for table in ("notes", "edits"))
    maps = (
        edit_map(
            notes[made.note_id],
            made,
            _add_later(_spans_of(outcomes[made.note_id], gold.get(made.note_id)), made.edits),
            key=installation.key,
            made_by=made_by,
        )
        for _, made in rebuild_redacted(*stored)
    )
    return [
        replace(
            each,
            new_digest=installation.key.derive(
                "release diff", "redacted text", each.new_digest
            ).hex(),
        )
        for each in maps
    ]


def _add_later(spans: Sequence[Span], edits: Sequence[Edit]) -> list[Span]:
    """Return the spans, and one for each edit without any, which redaction itself added."""
    bare = (
        edit
        for edit in edits
        if not any(span.start < edit.end and edit.start < span.end for span in spans)
    )
    return [*spans, *(Span(edit.start, edit.end, edit.label, source=REDACTION) for edit in bare)]


def _software(chain: Sequence[Receipt], redacted: str) -> str:
    """Return version and digest of the code that redacted, which stand first in the code version of
    its receipt.
    """
    (version,) = [link.code_version for link in chain if link.asset == redacted]
    return "deid-assets " + "+".join(version.split("+")[:2])


def _spans_of(*found: SpanSet | Failed | None) -> list[Span]:
    return [span for one in found if isinstance(one, SpanSet) for span in one]


def _read_maker(
    installation: Installation, policy: Policy, chain: Sequence[Receipt], *, software: str
) -> MadeBy:
    """Return what a release rests on, from its signed receipts."""
    detectors = {}
    for link in chain:
        if detector := Family.SPANS.name_in(link.asset):
            detectors[detector] = link.code_version
        elif link.asset == MERGED_SPANS:
            detectors["ensemble and overlaps"] = link.code_version
        elif link.asset == GOLD:
            detectors["gold"] = f"annotations {link.digest[:12]}"
        elif link.asset == DENIED_VALUES:
            detectors |= rules_in_words(link)
    return MadeBy.of(policy, installation.key, software=software, detectors=detectors)


def rules_in_words(record: Receipt) -> dict[str, str]:
    """Return which rules of people cover and leave something, from the record of a batch."""
    allowed = " ".join(sorted(read_allowed(record)))
    denied = int(record.counts["rules"])
    found = {}
    if denied:
        found["deny rules"] = f"{denied:,} {str(record.counts['digest'])[:12]}"
    if allowed:
        found["allow rules"] = allowed
    return found


def _read_kept(batch: str, installation: Installation) -> dict[str, list[EditMap]]:
    """Return the edit maps that were kept aside, by release, the last one first."""
    asset = installation.names.diff
    if installation.files.find(asset, batch) is None:
        return {}
    rows = installation.files.read(asset, batch, "runs").to_pylist()
    kept: dict[str, list[EditMap]] = {}
    for row in sorted(rows, key=lambda row: not row["is_current"]):
        record = json.loads(row["edits"])
        kept.setdefault(row["release"], []).append(
            from_record(record, where=f"{asset}, batch {batch}")
        )
    return kept


def _table(runs: Iterable[tuple[str, bool, Sequence[EditMap]]]) -> pa.Table:
    rows = []
    for release, is_current, maps in runs:
        for edits in maps:
            row = {
                "release": release,
                "is_current": is_current,
                "note_id": edits.note_id,
                "edits": json.dumps(to_record(edits), sort_keys=True),
            }
            rows.append(row)
    return pa.Table.from_pylist(rows, RUNS)


def _write(path: Path, page: str) -> None:
    with atomic_file(path) as file:
        file.write(page.encode())
