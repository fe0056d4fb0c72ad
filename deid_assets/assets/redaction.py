"""redacted_notes_<policy> and quarantine: the text that may leave, and the notes that may not.

The same of a study: what it takes of a batch, under its own policy and key. No detector runs for
it where the installation's own release was searched at least as widely; what that search found is
covered in the study too, and a note that the installation withholds is in no study.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from deid_assets.assets.declarations import AssetOutput, Check
from deid_assets.assets.display import show_counts, show_labels
from deid_assets.assets.ingest import GOLD, RAW_NOTES
from deid_assets.assets.parts import (
    ALLOWED,
    EDITS,
    NOTES,
    NoteTables,
    RedactedTables,
    of_whole_patients,
)
from deid_assets.assets.release import take_back_left_out
from deid_assets.assets.searched import SearchAnswers
from deid_assets.assets.studies import IN_STUDY, ReceivedNotes, judge_study, read_received
from deid_assets.assets.workers import Workers, of_notes
from deid_assets.config import Settings
from deid_assets.core.assets import MAIN, QUARANTINE
from deid_assets.core.phi import Phi
from deid_assets.core.redact import Policy
from deid_assets.core.span import Span
from deid_assets.pipeline.batch import SearchResult
from deid_assets.pipeline.resolving import MERGED_SPANS
from deid_assets.pipeline.searching import Search
from deid_assets.policies.needs import require_packs
from deid_assets.quality import Verdict, check_share
from deid_assets.quality.text_checks import (
    NO_RESIDUAL_HITS,
    complete,
    judge_changed,
    search_verdict,
    survival_verdict,
)
from deid_assets.runtime.installation import Installation
from deid_assets.store.frames import failed_from_table, failed_to_table, spans_by_note

__all__ = [
    "CHECKS",
    "EDITS",
    "NOTES",
    "QUARANTINE",
    "QUARANTINE_CHECKS",
    "STUDY_CHECKS",
    "make_quarantine",
    "make_redacted_notes",
    "sources_of",
]

CHECKS = (
    Check("complete", "Every note that came in came out or is listed as withheld."),
    Check("unchanged_outside", "Outside the replaced spans, every character is the original's."),
    Check("survivors", "No value that people or a detector marked is left in the text."),
    Check(
        NO_RESIDUAL_HITS,
        "The ensemble finds nothing in what was kept of the text in the end; see"
        " gates.residual_sample.",
    ),
    Check("quarantine_share", "Few enough notes are withheld."),
)
STUDY_CHECKS = (IN_STUDY, *CHECKS)
QUARANTINE_CHECKS = (
    Check("complete", "Every note received is redacted under the release policy or listed here."),
)


def make_redacted_notes(batch: str, installation: Installation, *, policy: Policy) -> AssetOutput:
    """Redact a batch under one policy and withhold every note in which something is left."""
    found = read_received(batch, installation)
    take_back_left_out(found, batch, installation)
    taken = judge_study(found, batch, installation)
    if any(verdict.stops for verdict in taken):
        found = replace(found, notes=found.notes.slice(0, 0))
    stored = _read_stored(batch, installation, found)
    require_packs(policy, _languages(stored))
    answers = SearchAnswers(installation, policy, batch)
    entered = found.notes.column("note_id").to_pylist()
    done, searched = _redact(answers, stored, frozenset(entered))
    done = of_notes(done, found.notes)
    ids = done.notes.column("note_id").to_pylist()
    withheld = failed_from_table(done.failed)
    return AssetOutput(
        tables={
            "notes": done.notes,
            "edits": done.edits,
            "failed": done.failed,
            **answers.tables(),
        },
        sources=[installation.files.receipt(asset, batch) for asset in sources_of(installation)],
        verdicts=[
            *taken,
            complete(entered, ids, (failed.note_id for failed in withheld)),
            judge_changed(len(ids), changed=len(done.changed)),
            survival_verdict([done.survival[note_id] for note_id in ids], values=done.values),
            searched(ids),
            _few_withheld(len(withheld), len(entered), installation.settings),
        ],
        counts=_counts(done),
        metadata={
            **show_labels(_labels(done.edits), title=f"Replacements under {policy.name}"),
            "withheld_by": show_counts(
                Counter(f"{failed.stage}: {failed.error}" for failed in withheld)
            ),
            "tagged_instead": show_counts(_fallbacks(done), of="Replacements"),
            **({"searched": answers.in_words} if answers.in_words else {}),
        },
        remarks=[answers.in_words] if answers.in_words else [],
    )


def make_quarantine(batch: str, installation: Installation, *, policy: str) -> AssetOutput:
    """List every note of a batch that the release policy does not let out, with the stage and the
    reason.
    """
    redacted = installation.names.name_redacted(policy)
    found = read_received(batch, installation)
    withheld = [
        *found.unread,
        *failed_from_table(installation.files.read(redacted, batch, "failed")),
    ]
    done = installation.files.read(redacted, batch, "notes").column("note_id").to_pylist()
    return AssetOutput(
        tables={
            "failed": _add_remedies(
                failed_to_table(withheld), installation.files.read(RAW_NOTES, batch, "reasons")
            )
        },
        sources=[
            installation.files.receipt(asset, batch)
            for asset in (RAW_NOTES, MERGED_SPANS, redacted)
        ],
        verdicts=[
            complete(
                found.note_ids,
                done,
                (failed.note_id for failed in withheld),
            )
        ],
        counts={"received": len(found.note_ids), "quarantined": len(withheld)},
        metadata={
            "by_reason": show_counts(
                Counter(f"{failed.stage}: {failed.error}" for failed in withheld)
            )
        },
    )


def _add_remedies(failed: pa.Table, reasons: pa.Table) -> pa.Table:
    """Return the notes in quarantine, those that could not be read with their place and what
    to do.
    """
    known = {row["note_id"]: row for row in reasons.to_pylist()}
    ids = failed.column("note_id").to_pylist()
    for name in ("place", "remedy"):
        failed = failed.append_column(
            name, pa.array([known.get(note_id, {}).get(name) for note_id in ids], pa.string())
        )
    return failed


def sources_of(installation: Installation) -> list[str]:
    """Return the assets that redacted notes are made from.

    A study rests on the installation's own redacted notes too: it covers what was found in them,
    and has none that they withhold.
    """
    sources = [RAW_NOTES, GOLD, MERGED_SPANS]
    return sources if installation.study is None else [*sources, name_released(installation)]


def name_released(installation: Installation) -> str:
    """Return the redacted notes of the installation's own release."""
    return MAIN.name_redacted(installation.snapshot.released.name)


