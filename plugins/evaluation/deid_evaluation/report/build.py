"""The report of an evaluation, put together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from deid_assets.extending import ConfigError
from deid_assets.extending.scoring import (
    RESAMPLES,
    Comparison,
    Evaluation,
    Row,
    Scheme,
    compare,
    evaluate_by_note,
)
from deid_evaluation.causes import Causes
from deid_evaluation.error_sample import PER_CELL
from deid_evaluation.gold_profile import shares_of_values
from deid_evaluation.note_outcomes import note_outcomes
from deid_evaluation.report.corpus import Json, Pair, ProfiledNotes, Shown, System, groups_of
from deid_evaluation.report.errors import SystemErrors, confusion_json, errors_json, errors_of
from deid_evaluation.report.gold import gold_json
from deid_evaluation.report.notes import (
    groups_json,
    make_expected_errors_json,
    make_left_json,
    notes_json,
    rarity_json,
)
from deid_evaluation.report.people import people_json, people_of
from deid_evaluation.report.ranking import ranking_json
from deid_evaluation.report.scores import (
    averages_json,
    counts_json,
    differences_json,
    interval_json,
    labels_json,
    meddocan_json,
    schemes_json,
    share_json,
    six_json,
)
from deid_evaluation.report.systems import diffs_json, marginal_json, predictions_of, recapture_json
from deid_evaluation.report.text import PLACEHOLDER, placeholder_of, text_json
from deid_evaluation.subgroups import by_label

SCHEMA, VERSION = "deid-assets/evaluation-report", 2
"""Name and version of the document.

The version rises when a field changes its meaning or goes away.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOptions:
    """Options of a report.

    Args:
        title: Heading.
        facts: Name to value of what identifies the run: software, files, label map.
        inputs: A row of ``name``, ``role`` and ``sha256`` per file read.
        commands: Command lines that made it.
        curves: Learning curves: ``name``, and ``epochs`` with ``phase``, ``epoch``, ``loss`` and
            ``dev_f1``.
        runs: Recipes compared over runs or folds, as ``report.runs`` reads them.
        group_by: Keys of ``Note.meta`` that make subgroups, beside language and ``GROUP_KEYS``.
        with_text: Show text of notes. The report is then as secret as the notes.
        causes: Causes of errors, as a reviewer gave them.
        rewritten: Note id to text that was generated from the note, where text is evaluated too.
        placeholder: Regular expression of what an identifier becomes in it.
        resamples: Draws behind intervals.
        seed: Of the draws.
        per_cell: Errors listed of every kind and label.
    """

    title: str
    facts: Mapping[str, str] = field(default_factory=dict)
    inputs: Sequence[Mapping[str, str]] = ()
    commands: Sequence[str] = ()
    curves: Sequence[Mapping[str, Any]] = ()
    runs: Sequence[Mapping[str, Any]] = ()
    group_by: Sequence[str] = ()
    with_text: bool = False
    causes: Causes = field(default_factory=dict)
    rewritten: Mapping[str, str] | None = field(default=None, repr=False)
    placeholder: str = PLACEHOLDER
    resamples: int = RESAMPLES
    seed: int = 1
    per_cell: int = PER_CELL


@dataclass(frozen=True, slots=True)
class SystemScores:
    """One system with its counts."""

    system: System
    pairs: Sequence[Pair]
    evaluation: Evaluation
    rows: Mapping[str, Row]


def build_report(
    corpus: ProfiledNotes, systems: Sequence[System], *, options: ReportOptions
) -> dict[str, Any]:
    """Return the document that ``report_html`` shows and ``json.dumps`` takes.

    It holds ids, offsets, labels, counts and shapes; text of notes where ``options.with_text`` says
    so, and never ids of patients.

    Args:
        corpus: The gold.
        systems: What is scored, the baseline first; each with predictions for all notes of the
            gold.
        options: How it is made.

    Raises:
        ConfigError: There is no system, or two have one name.
        InputError: Gold and predictions are not of the same notes, or a group key is in no note.
        DigestError: Predictions were made for another text.
        OffsetError: A span ends after its note.
    """
    if not systems or len({system.name for system in systems}) < len(systems):
        raise ConfigError("give at least one system, each with a name of its own")
    measured = [measure(corpus, system) for system in systems]
    comparison = compare(
        {one.system.name: one.rows for one in measured},
        patients=corpus.patients,
        resamples=options.resamples,
        seed=options.seed,
    )
    return assemble(corpus, measured, comparison, options)


def measure(corpus: ProfiledNotes, system: System) -> SystemScores:
    """Return a system's counts.

    Raises:
        InputError: Its notes are not those of the gold.
        DigestError: Its predictions were made for another text.
        OffsetError: A span ends after its note.
    """
    pairs = corpus.pairs(system.spans)
    total, rows = evaluate_by_note(
        pairs, profile=corpus.profile, scope=corpus.scope, lengths=corpus.lengths
    )
    return SystemScores(system, pairs, total, rows)


