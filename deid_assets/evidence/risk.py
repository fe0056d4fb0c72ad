"""Section on what is left, and how likely it identifies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from deid_assets.assets.canaries import CANARIES
from deid_assets.evaluation.counts import Counts
from deid_assets.evaluation.numbers import estimate
from deid_assets.evidence.attacks import part_on_audit
from deid_assets.evidence.audits import AuditRecord
from deid_assets.evidence.document import (
    CitedSource,
    EvidencePart,
    EvidenceRow,
    EvidenceSection,
    EvidenceTable,
    Statement,
    make_statement,
)
from deid_assets.evidence.leaving_models import OF_MODELS
from deid_assets.evidence.leaving_tables import SMALL_GROUP, LeavingTable, risk_of_tables
from deid_assets.evidence.rates import (
    ExpectedNumber,
    estimate_missed,
    estimate_notes,
    estimate_per_thousand,
)
from deid_assets.evidence.recall import DIRECT, DetectionRecall
from deid_assets.evidence.verifying import VerifiedRelease
from deid_assets.evidence.wording import language, list_words, many, precision, recall, share
from deid_assets.pipeline.resolving import MERGED_SPANS
from deid_assets.store.denials import DENIED_VALUES

_KINDS = {
    "direct": "Identify by themselves",
    "indirect": "Identify together with others",
}


def section_on_risk(
    release: VerifiedRelease,
    known: DetectionRecall,
    audits: Sequence[AuditRecord],
    tables: Sequence[LeavingTable],
) -> EvidenceSection:
    """Return what is probably left, and how likely it identifies somebody."""
    by_name = {audit.name: audit for audit in audits}
    return EvidenceSection(
        "risk",
        (
            EvidencePart("Looked for again", tuple(_describe_search(release))),
            _describe_left(release, known),
            _identifying(release, known),
            *(
                part_on_audit(by_name[name], release)
                for name in by_name
                if name not in OF_MODELS and by_name[name].receipt is not None
            ),
            _small_groups(release),
            _canaries(release),
            EvidencePart(
                "Rules on values", (_describe_denied(release), _describe_allowed(release))
            ),
            *risk_of_tables(tables),
        ),
    )


def _describe_search(release: VerifiedRelease) -> Iterator[Statement]:
    asset = release.installation.names.name_redacted(release.policy)
    source, verdicts = release.source(asset), release.receipt(asset).verdicts
    yield make_statement(search_told(verdicts["no_residual_hits"]["counts"]), source)
    if left := _count_left_by_rules(release):
        yield make_statement(
            "They find what allow rules leave there, which counts as no find:"
            f" {many(left, 'place')} of the batch, see the rules on values.",
            source,
            release.source(MERGED_SPANS),
        )
    bound = verdicts["no_residual_hits"]["counts"].get("upper_bound")
    if bound is not None and not _is_searched_whole(verdicts["no_residual_hits"]["counts"]):
        yield make_statement(
            f"Of the notes that were not searched, at most {bound:.2%} hold something that the"
            " detectors would find, with 95 % confidence.",
            source,
        )
    yield make_statement(words_left(verdicts["survivors"]["counts"]), source)


def words_left(counts: Mapping[str, int | float]) -> str:
    """Return what of the patients' known values is left, with the counts of ``survivors``."""
    told = (
        f"{many(int(counts['values']), 'value')} that people or detectors marked of the patients"
        " were sought in all notes of theirs that are released; none is left whole."
    )
    parts, lower = int(counts.get("name_parts", 0)), int(counts.get("lower_case", 0))
    if not parts and not lower:
        return told
    return (
        f"{told} Left are {many(parts, 'word')} of longer names on their own, and"
        f" {many(lower, 'value')} of one word in lower case; many of both are ordinary words."
    )


def search_told(counts: Mapping[str, int | float]) -> str:
    """Return what was searched again and found, with the counts of ``no_residual_hits``."""
    hits, notes = int(counts["notes_with_hits"]), many(int(counts["notes"]), "note")
    if "notes_searched" not in counts:
        return (
            "The detectors ran again on redacted text of the installation's own release, on as many"
            " notes as its receipt says; what they found there is replaced in this one too, in"
            f" {hits:,} of {notes}."
        )
    more = f"in {hits:,} they found more, which was replaced too, or the note withheld"
    if _is_searched_whole(counts):
        return (
            f"The detectors ran again on the redacted text of all notes; {more}. In the {notes}"
            " that were let through they find nothing that is to be replaced."
        )
    searched = many(int(counts["notes_searched"]), "note")
    return (
        f"The detectors ran again on the redacted text of {searched}, drawn by key; {more}. In"
        f" these they find nothing more that is to be replaced. Of the {notes} that were let"
        " through, the others were not searched."
    )