def _read_stored(batch: str, installation: Installation, found: ReceivedNotes) -> NoteTables:
    """Return what is stored of the notes that are redacted.

    For a study, of all notes of the patients whose notes it takes, since a value counts in each.
    """
    stored = _read(batch, installation)
    if installation.study is None:
        return stored
    stored = of_whole_patients(stored, found.notes)
    withheld = installation.files.read(name_released(installation), batch, "failed")
    ids = stored.notes.column("note_id").combine_chunks()
    theirs = withheld.filter(pc.is_in(withheld.column("note_id"), value_set=ids))
    return replace(stored, failed=pa.concat_tables([stored.failed, theirs]).combine_chunks())


def _redact(
    answers: SearchAnswers, stored: NoteTables, own: frozenset[str]
) -> tuple[RedactedTables, Callable[[list[str]], Verdict]]:
    """Return the redacted notes, and what judges the search of those that are let through.

    Args:
        answers: Of earlier searches of the batch, and of this one.
        stored: What is stored of the notes.
        own: Notes of the release; others are there for their patients' values.
    """
    batch, installation, policy = answers.batch, answers.installation, answers.policy
    gates, workers = installation.settings.gates, Workers(installation, policy)
    if installation.study is None or not covers(installation.snapshot.released, policy):
        done, search = workers.run(stored, answers)
        return done, lambda ids: _of_own(search_verdict(search, ids, gates), search, own)
    edits = installation.files.read(name_released(installation), batch, "edits")
    row = installation.files.receipt(name_released(installation), batch).verdicts[NO_RESIDUAL_HITS]
    hits = _hits(stored, edits)
    told = (
        "As of the installation's own release: what the ensemble found in its redacted text is"
        " covered here too."
    )

    def verdict(ids: list[str]) -> Verdict:
        # Of the study's own notes: what the whole batch has is in no manifest of a study.
        counts = {"notes": len(ids), "notes_with_hits": len(hits.keys() & set(ids))}
        return Verdict(
            NO_RESIDUAL_HITS, row["passed"], True, counts, told, row.get("applicable", True)
        ).unless(not ids, "no redacted note")

    return workers.cover(replace(stored, hits=hits)), verdict


