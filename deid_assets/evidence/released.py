"""Sections on what was released, the way of the notes, and what detected and redacted."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from deid_assets.assets.ingest import RAW_NOTES
from deid_assets.assets.release import recipients_of
from deid_assets.core.assets import Family, family_of
from deid_assets.core.errors import ProvenanceError
from deid_assets.core.phi import Phi
from deid_assets.core.redact import Policy
from deid_assets.evidence.document import (
    EvidencePart,
    EvidenceRow,
    EvidenceSection,
    EvidenceTable,
    FlowStage,
    Statement,
    make_statement,
)
from deid_assets.evidence.leaving_tables import LeavingTable, part_on_tables
from deid_assets.evidence.verifying import VerifiedRelease
from deid_assets.evidence.ways_back import VaultEvidence, part_on_ways_back
from deid_assets.evidence.wording import at, language, list_words, many
from deid_assets.intake.reader import languages_of_word
from deid_assets.pipeline.resolving import MERGED_SPANS
from deid_assets.policies.wording import in_words
from deid_assets.store.withdrawals import ARRIVAL
from deid_assets.training.card import CARD, Card, Learnt

_MODELS = {Family.TAGGER, Family.ADAPTER, Family.ONNX}
_SHOWN = 16


def policy_of(release: VerifiedRelease) -> Policy:
    """Return the policy under which a release was redacted.

    Raises:
        ProvenanceError: The settings name another by now.
    """
    study = release.installation.study
    policy = study.policy if study else release.installation.snapshot.released
    if policy.digest != release.manifest["policy"]["digest"]:
        raise ProvenanceError(
            f"batch {release.batch}: released under policy {release.policy} of another content than"
            " the settings have now; run `deid run`, which makes the release again"
        )
    return policy


def section_on_release(release: VerifiedRelease, tables: Sequence[LeavingTable]) -> EvidenceSection:
    """Return what was released, for whom, when, and under which policy."""
    names = release.installation.names
    manifest, released = release.manifest_source, release.source(names.released)
    notes = release.installation.files.read(names.released, release.batch, "notes")
    patients = pc.count_distinct(notes.column("patient_id")).as_py()
    when = at(str(release.manifest["created_at"]))
    return EvidenceSection(
        "release",
        (
            EvidencePart(
                "",
                (
                    make_statement(
                        f"Release {release.name} was made on {when}: {many(notes.num_rows, 'note')}"
                        f" of {many(patients, 'patient')}, redacted under the policy"
                        f" {release.policy}.",
                        manifest,
                        released,
                    ),
                    make_statement(
                        f"It is entry {release.entry.number:,} of the signed list of releases, and"
                        " the newest of its batch.",
                        release.list_source,
                    ),
                    _recipients(release),
                    make_statement(
                        "A released note has four fields: an id, an id of the patient, a language"
                        " and the redacted text. Ids follow from a secret key and are not those of"
                        " the source.",
                        released,
                    ),
                    _arrival(release),
                ),
            ),
            _policy_part(release),
            *part_on_tables(release, tables),
        ),
    )


def _recipients(release: VerifiedRelease) -> Statement:
    study = release.installation.study
    if study is None:
        return make_statement(
            "The manifest names no recipient: this is the installation's own release, and who gets"
            " it is for its owner to write.",
            release.manifest_source,
        )
    named = recipients_of(release.installation)
    whom = f"It goes to {list_words(list(named))}" if named else "No recipient is named"
    return make_statement(
        f"It is a release of the study {study.name}, under a key of the study's own. {whom}.",
        release.manifest_source,
    )


def _arrival(release: VerifiedRelease) -> Statement:
    arrival, notes = release.receipt(ARRIVAL).counts, release.receipt(RAW_NOTES).counts
    sender = str(notes["sender"]) or "a sender that is not recorded"
    return make_statement(
        f"Its notes arrived on {at(str(arrival['arrived_at']))} in"
        f" {many(int(arrival['files']), 'file')} from {sender}.",
        release.source(ARRIVAL),
        release.source(RAW_NOTES),
    )


def _policy_part(release: VerifiedRelease) -> EvidencePart:
    redacted = release.installation.names.name_redacted(release.policy)
    source, counts = release.source(redacted), release.receipt(redacted).counts
    edits = release.installation.files.read(redacted, release.batch, "edits")
    replaced = Counter(str(label) for label in edits.column("label").to_pylist())
    policy = policy_of(release)
    actions, default = in_words(policy)
    rows = [
        EvidenceRow(
            (label.value, actions.get(label.value, default), f"{replaced[label.value]:,}"),
            (source, release.manifest_source),
        )
        for label in Phi
        if replaced[label.value] or label in policy.keep
    ]
    statements = [
        make_statement(
            f"The policy {release.policy} (digest {str(release.manifest['policy']['digest'])[:12]})"
            f" replaced {many(edits.num_rows, 'span')}.",
            release.manifest_source,
            source,
        )
    ]
    if fallbacks := int(counts.get("fallbacks", 0)):
        statements.append(
            make_statement(
                f"In {fallbacks:,} of them the action of the policy could not be carried out, such"
                " as for a date that no rule reads; a category tag stands there instead.",
                source,
            )
        )
    table = EvidenceTable(
        "What the policy does with each category that was found or is kept on purpose.",
        ("Category", "Action", "Replaced"),
        tuple(sorted(rows, key=lambda row: -int(row.cells[2].replace(",", "")))),
        frozenset({2}),
    )
    return EvidencePart("Policy", tuple(statements), (table,))


_TEXT, _NO_TEXT, _OUT = "restricted: text", "internal: no text", "released: redacted text"


def flow_of(release: VerifiedRelease) -> list[FlowStage]:
    """Return the stages of the way of the notes, with the counts of their receipts."""
    return [
        *_describe_received(release),
        *_describe_merged(release),
        *_describe_chosen(release),
        _describe_redacted(release),
        *_describe_released(release),
    ]


def _describe_received(release: VerifiedRelease) -> Iterator[FlowStage]:
    arrival, raw = release.receipt(ARRIVAL).counts, release.receipt(RAW_NOTES).counts
    languages = ", ".join(
        f"{language(code)} {count:,}"
        for code, count in languages_of_word(str(raw["languages"])).items()
    )
    yield FlowStage(
        "Arrived",
        many(int(arrival["files"]), "file"),
        at(str(arrival["arrived_at"])),
        _TEXT,
        (release.source(ARRIVAL),),
    )
    yield FlowStage(
        "Read",
        many(int(raw["notes"]), "note"),
        f"{many(int(raw['patients']), 'patient')}; {languages}",
        _TEXT,
        (release.source(RAW_NOTES),),
        int(raw["withheld"]),
    )


def _describe_merged(release: VerifiedRelease) -> Iterator[FlowStage]:
    found = {
        name: release.receipt(Family.SPANS.of(name)).counts for name in release.manifest["ensemble"]
    }
    merged = release.receipt(MERGED_SPANS).counts
    yield FlowStage(
        "Detected",
        many(sum(int(counts["spans"]) for counts in found.values()), "span"),
        ", ".join(f"{name} {int(counts['spans']):,}" for name, counts in found.items()),
        _NO_TEXT,
        tuple(release.source(Family.SPANS.of(name)) for name in found),
    )
    yield FlowStage(
        "Merged",
        many(int(merged["spans"]), "span"),
        f"{int(merged['spread']):,} spread to a patient's other notes, {int(merged['denied']):,} by"
        " deny rules",
        _NO_TEXT,
        (release.source(MERGED_SPANS),),
    )


def _describe_chosen(release: VerifiedRelease) -> list[FlowStage]:
    """Return what a study takes."""
    study = release.installation.study
    if study is None:
        return []
    asset = release.installation.names.name_redacted(release.policy)
    counts = release.receipt(asset).verdicts["in_study"]["counts"]
    return [
        FlowStage(
            f"Chosen for study {study.name}",
            many(int(counts["taken"]), "note"),
            f"{int(counts['left_out']):,} of the batch are not in the study",
            _NO_TEXT,
            (release.source(asset),),
        )
    ]


def _describe_redacted(release: VerifiedRelease) -> FlowStage:
    asset = release.installation.names.name_redacted(release.policy)
    counts = release.receipt(asset).counts
    return FlowStage(
        "Redacted and searched again",
        many(int(counts["notes"]), "note"),
        f"{many(int(counts['edits']), 'span')} replaced",
        _TEXT,
        (release.source(asset),),
        int(counts["withheld"]),
    )


def _describe_released(release: VerifiedRelease) -> Iterator[FlowStage]:
    names = release.installation.names
    report = release.receipt(names.report).counts
    yield FlowStage(
        "Judged",
        f"{int(report['checks_passed']):,} checks passed",
        f"{int(report['checks_failed']):,} failed, {int(report['checks_not_applicable']):,} had"
        " nothing to judge",
        _NO_TEXT,
        (release.source(names.report),),
    )
    if approval := release.find(names.approval):
        yield FlowStage(
            "Approval",
            f"by {approval.counts['by']}",
            at(approval.created_at),
            _NO_TEXT,
            (release.source(names.approval),),
        )
    yield FlowStage(
        "Released",
        many(int(release.receipt(names.released).counts["notes"]), "note"),
        at(str(release.manifest["created_at"])),
        _OUT,
        (release.manifest_source,),
    )


def section_on_flow(
    release: VerifiedRelease, flow: list[FlowStage], vault: VaultEvidence | None
) -> EvidenceSection:
    """Return the way of the notes as sentences and tables, and the ways back; the drawing shows the
    same counts.
    """
    names = release.installation.names
    quarantine = release.source(names.quarantine)
    held = release.installation.files.read(names.quarantine, release.batch, "failed")
    counts = release.receipt(names.quarantine).counts
    received, withheld = int(counts["received"]), int(counts["quarantined"])
    rows = [
        EvidenceRow(
            (stage.title, stage.figure, stage.detail, stage.zone, f"{stage.withheld:,}"),
            stage.sources,
        )
        for stage in flow
    ]
    table = EvidenceTable(
        "Stages from arrival to release, as their receipts count.",
        ("Stage", "Comes out", "Details", "Kept as", "Withheld here"),
        tuple(rows),
        frozenset({4}),
    )
    statements = (
        make_statement(
            f"Of {many(received, 'note')} that the release had to account for,"
            f" {received - withheld:,} were released and {withheld:,} withheld; none is"
            " unaccounted for.",
            quarantine,
            release.source(names.released),
        ),
        make_statement(
            "Originals stay in the restricted zone of the installation; the release holds redacted"
            " text, and every other stage holds places and counts.",
            release.source(RAW_NOTES),
            release.manifest_source,
        ),
    )
    return EvidenceSection(
        "flow",
        (
            EvidencePart("", statements, (table,)),
            *_tabulate_withheld(held, release),
            part_on_ways_back(release, policy_of(release), vault),
        ),
    )


def _tabulate_withheld(held: pa.Table, release: VerifiedRelease) -> list[EvidencePart]:
    source = release.source(release.installation.names.quarantine)
    reasons = Counter((str(row["stage"]), str(row["error"])) for row in held.to_pylist())
    if not reasons:
        return []
    rows = [
        EvidenceRow((stage, reason, f"{count:,}"), (source,))
        for (stage, reason), count in sorted(reasons.items())
    ]
    table = EvidenceTable(
        "Notes that were withheld, and why.",
        ("Stage", "Reason", "Notes"),
        tuple(rows),
        frozenset({2}),
    )
    return [EvidencePart("Withheld notes", (), (table,))]


def section_on_means(release: VerifiedRelease) -> EvidenceSection:
    """Return the detectors with versions and digests, and the models with their cards."""
    ensemble, manifest = release.manifest["ensemble"], release.manifest_source
    settings = release.installation.settings
    rows = [
        EvidenceRow(
            (
                name,
                str(about["version"]),
                str(about["digest"])[:_SHOWN],
                release.receipt(Family.SPANS.of(name)).code_version,
            ),
            (manifest, release.source(Family.SPANS.of(name))),
        )
        for name, about in ensemble.items()
    ]
    table = EvidenceTable(
        "Detectors of the ensemble. The last column changes with the code, the software, the"
        " options and the files that they name.",
        ("Detector", "Version", "Digest of its code", "Version of code and configuration"),
        tuple(rows),
    )
    statements = (
        make_statement(
            f"{many(len(ensemble), 'detector')} looked for identifiers:"
            f" {list_words(list(ensemble))}.",
            manifest,
        ),
        make_statement(
            f"Where several mark the same place, the overlap policy {settings.resolve} decides; a"
            " value that was found once is covered in all notes of its patient.",
            release.settings_source,
            release.source(MERGED_SPANS),
        ),
        make_statement(
            f"Scores and minimums count the categories of the profile {settings.profile}.",
            release.settings_source,
        ),
        make_statement(f"The release was made by {release.manifest['software']}.", manifest),
    )
    return EvidenceSection("means", (EvidencePart("", statements, (table,)), _models(release)))


def _models(release: VerifiedRelease) -> EvidencePart:
    trained = [link for link in release.chain.values() if family_of(link.asset) in _MODELS]
    if not trained:
        text = "No model that this installation trained is behind the release."
        return EvidencePart("Trained models", (make_statement(text, release.source(MERGED_SPANS)),))
    statements, rows = [], []
    for link in trained:
        card = _card(release, link.asset, link.batch)
        source = release.book.receipt(link)
        if card is None:
            text = f"{link.asset} has no training card of its own; it was made of another model."
            statements.append(make_statement(text, source))
            continue
        learnt = "; ".join(map(_corpus, card.corpora))
        rows.append(
            EvidenceRow(
                (
                    str(card.recipe.get("name", link.asset)),
                    card.plugin,
                    learnt,
                    f"{card.dev_f1:.3f}",
                    _show_test_score(card),
                    card.fingerprint[:_SHOWN],
                ),
                (source,),
            )
        )
    table = EvidenceTable(
        "Models with what their training cards say.",
        ("Recipe", "Trainer", "Trained on", "F1, development", "F1, test", "Fingerprint"),
        tuple(rows),
        frozenset({3, 4}),
    )
    names = [link.asset for link in trained]
    text = f"The detectors use {many(len(names), 'trained model')}: {list_words(names)}."
    sources = [release.book.receipt(link) for link in trained]
    return EvidencePart(
        "Trained models", (make_statement(text, *sources), *statements), (table,) if rows else ()
    )


def _corpus(learnt: Learnt) -> str:
    """Return a corpus in words; of a file, which may be named after anything, its digest."""
    is_path = "/" in learnt.name or "\\" in learnt.name
    name = f"file {learnt.digest[:_SHOWN]}" if is_path else learnt.name
    return f"{name} ({learnt.role}, {many(learnt.notes, 'note')})"


def _show_test_score(card: Card) -> str:
    if card.test is None:
        return "not tested"
    return f"{float(card.test['labels']['ALL']['f1'] or 0.0):.3f}"


def _card(release: VerifiedRelease, asset: str, batch: str) -> Card | None:
    files = release.installation.files.read(asset, batch, "files")
    found = files.filter(pc.equal(files.column("path"), CARD)).column("content").to_pylist()
    return Card.model_validate(json.loads(found[0])) if found else None