def _is_searched_whole(counts: Mapping[str, int | float]) -> bool:
    """Whether every note was searched, at once or because of what a draw had."""
    if "notes_searched" not in counts:
        return False
    if "notes_drawn" in counts:
        return counts["notes_searched"] > counts["notes_drawn"]
    return counts["notes_searched"] - counts["notes_withheld"] >= counts["notes"]


def _describe_left(release: VerifiedRelease, known: DetectionRecall) -> EvidencePart:
    """Return the expected number of missed identifiers, with the formula."""
    merged, redacted = (
        release.source(MERGED_SPANS),
        release.source(release.installation.names.name_redacted(release.policy)),
    )
    counts = known.covered
    title = "Identifiers that are probably left"
    found = estimate_left(known, known.replaced, counts)
    if found is None:
        return EvidencePart(
            title,
            (make_statement(why_no_number(known), merged, redacted), *_notes_left(known, merged)),
        )
    statements = [
        make_statement(
            f"In {many(known.unannotated, 'released note')} that nobody annotated,"
            f" {many(known.replaced, 'span')} were replaced, and {found} identifiers are expected"
            " to be left.",
            redacted,
            merged,
        ),
        make_statement(
            "The number is replaced * precision * (1 - recall) / recall ="
            f" {known.replaced:,} * {precision_of(known):.4f} * (1 - {counts.recall:.4f}) /"
            f" {counts.recall:.4f}. Its ends take the better and the worse ends of both intervals."
            " It holds if the other notes are like the annotated ones.",
            redacted,
            merged,
        ),
        *_notes_left(known, merged),
    ]
    return EvidencePart(title, tuple(statements), (_kinds_table(known, (merged, redacted)),))


def estimate_left(known: DetectionRecall, replaced: int, counts: Counts) -> ExpectedNumber | None:
    """Return how many identifiers are probably left in notes that nobody annotated; ``None`` too
    where nothing was replaced in them, since 0 would follow whatever was missed.
    """
    if known.unannotated and not replaced:
        return None
    return estimate_missed(replaced, counts)


def why_no_number(known: DetectionRecall) -> str:
    """Return why no number of missed identifiers can be given."""
    if not known.covered.gold:
        reason = "Nothing was annotated"
    elif not known.covered.tp:
        reason = f"Of {many(known.covered.gold, 'annotated identifier')} none was found"
    else:
        reason = f"In {many(known.unannotated, 'note')} that nobody annotated nothing was replaced"
    return f"{reason}, so that no number of missed identifiers follows from what was replaced."


def _kinds_table(known: DetectionRecall, sources: tuple[CitedSource, ...]) -> EvidenceTable:
    """Return what is expected to be left, by how it identifies."""
    rows = [
        EvidenceRow(
            (
                _KINDS[kind.name],
                recall(kind.counts),
                precision(kind.counts),
                f"{kind.replaced:,}",
                str(estimate_left(known, kind.replaced, kind.counts) or "not known"),
            ),
            sources,
        )
        for kind in known.kinds
    ]
    direct = sorted(label.value for label in DIRECT)
    return EvidenceTable(
        f"Expected identifiers left, by how they identify. By themselves: {', '.join(direct)}.",
        ("Kind", "Recall", "Precision", "Replaced", "Expected to be left"),
        tuple(rows),
        frozenset({1, 2, 3, 4}),
    )


def precision_of(known: DetectionRecall) -> float:
    """Return the share of predictions that met an annotated span."""
    return known.covered.precision or 0.0


def _notes_left(known: DetectionRecall, source: CitedSource) -> Iterator[Statement]:
    if known.evaluation is None:
        return
    notes = known.evaluation.notes
    number = estimate_notes(known.unannotated, notes.covered, notes.with_phi)
    if number is not None and known.unannotated:
        yield make_statement(
            f"They are expected in {number} of the {known.unannotated:,} notes, as"
            f" {share(estimate(notes.covered, notes.with_phi))} of the annotated notes were covered"
            " whole.",
            source,
        )
    thousand = estimate_per_thousand(notes.notes, known.covered)
    if thousand is not None:
        yield make_statement(
            f"For any thousand notes like the annotated ones, {thousand} are expected.", source
        )


def _identifying(release: VerifiedRelease, known: DetectionRecall) -> EvidencePart:
    """Return how likely what is left identifies, the worst case assumed."""
    merged, redacted = (
        release.source(MERGED_SPANS),
        release.source(release.installation.names.name_redacted(release.policy)),
    )
    direct, indirect = (estimate_left(known, kind.replaced, kind.counts) for kind in known.kinds)
    statements = [
        make_statement(
            "A name, a number or an address that is left is taken to identify its person, and each"
            f" is counted as one person who can be found: {direct or 'a number not known'}. That is"
            " the worst case: some such remnants are parts of names, or stand in a note of a"
            " patient of whom another is counted already.",
            merged,
            redacted,
        ),
        make_statement(
            f"Of dates, ages, places and the like, {indirect or 'a number not known'} are expected"
            " to be left. One alone rarely identifies anybody; what they do together, and with what"
            " the policy keeps on purpose, is what the audit of re-identification measures.",
            merged,
            redacted,
        ),
    ]
    return EvidencePart("How likely it identifies", tuple(statements))