def _of_own(verdict: Verdict, search: SearchResult, own: frozenset[str]) -> Verdict:
    """Return a verdict on a search with counts of the notes of the release alone."""
    if search.hits.keys() <= own:
        return verdict
    counts = {
        **{name: verdict.counts[name] for name in ("notes", "hits", "failed")},
        "notes_searched": len(search.hits.keys() & own),
        "notes_with_hits": sum(bool(search.hits[one]) for one in search.hits.keys() & own),
        "notes_withheld": len(search.withhold(NO_RESIDUAL_HITS).keys() & own),
    }
    return replace(verdict, counts=counts)


def covers(searched: Policy, policy: Policy) -> bool:
    """Whether the search of notes redacted under one policy tells what another may leave.

    It does where it kept no category that the other replaces, and where its edits are the spans.
    """
    actions = [searched.action(label) for label in Phi]
    is_wider = any(hasattr(action, "borders") for action in actions if action is not None)
    return searched.keep <= policy.keep and not is_wider


def _hits(stored: NoteTables, edits: pa.Table) -> dict[str, list[Span]]:
    """Return what was replaced in the installation's own release and is no stored span."""
    _, spans = stored.merged
    keys = ["note_id", "start", "end"]
    ids = stored.notes.column("note_id").combine_chunks()
    theirs = edits.filter(pc.is_in(edits.column("note_id"), value_set=ids))
    others = theirs.select([*keys, "label"]).join(spans.select(keys), keys, join_type="left anti")
    hits: dict[str, list[Span]] = {}
    for row in others.sort_by([(key, "ascending") for key in keys]).to_pylist():
        span = Span(row["start"], row["end"], Phi(row["label"]), source=Search.name)
        hits.setdefault(row["note_id"], []).append(span)
    return hits


def _read(batch: str, installation: Installation) -> NoteTables:
    """Return what is stored of a batch."""
    read = partial(installation.files.read, batch=batch)
    return NoteTables(
        notes=read(RAW_NOTES, table="notes"),
        merged=(read(MERGED_SPANS, table="notes"), read(MERGED_SPANS, table="spans")),
        failed=read(MERGED_SPANS, table="failed"),
        gold=(read(GOLD, table="notes"), read(GOLD, table="spans")),
        allowed=_read_allowed(batch, installation),
    )


def _read_allowed(batch: str, installation: Installation) -> dict[str, list[Span]]:
    """Return, by note id, the places that people found to be no identifier."""
    files = installation.files
    if ALLOWED not in files.receipt(MERGED_SPANS, batch).outputs:  # made by an earlier version
        return {}
    return spans_by_note(files.read(MERGED_SPANS, batch, ALLOWED))


def _languages(batch: NoteTables) -> set[str | None]:
    """Return the languages of the notes that will be redacted."""
    failed = pc.is_in(
        batch.notes.column("note_id"), value_set=batch.failed.column("note_id").combine_chunks()
    )
    return set(batch.notes.filter(pc.invert(failed)).column("lang").unique().to_pylist())


def _few_withheld(withheld: int, received: int, settings: Settings) -> Verdict:
    return check_share(
        "quarantine_share",
        "Withheld notes go to quarantine with the stage and the reason.",
        part=withheld,
        whole=received,
        limit=settings.gates.quarantined,
    )


def _counts(done: RedactedTables) -> dict[str, int]:
    fallbacks = _fallbacks(done)
    return {
        "notes": done.notes.num_rows,
        "withheld": done.failed.num_rows,
        "edits": done.edits.num_rows,
        "fallbacks": sum(fallbacks.values()),
        **{f"fallbacks_{label}": count for label, count in fallbacks.items()},
    }


def _fallbacks(done: RedactedTables) -> dict[str, int]:
    """Return, per category, how many replacements are tags because the policy's action could not be
    carried out.
    """
    counts: Counter[str] = Counter()
    for of_note in done.fallbacks.values():
        counts.update(of_note)
    return dict(sorted(counts.items()))


def _labels(edits: pa.Table) -> dict[str, int]:
    counted = edits.column("label").value_counts().to_pylist()
    return dict(sorted((one["values"], one["counts"]) for one in counted))
