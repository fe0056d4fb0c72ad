"""Section on what detection finds: recall and precision with intervals, and on what."""

from __future__ import annotations

from collections.abc import Sequence

from deid_assets.assets.ingest import GOLD, RAW_NOTES
from deid_assets.assets.measuring import measure
from deid_assets.evaluation.numbers import estimate
from deid_assets.evidence.document import (
    CitedSource,
    EvidencePart,
    EvidenceRow,
    EvidenceSection,
    EvidenceTable,
    Statement,
    make_statement,
)
from deid_assets.evidence.recall import AnnotatedGroup, DetectionRecall
from deid_assets.evidence.verifying import VerifiedRelease
from deid_assets.evidence.wording import language, many, precision, recall, share
from deid_assets.pipeline.resolving import MERGED_SPANS

LEAST_SPANS = 20
"""Annotated spans that a category or language must have to be named as the worst."""


def section_on_recall(release: VerifiedRelease, known: DetectionRecall) -> EvidenceSection:
    """Return recall and precision, by category and language, the worst group named."""
    merged = release.source(MERGED_SPANS)
    about = EvidencePart("Measured on", tuple(_about(release, known)))
    if not known.covered.gold:
        return EvidenceSection("recall", (about,))
    parts = (
        about,
        EvidencePart("Found and missed", tuple(_overall(release, known))),
        _groups_part(
            "By category",
            ("Category", known.categories),
            merged,
            f"of at least {LEAST_SPANS} annotated identifiers, the category found worst",
        ),
        _groups_part(
            "By language",
            (
                "Language",
                [AnnotatedGroup(language(one.name), one.counts) for one in known.languages],
            ),
            merged,
            f"of at least {LEAST_SPANS} annotated identifiers, the language found worst",
        ),
        _gates(release),
    )
    return EvidenceSection("recall", parts)


def _about(release: VerifiedRelease, known: DetectionRecall) -> list[Statement]:
    gold, raw = release.source(GOLD), release.source(RAW_NOTES)
    notes = int(release.receipt(RAW_NOTES).counts["notes"])
    sender = str(release.receipt(RAW_NOTES).counts["sender"])
    statements = [
        make_statement(
            f"People annotated {known.annotated:,} of the {notes:,} notes of the batch;"
            f" {known.scored:,} of these, from which no tagger of the installation learns, were"
            " used to measure. Whether a detector from elsewhere learnt from them is not known.",
            gold,
            raw,
            release.source(MERGED_SPANS),
        ),
        make_statement(
            "The annotations came with the notes"
            + (f" from {sender}" if sender else "")
            + "; the receipts do not say who annotated, nor how the notes were chosen. Both belong"
            " into what you write beside this document.",
            gold,
            raw,
        ),
    ]
    if release.installation.study is not None:
        statements.append(
            make_statement(
                "The figures are of the whole batch from which the study takes its notes.",
                release.source(MERGED_SPANS),
            )
        )
    return statements


def _overall(release: VerifiedRelease, known: DetectionRecall) -> list[Statement]:
    merged = release.source(MERGED_SPANS)
    counts, evaluation = known.covered, known.evaluation
    statements = [
        make_statement(
            f"Detection covered {counts.tp:,} of {counts.gold:,} annotated identifiers:"
            f" {recall(counts)}. It missed {counts.fn:,}, or left part of them.",
            merged,
        )
    ]
    if evaluation is not None:
        notes = evaluation.notes
        statements.append(
            make_statement(
                f"Of {many(notes.with_phi, 'note')} with identifiers, {notes.covered:,} were"
                f" covered whole: {share(estimate(notes.covered, notes.with_phi))}.",
                merged,
            )
        )
    marked = counts.tp + counts.fp
    statements += [
        make_statement(
            f"Of {marked:,} spans that count, {counts.tp:,} met an annotated identifier:"
            f" {precision(counts)}. The others were replaced without need.",
            merged,
        ),
        make_statement(_became(release), release.settings_source, release.source(GOLD)),
    ]
    return statements