def _small_groups(release: VerifiedRelease) -> EvidencePart:
    """Return how many patients share what the released fields tell beside the text."""
    names = release.installation.names
    source = release.source(names.released)
    notes = release.installation.files.read(names.released, release.batch, "notes")
    rows = [row for row in notes.select(["patient_id", "lang"]).to_pylist() if row["patient_id"]]
    counted = Counter(row["patient_id"] for row in rows)
    spoken: dict[str, set[str]] = {}
    for row in rows:
        spoken.setdefault(row["patient_id"], set()).add(row["lang"] or "unknown")
    groups = Counter((*sorted(spoken[one]), counted[one]) for one in counted)
    languages = Counter(lang for spoken_by in spoken.values() for lang in spoken_by)
    alone = sum(size == 1 for size in groups.values())
    small = sorted(language(lang) for lang, size in languages.items() if size < SMALL_GROUP)
    without = notes.num_rows - len(rows)
    statements = [
        make_statement(
            f"Beside the text, released notes tell the language and how many notes a patient has."
            f" Of {many(len(counted), 'patient')}, {alone:,} share these two with nobody else in"
            " the release.",
            source,
        ),
        make_statement(
            f"Fewer than {SMALL_GROUP} patients have notes in {list_words(small)}."
            if small
            else f"Every language has notes of {SMALL_GROUP} patients or more.",
            source,
        ),
    ]
    if without:
        statements.append(
            make_statement(
                f"{many(without, 'note')} name no patient, so that what is known of one of their"
                " notes is not sought in the others.",
                source,
            )
        )
    return EvidencePart("Small groups", tuple(statements))


def _canaries(release: VerifiedRelease) -> EvidencePart:
    source = release.source(MERGED_SPANS)
    rows = (
        release.installation.files.read(MERGED_SPANS, release.batch, CANARIES).to_pylist()
        if CANARIES in release.receipt(MERGED_SPANS).outputs
        else []
    )
    whole = next((row for row in rows if (row["lang"], row["label"]) == ("ALL", "ALL")), None)
    title = "Canary patients"
    if whole is None:
        told = "No canary patients were read with this batch: gates.canaries is 0."
        return EvidencePart(title, (make_statement(told, release.settings_source, source),))
    told = (
        f"Of {int(whole['spans']):,} identifiers of invented patients whose notes were read with"
        f" the batch, {int(whole['covered']):,} were found:"
        f" {share(estimate(int(whole['covered']), int(whole['spans'])))}. This shows that"
        " detection ran as it does on notes that a program wrote, and nothing of what is missed in"
        " others."
    )
    return EvidencePart(title, (make_statement(told, source),))


def _describe_denied(release: VerifiedRelease) -> Statement:
    record = release.chain.get(f"{DENIED_VALUES}@{release.batch}")
    counts = release.receipt(MERGED_SPANS).counts
    verdict = release.receipt(MERGED_SPANS).verdicts["deny_rules_hold"]
    rules = int(verdict["counts"]["rules"])
    sources = [release.source(MERGED_SPANS)]
    if record is not None:
        sources.append(release.book.receipt(record))
    if not rules:
        return make_statement(
            "No deny rule was in force: no value that leaked before is recorded.", *sources
        )
    return make_statement(
        f"Deny rules of {many(rules, 'value')} that leaked before were in force; they covered"
        f" {many(int(counts['denied']), 'place')} of the batch, and the release holds none of these"
        " values.",
        *sources,
    )


def _count_left_by_rules(release: VerifiedRelease) -> int:
    """Return in how many places of the batch allow rules leave a value."""
    return int(release.receipt(MERGED_SPANS).counts.get("allowed", 0))


def _describe_allowed(release: VerifiedRelease) -> Statement:
    """Return where values are left because people found them to be no identifiers elsewhere."""
    left, source = _count_left_by_rules(release), release.source(MERGED_SPANS)
    if not left:
        told = "No value is left because reviewers found it to be no identifier elsewhere."
        return make_statement(told, source)
    record = release.chain.get(f"{DENIED_VALUES}@{release.batch}")
    return make_statement(
        "Values that reviewers found to be no identifier in a note are left wherever no other"
        f" detector marks them, in {many(left, 'place')} of the batch; nobody looked at each.",
        source,
        *([release.book.receipt(record)] if record is not None else []),
    )