def assemble(
    corpus: ProfiledNotes,
    measured: Sequence[SystemScores],
    comparison: Comparison,
    options: ReportOptions,
) -> dict[str, Any]:
    """Return the document from what was measured; arguments and errors as for ``build_report``."""
    groups = groups_of(corpus.notes, options.group_by)
    shown = Shown(corpus.notes, with_text=options.with_text)
    systems = [one.system for one in measured]
    alone = [system for system in systems if not system.members]
    names = [system.name for system in alone]
    predictions = predictions_of(corpus, alone)
    maker = _Maker(corpus, comparison, options, groups, shown)
    results = {one.system.name: maker.result(one) for one in measured}
    return {
        **_head(corpus, comparison, options),
        "systems": [system.name for system in systems],
        "group_keys": list(groups),
        "results": results,
        "differences": differences_json(comparison),
        "diffs": diffs_json(corpus, systems, shown),
        "marginal": marginal_json(corpus, predictions, names),
        "recapture": recapture_json(corpus, predictions, names),
        "gold_review": gold_json(corpus, systems, shown),
        "stale_causes": len(options.causes.keys() - maker.tagged),
        "text": (
            None
            if options.rewritten is None
            else text_json(
                corpus, options.rewritten, shown, placeholder=placeholder_of(options.placeholder)
            )
        ),
        "curves": [dict(curve) for curve in options.curves],
        "runs": [dict(table) for table in options.runs],
    }


def _head(corpus: ProfiledNotes, comparison: Comparison, options: ReportOptions) -> Json:
    patients = set(corpus.patients.values())
    return {
        "schema": SCHEMA,
        "version": VERSION,
        "title": options.title,
        "restricted": options.with_text,
        "facts": dict(options.facts),
        "inputs": [dict(row) for row in options.inputs],
        "commands": list(options.commands),
        "gold": {
            "profile": corpus.profile.name,
            "profile_source": corpus.profile.source,
            "notes": len(corpus.notes),
            "patients": len(patients),
            "chars": sum(corpus.lengths.values()),
            "overlaps": corpus.has_overlaps,
            "scope": None if corpus.scope is None else sorted(corpus.scope),
        },
        "bootstrap": {
            name: getattr(comparison, name) for name in ("unit", "units", "resamples", "seed")
        },
    }


class _Maker:
    """Makes the result of one system after the other."""

    def __init__(
        self,
        corpus: ProfiledNotes,
        comparison: Comparison,
        options: ReportOptions,
        groups: Mapping[str, Mapping[str, str | None]],
        shown: Shown,
    ) -> None:
        self._corpus, self._comparison, self._options = corpus, comparison, options
        self._groups, self._shown = groups, shown
        self._patients = corpus.patients
        scored = ((corpus.notes[note_id], gold) for note_id, gold in corpus.gold.items())
        self._shares = shares_of_values(scored, profile=corpus.profile, patients=self._patients)
        self._people = people_of(corpus)
        self.tagged: set[str] = set()

    def result(self, one: SystemScores) -> Json:
        corpus, options, name = self._corpus, self._options, one.system.name
        outcomes = list(note_outcomes(one.pairs, profile=corpus.profile, lengths=corpus.lengths))
        errors = errors_of(
            name, one.pairs, corpus, causes=options.causes, per_cell=options.per_cell
        )
        self.tagged |= {identity for identity, _, _ in errors.tagged}
        spans = {pred.note_id: pred for _, pred in one.pairs}
        strict = one.evaluation.micro(Scheme.STRICT)
        return {
            "members": list(one.system.members),
            **self._scores(one),
            "names_by_person": people_json(one.pairs),
            "left_by_label": make_left_json(outcomes, self._patients, resamples=options.resamples),
            "notes": notes_json(outcomes, self._patients, profile=corpus.profile),
            "groups": groups_json(
                one.rows, self._groups, self._patients, resamples=options.resamples
            ),
            "rarity": rarity_json(corpus, spans, self._shares),
            "expected_errors": make_expected_errors_json(one.system, strict),
            "ranking": ranking_json(corpus.keep_in_scope(one.pairs), profile=corpus.profile),
            **self._errors(errors),
        }

    def _scores(self, one: SystemScores) -> Json:
        evaluation, notes = one.evaluation, one.evaluation.notes
        covered = evaluation.micro(Scheme.COVERED)
        return {
            "covered": share_json(covered.tp, covered.gold),
            "clean_notes_untouched": share_json(notes.phi_free - notes.touched, notes.phi_free),
            "characters": counts_json(evaluation.characters) | {"text": notes.chars},
            "schemes": schemes_json(self._comparison, one.system.name),
            "labels": labels_json(evaluation),
            "recall_by_label": [
                {
                    "label": group.name,
                    "gold": group.counts.gold,
                    "recall": interval_json(group.interval),
                }
                for group in by_label(evaluation)
            ],
            "averages": averages_json(evaluation, list(one.rows.values())),
            "six_scores": six_json(self._corpus, one.pairs),
            "meddocan": meddocan_json(self._corpus, one.pairs),
            "out_of_scope": dict(evaluation.out_of_scope),
            "counts": evaluation.to_json(),
        }

    def _errors(self, errors: SystemErrors) -> Json:
        return {
            "errors": errors_json(
                errors,
                shown=self._shown,
                groups=self._groups,
                causes=self._options.causes,
                people=self._people,
            ),
            "confusion": confusion_json(errors.confusion),
        }