def _became(release: VerifiedRelease) -> str:
    if release.installation.settings.redact_gold:
        return (
            "What people annotated and detection missed is replaced in the release all the same, so"
            " that the misses matter for notes that nobody annotated."
        )
    return (
        "A note in which people annotated what detection missed is withheld, so that the misses"
        " matter for notes that nobody annotated."
    )


def _groups_part(
    title: str,
    groups: tuple[str, Sequence[AnnotatedGroup]],
    source: CitedSource,
    told: str,
) -> EvidencePart:
    """Return a table of groups, the worst covered first, and which is the worst.

    Args:
        title: Of the part.
        groups: What a group is, and the groups.
        source: Of the counts.
        told: How the worst group is introduced.
    """
    heading, found = groups
    rows = [
        EvidenceRow(
            (
                group.name,
                f"{group.counts.gold:,}",
                f"{group.counts.fn:,}",
                recall(group.counts),
                precision(group.counts),
            ),
            (source,),
        )
        for group in found
    ]
    enough = [group for group in found if group.counts.gold >= LEAST_SPANS]
    statements = [_worst(enough[0], told, source)] if enough else []
    if few := len(found) - len(enough):
        statements.append(
            make_statement(
                f"Of {many(len(found), 'row')} below, {few:,} {'has' if few == 1 else 'have'} fewer"
                f" than {LEAST_SPANS} annotated identifiers: too few to say how well they are"
                " found.",
                source,
            )
        )
    table = EvidenceTable(
        f"{title}, the worst found first; shares with 95 % intervals.",
        (heading, "Annotated", "Missed", "Found (recall)", "Right (precision)"),
        tuple(rows),
        frozenset({1, 2, 3, 4}),
    )
    return EvidencePart(title, tuple(statements), (table,))


def _worst(group: AnnotatedGroup, told: str, source: CitedSource) -> Statement:
    return make_statement(
        f"{told[0].upper()}{told[1:]} is {group.name}: {group.counts.tp:,} of"
        f" {group.counts.gold:,} were found, {recall(group.counts)}.",
        source,
    )


def _gates(release: VerifiedRelease) -> EvidencePart:
    """Return the minimums that the settings ask for, each with what was measured."""
    merged, released = (
        release.source(MERGED_SPANS),
        release.source(release.installation.names.released),
    )
    verdicts = release.receipt(MERGED_SPANS).verdicts
    rows = []
    for name, words in _MINIMUMS.items():
        counts = verdicts[name]["counts"] if name in verdicts else {}
        for label in sorted(key.removeprefix("minimum_") for key in counts if "minimum" in key):
            lower = counts.get(f"lower_{label}", counts.get(f"recall_{label}", counts.get("lower")))
            least = counts.get(f"minimum_{label}", counts.get("minimum"))
            of = "all" if label in {"ALL", "minimum"} else label
            if lower is not None and least is not None:
                rows.append(EvidenceRow((words, of, f"{lower:.4f}", f"{least:.4f}"), (merged,)))
    found = measure(release.batch, release.installation)
    told = (
        f"The settings ask for at least {found.wanted.spans:,} annotated identifiers before a batch"
        f" counts as measured; there are {found.covered.gold:,}."
    )
    table = EvidenceTable(
        "Minimums of the settings that had to be met before the batch was stored.",
        ("Minimum", "Of", "Measured", "Asked for"),
        tuple(rows),
        frozenset({2, 3}),
    )
    return EvidencePart(
        "Minimums", (make_statement(told, released, merged),), (table,) if rows else ()
    )


_MINIMUMS = {
    "recall_floor": "share of annotated characters covered",
    "recall_lower_bound": "lower end of recall",
    "notes_covered_lower_bound": "lower end of the share of notes covered whole",
    "worst_group": "lower end of recall in the worst group",
    "canary_recall": "lower end of recall on canary patients",
}
