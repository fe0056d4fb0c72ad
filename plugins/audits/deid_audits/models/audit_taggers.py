"""The audit ``membership`` of a tagger, of training or an export."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from deid_assets.extending import InputError, ProbabilitySource
from deid_assets.extending.audits import AuditResult, Control, Material, conclude
from deid_audits.models.auditing import AuditProgress
from deid_audits.models.judging import (
    figures_of_attacks,
    reacts,
    rules_of,
    table_of_areas,
    tables_left_out,
)
from deid_audits.models.measures import check_sizes
from deid_audits.models.membership import check_disjoint
from deid_audits.models.options import OfMembership
from deid_audits.models.planted_layer import MOST, plant_layer
from deid_audits.models.tagged import (
    ATTACKS,
    REFERENCE,
    Marked,
    check_fits,
    make_marked_set,
    open_tagger,
    read_set,
)

CONTROLLED = "loss"
"""Attack that the controls are put to."""
SETS = ("training", "held-out", "calibration")
BLIND_SPOTS = (
    "The attacks see probabilities of labels: who holds the weights may find more in them.",
    "It says whether a note was read, not whether its words can be drawn out of the weights.",
    "Held-out notes of another time or clinic are told apart by their form, not by memory.",
    "The control learns notes in a layer on the tagger's scores, not in the tagger's own weights.",
    "Of an export, the most precise graph alone is attacked.",
    "Notes of the training files that were held out to choose the model count as members.",
)


def run(audit: OfMembership, material: Material) -> AuditResult:
    """Return the result; see ``Membership``.

    Raises:
        InputError: Notes lack annotations, sets overlap or are too small, or the tagger gives no
            probabilities.
        PluginError: The tagger's plugin is not installed, or its folder is broken.
    """
    sets = _sets(audit, material)
    source = open_tagger(material.model)
    reference = open_tagger(material.reference) if material.reference else None
    check_fits(source, sets[1])
    attacks = _attacks(audit.attacks, has_reference=reference is not None)
    progress = AuditProgress(material.report, _steps())
    read = []
    for given in sets:
        progress.begin()
        read.append(read_set(source, given, most=audit.most, reference=reference))
    progress.begin()
    figures, left_out = figures_of_attacks(
        [one.scores for one in read],
        attacks,
        (read[0].samples, read[1].samples),
        alpha=audit.alpha,
    )
    progress.begin()
    result = conclude(
        audit,
        figures=figures,
        controls=_controls(source, sets[1], sets[2], most=audit.most),
        rules=rules_of(figures, limit=audit.limit, low_limit=audit.low_limit),
        tables=[
            table_of_areas([one for one in figures if one.name == "AUC"]),
            *tables_left_out(left_out),
        ],
        counts={
            name: len(part.samples.texts)
            for name, part in zip(("in-set", "out-set", "calibration"), read, strict=True)
        },
    )
    return replace(result, blind_spots=BLIND_SPOTS)


def _sets(audit: OfMembership, material: Material) -> list[Marked]:
    if audit.shadows:
        raise InputError(
            "shadow models are language models, and this model is a tagger; leave the option"
            " shadows out"
        )
    given = (material.training, material.held_out, material.calibration)
    inside, outside, calibration = ([note.text for note in notes] for notes in given)
    check_disjoint(calibration, inside, outside)
    found = [
        make_marked_set(name, notes, material.marked, seed=material.seed)
        for name, notes in zip(SETS, given, strict=True)
    ]
    patients = [{note.patient_id or note.note_id for note in one.notes} for one in found]
    check_sizes(len(patients[0]), len(patients[1]), unit="patients")
    return found


def _attacks(wanted: Sequence[str], *, has_reference: bool) -> list[str]:
    if unknown := sorted(set(wanted) - set(ATTACKS)):
        raise InputError(
            f"attack {unknown[0]!r} is none on a tagger; choose of {', '.join(ATTACKS)}"
        )
    chosen = [name for name in wanted or ATTACKS if has_reference or name != REFERENCE]
    if not chosen:
        raise InputError("the attack 'reference' needs a reference model; give one")
    return chosen


def _steps() -> list[str]:
    control = "the control: a layer on the tagger learns notes"
    return [*(f"scores of {name} notes" for name in SETS), "intervals", control]


def _controls(
    source: ProbabilitySource, held_out: Marked, calibration: Marked, *, most: int
) -> list[Control]:
    """Return what the attack by loss finds of held-out notes against calibration notes.

    Once where a layer on the tagger learnt the former by heart, and once in the tagger itself.
    """
    learnt = _one_of_each(held_out)
    told = (
        "held-out notes against notes for calibration, which it never read; the attack by loss is"
        " run on it."
    )
    found = []
    for name, tagger, expected, what in (
        (
            "notes planted in the tagger",
            plant_layer(source, learnt),
            True,
            "A layer on the tagger learns held-out notes by heart:",
        ),
        ("the tagger without them", source, False, "The tagger itself:"),
    ):
        inside, outside = (
            read_set(tagger, one, most=most, reference=None) for one in (learnt, calibration)
        )
        found.append(
            reacts(
                name,
                inside.scores[CONTROLLED],
                outside.scores[CONTROLLED],
                f"{what} {told}",
                expected=expected,
                owners=(inside.samples.patients, outside.samples.patients),
            )
        )
    return found


def _one_of_each(given: Marked) -> Marked:
    """Return a few notes, of as many patients as there are before second ones of a patient."""
    seen: dict[str, int] = {}
    rank = []
    for note in given.notes:
        patient = note.patient_id or note.note_id
        seen[patient] = seen.get(patient, 0) + 1
        rank.append(seen[patient])
    chosen = sorted(range(len(rank)), key=rank.__getitem__)[:MOST]
    return Marked(
        given.name, [given.notes[at] for at in chosen], [given.spans[at] for at in chosen]
    )
